import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpscd.kernels.dual import Records, StepConstants
from dpscd.losses import Hinge, Logistic, Squared, slope
from dpscd.problem import Problem
from dpscd_experiments.kernels.gradient import descend, descend_private, slopes_of

LOSSES = [Squared(), Logistic(), Hinge()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda x: type(x).__name__)
COUNT, D, STEPS = 40, 5, 12
CLIP, STD, DECAY, RATE = 0.4, 0.3, 0.97, 0.05


class Case:
    def __init__(self, loss, *, outputs=1, sparse=False, constant=0.4):
        generator = np.random.default_rng(5)
        X = generator.normal(size=(COUNT, D)) * (generator.random((COUNT, D)) < 0.7)
        X[3] = 0.0
        self.problem = Problem(loss, 0.1, COUNT, D, outputs=outputs, constant=constant)
        self.rows = self.problem.rows(scipy.sparse.csr_matrix(X) if sparse else X)
        lengths = np.maximum(np.linalg.norm(X, axis=1), 1.0)
        tail = np.full(COUNT, constant)
        self.X = np.column_stack([X / lengths[:, None], tail]) / self.problem.scale
        labels = generator.integers(0, max(2, outputs), COUNT).astype(float)
        if outputs == 1:
            labels = 2.0 * labels - 1.0
        weights = generator.uniform(0.0, 2.0, COUNT)
        weights[5] = 0.0
        self.records = Records(labels, weights)
        self.lots = [
            np.flatnonzero(generator.random(COUNT) < 0.3).tolist() for _ in range(STEPS)
        ]
        self.lots[2] = []
        self.ids = np.array([i for lot in self.lots for i in lot])
        self.starts = np.concatenate([[0], np.cumsum([len(lot) for lot in self.lots])])
        size = outputs * self.problem.width
        self.normals = generator.normal(size=(STEPS, size))


def plain(case, loss, outputs, *, cell=None, grid=None):
    """Return the path of the model and the number of clipped gradients."""
    model, path, clipped = np.zeros((outputs, case.X.shape[1])), [], 0
    for lot, noise in zip(case.lots, case.normals, strict=True):
        total = np.zeros_like(model)
        for i in lot:
            x, y = case.X[i], case.records.labels[i]
            labels = [y] if outputs == 1 else [1.0 if y == k else -1.0 for k in range(outputs)]
            s = np.array(
                [
                    case.records.weights[i] * slope(loss, x @ model[k], labels[k])
                    for k in range(outputs)
                ]
            )
            g = np.outer(s, x)
            length = np.linalg.norm(g)
            clipped += length > CLIP
            if length > CLIP * (1.0 - 2.0**-20):
                g *= CLIP * (1.0 - 2.0**-20) / length
            total += g if cell is None else np.trunc(g / cell)
        xi = STD * noise.reshape(model.shape)
        if cell is None:
            released = total + xi
        else:
            released = grid * np.floor((cell * total + xi) / grid + 0.5)
        model = DECAY * model - RATE * released
        path.append(model)
    return path, clipped


@pytest.mark.full
@every_loss
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_plain_steps_follow_the_definition(loss, outputs, sparse):
    case = Case(loss, outputs=outputs, sparse=sparse)
    path, clipped = plain(case, loss, outputs)
    model, average = np.zeros((outputs, D + 1)), np.zeros((outputs, D + 1))
    found = descend(
        loss, case.rows, case.records, CLIP, STD, DECAY, RATE,
        case.ids, case.starts, case.normals, 4, model, average,
    )  # fmt: skip
    assert found == clipped > 0
    np.testing.assert_allclose(model, path[-1], rtol=1e-10)
    np.testing.assert_allclose(average, sum(path[4:]), rtol=1e-10)


@pytest.mark.full
@every_loss
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_private_steps_follow_the_definition_on_the_grid(loss, outputs, sparse):
    case = Case(loss, outputs=outputs, sparse=sparse)
    numbers = StepConstants(1.0, 1.0, CLIP, 2.0**-31, 2.0**-12, STD * 2.0**12)
    path, clipped = plain(case, loss, outputs, cell=numbers.cell, grid=numbers.grid)
    model, average = np.zeros((outputs, D + 1)), np.zeros((outputs, D + 1))
    found = descend_private(
        loss, case.rows, case.records, numbers, DECAY, RATE,
        case.ids, case.starts, case.normals, 0, model, average,
    )  # fmt: skip
    assert found == clipped > 0
    np.testing.assert_allclose(model, path[-1], atol=RATE * numbers.grid * 1e-6)
    np.testing.assert_allclose(average, sum(path), atol=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, when not compiled
@given(
    scale=st.floats(allow_nan=True, allow_infinity=True),
    label=st.floats(allow_nan=True, allow_infinity=True),
    weight=st.floats(allow_nan=True, allow_infinity=True),
    clip=st.floats(1e-6, 1e6),
)
def test_no_gradient_is_longer_than_the_clip_for_any_input(scale, label, weight, clip):
    loss = Squared()
    problem = Problem(loss, 0.1, 1, 2, constant=0.3)
    rows = problem.rows(np.array([[0.3, -2.0]]))
    model = np.array([[scale, 1.0, -scale]])
    slopes = np.empty(1)
    records = Records(np.array([label]), np.array([weight]))
    if slopes_of(loss, rows, records, clip, model, 0, slopes):
        assert abs(slopes[0]) * rows.norm[0] <= clip * (1.0 - 2.0**-21)


@every_loss
def test_a_record_changes_a_released_sum_by_at_most_the_clip(loss):
    case = Case(loss)
    cell, model = 2.0**-31, np.random.default_rng(1).normal(size=(1, D + 1))
    # With no decay, rate 1, grid = cell and no noise the model moves by the exact sum.
    numbers = StepConstants(1.0, 1.0, CLIP, cell, cell, 0.0)
    lot = np.arange(COUNT)

    def moved(members):
        found, unused = model.copy(), np.zeros_like(model)
        descend_private(
            loss, case.rows, case.records, numbers, 1.0, 1.0,
            members, np.array([0, len(members)]), np.zeros((1, D + 1)), 1, found, unused,
        )  # fmt: skip
        return found - model

    whole = moved(lot)
    for k in lot:
        change = np.linalg.norm(whole - moved(np.delete(lot, k)))
        assert change <= CLIP + 1e-14
    assert math.isfinite(whole.sum())
