"""Opponents against their definitions, the privacy they claim, and how they are tuned."""

import math
import os
import sys
from dataclasses import replace
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
import pytest
from invented import generate, invented
from sklearn.linear_model import LinearRegression

from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation
from dpscd_experiments import sweeps
from dpscd_experiments.cells import Skip
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.opponents import linear, one_shot, peers, prepared, tabled
from dpscd_experiments.opponents.registry import METHODS, TABLE_METHODS
from dpscd_experiments.opponents.setting import Setting, search
from dpscd_experiments.tables import read_schema

BENCHES = {
    "accuracy": (METHODS, load_spec("accuracy")),
    "tables": (TABLE_METHODS, load_spec("tables")),
}
CACHES = (
    prepared.prepare,
    sweeps.prepared,
    one_shot._our_plan,
    tabled.features_of,
    tabled._table,
)


@pytest.fixture(autouse=True)
def data(monkeypatch):
    """Give generated data to every name, those called 'plain' without intercept."""

    def give(every=1):
        """Let each data set have every so manieth test row."""

        def load(name):
            task = "regression" if "ridge" in name else "classification"
            layout = "csr" if "sparse" in name else "dense"
            made = generate(400, 8, task=task, layout=layout, seed=3)
            tested = {"X_test": made.X_test[::every], "y_test": made.y_test[::every]}
            return replace(made, fit_intercept="plain" not in name, **tested)

        def load_table(name):
            made = invented(name)
            return replace(made, test=made.test[::every])

        for module in (prepared, sweeps):
            monkeypatch.setattr(module, "load_dataset", load)
        monkeypatch.setattr(tabled, "load_table", load_table)
        for cached in CACHES:
            cached.cache_clear()

    give()
    yield give
    for cached in CACHES:
        cached.cache_clear()


def setting(loss="logistic", name=None, **changes):
    fields = {
        "problem": name or f"made-{loss}", "loss": loss,
        "dataset": name or ("ridge" if loss == "squared" else "classes"),
        "grid": "small", "epsilon": 1.0, "delta": 1e-3, "seeds": 2,
        "tuning_seeds": (1000, 1001), "finalists": 2,
        "published": {"squared": "fig1a", "logistic": "fig1b", "hinge": "fig1c"}[loss],
    }  # fmt: skip
    return Setting(**{**fields, **changes})


def first(name, loss="logistic", dataset=None, **changes):
    """Return the first cell of a method: of the bench of tables if there is such a table."""
    bench = "tables" if dataset in ("bank", "nycflights13") else "accuracy"
    methods, spec = BENCHES[bench]
    at = setting(loss, dataset, experiment=bench, **changes)
    return methods[name].cells(at, spec, {})[0]


def play(cell):
    return cell.function(cell)


@pytest.mark.parametrize("name", ["ridge", "plain ridge", "sparse ridge"])
@pytest.mark.parametrize("train", [linear.train_adassp, linear.train_boosted])
def test_adassp_without_noise_is_least_squares(name, train):
    ready = prepared.prepare(name, "squared")
    best = LinearRegression(fit_intercept=ready.data.fit_intercept)
    best.fit(ready.data.X, ready.labels)
    config = {"rounds": 7, "clip": 2.0}
    model = train(ready, setting("squared", name, epsilon=1e9).results("x", play, config)[0])
    assert model.coef[0] == pytest.approx(best.coef_, rel=1e-4, abs=1e-4)
    assert model.intercept[0] == pytest.approx(best.intercept_, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("rounds", "clip"), [(0, 1.0), (1, 0.3), (4, 0.3)])
def test_adassp_and_its_boosting_give_every_release_a_third(rounds, clip):
    X, y, random, replayed = 10.0 * np.eye(2), np.ones(2), *map(np.random.default_rng, (0, 0))
    if rounds:  # composed as one, a third of the squared strength for all rounds together
        noise = math.sqrt(3.0) * gaussian_multiplier(2.0, 1e-3, Relation.ZERO_OUT)
        found = linear.boosted_adassp(X, y, 2.0, 1e-3, random, rounds=rounds, clip=clip)
    else:
        noise = gaussian_multiplier(2.0 / 3.0, 1e-3 / 3.0, Relation.ZERO_OUT)
        found = linear.adassp(X, y, 2.0, 1e-3, random)
    eigenvalue, upper = replayed.normal(), replayed.normal(size=(2, 2))
    least = max(0.0, 100.0 + noise * (eigenvalue - math.sqrt(math.log(6.0 / 1e-3))))
    ridge = max(0.0, noise * math.sqrt(2.0 * math.log(2.0 * 2 * 2 / 0.05)) - least)
    upper[1, 0] = upper[0, 1]
    moment, coef = X.T @ X + noise * upper + ridge * np.eye(2), np.zeros(2)
    for _ in range(rounds or 1):
        spread = noise * clip * math.sqrt(rounds or 1)
        sums = X.T @ np.clip(y - X @ coef, -clip, clip) + spread * replayed.normal(size=2)
        coef += np.linalg.solve(moment, sums)
    assert found == pytest.approx(coef)


SGD = {"epochs": 2, "lot_size": 50, "clip": 0.3, "learning_rate": 1.0, "lam": 1e-4,
       "averaging": 0.5}  # fmt: skip


@pytest.mark.parametrize(("loss", "sign"), [("logistic", 1.0), ("squared", -1.0)])
def test_the_best_mean_over_tuning_seeds_wins(loss, sign):
    scores = {1: (0.9, 0.1), 2: (0.8, 0.8), 3: (0.3, 0.9), 4: (math.nan, 1.0)}
    stored = {}
    for _ in range(3):
        cells = search(setting(loss), "m", play, [lambda _: [{"x": x} for x in scores]], stored)
        for cell in cells:
            score = sign * scores[cell.parameters["x"]][cell.seed != 1000]
            stored[cell.key] = [{"metric": "validation", "value": score}]
    assert (cells[-1].parameters["x"], cells[-1].parameters["part"]) == (2, "test")
    # The others are no finalists: their second seed is never asked for.
    assert all(c.parameters["x"] in (1, 2) or c.seed == 1000 for c in cells)


TUNED = [("accuracy", name, loss, None) for loss in ("squared", "logistic", "hinge")
         for name in ("plain", "dp-sgd", "one-shot-tuned", "published")]  # fmt: skip
TUNED += [("tables", name, "logistic", "bank") for name in ("plain", "dp-sgd")]
TUNED += [("tables", "boosted-adassp", "squared", "nycflights13")]


@pytest.mark.full
@pytest.mark.parametrize(("bench", "name", "loss", "dataset"), TUNED)
def test_tuning_never_sees_test_rows(bench, name, loss, dataset, data):
    methods, spec = BENCHES[bench]
    spec = spec | {
        "plain": {"lams": [1e-3, 1e-2]},
        "one_shot": {"lam_factors": [1.0, 10.0]},
        "published": {"lot_sizes": [50], "clips": [1e-3, 1e-2], "epochs": 2},
        "dp_sgd": {"small": [{key: [value] for key, value in SGD.items()}]},
        "boosted_adassp": {"rounds": [1, 3], "clip": [1.0]},
    }

    def searched():
        stored, parts = {}, {}
        for _ in range(3):
            for cell in methods[name].cells(setting(loss, dataset), spec, stored):
                if cell.key not in stored:
                    found = play(cell) | {"cpu_seconds": 0.0}
                    stored[cell.key] = [{"metric": k, "value": v} for k, v in found.items()]
                    parts[cell.key] = cell.parameters["part"]
        return stored, parts

    before, parts = searched()
    data(every=2)
    after, _ = searched()
    same = {key: "validation" if before[key] == after[key] else "test" for key in before}
    assert same == parts
    assert set(parts.values()) == {"validation", "test"}


@pytest.mark.parametrize(
    ("python", "words"),
    [("", "must name"), ("nowhere", "cannot be started"), ("bare", "has no such package")],
)
def test_absent_peers_are_skipped_with_a_reason(python, words, monkeypatch, tmp_path):
    (tmp_path / "bare").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bare").chmod(0o700)
    for variable in peers.INTERPRETERS.values():
        monkeypatch.setenv(variable, os.fspath(tmp_path / python) if python else "")
    for module in ("snapml", "interpret.privacy", "interpret.glassbox"):
        monkeypatch.setitem(sys.modules, module, None)
    extra = r"dpscd-experiments\[peers\]"
    for name, dataset, reason in (
        ("diffprivlib", None, words), ("opacus", None, words), ("mst", "bank", words),
        ("snapml", None, extra), ("dp-ebm", "bank", extra), ("ebm", "bank", extra),
    ):  # fmt: skip
        with pytest.raises(Skip, match=reason):
            play(first(name, dataset=dataset))


def test_a_peers_model_comes_back_in_our_units(monkeypatch):
    ready = prepared.prepare("ridge", "squared")
    best = LinearRegression().fit(ready.data.X, ready.labels)

    def fit(_package, given):
        found = LinearRegression().fit(given["X"], given["y"])
        return {"coef": found.coef_, "intercept": np.full(1, found.intercept_)}

    monkeypatch.setattr(peers, "interpreter_of", os.fspath)
    monkeypatch.setattr(peers, "fit_elsewhere", fit)
    model = peers.train(ready, first("diffprivlib", "squared"))
    assert model.coef[0] == pytest.approx(best.coef_)
    assert model.intercept == pytest.approx(best.intercept_)


def test_private_trees_are_told_the_declared_bounds(monkeypatch):
    module, made = ModuleType("interpret.privacy"), MagicMock()
    made.return_value.predict.side_effect = lambda X: np.zeros(len(X))
    module.DPExplainableBoostingRegressor = made
    monkeypatch.setitem(sys.modules, "interpret", ModuleType("interpret"))
    monkeypatch.setitem(sys.modules, "interpret.privacy", module)
    play(first("dp-ebm", "squared", "nycflights13"))
    told = made.call_args.kwargs
    numbers = {c.name for c in read_schema("nycflights13").features if c.kind == "number"}
    assert (told["epsilon"], told["delta"]) == (1.0, 1e-3)
    assert told["privacy_bounds"].keys() == numbers
    assert (told["privacy_target_min"], told["privacy_target_max"]) == (-90, 300)
    assert made.return_value.fit.call_args.args[1].max() <= 300
