"""What a private search is worth: against each candidate alone at the same epsilon.

Raw Adult and bank, six candidates that somebody might hesitate between: numbers as lines, with
the automatic shape or in 16 steps, logistic regression or a linear SVM, and a short schema with
the first five columns alone. Accuracy on test records. Every candidate is trained by itself on
all training records at the whole epsilon; a search has the same epsilon in all, keeps a fifth
of the records apart and runs, on average, twice as many times as there are candidates (the
default), as many or half as many. Rows go to a file, and a run goes on from those that are
there; a page is made of them.

    python benchmarks/model_search.py rows.csv [seeds]
    python benchmarks/model_search.py rows.csv --page docs/results/search.md "what audits say"
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np

from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch, Schema, TableModel
from dpscd_experiments.table import read_schema
from dpscd_experiments.tables import load_table

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


_HEAD = """\
# Private searches

<!-- Written by benchmarks/model_search.py from experiments/rows/search.csv. -->

What is a [private search](../guides/choose.md) worth, against training one candidate with
the whole epsilon? Raw Adult and bank, six candidates that somebody might hesitate between;
accuracy on test records, mean and standard error over {seeds} seeds, delta 1e-5, a fifth of
the training records kept apart by each search.

<!-- not run: takes half an hour -->
```sh
python benchmarks/model_search.py experiments/rows/search.csv
python benchmarks/model_search.py experiments/rows/search.csv --page docs/results/search.md
```

"Mean of candidates" is what somebody gets who picks one blindly and trains it on all
records with the whole epsilon; "best candidate" is what somebody gets who knew which one.
"Gain" is the search's accuracy minus the mean of the candidates with the same seed.

| table | epsilon | method | accuracy | gain over the mean | how often each was chosen |
|---|---|---|---|---|---|
"""

_FOOT = """
The candidates alone, with the whole epsilon:

| table | epsilon | {names} |
|---|---|{lines}|
"""

_WORDS = """
Every claim was recomputed from the card (`verify`), and none was above epsilon. The
default, twelve runs on average, is above the mean of the candidates in every cell and below
the best one by {least:.4f} to {most:.4f}: that is the price of not knowing. With three runs
on average the poor candidate is chosen now and then, which is what the large standard
errors are made of. One of the six candidates is poor on purpose: over the mean of the
other five the default gains {others}, in the order of the table.
Among candidates that hardly differ there is little to gain.

`python benchmarks/search_audit.py 500` attacks searches of forty records through the front
door, with a canary that is always trained on or always scored on; {audit}
"""


def accuracies(rows, name, epsilon, method):
    """Return accuracies by seed."""
    return {
        int(x["seed"]): float(x["accuracy"])
        for x in rows
        if (x["table"], float(x["epsilon"]), x["method"]) == (name, epsilon, method)
    }


def shown(numbers, digits=4):
    """Return mean and standard error as text."""
    error = np.std(numbers, ddof=1) / np.sqrt(len(numbers))
    return f"{np.mean(numbers):.{digits}f} ± {error:.{digits}f}"


def page(path, audit):
    """Return the page of results."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    seeds = len({x["seed"] for x in rows})
    lines, alone, below, others = [], [], [], []
    for name in TABLES:
        for epsilon in EPSILONS:
            own = [accuracies(rows, name, epsilon, str(i)) for i in range(len(NAMES))]
            means = {seed: np.mean([x[seed] for x in own]) for seed in own[0]}
            best = max(np.mean(list(x.values())) for x in own)
            start = f"| {name} | {epsilon:g} |"
            lines.append(f"{start} mean of candidates | {shown(list(means.values()))} | | |")
            lines.append(f"{start} best candidate | {best:.4f} | | |")
            for mean in MEANS:
                found = accuracies(rows, name, epsilon, f"search {mean}")
                gains = [found[seed] - means[seed] for seed in found]
                chosen = [
                    int(x["chosen"])
                    for x in rows
                    if (x["table"], float(x["epsilon"]), x["method"])
                    == (name, epsilon, f"search {mean}")
                ]
                counts = ", ".join(map(str, np.bincount(chosen, minlength=len(NAMES))))
                if mean == MEANS[0]:
                    below.append(best - np.mean(list(found.values())))
                    good = [found[x] - np.mean([one[x] for one in own[:-1]]) for x in found]
                    others.append(shown(good))
                usual = " (default)" if mean == MEANS[0] else ""
                text = f"search, {mean} runs on average{usual}"
                values = shown(list(found.values()))
                lines.append(f"{start} {text} | {values} | {shown(gains)} | {counts} |")
            values = " | ".join(shown(list(x.values())) for x in own)
            alone.append(f"{start} {values} |")
    foot = _FOOT.format(names=" | ".join(NAMES), lines="|".join(["---"] * len(NAMES)))
    return (
        _HEAD.format(seeds=seeds)
        + "\n".join(lines)
        + "\n"
        + foot
        + "\n".join(alone)
        + "\n"
        + _WORDS.format(
            least=min(below), most=max(below), others=", ".join(others), audit=audit
        )
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    if "--page" in sys.argv:
        place = sys.argv.index("--page")
        Path(sys.argv[place + 1]).write_text(
            page(target, sys.argv[place + 2]), encoding="utf-8"
        )
    else:
        run(target, int(sys.argv[2]) if len(sys.argv) > 2 else SEEDS)
