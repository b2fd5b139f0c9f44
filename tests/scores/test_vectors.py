"""Which measures a model has, and what a record adds: short, its own, 0 if it is of no use."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.errors import ParameterError
from dpscd.privacy.draws import lattice_step
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.releases import score
from dpscd.releases.score import total_of
from dpscd.scores.measure import Answers
from dpscd.scores.registry import CLASS_METRICS, NUMBER_METRICS, ScoreFacts, metric_called

TARGET = PrivacyTarget(1.0, 1e-5)
N = 50
ODD = [np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 1e300, -1e300, 0.5, 0.25, 5e-324]


def measure_of(metric, relation=Relation.ZERO_OUT, classes=2):
    target = replace(TARGET, relation=relation)
    if metric in CLASS_METRICS:
        return ScoreFacts(N, metric, tuple(range(classes))).measure(target)
    return ScoreFacts(N, metric, (), -1.0, 3.0).measure(target)


def answers_of(metric, rng, count, classes=2, *, odd=True):
    if metric in NUMBER_METRICS:
        labels, guess = rng.uniform(-2, 4, (2, count))
        if odd:
            for values in (labels, guess):
                values[rng.random(count) < 0.3] = rng.choice(ODD)
        return Answers(labels, guess)
    chances = rng.dirichlet(np.full(classes, 0.3), count)
    if odd:
        chances[rng.random(count) < 0.3] = rng.choice(ODD)
    labels = rng.integers(-1 if odd else 0, classes, count)
    return Answers(labels, rng.integers(0, classes, count), chances)


ALL = [(name, 2) for name in (*CLASS_METRICS, *NUMBER_METRICS)]
ALL += [(name, 3) for name in CLASS_METRICS if name != "auc"]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("metric", "classes"), ALL)
@given(seed=st.integers(0, 2**32))
def test_no_record_adds_more_than_one_and_each_its_own(metric, classes, relation, seed):
    rng = np.random.default_rng(seed)
    measure = measure_of(metric, relation, classes)
    answers = answers_of(metric, rng, 12, classes)
    each = measure.vectors(answers)
    assert each.shape == (measure.size, 12)
    assert (np.square(each).sum(axis=0) <= 1.0 + 1e-12).all()
    place = int(rng.integers(12))
    alone = measure.vectors(answers.at(np.array([place])))
    np.testing.assert_array_equal(alone[:, 0], each[:, place])


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("metric", "classes"), ALL)
@given(seed=st.integers(0, 2**32), persons=st.booleans())
def test_neighbours_sums_are_within_reach(metric, classes, relation, seed, persons):
    """Zero-out and add-remove: without the record or person; replace-one: with another."""
    rng = np.random.default_rng(seed)
    measure = measure_of(metric, relation, classes)
    answers = answers_of(metric, rng, 12, classes)
    codes = rng.integers(-1, 4, 12) if persons else None
    own = (codes == 0) if persons else (np.arange(12) == 3)
    rest = np.flatnonzero(~own)
    without = total_of(measure, answers.at(rest), None if codes is None else codes[rest], N)
    total = total_of(measure, answers, codes, N)
    assert moved(total, without) <= 1
    fresh = answers_of(metric, rng, 12, classes)
    other = Answers(*(
        None if old is None else np.where(own if old.ndim == 1 else own[:, None], new, old)
        for old, new in zip(answers, fresh, strict=True)
    ))  # fmt: skip
    assert moved(total, total_of(measure, other, codes, N)) <= 4


def moved(one, other):
    unit = Fraction(lattice_step(N, 1.0))
    return sum((unit * Fraction(x)) ** 2 for x in (one - other).tolist())


@pytest.mark.parametrize("metric", [*CLASS_METRICS, *NUMBER_METRICS])
def test_a_record_that_cannot_be_used_adds_nothing_but_to_a_count(metric):
    bad = -1 if metric in CLASS_METRICS else np.nan
    labels = np.array([bad, bad])
    answers = Answers(labels, np.zeros(2, int), np.full((2, 2), 0.5))
    assert not measure_of(metric).vectors(answers).any()
    counted = measure_of(metric, Relation.ADD_REMOVE)
    assert counted.vectors(answers).any() == counted.counts
    if counted.counts:
        np.testing.assert_array_equal(counted.vectors(answers)[-1], np.sqrt([0.5, 0.5]))


@pytest.mark.parametrize("metric", ["mse", "confusion"])
def test_sums_are_the_same_however_many_are_held_at_once(metric, monkeypatch):
    rng = np.random.default_rng(0)
    answers, codes = answers_of(metric, rng, 200), rng.integers(-1, 30, 200)
    measure = measure_of(metric)
    whole = [total_of(measure, answers, x, N) for x in (None, codes)]
    monkeypatch.setattr(score, "_BLOCK", 7 * measure.size)
    parts = [total_of(measure, answers, x, N) for x in (None, codes)]
    np.testing.assert_array_equal(whole, parts)


def test_a_person_adds_the_mean_of_its_rows_and_nobody_nothing():
    answers = Answers(np.array([1, 1, 0, 1]), np.array([1, 0, 0, 1]))
    total = total_of(measure_of("accuracy"), answers, np.array([1, 1, 0, -1]), N)
    assert lattice_step(N, 1.0) * total[0] == pytest.approx(1.5, abs=1e-5)


@pytest.mark.parametrize(
    ("classes", "chances", "metric", "bound", "says"),
    [
        (2, True, "mse", None, "'accuracy', 'auc'"),
        (0, False, "auc", None, "measures of regressions"),
        (3, True, "auc", None, "two classes, this model has 3"),
        (2, False, "auc", None, "needs probabilities"),
        (2, False, "brier", None, "needs probabilities"),
        (65, True, "confusion", None, "up to 64 classes"),
        (2, True, "accuracy", 1.0, "bound=1.0 goes with 'log_loss'"),
        (0, False, "r2", 1.0, "not with metric='r2'"),
    ],
)
def test_what_a_model_does_not_have_is_refused(classes, chances, metric, bound, says):
    bounds = (None, None) if classes else (0.0, 2.0)
    with pytest.raises(ParameterError, match=says):
        ScoreFacts(100, metric, tuple(range(classes)), *bounds, chances, bound).measure(TARGET)


def test_numbers_need_bounds():
    with pytest.raises(ParameterError, match="no y_bounds"):
        ScoreFacts(100, "mse").measure(TARGET)


def test_bounds_of_losses():
    def numbers(metric, bound=None):
        return ScoreFacts(100, metric, (), 0.0, 2.0, bound=bound).measure(TARGET)

    assert numbers("mae").bound == 2.0
    assert numbers("mse").bound == 4.0
    assert numbers("mse", 0.5).bound == 0.5
    assert numbers("mae", 50.0).bound == 2.0
    two = ScoreFacts(100, "log_loss", (0, 1), bound=2.0).measure(TARGET)
    assert two.facts() == {"bound": 2.0}
    assert ScoreFacts(100, "brier", (0, 1)).measure(TARGET).bound == 1.0
    assert [metric_called("auto", classifies=x) for x in (True, False)] == ["accuracy", "mae"]


def test_public_facts_of_a_score_are_shown():
    assert ScoreFacts(10, "mse", dataset="people").shown() == {
        "n": 10, "metric": "mse", "dataset": "people",
    }  # fmt: skip
    assert "dataset" not in ScoreFacts(10, "accuracy", (0, 1)).shown()
