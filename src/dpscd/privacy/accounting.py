"""From events to epsilon and back; the only importer of dp-accounting.

Which accountant is valid for which relation is the table ``_VALID``. Zero-out and
add-remove share their dominating pair (docs/proofs/shared_vector.md); replace-one has its
own inside the PLD accountant, with the same multiplier std / clip, and no RDP.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dpscd.errors import CalibrationError, ParameterError
from dpscd.privacy.event import Event, SampledGaussian
from dpscd.privacy.relation import PrivacyTarget, Relation

__all__ = [
    "Accounted",
    "calibrate",
    "epsilon_of",
    "gaussian_multiplier",
    "interval_for",
    "library_version",
    "renyi_of",
]

_VALID: dict[Relation, tuple[str, ...]] = {
    Relation.ZERO_OUT: ("PLD", "RDP"),
    Relation.ADD_REMOVE: ("PLD", "RDP"),
    Relation.REPLACE_ONE: ("PLD",),
}

# Whole orders only: those in between need a series that does not always converge.
_ORDERS = [*range(2, 65), 80, 96, 128, 192, 256, 384, 512, 1024, 4096]

# Below the smallest multiplier the privacy loss has a range that takes the accountant
# minutes; above the largest the question was not meant.
_SMALLEST, _LARGEST = 0.2, 1e9


@dataclass(frozen=True)
class Accounted:
    """An upper bound on epsilon and how it was found.

    Attributes
    ----------
    epsilon : float
        The smaller of the bounds that are valid for the relation.
    accountant : str
        'PLD' or 'RDP': which of them it is.
    interval : float
        Discretisation of the privacy loss in the PLD accountant.
    """

    epsilon: float
    accountant: str
    interval: float


def interval_for(epsilon: float, steps: int) -> float:
    """Return the discretisation that suits a target: fine enough, and no finer.

    A coarse grid inflates epsilon, the more the more steps there are. Against exact Gaussian
    releases this one gave at most 1.6 % too much, at a million steps and delta 1e-5.
    """
    share = min(max(0.016 / math.sqrt(steps), 1e-4), 2e-3)
    return min(max(share * epsilon, 1e-10), 1e-3)


def library_version() -> str:
    """Return the version of dp-accounting."""
    from importlib.metadata import version

    return version("dp-accounting")


def epsilon_of(
    events: Sequence[Event], delta: float, relation: Relation, interval: float
) -> Accounted:
    """Return the smallest valid bound on epsilon of `events` together, at `delta`."""
    bounds = [Accounted(math.inf, "none", interval)]
    # The PLD accountant composes by Fourier transform in doubles; its delta is off by up to
    # about 1.5 steps 2^-53, either way (measured against long doubles), and this pays for it.
    paid = delta - sum(event.steps for event in events) * 2.0**-50
    for name in _VALID[relation]:
        left = paid if name == "PLD" else delta
        if left <= 0.0:
            continue
        # Composing is slow, and a calibration changes only what comes last.
        accountant = copy.deepcopy(_composed(name, relation, interval, tuple(events[:-1])))
        for event in events[-1:]:
            accountant.compose(_translate(event))
        bounds.append(Accounted(float(accountant.get_epsilon(left)), name, interval))
    return min(bounds, key=lambda bound: bound.epsilon)


@lru_cache(maxsize=4)
def _composed(name: str, relation: Relation, interval: float, events: tuple[Event, ...]) -> Any:
    """Return an accountant that has seen `events`; kept, so copy it before use."""
    accountant = _accountant(name, relation, interval)
    for event in events:
        accountant.compose(_translate(event))
    return accountant


def _accountant(
    name: str, relation: Relation, interval: float, orders: Sequence[int] = _ORDERS
) -> Any:
    import dp_accounting as dp

    neighbours = {
        Relation.ZERO_OUT: dp.NeighboringRelation.REPLACE_SPECIAL,
        Relation.ADD_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
        Relation.REPLACE_ONE: dp.NeighboringRelation.REPLACE_ONE,
    }[relation]
    if name == "RDP":
        from dp_accounting.rdp import RdpAccountant

        return RdpAccountant(list(orders), neighboring_relation=neighbours)
    from dp_accounting.pld import PLDAccountant

    return PLDAccountant(
        neighboring_relation=neighbours, value_discretization_interval=interval
    )


def _translate(event: Event) -> Any:
    import dp_accounting as dp

    # Never a plain Gaussian when the rate is 1: for that event the accountants of
    # dp-accounting do not agree on the factor 2 of replace-one.
    step = dp.PoissonSampledDpEvent(event.rate, dp.GaussianDpEvent(event.noise_multiplier))
    return dp.SelfComposedDpEvent(step, event.steps)


@lru_cache(maxsize=256)
def gaussian_multiplier(epsilon: float, delta: float, relation: Relation) -> float:
    """Return the noise multiplier of one Gaussian release that reaches the target."""
    from dp_accounting.pld.common import DifferentialPrivacyParameters
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    sensitivity = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    # Below this epsilon the noise depends on delta alone, and squares would overflow.
    target = DifferentialPrivacyParameters(max(epsilon, 1e-100), delta)
    loss = GaussianPrivacyLoss.from_privacy_guarantee(target, sensitivity)
    return float(loss.standard_deviation)


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
    before they are tried, so what was tried is what is used.
    """

    def excess(multiplier: float) -> float:
        event = SampledGaussian(rate, multiplier, steps)
        found = epsilon_of([*others, event], target.delta, target.relation, interval)
        return math.log(max(found.epsilon, 1e-12) / target.epsilon)

    low, high = _SMALLEST, math.inf
    slope = -1.0
    multiplier = max(_SMALLEST, _round_up(_first_guess(target, rate, steps, others)))
    previous: tuple[float, float] | None = None
    while multiplier < min(high, _LARGEST):
        error = excess(multiplier)
        if error <= 0.0 and (error >= -0.005 or multiplier == _SMALLEST):
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
    if rate == 1.0:
        return math.sqrt(steps) / strength
    return 1.0 / math.sqrt(math.log1p(strength**2 / (rate**2 * steps)))


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
    if "RDP" not in _VALID[relation]:
        raise ParameterError(
            f"relation={relation.value!r} has no Rényi accounting; 'zero-out' and "
            "'add-remove' do."
        )
    accountant = _accountant("RDP", relation, math.nan, orders)
    for event in events:
        accountant.compose(_translate(event))
    steps = sum(event.steps for event in events)
    bounds = []
    for order, value in zip(orders, accountant.rdp, strict=True):
        rounding = (16.0 * (math.lgamma(order + 1.0) + order) + 64.0) * 2.0**-52
        bound = max(float(value), 0.0) * (1.0 + 2.0**-40) + steps * rounding / (order - 1)
        bounds.append(math.inf if math.isnan(value) else bound)
    return tuple(bounds)
