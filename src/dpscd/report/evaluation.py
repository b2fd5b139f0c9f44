"""Quality of a model, as ``dpscd evaluate --json`` wrote it."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation
from dpscd.privacy.strict_json import read_json
from dpscd.scores.registry import METRIC_WORDS

__all__ = ["Evaluation", "Measure", "read_evaluation"]


@dataclass(frozen=True)
class Measure:
    """One number: its name, its value, and the ends of its interval, if it has one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> str | None:
        """The interval as text; a missing end is unbounded."""
        if self.low is None and self.high is None:
            return None
        low = "-inf" if self.low is None else f"{self.low:.4f}"
        high = "inf" if self.high is None else f"{self.high:.4f}"
        return f"{low} to {high}"


@dataclass(frozen=True)
class Evaluation:
    """What was measured, on how many, and whether saying it is private."""

    measures: tuple[Measure, ...]
    on: str  # on what, such as "16,281 records"
    private: bool  # whether noise protects the test records
    status: str  # the same as a sentence, with epsilon
    model: str  # SHA-256 of the model's file

    def check_model(self, digest: str, name: str) -> None:
        """Raise ParameterError if it is of another model's file than this."""
        if self.model != digest:
            raise ParameterError(
                f"the evaluation is not of {name}, but of another model, or of this one as it "
                "was before: make it again with dpscd evaluate --json."
            )


def read_evaluation(path: str | os.PathLike[str]) -> Evaluation:
    """Return what a file of ``dpscd evaluate --json`` says, or raise ParameterError."""
    try:
        values = read_json(Path(path).read_bytes())
        return _noisy(values) if values["private"] else _plain(values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ParameterError(
        f"{Path(path).name} is not what dpscd evaluate --json writes; make such a file with: "
        "dpscd evaluate MODEL DATA --json > evaluation.json"
    )


def _plain(values: dict[str, Any]) -> Evaluation:
    measures = [Measure(name, _number(value)) for name, value in values["metrics"].items()]
    by_person = values.get("by person", {"metrics": {}})["metrics"]
    for name, value in by_person.items():
        measures.append(Measure(f"{name}, over persons", _number(value)))
    for one in values.get("by class", []):
        for part in ("recall", "precision"):
            if one[part] is not None:
                measures.append(Measure(f"{part} of {one['class']}", _number(one[part])))
    return Evaluation(
        tuple(measures),
        f"{int(values['records']):,} records",
        private=False,
        status="These numbers are not private: they were computed from the test records "
        "without noise, and no guarantee covers what they say about them.",
        model=str(values["model_sha256"]),
    )


def _noisy(values: dict[str, Any]) -> Evaluation:
    many = "persons" if "persons" in values else "records"
    epsilon, delta = _number(values["epsilon"]), _number(values["delta"])
    relation, level = Relation.parse(values["relation"]), 100.0 * _number(values["level"])
    return Evaluation(
        tuple(_measures(values)),
        f"{int(values[many]):,} {many}",
        private=True,
        status=f"({epsilon:g}, {delta:.3g})-differentially private for the test {many}, "
        f"relation {relation}. Intervals of {level:g} % hold the noise and that other "
        f"{many} would give other numbers.",
        model=str(values["model_sha256"]),
    )


def _measures(values: dict[str, Any]) -> list[Measure]:
    """Return the numbers of a noisy score: one, one per class, or one per pair of classes."""
    name = METRIC_WORDS[values["metric"]]
    ends = [values[part] for part in ("value", "low", "high")]
    if not isinstance(ends[0], list):
        return [_measure(name, *ends)]
    classes = [str(label) for label in values["classes"]]
    found = []
    for place, label in enumerate(classes):
        own = [end[place] for end in ends]
        if not isinstance(own[0], list):
            found.append(_measure(f"{name} of {label}", *own))
            continue
        for other, said in enumerate(classes):
            pair = (end[other] for end in own)
            found.append(_measure(f"share of {label} predicted as {said}", *pair))
    return found


def _measure(name: str, value: Any, low: Any, high: Any) -> Measure:
    ends = (None if end is None else _number(end) for end in (low, high))
    return Measure(name, _number(value), *ends)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)
