"""Mean probability and log loss of private logistic regressions, by three ways to get them.

Sigmoids and the link of a fit that releases nothing after training; and the link of one whose
intercept is shifted by a calibration.

Run as ``DPSCD_DATA=... python benchmarks/link.py [tables|generated] [SEEDS] [EPSILON]``.

tables: the packaged Adult table and bank (raw columns, every fifth record for testing) beside
a model of the same features without privacy (lam 1e-6): means over 10 seeds, and the standard
deviation of one. generated: 20,000 records (2,000 where few) of several kinds, 20,000 others
for testing, beside the true probabilities: means over 5 seeds.
"""

import gzip
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.metrics import log_loss

from dpscd import DPLogisticRegression, Schema, TableModel
from dpscd.data.adult import packaged
from dpscd.link import Link
from dpscd.records.tables import table_source

NUMBERS = {
    "age": [17, 100], "campaign": [1, 60], "previous": [0, 10], "emp.var.rate": [-4, 2],
    "cons.price.idx": [92, 95], "cons.conf.idx": [-52, -26], "euribor3m": [0.5, 5.5],
    "nr.employed": [4900, 5300],
}  # fmt: skip
YES_NO = ["no", "unknown", "yes"]
VALUES = {
    "job": ["admin.", "blue-collar", "entrepreneur", "housemaid", "management", "retired",
            "self-employed", "services", "student", "technician", "unemployed", "unknown"],
    "marital": ["divorced", "married", "single", "unknown"],
    "education": ["basic.4y", "basic.6y", "basic.9y", "high.school", "illiterate",
                  "professional.course", "university.degree", "unknown"],
    "default": YES_NO, "housing": YES_NO, "loan": YES_NO,
    "contact": ["cellular", "telephone"],
    "month": ["jan", "feb", "mar", "apr", "may", "jun",
              "jul", "aug", "sep", "oct", "nov", "dec"],
    "day_of_week": ["mon", "tue", "wed", "thu", "fri"],
    "poutcome": ["failure", "nonexistent", "success"],
}  # fmt: skip
BANK = {
    "table": {"delimiter": ";", "missing": ["999"]},
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {
        **{name: {"kind": "number", "bounds": bounds} for name, bounds in NUMBERS.items()},
        "pdays": {"kind": "number", "bounds": [0, 30], "missing": "column"},
        "duration": {"kind": "ignore"},
        **{name: {"kind": "category", "values": values} for name, values in VALUES.items()},
    },
}
# Length of the weights, intercept, and what else is special.
KINDS = {
    "balanced, noisy": (1.0, 0.0),
    "1.5 % positive": (1.5, -5.5),
    "5 % positive": (1.5, -4.0),
    "12 % positive": (1.5, -2.9),
    "strong signal": (6.0, 0.0),
    "nearly separable": (20.0, 0.0),
    "nearly separable, 7 %": (8.0, -14.0),
    "correlated": (1.5, -1.0),
    "heavy tails": (1.5, -1.0),
    "200 columns": (1.5, -1.0),
    "2,000 records": (1.5, -1.0),
}


def tables(folder: Path) -> Iterator[tuple[str, Schema, Path, Path]]:
    """Yield the name of a table, its schema and its files of training and testing."""
    for file in ("adult.data", "adult.test"):
        (folder / file).write_bytes(packaged(file))
    schema = Schema.parse(packaged("adult.toml").decode())
    yield "Adult", schema, folder / "adult.data", folder / "adult.test"
    source = Path(os.environ["DPSCD_DATA"]) / "bank" / "bank-additional-full.csv.gz"
    header, *lines = gzip.decompress(source.read_bytes()).decode().splitlines()
    for name, own in (("train", False), ("test", True)):
        part = [line for i, line in enumerate(lines) if (i % 5 == 0) == own]
        (folder / f"bank_{name}.csv").write_text("\n".join([header, *part]) + "\n")
    yield "bank", Schema.from_dict(BANK), folder / "bank_train.csv", folder / "bank_test.csv"


def generated(kind: str, seed: int) -> tuple[np.ndarray, ...]:
    """Return rows and labels of training, and rows, labels and true chances of testing."""
    rng = np.random.default_rng(1000 + seed)
    n, d = 2000 if "records" in kind else 20_000, 200 if "columns" in kind else 10
    Z = rng.normal(size=(n + 20_000, d))
    if kind == "correlated":
        common = rng.normal(size=(d, 3))
        Z = (rng.normal(size=(len(Z), 3)) @ common.T + 0.3 * Z) / np.sqrt(3.0)
    if kind == "heavy tails":
        Z = rng.standard_t(2.5, size=Z.shape)
    length, intercept = KINDS[kind]
    weights = length * rng.normal(size=d) / np.sqrt(d)
    chance = 1.0 / (1.0 + np.exp(-np.clip(Z @ weights + intercept, -700.0, 700.0)))
    y = (rng.random(len(Z)) < chance).astype(int)
    X = (Z if kind == "heavy tails" else np.clip(Z, -3.0, 3.0)) / (3.0 * np.sqrt(d))
    return X[:n], y[:n], X[n:], y[n:], chance[n:]


def judged(labels: np.ndarray, chance: np.ndarray) -> tuple[float, float]:
    """Return the mean probability and the log loss."""
    return float(chance.mean()), log_loss(labels, np.clip(chance, 1e-15, 1.0 - 1e-15))


def both(decisions: np.ndarray, link: Link, y: np.ndarray) -> list[float]:
    """Return mean probability and log loss by sigmoids and by the model's link."""
    return [
        number
        for each in (Link(), link)
        for number in judged(y, np.exp(each.log_chances(decisions)[:, 1]))
    ]


def three(fit: Callable[[], tuple[np.ndarray, Link]], y: np.ndarray) -> list[float]:
    """Return the same for fits without a calibration, and by the link of one with it."""
    with mock.patch("dpscd.planning._after", return_value=()):
        found = both(*fit(), y)
    return [*found, *both(*fit(), y)[2:]]


def open_fit(table: TableModel, train: Path, test: Path) -> tuple[float, float]:
    """Return mean probability and log loss of the same features without privacy."""
    parsed = [table_source(path, table.schema_).parsed() for path in (train, test)]
    X, X_test = (np.asarray(table.transform(part)) for part in parsed)
    known = parsed[0].target >= 0
    model = DPLogisticRegression(np.inf, lam=1e-6, classes=[0, 1])
    model.fit(X[known], parsed[0].target[known])
    return judged(parsed[1].target, model.predict_proba(X_test)[:, 1])


def show_tables(seeds: int, epsilon: float) -> None:
    """Fit and print what the tables give."""
    with tempfile.TemporaryDirectory() as name:
        for title, schema, train, test in tables(Path(name)):
            y = table_source(test, schema).parsed().target
            found, fitted = [], []
            for seed in range(seeds):

                def fit(schema=schema, train=train, test=test, fitted=fitted, seed=seed):
                    estimator = DPLogisticRegression(epsilon, delta=1e-5, random_state=seed)
                    table = TableModel(schema, estimator).fit(train)
                    fitted[:] = [table]
                    model, rows = table.estimator_, np.asarray(table.transform(test))
                    return rows @ model.coef_[0] + model.intercept_, model.link_

                found.append(three(fit, y))
            aim = open_fit(fitted[0], train, test)
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
            print(  # noqa: T201
                f"| {title} | {y.mean():.4f} | {aim[0]:.4f} / {aim[1]:.4f} "
                f"| {mean[0]:.4f} / {mean[1]:.4f} | {mean[2]:.4f} / {mean[3]:.4f} "
                f"| {mean[4]:.4f} ({spread[4]:.4f}) / {mean[5]:.4f} ({spread[5]:.4f}) "
                f"| {mean[4] / aim[0] - 1:+.1%} / {mean[5] / aim[1] - 1:+.1%} |",
                flush=True,
            )


def show_generated(seeds: int, epsilon: float) -> None:
    """Fit and print what the generated records give."""
    for kind in KINDS:
        found, links = [], []
        for seed in range(seeds):
            X, y, X_test, y_test, chance = generated(kind, seed)
            model = DPLogisticRegression(epsilon, delta=1e-5, classes=[0, 1], random_state=seed)

            def fit(model=model, X=X, y=y, X_test=X_test):
                model.fit(X, y)
                return model.decision_function(X_test), model.link_

            found.append([*judged(y_test, chance), *three(fit, y_test)])
            links.append([model.link_.scale, *model.link_.caps])
        mean = np.mean(found, axis=0)
        scale, cap = np.mean(links, axis=0)[:2]
        print(  # noqa: T201
            f"| {kind} | {mean[1]:.4f} | {mean[2] / mean[0]:.2f} / {mean[3]:.4f} "
            f"| {mean[4] / mean[0]:.2f} / {mean[5]:.4f} "
            f"| {mean[6] / mean[0]:.2f} / {mean[7]:.4f} | {scale:.2f}, {cap:.2f} |",
            flush=True,
        )


def main() -> None:
    """Fit and print a table."""
    what = sys.argv[1] if len(sys.argv) > 1 else "tables"
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else (10 if what == "tables" else 5)
    epsilon = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    (show_tables if what == "tables" else show_generated)(seeds, epsilon)


if __name__ == "__main__":
    main()
