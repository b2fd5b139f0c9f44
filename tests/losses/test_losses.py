import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import float64, njit, typeof
from scipy.optimize import minimize_scalar

from dpscd import losses
from dpscd.kernels.passes import fill_means, fill_probabilities
from dpscd.kernels.rows import DenseRows
from dpscd.losses import (
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Softmax,
    Squared,
    conjugate,
    curvature,
    dual_step,
    fill_steps,
    is_joint,
    project,
    rescaled,
    slope,
    value,
)
from dpscd.losses.logistic import plain_exp

CLASSIFIERS = [Logistic(), Hinge()]
ALL = [Squared(), Huber(), *CLASSIFIERS]

predictions = st.floats(-50.0, 50.0)
signs = st.sampled_from([-1.0, 1.0])
boxed = st.floats(0.0, 1.0)
curvatures = st.floats(1e-6, 1e6)


def name_of(loss):
    return type(loss).__name__


every_loss = pytest.mark.parametrize("loss", ALL, ids=name_of)
with_counts = pytest.mark.parametrize("loss", [*ALL, Poisson(0.7)], ids=name_of)
every_classifier = pytest.mark.parametrize("loss", CLASSIFIERS, ids=name_of)


def interpreted(loss, u, a, y, k):
    return (
        value(loss, u, y),
        slope(loss, u, y),
        curvature(loss, u, y),
        conjugate(loss, a, y),
        project(loss, a, y),
        dual_step(loss, u, a, y, k),
    )


compiled = njit(error_model="numpy")(interpreted)


def subproblem(loss, u, a, y, k):
    return lambda z: conjugate(loss, a + z, y) + u * z + 0.5 * k * z * z


def box(loss, y):
    """Return the ends of the feasible duals."""
    if isinstance(loss, Poisson):
        return -math.inf, y
    if isinstance(loss, Squared):
        return -math.inf, math.inf
    if isinstance(loss, Huber):
        return -loss.threshold, loss.threshold
    return min(0.0, y), max(0.0, y)


def feasible(loss, a, y):
    low, high = box(loss, y)
    return low <= a <= high


def at_a_kink(loss, u, y):
    hinge = isinstance(loss, Hinge) and abs(y * u - 1.0) < 1e-3
    return hinge or (isinstance(loss, Huber) and abs(abs(u - y) - loss.threshold) < 1e-3)


def test_every_loss_has_its_file():
    for loss in ALL:
        assert type(loss).__module__ == f"{losses.__name__}.{type(loss).__name__.lower()}"


@every_loss
@given(u=predictions, y=signs, b=boxed)
def test_fenchel_young_holds_for_every_feasible_dual(loss, u, y, b):
    a = y * b
    assert value(loss, u, y) + conjugate(loss, a, y) >= -a * u - 1e-12 * (1.0 + abs(u))


@every_loss
@given(u=predictions, y=signs)
@example(u=0.0, y=1.0)
@example(u=1.0, y=1.0)
@example(u=-50.0, y=-1.0)
def test_fenchel_young_is_tight_at_minus_the_slope(loss, u, y):
    a = -slope(loss, u, y)
    gap = value(loss, u, y) + conjugate(loss, a, y) + a * u
    assert abs(gap) <= 1e-11 * (1.0 + u * u)


@every_loss
@given(u=predictions, y=signs)
@pytest.mark.parametrize(
    ("function", "derivative", "size"), [(value, slope, 2.0), (slope, curvature, 1.0)]
)
def test_one_is_the_derivative_of_the_other(function, derivative, size, loss, u, y):
    if at_a_kink(loss, u, y):
        return
    h = 1e-5
    difference = (function(loss, u + h, y) - function(loss, u - h, y)) / (2.0 * h)
    within = 1e-8 * (1.0 + abs(u) ** size)
    assert difference == pytest.approx(derivative(loss, u, y), abs=within)


def test_the_hinge_has_a_subgradient_at_its_kink():
    assert -1.0 <= slope(Hinge(), 1.0, 1.0) <= 0.0


@pytest.mark.parametrize("u", [-800.0, 800.0, -1e300, 1e300])
def test_the_logistic_loss_does_not_overflow(u):
    loss = Logistic()
    assert value(loss, u, 1.0) == max(0.0, -u)
    assert slope(loss, u, 1.0) == pytest.approx(0.0 if u > 0 else -1.0, abs=1e-300)


@every_loss
@given(a=st.floats(-1e6, 1e6), y=signs)
@example(a=math.inf, y=1.0)
@example(a=-math.inf, y=1.0)
def test_project_is_idempotent_and_lands_in_the_box(loss, a, y):
    once = project(loss, a, y)
    assert project(loss, once, y) == once
    assert feasible(loss, once, y)


@every_loss
@given(b=boxed, y=signs)
def test_project_leaves_feasible_duals_alone(loss, b, y):
    assert project(loss, y * b, y) == y * b


@pytest.mark.parametrize("b", [0.0, 1.0])
def test_the_logistic_conjugate_vanishes_at_the_ends_of_the_box(b):
    assert conjugate(Logistic(), -b, -1.0) == 0.0


@every_loss
@given(u=predictions, y=signs, b=boxed, k=curvatures)
@example(u=0.0, y=1.0, b=0.0, k=1.0)
@example(u=50.0, y=1.0, b=1.0, k=1e-6)
@example(u=-50.0, y=1.0, b=1.0, k=1e6)
def test_dual_step_is_the_minimiser_that_scipy_finds(loss, u, y, b, k):
    a = y * b
    objective = subproblem(loss, u, a, y, k)
    span = 2.0 * (abs(y) + abs(u) + abs(a) + 1.0)
    low, high = box(loss, y)
    bounds = (max(low - a, -span), min(high - a, span))
    found = minimize_scalar(objective, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    step = dual_step(loss, u, a, y, k)
    best = min(found.fun, objective(bounds[0]), objective(bounds[1]))
    assert objective(step) <= best + 1e-10 * (1.0 + abs(best) + k)


@given(u=predictions, y=signs, b=boxed, k=st.floats(1e-6, 1e15))
@example(u=0.0, y=1.0, b=1.0 - 1e-14, k=1e15)
@example(u=0.0, y=1.0, b=1e-14, k=1e15)
@example(u=-1e300, y=1.0, b=0.0, k=1.0)
@example(u=1e300, y=1.0, b=1.0, k=1e300)
def test_the_logistic_step_solves_its_equation(u, y, b, k):
    step = dual_step(Logistic(), u, y * b, y, k)
    assert y * (y * b + step) == pytest.approx(_root(k * b - y * u, k), abs=1e-9)


@pytest.mark.parametrize("loss", [*CLASSIFIERS, Huber()], ids=name_of)
@given(u=predictions, y=signs, b=st.floats(-5.0, 5.0), k=curvatures)
@example(u=0.0, y=1.0, b=-3.0, k=1.0)
@example(u=0.0, y=-1.0, b=4.0, k=1.0)
def test_an_infeasible_dual_moves_to_where_its_projection_would(loss, u, y, b, k):
    a = y * b
    nearest = project(loss, a, y)
    there = nearest + dual_step(loss, u, nearest, y, k)
    assert a + dual_step(loss, u, a, y, k) == pytest.approx(there, abs=1e-14)


@every_classifier
@given(u=st.floats(-1e6, 1e6), y=signs, b=boxed, k=st.floats(0.0, 1e6))
def test_a_step_ends_inside_the_box(loss, u, y, b, k):
    end = y * (y * b + dual_step(loss, u, y * b, y, k))
    assert -1e-15 <= end <= 1.0 + 1e-15


@pytest.mark.parametrize(("u", "end"), [(0.0, 1.0), (3.0, 0.0), (1.0, 0.0)])
def test_a_flat_hinge_subproblem_ends_at_an_end_of_the_box(u, end):
    assert 0.25 + dual_step(Hinge(), u, 0.25, 1.0, 0.0) == end


def test_the_squared_step_without_curvature_is_the_residual():
    assert dual_step(Squared(), 0.25, 0.5, 2.0, 0.0) == 1.25


@given(u=predictions, y=st.floats(-5.0, 5.0), a=st.floats(-0.7, 0.7), k=curvatures)
@example(u=0.0, y=5.0, a=0.0, k=1e-6)
def test_the_huber_step_is_the_squared_one_cut_to_its_box(u, y, a, k):
    aim = a + dual_step(Squared(), u, a, y, k)
    found = a + dual_step(Huber(0.7), u, a, y, k)
    assert found == pytest.approx(min(max(aim, -0.7), 0.7), abs=1e-12)


@every_loss
@given(u=predictions, y=signs, scale=st.floats(0.1, 10.0))
def test_a_rescaled_loss_is_the_loss_in_another_unit(loss, u, y, scale):
    if isinstance(loss, Logistic | Hinge):
        assert rescaled(loss, scale) == loss  # classes have no unit
        return
    inner = value(rescaled(loss, scale), u / scale, y / scale)
    assert scale * scale * inner == pytest.approx(value(loss, u, y), rel=1e-12, abs=1e-12)


EXTREME_U = [0.0, 1e-300, 1.0, 40.0, 800.0, 1e10, 1e300, 8e306]
EXTREME_K = [0.0, 5e-324, 1e-300, 1e-8, 1.0, 1e8, 1e300, 8e306]
EXTREME_B = [0.0, 5e-324, 0.5, 1.0 - 2.0**-53, 1.0]


def extreme_inputs():
    for u in EXTREME_U:
        for k in EXTREME_K:
            for b in EXTREME_B:
                for y in (-1.0, 1.0):
                    yield u, y * b, y, k
                    yield -u, y * b, y, k


@with_counts
def test_steps_are_finite_and_end_in_the_box_for_extreme_inputs(loss):
    low, high = box(loss, 1.0)
    for u, a, y, k in extreme_inputs():
        if y > 0.0:
            step = dual_step(loss, u, a, y, k)
            assert math.isfinite(step), (u, a, y, k)
            assert low - 1e-12 <= a + step <= high + 1e-12
        elif not isinstance(loss, Poisson):
            assert dual_step(loss, u, a, y, k) == -dual_step(loss, -u, -a, -y, k)


@pytest.mark.full
@with_counts
def test_python_and_compiled_code_agree(loss):
    generator = np.random.default_rng(1)
    inputs = list(extreme_inputs())
    for _ in range(300):
        y = generator.choice([-1.0, 1.0])
        inputs.append((5.0 * generator.normal(), y * generator.random(), y, generator.random()))
    for u, a, y, k in inputs:
        u, a, y, k = float(u), float(a), float(y), float(k)
        assert compiled(loss, u, a, y, k) == pytest.approx(
            interpreted(loss, u, a, y, k), rel=1e-12, abs=1e-12
        ), (u, a, y, k)


# --- steps without branches -------------------------------------------------------------


@njit(error_model="numpy")
def separate_step(loss, room):
    return dual_step(loss, room[0, 0], room[0, 1], room[1, 0], room[1, 1])


@njit(error_model="numpy")
def joint_step(loss, room):
    fill_steps(loss, 2, room[0], room[1], room[2], room, room, room)


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("loss", [*ALL, Poisson(), Softmax()], ids=name_of)
def test_no_step_calls_the_mathematical_library(loss):
    """A vector of it (Intel's SVML) may round otherwise than its single numbers do."""
    step = joint_step if is_joint(loss) else separate_step
    signature = (typeof(loss), float64[:, ::1])
    step.compile(signature)
    code = step.inspect_llvm(signature)
    assert re.findall(r"call [^\n]*@\"?(?:llvm\.)?(exp|log|pow|sin|cos|tan)\w*", code) == []


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("kernel", [fill_probabilities, fill_means])
def test_nor_do_probabilities_and_expected_counts(kernel):
    """Workers whose processors have other codes for it would differ in last bits."""
    rows, one = DenseRows(np.ones((1, 1)), np.ones(1), np.ones(1), 0.0), np.ones(1)
    given = (
        rows,
        one,
        one,
        0.0,
        *((1.0, np.ones(2), one) if kernel is fill_probabilities else ()),
    )
    fresh = njit(error_model="numpy")(kernel.py_func)  # code from a cache cannot be read
    fresh(*given, one.copy())
    code = "".join(fresh.inspect_llvm().values())
    assert re.findall(r"call [^\n]*@\"?(?:llvm\.)?(exp|log|pow)\w*", code) == []


def test_the_written_out_exponential_is_exact_to_the_last_bits():
    sizes = np.concatenate([np.linspace(0.0, 700.0, 5001), np.geomspace(1e-300, 1.0, 500)])
    for s in (*sizes, *-sizes):
        assert plain_exp(s) == pytest.approx(math.exp(s), rel=2.0**-50)
    assert plain_exp(-1e300) == plain_exp(-700.0) < 1e-300


@pytest.mark.full
def test_the_logistic_step_is_accurate_for_every_curvature():
    """A grid over 24 decades of k; p below, within, at the ends of and above (0, k)."""
    root = np.vectorize(_root)
    k = np.geomspace(1e-12, 1e12, 73)[:, None]
    shares = np.concatenate([np.linspace(-0.1, 1.1, 61), np.geomspace(1e-12, 0.1, 23)])
    for p in (k * shares, np.linspace(-40.0, 40.0, 81) + 0.0 * k, k + np.linspace(-9, 9, 37)):
        expected = root(p, k + 0.0 * p)
        # From b = 0 on with y = 1, p is -u.
        found = np.vectorize(lambda p, k: dual_step(Logistic(), -p, 0.0, 1.0, k))(p, k + 0 * p)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11)


def _root(p, k):
    """Return sigmoid(s) where s + k sigmoid(s) = p, by bisection."""
    low, high = min(p - k, p) - 1.0, max(p - k, p) + 1.0
    while True:
        s = 0.5 * low + 0.5 * high
        e = math.exp(-abs(s))
        b = 1.0 / (1.0 + e) if s >= 0.0 else e / (1.0 + e)
        if not low < s < high:
            return b
        low, high = (s, high) if s + k * b < p else (low, s)
