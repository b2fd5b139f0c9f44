"""From events to epsilon; the only importer of dp-accounting.

Which accountant is valid for which relation is the table ``_VALID``. Zero-out and
add-remove share their dominating pair (docs/proofs/shared_vector.md); replace-one has its
own inside the PLD accountant, with the same multiplier std / clip, and no RDP.

Privacy loss distributions (PLD) are those of dp-accounting but for one thing: the points
where a loss takes given values are found for all values at once, in arrays, and not one by
one in Python. That is most of the time of an accountant.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.privacy.event import Event
from dpscd.privacy.relation import Relation

__all__ = [
    "Accounted",
    "epsilon_of",
    "gaussian_multiplier",
    "library_version",
    "renyi_of",
]

Numbers = npt.NDArray[np.float64]

_VALID: dict[Relation, tuple[str, ...]] = {
    Relation.ZERO_OUT: ("PLD", "RDP"),
    Relation.ADD_REMOVE: ("PLD", "RDP"),
    Relation.REPLACE_ONE: ("PLD",),
}

# Whole orders only: those in between need a series that does not always converge.
_ORDERS = [*range(2, 65), 80, 96, 128, 192, 256, 384, 512, 1024, 4096]


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


def library_version() -> str:
    """Return the version of dp-accounting."""
    from importlib.metadata import version

    return version("dp-accounting")


def epsilon_of(
    events: Sequence[Event],
    delta: float,
    relation: Relation,
    interval: float,
    *,
    enough: float = 0.0,
) -> Accounted:
    """Return the smallest valid bound on epsilon of `events` together, at `delta`.

    A bound of at most `enough` is returned without asking a second accountant for a
    smaller one.
    """
    given = tuple(events)
    bounds = [Accounted(math.inf, "none", interval)]
    # The PLD accountant composes by Fourier transform in doubles; its delta is off by up to
    # about 1.5 steps 2^-53, either way (measured against long doubles), and this pays for it.
    paid = delta - sum(event.steps for event in given) * 2.0**-50
    if paid > 0.0:
        losses = _losses_together(given[:-1], relation, interval)
        for event in given[-1:]:
            losses = losses.compose(_losses(event, relation, interval))
        bounds.append(Accounted(float(losses.get_epsilon_for_delta(paid)), "PLD", interval))
    if "RDP" in _VALID[relation] and bounds[-1].epsilon > enough:
        accountant = copy.deepcopy(_renyi_together(given[:-1], relation))
        for event in given[-1:]:
            accountant.compose(_translate(event))
        bounds.append(Accounted(float(accountant.get_epsilon(delta)), "RDP", interval))
    return min(bounds, key=lambda bound: bound.epsilon)


# Composing is slow, and a calibration changes only what comes last: the rest is kept.


@lru_cache(maxsize=4)
def _losses_together(events: tuple[Event, ...], relation: Relation, interval: float) -> Any:
    """Return the privacy loss distribution of `events` together."""
    from dp_accounting.pld.privacy_loss_distribution import identity

    losses = identity(interval)
    for event in events:
        losses = losses.compose(_losses(event, relation, interval))
    return losses


@lru_cache(maxsize=4)
def _renyi_together(events: tuple[Event, ...], relation: Relation) -> Any:
    """Return an RDP accountant that has seen `events`; copy it before use."""
    accountant = _accountant(relation, _ORDERS)
    for event in events:
        accountant.compose(_translate(event))
    return accountant


def _accountant(relation: Relation, orders: Sequence[int]) -> Any:
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    neighbours = {
        Relation.ZERO_OUT: dp.NeighboringRelation.REPLACE_SPECIAL,
        Relation.ADD_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    }[relation]
    return RdpAccountant(list(orders), neighboring_relation=neighbours)


def _translate(event: Event) -> Any:
    import dp_accounting as dp

    # Never a plain Gaussian when the rate is 1: for that event the accountants of
    # dp-accounting do not agree on the factor 2 of replace-one.
    step = dp.PoissonSampledDpEvent(event.rate, dp.GaussianDpEvent(event.noise_multiplier))
    return dp.SelfComposedDpEvent(step, event.steps)


def _losses(event: Event, relation: Relation, interval: float) -> Any:
    """Return the privacy loss distribution of one event, rounded to the private side."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType

    std, steps = event.noise_multiplier, event.steps
    if event.rate == 1.0:
        # Gaussian releases of all records are one, with the squared strengths summed.
        std, steps = std / math.sqrt(steps), 1
    ways = [AdjacencyType.REMOVE, AdjacencyType.ADD]
    if relation is Relation.REPLACE_ONE:
        ways = [AdjacencyType.REPLACE]
    elif event.rate == 1.0:
        ways = [AdjacencyType.REMOVE]  # the other is the same
    once = PrivacyLossDistribution(*(_one_way(event.rate, std, interval, way) for way in ways))
    return once if steps == 1 else once.self_compose(steps)


def _one_way(rate: float, std: float, interval: float, way: Any) -> Any:
    """Return the losses of one step in one direction, on multiples of the interval."""
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    loss = GaussianPrivacyLoss(std, sampling_prob=rate, adjacency_type=way)
    ends = loss.connect_dots_bounds()
    low = math.floor(ends.epsilon_lower / interval)
    high = math.ceil(ends.epsilon_upper / interval)
    deltas = _divergences(loss, rate, std, np.arange(low, high + 1) * interval)
    return create_pmf_pessimistic_connect_dots_fixed_gap(interval, low, high, deltas)


def _divergences(loss: Any, rate: float, std: float, epsilons: Numbers) -> Numbers:
    """Return the hockey-stick divergence at each epsilon.

    The same as ``loss.get_delta_for_epsilon``, a thousand times faster. The divergence is
    greatest at the points found here, so their rounding enters only squared.
    """
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType

    deltas = np.zeros_like(epsilons)
    inside = np.ones(epsilons.shape, bool)
    if loss.adjacency_type is AdjacencyType.REPLACE:
        cuts = -_half_loss_replaced(epsilons, rate, std) * std**2
    elif loss.adjacency_type is AdjacencyType.REMOVE:
        if rate < 1.0:
            inside = epsilons > math.log1p(-rate)  # no loss is smaller
            deltas[~inside] = -np.expm1(epsilons[~inside])
        cuts = -0.5 - _loss_unsampled(epsilons[inside], rate) * std**2
    else:
        if rate < 1.0:
            inside = epsilons < -math.log1p(-rate)  # no loss is larger
        cuts = 0.5 + _loss_unsampled(-epsilons[inside], rate) * std**2
    lower = np.exp(epsilons[inside] + loss.mu_lower_log_cdf(cuts))
    deltas[inside] = loss.mu_upper_cdf(cuts) - lower
    return np.clip(deltas, 0.0, 1.0)


def _loss_unsampled(losses: Numbers, rate: float) -> Numbers:
    """Return log(1 + (exp(loss) - 1) / rate): the loss, were the record sure to be drawn."""
    with np.errstate(divide="ignore"):  # the loss at the far end is minus infinity
        near = np.log1p(np.maximum(np.expm1(np.minimum(losses, 1.0)) / rate, -1.0))
    large = np.maximum(losses, 1.0)
    far = large - math.log(rate) + np.log1p((rate - 1.0) * np.exp(-large))
    return np.where(losses < 1.0, near, far)


def _half_loss_replaced(losses: Numbers, rate: float, std: float) -> Numbers:
    """Return asinh(a sinh(loss / 2)) + loss / 2 with a = exp(1 / (2 std^2)) (1 - q) / q.

    This times the variance is how far from the middle one record replaced by another,
    each drawn with chance q, makes that loss; see dp-accounting's supplementary material.
    """
    half = 0.5 * losses
    if rate == 1.0:
        return half
    log_a = 0.5 / std**2 + math.log1p(-rate) - math.log(rate)
    with np.errstate(divide="ignore"):  # no loss in the middle
        logs = log_a + np.log(np.sinh(np.abs(half)))
    bent = np.arcsinh(np.exp(np.minimum(logs, 300.0)))
    bent = np.where(logs > 300.0, logs + math.log(2.0), bent)
    return np.copysign(bent, half) + half


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
    accountant = _accountant(relation, orders)
    for event in events:
        accountant.compose(_translate(event))
    steps = sum(event.steps for event in events)
    bounds = []
    for order, value in zip(orders, accountant.rdp, strict=True):
        rounding = (16.0 * (math.lgamma(order + 1.0) + order) + 64.0) * 2.0**-52
        bound = max(float(value), 0.0) * (1.0 + 2.0**-40) + steps * rounding / (order - 1)
        bounds.append(math.inf if math.isnan(value) else bound)
    return tuple(bounds)
