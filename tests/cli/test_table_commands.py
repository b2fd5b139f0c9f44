"""The verbs for tables: what they write, what they print, and how they fail."""

import contextlib
import gzip
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import SCHEMA, answer, call, refusal
from dpscd import DataError, DPRidge, Ledger, TableModel, load
from dpscd.cli import common
from dpscd.cli.app import app
from dpscd.cli.inspect import _Row
from dpscd.persons import PersonFacts
from dpscd.privacy.relation import RECORD, Unit
from refits import with_facts

NUMBERS = SCHEMA.replace('classes = ["no", "yes"]', "bounds = [0, 100]")
SECRET = "canary-9087"
FIT = ("fit", "train.csv", "--schema", "s.toml", "--out", "m.json")
CHARGED = ("--ledger", "b.db", "--dataset", "people", "--delta", "1e-6")


def numbered(count=500, seed=0):
    """Return people whose target is a number."""
    return people(count, seed).assign(ill=lambda x: x["age"] / 2)


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


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    (folder / "s.toml").write_text(SCHEMA)
    (folder / "n.toml").write_text(NUMBERS)
    people(4000).to_csv(folder / "train.csv", index=False)
    numbered(4000).to_csv(folder / "n.csv", index=False)
    for schema, data, out, kind in (
        ("s.toml", "train.csv", "model.json", "logistic"),
        ("s.toml", "train.csv", "vectors.json", "svm"),
        ("n.toml", "n.csv", "ridge.json", "ridge"),
    ):
        options = ("--out", folder / out, "--model", kind, "--seed", 0, "--epsilon", 4)
        call("fit", folder / data, "--schema", folder / schema, *options)
    return folder


@pytest.fixture(autouse=True)
def files(folder, trained):
    (folder / "s.toml").write_text(SCHEMA)
    people().to_csv(folder / "train.csv", index=False)
    for model in trained.glob("*.json"):
        shutil.copy(model, folder)


# --- fit --------------------------------------------------------------------------------


def test_fit_writes_a_model_and_says_what_it_is():
    before = {x.name for x in Path().iterdir()}
    found = call(*FIT)
    assert "(1, 1e-05)-differentially private, 400 records, 12 features" in found.stdout
    card = load("m.json").privacy_
    assert (card.epsilon, card.seeded) == (1.0, False)
    assert {x.name for x in Path().iterdir()} == before | {"m.json"}


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


def test_a_seed_is_not_charged_unless_it_is_secret():
    Ledger.init("b.db", "people", 3.0, 1e-4)
    words = ("fit", "none.csv", *FIT[2:])
    assert "add --seed-is-secret" in refusal(*words, *CHARGED, "--seed", 7)
    assert "at least 96 bits" in refusal(*words, *CHARGED, "--seed", 7, "--seed-is-secret")
    assert "goes with --seed" in refusal(*words, "--seed-is-secret")


def test_fit_warns_of_what_weakens_the_guarantee():
    marked = SCHEMA.replace("bounds = [0, 100]", "bounds = [0, 100]\nread_from_data = true")
    Path("s.toml").write_text(marked)
    found = call(*FIT, "--seed", 1, "--epsilon", 20)
    assert "'age' was read off the records" in found.stderr
    assert "rests on the secrecy of --seed" in found.stderr
    assert "epsilon=20 is above 10" in found.stderr
    assert "NOT PRIVATE" in call(*FIT, "--epsilon", "inf").stdout
    assert answer(*FIT, "--epsilon", "inf")["epsilon"] == "inf"


def test_a_fit_prints_no_time():
    """The time that a fit takes depends on the records."""
    for more in ((), ("--json",)):
        found = call(*FIT, *more)
        assert not re.search(r"second|[0-9] ?m?s\b", found.stdout + found.stderr)


def test_fit_reads_a_pipe_and_packed_files():
    text = Path("train.csv").read_bytes()
    Path("train.csv.gz").write_bytes(gzip.compress(text))
    people().to_parquet("train.parquet")
    for file in ("-", "train.csv.gz", "train.parquet"):
        call("fit", file, *FIT[2:], input=text)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("none.csv s.toml", "there is no file 'none.csv'"),
        ("train.csv none.toml", "No such file"),
        ("empty.csv s.toml", "empty.csv is empty"),
        ("head.csv s.toml", "there are no records"),
        ("semicolon.csv s.toml", "no column 'age'"),
        ("double.csv s.toml", "two columns called 'age'"),
        ("ragged.csv s.toml", "different numbers"),
        ("train.csv one.toml", "two different classes"),
        ("train.csv other.toml", "no column 'height'"),
        ("train.csv s.toml --epsilon -1", "--epsilon -1 must"),
        ("train.csv s.toml --model ridge", "DPRidge does not go"),
        ("train.csv s.toml --ledger none.db --dataset p", "none.db"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(words, says):
    Path("empty.csv").touch()
    Path("head.csv").write_text("id,age,sex,ill\n")
    Path("semicolon.csv").write_text(Path("train.csv").read_text().replace(",", ";"))
    Path("double.csv").write_text(f"age,age,sex,ill\n1,{SECRET},f,no\n")
    Path("ragged.csv").write_text(f"age,sex,ill\n1,f,no\n2,{SECRET},no,4,5\n")
    Path("one.toml").write_text(SCHEMA.replace('"no", "yes"', '"no"'))
    Path("other.toml").write_text(SCHEMA.replace("columns.age", "columns.height"))
    before = {x.name for x in Path().iterdir()}
    data, schema, *more = words.split()
    said = refusal("fit", data, "--schema", schema, "--out", "m.json", *more)
    assert says in said
    assert SECRET not in said
    assert {x.name for x in Path().iterdir()} == before


def test_a_place_that_cannot_be_written_is_found_before_the_budget_is_spent():
    Ledger.init("b.db", "people", 3.0, 1e-4)
    assert "no such folder" in refusal(*FIT[:-1], "no/m.json", *CHARGED)
    Path("folder").mkdir()
    call(*FIT[:-1], "folder", *CHARGED, code=2)
    assert Ledger("b.db").show("people").spent_epsilon == 0.0


def test_a_refused_fit_leaves_the_ledger_as_it_was():
    Ledger.init("b.db", "people", 0.5, 1e-4)
    assert "budget" in refusal(*FIT, *CHARGED)
    assert not Path("m.json").exists()
    assert Ledger("b.db").show("people").spent_epsilon == 0.0


def test_a_full_disk_leaves_no_half_model_and_the_charge(monkeypatch):
    Ledger.init("b.db", "people", 3.0, 1e-4)

    def full(*_):
        raise OSError(28, "No space left on device", "m.json")

    monkeypatch.setattr("dpscd.atomic.os.fsync", full)
    assert "No space left on device" in refusal(*FIT, *CHARGED)
    assert not list(Path().glob("*m.json*"))
    assert Ledger("b.db").show("people").spent_epsilon == 1.0


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets every training fail with an error."""

    def let(error):
        def fail(*_args, **_kwargs):
            raise error

        monkeypatch.setattr("dpscd.estimators.fitting.run", fail)

    return let


def test_ctrl_c_ends_with_130_and_no_file(failing):
    failing(KeyboardInterrupt)
    Ledger.init("b.db", "people", 3.0, 1e-4)
    assert "stays charged" in call(*FIT, *CHARGED, code=130).stderr
    assert not Path("m.json").exists()
    state = Ledger("b.db").show("people")
    assert (state.reserved, state.committed) == (1, 0)
    assert "no file was written" in call(*FIT, code=130).stderr


def test_a_bug_shows_no_value_unless_asked_to(failing, monkeypatch):
    failing(ZeroDivisionError(SECRET))
    found = call(*FIT, code=70)
    assert "ZeroDivisionError" in found.stderr
    assert SECRET not in found.output
    monkeypatch.setenv(common.DEBUG, "1")
    assert SECRET in call(*FIT, code=70).stderr


def test_too_little_memory_is_said(failing):
    failing(MemoryError)
    assert "not enough memory" in refusal(*FIT)


# --- predict ----------------------------------------------------------------------------


@pytest.mark.full
def test_predictions_are_in_order_and_whole():
    table = people(500, seed=1)
    table.drop(columns="ill").to_csv("new.csv", index=False)
    words = ("predict", "model.json")
    found = call(*words, "new.csv", "--out", "p.csv", "--keep", "id", "--proba")
    assert found.stdout == "500 predictions: p.csv\n"
    answers = pd.read_csv("p.csv")
    names = ["id", "prediction", "probability no", "probability yes"]
    assert answers.columns.tolist() == names
    assert answers["id"].tolist() == table["id"].tolist()
    assert (answers["prediction"] == table["ill"]).mean() > 0.9
    expected = answers["prediction"].tolist()
    printed = call(*words, "-", input=Path("new.csv").read_bytes()).stdout
    assert printed.splitlines() == ["prediction", *expected]
    values = answer(*words, "new.csv", "--out", "q.csv.gz")
    assert values == {"predictions": "q.csv.gz", "records": 500}
    assert pd.read_csv("q.csv.gz")["prediction"].tolist() == expected
    call(*words, "new.csv", "--out", "q.parquet")
    assert pd.read_parquet("q.parquet")["prediction"].tolist() == expected


PLAIN = ["-3.5", "+7", "-inf", "x=1", "", "'=1"]
ODD = ["=1+1", "+x", "-x", "@x", "\tx", *PLAIN, "a\r=1", "\r=1", "a\r\nb"]
HARMLESS = ["'=1+1", "'+x", "'-x", "'@x", "'\tx", *PLAIN, "a\n=1", "'\n=1", "a\nb"]


def test_no_cell_of_csv_is_a_formula():
    schema = SCHEMA.replace('"no", "yes"', '"=no()", "-1"').replace('"ill"', '"=y"')
    Path("odd.toml").write_text(schema)
    table = people(len(ODD) * 40).assign(note=ODD * 40, number=-1.5)
    table["=y"] = table.pop("ill").map({"no": "=no()", "yes": "-1"})
    table["@note"] = table["note"]
    table.to_parquet("odd.parquet")
    call("fit", "odd.parquet", "--schema", "odd.toml", "--epsilon", 5, "--out", "odd.json")
    kept = [word for name in ("note", "@note", "number") for word in ("--keep", name)]
    words = ("predict", "odd.json", "odd.parquet", "--proba", *kept, "--out")
    names = ["note", "'@note", "number", "prediction", "probability -1", "probability =no()"]
    for out in ("p.csv", "p.csv.gz"):
        call(*words, out)
        found = pd.read_csv(out, dtype=str, na_filter=False)
        assert found.columns.tolist() == names
        assert found["note"].tolist() == found["'@note"].tolist() == HARMLESS * 40
        assert set(found["prediction"]) <= {"'=no()", "-1"}
        assert set(found["number"]) == {"-1.5"}
    printed = call("predict", "odd.json", "odd.parquet", "--keep", "note").stdout
    assert printed.startswith("note,prediction\n'=1+1,")
    call(*words, "p.parquet")
    assert pd.read_parquet("p.parquet")["@note"].tolist() == ODD * 40


def test_predictions_are_made_piece_by_piece(monkeypatch):
    for file in ("CsvFile", "ParquetTable"):
        monkeypatch.setattr(f"dpscd.records.files.{file}.frames.__defaults__", (None, 7))
    table = people(50, seed=2)
    table.to_csv("new.csv", index=False)
    table.to_parquet("new.parquet")
    for data, out in (
        ("new.csv", "p.csv"),
        ("new.parquet", "q.csv"),
        ("new.parquet", "q.parquet"),
    ):
        call("predict", "model.json", data, "--out", out, "--proba")
    assert Path("p.csv").read_text() == Path("q.csv").read_text()
    assert len(pd.read_parquet("q.parquet")) == 50


def test_no_records_make_an_empty_file():
    Path("new.csv").write_text("age,sex\n")
    call("predict", "model.json", "new.csv", "--out", "p.csv", "--proba")
    assert Path("p.csv").read_text() == "prediction,probability no,probability yes\n"
    call("predict", "model.json", "new.csv", "--out", "p.parquet")
    assert len(pd.read_parquet("p.parquet")) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("model.json --json", "--json needs --out"),
        ("vectors.json --proba", "DPLinearSVC has no probabilities"),
        ("model.json --keep x --out p.csv", "no column 'x'"),
        ("train.csv --out p.csv", "not a usable model file"),
        ("none.json", "none.json"),
        ("plain.json", "without schema"),
        ("model.json --out no/p.csv", "there is no such folder"),
        ("none.json --out a/p.XLSX", "--out p.XLSX: predictions are written as CSV or Parquet"),
        ("none.json --out a/p.XLSX", "not as .xlsx; call it p.csv"),
    ],
)
def test_bad_predictions_are_one_line(words, says):
    plain = DPRidge(epsilon=1.0, y_bounds=(0, 1), random_state=0)
    plain.fit(np.eye(2).repeat(50, axis=0), np.ones(100)).save("plain.json")
    assert says in refusal("predict", *words.split(), "train.csv")
    assert not Path("p.csv").exists()


# --- evaluate ---------------------------------------------------------------------------


def test_evaluate_prints_measures_and_that_they_are_not_private():
    people(500, seed=1).to_csv("test.csv", index=False)
    assert "not private" in call("evaluate", "model.json", "test.csv").stdout
    values = answer("evaluate", "model.json", "test.csv")
    assert values["private"] is False
    assert values["records"] == 500
    assert values["metrics"]["accuracy"] > 0.9
    assert values["metrics"]["area under the curve"] > 0.95
    values = answer("evaluate", "vectors.json", "test.csv")
    assert set(values["metrics"]) == {"accuracy", "share of the largest class"}
    numbered(500, seed=1).to_csv("numbers.csv", index=False)
    assert answer("evaluate", "ridge.json", "numbers.csv")["metrics"]["R2"] > 0.9


ENDS = ("low", "noise_low", "noise_high", "high")


@pytest.mark.full
def test_evaluate_with_noise_is_charged():
    people(5000, seed=1).to_csv("test.csv", index=False)
    Ledger.init("b.db", "test", 1.0, 1e-4)
    words = ("evaluate", "model.json", "test.csv", "--private-epsilon")
    charged = (*words, 0.8, "--ledger", "b.db", "--dataset", "test")
    assert "differentially private for the test records" in call(*charged).stdout
    assert Ledger("b.db").show("test").committed == 1
    assert "budget" in refusal(*charged)
    values = answer(*words, 2, "--private-delta", "1e-6")
    assert values["plan"]["target"] == {"epsilon": 2.0, "delta": 1e-6, "relation": "zero-out"}
    numbers = values["numbers"]
    assert 0.9 < numbers["value"] <= 1.0
    assert sorted(numbers[x] for x in ENDS) == [numbers[x] for x in ENDS]
    numbered(5000, seed=1).to_csv("numbers.csv", index=False)
    found = call("evaluate", "ridge.json", "numbers.csv", "--private-epsilon", 2)
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
def test_noisy_measures_are_printed_with_intervals(metric, says):
    people(3000, seed=1).to_csv("test.csv", index=False)
    words = ("evaluate", "model.json", "test.csv", "--private-epsilon", 4)
    words = (*words, "--metric", metric, "--level", 0.9)
    found = call(*words).stdout
    assert says in " ".join(found.split())
    assert "differentially private" in found
    secret = call(*words, "--relation", "add-remove", "--n", 3100).stdout
    assert "3,100 records (declared)" in " ".join(secret.split())
    facts = answer(*words)["plan"]["facts"]
    assert (facts["metric"], facts["level"], facts["classes"]) == (metric, 0.9, ["no", "yes"])


def test_a_noisy_score_is_charged_before_any_value_is_used(monkeypatch):
    Ledger.init("b.db", "test", 1.0, 1e-4)

    def refused(data, epsilon=0.5):
        words = ("--ledger", "b.db", "--dataset", "test", "--private-epsilon", epsilon)
        return refusal("evaluate", "model.json", data, *words)

    def fail(*_, **__):
        raise DataError("a value was used.")

    monkeypatch.setattr("dpscd.records.tables.parse", fail)
    assert "does not fit into the budget" in refused("train.csv", 2)
    people().drop(columns="age").to_csv("other.csv", index=False)
    assert "no column 'age'" in refused("other.csv")
    Path("empty.csv").write_text("age,sex,ill\n")
    assert "no records" in refused("empty.csv")
    assert Ledger("b.db").show("test").reserved == 0
    assert "a value was used" in refused("train.csv")
    state = Ledger("b.db").show("test")
    assert (state.reserved, state.committed) == (1, 0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("model.json --ledger b.db", "go with --private-epsilon"),
        ("model.json --private-epsilon 1 --ledger b.db", "given together"),
        ("model.json --private-epsilon inf", "positive number"),
        ("model.json --metric auc", "go with --private-epsilon"),
        ("model.json --private-epsilon 1 --metric mse", "must be one of 'accuracy'"),
        ("ridge.json --private-epsilon 1 --metric auc", "must be one of 'mae'"),
        ("model.json", "none of the labels is one of the model's classes"),
        ("ridge.json", "no record has a target"),
    ],
)
def test_bad_evaluations_are_one_line(words, says):
    people(50).assign(ill="?").to_csv("test.csv", index=False)
    model, *more = words.split()
    assert says in refusal("evaluate", model, "test.csv", *more)
    Path("empty.csv").write_text("age,sex,ill\n")
    assert "no records" in refusal("evaluate", model, "empty.csv")


# --- inspect, verify, plan, schema, example -----------------------------------------------


def test_inspect_shows_effects_and_card():
    found = call("inspect", "model.json", "--top", 2)
    words = " ".join(found.stdout.split())
    shapes = load("model.json").shapes()
    seen, clear = shapes["seen"].sum(), shapes["clear"].sum()
    assert f"{clear} of {seen} effects on the score of ill = yes are clear" in words
    assert "age at " in words
    assert "± band" in found.stdout
    assert "Randomness: from a seed" in found.stdout
    assert "effect" not in call("inspect", "model.json", "--top", 0).stdout
    values = answer("inspect", "model.json")
    names = list(values["coefficients"])
    assert (names[0], *names[-3:]) == ("age", "sex=f", "sex=m", "sex=(other)")
    assert list(values["noise"]) == names
    assert values["card"]["plan"]["target"]["epsilon"] == 4.0
    assert values["schema"]["target"]["column"] == "ill"


def test_inspect_puts_what_is_clear_before_what_is_large(monkeypatch):
    rows = [("large", [-5.0], 10.0), ("small", [0.1], 1.0), ("clear", [1.0], 0.5)]
    rows = [_Row(*row, clear=row[0] == "clear") for row in rows]
    monkeypatch.setattr("dpscd.cli.inspect._rows", lambda _: (["effect"], rows))
    shown = call("inspect", "model.json", "--top", 2).stdout
    assert 0 < shown.index("clear ") < shown.index("large ")
    assert "small " not in shown.split("differentially private")[0]


def test_inspect_tells_values_apart_that_differ_late():
    frame = people(2000)
    frame["age"] = 20200000.0 + frame["age"]
    frame.to_csv("days.csv", index=False)
    Path("days.toml").write_text(SCHEMA.replace("[0, 100]", "[20200000, 20200100]\nbins = 9"))
    call("fit", "days.csv", "--schema", "days.toml", "--epsilon", 8, "--out", "days.json")
    seen = load("days.json").shapes().query("seen")
    shown = call("inspect", "days.json", "--top", 100).stdout
    assert f"of {len(seen)} effects" in " ".join(shown.split())


def test_inspect_shows_and_draws_a_column():
    found = call("inspect", "model.json", "--column", "age", "--plot", "age.png")
    assert "effect on the score of ill = yes" in found.stdout.replace("\n", " ")
    assert Path("age.png").stat().st_size > 5000
    call("inspect", "model.json", "--column", "sex", "--plot", "sex.svg")
    assert "<svg" in Path("sex.svg").read_text()
    rows = answer("inspect", "model.json", "--column", "sex")
    assert [row["value"] for row in rows] == ["f", "m", "(other)"]
    assert all(row["band"] > 0.0 for row in rows)


def test_pairs_and_monotone_columns_are_shown():
    paired = f'[table]\npairs = [["sex", "age"]]\n{SCHEMA}'
    Path("pairs.toml").write_text(paired)
    check = ("schema", "check", "pairs.toml")
    assert "sex x age" in call(*check, "--epsilon", 1, "--n", 4000).stdout
    counts = answer(*check)
    assert counts["pairs"] == {"sex x age": 6}
    assert len(counts["features"]) == 1 + 3 + 6
    call("fit", "train.csv", "--schema", "pairs.toml", "--out", "pairs.json")
    words = ("inspect", "pairs.json", "--column")
    assert "other" in call(*words, "sex x age", "--plot", "pair.png").stdout
    listed = call("inspect", "pairs.json", "--top", 40).stdout
    assert "sex x age = f x 0 " in listed
    assert "sex x age = m x 0 " in listed
    assert Path("pair.png").stat().st_size > 5000
    assert set(answer(*words, "age")[0]) == {
        "column",
        "value",
        "effect",
        "band",
        "bound",
        "seen",
        "clear",
    }
    Path("up.toml").write_text(SCHEMA.replace("[0, 100]", '[0, 100]\nmonotone = "up"'))
    call("fit", "train.csv", "--schema", "up.toml", "--out", "up.json")
    found = call("inspect", "up.json", "--column", "age").stdout
    assert "made to rise" in found.replace("\n", " ")
    Path("bad.toml").write_text(paired.replace("[0, 100]", '[0, 100]\nmonotone = "up"'))
    assert "bad.toml line 10" in refusal("schema", "check", "bad.toml")


def test_bad_inspections_are_one_line():
    words = ("inspect", "model.json")
    assert "give --column" in refusal(*words, "--plot", "x.png")
    assert "it has age, sex" in refusal(*words, "--column", "id")
    assert "use .png or .svg" in refusal(*words, "--column", "age", "--plot", "x.txt")


def test_verify_recomputes_the_claim():
    assert "it holds" in call("verify", "model.json").stdout
    values = answer("verify", "model.json")
    assert values["ok"]
    assert 3.9 < values["recomputed"] <= values["claimed"] == 4.0
    call(*FIT, "--epsilon", "inf")
    assert "claims no privacy" in call("verify", "m.json").stdout
    assert answer("verify", "m.json")["claimed"] == "inf"
    text = Path("model.json").read_text()
    Path("m.json").write_text(text.replace('"epsilon": 4.0', '"epsilon": 3.0'))
    assert "not a usable model file" in refusal("verify", "m.json")


GROUPS = Unit(groups=True).text


def of_persons(path):
    """Return a model whose card says that it protects persons."""
    # With "sum" a calibration has four numbers.
    model = with_facts(load(path), persons=PersonFacts(weight="share"))
    model.fit_.parameters["person_weight"] = "share"
    return model


def test_inspect_and_verify_name_the_unit():
    of_persons("model.json").save("m.json")
    shown = call("inspect", "m.json", "--top", 0).stdout
    assert f"\nUnit: {GROUPS}.\nNumber of records: epsilon protects whether" in shown
    assert answer("inspect", "m.json")["unit"] == GROUPS
    assert f"it holds.\nm.json: the unit is {GROUPS}.\n" in call("verify", "m.json").stdout
    assert answer("verify", "m.json")["unit"] == GROUPS
    assert call("verify", "model.json").stdout.count("\n") == 1
    assert answer("verify", "model.json")["unit"] == RECORD.text


def test_fit_counts_persons_where_they_are_the_unit(monkeypatch):
    model = of_persons("model.json")
    monkeypatch.setattr("dpscd.cli.fit._train", lambda *_: model)
    shown = call(*FIT).stdout
    assert "4,000 persons, 27 features.\n" in shown
    assert f"\nUnit: {GROUPS}.\n" in shown
    values = answer(*FIT)
    assert (values["unit"], values["records"]) == (GROUPS, 4000)


@pytest.mark.full
def test_plan_needs_no_data():
    title = "30,000 records, 100 features, 2 classes"
    assert title in call("plan", "--n", 30000, "--d", 100).stdout
    (one,) = answer("plan", "--n", 10**6, "--d", 20, "--epsilon", 1, "--regression")
    assert one["epsilon"] == 1.0
    assert one["expected"]["lost"] is not None
    narrow = ("plan", "--n", 500, "--d", 500, "--epsilon", 0.01)
    assert "-0.005 to 0.500" in call(*narrow).stdout
    narrow = (*narrow, "--largest-class")
    assert "-0.005 to 0.100" in call(*narrow, 0.9).stdout
    assert "--largest-class 2 must be" in refusal(*narrow, 2)
    assert "for classes" in refusal(*narrow, 0.9, "--regression")
    assert "min" in call("plan", "--n", 10**9, "--d", 100, "--epsilon", 1).stdout
    assert "finite" in refusal("plan", "--n", 10, "--d", 1, "--epsilon", "inf")


INIT = ("schema", "init", "train.csv", "--out")
READ = "--read-values-from-data-not-private"


def test_schema_init_and_check():
    assert "places marked FILL IN" in call(*INIT, "new.toml", "--target", "ill").stdout
    assert "exists" in refusal(*INIT, "new.toml")
    assert "line" in call("schema", "check", "new.toml", code=1).stderr
    assert answer(*INIT, "read.toml", READ) == {"schema": "read.toml", "to_fill_in": 0}
    call(*INIT, "again.toml", READ)
    assert "read from data" in call("schema", "check", "read.toml").stdout
    names = answer("schema", "check", "read.toml")["read_from_data"]
    assert names == ["id", "age", "sex", "ill"]


def test_schema_init_of_a_file_without_header():
    Path("bare.csv").write_text("1;f;no\n2;m;yes\n")
    bare = ("schema", "init", "bare.csv", "--names", "age,sex,ill")
    for place, (typed, written) in enumerate(
        ((";", ";"), ("tab", r"\t"), (r"\t", r"\t"), ("\t", r"\t"))
    ):
        call(*bare, "--delimiter", typed, "--comment", "#", "--out", f"{place}.toml")
        assert f'delimiter = "{written}"' in Path(f"{place}.toml").read_text()
    said = refusal(*bare, "--delimiter", "::", "--out", "x.toml")
    assert "must be one sign of ASCII, or tab" in said


RECORDS = [b"30,yes,1.5,no\n", b"thirty,yes,1.5,no\n", b"30,yes,1.5,\n" * 3, b""]
RECORDS += [b'\xff\x00,,"' * 9]


def test_schema_init_reads_no_record():
    texts = set()
    for place, records in enumerate(RECORDS):
        Path("t.csv").write_bytes(b"age,smoker,weight,ill\n" + records)
        call("schema", "init", "t.csv", "--out", f"{place}.toml")
        texts.add(Path(f"{place}.toml").read_text())
    (text,) = texts
    assert text.count('kind = ""  # FILL IN') == 3
    found = call("schema", "check", "0.toml", code=1)
    assert re.search(r"^\* 0.toml line \d+: target 'ill' needs", found.stderr, re.MULTILINE)
    for place, age in enumerate(([1, 2], [-5, 99])):
        frame = pd.DataFrame({"age": age, "smoker": [True, False], "ill": ["no", "yes"]})
        frame.to_parquet("t.parquet")
        call("schema", "init", "t.parquet", "--out", f"p{place}.toml")
    text = Path("p0.toml").read_text()
    assert text == Path("p1.toml").read_text()
    assert '[columns.age]\nkind = "number"' in text
    assert '[columns.smoker]\nkind = "boolean"' in text


def test_a_schema_is_compared_with_what_a_file_declares():
    days = pd.date_range("2020-01-01", periods=4)
    people(4).assign(age=days).to_parquet("t.parquet")
    people(4).assign(age=days).to_csv("t.csv")  # with an index, which no schema has
    said = call("schema", "check", "s.toml", "t.parquet").stderr
    assert said.startswith("warning: column 'age' is a number in the schema; the file")
    assert "has dates or times" in said
    assert len(answer("schema", "check", "s.toml", "t.parquet")["warnings"]) == 1
    assert not call("schema", "check", "s.toml", "t.csv").stderr  # no record is read
    people(4).drop(columns="age").to_csv("t.csv")
    assert "no column 'age'" in refusal("schema", "check", "s.toml", "t.csv")
    call("schema", "init", "t.parquet", "--out", "dates.toml")
    assert "a date is no number" in Path("dates.toml").read_text()


def test_example_writes_the_packaged_table():
    assert call("example", "adult").stdout == "adult.data, adult.test, adult.toml\n"
    assert len(answer("example", "--out", "folder")["files"]) == 3
    assert "95 features" in call("schema", "check", "adult.toml").stdout


def test_every_verb_has_help_with_an_example():
    groups = {(): app}
    groups |= {(x.typer_instance.info.name,): x.typer_instance for x in app.registered_groups}
    for names, group in groups.items():
        for verb in group.registered_commands:
            words = (*names, verb.name or verb.callback.__name__)
            assert "Example:" in call(*words, "--help").stdout, words


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
def test_a_reader_that_has_seen_enough_is_no_error():
    people(20_000).to_csv("many.csv", index=False)
    for words in ("predict model.json many.csv", "--help", "plan --n 9000 --d 5"):
        pipe = subprocess.PIPE
        process = subprocess.Popen([*DPSCD, *words.split()], stdout=pipe, stderr=pipe)
        if words.startswith("predict"):
            assert process.stdout.readline() == b"prediction\n"
        process.stdout.close()
        with process.stderr as errors:
            said = errors.read().decode()
        process.wait(timeout=60)
        assert "roken" not in said
        assert "Exception" not in said


@pytest.mark.full
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
def test_other_verbs_show_a_word_without_numbers():
    people(2003).to_csv("new.csv", index=False)
    _, shown = on_a_terminal("predict", "model.json", "new.csv", "--out", "p.csv")
    assert shown.split() == ["predicting", "..."]
    _, shown = on_a_terminal("evaluate", "model.json", "new.csv")
    assert shown.split() == ["evaluating", "..."]
    printed, shown = on_a_terminal("predict", "model.json", "new.csv")
    assert printed.count("\n") == 2004
    assert shown == ""


# A shell starts what runs in the background without interrupts; here they are wanted.
ENDLESS = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from dpscd.cli import main
from dpscd.estimators import fitting

train = fitting.run
def endless(*args, **options):
    train(*args, **options)
    time.sleep(600.0)

fitting.run = endless
main()
"""


@pytest.mark.full
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
def test_fit_on_a_cluster_of_this_machine():
    people(3000).to_parquet("a.parquet")
    people(3000, seed=1).to_parquet("b.parquet")
    words = ("a.parquet", "b.parquet", "--schema", "s.toml", "--out", "m.json", "--epsilon", 4)
    found = dpscd("fit", *words, "--dask", "local", "--seed", 3)
    assert found.returncode == 0, found.stderr
    assert "6,000 records" in found.stdout
    assert answer("evaluate", "m.json", "a.parquet")["metrics"]["accuracy"] > 0.85
    absent = ("--schema", "s.toml", "--out", "x.json", "--dask")
    assert "Parquet" in refusal("fit", "train.csv", *absent, "local")
    assert "no Dask scheduler answers" in refusal("fit", "a.parquet", *absent, "nowhere")
    assert not Path("x.json").exists()


# --- persons ----------------------------------------------------------------------------


def visits(count=400):
    return people(count).assign(id=lambda table: [f"p{k % 150}" for k in table["id"]])


def test_a_schema_may_name_the_column_of_persons():
    call(*INIT, "asked.toml")
    assert '\n# person = "id"\n' in Path("asked.toml").read_text()
    assert "named.toml: 5 places" not in call(*INIT, "named.toml", "--person", "id").stdout
    text = Path("named.toml").read_text()
    assert '[table]\nperson = "id"\n' in text
    assert "[columns.id]" not in text
    call(*INIT, "read.toml", READ, "--person", "id")
    shown = call("schema", "check", "read.toml").stdout
    assert "same value of 'id', which is no feature" in shown
    assert answer("schema", "check", "read.toml")["person"] == "id"
    assert "same value" not in call("schema", "check", "s.toml").stdout
    assert answer("schema", "check", "s.toml")["person"] is None
    assert "no column 'x' to identify" in refusal(*INIT, "x.toml", "--person", "x")
    assert "is the target" in refusal(*INIT, "x.toml", "--person", "ill")
    assert not Path("x.toml").exists()


@pytest.fixture
def given(monkeypatch):
    """Return what `fit` gave to the model, in place of training."""
    seen = {}

    def fit(model, data):
        del data
        own = model.estimator
        seen.update(person=model.schema.person, rows=own.max_rows, weight=own.person_weight)
        raise DataError("seen enough.")

    monkeypatch.setattr(TableModel, "fit", fit)
    return seen


PERSONS = ("fit", "train.csv", "--out", "m.json", "--schema")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("s.toml", (None, 100, "auto")),
        ("person.toml", ("id", 100, "auto")),
        ("s.toml --person id --max-rows 7", ("id", 7, "auto")),
        ("person.toml --person id --person-weight sum", ("id", 100, "sum")),
    ],
)
def test_fit_takes_the_column_of_persons_from_the_schema_or_by_name(given, words, expected):
    Path("person.toml").write_text('[table]\nperson = "id"\n' + SCHEMA)
    assert "seen enough" in refusal(*PERSONS, *words.split())
    assert tuple(given.values()) == expected


def test_fit_refuses_persons_that_contradict_the_schema(given):
    Path("person.toml").write_text('[table]\nperson = "id"\n' + SCHEMA)
    for schema, more, says in (
        ("person.toml", ("--person", "nr"), "column 'id' identifies persons, not 'nr'"),
        ("s.toml", ("--person", "age"), "'age' identifies persons, so it must not be a"),
        ("s.toml", ("--person", "ill"), "'ill' is the target"),
        ("s.toml", ("--person", ""), "person must be the name of one column"),
        ("s.toml", ("--max-rows", 7), "go with --person"),
        ("s.toml", ("--person-weight", "share"), "go with --person"),
    ):
        assert says in refusal(*PERSONS, schema, *more)
    call(*PERSONS, "s.toml", "--person", "id", "--person-weight", "all", code=2)
    assert given == {}


def test_fit_protects_persons():
    visits().to_csv("visits.csv", index=False)
    words = ("fit", "visits.csv", *FIT[2:], "--person")
    assert "150 persons" in call(*words, "id", "--max-rows", 5).stdout
    assert load("m.json").schema_.person == "id"
    assert "no column 'nr'" in refusal(*FIT, "--person", "nr")
    assert "--max-rows 0 must be" in refusal(*words, "id", "--max-rows", 0)
