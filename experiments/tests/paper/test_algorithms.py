"""The paper's algorithms against its pseudo-code, against optima, and what they refuse."""

import math

import numpy as np
import pytest
from transcription import Case, listed

from dpscd.errors import ParameterError
from dpscd_experiments.paper import METHODS, STATEMENTS, Diagnostics, Flaw, Settings


@pytest.mark.full
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("lots", ["shuffled", "poisson"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["dp-scd", "seq-dp-scd", "primal-dp-scd", "dp-sgd"])
def test_every_algorithm_follows_its_listing(loss, lots, sparse, name):
    case, looks = Case(loss, sparse=sparse), []
    size = 2 if name == "primal-dp-scd" else 7
    settings = Settings(3, size, clip=0.4, sigma=0.5, lots=lots, learning_rate=0.7)
    if (name, loss) == ("primal-dp-scd", "hinge"):
        with pytest.raises(ParameterError, match="smooth"):
            case.run(name, settings)
        return
    expected, duals = listed(name, case, settings)
    shared = case.run(name, settings, observer=looks.append)
    # Gradients are cut to a fine lattice.
    near = {"rtol": 1e-5, "atol": 1e-6} if name == "dp-sgd" else {"rtol": 1e-8}
    np.testing.assert_allclose(case.problem.model(shared).coef[0], expected, **near)
    if duals is not None:
        np.testing.assert_allclose(looks[-1].dual[:, 0], duals, rtol=1e-9)
        apart = case.problem.strength * expected - case.X.T @ duals
        assert looks[-1].drift == pytest.approx(np.linalg.norm(apart))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    ("name", "settings", "near"),
    [
        ("scd", Settings(400), 2e-5),
        ("primal-dp-scd", Settings(400, 2), 2e-4),
        ("sgd", Settings(800, 5, learning_rate=0.01), 0.08),
    ],
)
def test_without_noise_the_optimum_of_the_objective_is_reached(loss, name, settings, near):
    case = Case(loss, lam=0.3)
    found, best = case.problem.model(case.run(name, settings)).coef[0], case.optimum()
    np.testing.assert_allclose(found, best, atol=near * np.abs(best).max())


def traced(case, name, settings):
    diagnostics = Diagnostics(case.problem, case.rows, case.records)
    shared = case.run(name, settings, observer=diagnostics)
    np.testing.assert_array_equal(shared, case.run(name, settings))  # looking changes nothing
    return shared[0] / case.problem.strength, diagnostics.points


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_traced_each_epoch(name):
    case = Case("logistic")
    least = case.primal(case.optimum())
    model, points = traced(case, name, Settings(3, 2, clip=0.2, sigma=0.5, learning_rate=0.5))
    assert [point.epoch for point in points] == [0, 1, 2, 3]
    assert points[-1].primal == pytest.approx(case.primal(model))
    if name in ("dp-scd", "seq-dp-scd", "scd"):
        # Weak duality, for the noisy duals too: they are projected first.
        assert all(-p.dual <= least + 1e-9 and p.gap >= p.primal - least - 1e-9 for p in points)
    else:
        assert math.isnan(points[-1].dual)


@pytest.mark.parametrize(("lam", "inside"), [(1e-2, True), (1e-4, False)])
def test_the_papers_logistic_box_keeps_scd_from_the_optimum_when_duals_are_small(lam, inside):
    case = Case("logistic", lam=lam)
    case.y[:] = np.where(case.X[:, 0] > 0.0, 1.0, -1.0)  # separable: optimal duals go to 0
    gap = traced(case, "scd", Settings(600))[1][-1].gap
    case.problem = case.exact
    assert traced(case, "scd", Settings(600))[1][-1].gap < 1e-12
    assert gap < 1e-3
    assert (gap < 1e-12) == inside


def test_every_method_carries_a_statement_and_none_a_guarantee():
    assert set(METHODS) == set(STATEMENTS)
    for name, method in METHODS.items():
        assert method.statement.method == method.name == name
        assert not method.statement.private
        assert bool(method.statement.published) == method.noisy == bool(method.statement.flaws)
    assert {Flaw.VISIBLE_LOTS, Flaw.LEMMA_1} <= set(STATEMENTS["dp-scd"].flaws)
