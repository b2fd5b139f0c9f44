"""How much accuracy does privacy cost? Epsilon against test accuracy on the census table.

    python examples/epsilon_against_accuracy.py --out epsilon.png

Three fits at each epsilon show how much the noise varies. The table is public; on a private
one every one of these fits would have to be paid for.
"""

import argparse
import math

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from adult import load_adult

from dpscd import DPLinearSVC, DPLogisticRegression, TableModel

MODELS = {"logistic regression": DPLogisticRegression, "linear SVM": DPLinearSVC}
COLOURS = {"logistic regression": "#33668c", "linear SVM": "#e08a2c"}


def main():
    """Fit, measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="epsilon_against_accuracy.png")
    parser.add_argument("--quick", action="store_true", help="two epsilons, one fit each")
    asked = parser.parse_args()
    epsilons = [0.1, 1.0] if asked.quick else [0.03, 0.1, 0.3, 1.0, 3.0]
    fits = 1 if asked.quick else 3

    schema, train, test = load_adult()

    def accuracy(kind, epsilon):
        model = TableModel(schema, kind(epsilon=epsilon)).fit(train)
        return float(np.mean(model.predict(test) == test["income"]))

    fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, kind in MODELS.items():
        found = np.array([[accuracy(kind, e) for _ in range(fits)] for e in epsilons])
        middle = np.median(found, axis=1)
        ax.plot(epsilons, middle, "-", color=COLOURS[name], label=name)
        ax.plot(epsilons, found, "o", color=COLOURS[name], ms=4, alpha=0.6)
        limit = accuracy(kind, math.inf)
        ax.axhline(limit, color=COLOURS[name], ls=":", lw=1.2)
        for epsilon, value in zip(epsilons, middle, strict=True):
            print(f"{name}, epsilon {epsilon:g}: accuracy {value:.3f}")
        print(f"{name}, not private: accuracy {limit:.3f}")
    largest = float(test["income"].value_counts(normalize=True).max())
    ax.axhline(largest, color="grey", lw=1)
    ax.text(
        max(epsilons), largest, "always the larger class", ha="right", va="bottom", color="grey"
    )
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    ax.minorticks_off()
    ax.set(xlabel="epsilon", ylabel="test accuracy")
    ax.set_title(f"{len(train):,} people; dotted: not private", fontsize=10)
    ax.legend(frameon=False, loc="center right")
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(asked.out, dpi=120)


if __name__ == "__main__":
    main()
