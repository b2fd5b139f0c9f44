"""Details that a registry requires and no model knows: a file that the owners fill in."""

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from dpscd.errors import ParameterError
from dpscd.preprocessing.toml_text import read_toml


class Field(NamedTuple):
    """One question of the details file."""

    path: tuple[str, ...]  # place in the registry's record
    asks: str  # the question
    needed: bool = True  # whether an entry of tier 3 is refused without it
    kind: str = "text"  # of the answer: 'text', 'list', 'date' or 'slug'
    choices: tuple[str, ...] = ()  # the allowed answers; any text if empty

    @property
    def name(self) -> str:
        """The path in one word."""
        return ".".join(self.path)


_BASIC = ("deployment", "basic")
_MODEL = ("deployment", "deployment_model")
_MADE = ("deployment", "implementation")
_ABOUT = ("deployment", "administrative")
_SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")

#: In the order in which the file asks.
FIELDS = (
    Field(
        ("url_slug",),
        "The end of the entry's address: letters, digits, - and _.",
        kind="slug",
    ),
    Field((*_BASIC, "name"), "What the model is called."),
    Field((*_BASIC, "data_curators"), "Who publishes it, one text each.", kind="list"),
    Field((*_BASIC, "description"), "What it is, in a few sentences."),
    Field((*_BASIC, "intended_use"), "What it is meant to be used for, and by whom."),
    Field(
        (*_BASIC, "data_product_region"), "Which region the data describe, or whose law holds."
    ),
    Field(
        (*_BASIC, "publication_date"),
        "When it is published, or was first: YYYY-MM-DD.",
        kind="date",
    ),
    Field((*_BASIC, "data_product_sector"), "The field it is about.", False, choices=_SECTORS),
    Field(
        (*_MODEL, "actors"),
        "Who sees the records, who sees the model, who might attack it;\n"
        "whom the people in the data have to trust, and why they may.",
    ),
    Field(
        (*_MODEL, "release_type"),
        "Whether this model is all that is published, or others follow from the same people.",
        choices=("One release", "Many releases"),
    ),
    Field(
        (*_MODEL, "release_type_details"),
        "Of one release: whether the records will be used again. Of many: how often, and what\n"
        "budget bounds them together.",
    ),
    Field(
        (*_MODEL, "data_source_type"),
        "Whether new records come in over time.",
        choices=("Static", "Dynamic"),
    ),
    Field((*_MODEL, "data_source_type_details"), "More about that.", False),
    Field(
        ("deployment", "accounting", "composition"),
        "Other releases about the same people, and how their epsilons add up. Stands after\n"
        "what the card says of this model's own releases.",
        False,
    ),
    Field(
        (*_MADE, "preprocessing_and_hyperparameter_tuning"),
        "What was done with the records before training: cleaning, looking at them, choosing\n"
        "columns, trying settings; and whether its privacy loss was accounted for. Write if\n"
        "nothing was. Stands after what the card says of planning.",
    ),
    Field(
        (*_MADE, "mechanisms"),
        "How the records themselves are secured, and who has access. Follows the card's text.",
        False,
    ),
    Field(
        (*_MADE, "justification"),
        "Why this epsilon, this delta, this unit and these public facts, and who decided.",
    ),
    Field((*_ABOUT, "sources"), "Links to papers, pages or the model itself.", False),
    Field((*_ABOUT, "notes"), "Anything else.", False),
    Field((*_ABOUT, "registry_authors"), "Who wrote this entry, one text each.", kind="list"),
)


#: Values by the path of their names, such as ("deployment", "basic", "name").
Details = dict[tuple[str, ...], Any]

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

_HEAD = """\
# What the registry of deployments of differential privacy asks and the model does not know.
# Names and sections are those of the registry. Texts may be Markdown. Fill in what has an
# empty value; take the # away from what is optional and wanted. Then:
#   dpscd export registry model.json --details {name} --out entry.yaml
"""


def template(name: str = "details.toml") -> str:
    """Return an empty details file, as TOML; `name` is for the command in its head."""
    lines = [_HEAD.format(name=name)]
    section: tuple[str, ...] = ()
    for field in FIELDS:
        if field.path[:-1] != section:
            section = field.path[:-1]
            lines += [f"[{'.'.join(section)}]", ""]
        lines += [f"# {line}" for line in field.asks.split("\n")]
        if field.choices:
            lines.append(f"# One of: {', '.join(field.choices)}")
        empty = '[""]' if field.kind == "list" else '""'
        lines += [f"{'' if field.needed else '# '}{field.path[-1]} = {empty}", ""]
    return "\n".join(lines)


def missing_everything() -> str:
    """Return the names of all required fields, with commas."""
    return ", ".join(field.name for field in FIELDS if field.needed)


def read_details(path: str | os.PathLike[str]) -> Details:
    """Return the answers of a TOML details file, or raise ParameterError with all errors."""
    name = Path(path).name
    try:
        values = read_toml(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name} is not TOML: {error}.") from None
    given = _flat(values)
    known = {field.path for field in FIELDS}
    problems = [
        f"{'.'.join(path)} is not asked for; what the model's card knows comes from there"
        for path in given
        if path not in known
    ]
    found: Details = {}
    missing = []
    for field in FIELDS:
        value = _value(given.get(field.path))
        if value in ("", []):
            if field.needed:
                missing.append(field.name)
        elif (problem := _problem(field, value)) is not None:
            problems.append(f"{field.name} {problem}")
        else:
            found[field.path] = value
    if missing:
        problems.insert(0, f"missing: {', '.join(missing)}")
    if problems:
        raise ParameterError(f"{name} cannot be used: {'; '.join(problems)}.")
    return found


def _flat(values: Mapping[str, Any], before: tuple[str, ...] = ()) -> Details:
    found: Details = {}
    for key, value in values.items():
        path = (*before, key)
        found |= _flat(value, path) if isinstance(value, dict) else {path: value}
    return found


def _value(value: Any) -> Any:
    """Return a value without surrounding space; an absent or blank one is empty."""
    if value is None:
        return ""
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
