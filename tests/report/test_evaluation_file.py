"""Evaluations are read as they were printed, and nothing else is taken for one."""

import json

import pytest

from dpscd.errors import ParameterError
from dpscd.report.evaluation import Measure, read_evaluation

OF = {"model_sha256": "0" * 64}
METRICS = {"accuracy": 0.85, "log loss": 1}
PLAIN = {"private": False, "records": 16281, "metrics": METRICS, **OF}
NOISY = {
    **OF,
    "private": True,
    "metric": "accuracy",
    "persons": 1200,
    "unit": "a person: all records with the same value of 'patient'",
    "epsilon": 1.0,
    "delta": 1e-5,
    "relation": "zero-out",
    "value": 0.85,
    "low": 0.83,
    "high": None,
    "level": 0.9,
    "classes": ["a", "b"],
}


def read(tmp_path, values):
    path = tmp_path / "scores.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return read_evaluation(path)


def test_a_plain_one_says_that_it_is_not_private(tmp_path):
    found = read(tmp_path, PLAIN)
    assert found.measures == (Measure("accuracy", 0.85), Measure("log loss", 1.0))
    assert (found.on, found.private) == ("16,281 records", False)
    assert "not private" in found.status


def test_a_noisy_one_says_for_whom_and_how_noisy(tmp_path):
    found = read(tmp_path, NOISY)
    assert found.measures == (Measure("accuracy", 0.85, 0.83),)
    assert found.measures[0].interval == "0.8300 to inf"
    assert Measure("R2", 0.5, None, 0.7).interval == "-inf to 0.7000"
    assert Measure("R2", 0.5).interval is None
    assert "Intervals of 90 %" in found.status
    assert (found.on, found.private) == ("1,200 persons", True)
    assert "(1, 1e-05)-differentially private for the test persons" in found.status


def test_numbers_of_classes_and_of_pairs_have_their_names(tmp_path):
    own = {"metric": "recall", "value": [0.5, 0.75], "low": [0.4, 0.6], "high": [0.6, 0.8]}
    found = read(tmp_path, {**NOISY, **own}).measures
    assert found[1] == Measure("recall of b", 0.75, 0.6, 0.8)
    square = [[0.4, 0.1], [0.2, 0.3]]
    own = {"metric": "confusion", "value": square, "low": square, "high": square}
    found = read(tmp_path, {**NOISY, **own}).measures
    assert [x.value for x in found] == [0.4, 0.1, 0.2, 0.3]
    assert found[1].name == "share of a predicted as b"


@pytest.mark.parametrize(
    "values",
    [
        "",
        "[]",
        '{"private": false, "private": true}',
        '{"private": false}',
        {**PLAIN, "metrics": {"accuracy": "good"}},
        {**PLAIN, "metrics": {"accuracy": True}},
        {**PLAIN, "metrics": [1]},
        '{"private": false, "records": 3, "metrics": {"accuracy": NaN}}',
        '{"private": false, "records": 3, "metrics": {"accuracy": 1e999}}',
        {**NOISY, "relation": "other"},
        {name: value for name, value in NOISY.items() if name != "level"},
    ],
)
def test_anything_else_is_refused(tmp_path, values):
    with pytest.raises(ParameterError, match=r"scores\.json is not what dpscd evaluate --json"):
        read(tmp_path, values)
