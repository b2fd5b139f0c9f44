"""Trainings with Poisson lots, planned by public numbers alone and no estimator's rule."""

import math
from functools import lru_cache
from typing import Any

from dpscd.planning.facts import Facts
from dpscd.planning.plan import Plan
from dpscd.privacy.relation import PrivacyTarget
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.releases.training import Training


def lots_training(
    n: int, d: int, lot_size: int, epsilon: float, delta: float, outputs: int = 1,
    *, constant: float = 0.0, **more: Any,
) -> Training:  # fmt: skip
    """Return a training under zero-out, of the squared loss unless its solver has another."""
    labels = ClassLabels(tuple(range(outputs))) if outputs > 1 else NumberLabels(-1.0, 1.0)
    return Training(
        Facts(n, d, "Squared", labels, constant=constant),
        PrivacyTarget(epsilon, delta), rate=lot_size / n, separability=float(lot_size), **more,
    )  # fmt: skip


def alone(training: Training) -> Plan:
    """Return the plan of a training without other releases."""
    return Plan(training.target, training.facts, (training,))


@lru_cache(maxsize=64)
def unit_training(
    n: int, d: int, lot_size: int, epochs: int, epsilon: float, delta: float, outputs: int = 1,
    *, constant: float = 0.0,
) -> Training:  # fmt: skip
    """Return a calibrated training at clip 1: its noise multiplier serves all clips."""
    training = lots_training(
        n, d, lot_size, epsilon, delta, outputs, constant=constant,
        steps=epochs * math.ceil(n / lot_size), lam=1.0, clip=1.0, averaging=0.0,
    )  # fmt: skip
    return alone(training).calibrated().training
