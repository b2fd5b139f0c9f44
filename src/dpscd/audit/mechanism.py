"""The mechanism under audit, in replaceable parts, and the run that shows its path."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.audit.attacks import Attack, LikelihoodRatio
from dpscd.audit.canaries import Dataset
from dpscd.cards.card import PrivacyCard
from dpscd.estimators.base import DPLinearModel
from dpscd.kernels.dual import Records, advance
from dpscd.kernels.persons import advance_persons
from dpscd.persons import PersonFacts, PersonRows, training_weights
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.privacy.sampling import Lots
from dpscd.problem import Problem

__all__ = ["Mechanism", "NoiseLike", "Sampler", "persons_of"]

Floats = npt.NDArray[np.float64]

# Numbers drawn at once: enough that Python does not count, few enough for the cache.
_CHUNK = 2**18


class Sampler(Protocol):
    """Draws lots, as PoissonLots does."""

    def draw(self, source: Source, first: int, steps: int, rows: int) -> Lots:
        """Draw the lots of `steps` steps from step `first` on, over `rows` records."""


class NoiseLike(Protocol):
    """Draws standard normals, as LatticeGaussian does."""

    def draw(self, source: Source, first: int, steps: int, size: int) -> Floats:
        """Draw normals for `steps` steps of `size` coordinates."""


@dataclass(frozen=True)
class Mechanism:
    """A claim and the parts that should keep it.

    :meth:`planned` takes the parts that ship: the plan's own sampler and noise, and the
    kernel. To see whether an audit notices a mistake, put a wrong part in with
    ``dataclasses.replace`` and leave the claim as it is.
    """

    problem: Problem
    plan: Plan
    lots: Sampler
    noise: NoiseLike
    # Called as :func:`dpscd.kernels.dual.advance` for a single step, or as
    # :func:`dpscd.kernels.persons.advance_persons` if persons are the unit.
    step: Callable[..., None] = advance
    persons: PersonFacts | None = None  # public facts about persons, if they are the unit

    @classmethod
    def planned(
        cls, problem: Problem, plan: Plan, persons: PersonFacts | None = None
    ) -> "Mechanism":
        """Return the mechanism as it ships, of records or of persons."""
        step = advance if persons is None else advance_persons
        return cls(problem, plan, plan.lots, plan.noise, step, persons)

    @classmethod
    def of_fit(cls, estimator: DPLinearModel) -> "Mechanism":
        """Return the mechanism that a fitted model's card describes, of the card's unit."""
        card = estimator.privacy_
        public = card.public
        meaning = estimator._labels(getattr(estimator, "classes_", None))
        problem = Problem(
            loss=estimator._loss_of(meaning),
            lam=public["lam"],
            n=public["n"],
            d=public["d"],
            row_bound=public["row_bound"],
            constant=public["intercept"],
        )
        return cls.planned(problem, _plan(card, problem), persons_of(card))

    @property
    def shift(self) -> float:
        """Distance by which a drawn saturated canary moves its own coordinate."""
        return self.plan.clip * self.problem.row_bound / self.problem.scale

    def likelihood_ratio(self) -> LikelihoodRatio:
        """Return the most powerful attack on the path, if the mechanism is as claimed."""
        return LikelihoodRatio(
            self.plan.rate,
            self.shift,
            self.plan.noise.std,
            replaced=self.plan.relation.absent == "other",
        )

    def play(self, data: Dataset, source: Source, attack: Attack) -> None:
        """Run the mechanism once and show every step of the canaries to the attack."""
        plan, canaries = self.plan, len(data.present)
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
        numbers = plan.constants(self.problem.strength)
        chunk = max(1, _CHUNK // max(plan.size, 3 * math.ceil(plan.rate * count)))
        for first in range(0, plan.steps, chunk):
            steps = min(chunk, plan.steps - first)
            lots = self.lots.draw(source, first, steps, count)
            normals = self.noise.draw(source, first, steps, plan.size)
            for t in range(steps):
                ids = lots.ids[lots.starts[t] : lots.starts[t + 1]]
                before = shared[0, :canaries].copy()
                self.step(
                    self.problem.loss,
                    rows,
                    records,
                    *persons,
                    numbers,
                    ids,
                    np.array([0, len(ids)]),
                    normals[t : t + 1],
                    1,  # no average
                    dual,
                    shared,
                    unused,
                )
                attack.see(shared[0, :canaries] - before)


def persons_of(card: PrivacyCard) -> PersonFacts | None:
    """Return a card's facts about persons, if they are its unit."""
    if not card.protected.is_person:
        return None
    public: dict[str, Any] = card.public
    return PersonFacts(card.protected.person, public["person_weight"], public["max_rows"])


def _plan(card: PrivacyCard, problem: Problem) -> Plan:
    public: dict[str, Any] = card.public
    return Plan(
        epsilon=card.epsilon,
        delta=card.delta,
        relation=card.relation,
        n=problem.n,
        d=problem.d,
        outputs=problem.outputs,
        intercept=problem.constant != 0.0,
        lam=problem.lam,
        steps=card.steps,
        rate=card.rate,
        clip=card.clip,
        separability=public["lot_size"],
        averaging=public["averaging"],
        noise_multiplier=card.noise_multiplier,
    )
