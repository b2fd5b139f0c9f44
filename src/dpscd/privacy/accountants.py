"""The accountants of dp-accounting, PLD and RDP; its only importer."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dpscd.errors import ParameterError
from dpscd.privacy.distribution import TAIL, range_of
from dpscd.privacy.event import Event
from dpscd.privacy.relation import Relation

__all__ = ["library_version", "pld_epsilon", "rdp_epsilon", "renyi_of"]

# The library takes some 30 microseconds for each; beyond this nobody would wait. Plans are far
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


@lru_cache(maxsize=1)
def library_version() -> str:
    """Return the version of dp-accounting."""
    from importlib.metadata import version

    return version("dp-accounting")


def pld_epsilon(
    events: tuple[Event, ...], delta: float, paid: float, relation: Relation, interval: float
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
    events: tuple[Event, ...], relation: Relation, interval: float, tail: float
) -> Any:
    """Return dp-accounting's PLD of `events`.

    Losses with a probability below `tail` over all steps of an event are left out. Losses above
    the library's grid count as infinite, those below it as its lowest loss.
    """
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


def _beyond(event: Event, tail: float) -> float:
    """Return the mass that one step may have beyond either end of the library's grid.

    Large losses need the record in the lot, so the library's mass is that without sampling.
    """
    return min(tail / event.rate, _BEYOND) / event.steps


def _repeated(once: Any, steps: int) -> Any:
    """Return the PLD of `steps` steps.

    The library composes few losses by raising their number to a whole power, which can take
    minutes; many steps are therefore composed in two calls.
    """
    if steps <= _AT_ONCE:
        return once.self_compose(steps)
    parts, left = divmod(steps, _AT_ONCE)
    whole = once.self_compose(_AT_ONCE, tail_mass_truncation=_TRUNCATED / parts)
    whole = whole.self_compose(parts)
    return whole.compose(once.self_compose(left)) if left else whole


def _cells(
    events: tuple[Event, ...], tail: float, relation: Relation, interval: float
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


def _translate(event: Event) -> Any:
    import dp_accounting as dp

    # Never a plain Gaussian when the rate is 1: for that event the accountants of
    # dp-accounting do not agree on the factor 2 of replace-one.
    step = dp.PoissonSampledDpEvent(event.rate, dp.GaussianDpEvent(event.noise_multiplier))
    return dp.SelfComposedDpEvent(step, event.steps)


def rdp_epsilon(events: tuple[Event, ...], delta: float, relation: Relation) -> float:
    """Return epsilon by Rényi divergences, with their rounding paid for first.

    Otherwise a divergence that rounds to 0 or less would count as no loss.
    """
    from dp_accounting.rdp import compute_epsilon

    found, _ = compute_epsilon(_ORDERS, renyi_of(events, _ORDERS, relation), delta)
    return float(found) * (1.0 + _RENYI_ROUNDING)


def renyi_of(
    events: Sequence[Event], orders: Sequence[int], relation: Relation
) -> tuple[float, ...]:
    """Return the Rényi divergence of `events` together, at each of the whole `orders`.

    Notes
    -----
    Guarantee: each number is an upper bound, in both directions, for every pair of
    neighbours; it is infinite rather than wrong where the sum cannot be computed.
    Requires: a relation for which RDP is valid; replace-one has none here.
    Proof: docs/proofs/shared_vector.md bounds every hockey-stick divergence by that of the
    sampled Gaussian, hence every Rényi divergence (a mixture of them); for the latter see
    Mironov, Talwar and Zhang, arXiv:1908.10530. Rounding: dp-accounting sums ``order + 1``
    terms in logarithms, each with an error of a few ulps of log(order!); what is added
    is several times that, once for every step.
    """
    if "RDP" not in relation.accountants:
        others = " and ".join(repr(x.value) for x in Relation if "RDP" in x.accountants)
        raise ParameterError(
            f"relation={relation.value!r} has no Rényi accounting; {others} do."
        )
    each = [_renyi(event, tuple(orders), relation) for event in events]
    return tuple(map(sum, zip(*each, strict=True))) if each else (0.0,) * len(orders)


@lru_cache(maxsize=16)
def _renyi(event: Event, orders: tuple[int, ...], relation: Relation) -> tuple[float, ...]:
    """Return bounds of the divergences of one event."""
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(list(orders), neighboring_relation=_neighbours(relation))
    accountant.compose(_translate(event))
    bounds = []
    for order, value in zip(orders, accountant.rdp, strict=True):
        rounding = (16.0 * (math.lgamma(order + 1.0) + order) + 64.0) * 2.0**-52
        bound = max(float(value), 0.0) * (1.0 + 2.0**-40) + event.steps * rounding / (order - 1)
        bounds.append(math.inf if math.isnan(value) else bound)
    return tuple(bounds)
