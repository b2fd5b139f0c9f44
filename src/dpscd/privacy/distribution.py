"""Privacy loss distributions (PLD) of sampled Gaussian steps, on a grid.

The method is that of dp-accounting, with arrays in the place of loops over values: hockey-stick
divergences at the points of a grid, joined by "connect the dots" (Doroshenko et al., 2022,
arXiv:2207.04380), composed by Fourier transform.

Guarantee: what :meth:`Losses.epsilon` returns is at least the exact epsilon but for rounding,
which :func:`~dpscd.privacy.accounting.epsilon_of` pays for. Proof: connecting the dots
dominates the exact pair whatever the grid, and composition keeps domination. Losses beyond a
grid's upper end, and those outside a window (of a mass by Chernoff), count as infinite.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft, special

Numbers = npt.NDArray[np.float64]

# Share of delta that may be wasted on the ends of distributions.
TAIL = 1e-4

# Cells of a distribution that is worth computing: more would take seconds and gigabytes.
_MOST = 2**24

# Larger intervals between losses are not supported; exponentials of this one are finite.
_COARSEST = 500.0


@dataclass(frozen=True, eq=False)
class Losses:
    """A distribution of privacy losses on multiples of an interval, and at infinity."""

    interval: float
    lowest: int  # the lowest loss, in intervals
    masses: Numbers  # probability of each loss, from the lowest on
    infinite: float  # probability of an infinite loss

    def then(self, other: "Losses") -> "Losses":
        """Return the composition with `other`."""
        length = self.masses.size + other.masses.size - 1
        if length > _MOST:
            return _unknown(self.interval)
        fast = fft.next_fast_len(length, real=True)
        waves = fft.rfft(self.masses, fast) * fft.rfft(other.masses, fast)
        masses = fft.irfft(waves, fast)[:length]
        either = self.infinite + other.infinite * (1.0 - self.infinite)
        return Losses(self.interval, self.lowest + other.lowest, masses, either)

    def times(self, steps: int, tail: float) -> "Losses":
        """Return the losses of `steps` of these; up to a mass `tail` becomes infinite."""
        if self.infinite >= 1.0:
            return self
        low, high = _window(self.masses, steps, tail)
        if high - low >= _MOST:
            return _unknown(self.interval)
        fast = fft.next_fast_len(max(high - low + 1, self.masses.size), real=True)
        waves = _power(fft.rfft(self.masses, fast), steps)
        # The transform wraps around; what is in the window is where it belongs.
        masses = np.roll(fft.irfft(waves, fast), -(low % fast))[: high - low + 1]
        infinite = tail - math.expm1(steps * math.log1p(-self.infinite))
        # All masses together are 1. Should more be lost than rounding explains, it counts.
        lost = 1.0 - infinite - float(masses.sum())
        if lost > steps * 2.0**-50:
            infinite = min(1.0, infinite + lost)
        return Losses(self.interval, steps * self.lowest + low, masses, infinite)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon, 0 or more, whose divergence is at most `delta`."""
        if self.infinite > delta:
            return math.inf
        first = max(0, -self.lowest)  # losses below 0 do not count
        masses = self.masses[first:]
        shares = -np.expm1(-self.interval * np.arange(masses.size))

        def reaches(index: int) -> bool:
            counted = _product(shares[: masses.size - index], masses[index:])
            return self.infinite + counted <= delta

        last = bisect_left(range(masses.size), True, key=reaches)
        if last == masses.size:
            return 0.0  # there is no loss above 0
        # Between this loss and the one below it, the divergence is above - kept exp(epsilon).
        loss = (self.lowest + first + last) * self.interval
        above = self.infinite + float(masses[last:].sum())
        kept = above - self.infinite - _product(shares[: masses.size - last], masses[last:])
        most = self.interval if last else loss
        if above <= delta:
            return loss - most
        left = above - delta
        return loss - min(math.log(max(kept, left) / left), most)


def _unknown(interval: float) -> Losses:
    """Return the bound that always holds: an infinite loss."""
    return Losses(interval, 0, np.zeros(1), 1.0)


def _product(first: Numbers, second: Numbers) -> float:
    """Return the sum of products: pairwise, and without waking the threads of BLAS."""
    return float((first * second).sum())


def _window(masses: Numbers, steps: int, tail: float) -> tuple[int, int]:
    """Return the range of sums of indices that holds all but a mass `tail` of `steps` draws."""
    # Chernoff's bound at several orders, on absolute masses: far out, they are rounding error.
    masses = np.abs(masses)
    low, high = 0, (masses.size - 1) * steps
    places = np.arange(masses.size, dtype=float)
    middle = _product(masses, places) / float(masses.sum())
    places -= middle
    spread = math.sqrt(max(_product(masses, places**2), 1e-300))
    log_share = math.log(2.0 / tail)
    usual = math.sqrt(2.0 * log_share / steps) / spread  # the best for a normal law
    for sign, reach in ((1.0, places[-1]), (-1.0, -places[0])):
        # Where few losses are large the best is far from it, but not far from 1 / reach.
        order = min(0.125 * usual, 1.0 / max(reach, 1.0))
        while order <= min(2.0 * usual, 500.0 / max(reach, 1e-9)):
            moment = _product(masses, np.exp(sign * order * places))
            bound = (steps * math.log(moment) + log_share) / order
            if sign > 0.0:
                high = min(high, math.ceil(steps * middle + bound))
            else:
                low = max(low, math.floor(steps * middle - bound))
            order *= 2.0
    return low, max(low, high)


def _power(waves: npt.NDArray[np.complex128], steps: int) -> npt.NDArray[np.complex128]:
    """Return each number to the power of `steps`, by squaring."""
    result = waves if steps % 2 else np.ones_like(waves)
    while steps := steps // 2:
        waves = waves * waves
        if steps % 2:
            result = result * waves
    return result


def one_step(rate: float, std: float, interval: float, direction: str, tail: float) -> Losses:
    """Return the losses of one step, up to a mass `tail` at either end."""
    # `std` is the noise for a record of length 1; `direction` is 'remove', 'add' or 'replace'.
    if interval > _COARSEST:
        return _unknown(interval)
    lowest, highest = range_of(rate, std, direction, tail)
    low = math.floor(lowest / interval)
    high = max(math.ceil(highest / interval), low + 1)
    if high - low >= _MOST:
        return _unknown(interval)
    epsilons = np.arange(low, high + 1, dtype=np.float64) * interval
    deltas = _divergences(epsilons, rate, std, direction)
    # Rounding may leave masses a little below 0. They stay: made 0, they would add up over
    # the cells, whereas the sums of all are those of the divergences, in which they cancel.
    falls = np.diff(deltas)
    grown = math.expm1(interval)
    masses = np.empty_like(deltas)
    masses[0] = 1.0 - deltas[0] + falls[0] / grown
    masses[1:-1] = np.diff(falls) / grown - falls[:-1]
    masses[-1] = falls[-1] / math.expm1(-interval)
    return Losses(interval, low, masses, float(deltas[-1]))


def range_of(rate: float, std: float, direction: str, tail: float) -> tuple[float, float]:
    """Return bounds of the loss of one step; each is exceeded with probability `tail`."""
    far = -std * float(special.ndtri(tail / 2.0))
    if direction == "add":
        left = -far
    else:
        # The record is drawn with probability `rate`, and moves the middle to -1 then.
        drawn = std * float(special.ndtri(min(0.5, tail / (2.0 * rate)))) - 1.0
        left = min(drawn, -far) if rate < 1.0 else drawn
    return _loss(far, rate, std, direction), _loss(left, rate, std, direction)


def _loss(x: float, rate: float, std: float, direction: str) -> float:
    """Return the loss of one step that comes out as `x`."""
    removed, added = (-0.5 - x) / std**2, (x - 0.5) / std**2
    if rate < 1.0:  # the record may not be drawn
        without, drawn = math.log1p(-rate), math.log(rate)
        removed = float(np.logaddexp(without, drawn + removed))
        added = float(np.logaddexp(without, drawn + added))
    if direction == "replace":
        return removed - added
    return removed if direction == "remove" else -added


def _divergences(epsilons: Numbers, rate: float, std: float, direction: str) -> Numbers:
    """Return the hockey-stick divergence of one step at each epsilon."""
    # It is greatest where the loss is epsilon. Errors in these points enter only squared.
    deltas = np.zeros_like(epsilons)
    inside = np.ones(epsilons.shape, bool)
    if direction == "replace":
        cuts = -_half_loss_replaced(epsilons, rate, std) * std**2
    elif direction == "remove":
        if rate < 1.0:
            inside = epsilons > math.log1p(-rate)  # no loss is smaller
            deltas[~inside] = -np.expm1(epsilons[~inside])
        cuts = -0.5 - _loss_unsampled(epsilons[inside], rate) * std**2
    else:
        if rate < 1.0:
            inside = epsilons < -math.log1p(-rate)  # no loss is larger
        cuts = 0.5 + _loss_unsampled(-epsilons[inside], rate) * std**2
    upper = special.ndtr(cuts / std)
    if direction != "add":
        upper = (1.0 - rate) * upper + rate * special.ndtr((cuts + 1.0) / std)
    lower = special.log_ndtr(cuts / std)
    if direction != "remove":
        drawn = special.log_ndtr((cuts - 1.0) / std)
        with np.errstate(divide="ignore"):  # all are drawn
            lower = np.logaddexp(np.log1p(-rate) + lower, math.log(rate) + drawn)
    deltas[inside] = upper - np.exp(epsilons[inside] + lower)
    return np.clip(deltas, 0.0, 1.0)


def _loss_unsampled(losses: Numbers, rate: float) -> Numbers:
    """Return log(1 + (exp(loss) - 1) / rate): the loss if the record were surely drawn."""
    with np.errstate(divide="ignore"):  # the loss at the far end is minus infinity
        near = np.log1p(np.maximum(np.expm1(np.minimum(losses, 1.0)) / rate, -1.0))
    large = np.maximum(losses, 1.0)
    far = large - math.log(rate) + np.log1p((rate - 1.0) * np.exp(-large))
    return np.where(losses < 1.0, near, far)


def _half_loss_replaced(losses: Numbers, rate: float, std: float) -> Numbers:
    """Return asinh(a sinh(loss / 2)) + loss / 2 with a = exp(1 / (2 std^2)) (1 - q) / q."""
    # This times the variance is how far from the middle one record replaced by another, each
    # drawn with probability q, makes that loss; see dp-accounting's supplementary material.
    half = 0.5 * losses
    if rate == 1.0:
        return half
    log_a = 0.5 / std**2 + math.log1p(-rate) - math.log(rate)
    with np.errstate(divide="ignore"):  # no loss in the middle
        logs = log_a + np.log(np.sinh(np.abs(half)))
    bent = np.arcsinh(np.exp(np.minimum(logs, 300.0)))
    bent = np.where(logs > 300.0, logs + math.log(2.0), bent)
    return np.copysign(bent, half) + half
