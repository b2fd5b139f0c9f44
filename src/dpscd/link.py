"""The link of the minimised loss: from a decision to a probability.

Travel caps the slope of the logistic loss, so the sigmoid of a decision is not a probability:
docs/understanding/probabilities.md. All of this is post-processing of public numbers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpscd.errors import ModelFileError
from dpscd.problem import Floats, Problem

# With caps below this, probabilities would be flat around a decision of 0, and ranks be lost.
_LEAST_CAP = 0.5
_LEAST_SCALE = 0.01
# Decisions beyond this are certain: losses of exp(-40) move nothing.
_FARTHEST = 40.0
_POINTS, _HALVINGS = 2001, 40


@dataclass(frozen=True)
class Link:
    """Probabilities from decisions u: the sigmoid s of them, its slopes capped."""

    # The second class has probability ``b / (a + b)`` with ``b = min(s(scale u), caps[0])`` and
    # ``a = min(s(-scale u), caps[1])``. It grows with u and is 1/2 at 0.

    scale: float = 1.0  # at most 1
    # Largest slope of the loss of a record of each class, from 1/2 to 1. With 1 and 1, and a
    # scale of 1, the link is the sigmoid.
    caps: tuple[float, float] = (1.0, 1.0)

    @property
    def is_sigmoid(self) -> bool:
        """Whether it is the sigmoid of the decision itself."""
        return self.scale == 1.0 and min(self.caps) >= 1.0

    def log_probabilities(self, decisions: Any) -> Floats:
        """Return log-probabilities of both classes, of shape (n_samples, 2)."""
        # Decisions are positive towards the second class.
        away = self.scale * np.asarray(decisions, dtype=np.float64)
        logs: Floats = -np.logaddexp(0.0, np.column_stack([away, -away]))
        if self.is_sigmoid:
            return logs
        slopes = np.minimum(logs, np.log(self.caps[::-1]))
        return slopes - np.logaddexp(slopes[:, :1], slopes[:, 1:])

    def checked(self) -> "Link":
        """Return the link, or raise ModelFileError if :func:`link_for` never returns it."""
        good = _LEAST_SCALE <= self.scale <= 1.0
        if not good or not all(_LEAST_CAP <= cap <= 1.0 for cap in self.caps):
            raise ModelFileError("its link is malformed.")
        return self


def link_for(
    problem: Problem,
    travel: float,
    noise: float,
    coef: Floats,
    intercept: float,
    weights: tuple[float, float],
) -> Link:
    """Return the link of a private model of two classes, from public numbers only."""
    # `noise`, the standard deviation in the averaged shared vector, is the plan's as `travel`
    # is. Of the links in the order of their confidence, the returned one balances expected
    # slopes of the capped loss and penalty.
    if min(weights) <= 0.0:
        return Link()
    reach, pull, mean, deviation = _public_numbers(problem, travel, noise, coef, intercept)
    caps = tuple(min(1.0, max(_LEAST_CAP, reach / weight)) for weight in weights)

    def member(place: float) -> Link:
        """Return a link; up to 1 the scale grows, up to 2 the caps do."""
        risen = max(0.0, place - 1.0)
        first, second = (cap + risen * (1.0 - cap) for cap in caps)
        return Link(min(1.0, place), (first, second))

    balance = _balance(reach, mean, deviation, weights)
    if balance(member(2.0)) <= pull:
        return Link()
    low, high = _LEAST_SCALE, 2.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if balance(member(middle)) <= pull else (low, middle)
    # Where only the cap decides, rounding must not.
    return member(1.0) if abs(low - 1.0) < 1e-6 else member(low)


def expected_decisions(problem: Problem, coef: Floats, intercept: float) -> tuple[float, float]:
    """Return the expected mean and standard deviation of decisions, in the user's units."""
    # By released moments, as if features were unrelated; without them, for rows of any
    # direction.
    standard = problem.standard
    if standard is None:
        return intercept, problem.row_bound * math.sqrt(float(coef @ coef) / problem.d)
    inner = standard.inner(coef * problem.row_bound)
    mean = intercept + float(coef @ standard.centre) * problem.row_bound
    return mean, math.sqrt(float(inner**2 @ standard.shares()))


def _public_numbers(
    problem: Problem, travel: float, shared: float, coef: Floats, intercept: float
) -> tuple[float, float, float, float]:
    """Return a typical dual's reach, the penalty's pull, and decisions' mean and spread."""
    standard, constant = problem.standard, problem.constant
    mean, deviation = expected_decisions(problem, coef, intercept)
    inner, reach = coef, travel
    if standard is not None:
        inner = standard.inner(coef * problem.row_bound)
        reach = travel * problem.scale / math.hypot(1.0, constant)
    noise = shared / (problem.strength * problem.scale)
    size = float(inner @ inner) + ((mean / constant) ** 2 if constant else 0.0)
    pull = problem.lam * max(0.0, size - problem.width * noise * noise)
    return reach, pull, mean, max(deviation, 1e-6)


def _balance(
    reach: float, mean: float, deviation: float, weights: tuple[float, float]
) -> Callable[[Link], float]:
    """Return the function from a link to the expected slope of the loss along the model."""
    low = max(-_FARTHEST, mean - 8.0 * deviation)
    high = max(low, min(_FARTHEST, mean + 8.0 * deviation))
    u = np.linspace(low, high, _POINTS)
    density = np.exp(-0.5 * ((u - mean) / deviation) ** 2) / math.sqrt(2.0 * math.pi)
    density *= (high - low) / (_POINTS - 1) / deviation
    logs = Link().log_probabilities(u)
    towards = np.minimum(np.exp(logs[:, 0]), reach / weights[1])
    back = np.minimum(np.exp(logs[:, 1]), reach / weights[0])

    def balance(link: Link) -> float:
        second = np.exp(link.log_probabilities(u)[:, 1])
        # Probabilities are those of records counted by their weights.
        share = 1.0 / (second / weights[1] + (1.0 - second) / weights[0])
        return float(np.sum(density * share * (second * towards - (1.0 - second) * back) * u))

    return balance
