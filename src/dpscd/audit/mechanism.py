"""The mechanism under audit, in replaceable parts, and attacks on its released path."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.audit.canaries import Dataset
from dpscd.estimators.base import DPLinearModel
from dpscd.kernels.dual import Records
from dpscd.kernels.lots import advance
from dpscd.persons import PersonFacts, PersonRows, training_weights
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.releases.training import Training

Floats = npt.NDArray[np.float64]


class Attack(Protocol):
    """A statistic of the path of each canary's coordinate, built up step by step."""

    def see(self, increments: Floats) -> None:
        """Take the increment of each canary's coordinate in one step."""

    @property
    def scores(self) -> Floats:
        """One score per canary; higher means that it took part."""


class LikelihoodRatio:
    """The most powerful test against a canary whose contribution never changes.

    A canary that is drawn, with probability q = `rate`, moves its coordinate by `shift`, else
    the coordinate moves by noise alone, so with x an increment the log-likelihood ratio of
    present to absent is the sum over steps of ``log(1 - q + q exp(x shift / std^2 - shift^2 /
    (2 std^2)))``. By the lemma of Neyman and Pearson no other use of the path does better;
    since a constant step attains the bound of the theory, neither does any other record. If
    `replaced`, the absent canary is not empty but contributes ``-shift``.
    """

    def __init__(self, rate: float, shift: float, std: float, *, replaced: bool) -> None:
        self.rate = rate
        self.slope = shift / std**2
        self.drop = shift**2 / (2.0 * std**2)
        self.replaced = replaced
        self.total: Floats | None = None

    def see(self, increments: Floats) -> None:
        """Add the log-likelihood ratio of one step."""
        exponent = self.slope * increments
        gain = self._log_ratio(exponent)
        if self.replaced:
            gain -= self._log_ratio(-exponent)
        self.total = gain if self.total is None else self.total + gain

    @property
    def scores(self) -> Floats:
        """Return the log-likelihood ratio of each canary."""
        return np.zeros(0) if self.total is None else self.total

    def _log_ratio(self, exponent: Floats) -> Floats:
        if self.rate == 1.0:
            return exponent - self.drop
        # The maximum of both terms is taken out by logaddexp: no overflow.
        stay, join = math.log1p(-self.rate), math.log(self.rate) - self.drop
        return np.logaddexp(stay, exponent + join)


# Numbers drawn at once: enough that Python does not count, few enough for the cache.
_CHUNK = 2**18


@dataclass(frozen=True)
class Mechanism:
    """A claim and the parts that should keep it; :meth:`planned` takes those that ship."""

    # To see whether an audit notices a mistake, put in a wrong part with
    # ``dataclasses.replace``.

    training: Training
    lots: Any  # draws as PoissonLots does
    noise: Any  # draws as LatticeGaussian does
    # Called as :func:`dpscd.kernels.lots.advance` for a single step.
    step: Callable[..., None] = advance

    @classmethod
    def planned(cls, training: Training) -> "Mechanism":
        """Return the mechanism as it ships, of records or of persons."""
        return cls(training, training.lots, training.noise)

    @classmethod
    def of_fit(cls, estimator: DPLinearModel) -> "Mechanism":
        """Return the mechanism of a fitted model's training, of its unit of privacy."""
        return cls.planned(estimator.fit_.plan.training)

    @cached_property
    def problem(self) -> Problem:
        """The public problem, before anything was released."""
        return self.training.facts.problem(self.training.lam)

    @property
    def persons(self) -> PersonFacts | None:
        """Public facts about persons, if they are the unit."""
        return self.training.facts.persons

    @property
    def shift(self) -> float:
        """Distance by which a drawn saturated canary moves its own coordinate."""
        return self.training.clip * self.problem.row_bound / self.problem.scale

    def likelihood_ratio(self) -> LikelihoodRatio:
        """Return the most powerful attack on the path, if the mechanism is as claimed."""
        return LikelihoodRatio(
            self.training.rate,
            self.shift,
            self.training.noise.std,
            replaced=self.training.relation.absent == "other",
        )

    def play(self, data: Dataset, source: Source, attack: Attack) -> None:
        """Run the mechanism once and show every step of the canaries to the attack."""
        training, canaries = self.training, len(data.present)
        rows, weights = self.problem.rows(data.X), data.weights
        persons: tuple[Any, ...] = ()
        if self.persons is not None:
            weights = training_weights(
                data.starts, weights, np.ones_like(weights), self.persons.weight
            )
            persons = (PersonRows(data.starts, weights, self.persons.most).drawn(),)
        records = Records(data.targets, weights)
        count = len(data.starts) - 1
        dual = np.zeros((len(data.targets), 1))
        shared = np.zeros((1, self.problem.width))
        unused = np.zeros_like(shared)
        numbers = training.constants(self.problem.strength)
        chunk = max(1, _CHUNK // max(training.size, 3 * math.ceil(training.rate * count)))
        for first in range(0, training.steps, chunk):
            steps = min(chunk, training.steps - first)
            lots = self.lots.draw(source, first, steps, count)
            normals = self.noise.draw(source, first, steps, training.size)
            for t in range(steps):
                ids = lots.ids[lots.starts[t] : lots.starts[t + 1]]
                before = shared[0, :canaries].copy()
                self.step(
                    self.problem.loss,
                    rows,
                    records,
                    numbers,
                    ids,
                    np.array([0, len(ids)]),
                    normals[t : t + 1],
                    1,  # no average
                    dual,
                    shared,
                    unused,
                    *persons,
                )
                attack.see(shared[0, :canaries] - before)
