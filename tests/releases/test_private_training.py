"""A whole training: what is drawn is what the plan lists, and a pilot is used when it helps."""

import dataclasses
import math

import numpy as np
import pytest

from dpscd.errors import StreamError
from dpscd.kernels.passes import measure_rows, predictions
from dpscd.kernels.rows import CsrRows
from dpscd.model.fit import run
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.records.labels import NumberLabels
from dpscd.releases import moments as moments_module
from drawn import RecordingSource
from plans import held, make_plan

N, D = 400, 3


def planned(*, pilot=True, intercept=True, **changes):
    """Return a plan with hardly any noise: not private, but enough for few records."""
    values = {
        "n": N, "d": D, "intercept": intercept, "facts": {"labels": NumberLabels(5.0, 15.0)},
        "lam": 0.03, "steps": 200, "clip": 0.05, "separability": 40.0, "averaging": 0.4,
        "noise_multiplier": 0.05,
    }  # fmt: skip
    first = {"moments_noise": 0.5, "label_noise": 0.5}
    if pilot:
        first["pilot"] = {"lam": 0.02, "steps": 60, "clip": 0.15}
    return make_plan(**{**values, **first, **changes})


def data(explained=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = 0.2 + 0.2 * rng.normal(size=(N, D))
    y = 9.0 + explained * 3.0 * (X[:, 0] - X[:, 1]) + 0.1 * rng.normal(size=N)
    return X, y


def train(plan, X, y, threads=1, **options):
    store = held(X, y, threads=threads)
    return run(plan, store, lambda part: SeededSource(b"seed", part), **options)[0].model


def drawn_by(plan):
    """Return part, purpose, first and steps of all that a training draws besides lots."""
    sources = {}

    def source_of(part):
        return sources.setdefault(part, RecordingSource(b"seed", part))

    run(plan, held(*data()), source_of)
    return [
        (part, *call[:3])
        for part, source in sources.items()
        for call in source.calls
        if call[0] not in (Purpose.LOTS, Purpose.LOTS_OVERFLOW)
    ]


def error(model, X, y):
    return float(np.mean((X @ model.coef[0] + model.intercept[0] - y) ** 2))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("pilot", [False, True])
def test_what_is_drawn_is_what_the_plan_lists(pilot, intercept):
    plan = planned(pilot=pilot, intercept=intercept)
    purposes = {
        "moments": Purpose.MOMENTS,
        "label mean": Purpose.LABEL_MEAN,
        "label spread": Purpose.LABEL_SPREAD,
        "shared vector": Purpose.NOISE,
    }
    stated = sorted((purposes[x.what], x.event.steps) for x in plan.costs)
    drawn = {}
    for part, purpose, first, steps in drawn_by(plan):
        # Chunks of one training follow one another; everything else is drawn at once.
        chunked = purpose is Purpose.NOISE
        key = (part, purpose, 0 if chunked else first)
        assert not chunked or first == drawn.get(key, 0)
        drawn[key] = drawn.get(key, 0) + steps
    assert sorted((purpose, steps) for (_, purpose, _), steps in drawn.items()) == stated


def test_the_pilot_has_a_source_of_its_own_and_nothing_is_drawn_twice():
    log = drawn_by(planned())
    assert {part for part, *_ in log} == {"", "pilot"}
    assert {purpose for part, purpose, *_ in log if part == "pilot"} == {Purpose.NOISE}
    assert len(set(log)) == len(log)


def test_a_pilot_that_explains_much_is_built_upon(monkeypatch):
    plan = planned()
    X, y = data(explained=1.0)
    with_pilot = error(train(plan, X, y), X, y)
    assert with_pilot < 0.05 * np.var(y)
    monkeypatch.setattr(moments_module, "_MUCH", 0.0)
    dropped = error(train(plan, X, y), X, y)
    assert with_pilot < dropped


def test_a_pilot_that_explains_nothing_is_dropped(monkeypatch):
    plan = planned()
    X, y = data(explained=0.0)
    found = train(plan, X, y)
    monkeypatch.setattr(moments_module, "_MUCH", 0.0)
    never = train(plan, X, y)
    np.testing.assert_array_equal(found.coef, never.coef)
    np.testing.assert_array_equal(found.intercept, never.intercept)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_change_the_model_and_progress_counts_all_steps(threads):
    plan, done = planned(), []
    X, y = data()
    expected = train(plan, X, y)
    found = train(plan, X, y, threads=threads, progress=done.append)
    np.testing.assert_array_equal(found.coef, expected.coef)
    assert sum(done) == sum(training.steps for training in plan.trainings)


def test_nothing_is_standardised_that_the_plan_does_not_release():
    log = drawn_by(planned(pilot=False, moments_noise=0.0, label_noise=0.0))
    assert {purpose for _, purpose, *_ in log} == {Purpose.NOISE}


def test_a_label_that_cannot_be_used_does_not_spoil_the_others():
    plan = planned()
    X, y = data()
    y[0], X[1, 0] = math.nan, math.nan
    model = train(plan, X, y)
    assert error(model, X[2:], y[2:]) < 0.05 * np.var(y[2:])


def test_a_released_spread_is_what_to_expect_of_a_positive_number():
    spread = planned().listed("label spread")
    spread = dataclasses.replace(spread, noise_multiplier=0.05 * N)
    error = 0.1
    grid = np.linspace(0.0, 3.0, 300_001)
    for released in (-0.3, 0.0, 0.1, 0.25):
        weights = np.exp(-0.5 * ((grid - released) / error) ** 2)
        mean = (grid * weights).sum() / weights.sum()
        assert spread.seen(released) == pytest.approx(mean, rel=1e-3)
    assert spread.seen(0.9) == pytest.approx(0.9)
    assert spread.seen(7.0) == 1.0
    assert 1e-3 <= spread.seen(-1e9) < 0.1 * error
    exact = dataclasses.replace(spread, noise_multiplier=1e-9 * N)
    assert exact.seen(0.5) == pytest.approx(0.5, rel=1e-15)
    assert exact.seen(-1.0) == 1e-3


@pytest.mark.parametrize("what", ["moments", "label mean", "label spread", "shared vector"])
def test_a_plan_that_would_use_a_stream_twice_is_refused(what):
    plan = planned(pilot=False)
    twice = [one for one in plan.releases for _ in range(1 + (one.what == what))]
    with pytest.raises(StreamError):
        train(dataclasses.replace(plan, releases=tuple(twice)), *data())


@pytest.mark.full
def test_predictions_leave_records_alone_that_cannot_be_used():
    values, indices = np.array([0.5, 0.1, 0.1]), np.array([0, 2**31 - 1, 1], dtype=np.int32)
    rows = CsrRows(values, indices, np.array([0, 1, 3]), 2, np.empty(2), np.empty(2), 0.0)
    measure_rows(rows, 1.0, 1.0)
    out = np.zeros(2)
    predictions(rows, np.array([3.0, 4.0]), 2.0, out)
    assert out[0] == 0.75
    assert math.isnan(out[1])
