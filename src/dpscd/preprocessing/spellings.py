"""How numbers are written that are not read as such, or not as meant."""

import re

_SIGN = r"[+-]?"
_HEAD = rf"{_SIGN}[0-9]{{1,3}}"
_BLANK = r"[ _'\u2019\u00a0\u202f]"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(:.*)?"
_PATTERNS = (
    (
        "date",
        re.compile(
            rf"([0-9]{{4}}([-/.])[0-9]{{1,2}}\2[0-9]{{1,2}}|[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\3"
            rf"([0-9]{{2}}|[0-9]{{4}}))([ T].*)?|{_CLOCK}|-?[0-9]+ days {_CLOCK}"
        ),
    ),
    ("commas", re.compile(rf"{_HEAD}(,[0-9]{{3}})+(\.[0-9]+)?")),
    ("stops", re.compile(rf"{_HEAD}((\.[0-9]{{3}}){{2,}}|(\.[0-9]{{3}})+,[0-9]+)")),
    ("blanks", re.compile(rf"{_HEAD}({_BLANK}[0-9]{{3}})+([.,][0-9]+)?")),
    ("comma", re.compile(rf"{_SIGN}[0-9]*,[0-9]+")),
    ("unit", re.compile(rf"\W?\s*{_SIGN}[0-9][0-9.,]*\s*(\W|[^\W\d]{{1,3}})?")),
)
DOTTED = re.compile(rf"{_SIGN}[0-9]+\.[0-9]+")
# Thousands too, if a full stop parts these: "1.234", but not "0.234".
THREE = re.compile(rf"{_SIGN}[1-9][0-9]{{0,2}}\.[0-9]{{3}}")

SPELLED = {
    "date": "dates or times, which are not read as numbers: make them numbers first (days "
    "since a fixed day), or categories (the month)",
    "comma": "with a decimal comma: replace it by a point",
    "commas": "with a comma before three digits: take it out if it parts thousands, or replace "
    "it by a point if it is a decimal comma",
    "stops": "with full stops between thousands: take these out, and replace a decimal comma "
    "by a point; cells with one full stop are read as decimals",
    "blanks": "with blanks or apostrophes between thousands: take them out",
    "unit": "with a unit or a sign beside the number: take it out",
}
"""What is said of cells that are no numbers, by how they are written."""


def spelling_of(text: str) -> str | None:
    """Return how a text is written that would be a number otherwise: a key of `SPELLED`."""
    plain = text.strip()
    return next((name for name, own in _PATTERNS if own.fullmatch(plain)), None)
