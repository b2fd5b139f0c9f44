"""What large lots cost: damped by the lot size, as the first rules did, and by the path.

Test accuracy (mean squared error for regressions) by lot size, on Adult and on generated rows
of many kinds, most of them hard for a weak damping. Fits with both dampings take turns. Writes
every fit to a CSV file and prints medians.

    python benchmarks/lots.py adult rows.csv [seeds]
    python benchmarks/lots.py generated rows.csv [seeds]
    DPSCD_DATA=folder python benchmarks/lots.py sets rows.csv [seeds]
"""

import csv
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, planning
from dpscd.errors import PrivacyWarning
from dpscd_experiments.datasets import load_dataset

ESTIMATORS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC, "squared": DPRidge}
SHARES = (250, 20, 5)
SETS = [("phishing", "logistic"), ("msd", "squared"), ("w8a", "logistic")]
COUNT = 10_000


@contextmanager
def damped_by(name):
    """Plan with the damping of the first rules, or with today's."""
    before = planning._separability
    if name == "lot size":
        planning._separability = lambda _, lot_size, usual_lot: float(lot_size)  # noqa: ARG005
    yield
    planning._separability = before


def rows_of(kind, rng, count):
    """Return rows of a kind, of any length."""
    wide = {"few rows": 10, "many columns": 300, "one column": 1}.get(kind, 20)
    X = rng.standard_normal((count, wide))
    if kind in ("one factor", "one factor, separable", "one factor, regression"):
        return X[:, :1] + 0.1 * X  # nearly parallel, both ways
    if kind.startswith("parallel"):
        return 1.0 + 0.15 * X  # nearly parallel, one way
    if kind.startswith("correlated"):
        for j in range(1, wide):
            X[:, j] = 0.9 * X[:, j - 1] + 0.19**0.5 * X[:, j]
    if kind.startswith("heavy tails"):
        return rng.standard_t(2, (count, wide))
    if kind == "sparse":
        chosen = [rng.choice(20, count, p=rng.dirichlet(np.full(20, 0.3))) for _ in range(5)]
        return np.concatenate([np.eye(20)[each] for each in chosen], axis=1)
    return X


def generated(kind):
    """Return training and test parts of a kind, and what its fit is given."""
    rng = np.random.default_rng(1)
    count = {"few rows": 1000, "many columns": 4000}.get(kind, COUNT)
    X = rows_of(kind, rng, 2 * count)
    given = {"fit_intercept": False} if kind.startswith("parallel") else {}
    if kind == "parallel, as they are":
        given["standardise"] = False
    score = np.tanh(X) @ rng.standard_normal(X.shape[1]) * 3.0 / X.shape[1] ** 0.5
    if "factor" in kind or kind.startswith("parallel"):
        score += 8.0 * (X[:, 1] - X[:, 2])
    if "separable" in kind:
        score *= 20.0
    if kind == "rare class":
        score -= 5.0
    if "regression" in kind:
        y = np.clip(score / score.std() + 0.7 * rng.standard_normal(len(X)), -5.0, 5.0)
        given["y_bounds"] = (-5.0, 5.0)
    elif kind == "five classes":
        y = rng.integers(0, 5, len(X)).astype(float)
        X = X + 0.8 * rng.standard_normal((5, X.shape[1]))[y.astype(int)]
    else:
        y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-score))).astype(float)
    lengths = np.linalg.norm(X, axis=1)
    X = (X / (2.0 * np.median(lengths))).astype(np.float32)
    if "regression" not in kind:
        given["classes"] = sorted(set(y))
    return X[:count], y[:count], X[count:], y[count:], given


KINDS = (
    "independent", "one column", "one factor", "parallel", "parallel, as they are",
    "correlated", "separable", "one factor, separable", "sparse", "few rows", "many columns",
    "heavy tails", "rare class", "five classes", "regression", "one factor, regression",
    "correlated, regression", "heavy tails, regression",
)  # fmt: skip


def cases(which):
    """Yield a name, the data, what a fit is given, the loss and the epsilons."""
    if which == "generated":
        for kind in KINDS:
            *parts, given = generated(kind)
            for loss in ("squared",) if "regression" in kind else ("logistic", "hinge"):
                yield kind, parts, given, loss, (0.1, 1.0, 10.0)
        return
    for name, loss in (
        SETS if which == "sets" else [("adult", x) for x in ("logistic", "hinge")]
    ):
        data = load_dataset(name)
        parts = [data.X, data.y, data.X_test, data.y_test]
        yield name, parts, data.fit_parameters, loss, (1.0,)


def score(parts, given, loss, epsilon, seed, lot_size):
    """Return the test metric of one fit."""
    X, y, X_test, y_test = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = ESTIMATORS[loss](
            epsilon, delta=1e-5, random_state=seed, lot_size=lot_size, **given
        ).fit(X, y)
    guess = model.predict(X_test)
    if loss == "squared":
        return float(np.mean((np.clip(guess, *given["y_bounds"]) - y_test) ** 2))
    return float(np.mean(guess == y_test))


def main(which, path, seeds):
    """Run every case, write all fits and print medians."""
    heads = [f"n/{s}, by {d}" for s in SHARES[1:] for d in ("lot size", "path")]
    sys.stdout.write("| " + " | ".join(["data", "epsilon", "usual lots", *heads]) + " |\n")
    sys.stdout.write("|---" * (3 + len(heads)) + "|\n")
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["data", "loss", "epsilon", "lots", "damping", "seed", "metric"])
        for name, parts, given, loss, epsilons in cases(which):
            for epsilon in epsilons:
                found = {}
                for seed in range(seeds):
                    for share in ("usual", *SHARES[1:]):
                        lots = "auto" if share == "usual" else len(parts[1]) // share
                        if share == "usual" and which == "adult":
                            lots = len(parts[1]) // SHARES[0]
                        for damping in ("path",) if share == "usual" else ("lot size", "path"):
                            with damped_by(damping):
                                metric = score(parts, given, loss, epsilon, seed, lots)
                            found.setdefault((share, damping), []).append(metric)
                            writer.writerow(
                                [name, loss, epsilon, share, damping, seed, f"{metric:.5g}"]
                            )
                cells = [
                    f"{median(x):.4f} ({np.std(x, ddof=1):.4f})".replace("0.", ".")
                    for x in found.values()
                ]
                row = [f"{name}, {loss}", f"{epsilon:g}", *cells]
                sys.stdout.write("| " + " | ".join(row) + " |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 10)
