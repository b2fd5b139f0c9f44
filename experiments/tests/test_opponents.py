import math
import os
import stat
import sys
from dataclasses import replace

import numpy as np
import pytest
from invented import generate
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from dpscd_experiments import sweeps
from dpscd_experiments.cells import Skip
from dpscd_experiments.experiment import load_spec, settings_of
from dpscd_experiments.opponents import (
    adassp,
    dp_sgd,
    one_shot,
    ours,
    peers,
    plain,
    prepared,
    published,
    snapml,
)
from dpscd_experiments.opponents.search import search
from dpscd_experiments.opponents.setting import Setting

pytestmark = pytest.mark.full

LOSSES = ("squared", "logistic", "hinge")


@pytest.fixture(autouse=True)
def data(monkeypatch):
    """Generated data for every name; those called 'plain' have no intercept."""
    made = {}

    def load(name):
        if name not in made:
            task = "regression" if "ridge" in name else "classification"
            layout = "csr" if "sparse" in name else "dense"
            data = generate(400, 8, task=task, layout=layout, seed=3)
            made[name] = replace(data, fit_intercept="plain" not in name)
        return made[name]

    def forget():
        for cached in (prepared.prepare, sweeps.prepared, one_shot._our_plan):
            cached.cache_clear()

    forget()
    for module in (prepared, sweeps):
        monkeypatch.setattr(module, "load_dataset", load)
    yield load
    forget()


def setting(loss="logistic", name=None, **changes):
    fields = {
        "problem": f"made-{loss}",
        "dataset": name or ("ridge" if loss == "squared" else "classes"),
        "loss": loss,
        "grid": "small",
        "published": {"squared": "fig1a", "logistic": "fig1b", "hinge": "fig1c"}[loss],
        "epsilon": 1.0,
        "delta": 1e-3,
        "seeds": 2,
        "tuning_seeds": (1000, 1001),
        "finalists": 2,
    }
    return Setting(**{**fields, **changes})


def played(cells, stored):
    """Run cells as the runner would, and return what is stored then."""
    for cell in cells:
        if cell.key not in stored:
            stored[cell.key] = [
                {"metric": name, "value": value, "status": "ok"}
                for name, value in cell.function(cell).items()
            ]
    return stored


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["", "plain ", "sparse "])
def test_one_shot_without_noise_is_the_optimum(loss, kind):
    ready = prepared.prepare(kind + ("ridge" if loss == "squared" else "classes"), loss)
    width = ready.problem(1.0).width
    assert width == (8 if kind == "plain " else 9)
    model = one_shot.minimise(ready, 1e-2, np.zeros(width))
    best = ours.fitted(ready.data, loss, epsilon=math.inf, lam=1e-2, random_state=0)
    reference = ours.model_of(best)
    scale = np.abs(reference.coef).max()
    assert model.coef == pytest.approx(reference.coef, abs=0.03 * scale)
    assert model.intercept == pytest.approx(reference.intercept, abs=0.03 * scale)


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


def test_one_shot_takes_lam_and_noise_from_our_plan():
    cell = one_shot.cells(setting(), {}, {})[0]
    ready = prepared.prepare(cell.dataset, "logistic")
    lam, travel = one_shot._our_plan(cell.dataset, "logistic", 1.0, 1e-3)
    card = ours.fitted(
        ready.data, "logistic", epsilon=1.0, delta=1e-3, random_state=7, standardise=False
    ).privacy_
    assert lam == card.public["lam"]
    shared = next(one for one in card.releases if one.what == "shared vector")
    assert travel == pytest.approx(shared.clip * card.public["epochs"])
    loose = replace(cell, epsilon=8.0)
    assert one_shot.play(loose)["log_loss"] != one_shot.play(cell)["log_loss"]


@pytest.mark.parametrize("name", ["ridge", "plain ridge", "sparse ridge"])
def test_adassp_without_noise_is_least_squares(name):
    cell = replace(adassp.cells(setting("squared", name), {}, {})[0], epsilon=1e9)
    ready = prepared.prepare(name, "squared")
    reference = LinearRegression(fit_intercept=ready.data.fit_intercept)
    reference.fit(ready.data.X, ready.labels)
    model = adassp.train(ready, cell)
    assert model.coef[0] == pytest.approx(reference.coef_, rel=1e-4, abs=1e-4)
    assert model.intercept[0] == pytest.approx(reference.intercept_, rel=1e-4, abs=1e-4)


def test_adassp_adds_noise_by_thirds():
    # Without records only noise is left: its spread is that of a third of the budget.
    X, y = np.zeros((1, 1)), np.zeros(1)
    rng = np.random.default_rng(0)

    class Loud:
        """Standard normals, of which the product's is kept."""

        def normal(self, size=None):
            draw = rng.normal(size=size)
            if size == 1:
                self.product = draw
            return np.zeros_like(draw) if size == (1, 1) else draw

    source = Loud()
    coef = adassp.adassp(X, y, 3.0, 3e-3, source)
    noise = adassp.gaussian_multiplier(1.0, 1e-3, adassp.Relation.ZERO_OUT)
    ridge = noise * math.sqrt(math.log(2.0 / 0.05))
    assert coef[0] == pytest.approx(noise * source.product[0] / ridge)


def test_adassp_is_for_ridge_only():
    assert adassp.cells(setting("hinge"), {}, {}) == []
    assert len(adassp.cells(setting("squared"), {}, {})) == 2


def test_the_grid_of_dp_sgd_is_the_one_that_was_promised():
    spec = load_spec("accuracy")["dp_sgd"]
    promised = {
        "lot_size": {50, 200, 500, 1000, 2000},
        "clip": {0.1, 0.3, 1.0},
        "learning_rate": {0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0},
        "epochs": {10, 50, 200},
        "lam": {1e-6, 1e-5, 1e-4, 1e-3},
        "averaging": {0.0, 0.5},
    }
    lots = {"lot_size": {200, 1000, 2000}}
    rates = {"learning_rate": promised["learning_rate"] | {100.0, 300.0}}
    other = {"huge": lots, "vast": lots | {"epochs": {10, 50}}, "wide": rates}
    for grid, stages in spec.items():
        for name, values in (promised | other.get(grid, {})).items():
            assert {value for stage in stages for value in stage.get(name, [])} == values
    first = list(dp_sgd.proposals(spec["small"][0], []))
    assert len(first) == len({tuple(one.items()) for one in first}) == 315
    assert len(list(dp_sgd.proposals(spec["large"][0], []))) == 105
    assert len(list(dp_sgd.proposals(spec["huge"][0], []))) == 63


def test_later_stages_of_dp_sgd_change_the_best():
    spec = load_spec("accuracy")["dp_sgd"]["large"]
    ranked = list(dp_sgd.proposals(spec[0], []))
    longer = list(dp_sgd.proposals(spec[1], ranked))
    assert len(longer) == 8 * 2 * 2
    assert {one["epochs"] for one in longer} == {50, 200}
    assert {one["learning_rate"] for one in longer} >= {0.03, 0.01, 30.0, 10.0, 0.3333}
    lams = list(dp_sgd.proposals(spec[2], longer))
    assert [one["lam"] for one in lams] == [1e-6, 1e-4, 1e-3] * 6
    assert [{**one, "lam": 1e-5} for one in lams[::3]] == longer[:6]


def test_dp_sgd_stages_follow_what_was_found():
    spec = {
        "dp_sgd": {
            "small": [
                {"epochs": [1], "lot_size": [50], "clip": [1.0], "learning_rate": [1.0, 2.0],
                 "lam": [1e-3], "averaging": [0.0]},
                {"best": 1, "lam": [1e-2]},
            ]
        }
    }  # fmt: skip
    stored, sizes = {}, []
    for _ in range(4):
        cells = dp_sgd.cells(setting(), spec, stored)
        sizes.append(len(cells))
        for cell in cells:
            rate, lam = cell.parameters["learning_rate"], cell.parameters["lam"]
            score = 0.5 + 0.1 * (rate == 2.0) + 0.1 * (lam == 1e-2)
            stored[cell.key] = [{"metric": "validation", "value": score, "status": "ok"}]
    assert sizes == [2, 3, 5, 7]  # the grid, the best's lam, two finalists, two results
    result = cells[-1].parameters
    assert (result["part"], result["learning_rate"], result["lam"]) == ("test", 2.0, 1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_dp_sgd_learns_with_an_intercept(loss):
    config = {
        "epochs": 30, "lot_size": 50, "clip": 1.0, "learning_rate": 1.0, "lam": 1e-4,
        "averaging": 0.5,
    }  # fmt: skip
    cell = setting(loss, epsilon=50.0).results("dp-sgd", dp_sgd.play, config)[0]
    ready = prepared.prepare(cell.dataset, loss)
    model = dp_sgd.train(ready, cell)
    assert model.intercept[0] != 0.0
    reference = ours.fitted(ready.data, loss, epsilon=math.inf, lam=1e-3, random_state=0)
    best = ready.score(ours.model_of(reference), "test")
    reached = ready.score(model, "test")
    assert reached < 1.3 * best if loss == "squared" else reached > best - 0.08


def test_dp_sgd_clips_in_units_of_the_labels_spread(monkeypatch):
    seen = []

    def spy(problem, plan, *_data, learning_rate):
        assert learning_rate == 1.0
        seen.append((problem.label_scale, plan.clip))
        return np.zeros((1, problem.width))

    monkeypatch.setattr(dp_sgd, "dp_sgd", spy)
    config = {"epochs": 1, "lot_size": 50, "clip": 0.3, "learning_rate": 1.0, "lam": 1e-4,
              "averaging": 0.5}  # fmt: skip
    for loss in ("squared", "hinge"):
        dp_sgd.play(setting(loss).results("dp-sgd", dp_sgd.play, config)[0])
    spread = prepared.prepare("ridge", "squared").labels.std()
    assert seen == [(pytest.approx(spread), 0.3), (1.0, 0.3)]


@pytest.mark.parametrize("loss", LOSSES)
def test_tuning_never_touches_test_rows(loss, monkeypatch, data):
    def poisoned(name):
        clean = data(name)
        return replace(clean, X_test=np.full_like(clean.X_test, math.nan))

    for module in (prepared, sweeps):
        monkeypatch.setattr(module, "load_dataset", poisoned)
    spec = {
        **load_spec("accuracy"),
        "plain": {"lams": [1e-3, 1e-2]},
        "one_shot": {"lam_factors": [1.0, 10.0]},
        "published": {"lot_sizes": [50], "clips": [1e-3, 1e-2], "epochs": 2},
        "dp_sgd": {
            "small": [
                {"epochs": [1], "lot_size": [50], "clip": [0.1, 1.0], "learning_rate": [1.0],
                 "lam": [1e-3], "averaging": [0.0]}
            ]
        },
    }  # fmt: skip
    for cells in (plain.cells, dp_sgd.cells, one_shot.tuned_cells, published.cells):
        stored = {}
        for _ in range(3):
            made = cells(setting(loss), spec, stored)
            played(made, stored)
        tuned = [cell for cell in made if cell.parameters["part"] == "validation"]
        results = [cell for cell in made if cell.parameters["part"] == "test"]
        assert len(tuned) >= 1
        assert len(results) >= 1
        main = "mse" if loss == "squared" else "accuracy"
        for cell in tuned:
            found = {row["metric"]: row["value"] for row in stored[cell.key]}
            assert math.isfinite(found["validation"])
            assert main not in found
        for cell in results:
            found = {row["metric"]: row["value"] for row in stored[cell.key]}
            assert math.isnan(found[main])


def test_published_is_tuned_as_in_the_reproduction():
    spec = settings_of(load_spec("accuracy"), quick=False)
    cells = published.cells(setting(), spec, {})
    figure = load_spec("fig1b")
    assert [cell.parameters["lot_size"] for cell in cells] == figure["lot_sizes"]
    clips = {cell.parameters["clips"] for cell in cells}
    assert clips == {",".join(f"{clip:g}" for clip in figure["clips"])}
    stored = {
        cell.key: [
            {"metric": "validation", "value": 0.9 if number == 2 else 0.8},
            {"metric": "clip", "value": 10.0**-number},
        ]
        for number, cell in enumerate(cells)
    }
    results = published.cells(setting(), spec, stored)[len(cells) :]
    assert {cell.parameters["clip"] for cell in results} == {0.01}
    assert {cell.parameters["lot_size"] for cell in results} == {figure["lot_sizes"][2]}
    assert [cell.seed for cell in results] == [0, 1]


def found(value):
    return [{"metric": "validation", "value": value, "status": "ok"}]


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_best_mean_over_tuning_seeds_wins(loss):
    here, configs = setting(loss), [{"x": 1}, {"x": 2}, {"x": 3}]
    stored = {}
    for _ in range(3):
        cells = search(here, "m", ours.play, [lambda _: configs], stored)
        for cell in cells:
            x, first = cell.parameters["x"], cell.seed == 1000
            scores = {1: (0.9, 0.1), 2: (0.8, 0.8), 3: (0.3, 0.9)}[x]
            score = scores[0] if first else scores[1]
            stored[cell.key] = found(score if loss == "logistic" else 1.0 - score)
    assert cells[-1].parameters["x"] == 2
    # The third is no finalist: its second seed is never asked for.
    assert all(c.parameters["x"] != 3 or c.seed == 1000 for c in cells)


def test_configurations_that_fail_are_the_worst():
    here, configs = setting(finalists=3), [{"x": 1}, {"x": 2}, {"x": 3}]
    stored = {}
    for _ in range(3):
        cells = search(here, "m", ours.play, [lambda _: configs], stored)
        for cell in cells:
            x = cell.parameters["x"]
            failed = [{"metric": None, "value": None, "status": "failed"}]
            stored[cell.key] = {1: failed, 2: found(math.nan), 3: found(0.1)}[x]
    assert cells[-1].parameters == {**cells[-1].parameters, "part": "test", "x": 3}
    assert all(c.parameters["x"] == 3 or c.seed == 1000 for c in cells)
    nothing = {cell.key: failed for cell in cells}
    left = search(here, "m", ours.play, [lambda _: configs], nothing)
    assert {cell.parameters["part"] for cell in left} == {"validation"}


def test_absent_peers_are_skipped_with_a_reason(monkeypatch, tmp_path):
    spec = load_spec("accuracy")
    for package, cells in (
        ("diffprivlib", peers.cells_of_diffprivlib),
        ("opacus", peers.cells_of_opacus),
    ):
        cell = cells(setting(), spec, {})[0]
        monkeypatch.delenv(peers.INTERPRETERS[package], raising=False)
        with pytest.raises(Skip, match=f"{peers.INTERPRETERS[package]} must name"):
            peers.play(cell)
        monkeypatch.setenv(peers.INTERPRETERS[package], str(tmp_path / "nowhere"))
        with pytest.raises(Skip, match="cannot be started"):
            peers.play(cell)
    bare = tmp_path / "bare"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv(peers.INTERPRETERS["opacus"], str(bare))
    with pytest.raises(Skip, match="has no such package"):
        peers.play(cell)
    monkeypatch.setitem(sys.modules, "snapml", None)
    with pytest.raises(Skip, match=r"dpscd-experiments\[peers\]"):
        snapml.play(snapml.cells(setting(), spec, {})[0])
    assert snapml.cells(setting("hinge"), spec, {}) == []
    assert peers.cells_of_diffprivlib(setting("hinge"), spec, {}) == []


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_peers_model_comes_back_in_our_units(loss, monkeypatch, tmp_path):
    # A package of that name whose models are scikit-learn's.
    models = tmp_path / "diffprivlib" / "models.py"
    models.parent.mkdir()
    (models.parent / "__init__.py").touch()
    models.write_text(
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
    cell = peers.cells_of_diffprivlib(setting(loss), load_spec("accuracy"), {})[0]
    ready = prepared.prepare(cell.dataset, loss)
    lam = 1e-4 if loss == "squared" else 1.0 / 400
    reference = ours.fitted(ready.data, loss, epsilon=math.inf, lam=lam, random_state=0)
    best = ready.metrics(ours.model_of(reference))
    assert ready.label_bound == (4.0 if loss == "squared" else 1.0)
    main = "mse" if loss == "squared" else "log_loss"
    assert peers.play(cell)[main] == pytest.approx(best[main], rel=0.05)


def test_results_carry_all_metrics():
    names = {
        "squared": {"mse", "r2"},
        "logistic": {
            "accuracy",
            "log_loss",
            "brier",
            "calibration_error",
            "calibration",
            "auc",
        },
        "hinge": {"accuracy", "auc"},
    }
    for loss in LOSSES:
        assert set(ours.play(ours.cells(setting(loss), {}, {})[0])) == names[loss]
