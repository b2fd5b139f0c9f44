"""The verbs for tables: what they write, what they print, and how they fail."""

import contextlib
import dataclasses
import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import SCHEMA, answer, call
from dpscd import DataError, Ledger, Schema, ScoreCard, load
from dpscd.cli import common
from dpscd.cli.app import app
from dpscd.cli.inspect import _Row
from dpscd.preprocessing.reading import TableFiles
from dpscd.privacy.unit import RECORD, Unit

NUMBERS = SCHEMA.replace('classes = ["no", "yes"]', "bounds = [0, 100]")
SECRET = "canary-9087"
FIT = ("fit", "train.csv", "--schema", "s.toml", "--out", "m.json")
CHARGED = ("--ledger", "b.db", "--dataset", "people", "--delta", "1e-6")


def people(count=400, seed=0):
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 100, count)
    return pd.DataFrame(
        {
            "id": np.arange(count),
            "age": age,
            "sex": generator.choice(["f", "m", "x"], count),
            "ill": np.where(age > 60, "yes", "no"),
        }
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    people().to_csv("train.csv", index=False)
    return call


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    (folder / "s.toml").write_text(SCHEMA)
    (folder / "n.toml").write_text(NUMBERS)
    people(4000).to_csv(folder / "train.csv", index=False)
    people(4000).assign(ill=lambda x: x["age"] / 2).to_csv(folder / "n.csv", index=False)
    for schema, data, out, kind in (
        ("s.toml", "train.csv", "model.json", "logistic"),
        ("s.toml", "train.csv", "svm.json", "svm"),
        ("n.toml", "n.csv", "ridge.json", "ridge"),
    ):
        options = ("--out", folder / out, "--model", kind, "--seed", 0, "--epsilon", 4)
        call("fit", folder / data, "--schema", folder / schema, *options)
    return folder


# --- fit --------------------------------------------------------------------------------


def test_fit_writes_a_model_and_says_what_it_is(run):
    found = run(*FIT)
    assert "(1, 1e-05)-differentially private, 400 records, 12 features" in found.stdout
    card = load("m.json").privacy_
    assert (card.epsilon, card.seeded) == (1.0, False)
    assert sorted(x.name for x in Path().iterdir()) == ["m.json", "s.toml", "train.csv"]


@pytest.mark.usefixtures("run")
def test_fit_in_json_with_everything_given():
    Ledger.init("b.db", "people", 3.0, 1e-4, "add-remove")
    assert answer(
        *FIT, "train.csv", *CHARGED, "--epsilon", 2, "--model", "svm", "--n", 500, "--jobs", 2,
        "--relation", "add-remove", "--seed", 2**100, "--seed-is-secret",
    ) == {
        "model": "m.json",
        "type": "DPLinearSVC",
        "epsilon": 2.0,
        "delta": 1e-6,
        "relation": "add-remove",
        "records": 500,
        "features": 14,
        "read_from_data": [],
        "seeded": True,
    }  # fmt: skip
    assert Ledger("b.db").show("people").spent_epsilon == 2.0
    assert Ledger("b.db").show("people").seeded == 1


def test_a_seed_is_not_charged_unless_it_is_secret(run):
    Ledger.init("b.db", "people", 3.0, 1e-4)
    words = ("fit", "none.csv", *FIT[2:])
    assert "add --seed-is-secret" in run(*words, *CHARGED, "--seed", 7, code=1).stderr
    found = run(*words, *CHARGED, "--seed", 7, "--seed-is-secret", code=1)
    assert "at least 96 bits" in found.stderr
    assert "goes with --seed" in run(*words, "--seed-is-secret", code=1).stderr


def test_fit_tells_times_only_when_asked_to(run):
    assert run(*FIT).stdout.endswith("features.\nWrote m.json\n")
    assert "trained in" in run(*FIT, "--timings").stdout
    assert "no guarantee covers" in run(*FIT, "--timings").stdout
    values = answer(*FIT, "--timings")
    assert values["seconds"] > 0.0


def test_fit_warns_of_what_weakens_the_guarantee(run):
    marked = SCHEMA.replace("bounds = [0, 100]", "bounds = [0, 100]\nread_from_data = true")
    Path("s.toml").write_text(marked)
    found = run(*FIT, "--seed", 1, "--epsilon", 20)
    assert "'age' was read off the records" in found.stderr
    assert "rests on the secrecy of --seed" in found.stderr
    assert "epsilon=20 is above 10" in found.stderr
    assert "NOT PRIVATE" in run(*FIT, "--epsilon", "inf").stdout
    values = answer(*FIT, "--epsilon", "inf")
    assert values["epsilon"] == "inf"


def test_fit_reads_a_pipe_and_packed_files(run):
    text = Path("train.csv").read_bytes()
    Path("train.csv.gz").write_bytes(gzip.compress(text))
    people().to_parquet("train.parquet")
    for file in ("-", "train.csv.gz", "train.parquet"):
        run("fit", file, *FIT[2:], input=text)


TRAIN = ["train.csv", "--schema", "s.toml"]
BAD = [
    (["none.csv", "--schema", "s.toml"], "there is no file 'none.csv'"),
    (["train.csv", "--schema", "none.toml"], "No such file"),
    (["empty.csv", "--schema", "s.toml"], "empty.csv is empty"),
    (["head.csv", "--schema", "s.toml"], "there are no records"),
    (["semicolon.csv", "--schema", "s.toml"], "no column 'age'"),
    (["double.csv", "--schema", "s.toml"], "two columns called 'age'"),
    (["ragged.csv", "--schema", "s.toml"], "different numbers"),
    (["train.csv", "--schema", "one.toml"], "two different classes"),
    (["train.csv", "--schema", "other.toml"], "no column 'height'"),
    ([*TRAIN, "--epsilon", "-1"], "--epsilon -1 must"),
    ([*TRAIN, "--ledger", "none.db"], "must be given together"),
    ([*TRAIN, "--model", "ridge"], "DPRidge does not go"),
    ([*TRAIN, "--ledger", "none.db", "--dataset", "p"], "none.db"),
    ([*TRAIN, "--relation", "add-remove"], "needs --n"),
]


@pytest.mark.parametrize(("words", "says"), BAD)
def test_bad_input_is_one_line_and_nothing_is_written(run, words, says):
    Path("empty.csv").touch()
    Path("head.csv").write_text("id,age,sex,ill\n")
    Path("semicolon.csv").write_text(Path("train.csv").read_text().replace(",", ";"))
    Path("double.csv").write_text(f"age,age,sex,ill\n1,{SECRET},f,no\n")
    Path("ragged.csv").write_text(f"age,sex,ill\n1,f,no\n2,{SECRET},no,4,5\n")
    Path("one.toml").write_text(SCHEMA.replace('"no", "yes"', '"no"'))
    Path("other.toml").write_text(SCHEMA.replace("columns.age", "columns.height"))
    before = sorted(x.name for x in Path().iterdir())
    found = run("fit", *words, "--out", "m.json", code=1)
    assert says in found.stderr
    assert found.stderr.startswith("error:")
    assert found.stderr.count("\n") == 1
    assert SECRET not in found.output
    assert "Traceback" not in found.output
    assert sorted(x.name for x in Path().iterdir()) == before


def test_a_place_that_cannot_be_written_is_found_before_the_budget_is_spent(run):
    Ledger.init("b.db", "people", 3.0, 1e-4)
    found = run(*FIT[:-1], "no/m.json", *CHARGED, code=1)
    assert "no such folder" in found.stderr
    Path("folder").mkdir()
    run(*FIT[:-1], "folder", *CHARGED, code=2)
    assert Ledger("b.db").show("people").spent_epsilon == 0.0


def test_a_refused_fit_leaves_the_ledger_as_it_was(run):
    Ledger.init("b.db", "people", 0.5, 1e-4)
    assert "budget" in run(*FIT, *CHARGED, code=1).stderr
    assert not Path("m.json").exists()
    assert Ledger("b.db").show("people").spent_epsilon == 0.0


def test_a_full_disk_leaves_no_half_model_and_the_charge(run, monkeypatch):
    Ledger.init("b.db", "people", 3.0, 1e-4)

    def full(*_):
        raise OSError(28, "No space left on device", "m.json")

    monkeypatch.setattr("dpscd.atomic.os.fsync", full)
    assert "No space left on device" in run(*FIT, *CHARGED, code=1).stderr
    assert not list(Path().glob("*m.json*"))
    assert Ledger("b.db").show("people").spent_epsilon == 1.0


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets every training fail with an error."""

    def let(error):
        def fail(*_args, **_kwargs):
            raise error

        monkeypatch.setattr("dpscd.estimators.fitting.run_plan", fail)

    return let


def test_ctrl_c_ends_with_130_and_no_file(run, failing):
    failing(KeyboardInterrupt)
    Ledger.init("b.db", "people", 3.0, 1e-4)
    assert "stays charged" in run(*FIT, *CHARGED, code=130).stderr
    assert not Path("m.json").exists()
    state = Ledger("b.db").show("people")
    assert (state.reserved, state.committed) == (1, 0)
    assert "no model was written" in run(*FIT, code=130).stderr


def test_a_bug_shows_no_value_unless_asked_to(run, failing, monkeypatch):
    failing(ZeroDivisionError(SECRET))
    found = run(*FIT, code=70)
    assert "ZeroDivisionError" in found.stderr
    assert SECRET not in found.output
    monkeypatch.setenv(common.DEBUG, "1")
    assert SECRET in run(*FIT, code=70).stderr


def test_too_little_memory_is_said(run, failing):
    failing(MemoryError)
    assert "not enough memory" in run(*FIT, code=1).stderr


# --- predict ----------------------------------------------------------------------------


@pytest.mark.full
def test_predictions_are_in_order_and_whole(run, trained):
    table = people(500, seed=1)
    table.drop(columns="ill").to_csv("new.csv", index=False)
    model = trained / "model.json"
    found = run("predict", model, "new.csv", "--out", "p.csv", "--keep", "id", "--proba")
    assert found.stdout == "500 predictions: p.csv\n"
    answers = pd.read_csv("p.csv")
    names = ["id", "prediction", "probability no", "probability yes"]
    assert answers.columns.tolist() == names
    assert answers["id"].tolist() == table["id"].tolist()
    assert (answers["prediction"] == table["ill"]).mean() > 0.9
    printed = run("predict", model, "-", input=Path("new.csv").read_bytes()).stdout
    assert printed.splitlines() == ["prediction", *answers["prediction"]]
    values = answer("predict", model, "new.csv", "--out", "q.csv.gz")
    assert values == {"predictions": "q.csv.gz", "records": 500}
    assert pd.read_csv("q.csv.gz")["prediction"].tolist() == answers["prediction"].tolist()
    run("predict", model, "new.csv", "--out", "q.parquet")
    assert pd.read_parquet("q.parquet")["prediction"].tolist() == answers["prediction"].tolist()


ODD = ["=1+1", "+x", "-x", "@x", "\tx", "-3.5", "+7", "-inf", "x=1", "", "'=1"]
ODD += ["a\r=1", "\r=1", "a\r\nb"]
HARMLESS = ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "-3.5", "+7", "-inf", "x=1", "", "'=1"]
HARMLESS += ["a\n=1", "'\n=1", "a\nb"]


def test_no_cell_of_csv_is_a_formula(run):
    schema = SCHEMA.replace('"no", "yes"', '"=no()", "-1"').replace('"ill"', '"=y"')
    Path("odd.toml").write_text(schema)
    table = people(len(ODD) * 40).assign(note=ODD * 40, number=-1.5)
    table["=y"] = table.pop("ill").map({"no": "=no()", "yes": "-1"})
    table["@note"] = table["note"]
    table.to_parquet("odd.parquet")
    run("fit", "odd.parquet", "--schema", "odd.toml", "--epsilon", 5, "--out", "odd.json")
    kept = [word for name in ("note", "@note", "number") for word in ("--keep", name)]
    words = ("predict", "odd.json", "odd.parquet", "--proba", *kept, "--out")
    names = ["note", "'@note", "number", "prediction", "probability -1", "probability =no()"]
    for out in ("p.csv", "p.csv.gz"):
        run(*words, out)
        found = pd.read_csv(out, dtype=str, na_filter=False)
        assert found.columns.tolist() == names
        assert found["note"].tolist() == found["'@note"].tolist() == HARMLESS * 40
        assert set(found["prediction"]) <= {"'=no()", "-1"}
        assert set(found["number"]) == {"-1.5"}
    printed = run("predict", "odd.json", "odd.parquet", "--keep", "note").stdout
    assert printed.startswith("note,prediction\n'=1+1,")
    run(*words, "p.parquet")
    assert pd.read_parquet("p.parquet")["@note"].tolist() == ODD * 40


def test_predictions_are_made_piece_by_piece(run, trained, monkeypatch):
    monkeypatch.setattr("dpscd.preprocessing.reading.read_frames.__defaults__", (None, 7))
    table = people(50, seed=2)
    table.to_csv("new.csv", index=False)
    table.to_parquet("new.parquet")
    run("predict", trained / "model.json", "new.csv", "--out", "p.csv", "--proba")
    run("predict", trained / "model.json", "new.parquet", "--out", "q.csv", "--proba")
    run("predict", trained / "model.json", "new.parquet", "--out", "q.parquet", "--proba")
    assert Path("p.csv").read_text() == Path("q.csv").read_text()
    assert len(pd.read_parquet("q.parquet")) == 50


def test_no_records_make_an_empty_file(run, trained):
    Path("new.csv").write_text("age,sex\n")
    run("predict", trained / "model.json", "new.csv", "--out", "p.csv", "--proba")
    assert Path("p.csv").read_text() == "prediction,probability no,probability yes\n"
    run("predict", trained / "model.json", "new.csv", "--out", "p.parquet")
    assert len(pd.read_parquet("p.parquet")) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["{t}/model.json", "train.csv", "--json"], "--json needs --out"),
        (["{t}/svm.json", "train.csv", "--proba"], "DPLinearSVC has no probabilities"),
        (["{t}/model.json", "train.csv", "--keep", "x", "--out", "p.csv"], "no column 'x'"),
        (["{t}/train.csv", "train.csv", "--out", "p.csv"], "not a usable model file"),
        (["none.json", "train.csv"], "none.json"),
        (["plain.json", "train.csv"], "without schema"),
        (["{t}/model.json", "train.csv", "--out", "no/p.csv"], "No such file or directory"),
    ],
)
def test_bad_predictions_are_one_line(run, trained, words, says):
    from dpscd import DPRidge

    plain = DPRidge(epsilon=1.0, y_bounds=(0, 1), random_state=0)
    plain.fit(np.eye(2).repeat(50, axis=0), np.ones(100)).save("plain.json")
    found = run("predict", *(word.format(t=trained) for word in words), code=1)
    assert says in found.stderr
    assert found.stderr.count("\n") == 1
    assert not Path("p.csv").exists()


# --- evaluate ---------------------------------------------------------------------------


def test_evaluate_prints_measures_and_that_they_are_not_private(run, trained):
    people(500, seed=1).to_csv("test.csv", index=False)
    found = run("evaluate", trained / "model.json", "test.csv")
    assert "not private" in found.stdout
    values = answer("evaluate", trained / "model.json", "test.csv")
    assert values["private"] is False
    assert values["records"] == 500
    assert values["metrics"]["accuracy"] > 0.9
    assert values["metrics"]["area under the curve"] > 0.95
    values = answer("evaluate", trained / "svm.json", "test.csv")
    assert set(values["metrics"]) == {"accuracy", "share of the largest class"}
    people(500, seed=1).assign(ill=lambda x: x["age"] / 2).to_csv("numbers.csv", index=False)
    values = answer("evaluate", trained / "ridge.json", "numbers.csv")
    assert values["metrics"]["R2"] > 0.9


@pytest.mark.full
def test_evaluate_with_noise_is_charged(run, trained):
    people(5000, seed=1).to_csv("test.csv", index=False)
    Ledger.init("b.db", "test", 1.0, 1e-4)
    words = ("--private-epsilon", 0.8, "--ledger", "b.db", "--dataset", "test")
    found = run("evaluate", trained / "model.json", "test.csv", *words)
    assert "differentially private for the test records" in found.stdout
    assert Ledger("b.db").show("test").committed == 1
    refused = run("evaluate", trained / "model.json", "test.csv", *words, code=1)
    assert "budget" in refused.stderr
    words = ("--private-epsilon", 2, "--private-delta", "1e-6")
    values = answer("evaluate", trained / "model.json", "test.csv", *words)
    assert (values["private"], values["epsilon"], values["delta"]) == (True, 2.0, 1e-6)
    assert 0.9 < values["value"] <= 1.0
    assert values["low"] <= values["noise_low"] <= values["noise_high"] <= values["high"]
    assert ScoreCard.from_json(json.dumps(values["card"])).verify() <= 2.0
    people(5000, seed=1).assign(ill=lambda x: x["age"] / 2).to_csv("numbers.csv", index=False)
    found = run("evaluate", trained / "ridge.json", "numbers.csv", "--private-epsilon", 2)
    assert "mean absolute error" in found.stdout
    assert "The loss of one record is at most" in found.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("auc", "area under the curve on 3,000 records: "),
        ("log_loss", "log loss on 3,000 records"),
        ("brier", "Brier score on 3,000 records"),
        ("recall", "recall on 3,000 records, 90 % intervals"),
        ("confusion", "shares of all on 3,000 records, 90 % intervals"),
    ],
)
def test_noisy_measures_are_printed_with_intervals(run, trained, metric, says):
    people(3000, seed=1).to_csv("test.csv", index=False)
    words = ("--private-epsilon", 4, "--metric", metric, "--level", 0.9)
    found = run("evaluate", trained / "model.json", "test.csv", *words)
    assert says in " ".join(found.stdout.split())
    assert "differentially private" in found.stdout
    secret = (*words, "--relation", "add-remove", "--n", 3100)
    found = run("evaluate", trained / "model.json", "test.csv", *secret)
    assert "3,100 records (declared)" in " ".join(found.stdout.split())
    values = answer("evaluate", trained / "model.json", "test.csv", *words)
    assert (values["metric"], values["level"]) == (metric, 0.9)
    assert values["classes"] == ["no", "yes"]


def test_a_noisy_score_is_charged_before_any_value_is_used(run, trained, monkeypatch):
    Ledger.init("b.db", "test", 1.0, 1e-4)
    words = ("--ledger", "b.db", "--dataset", "test", "--private-epsilon")

    def fail(*_):
        raise DataError("a value was used.")

    parsed = TableFiles.parsed
    monkeypatch.setattr(TableFiles, "parsed", fail)
    found = run("evaluate", trained / "model.json", "train.csv", *words, 2, code=1)
    assert "does not fit into the budget" in found.stderr
    people().drop(columns="age").to_csv("other.csv", index=False)
    found = run("evaluate", trained / "model.json", "other.csv", *words, 0.5, code=1)
    assert "no column 'age'" in found.stderr
    Path("empty.csv").write_text("age,sex,ill\n")
    found = run("evaluate", trained / "model.json", "empty.csv", *words, 0.5, code=1)
    assert "no records" in found.stderr
    assert Ledger("b.db").show("test").reserved == 0
    found = run("evaluate", trained / "model.json", "train.csv", *words, 0.5, code=1)
    assert "a value was used" in found.stderr
    state = Ledger("b.db").show("test")
    assert (state.reserved, state.committed) == (1, 0)
    people(3).to_csv("fewer.csv", index=False)
    fewer = TableFiles(["fewer.csv"], Schema.read("s.toml"))
    monkeypatch.setattr(TableFiles, "parsed", lambda _: parsed(fewer))
    found = run("evaluate", trained / "model.json", "train.csv", *words, 0.5, code=1)
    assert "stays charged" in found.stderr


@pytest.mark.parametrize(
    ("model", "words", "says"),
    [
        ("model", ["--ledger", "b.db"], "go with --private-epsilon"),
        ("model", ["--private-epsilon", "1", "--ledger", "b.db"], "given together"),
        ("model", ["--private-epsilon", "inf"], "positive number"),
        ("model", ["--metric", "auc"], "go with --private-epsilon"),
        ("model", ["--private-epsilon", "1", "--metric", "mse"], "must be one of 'accuracy'"),
        ("ridge", ["--private-epsilon", "1", "--metric", "auc"], "must be one of 'mae'"),
        ("model", [], "no record of the table has one of the classes"),
        ("ridge", [], "no record of the table has a target"),
    ],
)
def test_bad_evaluations_are_one_line(run, trained, model, words, says):
    people(50).assign(ill="?").to_csv("test.csv", index=False)
    found = run("evaluate", trained / f"{model}.json", "test.csv", *words, code=1)
    assert says in found.stderr
    Path("empty.csv").write_text("age,sex,ill\n")
    found = run("evaluate", trained / f"{model}.json", "empty.csv", code=1)
    assert "no records" in found.stderr


# --- inspect, verify, plan, schema, example -----------------------------------------------


def test_inspect_shows_effects_and_card(run, trained):
    found = run("inspect", trained / "model.json", "--top", 2)
    words = " ".join(found.stdout.split())
    seen = load(trained / "model.json").shapes()["seen"].sum()
    clear = load(trained / "model.json").shapes()["clear"].sum()
    assert f"{clear} of {seen} effects on the score of ill = yes are clear" in words
    assert "age at " in words
    assert "± band" in found.stdout
    assert "Randomness: from a seed" in found.stdout
    assert "effect" not in run("inspect", trained / "model.json", "--top", 0).stdout
    values = answer("inspect", trained / "model.json")
    names = list(values["coefficients"])
    assert names[0] == "age"
    assert names[-3:] == ["sex=f", "sex=m", "sex=(other)"]
    assert list(values["noise"]) == list(values["coefficients"])
    assert values["card"]["epsilon"] == 4.0
    assert values["schema"]["target"]["column"] == "ill"


def test_inspect_puts_what_is_clear_before_what_is_large(run, trained, monkeypatch):
    rows = [("large", [-5.0], 10.0), ("small", [0.1], 1.0), ("clear", [1.0], 0.5)]
    rows = [_Row(*row, clear=row[0] == "clear") for row in rows]
    monkeypatch.setattr("dpscd.cli.inspect._effects", lambda _: (["effect"], rows))
    shown = run("inspect", trained / "model.json", "--top", 2).stdout
    assert 0 < shown.index("clear ") < shown.index("large ")
    assert "small " not in shown.split("differentially private")[0]


def test_inspect_tells_values_apart_that_differ_late(run):
    frame = people(2000)
    frame["age"] = 20200000.0 + frame["age"]
    frame.to_csv("days.csv", index=False)
    Path("days.toml").write_text(SCHEMA.replace("[0, 100]", "[20200000, 20200100]\nbins = 9"))
    run("fit", "days.csv", "--schema", "days.toml", "--epsilon", 8, "--out", "days.json")
    seen = load("days.json").shapes().query("seen")
    shown = run("inspect", "days.json", "--top", 100).stdout
    assert f"of {len(seen)} effects" in " ".join(shown.split())


def test_inspect_shows_and_draws_a_column(run, trained):
    found = run("inspect", trained / "model.json", "--column", "age", "--plot", "age.png")
    assert "effect on the score of ill = yes" in found.stdout.replace("\n", " ")
    assert Path("age.png").stat().st_size > 5000
    run("inspect", trained / "model.json", "--column", "sex", "--plot", "sex.svg")
    assert "<svg" in Path("sex.svg").read_text()
    rows = answer("inspect", trained / "model.json", "--column", "sex")
    assert [row["value"] for row in rows] == ["f", "m", "(other)"]
    assert all(row["band"] > 0.0 for row in rows)


def test_pairs_and_monotone_columns_are_shown(run):
    paired = f'[table]\npairs = [["sex", "age"]]\n{SCHEMA}'
    Path("pairs.toml").write_text(paired)
    shown = run("schema", "check", "pairs.toml", "--epsilon", 1, "--n", 4000)
    assert "sex x age" in shown.stdout
    counts = answer("schema", "check", "pairs.toml")
    assert counts["pairs"] == {"sex x age": 6}
    assert len(counts["features"]) == 1 + 3 + 6
    run("fit", "train.csv", "--schema", "pairs.toml", "--out", "pairs.json")
    words = ("inspect", "pairs.json", "--column")
    assert "other" in run(*words, "sex x age", "--plot", "pair.png").stdout
    listed = run("inspect", "pairs.json", "--top", 40).stdout
    assert "sex x age = f, at 0 " in listed
    assert "sex x age = m, at 0 " in listed
    assert Path("pair.png").stat().st_size > 5000
    alone = answer(*words, "age")
    assert set(alone[0]) == {"column", "value", "effect", "band", "seen", "clear"}
    Path("up.toml").write_text(SCHEMA.replace("[0, 100]", '[0, 100]\nmonotone = "up"'))
    run("fit", "train.csv", "--schema", "up.toml", "--out", "up.json")
    found = run("inspect", "up.json", "--column", "age").stdout
    assert "made to rise" in found.replace("\n", " ")
    Path("bad.toml").write_text(paired.replace("[0, 100]", '[0, 100]\nmonotone = "up"'))
    assert "bad.toml line 10" in run("schema", "check", "bad.toml", code=1).stderr


def test_bad_inspections_are_one_line(run, trained):
    model = trained / "model.json"
    assert "give --column" in run("inspect", model, "--plot", "x.png", code=1).stderr
    assert "it has age, sex" in run("inspect", model, "--column", "id", code=1).stderr
    words = ("--column", "age", "--plot", "x.txt")
    assert "use .png or .svg" in run("inspect", model, *words, code=1).stderr


def test_verify_recomputes_the_claim(run, trained):
    assert "it holds" in run("verify", trained / "model.json").stdout
    values = answer("verify", trained / "model.json")
    assert values["ok"]
    assert 3.9 < values["recomputed"] <= values["claimed"] == 4.0
    run("fit", "train.csv", "--schema", "s.toml", "--out", "m.json", "--epsilon", "inf")
    assert "claims no privacy" in run("verify", "m.json").stdout
    assert answer("verify", "m.json")["claimed"] == "inf"
    text = (trained / "model.json").read_text()
    Path("m.json").write_text(text.replace('"epsilon": 4.0', '"epsilon": 3.0'))
    assert "not a usable model file" in run("verify", "m.json", code=1).stderr


GROUPS = Unit(groups=True).text


def of_persons(path):
    """Return a model whose card says that it protects persons."""
    model = load(path)
    card = model.estimator_.privacy_
    model.estimator_.person_weight = "share"  # with "sum" a calibration has four numbers
    public = {**card.public, "max_rows": model.estimator_.max_rows, "person_weight": "share"}
    model.estimator_.privacy_ = dataclasses.replace(card, unit=GROUPS, public=public)
    return model


def test_inspect_and_verify_name_the_unit(run, trained):
    of_persons(trained / "model.json").save("m.json")
    shown = run("inspect", "m.json", "--top", 0).stdout
    assert f"\nUnit: {GROUPS}.\nNumber of records: epsilon protects whether" in shown
    assert answer("inspect", "m.json")["card"]["unit"] == GROUPS
    assert f"it holds.\nm.json: the unit is {GROUPS}.\n" in run("verify", "m.json").stdout
    assert answer("verify", "m.json")["unit"] == GROUPS
    record = run("verify", trained / "model.json").stdout
    assert record.count("\n") == 1
    values = answer("verify", trained / "model.json")
    assert values["unit"] == RECORD.text


def test_fit_counts_persons_where_they_are_the_unit(run, trained, monkeypatch):
    model = of_persons(trained / "model.json")
    monkeypatch.setattr("dpscd.cli.fit._train", lambda *_: model)
    shown = run(*FIT).stdout
    assert "4,000 persons, 27 features.\n" in shown
    assert f"\nUnit: {GROUPS}.\n" in shown
    values = answer(*FIT)
    assert (values["unit"], values["records"]) == (GROUPS, 4000)


@pytest.mark.full
def test_plan_needs_no_data(run):
    found = run("plan", "--n", 30000, "--d", 100)
    assert "30,000 records, 100 features, 2 classes" in found.stdout
    values = answer("plan", "--n", 10**6, "--d", 20, "--epsilon", 1, "--regression")
    assert values[0]["epsilon"] == 1.0
    assert values[0]["expected"]["lost"] is not None
    assert "-0.005 to 0.500" in run("plan", "--n", 500, "--d", 500, "--epsilon", 0.01).stdout
    narrow = ("plan", "--n", 500, "--d", 500, "--epsilon", 0.01, "--largest-class")
    assert "-0.005 to 0.100" in run(*narrow, 0.9).stdout
    assert "--largest-class 2 must be" in run(*narrow, 2, code=1).stderr
    assert "for classes" in run(*narrow, 0.9, "--regression", code=1).stderr
    assert "min" in run("plan", "--n", 10**9, "--d", 100, "--epsilon", 1).stdout
    assert "finite" in run("plan", "--n", 10, "--d", 1, "--epsilon", "inf", code=1).stderr


def test_schema_init_and_check(run):
    found = run("schema", "init", "train.csv", "--target", "ill", "--out", "new.toml")
    assert "places marked FILL IN" in found.stdout
    assert "exists" in run("schema", "init", "train.csv", "--out", "new.toml", code=1).stderr
    assert "line" in run("schema", "check", "new.toml", code=1).stderr
    flag = "--read-values-from-data-not-private"
    values = answer("schema", "init", "train.csv", flag, "--out", "read.toml")
    assert values == {"schema": "read.toml", "to_fill_in": 0}
    run("schema", "init", "train.csv", flag, "--out", "again.toml")
    found = run("schema", "check", "read.toml")
    assert "read from data" in found.stdout
    values = answer("schema", "check", "read.toml")
    assert values["read_from_data"] == ["id", "age", "sex", "ill"]
    Path("bare.csv").write_text("1;f;no\n2;m;yes\n")
    run("schema", "init", "bare.csv", "--names", "age,sex,ill", "--delimiter", ";",
        "--comment", "#", "--out", "bare.toml")  # fmt: skip
    assert 'delimiter = ";"' in Path("bare.toml").read_text()
    for place, typed in enumerate(("tab", r"\t", "\t")):
        run("schema", "init", "bare.csv", "--names", "age,sex,ill", "--delimiter", typed,
            "--out", f"tabs{place}.toml")  # fmt: skip
        assert 'delimiter = "\\t"' in Path(f"tabs{place}.toml").read_text()
    refused = run("schema", "init", "bare.csv", "--delimiter", "::", "--out", "x.toml", code=1)
    assert "must be one sign of ASCII, or tab" in refused.stderr


RECORDS = [
    "30,yes,1.5,no\n",
    "thirty,yes,1.5,no\n",  # one cell is no number
    "30,yes,1.5,\n" * 3,
    "",
]


def test_schema_init_reads_no_record(run):
    texts = set()
    for place, records in enumerate([*(x.encode() for x in RECORDS), b'\xff\x00,,"' * 9]):
        Path("t.csv").write_bytes(b"age,smoker,weight,ill\n" + records)
        run("schema", "init", "t.csv", "--out", f"{place}.toml")
        texts.add(Path(f"{place}.toml").read_text())
    (text,) = texts
    assert text.count('kind = ""  # FILL IN') == 3
    found = run("schema", "check", "0.toml", code=1)
    assert re.search(r"^\* 0.toml line \d+: target 'ill' needs", found.stderr, re.MULTILINE)
    frames = [
        pd.DataFrame({"age": age, "smoker": [True, False], "ill": ["no", "yes"]})
        for age in ([1, 2], [-5, 99])
    ]
    for place, frame in enumerate(frames):
        frame.to_parquet("t.parquet")
        run("schema", "init", "t.parquet", "--out", f"p{place}.toml")
    text = Path("p0.toml").read_text()
    assert text == Path("p1.toml").read_text()
    assert '[columns.age]\nkind = "number"' in text
    assert '[columns.smoker]\nkind = "boolean"' in text


def test_a_schema_is_compared_with_what_a_file_declares(run):
    days = pd.date_range("2020-01-01", periods=4)
    people(4).assign(age=days).to_parquet("t.parquet")
    people(4).assign(age=days).to_csv("t.csv")  # with an index, which no schema has
    found = run("schema", "check", "s.toml", "t.parquet")
    assert found.stderr.startswith("warning: column 'age' is a number in the schema; the file")
    assert "has dates or times" in found.stderr
    values = answer("schema", "check", "s.toml", "t.parquet")
    assert len(values["warnings"]) == 1
    assert not run("schema", "check", "s.toml", "t.csv").stderr  # no record is read
    people(4).drop(columns="age").to_csv("t.csv")
    assert "no column 'age'" in run("schema", "check", "s.toml", "t.csv", code=1).stderr
    run("schema", "init", "t.parquet", "--out", "dates.toml")
    assert "a date is no number" in Path("dates.toml").read_text()


def test_example_writes_the_packaged_table(run):
    assert run("example", "adult").stdout == "adult.data, adult.test, adult.toml\n"
    values = answer("example", "--out", "folder")
    assert len(values["files"]) == 3
    assert "95 features" in run("schema", "check", "adult.toml").stdout


def test_every_verb_has_help_with_an_example(run):
    verbs = [*app.registered_commands]
    names = [verb.name or verb.callback.__name__ for verb in verbs]
    groups = {group.typer_instance.info.name: group for group in app.registered_groups}
    for name in names:
        assert "Example:" in run(name, "--help").stdout, name
    for name, group in groups.items():
        for verb in group.typer_instance.registered_commands:
            own = verb.name or verb.callback.__name__
            assert "Example:" in run(name, own, "--help").stdout, (name, own)


# --- as a process -------------------------------------------------------------------------


DPSCD = (sys.executable, "-m", "dpscd")


def dpscd(*words):
    line = [*DPSCD, *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def on_a_terminal(*words):
    """Return what is printed on stdout, a file, and on stderr, a terminal."""
    ours, theirs = pty.openpty()
    with Path("printed").open("w+") as printed:
        process = subprocess.Popen([*DPSCD, *map(str, words)], stdout=printed, stderr=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal ends
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
        assert process.wait(timeout=60) == 0, shown
        printed.seek(0)
        return printed.read(), shown.decode()


@pytest.mark.full
@pytest.mark.usefixtures("run")
def test_a_reader_that_has_seen_enough_is_no_error(trained):
    people(20_000).to_csv("many.csv", index=False)
    for words in (
        ("predict", trained / "model.json", "many.csv"),
        ("--help",),
        ("plan", "--n", 9000, "--d", 5),
    ):
        line, pipe = [*DPSCD, *map(str, words)], subprocess.PIPE
        process = subprocess.Popen(line, stdout=pipe, stderr=pipe)
        if words[0] == "predict":
            assert process.stdout.readline() == b"prediction\n"
        process.stdout.close()
        with process.stderr as errors:
            said = errors.read().decode()
        process.wait(timeout=60)
        assert "roken" not in said
        assert "Exception" not in said


@pytest.mark.full
@pytest.mark.usefixtures("run")
def test_debug_may_stand_anywhere():
    for words in (("--debug", "verify", "none.json"), ("verify", "none.json", "--debug")):
        found = dpscd(*words)
        assert found.returncode == 1
        assert "Traceback" in found.stderr
    found = dpscd("verify", "none.json")
    assert found.stderr.startswith("error: none.json")
    assert "Traceback" not in found.stderr
    assert dpscd("verify", "--", "--debug").returncode == 1


@pytest.mark.full
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("last", [(), ("--json",)])
def test_neighbours_print_the_same_bytes(last):
    """Under add-remove not even the number of records shows, on a terminal or off it."""
    people(2003).to_csv("more.csv", index=False)
    people(2003)[:-1].to_csv("less.csv", index=False)
    shown = []
    for file in ("more.csv", "less.csv"):
        secret = ("--delta", "1e-6", "--relation", "add-remove", "--n", 2000)
        words = ("fit", file, *FIT[2:], "--seed", 5, *secret, *last)
        plain = dpscd(*words)
        assert plain.returncode == 0, plain.stderr
        shown.append((plain.stdout, plain.stderr, *on_a_terminal(*words)))
    assert shown[0] == shown[1]
    assert "2,000 records" in shown[0][0] or '"records": 2000' in shown[0][0]
    assert "steps" in shown[0][3]
    every = " ".join(shown[0])
    assert not re.search(r"\d+:\d\d|\d s\b|\b2,?00[23]\b", every)


@pytest.mark.full
@pytest.mark.usefixtures("run")
def test_other_verbs_show_a_word_without_numbers(trained):
    people(2003).to_csv("new.csv", index=False)
    _, shown = on_a_terminal("predict", trained / "model.json", "new.csv", "--out", "p.csv")
    assert shown.split() == ["predicting", "..."]
    _, shown = on_a_terminal("evaluate", trained / "model.json", "new.csv")
    assert shown.split() == ["evaluating", "..."]
    printed, shown = on_a_terminal("predict", trained / "model.json", "new.csv")
    assert printed.count("\n") == 2004
    assert shown == ""


# A shell starts what runs in the background without interrupts; here they are wanted.
ENDLESS = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from dpscd.cli import main
from dpscd.estimators import fitting

train = fitting.run_plan
def endless(*args, **options):
    train(*args, **options)
    time.sleep(600.0)

fitting.run_plan = endless
main()
"""


@pytest.mark.full
@pytest.mark.usefixtures("run")
def test_a_real_interrupt_leaves_nothing():
    people(300_000).to_csv("big.csv", index=False)
    Ledger.init("b.db", "people", 3.0, 1e-4)
    line = [sys.executable, "-c", ENDLESS, "fit", "big.csv", *FIT[2:], *CHARGED[:-1], "1e-7"]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while Ledger("b.db").show("people").reserved == 0:
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stays charged" in said
    assert not list(Path().glob("*m.json*"))
    state = Ledger("b.db").show("people")
    assert (state.reserved, state.committed) == (1, 0)


@pytest.mark.full
def test_fit_on_a_cluster_of_this_machine(run):
    people(3000).to_parquet("a.parquet")
    people(3000, seed=1).to_parquet("b.parquet")
    words = ("a.parquet", "b.parquet", "--schema", "s.toml", "--out", "m.json", "--epsilon", 4)
    found = dpscd("fit", *words, "--dask", "local", "--seed", 3)
    assert found.returncode == 0, found.stderr
    assert "6,000 records" in found.stdout
    values = answer("evaluate", "m.json", "a.parquet")
    assert values["metrics"]["accuracy"] > 0.85
    absent = ("--schema", "s.toml", "--out", "x.json", "--dask")
    assert "Parquet" in run("fit", "train.csv", *absent, "local", code=1).stderr
    lost = run("fit", "a.parquet", *absent, "nowhere", code=1)
    assert "no Dask scheduler answers" in lost.stderr
    assert not Path("x.json").exists()


# --- persons ----------------------------------------------------------------------------


def visits(count=400):
    return people(count).assign(id=lambda table: [f"p{k % 150}" for k in table["id"]])


def test_a_schema_may_name_the_column_of_persons(run):
    run("schema", "init", "train.csv", "--out", "asked.toml")
    assert '\n# person = "id"\n' in Path("asked.toml").read_text()
    found = run("schema", "init", "train.csv", "--person", "id", "--out", "named.toml")
    assert "named.toml: 5 places" not in found.stdout
    text = Path("named.toml").read_text()
    assert '[table]\nperson = "id"\n' in text
    assert "[columns.id]" not in text
    flag = "--read-values-from-data-not-private"
    run("schema", "init", "train.csv", flag, "--person", "id", "--out", "read.toml")
    shown = run("schema", "check", "read.toml").stdout
    assert "same value of 'id', which is no feature" in shown
    assert answer("schema", "check", "read.toml")["person"] == "id"
    assert "same value" not in run("schema", "check", "s.toml").stdout
    assert answer("schema", "check", "s.toml")["person"] is None
    words = ("schema", "init", "train.csv", "--out", "x.toml", "--person")
    assert "no column 'x' to identify" in run(*words, "x", code=1).stderr
    assert "is the target" in run(*words, "ill", code=1).stderr
    assert not Path("x.toml").exists()


@pytest.fixture
def given(monkeypatch):
    """Return what `fit` gave to the estimator and to the training, in place of training."""
    seen = {}

    def train(records, estimator):
        del estimator
        seen.update(records.parameters)
        seen["person"] = records.schema.person
        raise DataError("seen enough.")

    monkeypatch.setattr("dpscd.cli.fit._train", train)
    return seen


def test_fit_takes_the_column_of_persons_from_the_schema_or_by_name(run, given):
    words = ("fit", "train.csv", "--out", "m.json", "--schema")
    Path("person.toml").write_text('[table]\nperson = "id"\n' + SCHEMA)
    run(*words, "s.toml", code=1)
    assert given["person"] is None
    assert not {"max_rows", "person_weight"} & set(given)
    run(*words, "person.toml", code=1)
    assert given["person"] == "id"
    assert not {"max_rows", "person_weight"} & set(given)
    run(*words, "s.toml", "--person", "id", "--max-rows", 7, code=1)
    assert (given["person"], given["max_rows"]) == ("id", 7)
    assert "person_weight" not in given
    run(*words, "person.toml", "--person", "id", "--person-weight", "sum", code=1)
    assert (given["person"], given["person_weight"]) == ("id", "sum")


def test_fit_refuses_persons_that_contradict_the_schema(run, given):
    words = ("fit", "train.csv", "--out", "m.json", "--schema")
    Path("person.toml").write_text('[table]\nperson = "id"\n' + SCHEMA)
    for schema, more, says in (
        ("person.toml", ("--person", "nr"), "column 'id' identifies persons, not 'nr'"),
        ("s.toml", ("--person", "age"), "'age' identifies persons, so it must not be a"),
        ("s.toml", ("--person", "ill"), "'ill' is the target"),
        ("s.toml", ("--person", ""), "person must be the name of one column"),
        ("s.toml", ("--max-rows", 7), "go with --person"),
        ("s.toml", ("--person-weight", "share"), "go with --person"),
    ):
        assert says in run(*words, schema, *more, code=1).stderr
    run(*words, "s.toml", "--person", "id", "--max-rows", 0, code=2)
    run(*words, "s.toml", "--person", "id", "--person-weight", "all", code=2)
    assert given == {}


def test_fit_protects_persons(run):
    visits().to_csv("visits.csv", index=False)
    words = ("visits.csv", "--schema", "s.toml", "--out", "m.json", "--person", "id")
    assert "150 persons" in run("fit", *words, "--max-rows", 5).stdout
    assert load("m.json").schema_.person == "id"
    absent = ("train.csv", "--schema", "s.toml", "--out", "n.json", "--person", "nr")
    assert "no column 'nr'" in run("fit", *absent, code=1).stderr
