"""Model files as an attacker would change them: the checksum is unkeyed and made again."""

import hashlib
import json

import numpy as np
import pandas as pd

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, TableModel
from dpscd.cards.card import PrivacyCard
from dpscd.estimators.files import _checksum
from dpscd.privacy.release import claim

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, size=(2000, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
SCHEMA = {
    "target": {"column": "y", "bounds": "private"},
    "columns": {
        "a": {"kind": "number", "bounds": "private"},
        "b": {"kind": "number", "bounds": [-1, 1]},
    },
}
CLASSES = {
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {"a": {"kind": "number", "bounds": [-1, 1]}},
}


def fitted(kind):
    """Return a small model of every sort of file."""
    two = (X[:, 0] > 0).astype(int)
    secret = {"random_state": 0}
    if kind == "standardised":
        return DPLogisticRegression(classes=[0, 1], epochs=2, **secret).fit(FRAME, two)
    if kind == "plain":
        model = DPLogisticRegression(classes=[0, 1], epochs=2, standardise=False, **secret)
        return model.fit(X, two)
    if kind == "three":
        model = DPLinearSVC(classes=["x", "y", "z"], epochs=2, delta=1e-6, n=1900, **secret)
        return model.fit(X, np.array(["x", "y", "z"])[two + (X[:, 1] > 0)])
    if kind == "ridge":
        options = {"lam": 0.01, "epochs": 2.0, "lot_size": 20, "travel": 0.5}
        options["intercept_scaling"] = 0.2
        return DPRidge(y_bounds=(-1, 1), **options, **secret).fit(X, X[:, 0])
    if kind == "pilot":  # whose model is used
        return DPRidge(3.0, y_bounds=(-1, 1), epochs=20, **secret).fit(X, X[:, 0])
    if kind == "unused pilot":
        model = DPRidge(3.0, y_bounds=(-1, 1), epochs=2, fit_intercept=False, **secret)
        return model.fit(X, RNG.uniform(-1, 1, len(X)))
    if kind == "cut":  # rows that are long enough to be cut, and better so
        rows = X * np.where(np.arange(len(X)) % 4, 1.0, 40.0)[:, None]
        return DPRidge(3.0, y_bounds=(-1, 1), epochs=20, **secret).fit(rows, X[:, 0])
    if kind == "stretched":  # errors that are clipped more on one side
        model = DPRidge(3.0, y_bounds=(-1, 30), epochs=20, travel=0.3, **secret)
        return model.fit(X, np.exp(3.0 * X[:, 0]))
    if kind == "bounds":
        table = FRAME.assign(y=X[:, 0])
        return TableModel(SCHEMA, DPRidge(3.0, epochs=2, **secret)).fit(table)
    if kind == "classes":
        table = FRAME.assign(y=np.where(two == 1, "yes", "no"))
        weights = {"yes": 2.0}
        model = DPLogisticRegression(epochs=2, class_weight=weights, **secret)
        return TableModel(CLASSES, model).fit(table)
    if kind == "persons":
        model = DPLogisticRegression(classes=[0, 1], epochs=2, **secret)
        return model.fit(X, two, groups=np.arange(len(X)) // 5)
    if kind == "persons by column":
        table = FRAME.assign(y=np.where(two == 1, "yes", "no"), patient=np.arange(len(X)) // 5)
        schema = {**CLASSES, "table": {"person": "patient"}}
        return TableModel(schema, DPLogisticRegression(epochs=2, **secret)).fit(table)
    assert kind == "open"
    return DPLogisticRegression(float("inf"), classes=[0, 1], lam=0.1).fit(X, two)


KINDS = (
    "standardised", "plain", "three", "ridge", "pilot", "unused pilot", "cut", "stretched",
    "bounds", "classes", "persons", "persons by column", "open",
)  # fmt: skip


def sealed(values):
    """Return the text of a file with a checksum that matches."""
    values["checksum"] = _checksum(values)
    return json.dumps(values)


def forged(model, path, change):
    """Write the file of a model with a change in it, and return its path."""
    model.save(path)
    values = json.loads(path.read_text())
    change(values)
    path.write_text(sealed(values))
    return path


def reach(values, path):
    """Return what holds the last part of a path."""
    for key in path[:-1]:
        values = values[key]
    return values


def put(*path, value):
    """Return a change that sets one value."""

    def change(values):
        reach(values, path)[path[-1]] = value

    return change


def times(factor, *path):
    """Return a change that multiplies numbers, wherever they stand below a path."""

    def scaled(value):
        return [scaled(x) for x in value] if isinstance(value, list) else factor * value

    def change(values):
        holder = reach(values, path)
        holder[path[-1]] = scaled(holder[path[-1]])

    return change


def both(*changes):
    """Return a change that makes several."""

    def change(values):
        for one in changes:
            one(values)

    return change


def without(*names):
    """Return a change that drops releases from the card."""

    def change(values):
        card = values["card"]
        card["releases"] = [x for x in card["releases"] if x["what"] not in names]

    return change


def without_pilot(values):
    """Drop the pilot and the spread after it."""
    releases = values["card"]["releases"]
    names = [x["what"] for x in releases]
    first = names.index("shared vector")
    assert names[first : first + 3] == ["shared vector", "label spread", "shared vector"]
    del releases[first : first + 2]


def repriced(values):
    """Make the card state what its releases come to: an attacker who knows this library."""
    card = PrivacyCard.from_json(json.dumps(values["card"]))
    found = claim(card.releases, card.epsilon, card.delta, card.relation, card.interval)
    for name in ("accountant", "precision_epsilon", "precision_delta"):
        values["card"][name] = getattr(found, name)
    values["card"]["public"]["reaches"] = found.epsilon


def bounds_declared(values):
    """Say that released bounds were declared, in the schema and on the card."""
    without("bounds")(values)
    table, public = values["table"], values["card"]["public"]
    schema = table["schema"]
    found, table["bounds"], public["released_bounds"] = table["bounds"], {}, {}
    schema["target"]["bounds"] = found["y"]
    schema["columns"]["a"]["bounds"] = found["a"]
    text = json.dumps(schema, sort_keys=True)
    public["schema"] = hashlib.sha256(text.encode()).hexdigest()
