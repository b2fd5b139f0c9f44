"""The Poisson loss: Fenchel and Young, derivatives, and the step that solves its equation."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from dpscd.losses import (
    Poisson,
    conjugate,
    curvature,
    dual_step,
    project,
    rescaled,
    slope,
    value,
)

LOSS = Poisson(0.7)
predictions = st.floats(-20.0, 8.0)
counts = st.floats(0.0, 50.0)
below = st.floats(0.0, 100.0)


@given(u=predictions, y=counts, m=below)
def test_fenchel_young_holds_for_every_feasible_dual(u, y, m):
    a = y - m
    gap = value(LOSS, u, y) + conjugate(LOSS, a, y) + a * u
    assert gap >= -1e-9 * (1.0 + m + y + math.exp(u))


@given(u=predictions, y=counts)
@example(u=0.0, y=0.0)
def test_fenchel_young_is_tight_at_minus_the_slope(u, y):
    a = -slope(LOSS, u, y)
    gap = value(LOSS, u, y) + conjugate(LOSS, a, y) + a * u
    assert abs(gap) <= 1e-9 * (1.0 + y) * (1.0 + abs(u) + math.exp(u))


@given(u=st.floats(-5.0, 5.0), y=counts)
def test_slope_and_curvature_are_derivatives(u, y):
    h, size = 1e-5, 1.0 + y + math.exp(u)
    first = (value(LOSS, u + h, y) - value(LOSS, u - h, y)) / (2.0 * h)
    second = (slope(LOSS, u + h, y) - slope(LOSS, u - h, y)) / (2.0 * h)
    assert first == pytest.approx(slope(LOSS, u, y), abs=1e-7 * size)
    assert second == pytest.approx(curvature(LOSS, u, y), abs=1e-7 * size)


def test_the_loss_is_zero_where_the_mean_is_the_label():
    assert value(LOSS, math.log(3.0 / 0.7), 3.0) == pytest.approx(0.0, abs=1e-12)
    assert value(LOSS, 0.0, 0.0) == 0.7


@given(a=st.floats(-1e6, 1e6), y=counts)
def test_project_lands_below_the_label(a, y):
    once = project(LOSS, a, y)
    assert once == project(LOSS, once, y) == min(a, y)


@given(u=predictions, y=counts, m=below, k=st.floats(1e-8, 1e8))
@example(u=0.0, y=0.0, m=0.0, k=1.0)
@example(u=-20.0, y=50.0, m=0.0, k=1e8)
@example(u=8.0, y=0.0, m=0.0, k=1e-8)
def test_the_step_solves_its_equation(u, y, m, k):
    mean = y - (y - m) - dual_step(LOSS, u, y - m, y, k)
    away = y - (y - m)

    def left(x):
        return x + k * 0.7 * math.exp(x) - u - k * away

    low, high = -800.0, min(u + k * away + 1.0, 600.0)
    root = brentq(left, low, high, xtol=1e-13, maxiter=2000)
    assert mean == pytest.approx(0.7 * math.exp(root), rel=1e-8, abs=1e-8 * (1.0 + away + y))


@pytest.mark.full
def test_the_step_is_accurate_to_the_last_bits():
    """From a dual of 0 and with a label of 0 the mean is minus the step."""
    generator = np.random.default_rng(0)
    for k in (*10.0 ** generator.uniform(-12.0, 12.0, 200), 0.0, 1e-280, 1e280):
        for u in (*generator.uniform(-40.0, 40.0, 5), 650.0, -650.0, 1e12):
            if k == 0.0 and u > 650.0:
                continue  # larger than any double
            with mpmath.workdps(50):
                expected = _mean(mpmath.mpf(float(u)), mpmath.mpf(float(k)))
                error = abs(-dual_step(Poisson(), u, 0.0, 0.0, k) / expected - 1)
            assert error < 2.0**-50, (u, k)


def _mean(u, k):
    """Return the m with log(m) + k m = u."""
    if k == 0:
        return mpmath.exp(u)
    x = u + mpmath.log(k)
    s = mpmath.log(x) if x > 1 else x
    for _ in range(60):
        t = mpmath.exp(s)
        s -= (t + s - x) / (1 + t)
    return mpmath.exp(s) / k


def test_an_infeasible_dual_moves_to_where_its_projection_would():
    there = 2.0 + dual_step(LOSS, 1.0, 2.0, 2.0, 3.0)
    assert 5.0 + dual_step(LOSS, 1.0, 5.0, 2.0, 3.0) == pytest.approx(there, abs=1e-14)


@given(u=predictions, y=counts, scale=st.floats(0.1, 10.0))
def test_a_rescaled_loss_is_the_loss_in_another_unit(u, y, scale):
    inner = rescaled(LOSS, scale)
    expected = value(LOSS, u, y)
    assert inner.unit * value(inner, u, y / scale) == pytest.approx(
        expected, rel=1e-9, abs=1e-9 * (1.0 + y) * (1.0 + abs(u))
    )
