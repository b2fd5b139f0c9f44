"""dp-accounting, asked directly."""

import dp_accounting as dp
from dp_accounting.pld import PLDAccountant

from dpscd.privacy.relation import Relation

NEIGHBOURS = {
    Relation.ZERO_OUT: dp.NeighboringRelation.REPLACE_SPECIAL,
    Relation.ADD_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    Relation.REPLACE_ONE: dp.NeighboringRelation.REPLACE_ONE,
}


def composed(accountant, events):
    """Return the accountant after events: rates, noise multipliers and steps."""
    for rate, multiplier, steps in events:
        step = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(multiplier))
        accountant.compose(dp.SelfComposedDpEvent(step, steps))
    return accountant


def distributions_of(relation, events, interval=1e-3):
    """Return the library's accountant by privacy loss distributions, after events."""
    neighbours = NEIGHBOURS[Relation(relation)]
    accountant = PLDAccountant(neighbours, value_discretization_interval=interval)
    return composed(accountant, events)
