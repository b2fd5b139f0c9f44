"""What it would do to shorten rows in prediction as training shortens them.

Run as ``python benchmarks/shortened.py [SEEDS]``: epsilon 1; means over seeds (5), and the
standard deviation of one. Rows are cut to `row_bound`, standardised, and cut again to the
longest standardised row. Printed are errors with rows as they are and with rows so shortened:
mean squared errors of a regression on features with heavy tails, not clipped and clipped to
the bounds of the labels, then what the model does, and the share of rows that training
shortens; then log losses of a classification with heavy tails and of the packaged Adult table.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from link import generated, judged, tables

from dpscd import DPLogisticRegression, DPRidge, TableModel
from dpscd.records.tables import table_source
from dpscd.standard import LONGEST

BOUNDS = (-8.0, 8.0)


def shortened(model: Any, X: np.ndarray) -> np.ndarray:
    """Return rows such that the line of the model at them is the one of training's rows."""
    problem = model._runs[-1]
    X = np.asarray(X, dtype=np.float64)
    lengths = np.linalg.norm(X, axis=1)
    X = X * np.minimum(1.0, problem.row_bound / np.maximum(lengths, 1e-300))[:, None]
    standard = problem.standard
    if standard is None:
        return X
    rows = (X / problem.row_bound - standard.centre) * standard.scale
    factor = np.minimum(1.0, LONGEST / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))
    scale = np.where(standard.scale > 0.0, standard.scale, 1.0)  # what is left out has none
    return (rows * factor[:, None] / scale + standard.centre) * problem.row_bound


def regression(seed: int, *, linear: bool) -> tuple[np.ndarray, ...]:
    """Return rows and labels: a line in heavy-tailed features, or one that levels off."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_t(2.5, size=(40_000, 10))
    weights = rng.normal(size=10) / np.sqrt(10.0)
    line = Z @ weights if linear else np.tanh(Z / 2.0) @ weights * 2.0
    y = np.clip(line + 0.5 * rng.normal(size=len(Z)), *BOUNDS)
    X = Z / (3.0 * np.sqrt(10.0))
    return X[:20_000], y[:20_000], X[20_000:], y[20_000:]


def show(title: str, found: list[list[float]]) -> None:
    """Print means, and the standard deviation of one seed."""
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    cells = " | ".join(f"{m:.4f} ({s:.4f})" for m, s in zip(mean, spread, strict=True))
    print(f"| {title} | {cells} |", flush=True)  # noqa: T201


def main() -> None:
    """Fit and print."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    for linear in (True, False):
        found = []
        for seed in seeds:
            X, y, X_test, y_test = regression(seed, linear=linear)
            model = DPRidge(1.0, delta=1e-5, y_bounds=BOUNDS, random_state=seed).fit(X, y)
            own, chosen = [], model.longest_row_
            model.longest_row_ = np.inf
            for clipped in (False, True):
                model.set_params(clip_predictions=clipped)
                for rows in (X_test, shortened(model, X_test)):
                    own.append(float(np.mean((model.predict(rows) - y_test) ** 2)))
            model.longest_row_ = chosen
            own.append(float(np.mean((model.predict(X_test) - y_test) ** 2)))
            moved = np.abs(shortened(model, X_test) - X_test).max(axis=1)
            own.append(float(np.mean(moved > 1e-9)))
            found.append(own)
        show("line" if linear else "levels off", found)
    found = []
    for seed in seeds:
        X, y, X_test, y_test, _ = generated("heavy tails", seed)
        model = DPLogisticRegression(1.0, delta=1e-5, classes=[0, 1], random_state=seed).fit(
            X, y
        )
        found.append(
            [
                judged(y_test, model.predict_proba(rows)[:, 1])[1]
                for rows in (X_test, shortened(model, X_test))
            ]
        )
    show("classes, heavy tails", found)
    with tempfile.TemporaryDirectory() as name:
        title, schema, train, test = next(tables(Path(name)))
        parsed = table_source(test, schema).parsed()
        found = []
        for seed in seeds:
            estimator = DPLogisticRegression(1.0, delta=1e-5, random_state=seed)
            table = TableModel(schema, estimator).fit(train)
            X, model = np.asarray(table.transform(parsed)), table.estimator_
            del model.feature_names_in_
            found.append(
                [
                    judged(parsed.target, model.predict_proba(rows)[:, 1])[1]
                    for rows in (X, shortened(model, X))
                ]
            )
    show(title, found)


if __name__ == "__main__":
    main()
