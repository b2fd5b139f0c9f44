import json
import math
from dataclasses import replace

import numpy as np
import pytest
from cases import Case, D, N

from dpscd.errors import ParameterError
from dpscd.losses import Logistic
from dpscd.privacy.random import SeededSource
from dpscd.solvers.sdca import sdca
from dpscd_experiments.paper import METHODS, Diagnostics, Settings
from dpscd_experiments.paper.diagnostics import NOT_PRIVATE

EVERY = ["dp-scd", "seq-dp-scd", "primal-dp-scd", "scd", "sgd", "dp-sgd"]


def traced(case, name, settings, seed=b"t"):
    diagnostics = Diagnostics(case.problem, case.rows, case.records)
    shared = case.run(METHODS[name].run, settings, seed, observer=diagnostics)
    return shared, diagnostics.trace


def optimum(case):
    problem = case.problem
    if case.loss == "logistic":
        problem = replace(problem, loss=Logistic())
    shared, _ = sdca(problem, case.rows, case.records, SeededSource(b"o"), tolerance=1e-10)
    return primal(case, shared[0] / case.problem.strength)


def primal(case, w):
    u = case.X @ w
    losses = {
        "squared": 0.5 * (u - case.y) ** 2,
        "logistic": np.log1p(np.exp(-case.y * u)),
        "hinge": np.maximum(0.0, 1.0 - case.y * u),
    }[case.loss]
    return losses.mean() + 0.5 * case.lam * w @ w


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("name", EVERY)
def test_every_method_is_traced_each_epoch_and_stamped(loss, name):
    if name == "primal-dp-scd" and loss == "hinge":
        pytest.skip("refused: the hinge is not smooth")
    case = Case(loss)
    settings = Settings(3, 2, clip=0.2, sigma=0.5, learning_rate=0.5)
    shared, trace = traced(case, name, settings)
    assert [point.epoch for point in trace.points] == [0, 1, 2, 3]
    assert trace.stamp == trace.to_dict()["stamp"] == NOT_PRIVATE
    last = trace.points[-1]
    assert last.primal == pytest.approx(primal(case, shared[0] / case.problem.strength))
    if name in ("dp-scd", "seq-dp-scd", "scd"):
        # Weak duality, for the noisy duals too: they are projected first.
        assert all(-p.dual <= optimum(case) + 1e-12 for p in trace.points)
        assert all(p.gap >= p.primal - optimum(case) - 1e-12 for p in trace.points)
    else:
        assert math.isnan(last.dual)
    json.dumps(trace.to_dict())


def test_the_trace_does_not_change_the_run():
    case = Case("hinge")
    for name in EVERY:
        if name == "primal-dp-scd":
            continue
        settings = Settings(3, 7, clip=0.2, sigma=0.5)
        shared, _ = traced(case, name, settings)
        np.testing.assert_array_equal(shared, case.run(METHODS[name].run, settings, b"t"))


def test_the_stamp_cannot_be_left_out():
    trace = Diagnostics(*(lambda c: (c.problem, c.rows, c.records))(Case("squared"))).trace
    with pytest.raises(ValueError, match="init=False"):
        replace(trace, stamp="private")


@pytest.mark.parametrize("name", ["dp-scd", "seq-dp-scd", "primal-dp-scd"])
def test_drift_is_zero_without_noise_and_grows_with_it(name):
    case = Case("squared")
    _, silent = traced(case, name, Settings(4, 2, clip=0.2))
    _, noisy = traced(case, name, Settings(4, 2, clip=0.2, sigma=1.0))
    assert max(point.drift for point in silent.points) < 1e-12
    assert noisy.points[4].drift > noisy.points[1].drift > 0.1


def test_drift_has_the_length_that_the_noise_gives_it():
    # Per step: L duals of unit rows and D coordinates, each with variance 2 sigma^2 C^2.
    case = Case("squared")
    sigma, clip, lot, epochs = 0.5, 0.1, 6, 200
    _, trace = traced(case, "dp-scd", Settings(epochs, lot, clip=clip, sigma=sigma))
    square = np.mean([p.drift**2 / max(1, p.epoch) for p in trace.points[1:]])
    expected = 2.0 * (sigma * clip) ** 2 * (N / lot) * (lot + D)
    assert expected / 3.0 < square < expected * 3.0


def test_the_clipped_share_is_that_of_the_steps():
    case = Case("squared")
    _, all_of_them = traced(case, "dp-scd", Settings(1, 5, clip=1e-9))
    _, none = traced(case, "dp-scd", Settings(1, 5, clip=1e9))
    assert all_of_them.points[1].clipped == 1.0
    assert none.points[1].clipped == 0.0
    _, gradients = traced(case, "dp-sgd", Settings(1, 5, clip=1e-9))
    assert gradients.points[1].clipped == 1.0


@pytest.mark.parametrize(("lam", "inside"), [(1e-2, True), (1e-4, False)])
def test_the_papers_logistic_box_keeps_scd_from_the_optimum_when_duals_are_small(lam, inside):
    case = Case("logistic", lam=lam)
    case.y[:] = np.where(case.X[:, 0] > 0.0, 1.0, -1.0)  # separable: optimal duals go to 0
    _, trace = traced(case, "scd", Settings(600))
    case.problem = replace(case.problem, loss=Logistic())
    _, exact = traced(case, "scd", Settings(600))
    assert exact.points[-1].gap < 1e-12
    assert (trace.points[-1].gap < 1e-12) == inside
    assert trace.points[-1].gap < 1e-3


def test_one_output_only():
    case = Case("hinge")
    with pytest.raises(ParameterError, match="outputs=3"):
        Diagnostics(replace(case.problem, outputs=3), case.rows, case.records)
