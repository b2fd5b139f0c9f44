"""The smallest valid epsilon of a list of events.

Each relation says which accountants are valid for it. Zero-out and add-remove share their
dominating pair (docs/proofs/shared_vector.md); replace-one has its own in the PLD accountant,
with the same multiplier std / clip, and no RDP. PLD is computed twice, by dp-accounting and by
our own arrays (:mod:`dpscd.privacy.distribution`), and the larger epsilon counts. The arrays
take milliseconds, so a calibration searches with them (:func:`estimate`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

from scipy import special

from dpscd.privacy.accountants import pld_epsilon, rdp_epsilon
from dpscd.privacy.distribution import TAIL, Losses, one_step
from dpscd.privacy.event import Event, SampledGaussian
from dpscd.privacy.relation import Relation

__all__ = [
    "Accounted",
    "epsilon_of",
    "estimate",
    "gaussian_delta",
    "gaussian_multiplier",
]


@dataclass(frozen=True)
class Accounted:
    """An upper bound on epsilon and how it was found."""

    epsilon: float
    accountant: str  # 'PLD' or 'RDP': the one with the smaller valid bound
    interval: float  # discretisation of the loss in the PLD accountant


def epsilon_of(
    events: Sequence[Event],
    delta: float,
    relation: Relation,
    interval: float,
    *,
    enough: float = 0.0,
) -> Accounted:
    """Return the smallest valid bound on epsilon of all `events` together, at `delta`.

    A bound of at most `enough` is returned without asking a second accountant.
    """
    given = tuple(events)
    pld = _by_arrays(given, delta, relation, interval)
    if math.isfinite(pld):
        merged = tuple(map(_merged, given))
        found = pld_epsilon(merged, delta, _paid(given, delta), relation, interval)
        pld = max(pld, found)
    return _smaller(pld, given, delta, relation, interval, enough)


def estimate(
    events: Sequence[Event],
    delta: float,
    relation: Relation,
    interval: float,
    *,
    enough: float = 0.0,
) -> Accounted:
    """Approximate :func:`epsilon_of` in milliseconds, for searches."""
    given = tuple(events)
    pld = _by_arrays(given, delta, relation, interval)
    return _smaller(pld, given, delta, relation, interval, enough)


def _paid(events: tuple[Event, ...], delta: float) -> float:
    """Return the delta that is left when rounding is paid for.

    Both ways of composing by Fourier transform are in doubles; delta is off by up to about 2
    steps 2^-53, either way (measured against long doubles).
    """
    return delta - sum(event.steps for event in events) * 2.0**-50


def _by_arrays(
    events: tuple[Event, ...], delta: float, relation: Relation, interval: float
) -> float:
    """Return the largest epsilon of all directions, by our own privacy loss distributions."""
    paid = _paid(events, delta)
    if not paid > 0.0:
        return math.inf
    if not events:
        return 0.0
    tail = TAIL * delta / len(events)
    found = []
    for direction in relation.directions:
        losses = _losses_together(events[-1:], direction, interval, tail)
        if events[:-1]:
            losses = _losses_together(events[:-1], direction, interval, tail).then(losses)
        found.append(losses.epsilon(paid))
    return max(found)


# Composing is slow, and a calibration changes only what comes last: the rest is kept.
@lru_cache(maxsize=4)
def _losses_together(
    events: tuple[Event, ...], direction: str, interval: float, tail: float
) -> Losses:
    """Return the losses of all steps of `events`; `tail` of each may be cut."""
    found = []
    for event in map(_merged, events):
        std, steps = event.noise_multiplier, event.steps
        once = one_step(event.rate, std, interval, direction, tail / steps)
        found.append(once if steps == 1 else once.times(steps, tail))
    return reduce(Losses.then, found)


def _merged(event: Event) -> Event:
    """Return the same losses in fewer steps, where that is exact.

    Gaussian releases of all records merge into one; their squared strengths add up.
    """
    if event.rate < 1.0 or event.steps == 1:
        return event
    return SampledGaussian(1.0, event.noise_multiplier / math.sqrt(event.steps), 1)


def _smaller(
    pld: float,
    given: tuple[Event, ...],
    delta: float,
    relation: Relation,
    interval: float,
    enough: float,
) -> Accounted:
    """Return the smaller of the bounds that are valid for the relation."""
    bounds = [Accounted(math.inf, "none", interval), Accounted(pld, "PLD", interval)]
    if "RDP" in relation.accountants and bounds[-1].epsilon > enough:
        bounds.append(Accounted(rdp_epsilon(given, delta, relation), "RDP", interval))
    return min(bounds, key=lambda bound: bound.epsilon)


@lru_cache(maxsize=256)
def gaussian_multiplier(epsilon: float, delta: float, relation: Relation) -> float:
    """Return the multiplier of one Gaussian release that reaches the target, to 8 digits."""
    low, high = math.log(1e-305), math.log(1e200)  # of 1 / noise, at sensitivity 1
    while high - low > 1e-10:
        middle = 0.5 * (low + high)
        if gaussian_delta(epsilon, math.exp(middle)) <= delta:
            low = middle
        else:
            high = middle
    return relation.reach / math.exp(low)


def gaussian_delta(epsilon: float, strength: float) -> float:
    """Return the delta of one Gaussian release with noise 1 / `strength`.

    That is ndtr(-a) - exp(epsilon) ndtr(-b) with a, b = epsilon / strength -+ strength / 2
    (Balle and Wang, 2018, Theorem 8), in a form in which nothing overflows or cancels.
    """
    root = math.sqrt(2.0)
    a = (epsilon / strength - 0.5 * strength) / root
    b = (epsilon / strength + 0.5 * strength) / root
    if a < 0.0 and strength > 1e-3:
        return float(special.ndtr(-root * a) - 0.5 * math.exp(-a * a) * special.erfcx(b))
    if a > 1e3:
        return 0.0
    if strength > 1e-3:
        apart = special.erfcx(a) - special.erfcx(b)
    else:
        middle = epsilon / strength / root  # the derivative there, times b - a
        slope = 2.0 * middle * special.erfcx(middle) - 2.0 / math.sqrt(math.pi)
        apart = -slope * strength / root
    return float(0.5 * math.exp(-a * a) * apart)
