"""How good a model was found to be, as ``dpscd evaluate --json`` wrote it."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation
from dpscd.privacy.strict_json import read_json

__all__ = ["Evaluation", "Measure", "read_evaluation"]


@dataclass(frozen=True)
class Measure:
    """One number: its name, its value, and how far noise reaches to both sides of it."""

    name: str
    value: float
    band: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """What was measured, on how many, and whether saying it is private.

    Attributes
    ----------
    measures : tuple of Measure
        What was found.
    on : str
        On what, such as "16,281 records".
    private : bool
        Whether noise protects the test records.
    status : str
        The same as a sentence, with epsilon.
    """

    measures: tuple[Measure, ...]
    on: str
    private: bool
    status: str


def read_evaluation(path: str | os.PathLike[str]) -> Evaluation:
    """Return what a file of ``dpscd evaluate --json`` says, or raise ParameterError.

    Parameters
    ----------
    path : path
        JSON, of a plain or of a noisy evaluation.
    """
    try:
        values = read_json(Path(path).read_bytes())
        return _noisy(values) if values["private"] else _plain(values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ParameterError(
        f"{Path(path).name} is not what dpscd evaluate --json writes; make it with: dpscd "
        f"evaluate MODEL DATA --json > {Path(path).name}"
    )


def _plain(values: dict[str, Any]) -> Evaluation:
    measures = tuple(Measure(name, _number(value)) for name, value in values["metrics"].items())
    return Evaluation(
        measures,
        f"{int(values['records']):,} records",
        private=False,
        status="These numbers are not private: they were computed from the test records "
        "without noise, and no guarantee covers what they say about them.",
    )


def _noisy(values: dict[str, Any]) -> Evaluation:
    many = "persons" if "persons" in values else "records"
    epsilon, delta = _number(values["epsilon"]), _number(values["delta"])
    relation = Relation.parse(values["relation"])
    band = 2.0 * _number(values["noise_std"])
    return Evaluation(
        (Measure(str(values["measure"]), _number(values["value"]), band),),
        f"{int(values[many]):,} {many}",
        private=True,
        status=f"This number is ({epsilon:g}, {delta:.3g})-differentially private for the test "
        f"{many}, relation {relation}. Two standard deviations of its noise are {band:.2g}; "
        "that other records would give another number comes on top.",
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)
