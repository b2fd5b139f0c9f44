"""The plan: the one object that gives both the draws and the accounted event."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from dpscd.errors import CalibrationError, ParameterError
from dpscd.kernels.dual import StepConstants
from dpscd.privacy.calibration import calibrate, interval_for
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.noise import LatticeGaussian
from dpscd.privacy.relation import FORMAL, PrivacyTarget, Relation
from dpscd.privacy.release import LAZY_EPSILON, Claim, Release, claim, inner_target
from dpscd.privacy.sampling import PoissonLots
from dpscd.privacy.sums import capacity_of, unit_of, whole_unit_of
from dpscd.releases.base import PlannedRelease, in_order

__all__ = ["Plan", "average_from", "shared_noise"]

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


@dataclass(frozen=True)
class Plan:
    """How a private fit runs: public numbers only, fixed before the data are used."""

    epsilon: float
    delta: float
    relation: Relation
    n: int  # public number of records
    d: int  # features
    outputs: int  # models trained together
    intercept: bool  # whether there is a constant column
    lam: float  # regularisation, in the user's units
    steps: int  # number of lots
    rate: float  # probability that a record is in a lot
    clip: float  # longest contribution of a record to a lot
    separability: float  # initial damping of the steps of one lot
    # last part of the steps over which the model is averaged; 0 takes the last step
    averaging: float
    # standard deviation of the noise over the clip; `calibrated` sets it
    noise_multiplier: float = math.nan
    # Releases before this training, in order, with their noise, paid for from the same target
    # (:mod:`dpscd.releases`).
    first: tuple[PlannedRelease, ...] = ()
    after: tuple[PlannedRelease, ...] = ()  # releases after training, likewise
    # Largest damping, where the released path oscillates (:class:`dpscd.solvers.brake.Brake`);
    # damping stays fixed if this is not above `separability`.
    most_separability: float = 0.0

    def __post_init__(self) -> None:
        self._target  # noqa: B018 - refuses what is no target
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
        if self.steps < 1 or self.n < 1 or self.outputs < 1:
            raise ParameterError("steps, n and outputs must be at least 1.")
        if not 0.0 <= self.averaging <= 1.0:
            raise ParameterError(f"averaging={self.averaging!r} must lie in [0, 1].")
        tuples = isinstance(self.first, tuple) and isinstance(self.after, tuple)
        if not tuples or not in_order(self.first, self.after):
            raise ParameterError(
                "first and after must be tuples of releases in their order, each once."
            )
        for one in self._others:
            one.check_fits(self)

    @property
    def _others(self) -> tuple[PlannedRelease, ...]:
        """All releases but the training."""
        return (*self.first, *self.after)

    @property
    def _target(self) -> PrivacyTarget:
        return PrivacyTarget(self.epsilon, self.delta, self.relation)

    @property
    def pilot(self) -> "Plan | None":
        """The plan of a shorter training before this one, if there is one."""
        found = (getattr(one, "plan", None) for one in self.first)
        return next((cast("Plan", plan) for plan in found if plan is not None), None)

    def lists(self, what: str) -> bool:
        """Return whether there is a release of this name besides the training."""
        return any(one.what == what for one in self._others)

    @property
    def size(self) -> int:
        """Numbers in the shared vector, all outputs together."""
        return (self.d + int(self.intercept)) * self.outputs

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
        """First step whose shared vector enters the average."""
        return average_from(self.steps, self.averaging)

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
        """Largest standard deviation that noise adds to the averaged shared vector."""
        return shared_noise(self.clip, self.noise_multiplier, self.steps, self.averaging)

    @property
    def capacity(self) -> int:
        """Largest number of records whose lots sum exactly."""
        return capacity_of(self.n)

    @property
    def cell(self) -> float:
        """The power of two whose multiples contributions to lots are cut to."""
        return unit_of(self.n, self.clip)

    @property
    def fixed_point(self) -> bool:
        """Whether dense rows may be rounded to 16 bits: the noise is far larger."""
        finest = _FIXED_POINT * self.rate * math.sqrt(self.steps * self.n)
        bits = math.log2(self.noise.grid / self._whole_cell)
        return self.noise_multiplier >= finest and 9 <= bits <= 52

    @property
    def grid_bits(self) -> int:
        """The number b such that a grid has 2^b cells of :attr:`cell`."""
        return math.frexp(self.noise.grid / self.cell)[1] - 1

    @property
    def lazy(self) -> bool:
        """Whether sparse rows get lazy noise: from public numbers alone.

        The number of entries has no influence, since it is not public.
        """
        return (
            self.release().may_be_lazy
            and self.epsilon <= LAZY_EPSILON
            and self.steps <= _LAZY_STEPS
            and 0 <= self.grid_bits <= _LAZY_BITS
        )

    @property
    def average_bits(self) -> int:
        """Sums of the averaged steps of lazy noise are rounded to 2^this grids.

        That is no less than the standard deviation of such a sum, given its end, over
        that of one step.
        """
        steps = self.steps - self.average_from
        return math.ceil(math.log2(max(1.0, steps * (steps * steps - 1.0) / 12.0)) / 2.0)

    @property
    def _whole_cell(self) -> float:
        return whole_unit_of(self.n, self.clip)

    def constants(self, strength: float, *, fixed_point: bool = False) -> StepConstants:
        """Return the kernel's constants, on floats or in fixed point.

        Steps have the largest damping; a caller that follows the path replaces it.
        """
        return StepConstants(
            strength=strength,
            separability=max(self.separability, self.most_separability),
            clip=self.clip,
            cell=self._whole_cell if fixed_point else self.cell,
            grid=self.noise.grid,
            spread=self.noise.spread,
        )

    def event(self) -> SampledGaussian:
        """Return the accounted event: the draws of :attr:`lots` and :attr:`noise`."""
        return SampledGaussian(self.rate, self.noise_multiplier, self.steps)

    def release(self) -> Release:
        """Return the release of the shared vector after every step."""
        return Release("shared vector", self.event(), self.clip, self.size, self.n)

    def first_releases(self) -> tuple[Release, ...]:
        """Return the releases before training, from all records except for a pilot."""
        return tuple(one.release() for one in self.first)

    def releases(self) -> tuple[Release, ...]:
        """Return all releases of a fit, in order."""
        after = tuple(one.release() for one in self.after)
        return (*self.first_releases(), self.release(), *after)

    def claim(self) -> Claim:
        """Return the epsilon that this plan reaches at its delta, with its parts."""
        releases = self.releases()
        return claim(releases, self.epsilon, self.delta, self.relation, self._interval())

    def _interval(self) -> float:
        """Return the accountant's discretisation, that of the ledger, for all releases."""
        others = (one.release().event for one in self._others)
        parts = (*((x.rate, x.steps) for x in others), (self.rate, self.steps))
        return interval_for(self.epsilon, self.delta, self.relation, parts)

    def calibrated(self) -> "Plan":
        """Return the same plan with the least noise that reaches its target.

        Notes
        -----
        Guarantee: ``claim().epsilon <= epsilon``, finite precision included. Its tail
        depends on the multiplier itself: should the first one found not do (it does
        unless it is far below 1), it is raised by small factors until it does.
        """
        unit = replace(self, noise_multiplier=1.0)
        epsilon, delta = inner_target(unit.releases(), self.epsilon, self.delta, self.relation)
        if min(epsilon, delta) <= 0.0:
            raise CalibrationError(
                f"epsilon={self.epsilon!r} at delta={self.delta!r} cannot be reached: finite "
                f"precision alone costs more over {self.steps} steps of {self.size} numbers. "
                f"Use {'a larger' if self.epsilon < FORMAL else 'a smaller'} epsilon, a larger "
                "delta or fewer epochs."
            )
        target = PrivacyTarget(epsilon, delta, self.relation)
        others = tuple(one.release().event for one in self._others)
        multiplier = calibrate(target, self.rate, self.steps, self._interval(), others)
        plan = replace(self, noise_multiplier=multiplier)
        while not plan.claim().epsilon <= self.epsilon:
            plan = replace(plan, noise_multiplier=1.02 * plan.noise_multiplier)
        return plan

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        first = [release.to_dict() for release in self.first_releases()]
        after = [one.release().to_dict() for one in self.after]
        return {**own, "relation": self.relation.value, "first": first, "after": after}


def shared_noise(clip: float, noise_multiplier: float, steps: int, averaging: float) -> float:
    """Return the largest standard deviation that noise adds to the averaged shared vector.

    In any direction; for the squared loss where rows of a lot are not nearly parallel, and an
    estimate otherwise. The noise of a step counts in full, that of a step within the average by
    its remaining share.

    Notes
    -----
    Proof: docs/proofs/noise_band.md.
    """
    first = average_from(steps, averaging)
    within = steps - first
    squares = first + (within + 1) * (2 * within + 1) / (6 * within)
    return clip * noise_multiplier * math.sqrt(squares)


def average_from(steps: int, averaging: float) -> int:
    """Return the first averaged step; the last is always averaged."""
    return min(steps - 1, steps - round(averaging * steps))
