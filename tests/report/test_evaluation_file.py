"""Evaluations are read as they were printed, and nothing else is taken for one."""

import json

import pytest

from dpscd.errors import ParameterError
from dpscd.report.evaluation import Measure, read_evaluation

PLAIN = {"private": False, "records": 16281, "metrics": {"accuracy": 0.85, "log loss": 1}}
NOISY = {
    "private": True,
    "measure": "accuracy",
    "persons": 1200,
    "unit": "a person: all records with the same value of 'patient'",
    "epsilon": 1.0,
    "delta": 1e-5,
    "relation": "zero-out",
    "value": 0.85,
    "noise_std": 0.01,
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
    assert found.measures == (Measure("accuracy", 0.85, 0.02),)
    assert (found.on, found.private) == ("1,200 persons", True)
    assert "(1, 1e-05)-differentially private for the test persons" in found.status


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
        {name: value for name, value in NOISY.items() if name != "noise_std"},
    ],
)
def test_anything_else_is_refused(tmp_path, values):
    with pytest.raises(ParameterError, match=r"scores\.json is not what dpscd evaluate --json"):
        read(tmp_path, values)
