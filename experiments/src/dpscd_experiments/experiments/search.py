"""What a private search is worth, against each candidate alone at the same epsilon."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch, Schema, TableModel
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Asked, Experiment, Failure, Shown, Spec, settings_of
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.store import Store
from dpscd_experiments.tables import load_table, read_schema

NAMES = (
    "lines, logistic", "automatic shapes, logistic", "16 steps, logistic", "lines, SVM",
    "automatic shapes, SVM", "first five columns, logistic",
)  # fmt: skip
ALONE = tuple(str(i) for i in range(len(NAMES)))


def _candidates(name: str) -> list[TableModel]:
    lines, shaped, steps = (read_schema(name, shape) for shape in ("line", None, "steps"))
    few = shaped.to_dict()
    for column in list(few["columns"])[5:]:
        few["columns"][column] = {"kind": "ignore"}
    schemas = (lines, shaped, steps, lines, shaped, Schema.from_dict(few))
    return [
        TableModel(schema, (DPLinearSVC if "SVM" in own else DPLogisticRegression)())
        for schema, own in zip(schemas, NAMES, strict=True)
    ]


def train(cell: Cell) -> Metrics:
    """Train a search or one candidate, and score it on test records."""
    raw = load_table(cell.dataset)
    own: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "delta": cell.delta,
        "random_state": cell.seed,
    }
    train, test = raw.cells.iloc[raw.train], raw.cells.iloc[raw.test]
    asked = _candidates(cell.dataset)
    if cell.method in ALONE:
        model = asked[int(cell.method)]
        model.set_params(**{f"estimator__{name}": value for name, value in own.items()})
        return {"accuracy": model.fit(train).score(test)}
    runs: Any = int(cell.method.split()[1])
    search = DPModelSearch(asked, mean_runs=runs, **own).fit(train)
    return {
        "accuracy": search.score(test),
        "chosen": search.best_index_,
        "verified": search.privacy_.verify(),
    }


def _methods(chosen: Spec) -> list[str]:
    return [*(f"search {mean}" for mean in chosen["means"]), *ALONE]


def _cells(chosen: Spec, asked: Asked) -> list[Cell]:
    return [
        Cell(train, "search", name, method, epsilon, chosen["delta"], seed)
        for name in asked.datasets or chosen["tables"]
        for epsilon in asked.epsilons or chosen["epsilons"]
        for method in asked.methods or _methods(chosen)
        for seed in range(min(asked.seeds or chosen["seeds"], chosen["seeds"]))
    ]


def _run(spec: Spec, asked: Asked, store: Store) -> None:
    cells = _cells(settings_of(spec, asked.quick), asked)
    for name in {cell.dataset for cell in cells}:
        load_table(name)  # raises when it is missing, before anything has run
    asked.forget(store)
    asked.run(cells, store, "search")


def _show(spec: Spec, quick: bool, store: Store) -> Shown:
    chosen, stored = settings_of(spec, quick), store.by_cell()
    rows = []
    for cell in _cells(chosen, Asked()):
        own = {row["metric"]: row["value"] for row in stored.get(cell.key, ())}
        if "accuracy" not in own:
            raise Failure(f"search: {cell.method} on {cell.dataset} has not run, or failed.")
        named = {"table": cell.dataset, "epsilon": cell.epsilon, "method": cell.method}
        rows.append({**named, "seed": cell.seed, **own})
    return Shown(page(pd.DataFrame(rows), chosen), {"search": rows})


def _shown(numbers: Any) -> str:
    return f"{numbers.mean():.4f} ± {numbers.sem():.4f}"


def page(rows: pd.DataFrame, spec: Spec) -> str:
    """Return the page of results."""
    lines, alone, below, others = [], [], [], []
    for (name, epsilon), cell in rows.groupby(["table", "epsilon"]):
        found = cell.pivot(index="seed", columns="method", values="accuracy")
        own = found[list(ALONE)]
        best, start = own.mean().max(), f"| {name} | {epsilon:g} |"
        lines += [
            f"{start} mean of candidates | {_shown(own.mean(axis=1))} | | |",
            f"{start} best candidate | {best:.4f} | | |",
        ]
        for mean in spec["means"]:
            scores, usual = (
                found[f"search {mean}"],
                " (default)" if mean == spec["means"][0] else "",
            )
            chosen = cell.chosen[cell.method == f"search {mean}"].astype(int)
            counts = ", ".join(str(n) for n in np.bincount(chosen, minlength=len(ALONE)))
            shown = f"{_shown(scores)} | {_shown(scores - own.mean(axis=1))} | {counts}"
            lines += [f"{start} search, {mean} runs on average{usual} | {shown} |"]
        default = found[f"search {spec['means'][0]}"]
        below.append(best - default.mean())
        others.append(_shown(default - own.iloc[:, :-1].mean(axis=1)))
        alone.append(f"{start} " + " | ".join(_shown(own[one]) for one in own) + " |")
    return str(spec["page"]).format(
        seeds=rows.seed.nunique(), lines="\n".join(lines), alone="\n".join(alone),
        names=" | ".join(NAMES), dashes="---|" * len(NAMES),
        least=min(below), most=max(below), others=", ".join(others),
    )  # fmt: skip


def _choices(chosen: Spec) -> Mapping[str, Sequence[Any]]:
    return {
        "data": chosen["tables"],
        "epsilon": chosen["epsilons"],
        "method": _methods(chosen),
        "again": _methods(chosen),
    }


EXPERIMENT = Experiment(_run, _show, _choices)
