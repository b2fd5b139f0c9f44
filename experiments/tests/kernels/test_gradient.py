"""Gradient steps against their definition, and what one record does to a released sum."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpscd.kernels.dual import Records, StepConstants
from dpscd.losses import Hinge, Logistic, Squared, slope
from dpscd.problem import Problem
from dpscd_experiments.kernels.gradient import descend_private, slopes_of
from dpscd_experiments.kernels.published import (
    PublishedNumbers,
    advance_primal,
    combine,
    project_all,
)

every_loss = pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
COUNT, D, STEPS = 40, 5, 12
CLIP, STD, DECAY, RATE = 0.4, 0.3, 0.97, 0.05
CELL = 2.0**-31


def case(loss, outputs=1, *, sparse=False, constant=0.4):
    """Return rows, their plain inner form, and records of which some are silent."""
    generator = np.random.default_rng(5)
    X = generator.normal(size=(COUNT, D)) * (generator.random((COUNT, D)) < 0.7)
    X[3] = 0.0
    problem = Problem(loss, 0.1, COUNT, D, outputs=outputs, constant=constant)
    lengths = np.maximum(np.linalg.norm(X, axis=1), 1.0)
    inner = np.column_stack([X / lengths[:, None], np.full(COUNT, constant)]) / problem.scale
    labels = generator.integers(0, max(2, outputs), COUNT).astype(float)
    weights = generator.uniform(0.0, 2.0, COUNT)
    weights[5] = 0.0
    records = Records(2.0 * labels - 1.0 if outputs == 1 else labels, weights)
    return problem.rows(scipy.sparse.csr_matrix(X) if sparse else X), inner, records


@pytest.mark.full
@every_loss
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_private_steps_follow_the_definition_on_the_grid(loss, outputs, sparse):
    rows, inner, records = case(loss, outputs, sparse=sparse)
    numbers = StepConstants(1.0, 1.0, CLIP, CELL, 2.0**-12, STD * 2.0**12)
    generator = np.random.default_rng(6)
    lots = [np.flatnonzero(generator.random(COUNT) < 0.3 * (t != 2)) for t in range(STEPS)]
    normals = generator.normal(size=(STEPS, outputs * (D + 1)))
    expected, path, clipped = np.zeros((outputs, D + 1)), [], 0
    for lot, noise in zip(lots, normals, strict=True):
        total = np.zeros_like(expected)
        for i in lot:
            own = records.labels[i]
            labels = [own] if outputs == 1 else np.where(np.arange(outputs) == own, 1.0, -1.0)
            slopes = [
                slope(loss, inner[i] @ w, y) for w, y in zip(expected, labels, strict=True)
            ]
            g = records.weights[i] * np.outer(slopes, inner[i])
            length = np.linalg.norm(g)
            clipped += length > CLIP
            g *= min(1.0, CLIP * (1.0 - 2.0**-20) / max(length, 1e-300))
            total += np.trunc(g / CELL)
        sums = CELL * total + STD * noise.reshape(expected.shape)
        released = numbers.grid * np.floor(sums / numbers.grid + 0.5)
        expected = DECAY * expected - RATE * released
        path.append(expected)
    model, average = np.zeros_like(expected), np.zeros_like(expected)
    starts = np.concatenate([[0], np.cumsum([len(lot) for lot in lots])])
    found = descend_private(
        loss, rows, records, numbers, DECAY, RATE,
        np.concatenate(lots), starts, normals, 4, model, average,
    )  # fmt: skip
    assert found == clipped > 0
    np.testing.assert_allclose(model, path[-1], atol=RATE * numbers.grid * 1e-6)
    np.testing.assert_allclose(average, sum(path[4:]), atol=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, when not compiled
@given(
    scale=st.floats(allow_nan=True, allow_infinity=True),
    label=st.floats(allow_nan=True, allow_infinity=True),
    weight=st.floats(allow_nan=True, allow_infinity=True),
    clip=st.floats(1e-6, 1e6),
)
def test_no_gradient_is_longer_than_the_clip_for_any_input(scale, label, weight, clip):
    rows = Problem(Squared(), 0.1, 1, 2, constant=0.3).rows(np.array([[0.3, -2.0]]))
    model, slopes = np.array([[scale, 1.0, -scale]]), np.empty(1)
    records = Records(np.array([label]), np.array([weight]))
    if slopes_of(Squared(), rows, records, clip, model, 0, slopes):
        assert abs(slopes[0]) * rows.norm[0] <= clip * (1.0 - 2.0**-21)


@every_loss
def test_a_record_changes_a_released_sum_by_at_most_the_clip(loss):
    rows, _, records = case(loss)
    model = np.random.default_rng(1).normal(size=(1, D + 1))
    # With no decay, rate 1, grid = cell and no noise the model moves by the exact sum.
    numbers = StepConstants(1.0, 1.0, CLIP, CELL, CELL, 0.0)

    def moved(members):
        found, unused = model.copy(), np.zeros_like(model)
        descend_private(
            loss, rows, records, numbers, 1.0, 1.0,
            members, np.array([0, len(members)]), np.zeros((1, D + 1)), 1, found, unused,
        )  # fmt: skip
        return found - model

    everybody = np.arange(COUNT)
    whole = moved(everybody)
    assert np.isfinite(whole).all()
    for k in everybody:
        assert np.linalg.norm(whole - moved(np.delete(everybody, k))) <= CLIP + 1e-14


def test_records_that_count_for_nothing_do_so_in_the_published_kernels():
    total = np.zeros(2)
    rows = Problem(Squared(), 1.0, 2, 2).rows(np.array([[0.5, 0.0], [np.nan, 1.0]]))
    combine(rows, np.array([2.0, 7.0]), total)
    np.testing.assert_array_equal(total, [1.0, 0.0])
    records = Records(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    nearest = project_all(Hinge(), records, np.array([5.0, 5.0]))
    np.testing.assert_array_equal(nearest, [1.0, 0.0])
    features = Problem(Squared(), 1.0, 1, 2).rows(np.array([[0.6, 0.8]]))
    moved = []
    for label in (0.0, 99.0):
        records = Records(np.array([1.0, label]), np.array([1.0, 0.0]))
        coef, zero, ends = np.zeros(1), np.zeros(1), np.array([0, 1])
        advance_primal(
            Squared(), features, records, PublishedNumbers(2.0, 1.0, 10.0, 0.0), np.ones(1),
            np.array([0]), ends, zero, np.zeros((1, 2)), coef, np.zeros(2),
        )  # fmt: skip
        moved.append(coef[0])
    assert moved[0] == moved[1] != 0.0
