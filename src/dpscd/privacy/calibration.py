"""Noise calibration: the multiplier that reaches a target.

A search guesses with the quick accountant; every multiplier that leaves this file was put to
:func:`~dpscd.privacy.accounting.epsilon_of` at the given interval.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from dpscd.errors import CalibrationError
from dpscd.privacy.accounting import (
    Accounted,
    SampledGaussian,
    epsilon_of,
    estimate,
    gaussian_multiplier,
)
from dpscd.privacy.distribution import TAIL, range_of
from dpscd.privacy.relation import PrivacyTarget, Relation

# Below the smallest multiplier a record moves the noise so far that normals drawn in floats
# are no longer faithful there; nobody asks for more than the largest.
_SMALLEST, _LARGEST = 0.2, 1e9

# How far below the target the epsilon of a multiplier may be, as a logarithm, and where in
# that window to aim.
_WINDOW, _AIM = 0.004, 0.002

# Share of the squared strength of a target by which the grid may add to it: usually; and
# where a step would have more cells than this, times the fourth power of the slope at which log
# epsilon falls with the logarithm of the multiplier, but no more than the last.
_INFLATION, _CELLS, _WIDENED, _WIDEST = 0.002, 20_000, 0.0004, 0.2

# What the search found is raised by at least this much, as a logarithm, where the accountant
# that decides does not agree; it hardly ever happens.
_NUDGE = 1e-4

# Another accountant is asked where the first is so far above the target.
_FAR = 1.1


@lru_cache(maxsize=256)
def interval_for(
    epsilon: float, delta: float, relation: Relation, parts: tuple[tuple[float, int], ...]
) -> float:
    """Return a discretisation that is fine enough for a target, and no finer.

    `parts` are the rate and the steps of each event. Any interval gives a valid bound; a coarse
    one gives too large an epsilon: docs/understanding/calibration.md, "The grid".
    """
    strength = 1.0 / gaussian_multiplier(epsilon, delta, relation)

    def width(rate: float, steps: int) -> float:
        """Return the approximate range of the loss of one step."""
        noise, tail = _noise(strength, rate, steps), TAIL * delta / steps
        low, high = range_of(rate, noise, relation.directions[0], tail)
        return high - low

    # Where noise is small, one or the other of two records is drawn, hardly ever both.
    single = 1.0 / gaussian_multiplier(epsilon, delta, Relation.ZERO_OUT)
    slope = min((-_first_slope(_noise(single, *part)) for part in parts), default=1.0)
    widened = min(_WIDENED * slope**4, _WIDEST)
    fine = wide = min(0.05 * epsilon, 0.05)
    while _variance_added(wide, parts) > widened * strength**2:
        wide /= math.sqrt(2.0)
    while _variance_added(fine, parts) > _INFLATION * strength**2:
        fine /= math.sqrt(2.0)
    widest = max((width(*part) for part in parts), default=0.0)
    return max(fine, min(wide, widest / _CELLS), min(1e-5 * epsilon, 100.0), 1e-10)


def _noise(strength: float, rate: float, steps: int) -> float:
    """Return the approximate multiplier of steps of this strength, no less than allowed."""
    return max(_guess(strength, rate, steps), _SMALLEST)


def _variance_added(interval: float, parts: Iterable[tuple[float, int]]) -> float:
    """Return by how much the grid adds to the variance of the privacy loss."""
    return sum(
        interval * min(interval / 6.0, 2.0 * rate) * (1 if rate == 1.0 else steps)
        for rate, steps in parts
    )


@lru_cache(maxsize=256)
def calibrate(
    target: PrivacyTarget,
    rate: float,
    steps: int,
    interval: float,
    others: tuple[SampledGaussian, ...] = (),
) -> float:
    """Return a noise multiplier whose epsilon is the target or up to 0.5 % less.

    `others` are further releases paid for from the same target.

    Guarantee: ``epsilon_of`` at the returned multiplier and the given interval is at most
    ``target.epsilon``; multipliers are rounded up to five digits before they are tried.
    """

    def events_at(multiplier: float) -> list[SampledGaussian]:
        return [*others, SampledGaussian(rate, multiplier, steps)]

    delta, relation, enough = target.delta, target.relation, target.epsilon
    decide = partial(
        epsilon_of, delta=delta, relation=relation, interval=interval, enough=enough
    )
    found = _search(target, events_at, interval, _first_guess(target, rate, steps, others))
    while (error := _excess(decide(events_at(found)), target)) > 0.0:
        found = _round_up(found * math.exp(min(max(error, _NUDGE), 1.0)))
        if found > _LARGEST:
            raise _unreachable(target)
    return found


def _excess(found: Accounted, target: PrivacyTarget) -> float:
    """Return the logarithm of epsilon over the target; at most 0 if the target is met."""
    epsilon = found.epsilon
    if epsilon <= target.epsilon:
        return min(0.0, math.log(max(epsilon, 1e-12) / target.epsilon))
    return max(math.log(epsilon / target.epsilon), math.ulp(1.0))


def _search(
    target: PrivacyTarget,
    events_at: Callable[[float], list[SampledGaussian]],
    interval: float,
    guess: float,
) -> float:
    """Return a multiplier in the window, or the least one that was found good."""
    low, high = _SMALLEST, math.inf
    slope = _first_slope(guess)
    # The second accountant is slow and seldom better: it is asked once, and again if it was.
    enough = _FAR * target.epsilon
    multiplier = max(_SMALLEST, _round_up(guess))
    previous: tuple[float, float] | None = None
    while multiplier < min(high, _LARGEST):
        events = events_at(multiplier)
        found = estimate(events, target.delta, target.relation, interval, enough=enough)
        if found.accountant == "RDP":
            enough = target.epsilon
        elif found.accountant == "PLD" and found.epsilon > enough:
            enough = math.inf
        error = _excess(found, target)
        if error <= 0.0 and (error >= -_WINDOW or multiplier == _SMALLEST):
            return multiplier
        low, high = (multiplier, high) if error > 0.0 else (low, multiplier)
        if previous is not None:
            slope = (error - previous[1]) / math.log(multiplier / previous[0])
        previous = (multiplier, error)
        # Aim inside the window; else halve the bracket.
        aim = math.log(multiplier) - (error + _AIM) / (slope if slope < -0.05 else -1.0)
        if aim <= math.log(_SMALLEST):
            multiplier = _SMALLEST
            continue
        if not math.log(low) < aim < math.log(min(high, _LARGEST)):
            aim = 0.5 * math.log(low * min(high, 4.0 * low))
        multiplier = _round_up(math.exp(aim))
    if high < math.inf:
        return high  # tried and found good; nothing below it is both good and new
    raise _unreachable(target)


def _unreachable(target: PrivacyTarget) -> CalibrationError:
    return CalibrationError(
        f"no noise multiplier up to {_LARGEST:g} reaches epsilon={target.epsilon!r} at "
        f"delta={target.delta!r}; ask for a larger epsilon or delta."
    )


def _first_guess(
    target: PrivacyTarget, rate: float, steps: int, others: tuple[SampledGaussian, ...]
) -> float:
    """Return the multiplier at which many small steps look like one Gaussian release."""
    strength = 1.0 / gaussian_multiplier(target.epsilon, target.delta, target.relation)
    # What the others leave of the squared strength; they should be a small part of it, and
    # if they are not, the search finds out.
    spent = 0.0
    for event in others:
        # 1 / multiplier^2 of the one Gaussian release that many small steps look like.
        once = event.noise_multiplier**-2
        if event.rate < 1.0:
            once = event.rate**2 * math.expm1(min(once, 700.0))
        spent += event.steps * once
    strength *= math.sqrt(max(0.01, 1.0 - spent / strength**2))
    return _guess(strength, rate, steps)


def _guess(strength: float, rate: float, steps: int) -> float:
    if rate == 1.0:
        return math.sqrt(steps) / strength
    return 1.0 / math.sqrt(math.log1p(strength**2 / (rate**2 * steps)))


def _first_slope(guess: float) -> float:
    """Return the approximate slope of log epsilon against the log of the multiplier."""
    # As the guess itself has it: -1 for much noise, steeper for little.
    return -1.0 / (guess**2 * -math.expm1(-(guess**-2)))


def _round_up(multiplier: float) -> float:
    """Return `multiplier` rounded up to five significant digits."""
    digits = 4 - math.floor(math.log10(multiplier))
    shift = 10.0**digits
    rounded = math.ceil(multiplier * shift) / shift
    return rounded if rounded >= multiplier else math.nextafter(rounded, math.inf)
