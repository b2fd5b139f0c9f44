"""From epsilon to noise: the multiplier that reaches a target, and how finely to look.

The search is free to guess, for every multiplier that leaves this file has been put to
:func:`~dpscd.privacy.accounting.epsilon_of` at the interval that is given.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from dpscd.errors import CalibrationError
from dpscd.privacy import multipliers
from dpscd.privacy.accounting import epsilon_of, gaussian_multiplier
from dpscd.privacy.event import Event, SampledGaussian
from dpscd.privacy.relation import PrivacyTarget, Relation

__all__ = ["calibrate", "interval_for"]

# Below the smallest multiplier the privacy loss has a range that takes the accountant
# minutes; above the largest the question was not meant.
_SMALLEST, _LARGEST = 0.2, 1e9

# How far below the target the epsilon of a multiplier may be, as a logarithm.
_WINDOW = 0.005

# Share of the squared strength of a target by which the grid may add to it: usually, and
# where the grid would have more cells than this.
_INFLATION, _WIDENED, _CELLS = 0.002, 0.03, 40_000


@lru_cache(maxsize=256)
def interval_for(
    epsilon: float, delta: float, relation: Relation, parts: tuple[tuple[float, int], ...]
) -> float:
    """Return the discretisation that suits a target: fine enough, and no finer.

    Parameters
    ----------
    epsilon, delta, relation
        The target.
    parts : tuple of (float, int)
        Rate and number of steps of each event that is to reach it; their noise need not
        be known.

    Notes
    -----
    Any interval gives a valid bound; a coarse one gives too large an epsilon. Rounding the
    loss of a step to neighbours on a grid of width h adds at most about h^2 / 6 to its
    variance and, because it is smaller than that for all but a share of the outcomes that
    is about the rate q, about 2 q h. The variance of all steps together is the squared
    strength of the target; the largest h that adds no more than 0.2 % to it is taken. Where
    little noise is needed the range of the loss is wide, and what matters is one large loss
    among many tiny ones: then the number of cells is bounded instead. What this does to the
    multiplier is shown in docs/understanding/calibration.md.
    """
    strength = 1.0 / gaussian_multiplier(epsilon, delta, relation)
    fine = wide = min(0.05 * epsilon, 0.05)
    while _variance_added(wide, parts) > _WIDENED * strength**2:
        wide /= math.sqrt(2.0)
    while _variance_added(fine, parts) > _INFLATION * strength**2:
        fine /= math.sqrt(2.0)
    widest = max((_width(_guess(strength, *part), part[0]) for part in parts), default=0.0)
    return max(fine, min(wide, widest / _CELLS), 1e-5 * epsilon, 1e-10)


def _variance_added(interval: float, parts: Iterable[tuple[float, int]]) -> float:
    """Return by how much the grid adds to the variance of the privacy loss."""
    return sum(
        interval * min(interval / 6.0, 2.0 * rate) * (1 if rate == 1.0 else steps)
        for rate, steps in parts
    )


def _width(multiplier: float, rate: float) -> float:
    """Return the range of the loss of one step, as dp-accounting cuts it off."""
    multiplier = max(multiplier, _SMALLEST)
    return math.log1p(rate * math.expm1(10.0 / multiplier + 0.5 / multiplier**2))


@lru_cache(maxsize=256)
def calibrate(
    target: PrivacyTarget,
    rate: float,
    steps: int,
    interval: float,
    others: tuple[Event, ...] = (),
) -> float:
    """Return a noise multiplier whose epsilon is the target or up to 0.5 % less.

    Parameters
    ----------
    target : PrivacyTarget
        What is to be reached.
    rate, steps : float, int
        The steps whose noise is sought.
    interval : float
        Discretisation of the privacy loss.
    others : tuple of Event
        What else is released, and paid for from the same target.

    Notes
    -----
    Guarantee: ``epsilon_of`` at the returned multiplier and the given interval of the
    privacy loss is at most ``target.epsilon``; multipliers are rounded up to five digits
    before they are tried, so what was tried is what is used. A multiplier remembered on
    disk (:mod:`dpscd.privacy.multipliers`) is a guess like any other: it is tried here, and
    returned only if it is good and in the window.
    """
    question = multipliers.question(target, rate, steps, interval, others)
    remembered = multipliers.recall(question)
    if remembered is not None and _SMALLEST <= remembered <= _LARGEST:
        error = _excess(target, rate, steps, interval, others, remembered)
        if -_WINDOW <= error <= 0.0:
            return remembered
    guess = _first_guess(target, rate, steps, others)
    slope = _first_slope(guess)
    if guess < 1.0:
        # Far from the Gaussian limit the guess is poor and the accountant slow.
        coarse = partial(_excess, target, rate, steps, 4.0 * interval, others)
        guess, slope = _closer(coarse, guess, slope)
    excess = partial(_excess, target, rate, steps, interval, others)
    found = _search(target, excess, guess, slope)
    multipliers.remember(question, found)
    return found


def _excess(
    target: PrivacyTarget,
    rate: float,
    steps: int,
    interval: float,
    others: tuple[Event, ...],
    multiplier: float,
) -> float:
    """Return the logarithm of epsilon at `multiplier` over the target: good if at most 0."""
    event = SampledGaussian(rate, multiplier, steps)
    bound = epsilon_of(
        [*others, event], target.delta, target.relation, interval, enough=math.inf
    )
    if bound.epsilon <= target.epsilon:
        return min(0.0, math.log(max(bound.epsilon, 1e-12) / target.epsilon))
    return max(math.log(bound.epsilon / target.epsilon), math.ulp(1.0))


def _closer(
    excess: Callable[[float], float], guess: float, slope: float
) -> tuple[float, float]:
    """Return a better guess, and the slope there, after a few steps on a coarse grid."""
    previous: tuple[float, float] | None = None
    for _ in range(8):
        multiplier = max(_SMALLEST, guess)
        error = excess(multiplier)
        if previous is not None and multiplier != previous[0] and math.isfinite(error):
            slope = (error - previous[1]) / math.log(multiplier / previous[0])
            slope = min(slope, -0.5)
        previous = (multiplier, error)
        guess = multiplier * math.exp(min(max((error + 0.002) / -slope, -0.5), 0.5))
        if abs(error) < 0.05 or (error < 0.0 and multiplier == _SMALLEST):
            break
    return guess, slope


def _search(
    target: PrivacyTarget, excess: Callable[[float], float], guess: float, slope: float
) -> float:
    """Return a multiplier in the window, or the least that was tried and found good."""
    low, high = _SMALLEST, math.inf
    multiplier = max(_SMALLEST, _round_up(guess))
    previous: tuple[float, float] | None = None
    while multiplier < min(high, _LARGEST):
        error = excess(multiplier)
        if error <= 0.0 and (error >= -_WINDOW or multiplier == _SMALLEST):
            return multiplier
        low, high = (multiplier, high) if error > 0.0 else (low, multiplier)
        if previous is not None:
            slope = (error - previous[1]) / math.log(multiplier / previous[0])
        previous = (multiplier, error)
        # Aim inside the window, at 0.2 % below the target; else halve the bracket.
        aim = math.log(multiplier) - (error + 0.002) / (slope if slope < -0.05 else -1.0)
        if aim <= math.log(_SMALLEST):
            multiplier = _SMALLEST
            continue
        if not math.log(low) < aim < math.log(min(high, _LARGEST)):
            aim = 0.5 * math.log(low * min(high, 4.0 * low))
        multiplier = _round_up(math.exp(aim))
    if high < math.inf:
        return high  # tried and found good; nothing below it is both good and new
    raise CalibrationError(
        f"no noise multiplier up to {_LARGEST:g} reaches epsilon={target.epsilon!r} at "
        f"delta={target.delta!r}; ask for a larger epsilon or delta."
    )


def _first_guess(
    target: PrivacyTarget, rate: float, steps: int, others: tuple[Event, ...]
) -> float:
    """Return the multiplier at which many small steps look like one Gaussian release."""
    strength = 1.0 / gaussian_multiplier(target.epsilon, target.delta, target.relation)
    # What the others leave of the squared strength; they should be a small part of it, and
    # if they are not, the search finds out.
    spent = sum(map(_squared_strength, others))
    strength *= math.sqrt(max(0.01, 1.0 - spent / strength**2))
    return _guess(strength, rate, steps)


def _guess(strength: float, rate: float, steps: int) -> float:
    if rate == 1.0:
        return math.sqrt(steps) / strength
    return 1.0 / math.sqrt(math.log1p(strength**2 / (rate**2 * steps)))


def _first_slope(guess: float) -> float:
    """Return how log epsilon falls with the logarithm of the multiplier, about."""
    # As the guess itself has it: -1 for much noise, steeper for little.
    return -1.0 / (guess**2 * -math.expm1(-(guess**-2)))


def _squared_strength(event: Event) -> float:
    """Return 1 / multiplier^2 of the one Gaussian release that many small steps look like."""
    once = event.noise_multiplier**-2
    if event.rate < 1.0:
        once = event.rate**2 * math.expm1(min(once, 700.0))
    return event.steps * once


def _round_up(multiplier: float) -> float:
    """Return `multiplier` rounded up to five significant digits."""
    digits = 4 - math.floor(math.log10(multiplier))
    shift = 10.0**digits
    rounded = math.ceil(multiplier * shift) / shift
    return rounded if rounded >= multiplier else math.nextafter(rounded, math.inf)
