"""What a fit with privacy of a row costs a person who has k of the rows.

Group privacy, as tight as it gets. Of the k rows of a person a lot has a binomial number, and
their contributions add up to at most that many clips: the mixture of Gaussians of Ganesh
(2024, arXiv:2401.10294), which is the exact pair of a group. It is put on a grid and composed
as :mod:`dpscd.privacy.distribution` does it for one record; tests compare with dp-accounting.
"""

import math
from collections.abc import Sequence
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dpscd.errors import CalibrationError
from dpscd.persons import PersonFacts
from dpscd.planning.facts import Facts
from dpscd.planning.rule import default_constant, plan_fit, worth_standardising
from dpscd.privacy.accounting import SampledGaussian, gaussian_multiplier
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.distribution import TAIL, Losses
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.records.labels import ClassLabels, NumberLabels

Floats = npt.NDArray[np.float64]

# How far below its target the epsilon of a group may be, as a logarithm.
_WINDOW = 0.002
_MOST_TRIES = 30
# Members of a group beyond these are drawn together with a chance that no delta sees.
_NEVER = 1e-30


def group_epsilon(
    events: Sequence[SampledGaussian], rows: int, epsilon: float, delta: float
) -> float:
    """Return the epsilon of a person with some rows, under zero-out or add-remove."""
    parts = tuple((event.rate, event.steps) for event in events)
    interval = interval_for(epsilon, delta, Relation.ZERO_OUT, parts)
    tail = TAIL * delta / len(events)
    found = []
    for removed in (True, False):
        every = []
        for event in events:
            once = _one_step(event, rows, interval, tail / event.steps, removed=removed)
            every.append(once if event.steps == 1 else once.times(event.steps, tail))
        found.append(reduce(Losses.then, every).epsilon(delta))
    return max(found)


@lru_cache(maxsize=256)
def row_epsilon(
    n: int,
    d: int,
    rows: int,
    epsilon: float,
    delta: float,
    *,
    classifies: bool,
    persons: bool = False,
) -> float:
    """Return the largest epsilon of a row at which persons with `rows` rows have theirs."""
    if rows == 1:
        return epsilon
    most = gaussian_multiplier(epsilon, delta, Relation.ZERO_OUT) * rows
    asked = _epsilon_of_noise(most, delta)
    for _ in range(_MOST_TRIES):
        events = _events(n, d, PrivacyTarget(asked, delta), classifies, persons)
        error = math.log(group_epsilon(events, rows, epsilon, delta) / epsilon)
        if -_WINDOW <= error <= 0.0:
            return asked
        asked *= math.exp(-error - 0.5 * _WINDOW)
    raise CalibrationError(f"no epsilon of a row was found for {rows} rows of a person.")


def _events(
    n: int, d: int, target: PrivacyTarget, classifies: bool, persons: bool
) -> list[SampledGaussian]:
    """Return what our estimator releases; cells compute epsilon from the card again."""
    standardised = worth_standardising(n, d, target)
    facts = Facts(
        n, d, "Logistic" if classifies else "Squared",
        ClassLabels((0, 1)) if classifies else NumberLabels(-1.0, 1.0),
        constant=default_constant(1.0, standardised=standardised),
        standardised=standardised, persons=PersonFacts() if persons else None,
    )  # fmt: skip
    return [cost.event for cost in plan_fit(facts, target).costs]


def _epsilon_of_noise(multiplier: float, delta: float) -> float:
    """Return the epsilon of one Gaussian release."""
    low, high = 1e-6, 1e3
    while high / low > 1.0 + 1e-6:
        middle = math.sqrt(low * high)
        if gaussian_multiplier(middle, delta, Relation.ZERO_OUT) > multiplier:
            low = middle
        else:
            high = middle
    return low


def _one_step(
    event: SampledGaussian, rows: int, interval: float, tail: float, *, removed: bool
) -> Losses:
    """Return the losses of one step, but for a mass `tail` at either end."""
    std = event.noise_multiplier
    chances = stats.binom.pmf(np.arange(rows + 1), rows, event.rate)
    drawn = np.flatnonzero(chances > _NEVER).astype(np.float64)
    logs = np.log(chances[chances > _NEVER])
    far = -std * float(special.ndtri(tail / 2.0))
    ends = np.array([-far, far + drawn[-1]])
    low, high = np.sort(_log_ratio(ends, drawn, logs, std) * (1.0 if removed else -1.0))
    first = math.floor(low / interval)
    last = max(math.ceil(high / interval), first + 1)
    epsilons = np.arange(first, last + 1, dtype=np.float64) * interval
    deltas = _divergences(epsilons, drawn, logs, std, removed=removed)
    # "Connect the dots", as for one record.
    falls = np.diff(deltas)
    grown = math.expm1(interval)
    masses = np.empty_like(deltas)
    masses[0] = 1.0 - deltas[0] + falls[0] / grown
    masses[1:-1] = np.diff(falls) / grown - falls[:-1]
    masses[-1] = falls[-1] / math.expm1(-interval)
    return Losses(interval, first, masses, float(deltas[-1]))


def _log_ratio(x: Floats, drawn: Floats, logs: Floats, std: float) -> Floats:
    """Return the logarithm of the mixture's density over that of noise alone."""
    powers = logs + (np.multiply.outer(x, drawn) - 0.5 * drawn**2) / std**2
    found: Floats = special.logsumexp(powers, axis=-1)
    return found


def _divergences(
    epsilons: Floats, drawn: Floats, logs: Floats, std: float, *, removed: bool
) -> Floats:
    """Return the hockey-stick divergence of one step at each epsilon."""
    losses = epsilons if removed else -epsilons
    deltas = np.maximum(-np.expm1(epsilons), 0.0) if removed else np.zeros_like(epsilons)
    inside = losses > logs[0] if drawn[0] == 0.0 else np.ones(losses.shape, dtype=bool)
    cuts = _cuts(losses[inside], drawn, logs, std)[:, None]
    chances = np.exp(logs)
    sign = -1.0 if removed else 1.0  # what lies above the cut, or below it
    mixed = special.ndtr(sign * (cuts - drawn) / std) @ chances
    alone = special.ndtr(sign * cuts[:, 0] / std)
    grown = np.exp(epsilons[inside])
    deltas[inside] = mixed - grown * alone if removed else alone - grown * mixed
    return np.clip(deltas, 0.0, 1.0)


def _cuts(losses: Floats, drawn: Floats, logs: Floats, std: float) -> Floats:
    """Return where the log ratio is each of these losses: it is convex and grows."""
    # Above the root of every single term, so that Newton's steps go down to it.
    single = (losses[:, None] - logs[drawn > 0.0]) * std**2 / drawn[drawn > 0.0]
    x: Floats = np.min(single + 0.5 * drawn[drawn > 0.0], axis=1)
    for _ in range(100):
        powers = logs + (np.multiply.outer(x, drawn) - 0.5 * drawn**2) / std**2
        value = special.logsumexp(powers, axis=1)
        slope = np.exp(powers - value[:, None]) @ drawn / std**2
        step = (value - losses) / slope
        x = x - step
        if np.all(np.abs(step) <= 1e-9 * std):
            break
    return x
