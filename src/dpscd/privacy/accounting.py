"""The smallest valid epsilon of a list of events; the only importer of dp-accounting.

A privacy loss distribution (PLD) is computed twice, by dp-accounting and by our own arrays
(:mod:`dpscd.privacy.distribution`), and the larger epsilon counts. The arrays take
milliseconds, so a calibration searches with them (:func:`estimate`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from scipy import special

from dpscd.errors import CardError, ParameterError
from dpscd.privacy.distribution import TAIL, Losses, one_step, range_of
from dpscd.privacy.relation import Relation

# The library takes some 30 microseconds for each; more would take minutes. Plans are far
# below it; cards of others may not be.
_MOST_CELLS = 2**21

# Mass that all steps of an event may have beyond either end of the library's grid: low losses
# there count as its lowest, which costs about as much of epsilon.
_BEYOND = 1e-4

# Steps that the library composes at first, and what it may leave out of all of them.
_AT_ONCE, _TRUNCATED = 100_000, 1e-15

# Rounding when Renyi divergences become epsilon: sums and logarithms of doubles, far less.
_RENYI_ROUNDING = 1e-9

# Whole orders only: those in between need a series that does not always converge.
_ORDERS = [*range(2, 65), 80, 96, 128, 192, 256, 384, 512, 1024, 4096]

# Beyond these no accountant computes an event; no plan comes near them.
_SMALLEST, _LARGEST = 1e-12, 1e12


@dataclass(frozen=True)
class SampledGaussian:
    """`steps` Gaussian releases, each of a fresh Poisson sample of the records."""

    rate: float  # probability that a record is in a sample
    noise_multiplier: float  # standard deviation over the clip, in every relation
    steps: int

    def __post_init__(self) -> None:
        if not _SMALLEST <= self.rate <= 1.0:
            raise CardError(f"rate={self.rate!r} must lie in [{_SMALLEST:g}, 1].")
        if not 0.0 < self.noise_multiplier <= _LARGEST:
            raise CardError(
                f"noise_multiplier={self.noise_multiplier!r} must be positive and finite."
            )
        if type(self.steps) is not int or not 0 < self.steps <= _LARGEST:
            raise CardError(f"steps={self.steps!r} must be a positive integer.")


class Accounted(NamedTuple):
    """An upper bound on epsilon, and whose it is: the smaller of 'PLD' and 'RDP', or 'none'."""

    epsilon: float
    accountant: str


def epsilon_of(
    events: Sequence[SampledGaussian],
    delta: float,
    relation: Relation,
    interval: float,
    *,
    enough: float = 0.0,
) -> Accounted:
    """Return the smallest valid bound on epsilon of all `events` together, at `delta`."""
    # A bound of at most `enough` is returned without asking a second accountant.
    given = tuple(events)
    pld = _by_arrays(given, delta, relation, interval)
    if math.isfinite(pld):
        merged = tuple(map(_merged, given))
        found = _pld_epsilon(merged, delta, _paid(given, delta), relation, interval)
        pld = max(pld, found)
    return _smaller(pld, given, delta, relation, enough)


def estimate(
    events: Sequence[SampledGaussian],
    delta: float,
    relation: Relation,
    interval: float,
    *,
    enough: float = 0.0,
) -> Accounted:
    """Approximate :func:`epsilon_of` in milliseconds, for searches."""
    given = tuple(events)
    pld = _by_arrays(given, delta, relation, interval)
    return _smaller(pld, given, delta, relation, enough)


def _paid(events: tuple[SampledGaussian, ...], delta: float) -> float:
    """Return the delta that is left when rounding is paid for."""
    # Both ways of composing by Fourier transform are in doubles; delta is off by up to about 2
    # steps 2^-53, either way (measured against long doubles).
    return delta - sum(event.steps for event in events) * 2.0**-50


def _by_arrays(
    events: tuple[SampledGaussian, ...], delta: float, relation: Relation, interval: float
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
    events: tuple[SampledGaussian, ...], direction: str, interval: float, tail: float
) -> Losses:
    """Return the losses of all steps of `events`; `tail` of each may be cut."""
    found = []
    for event in map(_merged, events):
        std, steps = event.noise_multiplier, event.steps
        once = one_step(event.rate, std, interval, direction, tail / steps)
        found.append(once if steps == 1 else once.times(steps, tail))
    return reduce(Losses.then, found)


def _merged(event: SampledGaussian) -> SampledGaussian:
    """Return the same losses in fewer steps, where that is exact."""
    # Gaussian releases of all records merge into one; their squared strengths add up.
    if event.rate < 1.0 or event.steps == 1:
        return event
    return SampledGaussian(1.0, event.noise_multiplier / math.sqrt(event.steps), 1)


def _smaller(
    pld: float,
    given: tuple[SampledGaussian, ...],
    delta: float,
    relation: Relation,
    enough: float,
) -> Accounted:
    """Return the smaller of the bounds that are valid for the relation."""
    bounds = [Accounted(math.inf, "none"), Accounted(pld, "PLD")]
    if "RDP" in relation.accountants and pld > enough:
        bounds.append(Accounted(_rdp_epsilon(given, delta, relation), "RDP"))
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
    """Return the delta of one Gaussian release with noise 1 / `strength`."""
    # That is ndtr(-a) - exp(epsilon) ndtr(-b) with a, b = epsilon / strength -+ strength / 2
    # (Balle and Wang, 2018, Theorem 8), in a form in which nothing overflows or cancels.
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


@lru_cache(maxsize=1)
def library_version() -> str:
    """Return the version of dp-accounting."""
    from importlib.metadata import version

    return version("dp-accounting")


def _pld_epsilon(
    events: tuple[SampledGaussian, ...],
    delta: float,
    paid: float,
    relation: Relation,
    interval: float,
) -> float:
    """Return the epsilon of dp-accounting at `paid` of `delta`, or infinity if it has none."""
    tail = TAIL * delta / max(1, len(events))
    if not _cells(events, tail, relation, interval) <= _MOST_CELLS:
        return math.inf
    try:
        library = _by_library(events, relation, interval, tail)
        found = float(library.get_epsilon_for_delta(paid))
    except (ValueError, OverflowError):  # it cannot compute this; no bound is always valid
        return math.inf
    return found if found >= 0.0 else math.inf


@lru_cache(maxsize=4)
def _by_library(
    events: tuple[SampledGaussian, ...], relation: Relation, interval: float, tail: float
) -> Any:
    """Return dp-accounting's PLD of `events`; losses of a mass below `tail` are left out."""
    # Losses above the library's grid count as infinite, those below it as its lowest loss.
    from dp_accounting.pld import privacy_loss_distribution as library

    together = library.identity(interval)
    for event in events:
        once = library.from_gaussian_mechanism(
            event.noise_multiplier,
            value_discretization_interval=interval,
            log_mass_truncation_bound=math.log(_beyond(event, tail)),
            sampling_prob=event.rate,
            neighboring_relation=_neighbours(relation),
        )
        together = together.compose(_repeated(once, event.steps))
    return together


def _beyond(event: SampledGaussian, tail: float) -> float:
    """Return the mass that one step may have beyond either end of the library's grid."""
    # Large losses need the record in the lot, so the library's mass is that without sampling.
    return min(tail / event.rate, _BEYOND) / event.steps


def _repeated(once: Any, steps: int) -> Any:
    """Return the PLD of `steps` steps."""
    # The library composes few losses by raising their number to a whole power, which can take
    # minutes: many steps are composed in two calls.
    if steps <= _AT_ONCE:
        return once.self_compose(steps)
    parts, left = divmod(steps, _AT_ONCE)
    whole = once.self_compose(_AT_ONCE, tail_mass_truncation=_TRUNCATED / parts)
    whole = whole.self_compose(parts)
    return whole.compose(once.self_compose(left)) if left else whole


def _cells(
    events: tuple[SampledGaussian, ...], tail: float, relation: Relation, interval: float
) -> float:
    """Return roughly how many single-step losses the library will compute."""
    ranges = (
        range_of(
            event.rate, event.noise_multiplier, direction, event.rate * _beyond(event, tail)
        )
        for event in events
        for direction in relation.directions
    )
    return sum((high - low) / interval for low, high in ranges)


def _neighbours(relation: Relation) -> Any:
    import dp_accounting as dp

    return dp.NeighboringRelation[relation.library]


def _rdp_epsilon(
    events: tuple[SampledGaussian, ...], delta: float, relation: Relation
) -> float:
    """Return epsilon by Rényi divergences, with their rounding paid for first."""
    # Otherwise a divergence that rounds to 0 or less would count as no loss.
    from dp_accounting.rdp import compute_epsilon

    found, _ = compute_epsilon(_ORDERS, renyi_of(events, _ORDERS, relation), delta)
    return float(found) * (1.0 + _RENYI_ROUNDING)


def renyi_of(
    events: Sequence[SampledGaussian], orders: Sequence[int], relation: Relation
) -> tuple[float, ...]:
    """Return the Rényi divergence of `events` together, at each of the whole `orders`.

    Guarantee: each number is an upper bound, in both directions, for every pair of neighbours;
    it is infinite rather than wrong where the sum cannot be computed.
    Requires: a relation for which RDP is valid; replace-one has none here.
    Proof: docs/proofs/ledger.md, "Divergences".
    """
    if "RDP" not in relation.accountants:
        others = " and ".join(repr(x.value) for x in Relation if "RDP" in x.accountants)
        raise ParameterError(
            "{relation} has no Rényi accounting; {} do.", others, relation=relation.value
        )
    each = [_renyi(event, tuple(orders), relation) for event in events]
    return tuple(map(sum, zip(*each, strict=True))) if each else (0.0,) * len(orders)


@lru_cache(maxsize=16)
def _renyi(
    event: SampledGaussian, orders: tuple[int, ...], relation: Relation
) -> tuple[float, ...]:
    """Return bounds of the divergences of one event."""
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(list(orders), neighboring_relation=_neighbours(relation))
    # Never a plain Gaussian when the rate is 1: for that event the accountants of
    # dp-accounting do not agree on the factor 2 of replace-one.
    step = dp.PoissonSampledDpEvent(event.rate, dp.GaussianDpEvent(event.noise_multiplier))
    accountant.compose(step, event.steps)
    bounds = []
    for order, value in zip(orders, accountant.rdp, strict=True):
        rounding = (16.0 * (math.lgamma(order + 1.0) + order) + 64.0) * 2.0**-52
        bound = max(float(value), 0.0) * (1.0 + 2.0**-40) + event.steps * rounding / (order - 1)
        bounds.append(math.inf if math.isnan(value) else bound)
    return tuple(bounds)
