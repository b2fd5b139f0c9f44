"""Templates and how their formats escape: the one door of Jinja2.

Guarantee: what a template is given becomes text, never markup, whatever names of columns,
classes and data sets contain.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FOLDER = Path(__file__).with_name("templates")


def html_table(
    title: str,
    facts: Mapping[str, Any] | None = None,
    headings: Sequence[str] = (),
    rows: Iterable[Sequence[Any]] = (),
    note: str = "",
) -> str:
    """Return a fragment of HTML for notebooks: a title, named facts, a table and a note.

    Everything is text and is escaped; floats are shown with four digits.
    """
    return rendered(
        "notebook.html.j2",
        title=title,
        facts=facts or {},
        headings=headings,
        rows=[list(row) for row in rows],
        note=note,
    )


def rendered(template: str, **values: Any) -> str:
    """Return a template filled in."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.tests["float"] = lambda value: isinstance(value, float)
    return found


def _printable(value: Any) -> Any:
    """Return a text without signs that do not print, such as those that turn writing round."""
    if type(value) is not str:
        return value
    return "".join(x if x.isprintable() or x == "\n" else "\ufffd" for x in value)
