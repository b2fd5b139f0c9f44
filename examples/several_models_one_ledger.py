"""Several models on one table, paid from one budget; the last one is refused.

python examples/several_models_one_ledger.py --out ledger.png
"""

import argparse
import math
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
from adult import load_adult

from dpscd import BudgetExceeded, DPLogisticRegression, DPRidge, Ledger, Schema, TableModel

BUDGET = 1.0
# What to predict, and the part of the budget to spend on it.
WISHES = [
    ("income", 0.4),
    ("hours-per-week", 0.3),
    ("marital-status", 0.2),
    ("occupation", 0.2),
]
TARGETS = {"hours-per-week": {"bounds": [1, 99]}}


def schema_for(schema, target):
    """Return the schema with another target; the usual one becomes a feature."""
    values = schema.to_dict()
    if target == schema.target.name:
        return schema
    own = values["columns"].pop(target)
    classes = {} if target in TARGETS else {"classes": own["values"]}
    values["target"] = {"column": target, **TARGETS.get(target, classes)}
    answers = {"kind": "category", "values": list(schema.target.classes)}
    values["columns"][schema.target.name] = answers
    return Schema.from_dict(values)


def main():
    """Fit until the budget is spent, and draw what it bought."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="several_models_one_ledger.png")
    parser.add_argument("--quick", action="store_true", help="two wishes only")
    asked = parser.parse_args()
    wishes = [WISHES[1], ("occupation", 0.8)] if asked.quick else WISHES

    schema, train, test = load_adult()
    bought = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "budget.db")
        ledger = Ledger.init(file, "census", BUDGET, 1e-5)
        for target, epsilon in wishes:
            own = schema_for(schema, target)
            kind = DPLogisticRegression if own.target.classes else DPRidge
            paid = {"delta": 1e-6, "ledger": str(file), "dataset": "census"}
            try:
                model = TableModel(own, kind(epsilon=epsilon, **paid)).fit(train)
            except BudgetExceeded as refused:
                print(f"{target}: refused. {refused}")
                bought.append((target, epsilon, None, None))
                continue
            limit = TableModel(own, kind(epsilon=math.inf)).fit(train)
            bought.append((target, epsilon, model.score(test), limit.score(test)))
            left = ledger.show("census").left_epsilon
            print(f"{target}: score {bought[-1][2]:.3f}, epsilon left {left:g}")
    _draw(bought, asked.out)


def _draw(bought, out):
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.6), layout="constrained", width_ratios=[1.2, 1]
    )
    spent = 0.0
    for place, (_, epsilon, private, _) in enumerate(bought):
        colour = "#b23a48" if private is None else "#33668c"
        left.barh(place, epsilon, left=spent, color=colour, alpha=0.85, height=0.6)
        word = "refused" if private is None else f"{epsilon:g}"
        left.text(spent + epsilon / 2, place, word, ha="center", va="center", color="white")
        spent += 0.0 if private is None else epsilon
    left.axvline(BUDGET, color="black", ls="--", lw=1)
    left.text(BUDGET, -0.75, "budget ", ha="right", va="center", fontsize=9)
    names = [name for name, *_ in bought]
    left.set_yticks(range(len(names)), names)
    left.set(xlabel="epsilon", ylim=(len(names) - 0.5, -1), xlim=(0, 1.25 * BUDGET))
    for place, (_, _, private, limit) in enumerate(bought):
        if private is not None:
            right.plot(private, place, "o", color="#33668c", label=None if place else "private")
            right.plot(limit, place, "|", color="#b23a48", ms=16, mew=2.5,
                       label=None if place else "not private")  # fmt: skip
    right.set_yticks(range(len(names)), [])
    right.set(xlabel="test score: accuracy, R2 for hours", xlim=(0, 1), ylim=left.get_ylim())
    right.legend(frameon=False, fontsize=9, loc="lower left")
    right.grid(axis="x", color="#dddddd", lw=0.6)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(out, dpi=120)


if __name__ == "__main__":
    main()
