"""The plan: a target, public facts and releases; what is drawn and what is accounted."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpscd.errors import CalibrationError, ParameterError
from dpscd.planning.facts import Facts
from dpscd.privacy.accounting import SampledGaussian
from dpscd.privacy.calibration import calibrate, interval_for
from dpscd.privacy.cost import Claim, Cost, claim, inner_target
from dpscd.privacy.relation import FORMAL, PrivacyTarget
from dpscd.releases.base import Release
from dpscd.releases.score import score_interval
from dpscd.releases.training import Training


@dataclass(frozen=True)
class Plan:
    """How a private fit runs: public, and complete before the data are used."""

    target: PrivacyTarget
    facts: Facts  # of a score those in :mod:`dpscd.scores.registry`
    releases: tuple[Release, ...]

    def __post_init__(self) -> None:
        if any(one.facts != self.facts for one in self.releases) or any(
            # Epsilon decides whether noise may be lazy, and the relation what lots may be.
            getattr(one, "target", self.target) != self.target
            for one in self.releases
        ):
            raise ParameterError("all releases of a plan must have its facts and its target.")

    @property
    def trainings(self) -> tuple[Training, ...]:
        """All trainings, a pilot's before the main one."""
        return tuple(one for one in self.releases if isinstance(one, Training))

    @property
    def training(self) -> Training:
        """The main training."""
        if not self.trainings:
            raise ParameterError("the plan has no training.")
        return self.trainings[-1]

    @property
    def main(self) -> Any:
        """The release that the plan is for: the main training, or a score."""
        return self.trainings[-1] if self.trainings else self.releases[-1]

    def listed(self, what: str) -> Release | None:
        """Return the first release of this name, if there is one."""
        return next((one for one in self.releases if one.what == what), None)

    @property
    def costs(self) -> tuple[Cost, ...]:
        """What all releases cost, in order."""
        return tuple(one.cost for one in self.releases)

    def claim(self) -> Claim:
        """Return the epsilon that this plan reaches at its delta, with its parts."""
        return self._claim

    @cached_property
    def _claim(self) -> Claim:
        target = self.target
        return claim(
            self.costs, target.epsilon, target.delta, target.relation, self._interval()
        )

    def _interval(self) -> float:
        """Return the accountant's discretisation, that of the ledger, for all releases."""
        target = self.target
        if not self.trainings:
            return score_interval(target.epsilon)
        events = (*self._other_events(), self.training.event)
        parts = tuple((event.rate, event.steps) for event in events)
        return interval_for(target.epsilon, target.delta, target.relation, parts)

    def _other_events(self) -> tuple[SampledGaussian, ...]:
        """Return what releases cost besides the main training."""
        return tuple(one.cost.event for one in self.releases if one is not self.training)

    def noted(self, **facts: Any) -> "Plan":
        """Return the same plan with other facts that decide nothing, such as `dataset`."""
        found = replace(self.facts, **facts)
        same = tuple(replace(one, facts=found) for one in self.releases)
        return replace(self, facts=found, releases=same)

    def _with_noise(self, multiplier: float) -> "Plan":
        main = self.training
        noisy = replace(main, noise_multiplier=multiplier)
        found = tuple(noisy if one is main else one for one in self.releases)
        return replace(self, releases=found)

    def calibrated(self) -> "Plan":
        """Return the same plan with the least noise of training that reaches its target.

        Guarantee: ``claim().epsilon <= target.epsilon``, finite precision included.
        """
        target, unit = self.target, self._with_noise(1.0)
        epsilon, delta = inner_target(unit.costs, target.epsilon, target.delta, target.relation)
        if min(epsilon, delta) <= 0.0:
            raise CalibrationError(
                f"epsilon={target.epsilon!r} at delta={target.delta!r} cannot be reached: "
                f"finite precision alone costs more over {self.training.steps} steps of "
                f"{self.training.size} numbers. "
                f"Use {'a larger' if target.epsilon < FORMAL else 'a smaller'} epsilon, a "
                "larger delta or fewer epochs."
            )
        inner, main = PrivacyTarget(epsilon, delta, target.relation), unit.training
        multiplier = calibrate(
            inner, main.rate, main.steps, unit._interval(), self._other_events()
        )
        plan = self._with_noise(multiplier)
        # The tail of finite precision depends on the multiplier: one far below 1 may not do.
        while not plan.claim().epsilon <= target.epsilon:
            multiplier *= 1.02
            plan = self._with_noise(multiplier)
        return plan
