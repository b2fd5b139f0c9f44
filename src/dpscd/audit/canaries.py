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
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import ParameterError
from dpscd.kernels.draws import LARGEST_NORMAL, shuffle
from dpscd.losses import dual_step
from dpscd.plan import Plan
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem

__all__ = ["SATURATING_LAM", "Dataset", "Game", "check_saturated", "saturating_travel"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Regularisation of an audit, in units of the squared row bound: predictions vanish.
SATURATING_LAM = 1e9

_NEAR = 1.0 / 8.0
_ORDINARY_FEATURES = 4


@dataclass(frozen=True)
class Dataset:
    """The data of one run, in the user's units; `present` says which canaries took part."""

    X: sparse.csr_array
    targets: Floats
    weights: Floats
    present: Bools


@dataclass(frozen=True)
class Game:
    """Which records an audit is played with.

    Attributes
    ----------
    canaries : int
        Canaries in one run, each on a feature of its own.
    ordinary : int
        Other records, on features of their own, that no canary meets.
    companions : int
        For each canary, records on its feature that pull the other way. They hide it
        under Poisson sampling, and give it away when lots have a fixed size.
    """

    canaries: int = 1000
    ordinary: int = 100
    companions: int = 0

    def __post_init__(self) -> None:
        if self.canaries < 1 or self.ordinary < 0 or self.companions < 0:
            raise ParameterError("canaries must be at least 1, other records at least 0.")

    @property
    def records(self) -> int:
        """Number of records when every canary is there."""
        return self.canaries * (1 + self.companions) + self.ordinary

    @property
    def features(self) -> int:
        """Number of features; the first ones belong to the canaries, one each."""
        return self.canaries + (_ORDINARY_FEATURES if self.ordinary else 0)

    def worlds(self, source: Source, run: int) -> tuple[Bools, int]:
        """Draw which canaries are there, half of them, and a number to seed a fit with.

        Each canary is in or out at random whatever the others are: the two worlds of
        one canary are neighbours, even where canaries should interact.
        """
        words = source.words(Purpose.ORDER, 0, 1, self.canaries + 1)[0]
        order = np.arange(self.canaries)
        shuffle(words[:-1], order)
        return order < (self.canaries + run % 2) // 2, int(words[-1] >> np.uint64(1))

    def dataset(self, present: Bools, relation: Relation, row_bound: float) -> Dataset:
        """Return the records of a run; targets are +-1, canaries' always +1.

        An absent canary has weight zero (zero-out), is not in the data at all
        (add-remove), or pulls the other way (replace-one). A canary and its companions
        are neighbouring rows.
        """
        block = 1 + self.companions
        signs = np.full((self.canaries, block), -1.0)
        signs[:, 0] = np.where(present | (relation.absent != "other"), 1.0, -1.0)
        features = np.repeat(np.arange(self.canaries), block)
        own = sparse.csr_array(
            (row_bound * signs.ravel(), features, np.arange(len(features) + 1)),
            shape=(len(features), self.features),
        )
        weights = np.ones(self.records)
        if relation.absent == "empty":
            weights[: len(features) : block] = present
        targets = np.ones(self.records)
        targets[len(features) :: 2] = -1.0
        X = sparse.csr_array(sparse.vstack([own, self._ordinary(row_bound)]))
        kept = np.ones(self.records, dtype=bool)
        if relation.absent == "nothing":
            kept[: len(features) : block] = present
        return Dataset(X[kept], targets[kept], weights[kept], present)

    def _ordinary(self, row_bound: float) -> sparse.csr_array:
        """Return records of different lengths and directions, the same in every run."""
        width = _ORDINARY_FEATURES if self.ordinary else 0
        angles = np.outer(np.arange(self.ordinary), np.arange(1, width + 1))
        values = row_bound * np.cos(angles) / np.sqrt(max(width, 1))
        empty = sparse.csr_array((self.ordinary, self.canaries))
        return sparse.csr_array(sparse.hstack([empty, sparse.csr_array(values)]))


def saturating_travel(n: int) -> float:
    """Return a travel at which no dual can leave 1/8, whichever lots are drawn."""
    return _NEAR / n


def check_saturated(problem: Problem, plan: Plan, records: int) -> float:
    """Return how many times longer than the clip a canary's step is at the least.

    Parameters
    ----------
    problem, plan
        What is audited.
    records : int
        Number of records of a run.

    Raises
    ------
    ParameterError
        If some reachable state leaves the step unclipped.

    Notes
    -----
    Steps fall with the dual and with the prediction, so the shortest is the one at the
    largest of both. The dual is at most steps times clip; a coordinate of the shared
    vector at most steps times (the clips of all records and the largest noise); a
    record of length 1 meets at most two coordinates, its feature and the constant.
    """
    largest = plan.steps * plan.clip
    noise = LARGEST_NORMAL * plan.noise.std + plan.noise.grid
    reach = 2.0 * plan.steps * (records * plan.clip + noise)
    curvature = plan.constants(problem.strength).separability / problem.strength
    shortest = dual_step(problem.loss, reach / problem.strength, largest, 1.0, curvature)
    if not shortest > plan.clip:
        raise ParameterError(
            f"travel={plan.travel:g} and lam={plan.lam:g} leave steps of the canary "
            "unclipped; an audit needs a smaller travel or a larger lam."
        )
    return float(shortest / plan.clip)
