"""Every method of the paper behind one call, with its noise and its statement."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.accounting import epsilon_of
from dpscd.privacy.calibration import calibrate, interval_for
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.random import Source
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.problem import Problem
from dpscd.solvers.observer import Observer
from dpscd_experiments.paper.algorithm1 import dp_scd
from dpscd_experiments.paper.algorithm2 import primal_dp_scd
from dpscd_experiments.paper.algorithm3 import seq_dp_scd
from dpscd_experiments.paper.baselines import dp_sgd, scd, sgd
from dpscd_experiments.paper.moments import moments_epsilon, moments_sigma
from dpscd_experiments.paper.settings import Settings
from dpscd_experiments.paper.statements import STATEMENTS, Statement
from dpscd_experiments.paper.theory import tuning_cost

__all__ = ["ACCOUNTANTS", "METHODS", "Method", "Run"]

Floats = npt.NDArray[np.float64]


class Run(Protocol):
    """How every method is called; it returns the shared vector."""

    def __call__(
        self,
        problem: Problem,
        rows: Rows,
        records: Records,
        settings: Settings,
        source: Source,
        *,
        observer: Observer | None = None,
    ) -> Floats:
        """Run the method; ``problem.model`` turns what is returned into a model."""


@dataclass(frozen=True)
class Method:
    """A method of the paper."""

    run: Run  # the method itself
    statement: Statement  # what it does and does not guarantee
    tuned: tuple[str, ...]  # the settings that the paper tunes
    noisy: bool  # whether it has noise at all
    # Whether lots are of coordinates, so that every step uses every record.
    over_features: bool = False

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.statement.method

    @property
    def tuning_cost(self) -> int:
        """Number of configurations of the paper's grids."""
        return tuning_cost(*self.tuned)

    def rate_and_steps(self, problem: Problem, settings: Settings) -> tuple[float, int]:
        """Return the rate q and the number of steps T that the paper accounts for."""
        if self.over_features:
            return 1.0, settings.steps(problem.width)
        return settings.lot_size / problem.n, settings.steps(problem.n)

    def calibrated(
        self,
        problem: Problem,
        settings: Settings,
        epsilon: float,
        delta: float,
        accountant: str = "moments",
    ) -> Settings:
        """Return the settings with the sigma that is meant to give (epsilon, delta)."""
        if not self.noisy or math.isinf(epsilon):
            return replace(settings, sigma=0.0)
        PrivacyTarget(epsilon, delta)
        search = _pick(accountant)[0]
        return replace(
            settings, sigma=search(epsilon, delta, *self.rate_and_steps(problem, settings))
        )

    def claimed_epsilon(
        self, problem: Problem, settings: Settings, delta: float, accountant: str = "moments"
    ) -> float:
        """Return the epsilon that the paper would state; see `statement` for its worth."""
        if not settings.sigma > 0.0:
            return math.inf
        measure = _pick(accountant)[1]
        return measure(delta, settings.sigma, *self.rate_and_steps(problem, settings))


def _tight_sigma(epsilon: float, delta: float, q: float, steps: int) -> float:
    interval = interval_for(epsilon, delta, Relation.ZERO_OUT, ((q, steps),))
    return calibrate(PrivacyTarget(epsilon, delta), q, steps, interval)


def _tight_epsilon(delta: float, sigma: float, q: float, steps: int) -> float:
    event = SampledGaussian(q, sigma, steps)
    # The interval must follow the answer: a first one finds out where that is.
    rough = moments_epsilon(delta, sigma, q, steps)
    interval = interval_for(rough, delta, Relation.ZERO_OUT, ((q, steps),))
    return epsilon_of([event], delta, Relation.ZERO_OUT, interval).epsilon


_Search = Callable[[float, float, float, int], float]

#: Accountants by name: the search for sigma, and epsilon.
ACCOUNTANTS: dict[str, tuple[_Search, _Search]] = {
    "moments": (moments_sigma, moments_epsilon),
    "tight": (_tight_sigma, _tight_epsilon),
}


def _pick(accountant: str) -> tuple[_Search, _Search]:
    if accountant not in ACCOUNTANTS:
        allowed = ", ".join(ACCOUNTANTS)
        raise ParameterError(f"accountant={accountant!r} must be one of {allowed}.")
    return ACCOUNTANTS[accountant]


_LOT_AND_CLIP = ("lot_size", "clip")

#: The methods by name.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(dp_scd, STATEMENTS["dp-scd"], _LOT_AND_CLIP, noisy=True),
        Method(
            primal_dp_scd,
            STATEMENTS["primal-dp-scd"],
            _LOT_AND_CLIP,
            noisy=True,
            over_features=True,
        ),
        Method(seq_dp_scd, STATEMENTS["seq-dp-scd"], _LOT_AND_CLIP, noisy=True),
        Method(scd, STATEMENTS["scd"], (), noisy=False),
        Method(sgd, STATEMENTS["sgd"], ("learning_rate", "lot_size"), noisy=False),
        Method(dp_sgd, STATEMENTS["dp-sgd"], ("learning_rate", *_LOT_AND_CLIP), noisy=True),
    )
}
