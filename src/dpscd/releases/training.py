"""The path of the shared vector: the main training, and a pilot before it."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpscd.errors import ParameterError
from dpscd.privacy.accounting import SampledGaussian
from dpscd.privacy.cost import LAZY_EPSILON, Cost
from dpscd.privacy.draws import LatticeGaussian, PoissonLots, lattice_step, whole_lattice_step
from dpscd.privacy.relation import PrivacyTarget, Relation, Unit
from dpscd.problem import Floats, Model, Problem
from dpscd.releases.base import Release, Residuals, State, Stores

if TYPE_CHECKING:
    from dpscd.kernels.dual import StepConstants

# Rows in fixed point are off by 2^-17 of their largest entry or so. This is used only where
# such errors, independent over the records, leave the sum of all contributions eight times
# closer to its place than the noise does.
_FIXED_POINT = 2.0**-14

# Lazy noise: 64-bit integers hold the amounts due to a coordinate over 2^20 steps, on a grid
# of at most 2^42 cells.
_LAZY_STEPS = 2**20
_LAZY_BITS = 42

# Rates below this are no longer well above what PoissonLots gives away to rounding.
_SMALLEST_RATE = 1e-9


class TrainingQuery(NamedTuple):
    """What a training is asked on: all public."""

    problem: Problem
    residuals: Residuals | None  # of a pilot, if it is fitted to these and not to labels


@dataclass(frozen=True)
class Training(Release):
    """The release "shared vector", the main training. Proof: docs/proofs/shared_vector.md."""

    what: ClassVar[str] = "shared vector"
    words: ClassVar[str] = "a step of training: the numbers that become the weights"
    proof: ClassVar[str] = "shared_vector"
    stream: ClassVar[str] = ""  # name of its source of randomness

    target: PrivacyTarget = field(repr=False)  # of the whole plan
    lam: float  # regularisation, in the user's units
    steps: int  # number of lots
    rate: float  # probability that a record is in a lot
    clip: float  # longest contribution of a record to a lot
    separability: float  # initial damping of the steps of one lot
    # last part of the steps over which the model is averaged; 0 takes the last step
    averaging: float
    # standard deviation of the noise over the clip; `Plan.calibrated` sets that of the main one
    noise_multiplier: float = math.nan
    # Largest damping, where the released path oscillates (`dpscd.solvers.dp_scd.Damping`);
    # it stays fixed if this is not above `separability`.
    most_separability: float = 0.0

    def __post_init__(self) -> None:
        for name in ("lam", "clip", "separability"):
            size = getattr(self, name)
            if not (math.isfinite(size) and size > 0.0):
                raise ParameterError(f"{name}={size!r} must be positive and finite.")
        if not 0.0 <= self.most_separability < math.inf:
            raise ParameterError(
                f"most_separability={self.most_separability!r} must be at least 0 and finite."
            )
        # A clip beyond these ends would leave the range of normal doubles on the grid.
        if not 1e-100 < self.clip < 1e100:
            raise ParameterError(f"clip={self.clip!r} must lie between 1e-100 and 1e100.")
        if not _SMALLEST_RATE <= self.rate <= 1.0:
            raise ParameterError(f"rate={self.rate!r} must lie in [{_SMALLEST_RATE:g}, 1].")
        if self.steps < 1:
            raise ParameterError("steps must be at least 1.")
        if not 0.0 <= self.averaging <= 1.0:
            raise ParameterError(f"averaging={self.averaging!r} must lie in [0, 1].")

    @property
    def outputs(self) -> int:
        """Models trained together."""
        return self.facts.outputs

    @property
    def relation(self) -> Relation:
        """Which data sets count as neighbours."""
        return self.target.relation

    @property
    def size(self) -> int:
        return self.facts.width * self.outputs

    @property
    def epochs(self) -> float:
        """Expected number of times a record is used."""
        return self.rate * self.steps

    @property
    def lot_size(self) -> float:
        """Expected number of records in a lot."""
        return self.rate * self.n

    @property
    def travel(self) -> float:
        """Expected total movement of a dual."""
        return self.clip * self.epochs

    @property
    def average_from(self) -> int:
        """First step whose shared vector enters the average; the last always does."""
        return min(self.steps - 1, self.steps - round(self.averaging * self.steps))

    @property
    def lots(self) -> PoissonLots:
        """The sampler of the draws."""
        return PoissonLots.of(self.rate, self.relation)

    @property
    def noise(self) -> LatticeGaussian:
        """The noise of the draws."""
        return LatticeGaussian(self.clip, self.noise_multiplier)

    @property
    def shared_noise(self) -> float:
        """Largest standard deviation that noise adds to the averaged shared vector.

        Proof: docs/proofs/noise_band.md.
        """
        first = self.average_from
        within = self.steps - first
        squares = first + (within + 1) * (2 * within + 1) / (6 * within)
        return self.clip * self.noise_multiplier * math.sqrt(squares)

    @property
    def cell(self) -> float:
        """The power of two whose multiples contributions to lots are cut to."""
        return lattice_step(self.n, self.clip)

    @property
    def fixed_point(self) -> bool:
        """Whether dense rows may be rounded to 16 bits: the noise is far larger."""
        finest = _FIXED_POINT * self.rate * math.sqrt(self.steps * self.n)
        bits = math.log2(self.noise.grid / whole_lattice_step(self.n, self.clip))
        return self.noise_multiplier >= finest and 9 <= bits <= 52

    @property
    def grid_bits(self) -> int:
        """The number b such that a grid has 2^b cells of :attr:`cell`."""
        return math.frexp(self.noise.grid / self.cell)[1] - 1

    @property
    def lazy(self) -> bool:
        """Whether sparse rows get lazy noise: from public numbers alone."""
        # The number of entries has no influence, since it is not public.
        return (
            self.cost.may_be_lazy
            and self.target.epsilon <= LAZY_EPSILON
            and self.steps <= _LAZY_STEPS
            and 0 <= self.grid_bits <= _LAZY_BITS
        )

    @property
    def average_bits(self) -> int:
        """Sums of the averaged steps of lazy noise are rounded to 2^this grids."""
        # No less than the standard deviation of such a sum, given its end, over that of one
        # step.
        steps = self.steps - self.average_from
        return math.ceil(math.log2(max(1.0, steps * (steps * steps - 1.0) / 12.0)) / 2.0)

    def constants(self, strength: float, *, fixed_point: bool = False) -> "StepConstants":
        """Return the kernel's constants, on floats or in fixed point."""
        # With the largest damping; a caller that follows the path replaces it.
        from dpscd.kernels.dual import StepConstants

        return StepConstants(
            strength=strength,
            separability=max(self.separability, self.most_separability),
            clip=self.clip,
            cell=whole_lattice_step(self.n, self.clip) if fixed_point else self.cell,
            grid=self.noise.grid,
            spread=self.noise.spread,
        )

    @property
    def event(self) -> SampledGaussian:
        """The accounted event: the draws of :attr:`lots` and :attr:`noise`."""
        return SampledGaussian(self.rate, self.noise_multiplier, self.steps)

    @property
    def cost(self) -> Cost:
        """What it costs: the shared vector after every step is released."""
        return Cost(self.what, self.event, self.clip, self.size, self.n)

    def begins(self, plan: Any) -> State:
        """Return the public state before the first release of its plan."""
        problem = self.facts.problem(self.lam)
        return State(plan, problem, problem)

    def shown(self) -> dict[str, float]:
        """Return what was planned of it, to be read by people."""
        return {
            "lam": self.lam,
            "epochs": self.epochs,
            "lot_size": self.lot_size,
            "averaging": self.averaging,
        }

    def mechanism(self, unit: Unit) -> str:
        """Return what is released, in words."""
        del unit
        return (
            f"{self.steps} lots at rate {self.rate:.6g}, clip {self.clip:.6g} "
            f"(travel {self.travel:.4g}), noise multiplier {self.noise_multiplier:.6g}."
        )

    def query(self, state: State) -> TrainingQuery:
        return TrainingQuery(replace(state.problem, lam=self.lam), state.residuals)

    def learn(self, state: State, answer: Floats) -> State:
        """Take the averaged shared vector: the model, added to that of a pilot if used."""
        # What else was released, the path, is not needed here: docs/proofs/shared_vector.md.
        model = state.problem.model(answer, self.shared_noise)
        return replace(state, model=_together(state.start, model), shared=answer)

    def answered(self, query: TrainingQuery, stores: Stores, time: int) -> Floats:
        """Train where the records are, and return the averaged shared vector."""
        del time
        source = stores.source_of(self.stream)
        look = stores.progress, stores.observer
        found: Floats = stores.store.train(query.problem, self, source, query.residuals, *look)
        return found


@dataclass(frozen=True)
class Pilot(Training):
    """The release "shared vector" of a shorter training before the main one."""

    stream: ClassVar[str] = "pilot"

    def learn(self, state: State, answer: Floats) -> State:
        """Take its model, and what it leaves of labels."""
        problem = replace(state.problem, lam=self.lam)
        left = Residuals(problem, answer, problem.label_scale / state.declared.label_scale)
        return replace(state, pilot=(problem.model(answer, self.shared_noise), left))


def _together(start: Model | None, model: Model) -> Model:
    """Return the sum of two models with independent noise."""
    if start is None:
        return model
    return Model(
        start.coef + model.coef,
        start.intercept + model.intercept,
        np.hypot(start.coef_noise, model.coef_noise),
        np.hypot(start.intercept_noise, model.intercept_noise),
        (*start.runs, *model.runs),
    )
