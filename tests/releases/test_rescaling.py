"""The line from predictions to labels: what is found, what noise adds, where it is refused."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpscd.losses import Squared
from dpscd.planning.rule import plan_fit
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import PrivacyTarget
from dpscd.problem import Model, Problem
from dpscd.records.labels import NumberLabels
from dpscd.releases.base import State
from dpscd.releases.rescaling import Rescaling, RescalingQuery
from dpscd.standard import standard_of
from plans import after, held, make_plan, noise_of, task_facts

N, D = 20_000, 2
BOUNDS = (-20.0, 20.0)
PLAN = make_plan(n=N, d=D, clip=0.1, facts={"labels": NumberLabels(*BOUNDS)})


def data(slope, shift, seed=0):
    """Return rows, and labels that are a line of ``4 x_0`` with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(N, D))
    return X, slope * 4.0 * X[:, 0] + shift + rng.normal(size=N)


def state_of(X, y, intercept=0.0, constant=0.25):
    rows = standard_of(X.mean(axis=0), (X**2).mean(axis=0), 1e-6, centred=True, turned=False)
    declared = Problem(Squared(), 0.01, N, D, constant=constant)
    spread = float(np.mean(np.abs(y - y.mean())))
    trained = dataclasses.replace(declared, standard=rows, label_scale=spread)
    coef, noise = np.array([[4.0, 0.0]]), np.array([[0.03, 0.04]])
    start = np.array([intercept])
    model = Model(coef, start, noise, np.array([0.02]), runs=(trained,))
    return State(PLAN, declared, trained, model=model)


def rescaled(X, y, noise=0.5, seed=b"s", **more):
    release = Rescaling(PLAN.facts, noise)
    return after(release, state_of(X, y, **more), held(X, y), SeededSource(seed)).model


@pytest.mark.parametrize(("slope", "shift"), [(1.5, 0.2), (0.6, -0.1), (1.0, 0.0)])
def test_predictions_are_stretched_and_shifted_to_fit(slope, shift):
    X, y = data(slope, shift)
    found = rescaled(X, y)
    assert found.coef[0] / 4.0 == pytest.approx([slope, 0.0], abs=0.05)
    assert found.intercept[0] == pytest.approx(shift, abs=0.05)
    before = state_of(X, y).model
    assert found.coef[0, 0] == 4.0 * found.slope
    np.testing.assert_array_equal(found.coef_noise, found.slope * before.coef_noise)
    np.testing.assert_array_equal(found.intercept_noise, found.slope * before.intercept_noise)


def test_where_noise_hides_the_line_the_model_stays():
    X, y = data(1.1, 0.1)
    found = [rescaled(X, y, noise=0.05 * N, seed=b"%d" % k) for k in range(60)]
    moved = [x for x in found if x.slope != 1.0 or x.intercept[0]]
    assert 0 < len(moved) < 20  # about one in ten
    assert min(x.slope for x in found) > 0.5


def test_slopes_and_shifts_have_ends():
    X, y = data(30.0, 0.0)
    assert rescaled(X, y, noise=1e-4).slope == 4.0
    X, y = data(-9.0, 15.0)
    found = rescaled(X, y, noise=1e-4)
    assert found.slope == 0.25
    assert found.intercept[0] == state_of(X, y).model.runs[0].label_scale


def test_the_centre_of_the_labels_stays_where_a_slope_changes():
    X, y = data(1.5, 0.0)
    declared = state_of(X, y)
    state = dataclasses.replace(
        declared,
        declared=dataclasses.replace(declared.declared, label_centre=3.0, label_scale=20.0),
        centre=0.1,
        model=dataclasses.replace(declared.model, intercept=np.array([5.0])),
    )
    store, release = held(X, y + 5.0), Rescaling(PLAN.facts, 0.5)
    found = after(release, state, store, SeededSource(b"s")).model
    assert found.coef[0, 0] == pytest.approx(6.0, abs=0.2)
    assert found.intercept[0] == pytest.approx(5.0, abs=0.05)


def test_without_an_intercept_there_is_no_shift_and_the_mean_error_bends_nothing():
    X, y = data(1.0, 0.0)
    X = X + np.array([0.25, 0.0])  # predictions of mean 1, and labels that are 0.5 less
    y = y + 0.5
    found = rescaled(X, y, constant=0.0)
    assert found.intercept[0] == 0.0
    line = 4.0 * X[:, 0]
    best = float(line @ y / (line @ line))  # of a line through 0
    assert found.slope == pytest.approx(best, abs=0.05)


def test_rows_that_predictions_cut_are_cut_here_too():
    X, y = data(1.0, 0.0)
    long = 6.0 * X
    state = state_of(X, y)
    store = held(long, y)
    totals = []
    for longest in (math.inf, 1.0):
        model = dataclasses.replace(state.model, longest_row=longest)
        query = RescalingQuery(N, state.declared, model, BOUNDS, 0.0, 3.0, 5.0)
        totals.append(query.total(store) * query.step / N)
    lengths = np.maximum(1.0, np.linalg.norm(long, axis=1))
    for total, line in zip(totals, (long[:, 0], long[:, 0] / lengths), strict=True):
        error, guess = (y - 4.0 * line) / 5.0, np.clip(4.0 * line / 3.0, -1.0, 1.0)
        each = np.stack([error, error * guess, guess / 2.0, guess**2 / 2.0])
        each /= np.maximum(1.0, np.linalg.norm(each, axis=0))
        np.testing.assert_allclose(total, each.mean(axis=1), atol=1e-5)


# --- plans --------------------------------------------------------------------------


TABLE = SimpleNamespace(target=SimpleNamespace(classes=()))  # no row is too long


def planned(**changes):
    facts = {"task": "regression", "n": 5000, "d": 5, "constant": 0.25, "standardised": True}
    facts |= {"weighted": False, "schema": TABLE}
    return plan_fit(task_facts(**{**facts, **changes}), PrivacyTarget(1.0, 1e-5))


def released_after(plan):
    return [x.what for x in plan.releases[plan.releases.index(plan.training) + 1 :]]


@pytest.mark.full
def test_it_is_planned_for_means_of_labels_and_paid_for():
    one = planned()
    assert released_after(one) == ["rescaling"]
    assert one.claim().epsilon <= 1.0
    bare = planned(weighted=True)
    assert released_after(bare) == []
    assert one.training.noise_multiplier > bare.training.noise_multiplier
    assert released_after(planned(schema=None)) == ["long rows", "rescaling"]
    assert noise_of(planned(n=200_000), "rescaling") > 30.0  # no more than is of use
    for without in ({"standardised": False}, {"task": "counts"}, {"n": 60}):
        assert not planned(**without).listed("rescaling")
