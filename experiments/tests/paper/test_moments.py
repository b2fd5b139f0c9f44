"""The moments accountant against dp-accounting and integrals, and the search for sigma."""

import math

import numpy as np
import pytest
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.rdp import RdpAccountant

from dpscd.errors import CalibrationError
from dpscd_experiments.paper.moments import log_moment, moments_epsilon, moments_sigma

USUAL_ORDERS = tuple(range(1, 33))  # that implementations of the time tried


@pytest.mark.parametrize("sigma", [0.6, 8.0])
@pytest.mark.parametrize("q", [1e-4, 0.003, 0.7, 1.0])
def test_log_moments_agree_with_dp_accounting(sigma, q):
    # A log-moment of order m is m times the Renyi divergence of order m + 1.
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = RdpAccountant([m + 1 for m in USUAL_ORDERS], neighboring_relation=relation)
    step = PoissonSampledDpEvent(q, GaussianDpEvent(sigma))
    accountant.compose(SelfComposedDpEvent(step, 100))
    ours = [100 * log_moment(m, sigma, q) / m for m in USUAL_ORDERS]
    np.testing.assert_allclose(ours, accountant.rdp, rtol=1e-6, atol=1e-9)


# MA at the paper's settings: epsilon and the sigma of an unrounded search, by
#   scipy.optimize.brentq(lambda s: moments_epsilon(1e-3, s, q, T) - epsilon, 0.3, 100)
@pytest.mark.parametrize(
    ("epsilon", "sigma"), [(0.1, 14.180), (0.5, 2.968), (1.0, 1.625), (2.0, 1.008)]
)
def test_golden_values_and_the_search(epsilon, sigma):
    given = 1000 / 347786, 50 * math.ceil(347786 / 1000)
    assert moments_epsilon(1e-3, sigma, *given) == pytest.approx(epsilon, rel=2e-3)
    found = moments_sigma(epsilon, 1e-3, *given)
    # Never above the target, and at most one percent is wasted.
    assert 0.99 * epsilon <= moments_epsilon(1e-3, found, *given) <= epsilon
    if epsilon < 0.5:
        with pytest.raises(CalibrationError, match="order 32"):
            moments_sigma(epsilon, 1e-3, *given, USUAL_ORDERS)
    else:  # the usual orders are as good as more
        assert moments_sigma(epsilon, 1e-3, *given, USUAL_ORDERS) == found
