"""Print what seeded fits of every kind give, to the last bit, to compare two versions.

Run it with each version first on the path, on one machine, and compare the outputs::

    git worktree add ../before COMMIT
    PYTHONPATH=../before/src python benchmarks/seeded_fits.py > before.json
    PYTHONPATH=src python benchmarks/seeded_fits.py > after.json
    diff before.json after.json

For each fit: a digest of coefficients, intercepts and their noise, the events that are
accounted for, and the epsilon that the card's releases amount to when computed again.
"""

import hashlib
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, TableModel

RNG = np.random.default_rng(0)
N, D = 12_000, 6
X = RNG.normal(size=(N, D)) / 3.0
SCORE = X @ np.linspace(1.0, -1.0, D) + 0.1 * RNG.normal(size=N)
TWO, THREE = SCORE > 0.0, np.digitize(SCORE, [-0.2, 0.2])
SPARSE = sparse.random_array((3000, 5000), density=0.004, rng=RNG, format="csr")
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "pay": RNG.lognormal(3.0, 1.0, N),
        "town": RNG.choice(["a", "b", "c"], N),
    }
)
TABLE["cost"] = 0.5 * TABLE["age"] + RNG.normal(size=N)
TABLE["old"] = np.where(TABLE["age"] + 5.0 * RNG.normal(size=N) > 60, "yes", "no")
COLUMNS = {
    "age": {"kind": "number", "bounds": [0, 100], "bins": 5},
    "pay": {"kind": "number", "bounds": "private"},
    "town": {"kind": "category", "values": ["a", "b"]},
}
CLASSES = {"target": {"column": "old", "classes": ["no", "yes"]}, "columns": COLUMNS}
NUMBERS = {"target": {"column": "cost", "bounds": "private"}, "columns": COLUMNS}
PLAIN = {
    "target": {"column": "cost", "bounds": [0, 60]},
    "columns": {**COLUMNS, "pay": {"kind": "number", "bounds": [0, 90], "missing": "column"}},
}


def ridge(epsilon: float = 1.0, **more: Any) -> DPRidge:
    """Return a seeded regression."""
    return DPRidge(epsilon, y_bounds=(-3.0, 3.0), random_state=1, **more)


def fits() -> dict[str, Any]:
    """Return fitted models by name."""
    logistic = DPLogisticRegression(1.0, classes=[False, True], random_state=2)
    three = DPLogisticRegression(1.0, classes=[0, 1, 2], random_state=3)
    far = {"relation": "add-remove", "n": N}
    found = {
        "logistic": logistic.fit(X, TWO),
        "threads": DPLogisticRegression(
            1.0, classes=[False, True], random_state=2, n_jobs=2
        ).fit(X, TWO),
        "three classes": three.fit(X, THREE),
        "hinge": DPLinearSVC(2.0, classes=[False, True], random_state=4).fit(X, TWO),
        "without standardising": ridge(standardise=False).fit(X, SCORE),
        "pilot": ridge(4.0).fit(X, SCORE),
        "no intercept": ridge(fit_intercept=False).fit(X, SCORE),
        "replace-one": ridge(relation="replace-one").fit(X, SCORE),
        "add-remove": ridge(**far).fit(X, SCORE),
        "sparse": DPLogisticRegression(1.0, classes=[0, 1], random_state=5).fit(
            SPARSE, THREE[:3000] % 2
        ),
        "sparse ridge": ridge(standardise=True).fit(SPARSE, SCORE[:3000]),
        "without privacy": ridge(float("inf")).fit(X, SCORE),
        "table of classes": TableModel(CLASSES, DPLogisticRegression(1.0, random_state=6)).fit(
            TABLE
        ),
        "table of numbers": TableModel(NUMBERS, DPRidge(2.0, random_state=7)).fit(TABLE),
        "table, declared": TableModel(PLAIN, DPRidge(0.5, random_state=8)).fit(TABLE),
        "table without privacy": TableModel(NUMBERS, DPRidge(float("inf"), random_state=7)).fit(
            TABLE
        ),
    }
    if "--dask" in sys.argv:
        found |= on_dask()
    return found


def on_dask() -> dict[str, Any]:
    """Return models fitted on two workers of this machine."""
    import dask.array
    import dask.dataframe
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        rows, labels = dask.array.from_array(X, (5000, D)), dask.array.from_array(SCORE, 5000)
        table = dask.dataframe.from_pandas(TABLE, npartitions=3)
        return {
            "pilot on Dask": ridge(4.0, epochs=3).fit(rows, labels),
            "table on Dask": TableModel(NUMBERS, DPRidge(2.0, epochs=3, random_state=7)).fit(
                table
            ),
        }


def shown(model: Any) -> dict[str, Any]:
    """Return what is compared of a model."""
    inner = getattr(model, "estimator_", model)
    bits = hashlib.sha256()
    for name in ("coef_", "intercept_", "coef_noise_", "intercept_noise_"):
        bits.update(np.asarray(getattr(inner, name), dtype=np.float64).tobytes())
    card = inner.privacy_
    return {
        "bits": bits.hexdigest(),
        "bounds": repr(getattr(model, "bounds_", None)),
        "releases": [(x.what, x.size, repr(x.event), x.clip) for x in card.releases],
        "epsilon": card.verify() if card.private else None,
    }


if __name__ == "__main__":
    results = {name: shown(model) for name, model in fits().items()}
    print(json.dumps(results, indent=1))  # noqa: T201
