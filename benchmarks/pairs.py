"""What a declared pair gains where two columns act together, and costs where they do not.

Run as ``python benchmarks/pairs.py [SEEDS]``: ridge regressions of generated tables of a month,
an hour and four more numbers, by four laws: a day that turns round in summer ("turns"), a wave
over two numbers ("surface"), a corner of two numbers ("corner"), and effects that add up
("apart"); where waves and corners lie is drawn too, so that no knot is at an advantage. Mean
squared error on 20,000 further records, where 1 is the noise of the labels; means over seeds
(4) and the standard error of the difference that the pair makes. Columns: without the pair,
with it at so many intervals, and with those that follow from epsilon and n, named last.

Or as ``python benchmarks/pairs.py adult [SEEDS]``: raw Adult, trained on adult.data, judged on
adult.test, with no pair and with one of two; accuracy, AUC and log loss, means over seeds (5).
"""

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from dpscd import DPLogisticRegression, DPRidge, Schema, TableModel
from dpscd.data.adult import FILES, packaged
from dpscd.records.tables import table_source

BINS = (1, 3, 4, 6, 8, 12)
SIZES = ((5000, 1.0), (20_000, 0.5), (20_000, 2.0))
LAWS = {
    "turns": ["month", "hour"],
    "surface": ["x0", "x1"],
    "corner": ["x0", "x1"],
    "apart": ["month", "hour"],
}
ADULT = ([], [["age", "marital-status"]], [["age", "education-num"]])


def loss(law: str, n: int, epsilon: float, seed: int, pair: Any) -> tuple[float, Any]:
    """Return the mean squared error of one fit, and the intervals of its pair."""
    rng = np.random.default_rng(seed)
    count = n + 20_000
    month, hour = rng.integers(0, 12, count), rng.uniform(0.0, 24.0, count)
    u = rng.uniform(-1.0, 1.0, (count, 4))
    a, b = rng.uniform(-0.5, 0.5, 2)
    day = 1.5 * np.sin((hour / 12.0 + 2.0 * a) * np.pi)
    table = pd.DataFrame({"month": month, "hour": hour})
    for k in range(4):
        table[f"x{k}"] = u[:, k]
    truth = u[:, 2] + (day * np.where((month > 2) & (month < 9), 1.0, -1.0))
    if law == "surface":
        truth = u[:, 2] + day + 1.5 * np.sin(3.0 * (u[:, 0] - a) * (u[:, 1] - b))
    if law == "corner":
        truth = u[:, 2] + day + 2.0 * ((u[:, 0] > a) & (u[:, 1] > b))
    if law == "apart":
        truth = u[:, 2] + day + 0.2 * (month - 5.5)
    table["y"] = truth + rng.normal(size=count)
    columns: dict[str, Any] = {
        "month": {"kind": "category", "values": list(range(12)), "complete": True},
        "hour": {"kind": "number", "bounds": [0, 24]},
    }
    columns |= {f"x{k}": {"kind": "number", "bounds": [-1, 1]} for k in range(4)}
    values = {"target": {"column": "y", "bounds": [-8, 8]}, "columns": columns}
    schema = Schema.from_dict({**values, "table": {"pairs": pair}})
    model = TableModel(schema, DPRidge(epsilon, delta=1e-5, random_state=seed)).fit(table[:n])
    error = float(np.mean((model.predict(table[n:]) - table["y"][n:]) ** 2))
    return error, model.schema_.pairs[0].bins if pair else None


def generated(seeds: int) -> None:
    """Fit generated tables and print the errors."""
    print("n, epsilon, law: none", *BINS, "auto, its gain, intervals")  # noqa: T201
    for n, epsilon in SIZES:
        for law, names in LAWS.items():
            choices: list[Any] = [[], *([{"columns": names, "bins": x}] for x in BINS), [names]]
            found = [
                [loss(law, n, epsilon, seed, pair) for seed in range(seeds)] for pair in choices
            ]
            errors = np.array([[error for error, _ in row] for row in found])
            gain = errors[0] - errors[-1]
            spread = gain.std(ddof=1) / np.sqrt(seeds)
            print(  # noqa: T201
                f"{n:,} {epsilon:g} {law}:",
                *(f"{x:.3f}" for x in errors.mean(axis=1)),
                f"{gain.mean():+.3f} ± {spread:.3f}",
                found[-1][0][1],
                flush=True,
            )


def adult(seeds: int) -> None:
    """Fit raw Adult and print what each pair changes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            (Path(folder) / name).write_bytes(packaged(name))
        train, test = (Path(folder) / name for name in FILES)
        plain = Schema.parse(packaged("adult.toml").decode()).to_dict()
        for epsilon in (0.1, 1.0):
            for pairs in ADULT:
                schema = {**plain, "table": {**plain.get("table", {}), "pairs": pairs}}
                found = []
                for seed in range(seeds):
                    estimator = DPLogisticRegression(epsilon, delta=1e-5, random_state=seed)
                    model = TableModel(schema, estimator).fit(train)
                    records = table_source(test, model.schema_).parsed()
                    chance, truth = model.predict_proba(records)[:, 1], records.target
                    right = float(np.mean((chance > 0.5) == (truth == 1)))
                    auc = float(roc_auc_score(truth, chance))
                    found.append((right, auc, float(log_loss(truth, chance))))
                mean = np.mean(found, axis=0)
                error = np.std(found, axis=0, ddof=1) / np.sqrt(seeds)
                print(  # noqa: T201
                    f"{epsilon:g} {' x '.join(pairs[0]) if pairs else 'none'}:",
                    *(f"{a:.4f} ± {b:.4f}" for a, b in zip(mean, error, strict=True)),
                    f"({model.estimator_.n_features_in_} features)",
                    flush=True,
                )


def main() -> None:
    """Fit and print."""
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    if words[:1] == ["adult"]:
        adult(int(words[1]) if len(words) > 1 else 5)
    else:
        generated(int(words[0]) if words else 4)


if __name__ == "__main__":
    main()
