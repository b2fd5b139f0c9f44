"""Generated persons with 1 to 100 rows: how many each has, and how alike they are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr

from dpscd.errors import ParameterError
from dpscd_experiments.dataset import Task
from dpscd_experiments.person_data import PersonData

__all__ = ["LAWS", "Law", "generate_persons"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST = 100
_HELD_OUT = 0.5  # persons for test, as a part of those for training
_SIGNAL, _EXPLAINED = 3.0, 0.7  # deviation of log-odds; part of the labels' variance
_BOUNDS = (-4.0, 4.0)


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
