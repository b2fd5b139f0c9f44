"""Confidence intervals on the command line: fit, inspect and plan."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import SCHEMA, answer, call, refusal
from dpscd import Ledger, load
from dpscd.cli.inspect import _reference

SCHEMA = SCHEMA.replace('"m"]', '"m", "x", "nobody"]')
N = 4000


def people(count=N, seed=0):
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 100, count)
    odds = (age - 50) / 25 + generator.normal(size=count)
    sex = generator.choice(["f", "m", "x"], count)
    return pd.DataFrame({"age": age, "sex": sex, "ill": np.where(odds > 0, "yes", "no")})


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with models of each kind, trained by the verb, and what it printed."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "s.toml").write_text(SCHEMA)
    people().to_csv(folder / "t.csv", index=False)
    generator = np.random.default_rng(1)
    X = generator.normal(size=(N, 3)) / 4
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", np.clip(X @ [2.0, -1.0, 0.0] + generator.normal(size=N), -4, 4))
    table = ("t.csv", "--schema", folder / "s.toml")
    arrays = ("x.npy", "--labels", folder / "y.npy", "--bounds", -4, 4)
    printed = {}
    for name, data, more in (
        ("table", table, ["--inference"]),
        ("robust", table, ["--robust", "--json"]),
        ("plain", table, []),
        ("ridge", arrays, ["--inference", "--json"]),
        ("plain_ridge", arrays, []),
    ):
        out = ("--out", folder / f"{name}.json", "--epsilon", 4, "--seed", 0)
        printed[name] = call("fit", folder / data[0], *data[1:], *out, *more).stdout
    return folder, printed


@pytest.fixture(autouse=True)
def printed(folder, trained):
    """Copy the models and the data to the folder of the test; return what was printed."""
    shutil.copytree(trained[0], folder, dirs_exist_ok=True)
    return trained[1]


FIT = ("fit", "t.csv", "--schema", "s.toml", "--out", "m.json")
CHARGED = ("--ledger", "b.db", "--dataset", "people", "--out", "m.json")


# --- fit ------------------------------------------------------------------------------------


@pytest.mark.full
def test_fit_says_where_the_intervals_are(printed):
    wrote, then = printed["table"].splitlines()[-2:]
    path = wrote.removeprefix("Wrote ")
    assert then == f"Intervals: dpscd inspect {path} --intervals"
    assert "--intervals" not in printed["plain"]
    assert load("table.json").estimator_.inference is True
    assert load("table.json").schema_.columns[0].shape == "line"
    assert json.loads(printed["robust"])["inference"] == "robust"
    assert load("robust.json").estimator_.inference == "robust"
    assert json.loads(printed["ridge"])["inference"] is True


@pytest.mark.parametrize("model", ["svm", "huber", "poisson"])
def test_a_model_without_intervals_is_refused_before_anything_is_read(model):
    ledger = Ledger.init("b.db", "people", 3.0, 1e-4)
    for flag in ("--inference", "--robust"):
        words = ("fit", "none.csv", "--schema", "none.toml", *CHARGED)
        found = refusal(*words, "--model", model, flag)
        assert f"--model {model} has no confidence intervals" in found
        assert "ridge or logistic" in found
    assert ledger.show("people").spent_epsilon == 0.0
    assert not Path("m.json").exists()


def test_what_the_library_refuses_is_refused_before_the_charge():
    ledger = Ledger.init("b.db", "people", 9.0, 1e-4)
    table = ("fit", "t.csv", "--inference", *CHARGED, "--schema")
    Path("bent.toml").write_text(SCHEMA.replace("[0, 100]", "[0, 100]\nbins = 5"))
    assert "inference is not for the shape of column 'age'" in refusal(*table, "bent.toml")
    arrays = ("fit", "x.npy", "--labels", "y.npy", "--classes", "3", "--inference", *CHARGED)
    assert "inference is for two classes" in refusal(*arrays)
    little = refusal(*table, "s.toml", "--epsilon", 0.001)
    assert "inference cannot work with 4,000" in little
    assert ledger.show("people").spent_epsilon == 0.0


# --- inspect --------------------------------------------------------------------------------


def test_intervals_are_those_of_the_library():
    for name in ("table", "robust", "ridge"):
        summary = load(f"{name}.json").summary()
        found = call("inspect", f"{name}.json", "--intervals").stdout
        assert found.startswith(summary.heading)
        assert found.endswith("\n".join(summary.notes) + "\n")
        assert ("Levels are compared" in found) == (name != "ridge")
        for row in summary.frame.to_dict(orient="records"):
            if row["refused"] is None:
                for part in ("estimate", "low", "high", "std_error"):
                    assert f"{row[part]:.4g}" in found
            else:
                assert f"{row['term']}: no interval, {row['refused']}.\n" in found
        rows = answer("inspect", f"{name}.json", "--intervals")
        frame = pd.DataFrame(rows).astype(dict(summary.frame.dtypes))
        assert [row["refused"] for row in rows] == summary.frame["refused"].tolist()
        pd.testing.assert_frame_equal(
            frame.drop(columns="refused"), summary.frame.drop(columns="refused")
        )


def test_a_refused_term_has_nulls_and_its_reason():
    rows = answer("inspect", "table.json", "--intervals")
    refused = [row for row in rows if "nobody" in row["term"]]
    assert len(refused) == 1
    assert refused[0]["refused"]
    assert refused[0]["estimate"] is None
    assert refused[0]["odds_high"] is None
    seen = next(row for row in rows if row["term"].startswith("age"))
    assert seen["refused"] is None
    assert seen["low"] < seen["estimate"] < seen["high"]


def test_level_and_reference_and_odds():
    model = "table.json"
    plain = ("inspect", model, "--intervals")
    usual, narrow = (answer(*plain, *x) for x in ((), ("--level", 0.5)))
    assert narrow[0]["high"] < usual[0]["high"]
    assert usual == answer(*plain, "--level", 0.95)
    other = answer(*plain, "--reference", "sex=m")
    for more, base in (((), "sex=f"), (("--reference", "sex=m"), "sex=m")):
        assert f"Levels are compared with {base}.\n" in call(*plain, *more).stdout
    expected = load(model).summary(reference={"sex": "m"}).frame
    assert [row["term"] for row in other] == expected["term"].tolist()
    assert other != usual
    shown = call("inspect", model, "--intervals", "--odds", "--level", 0.9).stdout
    frame = load(model).summary(alpha=0.1).frame
    assert "odds ratio" in shown
    assert "5 %" in shown
    assert "95 %" in shown
    assert f"{frame['odds_ratio'][0]:.4g}" in shown
    assert f"{frame['odds_low'][0]:.4g}" in shown
    assert "are of log-odds" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("model", "words", "says"),
    [
        ("plain", ["--intervals"], "was trained for prediction"),
        ("plain_ridge", ["--intervals", "--json"], "was trained for prediction"),
        ("ridge", ["--intervals", "--odds"], "--odds is for logistic regressions"),
        ("ridge", ["--intervals", "--reference", "a=b"], "for models of tables"),
        ("table", ["--intervals", "--reference", "sex"], "must be COLUMN=LEVEL"),
        ("table", ["--intervals", "--reference", "age=3"], "age"),
        ("table", ["--intervals", "--reference", "sex=q"], "sex"),
        ("table", ["--intervals", "--level", "1.5"], "--level 1.5 must lie between 0 and 1"),
        ("table", ["--intervals", "--column", "age"], "give one of them"),
        ("table", ["--level", "0.9"], "--level goes with --intervals"),
        ("table", ["--reference", "sex=m"], "--reference goes with --intervals"),
        ("table", ["--odds"], "--odds goes with --intervals"),
    ],
)
def test_bad_questions_are_one_line(model, words, says):
    assert says in refusal("inspect", f"{model}.json", *words)


def test_names_may_contain_the_sign_of_equality():
    assert _reference("a=b=c", ["a", "a=b"]) == ("a=b", "c")
    assert _reference("a=b=c", ["a"]) == ("a", "b=c")
    assert _reference("q=b=c", ["a"]) == ("q", "b=c")


def test_a_model_for_prediction_says_so():
    note = "are for prediction, which shrinks or inflates them"
    shown = call("inspect", "plain.json").stdout
    assert (
        f"These effects {note}. For estimates with intervals train with --inference." in shown
    )
    assert f"These coefficients {note}." in call("inspect", "plain_ridge.json").stdout
    shown = call("inspect", "table.json").stdout
    assert note not in shown
    assert "Estimates with confidence intervals: --intervals." in shown


def test_the_hint_names_inference_only_where_it_is_to_be_had():
    call(*FIT, "--model", "svm")
    shown = call("inspect", "m.json").stdout
    assert "These effects are for prediction" in shown
    assert "--inference" not in shown
    assert "has no confidence intervals" in refusal("inspect", "m.json", "--intervals")
    call(*FIT, "--epsilon", "inf")
    assert "for prediction" not in call("inspect", "m.json").stdout


# --- plan -----------------------------------------------------------------------------------


def test_plan_forecasts_widths():
    words = ("plan", "--n", 5000, "--d", 10, "--inference")
    found = call(*words, "--epsilon", 1, "--epsilon", 0.05)
    assert "hidden" in found.stdout
    assert "hidden at epsilon 0.05: inference cannot work with 5,000" in found.stdout
    assert "unrelated, and classes whose chances are neither even nor extreme" in found.stdout
    one, none = answer(*words, "--epsilon", 1, "--epsilon", 0.05)
    assert one["hidden"] is None
    assert f"{one['expected']['width']:.2f}" in found.stdout
    assert f"{one['steps']:,}" in found.stdout
    assert [x["what"] for x in one["after"]] == ["information"]
    assert set(none) == {"epsilon", "expected", "hidden"}
    assert none["expected"] is None
    assert "inference cannot work" in none["hidden"]


@pytest.mark.full
def test_plan_of_robust_intervals():
    words = ("plan", "--n", 20_000, "--d", 5, "--epsilon", 1)
    plain, robust = (answer(*words, flag)[0] for flag in ("--inference", "--robust"))
    assert robust["after"][0]["size"] == 2 * plain["after"][0]["size"]
    found = call(*words, "--robust", "--regression").stdout
    assert "Intervals, robust: 20,000 records, 5 features, regression" in found
    assert "unrelated.\n" in found


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--classes", "3"], "--inference is for two classes, not 3"),
        (["--largest-class", "0.3"], "--largest-class 0.3 must be from 0.5 to 1"),
        (["--epsilon", "inf"], "finite"),
    ],
)
def test_bad_plans_are_one_line(words, says):
    assert says in refusal("plan", "--n", 5000, "--d", 5, "--inference", *words)
