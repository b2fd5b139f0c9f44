"""The guarantee as seen from a fitted estimator."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from scipy import stats

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, PrivacyCard, PrivacyWarning

FALSE_ALARM = 1e-6
RELATIONS = {
    "zero-out": dp.NeighboringRelation.REPLACE_SPECIAL,
    "add-remove": dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": dp.NeighboringRelation.REPLACE_ONE,
}


def records(n=500, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(-0.5, 0.5, size=(n, d))
    return X, X[:, 0] > X[:, 1]


@pytest.mark.full
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_epsilon_recomputed_from_the_card_is_the_target_or_a_little_less(epsilon, relation):
    X, y = records()
    model = DPLogisticRegression(epsilon, relation=relation, n=500, classes=[False, True])
    card = PrivacyCard.from_json(model.fit(X, y).privacy_.to_json())
    assert card == model.privacy_
    accountant = PLDAccountant(RELATIONS[relation], card.claim.interval)
    for event in (release.event for release in card.releases):
        step = dp.PoissonSampledDpEvent(event.rate, dp.GaussianDpEvent(event.noise_multiplier))
        accountant.compose(dp.SelfComposedDpEvent(step, event.steps))
    assert 0.98 * epsilon <= accountant.get_epsilon(card.delta) <= epsilon
    assert 0.98 * epsilon <= card.verify() <= epsilon
    assert card.relation == relation
    assert card.epsilon == epsilon


def walk_variance(card: PrivacyCard) -> float:
    """Return the variance of the averaged shared vector when nothing but noise moves it."""
    std = card.clip * card.noise_multiplier
    last = round(card.plan.training.averaging * card.steps)
    steps = np.arange(card.steps - last + 1, card.steps + 1, dtype=float)
    # Cov(W_s, W_t) = min(s, t) std^2; each s is the smaller one (2 * later + 1) times.
    later = np.arange(last - 1, -1, -1, dtype=float)
    return std**2 * float(np.sum(steps * (2.0 * later + 1.0))) / last**2


def accepted(shared, variance) -> bool:
    statistic = np.sum(shared**2) / variance
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], shared.size)
    return bool(low < statistic < high)


@pytest.mark.parametrize("model", [DPRidge, DPLogisticRegression, DPLinearSVC])
def test_without_signal_the_model_is_exactly_the_stated_noise(model):
    n, d = 100, 3000
    own = {"y_bounds": (-1.0, 1.0)} if model is DPRidge else {"classes": [0, 1]}
    fitted = model(1.0, fit_intercept=False, random_state=3, epochs=3, **own)
    fitted.fit(np.zeros((n, d)), np.zeros(n))
    card = fitted.privacy_
    shared = fitted.coef_ * card.plan.training.lam * n
    assert accepted(shared, walk_variance(card))
    for wrong in (0.5, math.sqrt(0.5), math.sqrt(2.0), 2.0):
        assert not accepted(shared * wrong, walk_variance(card))
    assert (
        stats.kstest(shared.ravel() / math.sqrt(walk_variance(card)), "norm").pvalue
        > FALSE_ALARM
    )


def test_without_signal_a_model_of_many_classes_is_its_noise_less_what_they_share():
    d, classes = 3000, 4
    fitted = DPLogisticRegression(
        1.0, fit_intercept=False, random_state=3, epochs=3, classes=range(classes)
    ).fit(np.zeros((100, d)), np.zeros(100))
    np.testing.assert_allclose(fitted.coef_.sum(axis=0), 0.0, atol=1e-9)
    # Rotated, the classes are independent, and there is one fewer of them.
    turned = np.linalg.svd(np.eye(classes) - 1.0 / classes)[0][:, : classes - 1].T
    shared = turned @ fitted.coef_ * fitted.privacy_.plan.training.lam * 100
    variance = walk_variance(fitted.privacy_)
    assert accepted(shared, variance)
    assert not accepted(shared * math.sqrt(1.0 - 1.0 / classes), variance)
    stated = np.sqrt(np.mean(fitted.fit_.numbers.coef_noise**2))
    assert np.std(fitted.coef_) == pytest.approx(stated, rel=0.05)


def test_noise_differs_between_classes_and_fits():
    X, y = np.zeros((50, 200)), np.arange(50) % 3
    fits = [
        DPLinearSVC(1.0, classes=[0, 1, 2], fit_intercept=False, epochs=2).fit(X, y).coef_
        for _ in range(2)
    ]
    vectors = np.vstack(fits)
    correlation = np.corrcoef(vectors) - np.eye(6)
    assert np.abs(correlation).max() < 0.4  # 5.6 standard errors of 200 pairs


def test_declared_n_replaces_the_true_one_everywhere():
    X, y = records(n=400)
    cards = [
        DPLinearSVC(relation="add-remove", n=500, classes=[False, True], random_state=0)
        .fit(X[:count], y[:count])
        .privacy_
        for count in (399, 400)
    ]
    assert cards[0] == cards[1]
    assert {cards[0].facts.n, *(release.n for release in cards[0].releases)} == {500}


def test_seed_and_infinity_are_on_the_card():
    X, y = records()
    seeded = DPLinearSVC(classes=[False, True], random_state=0).fit(X, y).privacy_
    assert seeded.seeded
    assert "seed is secret" in str(seeded)
    plain = DPLinearSVC(math.inf, classes=[False, True], lam=0.1).fit(X, y).privacy_
    assert plain.verify() == math.inf
    assert PrivacyCard.from_json(plain.to_json()) == plain
    assert "Not private" in str(plain)


def test_foreign_labels_contribute_nothing():
    X, y = records()
    labels = np.where(y, "b", "a").astype(object)
    labels[:7] = ["else", {}, [], None, 7, 0.5, b"else"]
    weights = np.ones(len(y))
    weights[:7] = 0.0
    model = DPLogisticRegression(classes=["a", "b"], random_state=0)
    silent = model.fit(X, np.where(y, "b", "a"), weights).coef_
    np.testing.assert_array_equal(model.fit(X, labels).coef_, silent)


def test_an_absent_class_is_an_ordinary_fit():
    X, y = records()
    model = DPLogisticRegression(classes=[0, 1, 2, 9], random_state=0).fit(X, y.astype(int))
    assert model.coef_.shape == (4, 3)
    assert set(model.predict(X)) <= {0, 1, 2, 9}
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_class_weight_is_a_weight():
    X, y = records()
    model = DPLogisticRegression(classes=[False, True], random_state=0)
    # With an automatic lam the largest is 1, because contributions are bounded.
    by_record = model.fit(X, y, np.where(y, 1.0, 1.0 / 3.0)).coef_
    model.set_params(class_weight={True: 3.0})
    np.testing.assert_array_equal(model.fit(X, y).coef_, by_record)
    shown = model.privacy_.shown()["class_weight"]
    assert shown == {False: 1.0 / 3.0, True: 1.0}
    model.set_params(class_weight=None, lam=0.01)
    by_record = model.fit(X, y, np.where(y, 3.0, 1.0)).coef_
    model.set_params(class_weight={True: 3.0})
    np.testing.assert_array_equal(model.fit(X, y).coef_, by_record)


def test_a_large_delta_warns():
    X, y = records(n=50)
    with pytest.warns(PrivacyWarning, match="random record"):
        DPLinearSVC(delta=0.02, classes=[False, True], epochs=1).fit(X, y)


def test_progress_shows_steps_and_nothing_of_the_data(capsys):
    X, y = records(n=50)
    model = DPLinearSVC(classes=[False, True], verbose=1)
    model.fit(X, y)  # the first one may have to be compiled, and says so
    capsys.readouterr()
    shown = []
    for rows in (X, X * 0.01):
        model.fit(rows, y)
        shown.append(capsys.readouterr().err)
    assert f"{model.privacy_.steps}/{model.privacy_.steps}" in shown[0]
    assert shown[0] == shown[1]
    assert ":" not in shown[0]


def test_rows_longer_than_the_bound_are_scaled_down_in_silence():
    X, y = records()
    model = DPLogisticRegression(classes=[False, True], random_state=0, row_bound=0.01)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    long = model.fit(X, y).coef_
    np.testing.assert_allclose(model.fit(unit * 0.01, y).coef_, long, rtol=1e-6)


def test_labels_beyond_the_bounds_are_clipped_in_silence():
    X, _ = records()
    y = 3.0 * X[:, 0]
    model = DPRidge(y_bounds=(-0.5, 0.5), random_state=0)
    clipped = model.fit(X, np.clip(y, -0.5, 0.5)).coef_
    np.testing.assert_array_equal(model.fit(X, y).coef_, clipped)
