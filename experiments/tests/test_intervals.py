"""The designs of the bench of intervals are what they say, and so are plain intervals."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpscd_experiments.cells import execute
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.experiments import intervals
from dpscd_experiments.experiments.intervals import (
    designs_in,
    fit_cells,
    measure_fit,
    plain_least_squares,
    plain_logistic,
)
from dpscd_experiments.interval_designs import FAMILIES, Design, draw_sample

SPEC = load_spec("intervals")
BASE = Design(**SPEC["base"])
LARGE = replace(BASE, n=400_000, d=4)


def left_of(sample):
    return sample.y - sample.X @ sample.coef - sample.intercept


def test_records_have_the_law_that_is_said():
    sample = draw_sample(LARGE, "ridge", 0)
    np.testing.assert_allclose(sorted(sample.X.std(axis=0)), np.geomspace(0.5, 2, 4), rtol=0.01)
    np.testing.assert_allclose(sample.X.mean(axis=0), np.linspace(-1.0, 1.0, 4), atol=0.02)
    related = np.corrcoef(sample.X.T)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(related, 0.3, atol=0.01)
    root = np.sqrt(np.square(sample.X).sum(axis=1).mean())
    assert sample.row_bound == pytest.approx(1.7 * root, rel=0.02)
    assert sample.y.var() == pytest.approx(18.0, rel=0.06)  # of which columns explain half
    assert draw_sample(replace(LARGE, rare=0.03), "logistic", 0).y.mean() < 0.032
    sample = draw_sample(replace(BASE, n=30_000, rows=6), "ridge", 0)
    assert set(np.bincount(sample.persons)) == {2, 3, 4, 5, 6}
    starts = np.flatnonzero(np.diff(sample.persons, prepend=-1))
    for numbers in (sample.X[:, 3], left_of(sample)):
        pair = np.corrcoef(numbers[starts], numbers[starts + 1])[0, 1]
        assert pair == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("changes", [{"curved": 0.4}, {"levels": 4}, {"intercept": False}])
def test_what_is_to_be_covered_is_the_best_model_of_the_population(family, changes):
    sample = draw_sample(replace(LARGE, **changes), family, 2)
    own = {"intercept": "intercept" not in changes, "robust": True}
    fit = plain_least_squares if family == "ridge" else plain_logistic
    found = fit(sample.X, sample.y, **own)
    truth = np.append(sample.coef, sample.intercept)[: len(found.estimate)]
    assert np.abs((found.estimate - truth) / found.std_error).max() < 4.5
    assert sample.X.shape[1] == (7 if "levels" in changes else 4)


def test_plain_intervals_are_the_textbooks():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    y = X @ [1.0, -1.0] + 0.5 + rng.standard_normal(500) * np.exp(0.5 * X[:, 0])
    rows = np.hstack([X, np.ones((500, 1))])
    by_numpy, squares, *_ = np.linalg.lstsq(rows, y)
    inverse = np.linalg.inv(rows.T @ rows)
    plain = plain_least_squares(X, y)
    np.testing.assert_allclose(plain.estimate, by_numpy)
    np.testing.assert_allclose(plain.std_error**2, squares[0] / 497 * np.diag(inverse))
    meat = (rows * (y - rows @ by_numpy)[:, None] ** 2).T @ rows
    robust = np.sqrt(np.diag(inverse @ meat @ inverse))
    # A person each: the same; every row twice: the same persons, hence the same errors.
    persons = np.arange(500)
    twice = [np.repeat(one, 2, axis=0) for one in (X, y, persons)]
    for found in (
        plain_least_squares(X, y, robust=True),
        plain_least_squares(X, y, persons=persons),
        plain_least_squares(*twice[:2], persons=twice[2]),
    ):
        np.testing.assert_allclose(found.std_error, robust)
    sample = draw_sample(replace(BASE, n=3000, d=3), "logistic", 0)
    plain = plain_logistic(sample.X, sample.y)
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(sample.X, sample.y)
    np.testing.assert_allclose(plain.estimate[:3], other.coef_[0], rtol=1e-4)
    robust_errors = plain_logistic(sample.X, sample.y, robust=True).std_error
    np.testing.assert_allclose(robust_errors, plain.std_error, rtol=0.1)


def cell_of(family="ridge", **changes):
    spec = {**SPEC, "designs": {"own": {"words": "own", "d": 3, **changes}}}
    return fit_cells(designs_in(spec, (), [family], 1))[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fit_counts_what_is_covered_and_what_is_refused(family, monkeypatch):
    found = measure_fit(cell_of(family))
    assert (found["intervals"], found["refused"]) == (3, 0)
    assert 0 <= found["covered"] <= 3
    assert 1.0 < found["width"] < 2.0
    assert 0.0 < found["cut"] < 0.1
    assert found["intercept_covered"] in (0.0, 1.0)
    assert "intercept_covered" not in measure_fit(cell_of(family, intercept=False))
    more = {"rows": 6, "robust": True, "n": 5000} if family == "ridge" else {}
    for changes in (more, {"relation": "add-remove", "declared": 1.05}):
        assert measure_fit(cell_of(family, **changes))["intervals"] == 3
    if family == "logistic":
        hopeless = cell_of(family, n=300, d=30)
        found = measure_fit(hopeless)
        assert (found["intervals"], found["refused"], found["covered"]) == (0, 30, 0)
        assert np.isnan([found["width"], found["intercept_covered"]]).all()
        # What else is refused is a mistake, and no result.
        monkeypatch.setattr(intervals, "_HOPELESS", "something else")
        assert execute(hopeless).status == "failed"
