"""Facts about a model from its owner: purpose, owner, legal basis."""

import os
import tomllib
from pathlib import Path

from dpscd.errors import ParameterError
from dpscd.preprocessing.toml_text import read_toml
from dpscd.report.html import Html, html, joined

__all__ = ["FIELDS", "about_section", "read_about"]

#: Keys of the file, and how the page calls them.
FIELDS = {
    "purpose": "Purpose",
    "owner": "Owner",
    "contact": "Contact",
    "legal_basis": "Legal basis",
}
_LONGEST = 2000  # signs


def read_about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return a TOML file's texts for keys of FIELDS, or raise ParameterError."""
    file, keys = Path(path), ", ".join(FIELDS)
    try:
        values = read_toml(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ParameterError(f"{file.name} is not TOML: give some of {keys} a text.") from None
    for key, text in values.items():
        if key not in FIELDS:
            raise ParameterError(f"{file.name} has {key!r}, which is none of {keys}.")
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise ParameterError(
                f"{key} in {file.name} must be a text of 1 to {_LONGEST:,} signs."
            )
    if not values:
        raise ParameterError(f"{file.name} is empty: give some of {keys} a text.")
    return {key: values[key].strip() for key in FIELDS if key in values}


def about_section(values: dict[str, str]) -> Html:
    """Return the section of the owner's statements; none was checked."""
    items = joined(
        html("<dt>{name}</dt><dd>{text}</dd>\n", name=FIELDS[key], text=text)
        for key, text in values.items()
    )
    return html(
        "<dl>\n{items}</dl>\n"
        '<p class="note">As stated by whoever made this page; it does not follow from the '
        "model.</p>\n",
        items=items,
    )
