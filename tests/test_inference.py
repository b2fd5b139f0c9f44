"""Standard errors from released numbers: each formula against what it says."""

import math

import numpy as np
import pytest

from dpscd.errors import ParameterError
from dpscd.inference import (
    HIDDEN,
    NOT_IDENTIFIED,
    SHRUNK,
    Inference,
    Matrices,
    Measure,
    Path,
    coefficient_map,
    measure_of,
)
from dpscd.inference import _excess as excess
from dpscd.inference import _inverse as corrected_inverse
from dpscd.losses import Squared
from dpscd.planning.facts import ROBUST, is_robust
from dpscd.planning.inference import expected_width, inference_rule, information_noise
from dpscd.planning.rule import plan_fit
from dpscd.privacy.relation import PrivacyTarget
from dpscd.problem import Problem
from dpscd.releases.information import Information
from dpscd.standard import Standard
from plans import task_facts


def path_of(**changes):
    values = {
        "std": 0.7, "steps": 400, "average_from": 300, "rate": 0.05, "separability": 20.0,
        "square": 0.1, "curved": 0.4,
    }  # fmt: skip
    return Path(**{**values, **changes})


def symmetric(rng, size, error):
    """Return noise as a packed matrix has it: smaller by sqrt(2) off the diagonal."""
    noise = error * rng.normal(size=(size, size)) * math.sqrt(0.5)
    noise = np.triu(noise, 1)
    return noise + noise.T + np.diag(error * rng.normal(size=size))


def test_packed_numbers_become_a_symmetric_matrix():
    measure = Measure(3, 0.5, 2.0, 0.25, True, True)
    first, second = measure.parts
    matrix = np.array([[4.0, 1.0, -2.0], [1.0, 3.0, 0.5], [-2.0, 0.5, 5.0]])
    packed = matrix[np.triu_indices(3)] * np.array([1, *[2**0.5] * 2, 1, 2**0.5, 1])
    found = measure.matrices(np.concatenate([packed, packed]), 6.0)
    np.testing.assert_allclose(found.curvature, 0.25 * 0.5**2 / first * matrix)
    np.testing.assert_allclose(found.variance, 2.0**2 / second * matrix)
    assert found.curvature_error == pytest.approx(0.25 * 0.5**2 / first * 6.0)


def test_a_variance_has_no_negative_eigenvalue():
    measure = Measure(2, 1.0, 1.0, 1.0, False, True)
    sums = np.array([1.0, 0.0, 1.0, 1.0, 3.0, 1.0])
    values = np.linalg.eigvalsh(measure.matrices(sums, 1.0).variance)
    assert values.min() > -1e-12


def test_the_noise_of_a_path_is_that_of_its_recursion():
    """One direction: noise moves the model at once, records answer with their lag."""
    path, strength = path_of(), 3.0
    rng = np.random.default_rng(0)
    draws = 4000
    for curvature in (0.0, 2.0, 30.0):
        lag = 1.0 + path.curved * path.separability * path.square / strength
        shared, answer, mean = np.zeros(draws), np.zeros(draws), np.zeros(draws)
        for step in range(path.steps):
            # The duals go to where the model wants them, -curvature model, by their rate.
            model = (shared + answer) / strength
            move = path.rate / lag * (-curvature * model - answer)
            shared += path.std * rng.normal(size=draws)
            answer = answer + move
            if step >= path.average_from:
                mean += (shared + answer) / strength / (path.steps - path.average_from)
        expected = math.sqrt(path.variances(np.array([curvature]), strength)[0])
        found = mean.std() * (strength + curvature)
        assert found == pytest.approx(expected, rel=0.06), curvature


@pytest.mark.full
@pytest.mark.parametrize(
    ("seed", "middle", "left"), [(1, None, 0.25), (2, np.diag([3.0, 1.0, 2.0]), 0.3)]
)
def test_the_inverse_of_a_noisy_matrix_is_corrected_and_what_stands_between_two(
    seed, middle, left
):
    rng, error, count = np.random.default_rng(seed), 1.2, 40_000
    true = np.diag([10.0, 20.0, 40.0]) + 2.0

    def around(inverse):
        return inverse if middle is None else inverse @ middle @ inverse

    plain, better = np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(count):
        inverse = np.linalg.inv(true + symmetric(rng, 3, error))
        found = around(inverse)
        plain += found / count
        if middle is None:
            better += corrected_inverse(inverse, error) / count
        else:
            better += (found - excess(inverse, middle, error)) / count
    wanted = around(np.linalg.inv(true))
    assert np.abs(better - wanted).max() < left * np.abs(plain - wanted).max()


def inference_with(curvature, error=0.1, variance=None, strength=0.5):
    matrices = Matrices(np.asarray(curvature, dtype=np.float64), error, variance, 2.0)
    return Inference(np.ones(len(curvature)), strength, matrices, path_of())


def test_what_the_penalty_took_is_added_and_both_errors_are_told_apart():
    one = inference_with(np.diag([50.0, 80.0]), error=1e-6)
    found = one.about(np.eye(2))
    np.testing.assert_allclose(found.correction, 0.5 / np.array([50.0, 80.0]), rtol=1e-6)
    np.testing.assert_allclose(found.sampling, 2.0 / np.array([50.0, 80.0]), rtol=1e-6)
    noise = one.path.variances(np.array([50.0, 80.0]), 0.5)
    np.testing.assert_allclose(found.privacy, noise / np.array([50.0, 80.0]) ** 2, rtol=1e-6)
    assert found.refused == [None, None]


def test_a_robust_error_has_the_variance_of_slopes_in_the_middle():
    variance = np.array([[9.0, 1.0], [1.0, 4.0]])
    found = inference_with(np.diag([50.0, 80.0]), 1e-6, variance).about(np.eye(2))
    np.testing.assert_allclose(found.sampling, [9.0 / 2500.0, 4.0 / 6400.0], rtol=1e-5)


def test_a_variance_of_slopes_that_is_mostly_noise_is_refused_and_counted():
    middle = np.diag([50.0, 80.0])
    exact = Matrices(middle, 1e-6, 2.0 * middle, 1.0, 1e-6)
    noisy = exact._replace(variance_error=30.0)
    rows = np.eye(2)
    plain, found = (
        Inference(np.ones(2), 0.5, x, path_of()).about(rows) for x in (exact, noisy)
    )
    np.testing.assert_allclose(
        found.sampling / plain.sampling, 1.0 + np.array([0.3, 30.0 / 160.0]) ** 2, rtol=1e-6
    )
    worse = Inference(np.ones(2), 0.5, exact._replace(variance_error=70.0), path_of())
    assert worse.about(rows).refused == [HIDDEN, None]


def test_a_doubtful_direction_is_left_out_only_if_no_record_is_seen_to_determine_it():
    rows = np.array([[1.0, 0.0]])
    change = np.array([[0.0, 2.0]])
    for second, error, left_out in ((2.0, 1.0, True), (40.0, 1.0, False)):
        coupled = np.array([[50.0, 8.0], [8.0, second]])
        one = inference_with(coupled, error=error)
        with_doubt = one.about(rows, None, change).sampling[0]
        alone = one.about(rows, change).sampling[0]
        whole = one.about(rows).sampling[0]
        assert with_doubt == pytest.approx(alone if left_out else whole)
        assert alone != pytest.approx(whole)


def test_a_single_number_is_its_own_trace():
    assert is_robust(True, 1, logistic=False, persons=False)
    assert not is_robust(True, 1, logistic=True, persons=False)
    assert not is_robust(True, 2, logistic=False, persons=False)
    assert is_robust(True, 2, logistic=True, persons=True)
    assert is_robust(ROBUST, 2, logistic=True, persons=False)
    assert not is_robust(False, 1, logistic=False, persons=True)


def test_only_what_lies_along_a_hidden_direction_is_refused():
    one = inference_with(np.diag([50.0, 0.3, 80.0]), error=1.0)
    found = one.about(np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 1.0, 0]]))
    assert found.refused == [None, HIDDEN, None, HIDDEN]
    assert np.isfinite(found.sampling[[0, 2]]).all()


@pytest.mark.parametrize(
    ("curvature", "error", "strength", "refused"),
    [
        ([50.0, 2.0], 1e-3, 5.0, [None, SHRUNK]),  # the penalty rules
        ([-1.0, 0.1], 1.0, 0.5, [HIDDEN, HIDDEN]),  # all of it is noise
        ([3.0, 300.0], 1.7, 0.5, [HIDDEN, None]),  # the error of a variance is too large
    ],
)
def test_what_is_hidden_or_shrunk_is_refused(curvature, error, strength, refused):
    found = inference_with(np.diag(curvature), error=error, strength=strength)
    assert found.about(np.eye(2)).refused == refused


def test_functions_along_directions_that_change_nothing_are_not_determined():
    rows = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    curvature = np.array([[40.0, -40.0, 0.0], [-40.0, 40.0, 0.0], [0.0, 0.0, 60.0]])
    one = inference_with(curvature, error=0.5)
    found = one.about(rows, np.array([[1.0, 1.0, 0.0]]))
    assert found.refused == [NOT_IDENTIFIED, None, None]
    assert found.sampling[1] == pytest.approx(2.0 * 2.0 / 80.0, rel=0.01)
    same = one.about(rows, np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]))
    np.testing.assert_allclose(same.sampling, found.sampling)


@pytest.mark.parametrize("constant", [0.0, 0.3])
def test_the_map_of_coefficients_is_that_of_the_model(constant):
    standard = Standard(
        np.array([0.2, -0.1]) * (constant > 0), np.array([2.0, 3.0]), np.zeros(2), 0.0
    )
    problem = Problem(
        Squared(), 0.01, 1000, 2, row_bound=3.0, constant=constant, label_centre=5.0,
        label_scale=2.0, standard=standard,
    )  # fmt: skip
    whole = coefficient_map(problem)
    theta = np.array([0.3, -0.7, 0.2])[: problem.width]
    model = problem.model(theta[None] * problem.strength)
    found = whole @ theta
    np.testing.assert_allclose(found[:2], model.coef[0])
    if constant:
        assert found[2] + 5.0 == pytest.approx(model.intercept[0])


def test_rows_are_measured_no_longer_than_they_can_be():
    problem = Problem(Squared(), 0.01, 1000, 1, constant=4.0)
    assert measure_of(problem, 1.0, 0.25, False).row == 1.0


@pytest.mark.parametrize(("d", "alike"), [(5, 0.0), (10, 0.3), (30, 0.8)])
def test_shortening_long_rows_makes_errors_hardly_larger(d, alike):
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(np.full((d, d), alike) + (1.0 - alike) * np.eye(d))
    rows = np.c_[rng.normal(size=(20_000, d)) @ root.T / math.sqrt(d), np.full(20_000, 0.25)]
    problem = Problem(Squared(), 0.01, 1000, d, constant=0.25, standard=Standard(
        np.zeros(d), np.ones(d), np.zeros(d), 0.0))  # fmt: skip
    longest = measure_of(problem, 1.0, 0.25, False).row * problem.scale
    short = np.minimum(1.0, longest / np.linalg.norm(rows, axis=1))[:, None]
    whole, cut = (np.linalg.inv(x.T @ x).diagonal() for x in (rows, rows * short))
    wider = np.sqrt(cut / whole)[:d].mean()
    assert 1.0 < wider < 1.04


# --- the rule --------------------------------------------------------------------------------


def facts_of(**changes):
    values = {
        "n": 20_000, "d": 10, "constant": 0.25, "standardised": True, "weighted": False,
        "inference": "model",
    }  # fmt: skip
    return task_facts(**{**values, **changes})


@pytest.mark.full
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_fit_for_inference_releases_the_information_and_nothing_else_after(task):
    plan = plan_fit(facts_of(task=task), PrivacyTarget(1.0, 1e-5))
    main = plan.training
    after = plan.releases[plan.releases.index(main) + 1 :]
    assert [one.what for one in after] == ["information"]
    assert main.averaging == 0.25
    assert main.separability == main.most_separability == main.lot_size
    assert plan.claim().epsilon <= 1.0


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_more_epsilon_never_means_wider_intervals(task):
    for n, d in ((5_000, 5), (20_000, 10), (10**6, 30)):
        widths = []
        for gaussian in (20.0, 8.0, 4.0, 2.0, 1.0, 0.5):
            rule = inference_rule(task, n, d, gaussian)
            widths.append(expected_width(task, n, d, rule.travel, gaussian))
        assert widths == sorted(widths, reverse=True)


def test_what_cannot_work_is_refused_with_the_number_that_would():
    with pytest.raises(
        ParameterError, match=r"inference cannot work with 1,000 .* [0-9,]+ records would"
    ):
        information_noise(facts_of(n=1000, d=20), 4.0)
    with pytest.raises(
        ParameterError, match="with 32,561 records and 95 features"
    ):  # Adult, epsilon 1
        information_noise(facts_of(n=32_561, d=95), 4.0)
    few = facts_of(n=5_000)
    assert Information(few, information_noise(few, 4.0)).size == 66
    many = facts_of(n=10**6, task="regression", inference=ROBUST)
    assert Information(many, 1.0).size == 2 * 66
    assert information_noise(many, 4.0) == pytest.approx(4.0 / math.sqrt(0.01))
