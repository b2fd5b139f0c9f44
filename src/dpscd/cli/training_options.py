"""Options of ``dpscd fit`` that most fits leave to the plan."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from dpscd.errors import ParameterError

__all__ = [
    "ClassWeights",
    "ClipPredictions",
    "Engine",
    "EngineName",
    "Epochs",
    "Intercept",
    "InterceptScaling",
    "Lam",
    "LotSize",
    "Standardise",
    "Threshold",
    "Travel",
    "chosen_parameters",
]

_PANEL = "Planned unless given"


def _number(words: str) -> Any:
    return typer.Option(help=words, show_default="auto", rich_help_panel=_PANEL)


Lam = Annotated[float | None, _number("Strength of the penalty on the coefficients.")]
Epochs = Annotated[float | None, _number("How often each record is used, on average.")]
LotSize = Annotated[int | None, _number("Records of a step, on average.")]
Travel = Annotated[
    float | None,
    _number("How far a record may move the model in all; shorter needs less noise."),
]
InterceptScaling = Annotated[
    float | None, _number("Constant that stands for the intercept beside the features.")
]
Threshold = Annotated[
    float | None, _number("Of --model huber: errors beyond it count by their size alone.")
]
Standardise = Annotated[
    bool | None,
    typer.Option(
        "--standardise/--no-standardise",
        help="Release noisy means and spreads first, and train on standardised features.",
        show_default="auto",
        rich_help_panel=_PANEL,
    ),
]
Intercept = Annotated[
    bool | None,
    typer.Option(
        "--intercept/--no-intercept",
        help="Whether the model has an intercept.",
        show_default="intercept",
        rich_help_panel=_PANEL,
    ),
]
ClipPredictions = Annotated[
    bool | None,
    typer.Option(
        "--clip-predictions/--no-clip-predictions",
        help="Whether a regression's predictions stay within the bounds of its target.",
        show_default="clip-predictions",
        rich_help_panel=_PANEL,
    ),
]
ClassWeights = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        metavar="CLASS=WEIGHT",
        help="How much records of a class count, such as yes=10; may be repeated.",
        rich_help_panel=_PANEL,
    ),
]


class EngineName(StrEnum):
    """Engines of training."""

    NUMBA = "numba"
    JAX = "jax"


Engine = Annotated[
    EngineName | None,
    typer.Option(
        help="What computes the training. jax: dense rows on a GPU; needs the extra jax.",
        show_default="numba",
    ),
]


def chosen_parameters(
    estimator: type, class_weight: Sequence[str] | None, **given: Any
) -> dict[str, Any]:
    """Return the given parameters, or refuse those that the estimator lacks.

    `class_weight` is as typed; None stands for parameters that were not given.
    """
    if class_weight:
        given["class_weight"] = dict(_weight(text) for text in class_weight)
    chosen = {name: _plain(value) for name, value in given.items() if value is not None}
    known: Any = estimator()
    foreign = sorted(set(chosen) - set(known.get_params()))
    if foreign:
        raise ParameterError(
            f"--{foreign[0].replace('_', '-')} is not a parameter of {estimator.__name__}."
        )
    return chosen


def _plain(value: Any) -> Any:
    """Return the text of a choice, as estimators keep it."""
    return value.value if isinstance(value, StrEnum) else value


def _weight(text: str) -> tuple[str, float]:
    label, equals, weight = text.rpartition("=")
    try:
        number = float(weight)
    except ValueError:
        number = -1.0
    if not equals or not 0.0 <= number < float("inf"):
        raise ParameterError(
            f"--class-weight {text!r} must be a class, an equals sign and a number of at least "
            "0, such as yes=10."
        )
    return label, number
