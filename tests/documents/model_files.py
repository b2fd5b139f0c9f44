"""Small models for tests of the page about a model: quick to train, varied to show."""

import datetime
import math
import warnings

import numpy as np
import pandas as pd

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, Ledger, TableModel
from dpscd.documents.described import Described
from dpscd.documents.write import page
from dpscd.persons import PersonFacts
from refits import with_facts

#: A name that would do harm if it were not escaped.
EVIL = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&{x}"

N = 600


def people(seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "hours": rng.uniform(0, 80, N),
            "town": rng.choice(["north", "south", "far away"], N),
            "member": rng.choice(["yes", "no"], N),
            "id": np.arange(N),
        }
    )
    table["retired"] = np.where(table["age"] > 60, "yes", "no")
    return table


SCHEMA = {
    "target": {"column": "retired", "classes": ["no", "yes"]},
    "columns": {
        "age": {"kind": "number", "bounds": [0, 120], "bins": 6},
        "hours": {"kind": "number", "bounds": "private"},
        "town": {"kind": "category", "values": ["north", "south"], "missing": "column"},
        "member": {"kind": "boolean"},
        "id": {"kind": "ignore"},
    },
}


def table_model(schema=SCHEMA, estimator=None, table=None):
    estimator = estimator or DPLogisticRegression(1.0, epochs=2)
    return TableModel(schema, estimator).fit(people() if table is None else table)


def charged(path):
    """Return a model that was charged to a ledger as the second of two fits."""
    ledger = Ledger.init(path, "people", epsilon=2.0, delta=1e-3)
    for epsilon in (0.5, 1.0):
        estimator = DPLogisticRegression(
            epsilon, delta=1e-5, epochs=2, ledger=str(path), dataset="people"
        )
        model = table_model(estimator=estimator)
    return model, ledger


def evil_model():
    """Return a model whose every name is hostile."""
    table = people().rename(columns={"town": EVIL, "retired": EVIL + "2"})
    classes = ["no" + EVIL, "yes" + EVIL]
    table[EVIL + "2"] = np.where(people()["retired"] == "yes", classes[1], classes[0])
    columns = {
        "age": {**SCHEMA["columns"]["age"], "read_from_data": True},
        EVIL: {"kind": "category", "values": ["north", EVIL], "read_from_data": True},
    }
    schema = {"target": {"column": EVIL + "2", "classes": classes}, "columns": columns}
    return table_model(schema, table=table)


def paired(few=False, **table):
    """Return a model with pairs of every kind, one of them too large for its map, or a few."""
    rng = np.random.default_rng(3)
    towns = [f"town number {k}" for k in range(26)]
    people_too = people().assign(town=rng.choice(towns, N), day=rng.uniform(0, 365, N))
    columns = {
        **SCHEMA["columns"],
        "town": {"kind": "category", "values": towns},
        "day": {"kind": "number", "bounds": [0, 365], "shape": "smooth"},
        "weight": {"kind": "number", "bounds": [0, 200], "monotone": "down"},
    }
    pairs = [
        ["member", "age"],
        {"columns": ["town", "day"], "bins": 13},
        {"columns": ["hours", "day"], "bins": 3},
    ]
    pairs += [["member", name] for name in ("hours", "day", "town")] + [["age", "hours"]]
    pairs = pairs[:1] if few else pairs
    schema = {"table": {"pairs": pairs, **table}, **SCHEMA, "columns": columns}
    if table:
        del columns["weight"]["monotone"]
    return table_model(schema, table=people_too.assign(weight=70))


def features(d=3, seed=1):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, size=(N, d))


def ridge(**options):
    X = features(1)
    return DPRidge(y_bounds=(-1, 1), **{"epochs": 2, **options}).fit(X, X[:, 0])


def not_private():
    return ridge(epsilon=math.inf, lam=0.01)


def many_classes(estimator=DPLinearSVC):
    X = features()
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.2, 0.2])]
    return estimator(2.0, classes=["low", "middle", "high"], epochs=2).fit(X, y)


def careless():
    """Return a model with every warning that a private one can have but the schema's."""
    X = features()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPLogisticRegression(20.0, delta=0.01, epochs=2, random_state=0)
        return model.fit(X, np.where(X[:, 0] > 0, 1, 0))


def _with_line():
    """Return the schema of people with lines in place of bins, and many of them."""
    columns = {**SCHEMA["columns"], "age": {"kind": "number", "bounds": [0, 120]}}
    many = pd.concat([people(seed) for seed in range(8)], ignore_index=True)
    chance = np.random.default_rng(9).uniform(size=len(many)) < 0.2
    many["retired"] = np.where((many["age"] > 60) ^ chance, "yes", "no")
    return {**SCHEMA, "columns": columns}, many


def table_intervals():
    """Return a model of a table with intervals, and a level that has none."""
    schema, many = _with_line()
    towns = {"kind": "category", "values": ["north", "south", "far away", "nowhere"]}
    schema["columns"]["town"] = towns
    schema["columns"]["hours"] = {"kind": "number", "bounds": [0, 80], "transform": "log1p"}
    return table_model(schema, DPLogisticRegression(4.0, inference=True), many)


def evil_intervals():
    """Return a model with intervals whose names are hostile."""
    schema, many = _with_line()
    many = many.rename(columns={"town": EVIL})
    many[EVIL] = many[EVIL].replace("south", EVIL + "2")
    levels = {"kind": "category", "values": [EVIL + "2", "north", "far away", EVIL + "3"]}
    schema["columns"] = {EVIL: levels, "age": schema["columns"]["age"]}
    return table_model(schema, DPLogisticRegression(4.0, inference=True), many)


def ridge_intervals():
    """Return a regression of arrays with robust intervals."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.5, 0.5, size=(3000, 3))
    y = np.clip(X @ [1.0, 0.02, -0.3] + rng.normal(size=3000) / 4, -1, 1)
    return DPRidge(4.0, y_bounds=(-1, 1), inference="robust").fit(X, y)


def of_persons(model, column="patient", weight="share"):
    """Return a model whose card says that it protects persons."""
    return with_facts(model, persons=PersonFacts(column, weight))


#: The day of pages.
NOW = datetime.datetime(2030, 1, 2, tzinfo=datetime.UTC)


def page_of(model, ledger=None, name="m", **more):
    """Return the page about a model."""
    return page(Described(model, name, "0" * 64, NOW), ledger, **more)
