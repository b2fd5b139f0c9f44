"""The band that noise adds: an upper bound for ridge, and what is computed from it."""

import numpy as np
import pytest
import scipy.sparse

from dpscd import DPRidge
from dpscd.losses import Squared
from dpscd.model.fit import run
from dpscd.planning.rule import plan_fit
from dpscd.privacy.random import source_for
from dpscd.privacy.relation import PrivacyTarget
from dpscd.problem import Problem
from dpscd.records.labels import NumberLabels
from dpscd.standard import Standard
from plans import held, make_facts

pytestmark = pytest.mark.full

SEEDS = 60


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.4, 0.4, size=(n, 5))
    X[:, 3] = X[:, 0] + 0.01 * rng.normal(size=n)  # hardly told from column 0
    X[:, 4] = 0.0  # no record has this feature: its coefficient is noise alone
    return X, X @ [3.0, -2.0, 1.0, 0.0, 0.0] + 0.3 * rng.normal(size=n)


def deviations(loss, X, y, *, epsilon, lot_size=None, **facts):
    """Return the deviation of each number over fits with one plan, and its median band."""
    given = {"standardised": True, "weighted": True, "loss": loss, **facts}
    if loss == "Squared":
        given["labels"] = NumberLabels(-3.0, 3.0)
    public = make_facts(n=X.shape[0], d=X.shape[1], **given)
    plan = plan_fit(public, PrivacyTarget(epsilon, 1e-5), epochs=20, lot_size=lot_size)
    numbers, bands = [], []
    for seed in range(SEEDS):
        state, _ = run(plan, held(X, y), lambda part, seed=seed: source_for(seed, part))
        model = state.model
        numbers.append([*model.coef[0], *model.intercept])
        bands.append([*model.coef_noise[0], *model.intercept_noise])
    return np.std(numbers, axis=0, ddof=1), np.median(bands, axis=0), plan


# A deviation over 60 fits exceeds 1.45 times the true one with a chance below 1e-6.
SLACK = 1.45


@pytest.mark.parametrize("facts", [{}, {"constant": 0.0}, {"standardised": False}])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_the_band_of_ridge_is_an_upper_bound(epsilon, facts):
    X, y = table()
    found, band, plan = deviations("Squared", X, y, epsilon=epsilon, **facts)
    own = slice(plan.facts.width)
    assert (found[own] < SLACK * band[own]).all()
    # Without records to say otherwise noise fills its band: it is no larger than it must be.
    assert found[4] > band[4] / SLACK


@pytest.mark.parametrize("share", [20, 5])
def test_the_estimate_for_larger_lots(share):
    X, y = table()
    found, band, plan = deviations("Squared", X, y, epsilon=1.0, lot_size=len(y) // share)
    main = plan.training
    assert main.separability < main.most_separability
    assert (found < SLACK * band).all()


@pytest.mark.parametrize(("share", "beyond"), [(20, 1.0), (5, 2.0)])
def test_the_estimate_for_larger_lots_of_rows_that_are_nearly_parallel(share, beyond):
    """There steps swing until the path has told: with few steps that shows."""
    rng = np.random.default_rng(2)
    X = 0.4 * (rng.normal(size=(1500, 1)) + 0.02 * rng.normal(size=(1500, 5)))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    y = X @ [1.0, 1.0, 0.0, 0.0, 0.0] + 0.3 * rng.normal(size=1500)
    found, band, plan = deviations("Squared", X, y, epsilon=1.0, lot_size=1500 // share)
    main = plan.training
    assert main.separability < main.most_separability
    assert (found < SLACK * beyond * band).all()


@pytest.mark.parametrize(
    ("loss", "make"),
    [("Squared", scipy.sparse.csr_array), ("Logistic", np.asarray), ("Hinge", np.asarray)],
)
def test_the_estimate_for_sparse_rows_and_for_classifiers(loss, make):
    X, y = table()
    y = y if loss == "Squared" else np.where(y > 0, 1.0, -1.0)
    found, band, _ = deviations(loss, make(X), y, epsilon=1.0)
    assert (found < SLACK * band).all()


def test_a_pilots_noise_is_counted():
    X, y = table(n=6000)
    found, band, plan = deviations("Squared", X, y, epsilon=4.0)
    assert len(plan.trainings) == 2
    assert (found < SLACK * band).all()


def test_there_is_no_noise_without_privacy():
    X, y = table()
    model = DPRidge(float("inf"), y_bounds=(-3, 3), lam=1e-2).fit(X, y)
    assert not model.coef_bound_.any()
    assert not model.coef_sd_.any()
    assert model.intercept_bound_ == model.intercept_sd_ == 0.0
    assert model.coef_bound_.shape == model.coef_sd_.shape == model.coef_.shape


@pytest.mark.parametrize("kind", ["plain", "centred", "turned"])
def test_the_band_is_the_length_of_the_map_to_the_users_units(kind):
    rng = np.random.default_rng(1)
    d, outputs = 4, 2
    standard = None
    if kind != "plain":
        direction = rng.normal(size=d)
        standard = Standard(
            centre=rng.normal(size=d) * (kind == "centred"),
            scale=rng.uniform(0.5, 2.0, d),
            direction=direction / np.linalg.norm(direction) * (kind == "turned"),
            shrink=0.7 * (kind == "turned"),
        )
    problem = Problem(
        Squared(), 0.1, 50, d, outputs, row_bound=3.0, constant=0.5, label_centre=2.0,
        label_scale=4.0, standard=standard,
    )  # fmt: skip
    zero = problem.model(np.zeros((outputs, d + 1)))
    rows = []
    for place in range(d + 1):
        shared = np.zeros((outputs, d + 1))
        shared[:, place] = 1.0
        model = problem.model(shared)
        rows.append([*model.coef[0], model.intercept[0] - zero.intercept[0]])
    lengths = 0.3 * np.linalg.norm(rows, axis=0)
    model = problem.model(np.zeros((outputs, d + 1)), noise=0.3)
    for output in range(outputs):
        np.testing.assert_allclose(model.coef_noise[output], lengths[:-1])
        np.testing.assert_allclose(model.intercept_noise[output], lengths[-1])
