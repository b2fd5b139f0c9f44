"""Rows of persons, caps and splits; group privacy as dp-accounting has it; their methods."""

from functools import partial

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

from dpscd.privacy.accounting import SampledGaussian
from dpscd_experiments import persons
from dpscd_experiments.group_privacy import group_epsilon
from dpscd_experiments.opponents.registry import PERSON_METHODS
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.persons import FLIGHTS, LAWS, capped_rows, generate_persons, load_persons

DELTA = 1e-5


def test_a_cap_keeps_some_rows_of_everybody():
    whose = np.random.default_rng(0).permutation(np.repeat(np.arange(50), np.arange(1, 51)))
    kept, others = (capped_rows(whose, 3, seed) for seed in (0, 1))
    np.testing.assert_array_equal(np.bincount(whose[kept]), np.minimum(np.arange(1, 51), 3))
    assert not np.array_equal(kept, others)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_generated_persons_have_what_their_law_says(law, task):
    data = generate_persons(law, task, seed=3, persons=300, d=6)
    counts = np.bincount(data.persons)
    assert 1 <= counts.min() <= counts.max() <= LAWS[law].most == persons.most_rows(law)
    assert (len(counts), len(np.unique(data.persons_test))) == (300, 150)
    assert all(np.linalg.norm(X, axis=1).max() <= 1.0 for X in (data.X, data.X_test))
    assert set(data.fit_parameters) == {"y_bounds" if task == "regression" else "classes"}
    assert np.abs(data.y).max() <= 4.0


def test_planes_are_the_persons_of_flights_and_none_is_on_both_sides(tmp_path, monkeypatch):
    lines = [
        "year,month,day,sched_dep_time,dep_delay,arr_delay,carrier,origin,distance,tailnum",
        *(f"2013,{1 + k % 12},1,515,0,{k - 5},UA,EWR,9,N{k % 10}" for k in range(60)),
        *(f"2013,1,1,515,2,3,UA,EWR,1400,{nobody}" for nobody in ("", "NA")),
    ]
    (tmp_path / "flights.csv").write_text("\n".join(lines))
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    delays = load_persons(FLIGHTS, "regression")
    assert (len(np.unique(delays.persons)), len(delays.y)) == (8, 48)  # those of nobody are out
    assert "8 planes (48 flights) to train on and 2 (12) for test" in delays.split
    assert not set(delays.y) & set(delays.y_test)  # each is of one plane
    late = load_persons(FLIGHTS, "classification")
    np.testing.assert_array_equal(late.y, np.where(delays.y >= 15.0, 1, -1))


@pytest.mark.full
@pytest.mark.parametrize(
    ("rows", "rate", "steps"), [(2, 0.2, 10), (3, 0.01, 300), (10, 0.2, 10)]
)
def test_a_group_costs_what_dp_accounting_says(rows, rate, steps):
    std = 0.8 * rows
    chances = stats.binom.pmf(np.arange(rows + 1), rows, rate)
    losses = pld.from_mixture_gaussian_mechanism(
        std, list(range(rows + 1)), list(chances), value_discretization_interval=2e-4
    )
    exact = losses.self_compose(steps).get_epsilon_for_delta(DELTA)
    found = group_epsilon([SampledGaussian(rate, std, steps)], rows, exact, DELTA)
    assert found == pytest.approx(exact, rel=0.01)


def cells_of(method, dataset, loss):
    setting = Setting(
        problem=f"{dataset}-{loss}", dataset=dataset, loss=loss, grid="", epsilon=1.0,
        delta=DELTA, seeds=1, tuning_seeds=(), finalists=0, experiment="persons",
    )  # fmt: skip
    return PERSON_METHODS[method].cells(setting, {}, {})


@pytest.mark.parametrize(
    ("method", "loss"), [("cap-3", "squared"), ("cap-3", "logistic"), ("cap-3-own", "logistic")]
)
def test_group_privacy_reaches_epsilon_and_hardly_less(method, loss, monkeypatch):
    few = partial(generate_persons, persons=120, d=3)
    monkeypatch.setattr(persons, "_load", lambda name, task, *_: few(name, task))
    found, ours = (
        cell.function(cell)
        for name in (method, "share")
        for cell in cells_of(name, "ten", loss)
    )
    assert (found["records"], ours["records"]) == (360, 1200)  # ours has all rows of everybody
    assert 0.99 <= found["group_epsilon"] <= 1.0
    assert found["row_epsilon"] < 0.34
