"""How much each constant of the untuned rule matters, on every data set.

Each constant is halved and doubled (or moved as far as it goes) with the others as they are,
at two epsilons; median over seeds of the test metric. Writes a CSV and prints a table.

    DPSCD_DATA=folder python benchmarks/planning.py experiments/rows/planning.csv
"""

import csv
import sys
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np

from dpscd import planning, standard
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.opponents.ours import fitted

# name, data, loss, delta, seeds, epochs (fewer where records are many: only to compare)
PROBLEMS = [
    ("adult-svm", "adult", "hinge", 1e-3, 3, "auto"),
    ("phishing-logistic", "phishing", "logistic", 1e-3, 3, "auto"),
    ("msd-ridge", "msd", "squared", 1e-3, 3, "auto"),
    ("w8a-logistic", "w8a", "logistic", 1e-5, 1, 50.0),
    ("covtype-logistic", "covtype", "logistic", 1e-5, 1, 10.0),
    ("nycflights13-ridge", "nycflights13", "squared", 1e-5, 1, 20.0),
]
EPSILONS = (0.1, 1.0)

# Where a constant lives, and what it is changed to.
CHANGES = {
    "as it is": [],
    "travel / 2": [(planning, "_TRAVEL", 0.5), (planning, "_REGRESSION_TRAVEL", 0.5)],
    "travel x 2": [(planning, "_TRAVEL", 2.0), (planning, "_REGRESSION_TRAVEL", 2.0)],
    "epochs / 2": [(planning, "_EPOCHS", 0.5)],
    "lots x 2": [(planning, "_STEPS", 0.5)],
    "averaging 0.2": [(planning, "_AVERAGING", 0.5)],
    "averaging 0.8": [(planning, "_AVERAGING", 2.0)],
    "constant / 2": [(planning, "_STANDARD_CONSTANT", 0.5)],
    "constant x 2": [(planning, "_STANDARD_CONSTANT", 2.0)],
    "columns' power 0.375": [(standard, "_POWER", 0.5)],
    "columns' power 1": [(standard, "_POWER", 4 / 3)],
    "mean kept x 2": [(standard, "_KEPT", 2.0)],
    "moments' share / 2": [
        (planning, "_MOST_MOMENTS", 0.5),
        (planning, "_LEAST_MOMENTS", 0.5),
    ],
}


@contextmanager
def changed(changes):
    """Multiply constants while the block runs."""
    before = [(room, name, getattr(room, name)) for room, name, _ in changes]
    for room, name, factor in changes:
        setattr(room, name, getattr(room, name) * factor)
    yield
    for room, name, value in before:
        setattr(room, name, value)


def score(name, loss, delta, epsilon, seed, **parameters):
    """Return the test metric of one fit."""
    data = load_dataset(name)
    model = fitted(data, loss, epsilon=epsilon, delta=delta, random_state=seed, **parameters)
    guess = model.predict(data.X_test)
    if loss == "squared":
        return float(np.mean((guess - data.y_test) ** 2))
    return float(np.mean(guess == data.y_test))


def planned_lam(name, loss, delta, epsilon):
    """Return the lam that the rule plans."""
    card = fitted(load_dataset(name), loss, epsilon=epsilon, delta=delta, epochs=1.0).privacy_
    return card.public["lam"]


def main(path):
    """Run every case and write the table to `path`."""
    rows = []
    for problem, name, loss, delta, seeds, epochs in PROBLEMS:
        for epsilon in EPSILONS:
            cases = {label: (change, {}) for label, change in CHANGES.items()}
            cases["not standardised"] = ([], {"standardise": False})
            lam = planned_lam(name, loss, delta, epsilon)
            cases["lam / 2"] = ([], {"standardise": True, "lam": lam / 2.0})
            cases["lam x 2"] = ([], {"standardise": True, "lam": lam * 2.0})
            for label, (change, parameters) in cases.items():
                with changed(change):
                    scores = [
                        score(name, loss, delta, epsilon, seed, epochs=epochs, **parameters)
                        for seed in range(seeds)
                    ]
                rows.append([problem, epsilon, label, seeds, epochs, f"{median(scores):.5g}"])
                sys.stdout.write(" ".join(map(str, rows[-1])) + "\n")
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", "epsilon", "change", "seeds", "epochs", "median"])
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
