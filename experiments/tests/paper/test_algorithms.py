"""The paper's algorithms against its pseudo-code, against optima, and what they refuse."""

import math
from dataclasses import replace

import numpy as np
import pytest
import transcription
from transcription import Case

from dpscd.errors import ParameterError
from dpscd.losses import Logistic
from dpscd.privacy.random import SeededSource
from dpscd_experiments.paper import METHODS, STATEMENTS, Diagnostics, Flaw, Settings
from dpscd_experiments.paper.algorithms import chunks
from dpscd_experiments.paper.theory import tuning_cost

N, D = 60, 5
every_loss = pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
smooth_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])
both_lots = pytest.mark.parametrize("lots", ["shuffled", "poisson"])
both_layouts = pytest.mark.parametrize("sparse", [False, True])


def replayed(settings, units, size, *, own=True):
    """Return lots, own normals and shared normals of every step, as a run draws them."""
    lots, mine, shared = [], [], []
    for chunk in chunks(settings, SeededSource(b"run"), units, size, own=own):
        ids, starts = chunk.lots
        for t in range(len(starts) - 1):
            lots.append(ids[starts[t] : starts[t + 1]].tolist())
            mine.append(chunk.own[starts[t] : starts[t + 1]].copy())
        shared.extend(chunk.shared.copy())
    return lots, mine, shared


@pytest.mark.full
@every_loss
@both_lots
@both_layouts
@pytest.mark.parametrize("name", ["dp-scd", "seq-dp-scd"])
def test_dual_algorithms_follow_the_listing(loss, lots, sparse, name):
    case = Case(loss, sparse=sparse)
    settings = Settings(epochs=3, lot_size=7, clip=0.2, sigma=0.8, lots=lots)
    drawn = replayed(settings, N, D)
    if lots == "shuffled":  # everybody once an epoch
        assert sorted(i for lot in drawn[0][:9] for i in lot) == list(range(N))
    given = loss, case.X, case.y, case.lam, 7, 0.2, 0.8, *drawn
    alpha, path = transcription.dual(*given, sequential=name == "seq-dp-scd")
    looks = []
    shared = case.run(name, settings, observer=lambda look: looks.append(look.dual.copy()))
    np.testing.assert_allclose(shared[0], path[-1], rtol=1e-9)
    np.testing.assert_allclose(looks[-1][:, 0], alpha, rtol=1e-9)


@pytest.mark.full
@smooth_loss
@both_lots
@both_layouts
def test_algorithm_2_follows_the_listing(loss, lots, sparse):
    case = Case(loss, sparse=sparse)
    settings = Settings(epochs=4, lot_size=2, clip=0.4, sigma=0.3, lots=lots)
    given = loss, case.X, case.y, case.lam, 2, 0.4, 0.3
    path = transcription.algorithm2(*given, *replayed(settings, D, N))
    model = case.problem.model(case.run("primal-dp-scd", settings))
    np.testing.assert_allclose(model.coef[0], path[-1], rtol=1e-8)


@every_loss
@both_lots
def test_dp_sgd_follows_its_definition(loss, lots):
    case = Case(loss)
    settings = Settings(3, 7, clip=0.6, sigma=0.5, lots=lots, learning_rate=0.7)
    drawn, _, noise = replayed(settings, N, D, own=False)
    given = loss, case.X, case.y, case.lam, 7, 0.6, 0.5, 0.7
    path = transcription.dp_sgd(*given, drawn, noise)
    model = case.problem.model(case.run("dp-sgd", settings)).coef[0]
    np.testing.assert_allclose(model, path[-1], rtol=1e-5, atol=1e-6)


@pytest.mark.full
@every_loss
@pytest.mark.parametrize("name", ["dp-scd", "seq-dp-scd"])
def test_lots_of_one_with_infinite_epsilon_give_the_models_of_scd(loss, name):
    case = Case(loss)
    settings = METHODS[name].calibrated(case.problem, Settings(epochs=6), math.inf, 1e-3)
    paths = []
    for run in (name, "scd"):
        path = []
        case.run(run, settings, observer=lambda at, path=path: path.append(at.shared.copy()))
        paths.append(path)
    np.testing.assert_array_equal(*paths)


@smooth_loss
@pytest.mark.parametrize(
    ("name", "settings", "near"),
    [
        ("scd", Settings(400), 2e-5),
        ("primal-dp-scd", Settings(400, 2), 2e-4),
        ("sgd", Settings(800, 5, learning_rate=0.01), 0.08),
        ("dp-sgd", Settings(800, 5, learning_rate=0.01), 0.08),
    ],
)
def test_without_noise_the_optimum_of_the_objective_is_reached(loss, name, settings, near):
    case = Case(loss, lam=0.3)
    best = case.optimum()
    np.testing.assert_allclose(case.run(name, settings), best, atol=near * np.abs(best).max())


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"lot_size": 0}, {"sigma": -1.0}, {"sigma": math.inf}, {"clip": 0.0},
     {"clip": math.nan}, {"lots": "consecutive"}, {"sigma": 1.0, "clip": math.inf}],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))}="):
        Settings(**{"epochs": 1, **wrong})


def test_problems_that_the_paper_does_not_have_are_refused():
    for loss, settings, words in (
        ("hinge", Settings(1, 2), "smooth"),
        ("squared", Settings(1, 6), "at most 5"),
    ):
        with pytest.raises(ParameterError, match=words):
            Case(loss).run("primal-dp-scd", settings)
    case = Case("hinge")
    case.problem = replace(case.problem, outputs=2)
    for name in ("dp-scd", "seq-dp-scd", "primal-dp-scd"):
        with pytest.raises(ParameterError, match="outputs=2"):
            case.run(name, Settings(1))


def traced(case, name, settings):
    diagnostics = Diagnostics(case.problem, case.rows, case.records)
    shared = case.run(name, settings, observer=diagnostics)
    np.testing.assert_array_equal(shared, case.run(name, settings))  # looking changes nothing
    return shared[0] / case.problem.strength, diagnostics.points


def primal(case, w):
    u = case.X @ w
    losses = {
        "squared": 0.5 * (u - case.y) ** 2,
        "logistic": np.log1p(np.exp(-case.y * u)),
        "hinge": np.maximum(0.0, 1.0 - case.y * u),
    }[case.loss]
    return losses.mean() + 0.5 * case.lam * w @ w


@every_loss
@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_traced_each_epoch(loss, name):
    if (name, loss) == ("primal-dp-scd", "hinge"):
        pytest.skip("refused: the hinge is not smooth")
    case = Case(loss)
    least = primal(case, case.optimum()[0] / case.problem.strength) - 1e-12
    model, points = traced(case, name, Settings(3, 2, clip=0.2, sigma=0.5, learning_rate=0.5))
    assert [point.epoch for point in points] == [0, 1, 2, 3]
    assert points[-1].primal == pytest.approx(primal(case, model))
    if name in ("dp-scd", "seq-dp-scd", "scd"):
        # Weak duality, for the noisy duals too: they are projected first.
        assert all(-p.dual <= least + 1e-9 and p.gap >= p.primal - least - 1e-9 for p in points)
    else:
        assert math.isnan(points[-1].dual)


@every_loss
def test_scd_reaches_a_gap_of_1e_8(loss):
    points = traced(Case(loss), "scd", Settings(400))[1]
    assert points[-1].gap <= 1e-8 < 1e-5 < points[1].gap


@pytest.mark.parametrize(("lam", "inside"), [(1e-2, True), (1e-4, False)])
def test_the_papers_logistic_box_keeps_scd_from_the_optimum_when_duals_are_small(lam, inside):
    case = Case("logistic", lam=lam)
    case.y[:] = np.where(case.X[:, 0] > 0.0, 1.0, -1.0)  # separable: optimal duals go to 0
    gap = traced(case, "scd", Settings(600))[1][-1].gap
    case.problem = replace(case.problem, loss=Logistic())
    assert traced(case, "scd", Settings(600))[1][-1].gap < 1e-12
    assert gap < 1e-3
    assert (gap < 1e-12) == inside


def test_every_method_carries_a_statement_and_none_a_guarantee():
    assert set(METHODS) == set(STATEMENTS)
    for name, method in METHODS.items():
        assert method.statement.method == method.name == name
        assert not method.statement.private
        assert bool(method.statement.published) == method.noisy == bool(method.statement.flaws)
    assert {Flaw.VISIBLE_LOTS, Flaw.LEMMA_1, Flaw.SHUFFLED_LOTS, Flaw.PREPARATION,
            Flaw.LARGE_DELTA} <= set(STATEMENTS["dp-scd"].flaws)  # fmt: skip


def test_rates_steps_and_costs_are_those_of_the_paper():
    case, settings = Case("squared"), Settings(10, 3, clip=0.1)
    assert METHODS["dp-scd"].rate_and_steps(case.problem, settings) == (3 / N, 10 * N // 3)
    assert METHODS["primal-dp-scd"].rate_and_steps(case.problem, settings) == (1.0, 20)
    assert METHODS["scd"].calibrated(case.problem, settings, 1.0, 1e-3).sigma == 0.0
    assert math.isinf(METHODS["dp-scd"].claimed_epsilon(case.problem, settings, 1e-3))
    costs = {"dp-scd": 156, "seq-dp-scd": 156, "dp-sgd": 2028, "sgd": 156, "scd": 1}
    assert {name: METHODS[name].tuning_cost for name in costs} == costs
    with pytest.raises(ParameterError, match="momentum"):
        tuning_cost("momentum")
