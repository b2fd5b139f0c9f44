"""What three releases earn: fits with each and without, of equal seeds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from dpscd import DPLogisticRegression, DPRidge
from dpscd.planning import rule
from dpscd.releases import moments
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import DATASETS, load_dataset
from dpscd_experiments.experiment import (
    Asked,
    Experiment,
    Failure,
    Shown,
    Spec,
    load_spec,
    settings_of,
)
from dpscd_experiments.experiments.forecast import features
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.persons import FLIGHTS, LAWS, load_persons
from dpscd_experiments.sources import find_file
from dpscd_experiments.store import Store
from dpscd_experiments.style import markdown_table

ALL = "all"
#: Each release with the constant of the rule that takes it away.
WITHOUT: dict[str, tuple[Any, str, float]] = {
    "long rows": (rule, "_USELESS_GAIN", -1.0),
    "octaves": (moments, "_FINE", np.inf),
    "steepness": (rule, "_USELESS_STEEPNESS", -1.0),
}
_MOST, _TEST = 20_000, 5000
_VISITS = "visits"


@contextmanager
def _without(release: str) -> Iterator[None]:
    if release == ALL:
        yield
    else:
        module, constant, value = WITHOUT[release]
        with patch.object(module, constant, value):
            yield


def _thinned(n: int) -> Any:
    return np.random.default_rng(0).permutation(n)[:_MOST]


def _columns(name: str) -> tuple[pd.DataFrame, Any]:
    """Return an open table's numbers, and features from -1 to 1 by declared bounds."""
    own = load_spec("releases")["open"][name]
    file = find_file(own["folder"], (own["file"],))
    table = pd.read_csv(file, sep=own.get("separator", ","))
    table = table.dropna(subset=[*own["columns"], own["target"]])
    low, high = np.array(list(own["columns"].values()), float).T
    return table, (table[list(own["columns"])].to_numpy(float) - low) / (high - low) * 2 - 1


@lru_cache(maxsize=1)
def _regression(name: str) -> tuple[Any, ...]:
    """Return rows and labels, those for test, the row bound and bounds of labels."""
    if name in DATASETS:
        data = load_dataset(name)
        own, test = _thinned(len(data.y)), _thinned(len(data.y_test))
        parts = data.X[own], data.y[own], data.X_test[test], data.y_test[test]
        return *parts, 1.0, data.y_bounds
    if " / " not in name:
        (table, X), own = _columns(name), load_spec("releases")["open"][name]
        y = np.clip(table[own["target"]].to_numpy(float), *own["bounds"])
        order = np.random.default_rng(1).permutation(len(y))[: _MOST + _TEST]
        X, y, cut = X[order], y[order], int(0.8 * len(order))
        # One row of twenty is longer.
        longest = np.quantile(np.linalg.norm(X[:cut], axis=1), 0.95)
        return X[:cut], y[:cut], X[cut:], y[cut:], longest, tuple(own["bounds"])
    kind, law, count = name.split(" / ")
    n, d = int(count), 20
    rng = np.random.default_rng([n, len(kind), len(law)])
    X = features("independent" if kind == "outliers" else kind, d, n + _MOST, rng)
    score = X @ (rng.standard_normal(d) * rng.gamma(1.0, size=d))
    score = score / score.std()
    score = np.tanh(score) if law == "levels off" else score
    y = 0.7**0.5 * score + 0.3**0.5 * rng.standard_normal(n + _MOST)
    if kind == "outliers":
        y += 5.0 * (rng.uniform(size=n + _MOST) < 0.05)
    y = np.clip(y, -10.0, 10.0)
    return X[:n], y[:n], X[n:], y[n:], 1.7 * d**0.5, (-10.0, 10.0)


@lru_cache(maxsize=1)
def _persons(name: str, seed: int) -> tuple[Any, ...]:
    """Return rows, labels and whose they are, and rows and labels for test."""
    if name == _VISITS:
        table, X = _columns(name)
        X, y = X / X.shape[1] ** 0.5, np.where(table.mdvis > 0, 1, -1)
        who = np.unique(table.zper, return_inverse=True)[1]
        test = np.random.default_rng(1).permutation(who.max() + 1)[who] % 5 == 0
        return X[~test], y[~test], who[~test], X[test], y[test]
    data = load_persons(name, "classification", seed)
    keep, test = np.ones(len(data.y), bool), np.arange(len(data.y_test))
    if name == FLIGHTS:  # whole planes
        rank = np.random.default_rng(1).permutation(data.persons.max() + 1)[data.persons]
        keep = rank < np.searchsorted(np.cumsum(np.bincount(rank)), _MOST)
        test = _thinned(len(data.y_test))
    parts = data.X[keep], data.y[keep], data.persons[keep]
    return *parts, data.X_test[test], data.y_test[test]


def train(cell: Cell) -> Metrics:
    """Train with all releases or without one, and score on test records."""
    own: dict[str, Any] = {"delta": cell.delta, "random_state": cell.seed}
    with _without(cell.method):
        if cell.parameters["task"] == "regression":
            X, y, X_test, y_test, longest, bounds = _regression(cell.dataset)
            ridge = DPRidge(cell.epsilon, y_bounds=bounds, row_bound=longest, **own)
            error = np.mean((ridge.fit(X, y).predict(X_test) - y_test) ** 2)
            return {"loss": float(error / np.var(y_test))}
        made = cell.seed if cell.dataset in LAWS else 0
        X, y, who, X_test, y_test = _persons(cell.dataset, made)
        model = DPLogisticRegression(cell.epsilon, classes=(-1, 1), **own)
        chances = model.fit(X, y, groups=who).predict_proba(X_test)[:, 1]
        return {"loss": float(log_loss(y_test, chances))}


def _cells(chosen: Spec, asked: Asked) -> list[Cell]:
    return [
        Cell(train, "releases", name, method, epsilon, 1e-5, seed, {"task": task})
        for task, methods in chosen["tasks"].items()
        for name in chosen[task]
        if name in (asked.datasets or chosen[task])
        for seed in range(min(asked.seeds or chosen["seeds"], chosen["seeds"]))
        for epsilon in asked.epsilons or chosen["epsilons"]
        for method in (ALL, *methods)
    ]


def _run(spec: Spec, asked: Asked, store: Store) -> None:
    asked.run(_cells(settings_of(spec, asked.quick), asked), store, "releases")


def _show(spec: Spec, quick: bool, store: Store) -> Shown:
    chosen, stored = settings_of(spec, quick), store.by_cell()
    names = ("dataset", "epsilon", "seed", "method")
    rows = [
        {
            **{name: getattr(cell, name) for name in names},
            **cell.parameters,
            "loss": row["value"],
        }
        for cell in _cells(chosen, Asked())
        for row in stored.get(cell.key, ())
        if row["metric"] == "loss"
    ]
    if not rows:
        raise Failure("releases: no results.")
    return Shown(page(pd.DataFrame(rows), chosen), {"releases": rows})


def page(rows: pd.DataFrame, spec: Spec) -> str:
    """Return the page: what the mean over tables loses without each release, in percent."""
    lines, tables, of_open = [], [], 0.0
    for task, methods in spec["tasks"].items():
        if task not in set(rows.task):
            continue
        wide = rows[rows.task == task].pivot(
            index=["epsilon", "seed", "dataset"], columns="method", values="loss"
        )
        for method in methods:
            lost = (100.0 * (wide[method] / wide[ALL] - 1.0)).unstack("dataset")
            by = {f"{at:g}": own.mean(axis=1) for at, own in lost.groupby("epsilon")}
            by["all"] = lost.groupby("seed").mean().mean(axis=1)
            shown = (f"{found.mean():+.2f} ± {found.sem():.2f}" for found in by.values())
            lines.append([method, str(lost.shape[1]), *shown])
            means = lost.mean()
            tables += [[method, name, f"{means[name]:+.2f}"] for name in means.index]
            if method == "long rows":
                of_open = float(
                    means[[name for name in means.index if " / " not in name]].mean()
                )
    head = [
        "without",
        "tables",
        *(f"epsilon {at:g}" for at in sorted(set(rows.epsilon))),
        "mean",
    ]
    return str(spec["page"]).format(
        seeds=rows.seed.nunique(),
        open=f"{of_open:+.2f}",
        lines=markdown_table(head, lines),
        tables=markdown_table(["without", "table", "mean over epsilons"], tables),
    )


def _choices(chosen: Spec) -> Mapping[str, Sequence[Any]]:
    names = [name for task in chosen["tasks"] for name in chosen[task]]
    return {"data": names, "epsilon": chosen["epsilons"]}


EXPERIMENT = Experiment(_run, _show, _choices)
