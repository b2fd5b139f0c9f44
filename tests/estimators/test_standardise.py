"""Released moments as seen from an estimator: what they cost, and what they are good for."""

import math
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, Ledger, PrivacyCard

MOMENTS = ["moments"]
LABELS = ["label mean", "label spread"]


def records(n=3000, d=4, seed=0):
    X = np.random.default_rng(seed).uniform(-0.4, 0.4, size=(n, d))
    return X, X[:, 0] - X[:, 1]


def names(model):
    return [release.what for release in model.privacy_.releases]


def classifier(**changes):
    return DPLogisticRegression(
        **{"classes": [False, True], "epochs": 3, "random_state": 0, **changes}
    )


def ridge(**changes):
    return DPRidge(**{"y_bounds": (-1.0, 1.0), "epochs": 3, "random_state": 0, **changes})


def common_mean(n, d=20, seed=0):
    """Return rows that are nearly all mean, and classes that the rest decides."""
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=(n, d)) * np.geomspace(1.0, 0.2, d)
    y = rest @ rng.normal(size=d) > 0.0
    X = 10.0 + rest
    return X, y, float(np.linalg.norm(np.full(d, 14.0)))


# --- when ---------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [True, np.True_, "auto"])
def test_moments_are_released_and_on_the_card(choice):
    X, score = records()
    model = classifier(standardise=choice).fit(X, score > 0)
    assert names(model) == [*MOMENTS, "shared vector", "calibration"]
    assert model.privacy_.facts.standardised
    assert names(ridge(standardise=choice).fit(X, score))[:3] == MOMENTS + LABELS
    bare = ridge(standardise=choice, fit_intercept=False).fit(X, score)
    assert names(bare)[:2] == ["moments", "label spread"]
    assert "label mean" not in names(bare)


@pytest.mark.parametrize("choice", [False, np.False_])
def test_nothing_but_the_model_is_released_when_asked(choice):
    X, score = records()
    for model, y in ((classifier(), score > 0), (ridge(), score)):
        model.set_params(standardise=choice).fit(X, y)
        assert names(model) == ["shared vector"]
        assert not model.privacy_.facts.standardised


@pytest.mark.parametrize("given", [{"lam": 1e-3}, {"intercept_scaling": 0.3}], ids=str)
def test_a_number_in_the_users_units_turns_auto_off(given):
    X, score = records()
    plain = classifier(standardise=False, **given).fit(X, score > 0)
    auto = classifier(**given).fit(X, score > 0)
    assert names(auto) == ["shared vector"]
    np.testing.assert_array_equal(auto.coef_, plain.coef_)
    asked = classifier(standardise=True, **given).fit(X, score > 0)
    assert names(asked) == [*MOMENTS, "shared vector", "calibration"]


def test_auto_leaves_out_what_would_not_be_seen():
    X, score = records(n=30)
    assert names(classifier(epsilon=0.1).fit(X, score > 0)) == ["shared vector"]
    assert names(ridge(epsilon=0.1).fit(X, score)) == ["shared vector"]


def test_without_privacy_nothing_is_standardised():
    X, score = records(n=200)
    model = classifier(epsilon=math.inf, standardise=True).fit(X, score > 0)
    plain = classifier(epsilon=math.inf, standardise=False).fit(X, score > 0)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert not model.privacy_.facts.standardised


# --- what it costs --------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("make", [classifier, ridge])
def test_all_releases_together_keep_the_promise(make, relation):
    X, score = records()
    model = make(relation=relation, n=3000, standardise=True)
    y = score if make is ridge else score > 0
    card = PrivacyCard.from_json(model.fit(X, y).privacy_.to_json())
    assert card == model.privacy_
    assert 0.98 < card.verify() <= 1.0 == card.epsilon
    assert card.training.what == "shared vector"
    alone = make(relation=relation, n=3000, standardise=False).fit(X, y).privacy_
    assert card.noise_multiplier > 1.001 * alone.noise_multiplier
    place = card.releases.index(card.training)
    for release in card.releases[:place]:
        assert f"Released before: {release.what}" in str(card)
    for release in card.releases[place + 1 :]:
        assert f"Released after: {release.what}" in str(card)
    # Under replace-one, with twice the noise, chances would not be seen.
    after = [] if relation == "replace-one" else ["calibration"]
    after = after if make is classifier else ["rescaling"]
    assert [x.what for x in card.releases[place + 1 :]] == after


def test_a_ledger_is_charged_for_all_releases(tmp_path):
    path = str(tmp_path / "budget.db")
    X, score = records()
    for name, kind in (("basic", "basic"), ("renyi", "renyi")):
        Ledger.init(path, name, epsilon=4.0, delta=1e-3, filter=kind)
        for model, y in ((classifier(), score > 0), (ridge(), score)):
            model.set_params(ledger=path, dataset=name, random_state=None).fit(X, y)
            entry = Ledger(path).history(name)[-1]
            charged = tuple(entry.releases)
            assert charged == tuple(map(asdict, model.privacy_.releases))
            assert charged[0]["what"] == "moments"
    costs = [entry.cost["rdp"] for entry in Ledger(path).history("renyi")]
    plain = classifier(standardise=False, ledger=path, dataset="renyi", random_state=None).fit(
        X, score > 0
    )
    assert len(plain.privacy_.releases) == 1
    assert min(costs) > 0.0


# --- units ------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("factor", [1e-6, 7.3, 1e9])
def test_predictions_do_not_depend_on_the_units_of_features(factor, intercept):
    X, score = records()
    for model, y, predict in (
        (classifier(epochs=10), score > 0, "decision_function"),
        (ridge(epochs=10), score, "predict"),
    ):
        model.set_params(fit_intercept=intercept)
        first = getattr(clone(model).fit(X, y), predict)(X)
        scaled = clone(model).set_params(row_bound=factor).fit(X * factor, y)
        np.testing.assert_allclose(
            getattr(scaled, predict)(X * factor), first, rtol=1e-3, atol=1e-4
        )


@pytest.mark.parametrize(("factor", "shift"), [(1e-5, 0.0), (60.0, 2000.0), (1e6, -3e5)])
def test_predictions_are_in_the_units_of_the_labels(factor, shift):
    X, score = records()
    first = ridge(epochs=10).fit(X, score).predict(X)
    bounds = (shift - factor, shift + factor)
    scaled = ridge(epochs=10, y_bounds=bounds).fit(X, shift + factor * score)
    np.testing.assert_allclose(
        (scaled.predict(X) - shift) / factor, first, rtol=1e-3, atol=1e-3
    )


# --- what it is good for ----------------------------------------------------------------


@pytest.mark.full
def test_years_need_no_centring_by_hand():
    """Labels from 1922 to 2011, as they are: close to the fit without privacy."""
    rng = np.random.default_rng(0)
    n, d = 20_000, 10
    X = rng.normal(2.0, 1.0, size=(n + 5000, d))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True) / 9.0, 1.0)
    y = 1998.0 + (X - 2.0) @ rng.normal(size=d) * 2.0 + rng.normal(0.0, 8.0, n + 5000)
    y = np.clip(np.round(y), 1922, 2011)
    train, test = slice(n), slice(n, None)
    plain = Ridge().fit(X[train], y[train])
    best = np.mean((plain.predict(X[test]) - y[test]) ** 2)
    alone = np.var(y[test])
    assert best < 0.75 * alone
    model = DPRidge(1.0, row_bound=9.0, y_bounds=(1922, 2011), random_state=0)
    error = np.mean((model.fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2)
    assert error < best + 0.1 * (alone - best)
    without = clone(model).set_params(standardise=False).fit(X[train], y[train])
    assert error < np.mean((without.predict(X[test]) - y[test]) ** 2)


def scores_of(model, table, seeds=3):
    """Return the mean score on fresh records, with and without standardising."""
    found = np.zeros(2)
    for seed in range(seeds):
        X, y = table(seed)
        train, test = slice(8000), slice(8000, None)
        for k, choice in enumerate((True, False)):
            one = clone(model).set_params(standardise=choice, random_state=seed)
            found[k] += one.fit(X[train], y[train]).score(X[test], y[test]) / seeds
    return found


@pytest.mark.full
@pytest.mark.parametrize("intercept", [True, False])
def test_a_large_common_mean_does_not_drown_what_differs(intercept):
    X, _, bound = common_mean(10_000)
    assert np.linalg.norm(X.mean(axis=0)) > 10.0 * math.sqrt(X.var(axis=0).sum())
    model = DPLogisticRegression(
        0.2, classes=[False, True], row_bound=bound, fit_intercept=intercept, epochs=50
    )
    good, poor = scores_of(model, lambda seed: common_mean(10_000, seed=seed)[:2])
    assert good > 0.9
    assert good > poor + 0.07


def test_columns_of_very_different_size_all_count():
    def table(seed):
        X = np.random.default_rng(seed).normal(size=(10_000, 10))
        X *= np.where(np.arange(10) % 2, 0.005, 1.0)
        return X, X[:, 1::2].sum(axis=1) > 0.0

    model = DPLinearSVC(1.0, classes=[False, True], row_bound=4.0, epochs=50)
    good, poor = scores_of(model, table)
    assert good > 0.7
    assert good > poor + 0.1


@pytest.mark.parametrize("choice", [True, False])
def test_threads_and_refits_do_not_change_the_model(choice):
    X, score = records()
    model = ridge(standardise=choice)
    first = model.fit(X, score).coef_
    np.testing.assert_array_equal(model.fit(X, score).coef_, first)
    for jobs in (2, -1):
        np.testing.assert_array_equal(model.set_params(n_jobs=jobs).fit(X, score).coef_, first)
