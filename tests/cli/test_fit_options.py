"""Every parameter of an estimator is an option of fit, and arrives."""

import inspect
import json
import math
from pathlib import Path

import numpy as np
import pytest

from commands import call
from dpscd.cli.fit import fit
from dpscd.estimators.parameters import TABLE
from dpscd.estimators.registry import MODELS
from dpscd.persons import SHARE, SUM
from dpscd.solvers.on_device import ENGINES

# What the command decides by itself.
WITHOUT = {"verbose", "exposure_bounds"}  # a terminal has a bar; exposures are for Python


@pytest.fixture(autouse=True)
def files(folder):
    del folder
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, size=(400, 3))
    np.save("x.npy", X)
    np.save("y.npy", (X[:, 0] > 0).astype(int))


def trained(*words, **more):
    start = ("fit", "x.npy", "--labels", "y.npy", "--out", "m.json", "--seed", 1)
    return call(*start, *words, **more).stderr


def parameters():
    return json.loads(Path("m.json").read_text())["parameters"]


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.name)
def test_every_parameter_has_an_option(kind):
    options = set(inspect.signature(fit).parameters)
    assert set(kind.estimator().get_params()) - options - WITHOUT == set()
    assert set(kind.estimator().get_params()) <= set(TABLE)


def test_what_is_given_is_what_is_trained_with():
    words = "--lam 0.01 --epochs 2 --lot-size 40 --travel 1.5 --no-standardise --no-intercept"
    trained("--classes", "2", "--class-weight", "1=3", "--class-weight", "0=1", *words.split())
    found = parameters()
    assert found["class_weight"] == {"dict": [["1", 3.0], ["0", 1.0]]}
    expected = {"lam": 0.01, "epochs": 2.0, "lot_size": 40, "travel": 1.5}
    assert {name: found[name] for name in expected} == expected
    assert (found["standardise"], found["fit_intercept"]) == (False, False)


def test_options_of_a_regression():
    words = "--bounds 0 1 --model huber --threshold 0.2 --no-clip-predictions --standardise"
    trained(*words.split(), "--intercept-scaling", 0.5, "--intercept")
    found = parameters()
    assert (found["threshold"], found["clip_predictions"]) == (0.2, False)
    assert (found["standardise"], found["intercept_scaling"]) == (True, 0.5)


def test_what_is_not_given_is_planned():
    trained("--classes", "2")
    found = parameters()
    assert {found[name] for name in ("lam", "epochs", "lot_size", "travel")} == {"auto"}
    assert found["fit_intercept"] is True
    trained("--classes", "2", "--engine", "numba")
    assert parameters()["engine"] == found["engine"] == "numba"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--classes 2 --threshold 1", "--threshold is not a parameter of DPLogisticRegression"),
        ("--bounds 0 1 --class-weight 1=2", "--class-weight is not a parameter of DPRidge"),
        ("--classes 2 --class-weight 1", "--class-weight '1' must be a class"),
        ("--classes 2 --class-weight 1=many", "must be a class, an equals sign and a number"),
        ("--classes 2 --class-weight 1=-2", "number of at least 0"),
        ("--classes 2 --class-weight 7=2", "class_weight has a weight for 7"),
        (f"--classes 2 --lam {math.nan}", "lam"),
        ("--bounds 0 1 --model huber --engine jax", "--engine is not a parameter of DPHuber"),
        (
            "--classes 2 --engine jax --epsilon inf",
            "--epsilon inf does not go with --engine jax",
        ),
    ],
)
def test_refusals_name_the_option(words, says):
    assert says in trained(*words.split(), code=1)
    assert not Path("m.json").exists()


def test_engines_and_weights_are_those_that_there_are():
    assert TABLE["engine"].kind.values == ENGINES
    assert set(TABLE["person_weight"].kind.values) == {SUM, SHARE}


@pytest.mark.full
def test_another_engine_trains_and_is_named():
    pytest.importorskip("jax")
    trained("--classes", "2", "--engine", "jax", "--epochs", 2, "--lot-size", 200)
    assert parameters()["engine"] == "jax"
    facts = json.loads(Path("m.json").read_text())["plan"]["facts"]
    assert facts["engine"] == "jax"
    assert facts["device"]
