"""An audit sees all that a fit releases, and nothing that it does not."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import dpscd
from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.audit import recorded
from dpscd.privacy.random import Purpose
from dpscd.privacy.watched import watcher

RECORDS, FEATURES = 613, 5


def data(kind=np.asarray, features=FEATURES):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, size=(RECORDS, features))
    return kind(X), (X[:, 0] > 0).astype(int)


def short(model, **given):
    return model(**{"epsilon": 1.0, "lot_size": 100, "epochs": 3, "random_state": 1, **given})


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
def test_recording_changes_nothing(model, given, kind):
    X, y = data(kind)
    plain = short(model, **given).fit(X, y)
    with recorded() as recording:
        watched = short(model, **given).fit(X, y)
    assert watcher() is None
    np.testing.assert_array_equal(plain.coef_, watched.coef_)
    assert len(recording.trainings[-1].vectors) == watched.privacy_.steps


def test_all_that_the_card_lists_is_recorded():
    X, y = data()
    with recorded() as recording:
        model = short(DPRidge, y_bounds=(0, 1), standardise=True, travel=1e-3, lam=1e6).fit(
            X, y
        )
    trained = ["label spread", "shared vector"]
    listed = [release.what for release in model.privacy_.releases]
    assert listed == ["moments", "label mean", *trained, *trained, "rescaling"]
    first = {(what, 0) for what in (Purpose.LABEL_MEAN, Purpose.LABEL_SPREAD, Purpose.MOMENTS)}
    assert set(recording.sums) == {*first, (Purpose.LABEL_SPREAD, 1), (Purpose.SUM, 1)}
    pilot, main = recording.trainings
    assert main.plan.pilot == pilot.plan
    # The model is a function of what was recorded, and of nothing else.
    within = main.vectors[main.plan.average_from :]
    found = main.problem.model(np.mean(within, axis=0))
    np.testing.assert_allclose(found.coef[0] * model._slope, model.coef_, rtol=1e-9)


@pytest.mark.full
def test_lazy_noise_is_seen_settled_once_an_epoch():
    X, y = data(sparse.csr_array)
    X.resize(RECORDS, 4100)  # no record has the other features: their noise is never asked for
    with recorded() as recording:
        model = short(DPLinearSVC, classes=[0, 1], fit_intercept=False).fit(X, y)
    (training,) = recording.trainings
    assert training.plan.lazy
    # Epochs of 6 steps, and the end.
    assert training.steps == [6, 12, 18, 19]
    assert model.privacy_.steps == 19
    moved = [(steps, found) for steps, found in training.increments()]
    for steps, found in moved:
        std = training.plan.noise.std * np.sqrt(steps)
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
    with recorded() as recording:
        short(DPLogisticRegression, classes=[0, 1], standardise=True).fit(X, y)
    found = list(arrays(recording, set()))
    assert len(found) > 3
    for array in found:
        assert array.base is None
        assert RECORDS not in array.shape


def test_what_is_recorded_is_a_copy():
    X, y = data()
    with recorded() as recording:
        plain = short(DPRidge, y_bounds=(0, 1), standardise=True).fit(X, y)

    class Vandal:
        def summed(self, _purpose, _time, values):
            values[:] = 0.0

        def trains(self, _problem, _plan):
            pass

        def moved(self, _steps, shared):
            shared[:] = 0.0

    with dpscd.privacy.watched.watching(Vandal()):
        again = short(DPRidge, y_bounds=(0, 1), standardise=True).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, again.coef_)
    assert recording.trainings


def test_only_released_values_are_told():
    """Four places tell, each right after noise was added, and what they tell is listed."""
    folder = Path(dpscd.__file__).parent
    told = {}
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in {"tell_sum", "summed", "trains", "moved", "watcher"}:
                arguments = ", ".join(ast.unparse(x) for x in node.args)
                where = file.relative_to(folder).as_posix()
                told.setdefault(where, set()).add(f"{name}({arguments})")
    assert told == {
        "privacy/watched.py": {"watcher()", "summed(purpose, time, released.copy())"},
        "privacy/sums.py": {"tell_sum(purpose, time, out)"},
        "solvers/dp_scd.py": {
            "watcher()", "trains(problem, plan)", "moved(first, shared.copy())",
        },
        "solvers/lazy.py": {
            "watcher()", "trains(problem, plan)", "moved(done, vector.shared(done))",
        },
        # What it is given is the vector that a step has released.
        "solvers/on_device.py": {
            "watcher()", "trains(problem, plan)", "moved(step, shared())",
        },
    }  # fmt: skip
