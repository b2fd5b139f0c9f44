"""The rule for many classes, and what changing one of its numbers does.

    DPSCD_DATA=folder python benchmarks/many_classes.py [fashion] [covtype]

Reads Fashion-MNIST's idx files and Covertype's table from the folder. Prints means over seeds
of test accuracy and log loss, with their standard deviations.
"""

import gzip
import os
import statistics
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from dpscd import DPLogisticRegression

SEEDS, EPSILONS, RECORDS = range(3), (1.0, 3.0), 100_000

# Bounds of Covertype's ten numbers, from its documentation; the other columns are 0 or 1.
LOW = [1800, 0, 0, 0, -200, 0, 0, 0, 0, 0]
HIGH = [3900, 360, 70, 1400, 600, 7200, 255, 255, 255, 7200]


def idx(file):
    """Return the array in one of Fashion-MNIST's files."""
    data = gzip.decompress(file.read_bytes())
    shape = np.frombuffer(data, ">i4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def fashion(folder):
    """Return pixels in [0, 1] and labels, to train on and for test, and a bound of rows."""
    found = []
    for part in ("train", "t10k"):
        images, labels = (
            idx(next((folder / "fashion_mnist").glob(f"{part}-{kind}*")))
            for kind in ("images", "labels")
        )
        found += [
            images.reshape(len(images), -1).astype(np.float32) / 255.0,
            labels.astype(int),
        ]
    return *found, 0.6 * 28.0


def covtype(folder):
    """Return scaled features and types, to train on and for test, and a bound of rows."""
    table = pd.read_csv(next((folder / "covtype").glob("*"))).to_numpy(np.float32)
    table = table[np.random.default_rng(5).permutation(len(table))]
    X, y = table[:, :-1], table[:, -1].astype(int) - 1
    X[:, :10] = 2.0 * np.clip((X[:, :10] - LOW) / np.subtract(HIGH, LOW), 0.0, 1.0) - 1.0
    test, train = slice(0, RECORDS), slice(RECORDS, 2 * RECORDS)
    return X[train], y[train], X[test], y[test], np.sqrt(12.0)


def judged(model, X, y):
    """Return accuracy and log loss."""
    logs = model.predict_log_proba(X)
    return np.mean(logs.argmax(axis=1) == y), -np.mean(logs[np.arange(len(y)), y])


def show(line):
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    """Print a table."""
    warnings.simplefilter("ignore")
    folder = Path(os.environ["DPSCD_DATA"])
    readers = {"fashion": fashion, "covtype": covtype}
    show("| data | epsilon | changed | accuracy | log loss |")
    show("|---|---|---|---|---|")
    for name in sys.argv[1:] or readers:
        X, y, X_test, y_test, bound = readers[name](folder)
        for epsilon in EPSILONS:
            usual = {"delta": 1e-5, "classes": range(y.max() + 1), "row_bound": bound}
            lam = DPLogisticRegression(epsilon, **usual).fit(X, y).privacy_.public["lam"]
            changes = {
                "nothing": {},
                "lam / 2": {"lam": lam / 2.0, "standardise": True},
                "lam * 2": {"lam": lam * 2.0, "standardise": True},
                "travel 0.2": {"travel": 0.2},
                "travel 0.8": {"travel": 0.8},
                "40 epochs": {"epochs": 40.0},
                "100 epochs": {"epochs": 100.0},
                "lots / 8": {"lot_size": int(60 * len(X) / 12000)},
            }
            for words, more in changes.items():
                each = [
                    judged(
                        DPLogisticRegression(epsilon, random_state=s, **usual, **more).fit(
                            X, y
                        ),
                        X_test,
                        y_test,
                    )
                    for s in SEEDS
                ]
                cells = (
                    f"{statistics.mean(x):.4f} ± {statistics.stdev(x):.4f}"
                    for x in zip(*each, strict=True)
                )
                show(f"| {name} | {epsilon:g} | {words} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
