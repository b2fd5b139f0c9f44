"""Accuracy, AUC and log loss of raw Adult by the shape of its five numbers.

Run as ``python benchmarks/shapes.py [SEEDS]``: logistic regressions of the packaged table
without bins, everything else automatic; trained on adult.data, judged on adult.test.
Medians over seeds (5), and the range of the accuracy.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from dpscd import DPLogisticRegression, Schema, TableModel
from dpscd.data.adult import packaged
from dpscd.records.tables import table_source

EPSILONS = (0.1, 0.5, 1.0, 2.0)


def schema_with(shape: str) -> Schema:
    """Return the packaged schema with one shape for every number."""
    values = Schema.parse(packaged("adult.toml").decode()).to_dict()
    for column in values["columns"].values():
        if column["kind"] == "number":
            column.pop("bins", None)
            column["shape"] = shape
    return Schema.from_dict(values)


def judged(schema: Schema, epsilon: float, seed: int, folder: Path) -> tuple[float, ...]:
    """Return accuracy, AUC and log loss of one fit."""
    estimator = DPLogisticRegression(epsilon, delta=1e-5, random_state=seed)
    model = TableModel(schema, estimator).fit(folder / "adult.data")
    test = table_source(folder / "adult.test", model.schema_).parsed()
    chance = model.predict_proba(test)[:, 1]
    right = np.mean((chance > 0.5) == (test.target == 1))
    return float(right), roc_auc_score(test.target, chance), log_loss(test.target, chance)


def main() -> None:
    """Fit and print a table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("adult.data", "adult.test"):
            (folder / file).write_bytes(packaged(file))
        for shape in ("line", "steps", "smooth", "auto"):
            schema = schema_with(shape)
            for epsilon in EPSILONS:
                found = np.array([judged(schema, epsilon, s, folder) for s in range(seeds)])
                accuracy, auc, loss = np.median(found, axis=0)
                low, high = found[:, 0].min(), found[:, 0].max()
                print(  # noqa: T201
                    f"{shape:6s} epsilon {epsilon:<4g} accuracy {accuracy:.4f} ({low:.4f} to "
                    f"{high:.4f}) AUC {auc:.4f} log loss {loss:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
