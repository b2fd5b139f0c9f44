"""How strongly the steps of a lot are damped: as planned, and more if the path swings."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpscd.plan import Plan

__all__ = ["Brake"]

Floats = npt.NDArray[np.float64]

# Vectors that are looked at together, once an epoch.
_SEEN = 10
# A path swings if its increments are larger than noise and chance explain, by this factor in
# squares, and cancel: less than this part of their squares is left at the end of a look
# (docs/understanding/planning.md, "Larger lots").
_MORE, _LEFT = 2.0, 0.5
# The part of all looks that must do for the damping to rise as far as it may.
_EARLY = 0.25


class Brake:
    """The damping of each step, from the plan and the shared vectors released before it.

    Parameters
    ----------
    plan : Plan
        Where the damping starts and what it may rise to.

    Notes
    -----
    Guarantee: what :meth:`before` returns is a function of the plan and of the vectors it was
    shown, to the last bit; whoever is shown the same path, on any machine, has the same.
    Requires: only released vectors are shown, in order.
    Proof: docs/proofs/shared_vector.md, condition (iv).
    """

    def __init__(self, plan: Plan) -> None:
        self._steps = plan.steps
        self._period = max(_SEEN, round(1.0 / plan.rate))
        self._most = max(plan.separability, plan.most_separability)
        # With few looks there is little time to learn from them.
        doublings = int(_EARLY * plan.steps / self._period)
        self._separability = max(plan.separability, self._most * 2.0**-doublings)
        noise = plan.size * plan.noise.std**2
        drawn = plan.lot_size * plan.clip**2
        self._expected = (_SEEN - 1) * (noise + drawn)
        self._seen: list[Floats] = []

    def alone(self, number: int) -> int:
        """Return how many steps from this one on have its damping, whatever the path."""
        if self._separability == self._most:
            return self._steps - number
        place = number % self._period
        return 1 if place < _SEEN - 1 else self._period - place

    def before(self, number: int, shared: Floats) -> float:
        """Return the damping of step `number`, which starts from `shared`."""
        place = number % self._period
        if self._separability == self._most or place >= _SEEN:
            return self._separability
        self._seen.append(shared.copy())
        if place == _SEEN - 1:
            if self._swings():
                self._separability = min(2.0 * self._separability, self._most)
            self._seen.clear()
        return self._separability

    def _swings(self) -> bool:
        """Return whether what was seen moved much and got nowhere."""
        moved = 0.0
        for before, after in pairwise(self._seen):
            moved += _square(after - before)  # one after the other, whatever `sum` does
        left = _square(self._seen[-1] - self._seen[0])
        return moved > _MORE * self._expected and left < _LEFT * moved


def _square(moved: Floats) -> float:
    """Return the squared length, added in one order on every machine."""
    return float((moved * moved).cumsum()[-1])
