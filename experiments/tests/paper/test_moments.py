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
from mpmath import mp, mpf, quad

from dpscd.errors import CalibrationError, ParameterError
from dpscd.problem import Problem
from dpscd_experiments.paper import METHODS, Settings
from dpscd_experiments.paper.moments import (
    USUAL_ORDERS,
    log_moment,
    moments_epsilon,
    moments_sigma,
)
from dpscd_experiments.paper.settings import LOSSES

GRID = [(s, q) for s in (0.6, 1.0, 2.0, 8.0) for q in (1e-4, 0.003, 0.1, 0.7, 1.0)]


@pytest.mark.parametrize(("sigma", "q"), GRID)
def test_log_moments_agree_with_dp_accounting(sigma, q):
    # A log-moment of order m is m times the Renyi divergence of order m + 1.
    orders = [m + 1 for m in USUAL_ORDERS]
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = RdpAccountant(orders, neighboring_relation=relation)
    step = PoissonSampledDpEvent(q, GaussianDpEvent(sigma))
    accountant.compose(SelfComposedDpEvent(step, 100))
    ours = [100 * log_moment(m, sigma, q) / m for m in USUAL_ORDERS]
    np.testing.assert_allclose(ours, accountant.rdp, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("q", [0.01, 0.5, 0.95])
def test_the_moment_is_the_larger_of_the_two_integrals(q):
    sigma, order = mpf(1), 3
    with mp.workdps(25):

        def density(x, mean):
            return mp.exp(-((x - mean) ** 2) / (2 * sigma**2)) / mp.sqrt(2 * mp.pi * sigma**2)

        def ratio(x):
            return (1 - mpf(q)) + mpf(q) * density(x, 1) / density(x, 0)

        forth = quad(lambda x: density(x, 0) * ratio(x) ** (order + 1), [-12, 0, 5, 20])
        back = quad(lambda x: density(x, 0) * ratio(x) ** (-order), [-12, 0, 5, 20])
        assert log_moment(order, 1.0, q) == pytest.approx(float(mp.log(forth)), rel=1e-9)
        assert back <= forth


@pytest.mark.parametrize("order", [1, 8, 32, 255])
def test_nothing_cancels_at_large_rates(order):
    assert log_moment(order, 2.0, 1.0) == pytest.approx(order * (order + 1) / 8.0, rel=1e-12)
    near = [log_moment(order, 2.0, q) for q in (0.9, 0.99, 0.999, 1.0)]
    assert near == sorted(near)


# MA at the paper's settings: (epsilon, N, L, epochs) -> sigma of an unrounded search, by
#   scipy.optimize.brentq(lambda s: moments_epsilon(1e-3, s, L / N, T) - epsilon, 0.3, 100)
GOLDEN = [
    (0.1, 347786, 1000, 50, 14.180),
    (0.5, 347786, 1000, 50, 2.968),
    (1.0, 347786, 1000, 50, 1.625),
    (2.0, 347786, 1000, 50, 1.008),
]


@pytest.mark.parametrize(("epsilon", "n", "lot", "epochs", "sigma"), GOLDEN)
def test_golden_values(epsilon, n, lot, epochs, sigma):
    steps = epochs * math.ceil(n / lot)
    assert moments_epsilon(1e-3, sigma, lot / n, steps) == pytest.approx(epsilon, rel=2e-3)
    found = moments_sigma(epsilon, 1e-3, lot / n, steps)
    assert sigma * 0.9995 <= found <= sigma * 1.02


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 10.0])
@pytest.mark.parametrize(("q", "steps"), [(0.004, 2500), (0.1, 100), (1.0, 20)])
def test_the_search_never_exceeds_the_target_and_wastes_at_most_one_percent(epsilon, q, steps):
    sigma = moments_sigma(epsilon, 1e-3, q, steps)
    assert 0.99 * epsilon <= moments_epsilon(1e-3, sigma, q, steps) <= epsilon


def test_the_usual_orders_cannot_reach_the_papers_smallest_epsilon():
    with pytest.raises(CalibrationError, match="order 32"):
        moments_sigma(0.1, 1e-3, 0.003, 17400, USUAL_ORDERS)
    assert moments_epsilon(1e-3, 1e6, 0.003, 1, USUAL_ORDERS) == pytest.approx(
        math.log(1000.0) / 32.0, rel=1e-3
    )
    # From 0.5 on they are as good as more.
    usual = moments_sigma(0.5, 1e-3, 0.003, 17400, USUAL_ORDERS)
    assert usual == moments_sigma(0.5, 1e-3, 0.003, 17400)


@pytest.mark.parametrize(
    "wrong", [{"delta": 0.0}, {"sigma": 0.0}, {"q": 0.0}, {"q": 1.1}, {"steps": 0}]
)
def test_arguments_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError):
        moments_epsilon(**{"delta": 1e-3, "sigma": 1.0, "q": 0.1, "steps": 5, **wrong})


def test_the_tight_accountant_asks_for_less_noise():
    problem = Problem(LOSSES["hinge"], 1e-5, 24420, 81)
    settings = Settings(epochs=10, lot_size=500, clip=0.1)
    method = METHODS["dp-scd"]
    for epsilon in (0.1, 1.0):
        moments = method.calibrated(problem, settings, epsilon, 1e-3)
        tight = method.calibrated(problem, settings, epsilon, 1e-3, "tight")
        assert 0.4 < tight.sigma / moments.sigma < 0.95
        assert method.claimed_epsilon(problem, moments, 1e-3) <= epsilon
        stated = method.claimed_epsilon(problem, tight, 1e-3, "tight")
        assert stated == pytest.approx(epsilon, rel=0.01)
        assert method.claimed_epsilon(problem, tight, 1e-3) > epsilon
