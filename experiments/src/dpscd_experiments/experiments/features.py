"""Classifiers of pictures: the settings of the bench of features."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.opponents.feature_registry import FINALISTS
from dpscd_experiments.opponents.setting import Setting

__all__ = ["LOSS", "feature_settings", "problem_of"]

#: The loss of all methods.
LOSS = "softmax"


def problem_of(dataset: str) -> str:
    """Return the name of the problem that a kind of rows makes."""
    return f"fashion-{dataset}"


def feature_settings(
    spec: Mapping[str, Any],
    quick: bool,
    datasets: Sequence[str] = (),
    epsilons: Sequence[float] = (),
) -> list[Setting]:
    """Return the settings of a run: every kind of rows at every epsilon."""
    chosen = settings_of(spec, quick)
    for name, given, known in (
        ("data", datasets, chosen["datasets"]),
        ("epsilon", epsilons, chosen["epsilons"]),
    ):
        for one in given:
            if one not in known:
                raise ParameterError(
                    f"{name}={one!r} must be one of {', '.join(map(str, known))}."
                )
    return [
        Setting(
            problem=problem_of(name),
            dataset=name,
            loss=LOSS,
            grid="",
            epsilon=epsilon,
            delta=chosen["delta"],
            seeds=chosen["seeds"],
            tuning_seeds=(chosen["tuning_seed"],),
            finalists=FINALISTS,
            experiment="features",
        )
        for name in datasets or chosen["datasets"]
        for epsilon in epsilons or chosen["epsilons"]
    ]
