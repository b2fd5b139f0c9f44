"""What owners add to documents: how good a model is, what it is for, what a registry asks."""

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from dpscd.documents.charts import Axis, Chart
from dpscd.errors import DpscdError, ParameterError
from dpscd.model.file import fit_from_bytes
from dpscd.model.fit import Fit
from dpscd.model.plain import read_json
from dpscd.preprocessing.toml_text import read_toml
from dpscd.releases.score import Estimate
from dpscd.scores.registry import METRIC_WORDS, ScoreFacts

# --- how good it is -------------------------------------------------------------------------


class Measure(NamedTuple):
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
        cells = 3 if self.private else 2
        return [[x.name, f"{x.value:.4f}", x.interval or ""][:cells] for x in self.measures]


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


def returned_evaluation(given: Any) -> Evaluation:
    """Return what ``evaluate`` or ``private_score`` found, or raise ParameterError."""
    from dpscd.estimators.evaluation import Evaluation as Measured
    from dpscd.estimators.private_score import PrivateScore

    if isinstance(given, PrivateScore):
        return _noisy(given.fit_)
    if isinstance(given, Measured):
        return _plain({"model_sha256": "", **given.to_dict()})
    raise ParameterError(
        "{evaluation} must be what evaluate or private_score returned, or the file of what "
        "`dpscd evaluate --json` printed.",
        evaluation=given,
    )


def _plain(values: dict[str, Any]) -> Evaluation:
    named = dict(values["metrics"])
    by_person = values.get("by person", {"metrics": {}})["metrics"]
    named |= {f"{name}, over persons": value for name, value in by_person.items()}
    for one in values.get("by class", []):
        parts = {f"{part} of {one['class']}": one[part] for part in ("recall", "precision")}
        named |= {name: value for name, value in parts.items() if value is not None}
    return Evaluation(
        tuple(Measure(name, _number(value)) for name, value in named.items()),
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

    def chart(title: str, text: str, below: str, **more: Any) -> Chart:
        diagonal = ((0.0, 0.0), (100.0, 100.0))
        return Chart(title, text, replace(share, label=below), share, other=diagonal, **more)

    if bins := values.get("reliability"):
        line = [(_percent(x["mean probability"]), _percent(x["share"])) for x in bins]
        yield chart(
            f"Do probabilities of {name} come true?",
            "Share of the records with a probability that are of the class, over this "
            f"probability: {_said(line)}. On the dashed line both are equal.",
            "probability, in bins",
            line=line,
            dots=line,
        )
    if gains := values.get("gain"):
        line = [(0.0, 0.0), *((_percent(x["records"]), _percent(x["found"])) for x in gains)]
        yield chart(
            f"How much of {name} is found first?",
            "Share of the class found among the records with the highest probabilities, over "
            f"the share of records taken: {_said(line[1::4])}. The dashed line is for records "
            "taken at random.",
            "records, the most probable first",
            line=line,
        )


def _percent(value: Any) -> float:
    return 100.0 * _number(value)


def _said(line: list[tuple[float, float]]) -> str:
    return ", ".join(f"{y:.0f} % at {x:.0f} %" for x, y in line)


def _noisy(fit: Fit) -> Evaluation:
    """Return a noisy score: one number, one per class, or one per pair of classes."""
    card, facts = fit.card, cast("ScoreFacts", fit.plan.facts)
    estimate, name = cast("Estimate", fit.numbers), METRIC_WORDS[facts.metric]
    every = [np.array(x) for x in (estimate.value, estimate.low, estimate.high)]
    words = (name, f"{name} of {{}}", "share of {} predicted as {}")[every[0].ndim]
    measures = []
    for place in np.ndindex(every[0].shape):
        value, *ends = (float(x[place]) for x in every)
        low, high = (end if math.isfinite(end) else None for end in ends)
        names = (str(facts.classes[k]) for k in place)
        measures.append(Measure(words.format(*names), value, low, high))
    many, level = f"{card.protected.noun}s", 100.0 * facts.level
    return Evaluation(
        tuple(measures),
        f"{facts.n:,} {many}",
        private=True,
        status=f"({card.epsilon:g}, {card.delta:.3g})-differentially private for the test "
        f"{many}, relation {card.relation}. Intervals of {level:g} % hold the noise and that "
        f"other {many} would give other numbers.",
        model=str(facts.model),
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)


# --- what it is for -------------------------------------------------------------------------

#: Keys of a file of facts from the owner, and how the page calls them.
ABOUT = {
    "purpose": "Purpose",
    "owner": "Owner",
    "contact": "Contact",
    "legal_basis": "Legal basis",
}
_LONGEST = 2000  # signs


def read_about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return a TOML file's texts for keys of ABOUT, by what these are called."""
    file, keys = Path(path).name, ", ".join(ABOUT)
    values = _toml(path, f": give some of {keys} a text")
    for key, text in values.items():
        if key not in ABOUT:
            raise ParameterError(f"{file} has {key!r}, which is none of {keys}.")
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise ParameterError(f"{key} in {file} must be a text of 1 to {_LONGEST:,} signs.")
    if not values:
        raise ParameterError(f"{file} is empty: give some of {keys} a text.")
    return {name: values[key].strip() for key, name in ABOUT.items() if key in values}


def _toml(path: str | os.PathLike[str], hint: str = "") -> dict[str, Any]:
    try:
        return read_toml(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = hint or f": {error}"
    raise ParameterError(f"{Path(path).name} is not TOML{hint}.")


# --- what a registry asks -------------------------------------------------------------------


class Field(NamedTuple):
    """One question of the details file."""

    path: tuple[str, ...]  # place in the registry's record
    needed: bool  # whether an entry of tier 3 is refused without it
    kind: str  # of the answer: 'text', 'list', 'date' or 'slug'
    choices: tuple[str, ...]  # the allowed answers; any text if empty

    @property
    def name(self) -> str:
        """The path in one word."""
        return ".".join(self.path)


#: Values by the path of their names, such as ("deployment", "basic", "name").
Details = dict[tuple[str, ...], Any]

_DETAILS = Path(__file__).parents[1] / "templates" / "details.toml"
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_KINDS = {"url_slug": "slug", "publication_date": "date"}


def template(name: str = "details.toml") -> str:
    """Return an empty details file, as TOML; `name` is for the command in its head."""
    return _DETAILS.read_text(encoding="utf-8").replace("{name}", name)


@cache
def fields() -> tuple[Field, ...]:
    """Return the questions of the empty file; those without # are needed."""
    found, section, choices = [], "", ()
    for line in template().split("\n"):
        if header := re.fullmatch(r"\[(.*)\]", line):
            section = header[1]
        elif listed := re.fullmatch("# One of: (.*)", line):
            choices = tuple(listed[1].split(", "))
        elif key := re.fullmatch(r'(# )?(\w+) = (\[?)""\]?', line):
            kind = "list" if key[3] else _KINDS.get(key[2], "text")
            path = (*filter(None, section.split(".")), key[2])
            found.append(Field(path, not key[1], kind, choices))
            choices = ()
    return tuple(found)


def missing_everything() -> str:
    """Return the names of all required fields, with commas."""
    return ", ".join(field.name for field in fields() if field.needed)


def read_details(path: str | os.PathLike[str]) -> Details:
    """Return the answers of a TOML details file, or raise ParameterError with all errors."""
    given = _flat(_toml(path))
    known = {field.path for field in fields()}
    problems = [
        f"{'.'.join(path)} is not asked for; what the model's card knows comes from there"
        for path in given
        if path not in known
    ]
    found: Details = {}
    missing = []
    for field in fields():
        value = _value(given.get(field.path, ""))
        if value in ("", []):
            missing += [field.name] if field.needed else []
        elif (problem := _problem(field, value)) is not None:
            problems.append(f"{field.name} {problem}")
        else:
            found[field.path] = value
    if missing:
        problems.insert(0, f"missing: {', '.join(missing)}")
    if problems:
        raise ParameterError(f"{Path(path).name} cannot be used: {'; '.join(problems)}.")
    return found


def _flat(values: Mapping[str, Any], before: tuple[str, ...] = ()) -> Details:
    found: Details = {}
    for key, value in values.items():
        path = (*before, key)
        found |= _flat(value, path) if isinstance(value, dict) else {path: value}
    return found


def _value(value: Any) -> Any:
    """Return a value without surrounding space, and a list without blank texts."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and all(isinstance(x, str) for x in value):
        return [x.strip() for x in value if x.strip()]
    return value.isoformat() if type(value) is date else value


def _problem(field: Field, value: Any) -> str | None:
    """Return what is wrong with a given value."""
    if field.kind == "list":
        texts = isinstance(value, list) and all(isinstance(x, str) for x in value)
        return None if texts else "must be a list of texts"
    if not isinstance(value, str):
        return "must be a text"
    if field.choices and value not in field.choices:
        return f"must be one of {', '.join(repr(x) for x in field.choices)}"
    if field.kind == "slug" and not _SLUG.fullmatch(value):
        return "must be letters, digits, - and _, for an address"
    return "must be a date, YYYY-MM-DD" if field.kind == "date" and not _is_day(value) else None


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
