"""Adaptive damping of the steps of a lot: increased when iterates oscillate."""

from itertools import pairwise
from typing import NamedTuple

from dpscd.problem import Floats
from dpscd.releases.training import Training

# Vectors that are looked at together, once an epoch.
_SEEN = 10
# A path swings if its increments are larger than noise and lots explain, by this factor in
# squares, and cancel: less than this part of their squares is left at the end of a look
# (docs/understanding/planning.md, "Larger lots").
_MORE, _LEFT = 2.0, 0.5
# The part of all looks that must do for the damping to rise as far as it may.
_EARLY = 0.25


class DampingRule(NamedTuple):
    """Public numbers of :class:`Damping`."""

    period: int  # steps of a period
    seen: int  # vectors that are compared, at the start of each period
    # Iterates oscillate if they moved by more than `more` times what is expected, in squares,
    # and less than the part `left` of that remains at the end.
    more: float
    left: float
    expected: float
    start: float  # initial damping
    most: float  # largest damping

    @classmethod
    def of(cls, plan: Training) -> "DampingRule":
        """Return the rule of a plan."""
        period = max(_SEEN, round(1.0 / plan.rate))
        most = max(plan.separability, plan.most_separability)
        # With few looks there is little time to learn from them.
        doublings = int(_EARLY * plan.steps / period)
        noise = plan.size * plan.noise.std**2
        drawn = plan.lot_size * plan.clip**2
        return cls(
            period,
            _SEEN,
            _MORE,
            _LEFT,
            expected=(_SEEN - 1) * (noise + drawn),
            start=max(plan.separability, most * 2.0**-doublings),
            most=most,
        )


class Damping:
    """Adaptive damping: increased when iterates oscillate.

    Guarantee: what :meth:`before` returns is a function of the plan and of the vectors it was
    shown, to the last bit, on any machine.
    Requires: only released vectors are shown, in order.
    Proof: docs/proofs/shared_vector.md, condition (iv).
    """

    def __init__(self, plan: Training) -> None:
        self._steps = plan.steps
        self._rule = DampingRule.of(plan)
        self._separability = self._rule.start
        self._seen: list[Floats] = []

    def alone(self, number: int) -> int:
        """Return how many steps from this one on have its damping, whatever the path."""
        if self._separability == self._rule.most:
            return self._steps - number
        place = number % self._rule.period
        return 1 if place < self._rule.seen - 1 else self._rule.period - place

    def before(self, number: int, shared: Floats) -> float:
        """Return the damping of step `number`, which starts from `shared`."""
        place = number % self._rule.period
        if self._separability == self._rule.most or place >= self._rule.seen:
            return self._separability
        self._seen.append(shared.copy())
        if place == self._rule.seen - 1:
            if self._swings():
                self._separability = min(2.0 * self._separability, self._rule.most)
            self._seen.clear()
        return self._separability

    def _swings(self) -> bool:
        """Return whether the vectors moved much and made no progress."""
        moved = 0.0
        for before, after in pairwise(self._seen):
            moved += _square(after - before)  # one after the other, whatever `sum` does
        left = _square(self._seen[-1] - self._seen[0])
        rule = self._rule
        return moved > rule.more * rule.expected and left < rule.left * moved


def _square(moved: Floats) -> float:
    """Return the squared length, added in one order on every machine."""
    return float((moved * moved).cumsum()[-1])
