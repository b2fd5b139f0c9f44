"""What default models lose on generated data, and what the bands of ``dpscd plan`` rest on.

``python -m dpscd_experiments.experiments.forecast ROWS.csv`` fits and writes scores on 20,000
further records, beside the best of four fits of scikit-learn. ``... ROWS.csv --judge`` adds
those of the accuracy page (accuracy.csv in the same folder) and prints the largest loss over
noise, and how bands do that are made of all other data sets.
"""

import sys
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge

from dpscd import DPLogisticRegression, DPRidge
from dpscd.planning.forecast import _CAPPED, relative_noise
from dpscd.privacy.relation import PrivacyTarget
from dpscd_experiments.datasets import load_dataset

EPSILONS, SEEDS, TEST = (0.1, 0.5, 1.0, 2.0), range(3), 20_000
STRENGTHS = (1e-6, 1e-5, 1e-4, 1e-3)
# Kind, columns, records; regressions end in a number, the part that columns explain.
CASES = (
    ("independent", 20, 2000), ("independent", 20, 20_000),
    ("many columns", 200, 10_000), ("correlated", 30, 10_000),
    ("heavy tails", 20, 10_000), ("near separable", 20, 10_000),
    ("one in twenty", 20, 20_000), ("categories", 100, 20_000), ("few records", 5, 1000),
    ("independent .1", 20, 10_000), ("independent .9", 20, 10_000),
    ("many columns .5", 200, 10_000), ("correlated .5", 30, 10_000),
    ("heavy tails .5", 20, 10_000), ("few records .5", 5, 1000), ("categories .3", 100, 20_000),
)  # fmt: skip
COLUMNS = ("kind", "d", "n", "task", "epsilon", "seed", "without", "after")
ODDS = {"near separable": (8.0, 0.0), "one in twenty": (1.5, -4.0)}  # size, shift


def features(kind: str, d: int, count: int, rng: np.random.Generator) -> Any:
    """Return features of a kind: independent, correlated, heavy-tailed or of categories."""
    if kind == "heavy tails":
        return np.clip(rng.standard_t(2.5, (count, d)), -30, 30)
    if kind == "categories":
        chosen = [rng.choice(d // 5, count, p=rng.dirichlet(np.ones(d // 5))) for _ in range(5)]
        return np.concatenate([np.eye(d // 5)[each] for each in chosen], axis=1)
    X = rng.standard_normal((count, d))
    for j in range(1, d if kind == "correlated" else 0):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def _drawn(kind: str, d: int, n: int) -> tuple[Any, Any]:
    """Return features and labels, numbers or -1 and 1."""
    rng = np.random.default_rng(d + n)
    name, _, part = kind.partition(" .")
    X = features(name, d, n + TEST, rng)
    score = X @ (rng.standard_normal(d) * rng.gamma(1.0, size=d))
    score = (score - score.mean()) / score.std()
    if part:
        explained = float(f".{part}")
        rest = rng.standard_normal(n + TEST)
        return X, np.clip(explained**0.5 * score + (1.0 - explained) ** 0.5 * rest, -5.0, 5.0)
    size, shift = ODDS.get(name, (1.5, 0.0))
    chance = 1.0 / (1.0 + np.exp(-size * score - shift))
    return X, np.where(rng.uniform(size=n + TEST) < chance, 1, -1)


def _rows(kind: str, d: int, n: int) -> list[tuple[Any, ...]]:
    """Return a row for each epsilon and seed."""
    X, y = _drawn(kind, d, n)
    # The longest row is known: the law is.
    more: dict[str, Any] = {"delta": 1e-5, "row_bound": np.linalg.norm(X, axis=1).max()}
    if " ." in kind:
        task, make, best_of = "regression", partial(DPRidge, y_bounds=(-5, 5), **more), min
        others: list[Any] = [Ridge(s * n) for s in STRENGTHS]
    else:
        make, best_of = partial(DPLogisticRegression, classes=(-1, 1), **more), max
        task = "classification"
        others = [LogisticRegression(C=1.0 / (s * n), max_iter=1000) for s in STRENGTHS]

    def score(model: Any) -> float:
        missed = model.fit(X[:n], y[:n]).predict(X[n:]) - y[n:]
        return float(np.mean(missed**2) if task == "regression" else np.mean(missed == 0))

    best = best_of(map(score, others))
    return [
        (kind, d, n, task, epsilon, seed, best, score(make(epsilon=epsilon, random_state=seed)))
        for epsilon, seed in product(EPSILONS, SEEDS)
    ]


def _given(path: Path) -> pd.DataFrame:
    """Return mean scores of the accuracy page."""
    rows = pd.read_csv(path.with_name("accuracy.csv"), low_memory=False)
    metric = np.where(rows["param.loss"] == "squared", "mse", "accuracy")
    rows = rows[(rows["param.part"] == "test") & (rows.metric == metric)]
    plain = rows[rows.method == "plain"].groupby("param.problem").value.mean()
    ours = rows[(rows.method == "ours") & rows["param.problem"].isin(plain.index)]
    found = []
    for (name, problem), own in ours.groupby(["dataset", "param.problem"]):
        data = load_dataset(name)
        n, d = len(data.y), data.X.shape[1] + int(data.fit_intercept) - 1
        for at, scores in own.groupby(["epsilon", "delta"]).value:
            found.append((name, d, n, data.task, *at, plain[problem], scores.mean()))
    return pd.DataFrame(found, columns=[*COLUMNS[:5], "delta", *COLUMNS[6:]])


def judge(path: Path) -> str:
    """Return the constants that follow, and how many losses lie inside other sets' bands."""
    made = pd.read_csv(path).assign(delta=1e-5)
    made = made.groupby([*COLUMNS[:5], "delta"], as_index=False).mean()
    rows, lines = pd.concat([made, _given(path)], ignore_index=True), []
    targets = map(PrivacyTarget, rows.epsilon, rows.delta)
    noise = pd.Series(map(relative_noise, rows.n, rows.d + 1, targets), index=rows.index)
    rows = rows.assign(set=rows.kind + rows.n.astype(str), noise=noise)
    for task, low, more in (("classification", -0.005, 0.0), ("regression", -0.01, _CAPPED)):
        own = rows[rows.task == task]
        lost = own.after / own.without - 1.0 if more else own.without - own.after
        ends = (lost / own.noise).groupby(own.set).max()
        high = own.set.map({name: ends.drop(name).max() for name in ends.index}) * own.noise
        lines.append(
            f"{task}: {len(ends)} data sets, {len(own)} cells, constant {ends.max():.3g}; "
            f"inside {lost.between(low, high + more).mean():.3f}, "
            f"median width {(high + more - low).median():.4f}\n"
        )
    return "".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    if sys.argv[2:] == ["--judge"]:
        sys.stdout.write(judge(target))
    else:
        rows = [row for case in CASES for row in _rows(*case)]
        pd.DataFrame(rows, columns=COLUMNS).to_csv(target, index=False)
