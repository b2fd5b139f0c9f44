"""Privacy of persons: the settings of the bench."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.persons import LAWS

__all__ = ["MEASURES", "person_settings"]

#: By what methods are compared, in each loss.
MEASURES = {"squared": "mse", "logistic": "log_loss"}


def person_settings(
    spec: Mapping[str, Any], quick: bool, datasets: Sequence[str] = ()
) -> list[Setting]:
    """Return the settings of a run: every data set with both losses at every epsilon."""
    chosen = settings_of(spec, quick)
    known = chosen["datasets"]
    for name in datasets:
        if name not in known:
            raise ParameterError(f"data={name!r} must be one of {', '.join(known)}.")
    return [
        Setting(
            problem=f"{name}-{loss}",
            dataset=name,
            loss=loss,
            grid="",
            epsilon=epsilon,
            delta=chosen["delta"],
            seeds=chosen["generated_seeds" if name in LAWS else "seeds"],
            tuning_seeds=(),
            finalists=0,
            experiment="persons",
        )
        for name in datasets or known
        for loss in MEASURES
        for epsilon in chosen["epsilons"]
    ]
