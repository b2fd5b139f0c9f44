"""A fit is the fold of its answers: nothing else is needed to learn its numbers again."""

import math
import pickle
import warnings
from dataclasses import fields, is_dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tape
from dpscd import ModelFileError, UtilityWarning
from dpscd.estimators.loading import read_fit
from dpscd.model.fit import fold, numbers_of

# One of each task, of persons, of sparse rows, of a table and of inference.
QUICK = {
    "ridge", "logistic", "poisson", "persons, share", "sparse ridge", "released bounds",
    "inference, ridge", "score",
}  # fmt: skip

#: What a fit leaves on an estimator.
FITTED = {
    "_sklearn_version", "bounds_", "estimator_", "feature_names_in_", "fit_", "n_features_in_",
    "schema_",
}  # fmt: skip


def models(where):
    """Return the names of the tape's private fits; others have no answers."""
    names = [name for name, fit in tape.FITS.items() if fit.where == where]
    return [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.full)
        for name in names
        if not name.startswith("without privacy")
    ]


def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)  # few records, on purpose
        made = tape.FITS[name].make()
    return getattr(made, "best_estimator_", made)


def assert_same_bits(found, expected):
    found, expected = found.arrays(), expected.arrays()
    assert found.keys() == expected.keys()
    for name, own in expected.items():
        assert found[name].shape == own.shape
        assert found[name].tobytes() == own.tobytes(), name


def stray(thing, seen):
    """Yield the attributes that nobody declared, of all that is reachable from a fitted one."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    own = getattr(thing, "__dict__", {})
    declared = set(own)
    if hasattr(thing, "get_params"):
        declared = {*thing.get_params(deep=False), *FITTED}
    elif is_dataclass(thing):
        declared = {f.name for f in fields(thing)} | {
            name
            for each in type(thing).__mro__
            for name, value in vars(each).items()
            if isinstance(value, cached_property)
        }
    yield from (f"{type(thing).__name__}.{name}" for name in set(own) - declared)
    parts = thing.values() if isinstance(thing, dict) else own.values()
    if isinstance(thing, list | tuple | set | frozenset):
        parts = thing
    for part in parts:
        if not isinstance(part, type):
            yield from stray(part, seen)


def check(model, path):
    """Fold the answers of a model here, and once more as a file has them."""
    fit = model.fit_
    for one in (model, pickle.loads(pickle.dumps(model))):
        assert list(stray(one, {})) == []
    assert fit.answers
    assert all(np.isfinite(answer).all() for answer in fit.answers)
    assert_same_bits(numbers_of(fold(fit.plan, fit.answers)), fit.numbers)
    model.save(path)
    read = read_fit(path)
    assert read.plan == fit.plan
    assert_same_bits(read.numbers, fit.numbers)
    assert_same_bits(numbers_of(read.state), fit.numbers)


@pytest.mark.parametrize("name", models(tape.HERE))
def test_the_fold_is_the_fit_to_the_last_bit(name, tmp_path):
    with threadpool_limits(1):
        check(fitted(name), tmp_path / "model")


@pytest.mark.parametrize("name", models(tape.JAX))
def test_so_it_is_where_another_engine_trained(name, tmp_path):
    pytest.importorskip("jax")
    with threadpool_limits(1):
        check(fitted(name), tmp_path / "model")


@pytest.mark.full
def test_so_it_is_on_workers(tmp_path):
    with threadpool_limits(1), tape._workers():
        for (name,) in (each.values for each in models(tape.DASK)):
            check(fitted(name), tmp_path / "model")


def test_stored_numbers_are_what_answers_give_but_for_rounding():
    fit = fitted("ridge").fit_

    def moved(part):
        return replace(fit, numbers=replace(fit.numbers, coef=(1.0 + part) * fit.numbers.coef))

    assert moved(1e-10).verify() == fit.verify()
    with pytest.raises(ModelFileError, match="coefficients are not what its answers give"):
        moved(1e-8).verify()
    for answers in (fit.answers[:-1], (*fit.answers, fit.answers[-1]), fit.answers[::-1]):
        with pytest.raises(ModelFileError, match="answers are not those of its releases"):
            replace(fit, answers=answers).verify()


def test_a_fit_without_privacy_has_no_answers():
    fit = fitted("without privacy").fit_
    assert (fit.plan.releases, fit.answers) == ((), ())
    assert math.isinf(fit.verify())
