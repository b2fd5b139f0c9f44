"""Every method of the paper behind one call, with its noise, and what it does not guarantee."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.privacy.relation import PrivacyTarget
from dpscd.problem import Problem
from dpscd_experiments.paper import algorithms
from dpscd_experiments.paper.algorithms import Run, Settings
from dpscd_experiments.paper.moments import moments_epsilon, moments_sigma
from dpscd_experiments.paper.theory import tuning_cost
from dpscd_experiments.solvers.looks import Observer

Floats = npt.NDArray[np.float64]


class Flaw(StrEnum):
    """A gap between a published guarantee and what runs; details in the docs."""

    VISIBLE_LOTS = (
        "noise goes only to the duals of the lot, so whoever sees the duals knows the lots, "
        "and nothing is left of amplification by sampling"
    )
    LEMMA_1 = (
        "Lemma 1 keeps the label of the zeroed record: the sensitivity is then sqrt(5) C, "
        "not sqrt(2) C"
    )
    SHUFFLED_LOTS = "lots='shuffled' is accounted for as if lots were Poisson"
    LOT_SIZE = "lots='poisson' may hold more than L, and the sensitivity grows with the lot"
    FEATURE_LENGTHS = "features are divided by lengths that are read off the private records"
    PREPARATION = (
        "columns are scaled, labels centred and hyper-parameters chosen on the private "
        "records, free of charge"
    )
    LARGE_DELTA = "the experiments' delta = 1e-3 is larger than 1/N"
    FLOATS = "sums and noise are plain floats, whose rounding is not accounted for"


@dataclass(frozen=True)
class Statement:
    """The statement that a method carries."""

    method: str  # name of the method
    published: str  # what the paper says it guarantees; empty if nothing
    holds: str  # what can be defended, in exact arithmetic; empty if nothing
    flaws: tuple[Flaw, ...]  # why the first is not the second
    # Whether this library stands behind a guarantee: never, for a published method.
    private: bool = False


_COMMON = (Flaw.SHUFFLED_LOTS, Flaw.PREPARATION, Flaw.LARGE_DELTA, Flaw.FLOATS)

STATEMENTS: dict[str, Statement] = {
    statement.method: statement
    for statement in (
        Statement(
            "dp-scd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, L/N, T), duals and shared "
            "vector visible after every step",
            "with Poisson lots, if the duals stay secret and a zeroed record takes no step: "
            "the published epsilon, with sqrt(2) of noise to spare "
            "(docs/proofs/shared_vector.md). With shuffled lots and visible duals: "
            "sqrt(epochs)/sigma-GDP, under the same adjacency",
            (Flaw.VISIBLE_LOTS, Flaw.LEMMA_1, *_COMMON),
        ),
        Statement(
            "primal-dp-scd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, 1, T), model and auxiliary "
            "vector visible after every step",
            "the published epsilon, if feature lengths are public and no lot of coordinates "
            "is larger than L",
            (Flaw.FEATURE_LENGTHS, Flaw.LOT_SIZE, Flaw.PREPARATION, Flaw.LARGE_DELTA,
             Flaw.FLOATS),
        ),
        Statement(
            "seq-dp-scd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, L/N, T), duals and shared "
            "vector visible after every step",
            "with shuffled lots: sqrt(epochs)/sigma-GDP. Secret duals do not help: in a "
            "sequential lot the duals of others remember the record",
            (Flaw.VISIBLE_LOTS, Flaw.LOT_SIZE, *_COMMON),
        ),
        Statement("scd", "", "", ()),
        Statement("sgd", "", "", ()),
        Statement(
            "dp-sgd",
            "(epsilon, delta) with epsilon = MA(delta, sigma, L/N, T), model visible after "
            "every step",
            "with Poisson lots: the published epsilon. With shuffled lots: "
            "sqrt(epochs)/sigma-GDP",
            _COMMON,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A method of the paper."""

    algorithm: Callable[[Run], Floats]
    statement: Statement  # what it does and does not guarantee
    tuned: tuple[str, ...]  # the settings that the paper tunes
    noisy: bool  # whether it has noise at all
    # Whether lots are of coordinates, so that every step uses every record.
    over_features: bool = False

    def run(
        self,
        problem: Problem,
        rows: Rows,
        records: Records,
        settings: Settings,
        source: Source,
        *,
        observer: Observer | None = None,
    ) -> Floats:
        """Return the shared vector; ``problem.model`` turns it into a model."""
        return self.algorithm(Run(problem, rows, records, settings, source, observer))

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
        self, problem: Problem, settings: Settings, epsilon: float, delta: float
    ) -> Settings:
        """Return the settings with the sigma that is meant to give (epsilon, delta)."""
        if not self.noisy or math.isinf(epsilon):
            return replace(settings, sigma=0.0)
        PrivacyTarget(epsilon, delta)  # refuses what is no target
        rate, steps = self.rate_and_steps(problem, settings)
        return replace(settings, sigma=moments_sigma(epsilon, delta, rate, steps))

    def claimed_epsilon(self, problem: Problem, settings: Settings, delta: float) -> float:
        """Return the epsilon that the paper would state; see `statement` for its worth."""
        if not settings.sigma > 0.0:
            return math.inf
        return moments_epsilon(delta, settings.sigma, *self.rate_and_steps(problem, settings))


_LOT_AND_CLIP = ("lot_size", "clip")


def _method(
    name: str, algorithm: Callable[[Run], Floats], *tuned: str, over_features: bool = False
) -> Method:
    noisy = bool(STATEMENTS[name].published)
    return Method(algorithm, STATEMENTS[name], tuned, noisy, over_features)


#: The methods by name.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("dp-scd", algorithms.dp_scd, *_LOT_AND_CLIP),
        _method("primal-dp-scd", algorithms.primal_dp_scd, *_LOT_AND_CLIP, over_features=True),
        _method("seq-dp-scd", algorithms.seq_dp_scd, *_LOT_AND_CLIP),
        _method("scd", algorithms.scd),
        _method("sgd", algorithms.sgd, "learning_rate", "lot_size"),
        _method("dp-sgd", algorithms.dp_sgd, "learning_rate", *_LOT_AND_CLIP),
    )
}
