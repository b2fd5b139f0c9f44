"""What a private search is worth: against each candidate alone at the same epsilon.

Raw Adult and bank, six candidates that somebody might hesitate between: numbers as lines, with
the automatic shape or in 16 steps, logistic regression or a linear SVM, and a short schema with
the first five columns alone. Accuracy on test records. Every candidate is trained by itself on
all training records at the whole epsilon; a search has the same epsilon in all, keeps a fifth of
the records apart and runs, on average, twice as many times as there are candidates (the
default), as many or half as many. Rows go to a file, and a run goes on from those that are there; a page is made of
them.

    python benchmarks/model_search.py rows.csv [seeds]
    python benchmarks/model_search.py rows.csv --page docs/results/search.md
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np

from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch, Schema, TableModel
from dpscd_bench.table import read_schema
from dpscd_bench.tables import load_table

TABLES = ("adult", "bank")
EPSILONS = (1.0, 2.0)
DELTA = 1e-5
SEEDS = 20
MEANS = (12, 6, 3)  # runs; the first is the default
FIELDS = ("table", "epsilon", "method", "seed", "accuracy", "chosen", "verified")
NAMES = (
    "lines, logistic",
    "automatic shapes, logistic",
    "16 steps, logistic",
    "lines, SVM",
    "automatic shapes, SVM",
    "first five columns, logistic",
)


def candidates(name):
    """Return the six candidates of a table."""
    lines, shaped, steps = (read_schema(name, shape) for shape in ("line", None, "steps"))
    values = shaped.to_dict()
    kept = list(values["columns"])[:5]
    values["columns"] = {
        column: own if column in kept else {"kind": "ignore"}
        for column, own in values["columns"].items()
    }
    few = Schema.from_dict(values)
    return [
        TableModel(lines, DPLogisticRegression()),
        TableModel(shaped, DPLogisticRegression()),
        TableModel(steps, DPLogisticRegression()),
        TableModel(lines, DPLinearSVC()),
        TableModel(shaped, DPLinearSVC()),
        TableModel(few, DPLogisticRegression()),
    ]


def one(name, epsilon, method, seed):
    """Return a row."""
    raw = load_table(name)
    train, test = raw.cells.iloc[raw.train], raw.cells.iloc[raw.test]
    asked = candidates(name)
    chosen, verified = "", ""
    if method.startswith("search"):
        model = DPModelSearch(
            asked, epsilon, delta=DELTA, mean_runs=int(method.split()[1]), random_state=seed
        ).fit(train)
        chosen, verified = model.best_index_, model.privacy_.verify()
    else:
        model = asked[int(method)]
        model.set_params(
            estimator__epsilon=epsilon, estimator__delta=DELTA, estimator__random_state=seed
        )
        model.fit(train)
    return dict(
        zip(
            FIELDS,
            (name, epsilon, method, seed, model.score(test), chosen, verified),
            strict=True,
        )
    )


def run(path, seeds):
    """Write the rows that are not there yet."""
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            keys = ("table", "epsilon", "method", "seed")
            done = {tuple(x[key] for key in keys) for x in csv.DictReader(file)}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for seed in range(seeds):
            for name in TABLES:
                for epsilon in EPSILONS:
                    methods = [f"search {mean}" for mean in MEANS] + list("012345")
                    for method in methods:
                        if (name, str(epsilon), method, str(seed)) in done:
                            continue
                        writer.writerow(one(name, epsilon, method, seed))
                        file.flush()


def summary(rows, name, epsilon, method):
    """Return the mean accuracy and its standard error."""
    found = [
        float(x["accuracy"])
        for x in rows
        if (x["table"], float(x["epsilon"]), x["method"]) == (name, epsilon, method)
    ]
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found)), len(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    if "--page" in sys.argv:
        from model_search_page import page

        Path(sys.argv[-1]).write_text(page(target), encoding="utf-8")
    else:
        run(target, int(sys.argv[2]) if len(sys.argv) > 2 else SEEDS)
