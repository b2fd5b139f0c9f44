"""Records made to be found: each alone on its feature, its step clipped every time.

A canary's row is the longest allowed, along a feature that no other record uses, so its
coordinate of the shared vector is moved by it and by noise alone, and canaries of one
run do not interact. Its step is *saturated*: for every dual and every shared vector that
can occur, it is longer than the clip, so its contribution is always the whole clip. That is
the worst record there is: a constant contribution attains the bound that is accounted.

A claim of privacy covers every `lam` and every `travel`, so the audit chooses them. With
``steps clip = travel / rate <= travel n <= 1/8`` a canary's dual stays within 1/8 of zero
whatever the lots, and with a large `lam` predictions stay there as well. From such a state
every loss wants to move its dual by far more than 1/8, hence more than the clip.

Where persons are the unit a canary is a person, all of whose rows are such a row: each of them
would be clipped by itself, and all pull the same way. Clipped together they contribute the
clip, which is what is accounted; clipped one by one they would contribute it once a row.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import ParameterError
from dpscd.kernels.draws import LARGEST_NORMAL, shuffle
from dpscd.losses import dual_step
from dpscd.persons import SHARE, PersonFacts
from dpscd.privacy.random import Purpose, SecureSource, SeededSource, Source
from dpscd.privacy.relation import Relation
from dpscd.releases.training import Training

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Regularisation of an audit, in units of the squared row bound: predictions vanish.
SATURATING_LAM = 1e9

#: Default number of rows of a canary that is a person.
PERSON_ROWS = 5

_NEAR = 1.0 / 8.0
_ORDINARY_FEATURES = 4


@dataclass(frozen=True)
class Dataset:
    """The data of one run, in the user's units; the rows of a person are adjacent."""

    X: sparse.csr_array
    targets: Floats
    weights: Floats
    present: Bools  # which canaries took part
    starts: Ints  # first row of each person or record, and the end of the last

    @property
    def groups(self) -> Ints:
        """Person of each row."""
        sizes = np.diff(self.starts)
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def scattered(self) -> Ints:
        """An order of rows in which every person's first row precedes any second one."""
        place = np.arange(self.starts[-1]) - self.starts[self.groups]
        return np.argsort(place, kind="stable")


@dataclass(frozen=True)
class Game:
    """Which records an audit is played with."""

    canaries: int = 1000  # in one run, each on a feature of its own
    ordinary: int = 100  # other records, on features of their own, that no canary meets
    # For each canary, records on its feature that pull the other way. They hide it under
    # Poisson sampling, and give it away when lots have a fixed size.
    companions: int = 0
    # Rows of each canary, which is a person then, as all others are: a companion has one row,
    # an ordinary person one, two and so on up to as many as a canary. None: rows are records.
    person_rows: int | None = None

    def __post_init__(self) -> None:
        if self.canaries < 1 or self.ordinary < 0 or self.companions < 0:
            raise ParameterError("canaries must be at least 1, other records at least 0.")
        if self.person_rows is not None and self.person_rows < 1:
            raise ParameterError(
                f"person_rows={self.person_rows!r} must be at least 1, or None."
            )

    @property
    def records(self) -> int:
        """Number of records, or of persons, when every canary is there."""
        return self.canaries * (1 + self.companions) + self.ordinary

    @property
    def features(self) -> int:
        """Number of features; the first ones belong to the canaries, one each."""
        return self.canaries + (_ORDINARY_FEATURES if self.ordinary else 0)

    def dataset(self, present: Bools, relation: Relation, row_bound: float) -> Dataset:
        """Return the records of a run; targets are +-1, canaries' always +1.

        An absent canary has weight zero (zero-out), is not in the data (add-remove), or pulls
        the other way (replace-one), as a person with any number of rows. A canary's companions
        follow its rows.
        """
        block = 1 + self.companions
        own = self.canaries * block
        sizes = self._sizes(present, relation)
        owner = np.repeat(np.arange(self.records), sizes)
        canaries = owner[owner < own]
        signs = np.full(own, -1.0)
        signs[::block] = np.where(present | (relation.absent != "other"), 1.0, -1.0)
        rows = sparse.csr_array(
            (row_bound * signs[canaries], canaries // block, np.arange(len(canaries) + 1)),
            shape=(len(canaries), self.features),
        )
        weights = np.ones(self.records)
        if relation.absent == "empty":
            weights[:own:block] = present
        targets = np.ones(len(owner))
        targets[len(canaries) :: 2] = -1.0
        others = self._ordinary(len(owner) - len(canaries), row_bound)
        X = sparse.csr_array(sparse.vstack([rows, others]))
        starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        return Dataset(X, targets, weights[owner], present, starts)

    def _sizes(self, present: Bools, relation: Relation) -> Ints:
        """Return how many rows each record (one, or none) or each person has."""
        most = self.person_rows or 1
        any_number = 1 + np.arange(self.records) % most
        absent: dict[str, Any] = {
            "empty": 1,
            "nothing": 0,
            "other": any_number[: self.canaries],
        }
        sizes = np.ones(self.records, dtype=np.int64)
        own = self.canaries * (1 + self.companions)
        sizes[: own : 1 + self.companions] = np.where(present, most, absent[relation.absent])
        sizes[own:] = any_number[: self.ordinary]
        return sizes

    def _ordinary(self, rows: int, row_bound: float) -> sparse.csr_array:
        """Return rows of different lengths and directions, the same in every run."""
        width = _ORDINARY_FEATURES if self.ordinary else 0
        angles = np.outer(np.arange(rows), np.arange(1, width + 1))
        values = row_bound * np.cos(angles) / np.sqrt(max(width, 1))
        empty = sparse.csr_array((rows, self.canaries))
        return sparse.csr_array(sparse.hstack([empty, sparse.csr_array(values)]))


def row_weights(persons: PersonFacts | None, rows: int) -> tuple[float, float]:
    """Return the training weight of a canary's row, and of all rows that step with it."""
    if persons is None:
        return 1.0, 1.0
    weight = 1.0 / rows if persons.weight == SHARE else 1.0
    return weight, weight * min(rows, persons.most)


def saturating_travel(n: int, person_rows: int | None = None) -> float:
    """Return a travel at which no dual can leave 1/8, whichever lots are drawn."""
    # A dual of a person's row is compared with the row's weight, which may be 1 over the rows.
    return _NEAR / (n * (person_rows or 1))


def check_saturated(training: Training, records: int, person_rows: int | None = None) -> float:
    """Return the least ratio of a step of a canary's row to the clip.

    Steps fall with the dual and with the prediction, so the shortest is the one at the
    largest of both. The dual is at most steps times clip; a coordinate of the shared
    vector at most steps times (the clips of all records and the largest noise); a
    record of length 1 meets at most two coordinates, its feature and the constant.

    The rows of a person move together by a clip at most, so no row's dual by more. All numbers
    of rows up to `person_rows` are tried: those of who stands in a canary's place. If each row
    alone would be clipped, so are those that step together, which pull the same way.
    """
    problem, persons = training.facts.problem(training.lam), training.facts.persons
    largest = training.steps * training.clip
    noise = LARGEST_NORMAL * training.noise.std + training.noise.grid
    reach = 2.0 * training.steps * (records * training.clip + noise)
    curvature = training.constants(problem.strength).separability / problem.strength
    shortest = math.inf
    for rows in range(1, (person_rows or 1) + 1):
        weight, mass = row_weights(persons, rows)
        step = dual_step(
            problem.loss, reach / problem.strength, largest / weight, 1.0, mass * curvature
        )
        shortest = min(shortest, weight * float(step))
    if not shortest > training.clip:
        raise ParameterError(
            f"travel={training.travel:g} and lam={training.lam:g} leave steps of the canary "
            "unclipped; an audit needs a smaller travel or a larger lam."
        )
    return shortest / training.clip


def source_of(run: str, random_state: int | None) -> Source:
    """Return a fresh source, seeded by the name of a run if there is a `random_state`."""
    return SecureSource() if random_state is None else SeededSource(run.encode())


def draw_world(source: Source, canaries: int, odd: int) -> tuple[Bools, int]:
    """Draw which canaries are present, half of them, and a seed for what is run with them."""
    # `odd`, 0 or 1, says which half of an odd number is larger: with one canary, whether it is
    # present.
    words = source.words(Purpose.ORDER, 0, 1, canaries + 1)[0]
    order = np.arange(canaries)
    shuffle(words[:-1], order)
    return order < (canaries + odd) // 2, int(words[-1] >> np.uint64(1))


def drawn_worlds(
    name: str,
    canaries: int,
    trials: int,
    random_state: int | None,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[Bools, int | None]]:
    """Yield which canaries a run has, and its seed, until each world has seen `trials`."""
    if trials < 1:
        raise ParameterError(f"trials={trials!r} must be a positive integer.")
    have, run = np.zeros(2, dtype=np.int64), 0
    while have.min() < trials:
        source = source_of(f"front door {random_state}, {name} {run}", random_state)
        present, seed = draw_world(source, canaries, run % 2)
        yield present, seed if source.seeded else None
        have += (present.sum(), (~present).sum())
        run += 1
        if progress is not None:
            progress(canaries)
