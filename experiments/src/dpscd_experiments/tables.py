"""The raw tables of the bench, by name."""

import os
from functools import lru_cache
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.adult import adult_table
from dpscd_experiments.bank import bank_table
from dpscd_experiments.covtype import covtype_table
from dpscd_experiments.flights import flights_table
from dpscd_experiments.table import RawTable

__all__ = ["TABLES", "load_table"]

_LOADERS: dict[str, Any] = {
    "adult": adult_table,
    "bank": bank_table,
    "nycflights13": flights_table,
    "covtype": covtype_table,
}

#: Every name that :func:`load_table` knows.
TABLES = tuple(_LOADERS)


def load_table(name: str, *, folder: str | os.PathLike[str] | None = None) -> RawTable:
    """Load a table as published, with a fixed split."""
    if name not in _LOADERS:
        raise ParameterError(f"name={name!r} must be one of {', '.join(TABLES)}.")
    place = folder if folder is not None or name == "adult" else os.environ.get("DPSCD_DATA")
    return _load(name, None if place is None else os.fspath(place))


@lru_cache(maxsize=1)
def _load(name: str, folder: str | None) -> RawTable:
    table: RawTable = _LOADERS[name](folder)
    return table
