"""Write the stored files of format 1: models, what they predict, and ledgers.

It was run with the sources of commit 7e872db, the last that wrote this format, and is kept to
say what is in them: ``PYTHONPATH=src python make_format_1.py FOLDER``. Later sources write a
later format.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, Ledger, TableModel
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.release import Release

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, size=(2000, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TWO = (X[:, 0] > 0).astype(int)
THREE = np.array(["x", "y", "z"])[TWO + (X[:, 1] > 0)]
NUMBERS = {
    "target": {"column": "y", "bounds": "private"},
    "columns": {
        "a": {"kind": "number", "bounds": "private"},
        "b": {"kind": "number", "bounds": [-1, 1]},
    },
}
CLASSES = {
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {
        "a": {"kind": "number", "bounds": [-1, 1]},
        "side": {"kind": "category", "values": ["left", "right"]},
    },
}
SIDES = np.where(X[:, 1] > 0, "right", "left")
SECRET = {"random_state": 0}


def models():
    """Yield one model of every kind, and what it is asked to predict."""
    yield "ridge", DPRidge(3.0, y_bounds=(-1, 1), epochs=2, **SECRET).fit(X, X[:, 0]), X
    logistic = DPLogisticRegression(classes=[0, 1], epochs=2, **SECRET)
    yield "logistic", logistic.fit(FRAME, TWO), FRAME
    svm = DPLinearSVC(classes=["x", "y", "z"], epochs=2, standardise=False, **SECRET)
    yield "svm", svm.fit(X, THREE), X
    open_ = DPLogisticRegression(float("inf"), classes=[0, 1], lam=0.1)
    yield "open", open_.fit(X, TWO), X
    table = FRAME.assign(y=X[:, 0])
    model = TableModel(NUMBERS, DPRidge(3.0, epochs=2, **SECRET))
    yield "table_ridge", model.fit(table), table
    table = FRAME.assign(side=SIDES, y=np.where(TWO == 1, "yes", "no"))
    model = TableModel(CLASSES, DPLogisticRegression(epochs=2, **SECRET))
    yield "table_logistic", model.fit(table), table


def ledgers(folder):
    """Write a ledger with each filter: one fit that ended and one that did not."""
    release = Release("shared vector", SampledGaussian(0.01, 2.0, 100), 1.0, 4, 2000)
    for name in ("basic", "renyi"):
        ledger = Ledger.init(
            folder / f"{name}.db", "people", epsilon=3.0, delta=1e-4, filter=name
        )
        for ended in (True, False):
            number = ledger.reserve(
                "people", (release,), 1.0, 1e-5, "zero-out", label="DPRidge"
            )
            if ended:
                ledger.commit(number)


def main(folder):
    """Write everything into a folder."""
    shown = {}
    for name, model, data in models():
        model.save(folder / f"{name}.json")
        rows = data[:5]
        shown[name] = {
            "columns": list(getattr(rows, "columns", ())),
            "rows": np.asarray(rows).tolist(),
            "predicted": np.asarray(model.predict(rows)).tolist(),
        }
    (folder / "predictions.json").write_text(json.dumps(shown, indent=1) + "\n")
    ledgers(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
