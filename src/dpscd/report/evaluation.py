"""What owners add to a page: how good the model is, and what it is for."""

import math
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from dpscd.errors import DpscdError, ParameterError
from dpscd.model.file import fit_from_bytes
from dpscd.model.fit import Fit
from dpscd.model.plain import read_json
from dpscd.preprocessing.toml_text import read_toml
from dpscd.releases.score import Estimate
from dpscd.report.html import Html, data_table, each, html
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
    )


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


def quality(found: Evaluation) -> Html:
    """Return the section on an evaluation: its numbers and their privacy status."""
    headings = ["Measure", "Value"]
    rows = [[measure.name, f"{measure.value:.4f}"] for measure in found.measures]
    if found.private:
        headings.append("Interval")
        for row, measure in zip(rows, found.measures, strict=True):
            row.append(measure.interval or "")
    table = data_table(f"On {found.on}", headings, rows, numeric=len(headings) - 1)
    status = (
        '<p class="lead">{status}</p>\n'
        if found.private
        else '<div class="warning"><p>{status} Hand the page only to those who may know them.'
        "</p></div>\n"
    )
    return html(
        status + "{table}<p>How good the model is on other people than these depends on how "
        "much they resemble them.</p>\n",
        status=found.status,
        table=table,
    )


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


def about_section(values: dict[str, str]) -> Html:
    """Return the section of the owner's statements; none was checked."""
    return html(
        "<dl>\n{}</dl>\n"
        '<p class="note">As stated by whoever made this page; it does not follow from the '
        "model.</p>\n",
        each("<dt>{}</dt><dd>{}</dd>\n", ((ABOUT[key], x) for key, x in values.items())),
    )
