"""What owners add to a page: how good the model is, and what it is for."""

import math
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from dpscd.documents.charts import Axis, Chart
from dpscd.errors import DpscdError, ParameterError
from dpscd.model.file import fit_from_bytes
from dpscd.model.fit import Fit
from dpscd.model.plain import read_json
from dpscd.preprocessing.toml_text import read_toml
from dpscd.releases.score import Estimate
from dpscd.scores.registry import METRIC_WORDS, ScoreFacts


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
    charts: tuple[Chart, ...] = ()

    @property
    def rows(self) -> list[list[str]]:
        """Name, value and, of a noisy score, interval of each measure."""
        found = [[measure.name, f"{measure.value:.4f}"] for measure in self.measures]
        if self.private:
            for row, measure in zip(found, self.measures, strict=True):
                row.append(measure.interval or "")
        return found

    def check_model(self, digest: str, name: str) -> None:
        """Raise ParameterError if it is of another model's file than this."""
        if self.model != digest:
            raise ParameterError(
                f"the evaluation is not of {name}, but of another model, or of this one as it "
                "was before: make it again with dpscd evaluate --json."
            )


def read_evaluation(path: str | os.PathLike[str]) -> Evaluation:
    """Return what a file of ``dpscd evaluate --json`` says, or raise ParameterError."""
    content = Path(path).read_bytes()
    try:
        values = read_json(content)
        if "private" in values:
            return _plain(values)
        return _noisy(fit_from_bytes(Path(path).name, content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, DpscdError):
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
        charts=tuple(_charts(values)),
    )


def _charts(values: dict[str, Any]) -> Iterator[Chart]:
    """Yield whether probabilities come true and what ranking by them gains, if stated."""
    share = Axis(0.0, 100.0, unit=" %", marks=(0.0, 25.0, 50.0, 75.0, 100.0))
    name = f"“{values['by class'][1]['class']}”" if "by class" in values else ""
    if bins := values.get("reliability"):
        line = [(_percent(x["mean probability"]), _percent(x["share"])) for x in bins]
        yield Chart(
            f"Do probabilities of {name} come true?",
            "Share of the records with a probability that are of the class, over this "
            f"probability: {_said(line)}. On the dashed line both are equal.",
            replace(share, label="probability, in bins"),
            share,
            line,
            other=((0.0, 0.0), (100.0, 100.0)),
            dots=line,
        )
    if gains := values.get("gain"):
        line = [(0.0, 0.0), *((_percent(x["records"]), _percent(x["found"])) for x in gains)]
        yield Chart(
            f"How much of {name} is found first?",
            "Share of the class found among the records with the highest probabilities, over "
            f"the share of records taken: {_said(line[1::4])}. The dashed line is for records "
            "taken at random.",
            replace(share, label="records, the most probable first"),
            share,
            line,
            other=((0.0, 0.0), (100.0, 100.0)),
        )


def _percent(value: Any) -> float:
    return 100.0 * _number(value)


def _said(line: list[tuple[float, float]]) -> str:
    return ", ".join(f"{y:.0f} % at {x:.0f} %" for x, y in line)


def _noisy(fit: Fit) -> Evaluation:
    card, facts = fit.card, cast("ScoreFacts", fit.plan.facts)
    many, level = f"{card.protected.noun}s", 100.0 * facts.level
    return Evaluation(
        tuple(_measures(facts, cast("Estimate", fit.numbers))),
        f"{facts.n:,} {many}",
        private=True,
        status=f"({card.epsilon:g}, {card.delta:.3g})-differentially private for the test "
        f"{many}, relation {card.relation}. Intervals of {level:g} % hold the noise and that "
        f"other {many} would give other numbers.",
        model=str(facts.model),
    )


def _measures(facts: ScoreFacts, estimate: Estimate) -> list[Measure]:
    """Return the numbers of a noisy score: one, one per class, or one per pair of classes."""
    name, classes = METRIC_WORDS[facts.metric], [str(label) for label in facts.classes]
    every = [np.array(x) for x in (estimate.value, estimate.low, estimate.high)]
    words = (name, f"{name} of {{}}", "share of {} predicted as {}")[every[0].ndim]
    found = []
    for place in np.ndindex(every[0].shape):
        value, *ends = (float(x[place]) for x in every)
        low, high = (end if math.isfinite(end) else None for end in ends)
        found.append(Measure(words.format(*(classes[k] for k in place)), value, low, high))
    return found


def _number(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)


#: Keys of a file of facts from the owner, and how the page calls them.
ABOUT = {
    "purpose": "Purpose",
    "owner": "Owner",
    "contact": "Contact",
    "legal_basis": "Legal basis",
}
_LONGEST = 2000  # signs


def read_about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return a TOML file's texts for keys of ABOUT, or raise ParameterError."""
    file, keys = Path(path), ", ".join(ABOUT)
    try:
        values = read_toml(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ParameterError(f"{file.name} is not TOML: give some of {keys} a text.") from None
    for key, text in values.items():
        if key not in ABOUT:
            raise ParameterError(f"{file.name} has {key!r}, which is none of {keys}.")
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise ParameterError(
                f"{key} in {file.name} must be a text of 1 to {_LONGEST:,} signs."
            )
    if not values:
        raise ParameterError(f"{file.name} is empty: give some of {keys} a text.")
    return {key: values[key].strip() for key in ABOUT if key in values}
