"""Which coefficients can be believed? Private ones next to those without privacy.

    python examples/coefficients_and_noise.py --out coefficients.png

The band is where private fits at this epsilon fall: two standard deviations around their
mean, from several fits. On a private table you have one fit, the dot. A private fit is
regularised in its own way, so the middle of a band need not be the coefficient without privacy.
Answers only: numbers have shapes, see ``TableModel.shapes``.
"""

import argparse
import math

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from adult import load_adult

from dpscd import DPLogisticRegression, TableModel

EPSILON = 1.0
FEATURES = [
    "relationship=Husband",
    "relationship=Own-child",
    "race=White",
    "race=Black",
    "sex=Female",
    "sex=Male",
    "marital-status=Married-civ-spouse",
    "marital-status=Never-married",
    "occupation=Exec-managerial",
    "occupation=Farming-fishing",
    "workclass=Self-emp-inc",
    "workclass=Without-pay",
    "native-country=Mexico",
    "native-country=Hungary",
]


def main():
    """Fit and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="coefficients_and_noise.png")
    parser.add_argument("--quick", action="store_true", help="two fits instead of ten")
    asked = parser.parse_args()

    schema, train, _ = load_adult()

    def coefficients(epsilon):
        model = TableModel(schema, DPLogisticRegression(epsilon=epsilon)).fit(train).estimator_
        return dict(zip(model.feature_names_in_, model.coef_[0], strict=True))

    exact = coefficients(math.inf)
    fits = [coefficients(EPSILON) for _ in range(2 if asked.quick else 10)]
    each = np.array([[fit[name] for name in FEATURES] for fit in fits])
    count = dict.fromkeys(FEATURES, "")
    for column in schema.features:
        for value in column.values:
            if f"{column.name}={value}" in count:
                people = int((train[column.name] == value).sum())
                count[f"{column.name}={value}"] = f" ({people:,})"

    fig, ax = plt.subplots(figsize=(7.6, 5.2), layout="constrained")
    places = np.arange(len(FEATURES))[::-1]
    middle, spread = each.mean(axis=0), each.std(axis=0)
    ax.barh(
        places, 4 * spread, left=middle - 2 * spread, height=0.7, color="#33668c", alpha=0.25,
        label=f"where fits with epsilon {EPSILON:g} fall",
    )  # fmt: skip
    ax.plot(each[0], places, "o", color="#33668c", ms=5, label="one private fit")
    ax.plot([exact[name] for name in FEATURES], places, "|", color="#b23a48", ms=14, mew=2.5,
            label="not private")  # fmt: skip
    ax.axvline(0, color="black", lw=0.8)
    ax.set_yticks(places, [f"{name}{count[name]}" for name in FEATURES], fontsize=9)
    ax.set(xlabel="coefficient; in brackets: people with this answer")
    fig.legend(frameon=False, fontsize=9, loc="outside upper center", ncols=3)
    widest = 1.05 * np.abs([middle - 2 * spread, middle + 2 * spread]).max()
    ax.set_xlim(-widest, widest)
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(asked.out, dpi=120)
    for name, low in zip(FEATURES, spread, strict=True):
        print(f"{name}: {exact[name]:+.1f} without privacy, spread {low:.1f}")


if __name__ == "__main__":
    main()
