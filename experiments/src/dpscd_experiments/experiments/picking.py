"""Pick numbers out of result rows."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

__all__ = ["median_and_range", "pick", "values"]

Row = Mapping[str, Any]


def pick(rows: Iterable[Row], metric: str, **columns: Any) -> list[Row]:
    """Return the rows of a metric whose other columns, parameters too, are as given."""
    return [
        row
        for row in rows
        if row["metric"] == metric
        and all(row.get(name, row.get(f"param.{name}")) == at for name, at in columns.items())
    ]


def values(rows: Iterable[Row], metric: str, **columns: Any) -> list[float]:
    """Return the numbers of these rows."""
    return [float(row["value"]) for row in pick(rows, metric, **columns)]


def median_and_range(numbers: list[float], digits: int = 2) -> str:
    """Return 'median (smallest to largest)', or a dash without numbers."""
    if not numbers:
        return "-"
    middle, low, high = (
        f"{at:.{digits}f}" for at in (median(numbers), min(numbers), max(numbers))
    )
    return f"{middle} ({low} to {high})"
