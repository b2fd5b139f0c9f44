"""The multinomial loss: values, conjugates, and what a step promises."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from dpscd.kernels._jit import jit
from dpscd.losses import (
    Hinge,
    Logistic,
    Softmax,
    dual_step,
    fill_steps,
    is_joint,
    joint_conjugate,
    joint_value,
    record_steps,
)

LOSS = Softmax()


@jit
def compiled_steps(loss, y, weight, k, duals, steps):
    record_steps(loss, y, weight, k, duals, steps)


@jit
def compiled_block(loss, count, y, weight, k, duals, steps, room):
    fill_steps(loss, count, y, weight, k, duals, steps, room)


@jit
def compiled_values(loss, margins, duals, y):
    return joint_value(loss, margins, y), joint_conjugate(loss, duals, y)


def steps_of(margins, duals, y, k, weight=1.0):
    steps = np.array(margins, dtype=float)
    compiled_steps(LOSS, float(y), weight, k, np.asarray(duals, dtype=float), steps)
    plain = np.array(margins, dtype=float)
    record_steps(LOSS, float(y), weight, k, np.asarray(duals, dtype=float), plain)
    np.testing.assert_allclose(steps, plain, rtol=1e-12, atol=1e-15)
    return steps


def cases(count=400):
    """Yield margins, the p of a feasible dual, a class and a curvature."""
    rng = np.random.default_rng(17)
    for _ in range(count):
        classes = int(rng.integers(2, 12))
        margins = rng.normal(size=classes) * 10.0 ** rng.uniform(-1, 1.5)
        p = rng.dirichlet(np.full(classes, 10.0 ** rng.uniform(-1.5, 1.0)))
        y = int(rng.integers(classes))
        if rng.random() < 0.2:
            p = np.eye(classes)[y]  # where duals start
        yield margins, p, y, 10.0 ** rng.uniform(-2, 4)


def dual_objective(margins, p, y, k, moved):
    """Return minus the local dual objective once p has moved."""
    duals = np.eye(len(p))[y] - p
    after = np.eye(len(p))[y] - (p + moved)
    conjugate = joint_conjugate(LOSS, after, float(y))
    z = after - duals
    return conjugate + margins @ z + 0.5 * k * z @ z


def test_only_softmax_is_joint():
    assert is_joint(LOSS)
    assert is_joint(Softmax)
    assert not is_joint(Logistic())
    assert not is_joint(Hinge)


def test_values_and_conjugates():
    for margins, p, y, _ in cases():
        duals = np.eye(len(p))[y] - p
        value, conjugate = compiled_values(LOSS, margins, duals, float(y))
        assert value == pytest.approx(logsumexp(margins) - margins[y], rel=1e-12, abs=1e-12)
        assert joint_value(LOSS, margins, float(y)) == pytest.approx(value, rel=1e-14)
        assert conjugate == pytest.approx(joint_conjugate(LOSS, duals, float(y)), rel=1e-12)
        # Fenchel and Young: the gap is a divergence, zero where p fits the margins.
        assert value + conjugate + duals @ margins >= -1e-9
        fits = np.eye(len(p))[y] - softmax(margins)
        gap = value + joint_conjugate(LOSS, fits, float(y)) + fits @ margins
        assert gap == pytest.approx(0.0, abs=1e-9 * max(1.0, np.abs(margins).max()))


def test_a_step_stays_in_the_simplex_and_ascends_by_its_part_of_the_gap():
    for margins, p, y, k in cases():
        duals = np.eye(len(p))[y] - p
        steps = steps_of(margins, duals, y, k)
        whole = p - softmax(margins)
        if np.abs(whole).max() < 1e-6:
            continue  # nothing but rounding is left of it
        part = float(steps @ whole / (whole @ whole))
        np.testing.assert_allclose(steps, part * whole, atol=1e-12)
        assert 0.0 < part <= 1.0
        assert part >= (1.0 - 1e-9) / (1.0 + 0.5 * k)  # of 1/2-smoothness alone
        after = p - steps
        assert after.min() >= -1e-15
        assert after.sum() == pytest.approx(1.0)
        before = dual_objective(margins, p, y, k, np.zeros_like(p))
        gap = joint_value(LOSS, margins, float(y)) + joint_conjugate(LOSS, duals, float(y))
        gap += duals @ margins
        ascent = before - dual_objective(margins, p, y, k, -steps)
        assert ascent >= part * gap - 1e-9 * max(1.0, abs(gap))


def test_nothing_moves_where_the_dual_fits():
    margins = np.array([0.3, -1.0, 2.0])
    duals = np.eye(3)[1] - softmax(margins)
    np.testing.assert_allclose(steps_of(margins, duals, 1, 5.0), 0.0, atol=1e-15)
    # A class that is certain, to the last bit.
    np.testing.assert_array_equal(steps_of([800.0, -800.0], [0.0, 0.0], 0, 1.0), 0.0)


def test_a_weight_counts_as_so_many_records():
    margins, y = np.array([0.5, -0.2, 0.1]), 2
    duals = np.eye(3)[y] - np.array([0.2, 0.5, 0.3])
    one = steps_of(margins, duals, y, 4.0)
    np.testing.assert_allclose(steps_of(margins, 3.0 * duals, y, 4.0, 3.0), 3.0 * one)


def test_two_classes_are_the_logistic_loss_of_the_difference():
    margins, duals = np.array([0.4, -0.9]), np.zeros(2)
    k, y = 1e-9, 1
    steps = steps_of(margins, duals, y, k)
    assert steps[1] == pytest.approx(-steps[0])
    single = dual_step(Logistic(), margins[1] - margins[0], 0.0, 1.0, k)
    assert steps[1] == pytest.approx(single, rel=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 9, 31])
def test_a_record_has_its_steps_whoever_stands_beside_it(count):
    rng = np.random.default_rng(count)
    classes, room = 11, count + 3
    margins, duals = rng.normal(size=(2, classes, room))
    y = rng.integers(0, classes, room).astype(float)
    weight, k = rng.uniform(0.5, 2.0, (2, room))
    steps = margins.copy()
    compiled_block(LOSS, count, y, weight, k, duals, steps, np.empty((3, count)))
    np.testing.assert_array_equal(steps[:, count:], margins[:, count:])
    for b in range(count):
        alone = margins[:, b].copy()
        compiled_steps(LOSS, y[b], weight[b], k[b], duals[:, b].copy(), alone)
        np.testing.assert_array_equal(steps[:, b], alone)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_margins_that_are_no_numbers_give_no_large_steps(bad):
    steps = np.array([bad, 0.0, 1.0])
    with np.errstate(all="ignore"):
        compiled_steps(LOSS, 0.0, 1.0, 2.0, np.zeros(3), steps)
    assert not np.any(np.abs(steps) > 1.0 + 1e-12)
