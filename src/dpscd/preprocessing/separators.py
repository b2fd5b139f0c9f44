"""Whether a line of names was split at the wrong sign; told from the names alone."""

from collections.abc import Sequence

__all__ = ["other_delimiter"]

_USUAL = (";", "\t", "|", ",")


def other_delimiter(names: Sequence[str], delimiter: str) -> str | None:
    """Return what probably separates the cells of a table with one column, None if nothing.

    Notes
    -----
    Guarantee: a function of the names of the columns and of `delimiter`, which are public.
    """
    if len(names) != 1:
        return None
    counts = {sign: names[0].count(sign) for sign in _USUAL if sign != delimiter}
    best = max(counts, key=lambda sign: counts[sign])
    return best if counts[best] else None
