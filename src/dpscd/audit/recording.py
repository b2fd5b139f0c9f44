"""The released path of a real fit, as an adversary with all public facts sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt

from dpscd.plan import Plan
from dpscd.privacy.random import Purpose
from dpscd.privacy.watched import watching
from dpscd.problem import Problem

__all__ = ["Recording", "Training", "recorded"]

Floats = npt.NDArray[np.float64]


@dataclass
class Training:
    """The path of the shared vector in one training."""

    problem: Problem  # public; standardised by earlier releases
    plan: Plan
    # counts of steps after which the vector was seen: all, or one per epoch where noise is lazy
    steps: list[int] = field(default_factory=list)
    # the shared vectors then, of shape (outputs, width)
    vectors: list[Floats] = field(default_factory=list)

    def increments(self) -> Iterator[tuple[int, Floats]]:
        """Yield the number of steps, and the shared vector's move over them."""
        step, vector = 0, np.zeros_like(self.vectors[0])
        for then, found in zip(self.steps, self.vectors, strict=True):
            yield then - step, found - vector
            step, vector = then, found


@dataclass
class Recording:
    """All releases of one fit."""

    # noisy sums over all records, by purpose and time
    sums: dict[tuple[Purpose, int], Floats] = field(default_factory=dict)
    # the pilot's, if there was one, and the main one, last
    trainings: list[Training] = field(default_factory=list)

    def summed(self, purpose: Purpose, time: int, values: Floats) -> None:
        """Keep a noisy sum."""
        self.sums[purpose, time] = values

    def trains(self, problem: object, plan: object) -> None:
        """Begin the path of a training."""
        self.trainings.append(Training(cast("Problem", problem), cast("Plan", plan)))

    def moved(self, steps: int, shared: Floats) -> None:
        """Keep the shared vector."""
        self.trainings[-1].steps.append(steps)
        self.trainings[-1].vectors.append(shared)

    @property
    def plan(self) -> Plan:
        """The plan of the whole fit."""
        return self.trainings[-1].plan


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record the releases of one fit, and nothing else.

    The model is the one of the same seed without a recording; lazy noise, which is drawn when
    it is read, has the same law. Of a fit on workers the sums are recorded, but not the path.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPRidge
    >>> from dpscd.audit import recorded
    >>> X, y = np.eye(100, 3), np.ones(100)
    >>> with recorded() as recording:
    ...     _ = DPRidge(epsilon=1.0, y_bounds=(-1, 1), lot_size=25, epochs=10).fit(X, y)
    >>> len(recording.trainings[-1].vectors)
    40
    """
    recording = Recording()
    with watching(recording):
        yield recording
