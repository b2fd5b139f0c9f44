import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import CsrRows, DenseRows, dot
from dpscd.losses import Hinge, Logistic, Poisson, Softmax, Squared
from dpscd.privacy.random import SeededSource
from dpscd.problem import DeferredRows, Problem, labels_of, rows_of
from dpscd.solvers.sdca import sdca
from dpscd.standard import LONGEST, Standard, standard_of

LOSSES = [Squared(), Logistic(), Hinge()]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("row_bound", bad) for bad in (0.0, -1.0, 1e-200, 1e200, math.inf, math.nan)),
        *(("constant", bad) for bad in (-1.0, 1e-200, 1e200, math.inf, math.nan)),
    ],
)
def test_scales_out_of_range_are_refused(name, bad):
    with pytest.raises(ParameterError, match=f"{name}="):
        Problem(Hinge(), 0.1, 10, 3, **{name: bad})


def name_of(loss):
    return type(loss).__name__


def data(loss, outputs=1, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(60, 4))
    if outputs > 1:
        y = generator.integers(0, outputs, 60).astype(float)
    elif isinstance(loss, Squared):
        y = X @ [1.0, -2.0, 0.5, 0.0] + generator.normal(size=60)
    else:
        y = np.where(X[:, 0] + generator.normal(size=60) > 0.0, 1.0, -1.0)
    return X, y, generator.uniform(0.2, 2.0, 60)


def optimum(problem, X, y, weights, **options):
    rows = problem.rows(X)
    records = Records(problem.labels(y), weights)
    shared, converged = sdca(
        problem, rows, records, SeededSource(b"x"), tolerance=1e-11, **options
    )
    assert converged
    return problem.model(shared)


def test_public_numbers():
    problem = Problem(Squared(), 0.5, 200, 3, row_bound=3.0, constant=4.0)
    assert problem.scale == 5.0
    assert problem.strength == pytest.approx(0.5 * 200 / 25.0)
    assert problem.width == 4
    assert Problem(Squared(), 0.5, 200, 3).width == 3


@pytest.mark.parametrize("constant", [0.0, 0.7], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("row_bound", [0.8, 20.0], ids=["clipped", "whole"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_ridge_is_the_closed_form_in_the_users_units(constant, row_bound, sparse):
    X, y, weights = data(Squared())
    lam, n, centre, scale = 0.03, 70, 1.5, 2.5
    labels = {"label_centre": centre, "label_scale": scale}
    problem = Problem(Squared(), lam, n, 4, row_bound=row_bound, constant=constant, **labels)
    model = optimum(problem, scipy.sparse.csr_matrix(X) if sparse else X, y, weights)
    # The augmented matrix: clipped rows and the constant column.
    lengths = np.maximum(np.linalg.norm(X, axis=1) / row_bound, 1.0)
    A = np.column_stack([X / lengths[:, None], np.full(60, constant)])
    gram = A.T @ (weights[:, None] * A) / n + lam * np.eye(5)
    exact = np.linalg.solve(gram, A.T @ (weights * (y - centre)) / n)
    np.testing.assert_allclose(model.coef[0], exact[:4], rtol=1e-4, atol=1e-5)
    assert model.intercept[0] == pytest.approx(centre + constant * exact[4], abs=1e-4)


@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=name_of)
def test_classifiers_minimise_the_objective_of_the_users_units(loss):
    X, y, weights = data(loss)
    lam, n, constant, bound = 0.05, 60, 0.5, 1.2
    problem = Problem(loss, lam, n, 4, row_bound=bound, constant=constant)
    model = optimum(problem, X, y, weights)
    clipped = X / np.maximum(np.linalg.norm(X, axis=1) / bound, 1.0)[:, None]

    def objective(w, w0):
        margins = y * (clipped @ w + constant * w0)
        losses = (
            np.maximum(0.0, 1.0 - margins)
            if isinstance(loss, Hinge)
            else np.log1p(np.exp(-margins))
        )
        return (weights * losses).sum() / n + lam / 2.0 * (w @ w + w0 * w0)

    w, w0 = model.coef[0], model.intercept[0] / constant
    best = objective(w, w0)
    generator = np.random.default_rng(2)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(50):
            move = size * generator.normal(size=5)
            assert objective(w + move[:4], w0 + move[4]) >= best - 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
@given(seed=st.integers(0, 10**6), outputs=st.sampled_from([1, 3]), size=st.floats(0.0, 1.0))
def test_the_gap_is_never_negative(loss, seed, outputs, size):
    X, y, weights = data(loss, outputs, seed)
    problem = Problem(loss, 0.02, 60, 4, outputs=outputs, constant=0.3)
    rows = problem.rows(X)
    generator = np.random.default_rng(seed)
    labels = y[:, None] if outputs == 1 else np.where(y[:, None] == range(outputs), 1.0, -1.0)
    inside = size * generator.random((60, outputs)) * np.sign(labels)
    dual = np.ascontiguousarray(inside * weights[:, None])
    records = np.column_stack([rows.factor[:, None] * X, np.full(60, rows.tail)])
    shared = np.ascontiguousarray((records.T @ dual).T)
    for output in range(outputs):
        primal, gap = problem.gap(rows, Records(y, weights), dual, shared, output)
        assert gap >= -1e-12
        assert math.isfinite(primal)


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_the_gap_vanishes_at_the_optimum_only(loss):
    X, y, weights = data(loss)
    problem = Problem(loss, 0.05, 60, 4, constant=0.3)
    rows, records = problem.rows(X), Records(y, weights)
    _, start = problem.gap(rows, records, np.zeros((60, 1)), np.zeros((1, 5)))
    assert start > 0.01
    _, converged = sdca(problem, rows, records, SeededSource(b"gap"), tolerance=1e-9)
    assert converged


def test_labels_are_shifted_and_scaled_and_a_zero_vector_predicts_their_centre():
    problem = Problem(Squared(), 1.0, 10, 2, outputs=3, label_centre=3.0, label_scale=2.0)
    np.testing.assert_array_equal(problem.labels(np.array([1.0, 3.0, 5.0])), [-1.0, 0.0, 1.0])
    model = problem.model(np.zeros((3, 2)))
    assert not model.coef.any()
    assert model.intercept.tolist() == [3.0, 3.0, 3.0]


def test_the_model_does_not_share_memory_with_the_shared_vector():
    shared = np.ones((1, 3))
    model = Problem(Squared(), 1.0, 10, 2, constant=1.0).model(shared)
    assert not np.shares_memory(model.coef, shared)


def test_what_classes_of_a_joint_loss_have_in_common_is_taken_out():
    rng = np.random.default_rng(0)
    shared, X = rng.normal(size=(5, 4)), rng.normal(size=(7, 3))
    joint, separate = (
        Problem(loss, 0.1, 10, 3, outputs=5, constant=0.5).model(shared, noise=0.3)
        for loss in (Softmax(), Logistic())
    )
    np.testing.assert_allclose(joint.coef.sum(axis=0), 0.0, atol=1e-12)
    assert joint.intercept.sum() == pytest.approx(0.0, abs=1e-12)
    scores, others = (X @ model.coef.T + model.intercept for model in (joint, separate))
    np.testing.assert_allclose(softmax(scores, axis=1), softmax(others, axis=1))
    np.testing.assert_allclose(joint.coef_noise, separate.coef_noise * np.sqrt(0.8))
    np.testing.assert_allclose(joint.intercept_noise, separate.intercept_noise * np.sqrt(0.8))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_wrap_both_layouts(index):
    problem = Problem(Squared(), 1.0, 10, 3)
    X = np.eye(3)
    csr = scipy.sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    assert isinstance(problem.rows(X), DenseRows)
    wrapped = problem.rows(csr)
    assert isinstance(wrapped, CsrRows)
    assert wrapped.norm.tolist() == [1.0, 1.0, 1.0]
    assert not wrapped.values.flags.writeable


def standardised(X, *, constant=0.3, row_bound=2.0, **changes):
    """Return a problem whose rows are standardised by the true moments of `X`."""
    changes = {"row_bound": row_bound, "constant": constant, **changes}
    problem = Problem(Squared(), 0.05, 60, 4, **changes)
    x = np.linalg.norm(X, axis=1, keepdims=True)
    x = X / np.maximum(x, row_bound)
    moments = x.mean(axis=0), (x * x).mean(axis=0), 1e-4
    dense = not constant
    one = standard_of(*moments, centred=not dense, turned=dense)
    return dataclasses.replace(problem, standard=one)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("kind", ["turned", "centred", "sparse"])
def test_a_standardised_model_predicts_what_the_inner_problem_does(kind, outputs):
    X, _, _ = data(Squared())
    changes = {"outputs": outputs, "label_centre": 7.0, "label_scale": 3.0}
    problem = standardised(X, constant=0.0 if kind == "turned" else 0.3, **changes)
    if kind == "sparse":
        X[np.abs(X) < 0.5] = 0.0
        one = Standard(np.zeros(4), np.array([0.5, 1.0, 2.0, 3.0]), np.zeros(4), 0.0)
        problem = dataclasses.replace(problem, standard=one)
    rows = problem.rows(scipy.sparse.csr_array(X) if kind == "sparse" else X)
    assert isinstance(rows, CsrRows if kind == "sparse" else DenseRows)
    assert rows.values.dtype == np.float32
    shared = np.random.default_rng(1).normal(size=(outputs, problem.width))
    model = problem.model(shared)
    # Rows that were cut, by either bound, are the inner problem's own business.
    whole = (np.linalg.norm(X, axis=1) < 2.0) & (rows.factor == 1.0 / problem.scale)
    assert 5 < whole.sum() < 60
    for output in range(outputs):
        inner = np.array([dot(rows, i, shared[output]) for i in range(60)]) / problem.strength
        outer = (X @ model.coef[output] + model.intercept[output])[whole]
        np.testing.assert_allclose(outer, (7.0 + 3.0 * inner)[whole], rtol=1e-5, atol=1e-5)


def test_public_numbers_of_a_standardised_problem():
    problem = standardised(np.eye(4), constant=3.0)
    assert problem.longest == LONGEST
    assert problem.scale == math.hypot(LONGEST, 3.0)
    assert problem.strength == pytest.approx(0.05 * 60 / problem.scale**2)
    assert problem.width == 5
    assert dataclasses.replace(problem, standard=None).longest == 2.0


def test_standardised_rows_are_no_longer_than_the_longest():
    one = Standard(np.zeros(4), np.full(4, 1e3), np.zeros(4), 0.0)
    problem = Problem(Squared(), 0.05, 60, 4, standard=one)
    for X in (np.eye(4), scipy.sparse.csr_array(np.eye(4))):
        rows = problem.rows(X)
        np.testing.assert_allclose(rows.norm, 1.0)
        np.testing.assert_allclose(rows.factor, 1e-3, rtol=1e-6)


@pytest.mark.parametrize("row_bound", [0.5, 1.0, 20.0])
def test_plain_rows_lie_in_the_unit_ball_and_have_no_constant(row_bound):
    X, _, _ = data(Squared())
    problem = standardised(X, row_bound=row_bound)
    rows = problem.plain_rows(X)
    assert rows.tail == 0.0
    assert (rows.norm <= 1.0 + 1e-12).all()
    np.testing.assert_allclose(
        rows.norm, np.minimum(np.linalg.norm(X, axis=1) / row_bound, 1.0), rtol=1e-12
    )
    assert np.shares_memory(rows.values, X)


def test_records_that_cannot_be_used_stay_so_when_standardised():
    X = np.eye(4)
    X[1, 2] = math.nan
    X[2, 3] = math.inf
    problem = standardised(np.eye(4))
    assert np.isnan(problem.rows(X).norm).tolist() == [False, True, True, False]
    sparse = scipy.sparse.csr_array(X)
    sparse.data[0] = math.nan
    found = np.isnan(problem.rows(sparse).norm)
    assert found.tolist() == [True, True, True, False]
    double = scipy.sparse.csr_array(([0.1, 0.1, 0.1], [1, 1, 3], [0, 2, 3]), shape=(2, 4))
    assert np.isnan(problem.rows(double).norm).tolist() == [True, False]


def cut(problem, rows):
    """Return which part of each row is trained on, and the labels -2 and 3 of it."""
    X = np.array(rows)
    parts = DeferredRows(problem, X).parts()
    labels = [labels_of(problem, rows_of(problem, X), np.full(len(X), y)) for y in (-2.0, 3.0)]
    return parts, labels


def test_the_label_of_a_row_that_is_cut_is_cut_with_it():
    middle = Standard(np.array([0.1, 0.0]), np.array([1.0, 8.0]), np.zeros(2), 0.0)
    problem = Problem(
        Squared(), 0.01, 100, 2, row_bound=2.0, constant=0.25, label_centre=1.0, label_scale=2.0
    )
    standardised = dataclasses.replace(problem, standard=middle)
    rows = [[0.5, 0.0], [4.0, 0.0], [0.0, 2.0], [0.0, 8.0], [np.nan, 0.0]]
    parts, labels = cut(standardised, rows)
    # Whole; cut to the row bound; standardised to 8.0 and cut to 4; both; no number.
    expected = [1.0, 0.5, 4.0 / np.hypot(0.1, 8.0), 0.25 * 4.0 / np.hypot(0.025, 8.0)]
    np.testing.assert_allclose(parts[:4], expected, rtol=1e-6)
    assert parts[0] == 1.0
    for found, inner in zip(labels, (-1.5, 1.0), strict=True):
        np.testing.assert_allclose(found[:4], inner * parts[:4], rtol=1e-15)
    # A line that fits a record fits what is left of it, but for the constant column.
    own = standardised.rows(np.array(rows[:4]))
    whole = (np.array(rows[:4]) / 2.0 - middle.centre) * middle.scale
    left = own.values * (own.factor * standardised.scale)[:, None]
    np.testing.assert_allclose(left, whole * parts[:4, None], rtol=1e-6)
    # Rows as they are, classes, counts and sparse rows keep their labels.
    assert cut(problem, rows)[0].tolist() == [1.0] * 5
    for loss in (Logistic(), Poisson(1.0, 1.0)):
        _, (low, high) = cut(dataclasses.replace(standardised, loss=loss), rows)
        assert (set(low), set(high)) == ({-1.5}, {1.0})
    scaled = dataclasses.replace(middle, centre=np.zeros(2))
    thin = dataclasses.replace(standardised, standard=scaled)
    rows_of_zeros = rows_of(thin, scipy.sparse.csr_array(np.array(rows)))
    assert set(labels_of(thin, rows_of_zeros, np.full(5, 3.0))) == {1.0}
