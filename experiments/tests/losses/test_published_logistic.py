import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from dpscd.losses import (
    Hinge,
    Logistic,
    Squared,
    conjugate,
    curvature,
    dual_step,
    project,
    slope,
    value,
)
from dpscd_experiments.losses.published_logistic import PublishedLogistic

LOSS = PublishedLogistic()
signs = st.sampled_from([-1.0, 1.0])
predictions = st.floats(-20.0, 20.0)


@njit(error_model="numpy")
def compiled(loss, u, a, y, k):
    return dual_step(loss, u, a, y, k), project(loss, a, y), curvature(loss, u, y)


@given(u=predictions, y=signs, a=st.floats(-3.0, 3.0), k=st.floats(1e-6, 1e6))
def test_one_newton_step_from_inside_the_box_to_inside_the_box(u, y, a, k):
    start = project(LOSS, a, y)
    b = y * start
    assert 1e-4 <= b <= 1.0 - 1e-4
    end = b - (math.log(b / (1 - b)) + y * u) / (1 / (b * (1 - b)) + k)
    expected = min(max(end, 1e-4), 1.0 - 1e-4) - b
    z = dual_step(LOSS, u, a, y, k)
    assert y * z == pytest.approx(expected, abs=1e-12)
    # The step does not depend on how far outside the stored dual is.
    assert z == dual_step(LOSS, u, start, y, k)
    np.testing.assert_allclose(compiled(LOSS, u, a, y, k)[0], z, atol=1e-12)


@given(u=predictions, y=signs)
def test_all_but_the_step_is_the_logistic_loss(u, y):
    for call in (value, slope, curvature):
        assert call(LOSS, u, y) == call(Logistic(), u, y)
    assert conjugate(LOSS, 0.3 * y, y) == conjugate(Logistic(), 0.3 * y, y)


def test_a_fixed_point_is_the_minimiser():
    u, y, k, a = 0.7, -1.0, 3.0, -0.5
    for _ in range(60):  # the prediction follows the dual, as the shared vector makes it
        a += dual_step(LOSS, u + k * (a + 0.5), a, y, k)
    b = y * a
    assert math.log(b / (1.0 - b)) + y * (u + k * (a + 0.5)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), LOSS], ids=lambda x: type(x).__name__)
@given(u=predictions, y=signs)
def test_curvature_is_the_slope_of_the_slope(loss, u, y):
    h = 1e-5
    difference = (slope(loss, u + h, y) - slope(loss, u - h, y)) / (2.0 * h)
    assert curvature(loss, u, y) == pytest.approx(difference, abs=1e-8)


def test_the_hinge_has_no_curvature():
    assert curvature(Hinge(), 0.3, 1.0) == curvature(Hinge(), 2.0, 1.0) == 0.0
