"""What privacy costs, on generated and given data, and whether `dpscd plan` says so beforehand.

``python benchmarks/forecast.py measure rows.csv [SEEDS]`` fits default models to generated data
of many kinds (seeds from 0 up, 3) and writes what each lost: accuracy, or mean squared error as
a part of what a model without privacy has, on 20,000 further records. The model without privacy
is scikit-learn's with the best of four strengths, chosen on those records.

``python benchmarks/forecast.py judge [rows.csv]`` judges the bands of :mod:`dpscd.forecast` by
these rows and those of the accuracy page: for every data set a band is made of all *other* data
sets, by the rule that made the constants (the largest loss over noise), and compared with the
means over seeds.
"""

import csv
import math
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from dpscd import DPLogisticRegression, DPRidge
from dpscd.forecast import relative_noise
from dpscd.privacy.relation import PrivacyTarget

ROWS = Path(__file__).parents[1] / "docs" / "results" / "rows"
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
    from dpscd_bench.datasets import load_dataset

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
            inside += [least <= lost <= slope * noise for noise, lost in own]
            widths += [slope * noise - least for noise, _ in own]
            shown = (f"{e:.4f}: {x:+.4f} of {slope * e:.4f}" for e, x in sorted(own))
            print(f"{name:24s}", *shown)  # noqa: T201
        print(  # noqa: T201
            f"{task}: {len(cells)} data sets, {len(inside)} cells; constant "
            f"{max(largest.values()):.3g}; of bands made of other data sets "
            f"{np.mean(inside):.3f} hold, median width {median(widths):.4f}"
        )


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        measure(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    else:
        judge(sys.argv[2] if len(sys.argv) > 2 else ROWS / "forecast.csv")
