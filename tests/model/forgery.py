"""Files of small models of every kind, and how an attacker would change them in one place."""

import copy
import json
import warnings
from functools import cache

import numpy as np
import pandas as pd

from dpscd import (
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPModelSearch,
    DPPoissonRegressor,
    DPRidge,
    TableModel,
    private_score,
)
from dpscd.model.file import _checksum, fit_to_text

N = 2000
X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(N, 3))
Y = X[:, 0]
TWO = (Y > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
BOUNDS = {
    "target": {"column": "y", "bounds": "private"},
    "columns": {
        "a": {"kind": "number", "bounds": "private"},
        "b": {"kind": "number", "bounds": [-1, 1], "shape": "smooth", "monotone": "up"},
    },
}
CLASSES = {
    "table": {"person": "patient"},
    "target": {"column": "y", "classes": ["yes", "no"]},
    "columns": {
        "a": {"kind": "number", "bounds": [-1, 1]},
        "c": {"kind": "category", "values": ["low", "high", "never"]},
    },
}


def _ridge(**changes):
    return DPRidge(**{"epsilon": 3.0, "y_bounds": (-1, 1), "random_state": 0, **changes})


def _logistic(**changes):
    return DPLogisticRegression(**{"classes": [0, 1], "random_state": 0, **changes})


def _table():
    cells = {"c": np.where(X[:, 2] > 0, "high", "low"), "patient": np.arange(N) // 5}
    return FRAME.assign(y=np.where(TWO == 1, "yes", "no"), **cells)


def _cut():
    rows = X * np.where(np.arange(N) % 4, 1.0, 40.0)[:, None]
    return _ridge(epochs=20).fit(rows, Y)


def _stretched():
    return _ridge(y_bounds=(-1, 30), epochs=20, travel=0.3).fit(X, np.exp(3.0 * Y))


def _searched():
    candidates = [DPLogisticRegression(classes=[0, 1], lam=lam) for lam in (0.1, 1.0)]
    search = DPModelSearch(candidates, epsilon=3.0, random_state=0)
    return search.fit(X, TWO).best_estimator_


MODELS = {
    "plain": lambda: _logistic(epochs=2, standardise=False).fit(X, TWO),
    "link": lambda: _logistic(epochs=2).fit(FRAME, TWO),
    "undeclared": lambda: _logistic(epochs=2, classes=None).fit(X, TWO),
    "weights": lambda: _logistic(epochs=2, class_weight={1: 2.0}).fit(X, TWO),
    "softmax": lambda: _logistic(epochs=2, classes=["x", "y", "z"], n=1900, delta=1e-6).fit(
        X, np.array(["x", "y", "z"])[TWO + (X[:, 1] > 0)]
    ),
    "svm": lambda: DPLinearSVC(classes=[0, 1, 2], epochs=2, random_state=0).fit(X, TWO),
    "pilot": lambda: _ridge(epochs=20).fit(X, Y),
    "cut": _cut,
    "stretched": _stretched,
    "given": lambda: _ridge(
        lam=0.01, epochs=2.0, lot_size=20, travel=0.5, intercept_scaling=0.2
    ).fit(X, Y),
    "huber": lambda: DPHuberRegressor(3.0, y_bounds=(-1, 1), epochs=2, random_state=0).fit(
        X, Y
    ),
    "poisson": lambda: DPPoissonRegressor(
        3.0, y_bounds=(0, 9), exposure_bounds=(0.5, 4.0), epochs=2, random_state=0
    ).fit(X, TWO, exposure=np.ones(N)),
    "inference": lambda: _ridge(epsilon=2.0, inference=True).fit(X, Y),
    "robust": lambda: _logistic(epsilon=9.0, inference="robust").fit(X, TWO),
    "persons": lambda: _logistic(epochs=2).fit(X, TWO, groups=np.arange(N) // 5),
    "bounds": lambda: TableModel(BOUNDS, _ridge(epochs=2, y_bounds=None)).fit(
        FRAME.assign(y=Y)
    ),
    "table": lambda: TableModel(CLASSES, _logistic(epochs=2, classes=None)).fit(_table()),
    "search": _searched,
    "open": lambda: _logistic(epsilon=float("inf"), lam=0.1).fit(X, TWO),
    "open table": lambda: TableModel(BOUNDS, _ridge(epsilon=float("inf"), y_bounds=None)).fit(
        FRAME.assign(y=Y)
    ),
}


@cache
def fitted(kind):
    """Return a small model of a kind of file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[kind]()


@cache
def content(kind):
    """Return what its file holds."""
    return json.loads(fit_to_text(fitted(kind).fit_))


@cache
def content_of_score():
    """Return what the file of a score holds."""
    score = private_score(fitted("svm"), X, TWO, epsilon=1.0, random_state=0)
    return json.loads(fit_to_text(score.fit_))


def sealed(values):
    """Return the text of a file with a checksum that matches."""
    values = {name: value for name, value in values.items() if name != "checksum"}
    return json.dumps({**values, "checksum": _checksum(values)})


def places(values, path=()):
    """Yield the paths of all that is below, branches too."""
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def at(values, path):
    """Return what stands at a path."""
    for key in path:
        values = values[key]
    return values


def put(values, path, value):
    """Return a copy with another value at a path."""
    found = copy.deepcopy(values)
    at(found, path[:-1])[path[-1]] = value
    return found


#: Values that stand in the place of any other; most are of another type.
_ODD = (
    None, True, False, 0, 1, -1, 10**400, 2**63, 0.5, -0.0, 1e308, -1e308, 5e-324, "", "inf",
    "nan", "1", "x" * 300, "\x00", "os.system", [], {}, [[]], [None], {"float": "nan"},
    {"shape": [10**12], "float64": ""}, {"shape": [0], "float64": "AAAA"},
)  # fmt: skip
_FACTORS = (0.0, -1.0, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12, 1 + 1e-12, 1 + 1e-6, 1.1, 2.0, 10.0, 1e9)
_DEPTH = 200


def others(value):
    """Yield what one place may be changed to: other values, sizes, types and depths."""
    if type(value) in (int, float):
        yield from (type(value)(value * factor) for factor in _FACTORS)
        yield from (value + 1, value - 1, float(value), round(value))
    elif isinstance(value, str):
        yield from (value + "x", value[:-1], value.upper(), value[::-1])
    elif isinstance(value, list):
        last = value[-1:]
        yield from (value[:-1], value[1:], value + last, value[::-1], [*value, 0.0])
        yield from ([*value, None], value * 2, [value], [[]] * len(value))
    elif isinstance(value, dict):
        for key in value:
            yield {name: one for name, one in value.items() if name != key}
            yield {(name if name != key else f"{key} "): one for name, one in value.items()}
        yield {**value, "more": 1}
    yield from _ODD
    deep = value
    for _ in range(_DEPTH):
        deep = [deep]
    yield deep


def mutations(values, strangers=()):
    """Yield the paths and other values of changes of a file in one place.

    That is also what files of strangers have in the same place.
    """
    for path in places(values):
        if path[0] != "checksum":
            value = at(values, path)
            more = [at(one, path) for one in strangers if path in set(places(one))]
            for other in (*others(value), *more):
                if not same(other, value):
                    yield path, other


def same(one, other):
    """Return whether two values are written alike, but for the sign of a zero."""
    return type(one) is type(other) and one == other
