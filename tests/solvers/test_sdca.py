import numpy as np
import pytest

from dpscd.kernels.dual import Records
from dpscd.losses import Hinge, Logistic, Softmax, Squared
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.solvers.sdca import sdca


def case(loss, outputs=1):
    generator = np.random.default_rng(2)
    problem = Problem(loss, 0.02, 80, 4, outputs=outputs, constant=0.3)
    X = generator.normal(size=(80, 4))
    y = generator.integers(0, 3, 80) if outputs > 1 else generator.choice([-1.0, 1.0], 80)
    return problem, problem.rows(X), Records(y.astype(float), np.ones(80))


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [*((x, k) for x in (Squared(), Logistic(), Hinge()) for k in (1, 3)), (Softmax(), 3)],
    ids=str,
)
def test_the_optimum_is_reached_from_any_order(loss, outputs):
    problem, rows, records = case(loss, outputs)
    found = []
    for seed in (b"a", b"b"):
        shared, converged = sdca(problem, rows, records, SeededSource(seed), tolerance=1e-9)
        assert converged
        found.append(problem.model(shared).coef)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)


def test_too_few_epochs_are_reported():
    problem, rows, records = case(Logistic())
    _, converged = sdca(
        problem, rows, records, SeededSource(b"c"), tolerance=1e-12, max_epochs=2
    )
    assert not converged


def test_an_observer_sees_each_epoch():
    problem, rows, records = case(Squared())
    epochs = []
    options = {"tolerance": 0.0, "max_epochs": 4}
    seen = lambda epoch, *_: epochs.append(epoch)  # noqa: E731
    sdca(problem, rows, records, SeededSource(b"o"), observer=seen, **options)
    assert epochs == [1, 2, 3, 4]


@pytest.mark.parametrize("outputs", [1, 3])
def test_records_that_cannot_be_used_change_nothing(outputs):
    problem, _, _ = case(Softmax() if outputs > 1 else Squared(), outputs)
    generator = np.random.default_rng(3)
    X = generator.normal(size=(80, 4))
    y = generator.integers(0, 3, 80).astype(float)
    weights = np.where(np.arange(80) % 4 == 0, 0.0, 1.0)
    hostile = X.copy()
    hostile[::4] = np.nan
    found = []
    for rows in (X, hostile):
        records = Records(y, weights)
        shared, converged = sdca(problem, problem.rows(rows), records, SeededSource(b"e"))
        assert converged
        found.append(shared)
    np.testing.assert_array_equal(*found)
