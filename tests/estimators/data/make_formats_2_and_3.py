"""Write the stored files of formats 2 and 3: models, and what they predict.

It was run with the sources of commits 6191f29 and ba1342e, the last that wrote these formats,
and is kept to say what is in them: ``PYTHONPATH=src python make_formats_2_and_3.py FOLDER``.
Later sources write a later format.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dpscd import (
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    TableModel,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, size=(2000, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TWO = (X[:, 0] > 0).astype(int)
THREE = np.array(["x", "y", "z"])[TWO + (X[:, 1] > 0)]
FAR = 20.0 * X  # predicted far beyond the bounds of the labels
NUMBERS = {
    "target": {"column": "y", "bounds": "private"},
    "columns": {"a": {"kind": "number", "bounds": "private"}},
}
CLASSES = {
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {"a": {"kind": "number", "bounds": [-1, 1]}},
}
SECRET = {"random_state": 0, "epochs": 2}


def models():
    """Yield one model of every kind, and what it is asked to predict."""
    yield "ridge", DPRidge(3.0, y_bounds=(-1, 1), **SECRET).fit(X, X[:, 0]), FAR
    yield "huber", DPHuberRegressor(3.0, y_bounds=(-1, 1), **SECRET).fit(X, X[:, 0]), FAR
    poisson = DPPoissonRegressor(3.0, y_bounds=(0, 3), **SECRET)
    yield "poisson", poisson.fit(X, np.round(1 + X[:, 0])), 4.0 * FAR
    logistic = DPLogisticRegression(classes=[0, 1], **SECRET)
    yield "logistic", logistic.fit(FRAME, TWO), FRAME
    three = DPLogisticRegression(classes=["x", "y", "z"], **SECRET)
    yield "logistic_3", three.fit(X, THREE), X
    svm = DPLinearSVC(classes=["x", "y", "z"], standardise=False, **SECRET)
    yield "svm", svm.fit(X, THREE), X
    open_ = DPLogisticRegression(float("inf"), classes=[0, 1], lam=0.1)
    yield "open", open_.fit(X, TWO), X
    table = FRAME.assign(y=X[:, 0])
    yield "table_ridge", TableModel(NUMBERS, DPRidge(3.0, **SECRET)).fit(table), table
    table = FRAME.assign(y=np.where(TWO == 1, "yes", "no"))
    yield (
        "table_logistic",
        TableModel(CLASSES, DPLogisticRegression(**SECRET)).fit(table),
        table,
    )


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
        if "logistic" in name or name == "open":
            shown[name]["chances"] = np.asarray(model.predict_proba(rows)).tolist()
    (folder / "predictions.json").write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
