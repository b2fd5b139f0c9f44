"""The price of a private search: its theorem against exact integrals, and its two points."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpscd.errors import CardError, ParameterError
from dpscd.model.plain import typed
from dpscd.privacy.accounting import SampledGaussian, gaussian_delta
from dpscd.privacy.cost import Cost
from dpscd.privacy.filters import BasicFilter, RenyiFilter, fit_cost
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.privacy.search import (
    Search,
    planned_search,
    reaches,
    search_claim,
    search_points,
    total_epsilon,
)

STOPS = [1.0 / 1.5, 1.0 / 3.0, 1.0 / 6.0, 1.0 / 30.0]
TARGET = PrivacyTarget(1.0, 1e-5)


def fit(multiplier=3.0, n=1000):
    return (Cost("shared vector", SampledGaussian(0.01, multiplier, 1000), 1.0, 4, n),)


def score(multiplier=6.0):
    return Cost("score", SampledGaussian(1.0, multiplier, 1), 1.0, 1, 250)


# Ways to order outcomes x, by the chance of what comes before. The last one puts what gives
# most away (x below the first number) behind what is hardly less likely, so that both chances,
# of the outcome and of being the best, favour the same data set: the worst that was found.
def _below(x, mean, rank, strength):
    cdf = stats.norm.cdf
    if rank == "up":
        return cdf(x - mean)
    if rank == "down":
        return 1.0 - cdf(x - mean)
    if rank in ("in", "out"):
        reach = np.abs(x - strength / 2.0)
        low, high = strength / 2.0 - reach - mean, strength / 2.0 + reach - mean
        return cdf(high) - cdf(low) if rank == "out" else 1.0 - cdf(high) + cdf(low)
    first, last = rank
    moved = cdf(last - mean) - cdf(first - mean) + cdf(x - mean)
    inside = cdf(x - mean) - np.where(x < last, cdf(first - mean), 0.0)
    return np.where(x < first, moved, inside)


def hockey_stick(stop, strength, epsilon, rank):
    """Return the exact delta of the best of geometrically many Gaussian outcomes.

    Neighbours' outcomes have means 0 and `strength`; `rank` orders them.
    """
    x = np.linspace(-12.0, 12.0 + strength, 20_001)

    def density(mean):
        below = _below(x, mean, rank, strength)
        return stats.norm.pdf(x - mean) * stop / (1.0 - (1.0 - stop) * below) ** 2

    first, second = density(0.0), density(strength)
    factor = math.exp(epsilon)
    return max(
        integrate.simpson(np.maximum(one - factor * other, 0.0), x=x)
        for one, other in ((first, second), (second, first))
    )


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("rank", ["up", "down", "in", "out", (-3.5, 1.2), (-2.0, 0.7)])
@pytest.mark.parametrize("strength", [0.1, 0.5, 1.5])
def test_the_best_run_leaks_no_more_than_the_theorem_says(stop, rank, strength):
    near = [(e, gaussian_delta(e, strength)) for e in np.linspace(0.0, 3.0 * strength, 40)]
    for far in np.linspace(0.2 * strength, 4.0 * strength, 8):
        delta = gaussian_delta(far, strength) / stop
        if not 1e-9 < delta < 1.0:
            continue
        epsilon = min(total_epsilon(stop, e, d, far) for e, d in near)
        assert hockey_stick(stop, strength, epsilon, rank) <= delta * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("stop", "rank", "part"),
    [(1 / 3, (-3.5, 0.6), 0.95), (1 / 6, (-3.5, 1.2), 0.93), (1 / 30, (-3.5, 1.75), 0.91)],
)
def test_the_theorem_is_close_to_what_leaks_in_the_worst_order(stop, rank, part):
    strength, far = 0.2, 0.8
    near = [(e, gaussian_delta(e, strength)) for e in np.linspace(0.0, 1.0, 400)]
    epsilon = min(total_epsilon(stop, e, d, far) for e, d in near)
    delta = gaussian_delta(far, strength) / stop
    assert hockey_stick(stop, strength, part * epsilon, rank) > delta
    assert hockey_stick(stop, strength, epsilon, rank) <= delta


def test_the_theorem_holds_for_outcomes_with_atoms_in_any_order():
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(3000):
        size, stop = rng.integers(2, 7), rng.choice([0.6, 0.3, 0.05])
        p, q = (rng.dirichlet(np.full(size, rng.choice([0.2, 1.0, 5.0]))) for _ in range(2))
        p = np.where(rng.random(size) < 0.1, 0.0, p)
        p /= p.sum() or 1.0
        if not p.sum():
            continue
        e1, e2 = rng.uniform(0.0, 3.0, 2)

        def stick(a, b, epsilon):
            pairs = ((a, b), (b, a))
            return max(np.maximum(x - math.exp(epsilon) * y, 0.0).sum() for x, y in pairs)

        def best(a, stop=stop):
            below = np.concatenate([[0.0], np.cumsum(a)]).clip(0.0, 1.0)
            return np.diff(stop * below / (1.0 - (1.0 - stop) * below))

        epsilon = total_epsilon(stop, e1, stick(p, q, e1), e2)
        excess = stick(best(p), best(q), epsilon) - stick(p, q, e2) / stop
        worst = max(worst, excess)
    assert worst < 1e-12


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("stop", STOPS)
def test_points_come_to_the_target_and_leave_most_to_a_run(relation, epsilon, stop):
    target = PrivacyTarget(epsilon, 1e-6, relation)
    points = search_points(target, stop)
    total = total_epsilon(
        stop, points["near_epsilon"], points["near_delta"], points["far_epsilon"]
    )
    assert 0.999 * epsilon < total <= epsilon
    assert points["far_delta"] <= stop * 1e-6
    # The price: what is known of the Gaussian release, and better than by Renyi divergences.
    assert 0.3 * epsilon < points["far_epsilon"] < epsilon
    if (epsilon, stop) == (1.0, 1.0 / 3.0):
        assert points["far_epsilon"] > 1.0 / 1.52


def searched(**changed):
    points = {**search_points(TARGET, 1 / 3), **changed}
    return planned_search(TARGET, points, 1 / 3, [fit(), fit(), fit(4.0)], score())


def test_a_search_is_claimed_if_every_list_satisfies_both_points():
    found = searched()
    assert len(found.fits) == 2  # each list once
    claim = search_claim(found, 1e-5, Relation.ZERO_OUT)
    assert claim.epsilon == pytest.approx(1.0, rel=1e-6)
    assert claim.epsilon <= 1.0
    assert 0.0 < claim.precision_epsilon < 1e-3
    assert all(reaches(x, found, Relation.ZERO_OUT) for x in found.lists())
    # A list with too little noise, of the fits or of the score, at either point; a far delta
    # that is not small enough.
    for bad in (
        planned_search(found.target, _points(found), 1 / 3, [fit(), fit(0.8)], score()),
        planned_search(found.target, _points(found), 1 / 3, [fit()], score(2.0)),
        searched(near_epsilon=0.01),
        searched(far_delta=1e-5),
    ):
        assert search_claim(bad, 1e-5, Relation.ZERO_OUT).epsilon == math.inf


def _points(search):
    return {
        name: getattr(search, name)
        for name in ("near_epsilon", "near_delta", "far_epsilon", "far_delta")
    }


def test_searches_are_written_and_read():
    found = searched()
    assert typed(Search, found.to_dict()) == found
    values = found.to_dict()
    for name, bad in (
        ("stop", 0.0), ("stop", 2.0), ("stop", 2.0**-12), ("stop", 1), ("near_delta", 1.0),
        ("far_epsilon", math.inf), ("far_epsilon", 1e5), ("far_interval", 2.0),
        ("near_interval", 1e-12), ("target", {}), ("target", {**values["target"], "delta": 1}),
        ("fits", []), ("fits", [[]]), ("fits", 1), ("fits", [1]),
    ):  # fmt: skip
        with pytest.raises(CardError):
            typed(Search, {**values, name: bad})
    for bad in (None, {}, {**values, "more": 1}):
        with pytest.raises(CardError, match="malformed"):
            typed(Search, bad)


def test_a_ledger_recomputes_what_a_search_claims():
    found = searched()
    listed = [x for one in found.lists() for x in one]
    basic = BasicFilter(2.0, 1e-4)
    assert fit_cost(basic, listed, 1.0, 1e-5, Relation.ZERO_OUT, found)["epsilon"] == 1.0
    with pytest.raises(CardError, match="is claimed"):
        fit_cost(basic, listed, 0.9, 1e-5, Relation.ZERO_OUT, found)
    with pytest.raises(ParameterError, match="cannot hold a search"):
        fit_cost(RenyiFilter.of(2.0, 1e-4), listed, 1.0, 1e-5, Relation.ZERO_OUT, found)
