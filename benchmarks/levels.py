"""What it does to a model to leave out levels that released moments do not show.

Run as ``python benchmarks/levels.py [SEEDS]``: logistic regressions of generated tables of
categories whose values follow Zipf's law, three listed values of each never occurring; AUC on
20,000 further records, means over seeds (4). "kept": no level is left out. "alone": every level
that does not stand out on its own is. "together": what the library does, where the hidden
levels of a column must not stand out together either.
"""

import sys
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from dpscd import DPLogisticRegression, Schema, TableModel, standard

TABLES = ((30, 5), (8, 10))
SIZES = ((2000, 2.0), (10_000, 0.5), (10_000, 2.0), (50_000, 0.5))
_TOGETHER = standard._unseen


def _alone(mean: Any, square: Any, error: float, levels: standard.Levels) -> Any:
    single = levels._replace(column=np.arange(len(mean)))
    return _TOGETHER(mean, square, error, single)


RULES = {
    "kept": lambda mean, *_: np.zeros(len(mean), dtype=bool),
    "alone": _alone,
    "together": _TOGETHER,
}


def auc(values: int, columns: int, n: int, epsilon: float, seed: int) -> float:
    """Return the AUC of one fit."""
    rng = np.random.default_rng(seed)
    names = np.array([f"v{k}" for k in range(values + 3)])
    often = 1.0 / np.arange(1, values + 1)
    table, score = pd.DataFrame(), 0.0
    for column in range(columns):
        codes = rng.choice(values, size=n + 20_000, p=often / often.sum())
        score = score + rng.normal(scale=0.7, size=values)[codes]
        table[f"c{column}"] = names[codes]
    own = {name: {"kind": "category", "values": names.tolist()} for name in table}
    chance = 1.0 / (1.0 + np.exp(-score))
    table["y"] = np.where(rng.uniform(size=len(table)) < chance, "yes", "no")
    target = {"column": "y", "classes": ["no", "yes"]}
    schema = Schema.from_dict({"target": target, "columns": own})
    estimator = DPLogisticRegression(epsilon, delta=1e-5, random_state=seed)
    model = TableModel(schema, estimator).fit(table[:n])
    test = table[n:]
    return float(roc_auc_score(test["y"] == "yes", model.predict_proba(test)[:, 1]))


def main() -> None:
    """Fit and print a table."""
    warnings.simplefilter("ignore")
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    print("values, columns, n, epsilon:", *RULES)  # noqa: T201
    for values, columns in TABLES:
        for n, epsilon in SIZES:
            found = []
            for rule in RULES.values():
                with patch.object(standard, "_unseen", rule):
                    found.append(np.mean([auc(values, columns, n, epsilon, x) for x in seeds]))
            print(  # noqa: T201
                f"{values} {columns} {n:,} {epsilon:g}:",
                *(f"{x:.4f}" for x in found),
                flush=True,
            )


if __name__ == "__main__":
    main()
