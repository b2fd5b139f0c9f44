"""An observer of a fit sees the released path, and nothing that is not released."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import dpscd
from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.audit.canaries import Path as Observed
from dpscd.records.opening import Given
from dpscd.releases.training import Training

RECORDS, FEATURES = 613, 5


def data(kind=np.asarray, features=FEATURES):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, size=(RECORDS, features))
    return kind(X), (X[:, 0] > 0).astype(int)


def short(model, **given):
    return model(**{"epsilon": 1.0, "lot_size": 100, "epochs": 3, "random_state": 1, **given})


def observed(model, X, y):
    """Return a fitted model and the paths of its trainings."""
    path = Observed()
    return model._fit(X, y, Given(), path), path.walks


@pytest.mark.full
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("model", "given"),
    [
        (DPRidge, {"y_bounds": (0, 1), "standardise": True}),
        (DPLogisticRegression, {"classes": [0, 1]}),
        (DPLinearSVC, {"classes": [0, 1, 2], "standardise": True}),
    ],
)
def test_an_observer_changes_nothing(model, given, kind):
    X, y = data(kind)
    plain = short(model, **given).fit(X, y)
    other, walks = observed(short(model, **given), X, y)
    for one, another in zip(plain.fit_.answers, other.fit_.answers, strict=True):
        np.testing.assert_array_equal(one, another)
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    assert [steps for steps, _ in walks[-1].seen] == list(range(1, other.privacy_.steps + 1))


def test_the_answer_of_every_training_follows_from_its_path():
    X, y = data()
    ridge = short(DPRidge, y_bounds=(0, 1), standardise=True, travel=1e-3, lam=1e6)
    model, walks = observed(ridge, X, y)
    plan = model.fit_.plan
    trained = ["label spread", "shared vector"]
    listed = [release.what for release in plan.releases]
    assert listed == ["moments", "label mean", *trained, *trained, "rescaling"]
    pilot, training = (x for x in plan.releases if isinstance(x, Training))
    assert [walk.training for walk in walks] == [pilot, training]
    for walk in walks:
        within = [vector for _, vector in walk.seen[walk.training.average_from :]]
        answer = model.fit_.answers[plan.releases.index(walk.training)]
        np.testing.assert_allclose(np.mean(within, axis=0), answer, rtol=1e-9)


@pytest.mark.full
def test_lazy_noise_is_seen_settled_once_an_epoch():
    X, y = data(sparse.csr_array)
    X.resize(RECORDS, 4100)  # no record has the other features: their noise is never asked for
    svc = short(DPLinearSVC, classes=[0, 1], fit_intercept=False)
    model, (walk,) = observed(svc, X, y)
    assert walk.training.lazy
    # Epochs of 6 steps, and the end.
    assert [steps for steps, _ in walk.seen] == [6, 12, 18, 19]
    assert model.privacy_.steps == 19
    for steps, found in walk.increments():
        std = walk.training.noise.std * np.sqrt(steps)
        assert np.std(found[:, 5:]) == pytest.approx(std, rel=0.1)


def arrays(thing, seen):
    """All arrays that can be reached from an object."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        yield from arrays(thing.base, seen)
    elif isinstance(thing, dict):
        for value in (*thing.keys(), *thing.values()):
            yield from arrays(value, seen)
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from arrays(value, seen)
    elif hasattr(thing, "__dict__"):
        yield from arrays(vars(thing), seen)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("features", [FEATURES, 4100])
def test_nothing_of_a_record_can_be_reached(kind, features):
    X, y = data(kind, features)
    model = short(DPLogisticRegression, classes=[0, 1], standardise=True)
    model, walks = observed(model, X, y)
    seen, kept = (list(arrays(thing, set())) for thing in (walks, vars(model)))
    assert min(len(seen), len(kept)) > 3
    assert all(array.base is None for array in seen)
    assert all(RECORDS not in array.shape for array in (*seen, *kept))


class Vandal:
    """An observer that changes what it is shown."""

    pause = 1

    def begins(self, _problem, _training):
        pass

    def moved(self, _steps, shared):
        shared[:] = 0.0


@pytest.mark.parametrize("features", [FEATURES, 4100])
def test_what_is_seen_is_a_copy(features):
    X, y = data(sparse.csr_array, features)
    model = short(DPRidge, y_bounds=(0, 1), standardise=True)
    plain, _ = observed(model, X, y)
    again = short(DPRidge, y_bounds=(0, 1), standardise=True)._fit(X, y, Given(), Vandal())
    np.testing.assert_array_equal(plain.coef_, again.coef_)


def test_only_released_values_are_shown():
    """Three places show something, each after noise was added, and what they show is listed."""
    folder = Path(dpscd.__file__).parent
    shown = {}
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("observer."):
                where = file.relative_to(folder).as_posix()
                shown.setdefault(where, set()).add(ast.unparse(node))
    begins = "observer.begins(problem, plan)"
    assert shown == {
        "solvers/dp_scd.py": {begins, "observer.moved(first, shared.copy())"},
        "solvers/lazy.py": {begins, "observer.moved(done, vector.shared(done))"},
        # What it is given is the vector that a step has released.
        "solvers/on_device.py": {begins, "observer.moved(step, shared())"},
    }
