import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import transcription
from cases import Case, D, N

from dpscd.errors import ParameterError
from dpscd.kernels.sdca import sweep
from dpscd.losses import Hinge, Logistic, Squared
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.solvers.sdca import sdca
from dpscd_experiments.kernels.published import PublishedNumbers, advance_published
from dpscd_experiments.losses.published_logistic import PublishedLogistic
from dpscd_experiments.paper import METHODS, Settings
from dpscd_experiments.paper.algorithm1 import dp_scd
from dpscd_experiments.paper.algorithm2 import primal_dp_scd
from dpscd_experiments.paper.algorithm3 import seq_dp_scd
from dpscd_experiments.paper.baselines import dp_sgd, scd, sgd
from dpscd_experiments.paper.draws import chunks

LOSSES = ["squared", "logistic", "hinge"]
every_loss = pytest.mark.parametrize("loss", LOSSES)
both_lots = pytest.mark.parametrize("lots", ["shuffled", "poisson"])


def replayed(settings, units, size, *, own=True, seed=b"run"):
    """Return lots, own normals and shared normals of every step, as a run draws them."""
    lots, mine, shared = [], [], []
    for chunk in chunks(settings, SeededSource(seed), units, size, own=own):
        ids, starts = chunk.lots
        for t in range(len(starts) - 1):
            lots.append(ids[starts[t] : starts[t + 1]].tolist())
            mine.append(chunk.own[starts[t] : starts[t + 1]].copy())
        shared.extend(chunk.shared.copy())
    return lots, mine, shared


@pytest.mark.full
@every_loss
@both_lots
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("method", "plain"),
    [(dp_scd, transcription.algorithm1), (seq_dp_scd, transcription.algorithm3)],
)
def test_dual_algorithms_follow_the_listing(loss, lots, sparse, method, plain):
    case = Case(loss, sparse=sparse)
    settings = Settings(epochs=3, lot_size=7, clip=0.2, sigma=0.8, lots=lots)
    randomness = replayed(settings, N, D)
    alpha, path = plain(loss, case.X, case.y, case.lam, 7, 0.2, 0.8, *randomness)
    looks = []
    shared = case.run(
        method,
        settings,
        observer=lambda look: looks.append((look.shared[0].copy(), look.dual[:, 0].copy())),
    )
    np.testing.assert_allclose(shared[0], path[-1], rtol=1e-9)
    np.testing.assert_allclose(looks[-1][1], alpha, rtol=1e-9)
    for epoch, (seen, _) in enumerate(looks, start=1):
        np.testing.assert_allclose(seen, path[9 * epoch - 1], rtol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@both_lots
@pytest.mark.parametrize("sparse", [False, True])
def test_algorithm_2_follows_the_listing(loss, lots, sparse):
    case = Case(loss, sparse=sparse)
    settings = Settings(epochs=4, lot_size=2, clip=0.4, sigma=0.3, lots=lots)
    randomness = replayed(settings, D, N)
    path = transcription.algorithm2(loss, case.X, case.y, case.lam, 2, 0.4, 0.3, *randomness)
    shared = case.run(primal_dp_scd, settings)
    np.testing.assert_allclose(case.problem.model(shared).coef[0], path[-1], rtol=1e-8)


@every_loss
@both_lots
def test_dp_sgd_follows_its_definition(loss, lots):
    case = Case(loss)
    settings = Settings(3, 7, clip=0.6, sigma=0.5, lots=lots, learning_rate=0.7)
    lots_, _, shared_ = replayed(settings, N, D, own=False)
    path = transcription.dp_sgd(
        loss, case.X, case.y, case.lam, 7, 0.6, 0.5, 0.7, lots_, shared_
    )
    model = case.problem.model(case.run(dp_sgd, settings)).coef[0]
    np.testing.assert_allclose(model, path[-1], rtol=1e-5, atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize(
    "loss",
    [Squared(), Logistic(), PublishedLogistic(), Hinge()],
    ids=lambda x: type(x).__name__,
)
def test_one_record_no_noise_no_clip_is_sdca_step_by_step(loss):
    case = Case("squared" if isinstance(loss, Squared) else "hinge")
    strength = case.problem.strength
    numbers = PublishedNumbers(strength, 1.0, math.inf, 0.0)
    duals, shared = np.zeros(N), np.zeros(D)
    sdca_duals, sdca_shared = np.zeros((N, 1)), np.zeros((1, D))
    zero, nothing = np.zeros(1), np.zeros((1, D))
    for i in np.random.default_rng(1).integers(0, N, 300):
        one, ends = np.array([i]), np.array([0, 1])
        advance_published(
            loss, case.rows, case.records, numbers, False, one, ends, zero, nothing,
            duals, shared,
        )  # fmt: skip
        sweep(loss, case.rows, case.records, strength, one, sdca_duals, sdca_shared)
        np.testing.assert_array_equal(shared, sdca_shared[0])
    np.testing.assert_array_equal(duals, sdca_duals[:, 0])


@pytest.mark.full
@every_loss
@pytest.mark.parametrize("method", [dp_scd, seq_dp_scd])
def test_lots_of_one_with_infinite_epsilon_give_the_models_of_scd(loss, method):
    case = Case(loss)
    name = {dp_scd: "dp-scd", seq_dp_scd: "seq-dp-scd"}[method]
    settings = METHODS[name].calibrated(case.problem, Settings(epochs=6), math.inf, 1e-3)
    paths = {}
    for run in (method, scd):
        path = paths[run] = []
        case.run(
            run, settings, observer=lambda look, path=path: path.append(look.shared.copy())
        )
    np.testing.assert_array_equal(paths[method], paths[scd])


@every_loss
def test_scd_reaches_a_gap_of_1e_8(loss):
    case = Case(loss)
    gaps = []

    def observe(look):
        gaps.append(case.problem.gap(case.rows, case.records, look.dual, look.shared)[1])

    case.run(scd, Settings(epochs=400), observer=observe)
    assert len(gaps) == 400
    assert gaps[-1] <= 1e-8
    assert gaps[0] > 1e-5


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_algorithm_2_without_noise_reaches_the_optimum_of_the_same_objective(loss):
    case = Case(loss)
    best, _ = _optimum(case)
    shared = case.run(primal_dp_scd, Settings(epochs=400, lot_size=2))
    np.testing.assert_allclose(shared, best, atol=2e-4 * np.abs(best).max())


def _optimum(case):
    problem = case.problem
    if isinstance(problem.loss, PublishedLogistic):
        problem = replace(problem, loss=Logistic())
    return sdca(problem, case.rows, case.records, SeededSource(b"o"), tolerance=1e-10)


def test_algorithm_2_refuses_the_hinge_and_too_many_coordinates():
    with pytest.raises(ParameterError, match="smooth"):
        Case("hinge").run(primal_dp_scd, Settings(1, 2))
    with pytest.raises(ParameterError, match="at most 5"):
        Case("squared").run(primal_dp_scd, Settings(1, 6))


@pytest.mark.full
def test_a_constant_column_and_an_empty_feature_are_carried_along():
    case = Case("squared")
    case.X[:, 2] = 0.0
    problem = Problem(Squared(), 0.05, N, D, constant=0.5)
    best = None
    for method, settings in [(scd, Settings(300)), (primal_dp_scd, Settings(600, 2))]:
        for X in (case.X, scipy.sparse.csr_matrix(case.X)):
            rows = problem.rows(X)
            found = method(problem, rows, case.records, settings, SeededSource(b"c"))
            best = found if best is None else best
            np.testing.assert_allclose(found, best, atol=1e-6 * np.abs(best).max())
    assert best[0, 2] == 0.0
    assert best[0, D] != 0.0


# --- mistakes of the authors' code (theory.md, section 2) ----------------------------------


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan])
def test_a_clip_of_zero_is_refused(clip):
    with pytest.raises(ParameterError, match="clip="):
        Settings(epochs=1, lot_size=5, clip=clip, sigma=1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"lot_size": 0},
        {"sigma": -1.0},
        {"sigma": math.inf},
        {"lots": "consecutive"},
        {"sigma": 1.0, "clip": math.inf},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ParameterError):
        Settings(**{"epochs": 1, **wrong})


@pytest.mark.parametrize("name", ["dp-scd", "seq-dp-scd", "primal-dp-scd", "dp-sgd"])
def test_no_noise_is_the_limit_of_little_noise(name):
    case = Case("squared")
    settings = Settings(4, 2, clip=0.3, learning_rate=0.5)
    silent = case.run(METHODS[name].run, settings)
    almost = case.run(METHODS[name].run, replace(settings, sigma=1e-9))
    loud = case.run(METHODS[name].run, replace(settings, sigma=1e-2))
    np.testing.assert_allclose(almost, silent, atol=1e-5)
    assert np.abs(loud - silent).max() > 1e-4


def test_nobody_is_twice_in_a_lot_and_everybody_once_an_epoch():
    settings = Settings(epochs=4, lot_size=7)
    lots, _, _ = replayed(settings, N, D)
    assert len(lots) == 4 * 9
    assert all(len(set(lot)) == len(lot) for lot in lots)
    for epoch in range(4):
        drawn = [i for lot in lots[9 * epoch : 9 * (epoch + 1)] for i in lot]
        assert sorted(drawn) == list(range(N))


def test_poisson_lots_differ_in_size():
    lots, _, _ = replayed(Settings(epochs=30, lot_size=10, lots="poisson"), N, D)
    sizes = np.array([len(lot) for lot in lots])
    # Binomial(60, 1/6): variance 8.3; the sample variance of 180 is within 40 % of it.
    assert abs(sizes.mean() - 10.0) < 1.2
    assert 5.0 < sizes.var() < 12.0


def test_noise_has_the_published_size():
    case = Case("squared", lam=1e6)  # the model stays at zero: steps come from labels alone
    for name, expected in [("dp-scd", math.sqrt(2.0)), ("seq-dp-scd", 2.0 * math.sqrt(12.0))]:
        settings = Settings(1, 3, clip=0.1, sigma=0.7)
        with_noise = case.run(METHODS[name].run, settings)
        without = case.run(METHODS[name].run, replace(settings, sigma=0.0))
        drawn = np.sum(replayed(settings, N, D)[2], axis=0)
        # Relative to the strength the noise is nothing, so that steps hardly change.
        np.testing.assert_allclose(
            (with_noise - without)[0], expected * 0.7 * 0.1 * drawn, rtol=1e-3
        )


def test_seeds_differ_and_repeat():
    case = Case("hinge")
    settings = Settings(2, 10, clip=0.1, sigma=1.0)
    first = case.run(dp_scd, settings, b"1")
    np.testing.assert_array_equal(first, case.run(dp_scd, settings, b"1"))
    assert (first != case.run(dp_scd, settings, b"2")).all()


@pytest.mark.compiled
@pytest.mark.parametrize("lot_size", [1, 5, N])
def test_sgd_minimises_the_objective_with_lam_whatever_the_lot(lot_size):
    case = Case("squared", lam=0.3)
    best, _ = _optimum(case)
    settings = Settings(4000 // lot_size, lot_size, learning_rate=0.002 * lot_size)
    for method in (sgd, dp_sgd):
        found = case.run(method, settings)
        np.testing.assert_allclose(found, best, atol=0.08 * np.abs(best).max())


def test_one_output_at_a_time():
    case = Case("hinge")
    problem = replace(case.problem, outputs=2)
    for method in (dp_scd, seq_dp_scd, primal_dp_scd):
        with pytest.raises(ParameterError, match="outputs=2"):
            method(problem, case.rows, case.records, Settings(1), SeededSource(b"x"))


@pytest.mark.full
@pytest.mark.compiled
def test_the_estimators_do_not_reach_the_paper():
    code = (
        "import sys, dpscd\n"
        "for name in dpscd.__all__: getattr(dpscd, name)\n"
        "assert not [m for m in sys.modules if m.startswith('dpscd_experiments')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
