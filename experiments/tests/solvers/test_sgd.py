import numpy as np
import pytest

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.losses import Hinge, Logistic, Squared
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.solvers.sdca import sdca
from dpscd_experiments.solvers.sgd import sgd
from dpscd_experiments.solvers.shuffled import shuffled_lots

N, D = 90, 4


def case(loss, outputs=1):
    generator = np.random.default_rng(8)
    problem = Problem(loss, 0.2, N, D, outputs=outputs, constant=0.3)
    X = generator.normal(size=(N, D))
    y = generator.integers(0, 3, N) if outputs > 1 else generator.choice([-1.0, 1.0], N)
    return problem, problem.rows(X), Records(y.astype(float), np.ones(N))


@pytest.mark.compiled
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), Hinge()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("lot_size", [9, N])
def test_it_finds_the_optimum_with_the_ridge_as_stated(loss, outputs, lot_size):
    problem, rows, records = case(loss, outputs)
    best, _ = sdca(problem, rows, records, SeededSource(b"o"), tolerance=1e-8)
    found = sgd(
        problem, rows, records, SeededSource(b"s"),
        learning_rate=0.05, lot_size=lot_size, epochs=600, averaging=0.5,
    )  # fmt: skip
    size = np.abs(best).max()
    np.testing.assert_allclose(found, best, atol=0.03 * size)


def test_averaging_is_over_the_end_of_the_path():
    problem, rows, records = case(Squared())
    options = {"learning_rate": 0.1, "lot_size": 30}
    path = []
    sgd(
        problem, rows, records, SeededSource(b"s"), epochs=4, **options,
        observer=lambda look: path.append(look.shared.copy()),
    )  # fmt: skip
    assert len(path) == 4
    last = sgd(problem, rows, records, SeededSource(b"s"), epochs=4, **options)
    np.testing.assert_allclose(last, path[-1], rtol=1e-12)
    mean = sgd(problem, rows, records, SeededSource(b"s"), epochs=4, averaging=0.5, **options)
    assert not np.allclose(mean, last)


@pytest.mark.parametrize(
    "wrong",
    [{"lot_size": 0}, {"lot_size": N + 1}, {"epochs": 0}, {"learning_rate": 0.0},
     {"learning_rate": np.nan}],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(wrong):
    options = {"learning_rate": 0.1, "lot_size": 30, "epochs": 2, **wrong}
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        sgd(*case(Squared()), SeededSource(b"s"), **options)


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_shuffled_lots_cover_each_epoch_once(chunk):
    seen, steps = [], 0
    for lots in shuffled_lots(SeededSource(b"l"), 23, 5, 3, chunk):
        steps += len(lots.starts) - 1
        assert len(lots.starts) - 1 <= chunk
        assert set(np.diff(lots.starts)) <= {5, 3}
        seen.extend(lots.ids.tolist())
    assert steps == 15
    epochs = [seen[:23], seen[23:46], seen[46:]]
    assert all(sorted(epoch) == list(range(23)) for epoch in epochs)
    assert epochs[0] != epochs[1]
