"""``dpscd plan --schema``: the plan of a table, by what is declared of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import answer, call, refusal
from dpscd import (
    DPLogisticRegression,
    DPModelSearch,
    DPRidge,
    ParameterError,
    TableModel,
    load,
    look,
    plan,
)

N = 2000
DRAWN = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "who": np.arange(N),
        "age": DRAWN.integers(0, 100, N),
        "city": DRAWN.choice(["a", "b", "c"], N),
        "ill": DRAWN.choice(["no", "yes"], N),
        "cost": DRAWN.uniform(0, 10, N),
    }
)
CLASSES = '[target]\ncolumn = "ill"\nclasses = ["no", "yes"]\n'
NUMBER = '[target]\ncolumn = "cost"\nbounds = [0, 10]\n'
COLUMNS = """
[columns.age]
kind = "number"
bounds = [0, 100]

[columns.city]
kind = "category"
values = ["a", "b", "c"]
"""
PRIVATE = COLUMNS.replace("[0, 100]", '"private"')


def planned(schema, *words):
    """Return what is printed of a plan, in JSON."""
    return json.loads(run(schema, *words, "--json").stdout)


def run(schema, *words, **more):
    Path("s.toml").write_text(schema)
    return call("plan", "--schema", "s.toml", *words, **more)


@pytest.mark.full
@pytest.mark.parametrize(
    ("schema", "model", "more"),
    [
        (CLASSES + COLUMNS, DPLogisticRegression, {}),
        (CLASSES + PRIVATE, DPLogisticRegression, {}),
        (NUMBER + COLUMNS, DPRidge, {}),
        ('[table]\nperson = "who"\n' + CLASSES + COLUMNS, DPLogisticRegression, {}),
        (CLASSES + COLUMNS, DPLogisticRegression, {"inference": True}),
    ],
)
def test_a_fit_has_the_noise_that_was_planned(schema, model, more):
    words = ["--records", N, "--epsilon", 1, *(["--inference"] if more else [])]
    (plan,) = planned(schema, *words)
    fitted = TableModel("s.toml", model(1.0, random_state=0, **more)).fit(TABLE)
    assert plan["d"] == fitted.estimator_.n_features_in_
    assert plan["noise_multiplier"] == fitted.privacy_.noise_multiplier
    assert plan["steps"] == fitted.privacy_.steps


def test_features_of_a_schema_follow_epsilon():
    asked = (CLASSES + COLUMNS, "--n", 30_000, "--epsilon", 0.1, "--epsilon", 4)
    text = run(*asked).stdout
    assert "'ill' by 2 columns: 30,000 records, 2 classes" in text
    assert "features" in text
    few, many = planned(*asked)
    assert few["d"] < many["d"]
    found = plan(30_000, schema="s.toml", epsilon=[0.1, 4])
    assert json.loads(json.dumps(found.values)) == [few, many]
    assert str(found).splitlines()[0] in " ".join(text.split())
    assert found.frame["epsilon"].tolist() == ["0.1", "4"]


@pytest.mark.full
def test_what_is_lost_is_said_against_both_fits_without_noise():
    words = ("--n", 30_000, "--epsilon", 0.1, "--epsilon", 1)
    for target, unit in ((CLASSES, "accuracy"), (NUMBER, "mean squared error added")):
        text = " ".join(run(target + COLUMNS, *words).stdout.split())
        assert f"lost: {unit}" in text
        assert "of the same features without noise." in text
        shaped = planned(target + COLUMNS, *words)
        finest = planned(target + COLUMNS, "--n", 10**9, "--epsilon", 10)[0]["d"]
        assert f"epsilon inf fits {finest} features: below inf compares with these." in text
        for one in shaped:
            (low, high), (under, over) = (one["expected"][x] for x in ("lost", "below_inf"))
            assert under < low
            assert over > high
    fixed = COLUMNS.replace("[0, 100]", '[0, 100]\nshape = "line"')
    (one,) = planned(CLASSES + fixed, "--n", 30_000, "--epsilon", 1)
    assert one["expected"]["lost"] == one["expected"]["below_inf"]


def test_many_levels_at_a_small_epsilon_are_warned_of():
    levels = json.dumps([f"l{k}" for k in range(16)])
    wide = "".join(
        f'[columns.c{k}]\nkind = "category"\nvalues = {levels}\n\n' for k in range(4)
    )
    asked = ("--inference", "--records", 40_000, "--epsilon", 1)
    found = run(CLASSES + wide, *asked)
    assert "40,000 records, 2 classes, 68 features" in found.stdout
    assert "weakest" in found.stdout
    assert "68 levels of categories" in found.stderr
    assert "most terms may have no interval" in found.stderr
    assert run(CLASSES + COLUMNS, *asked).stderr == ""
    plain, rare = (
        planned(CLASSES + wide, *asked, *more)[0]["expected"]
        for more in ((), ("--largest-class", 0.9))
    )
    assert rare["weakest"] == pytest.approx(plain["weakest"] * 0.18 / 0.09)
    number = run(NUMBER + wide, *asked[:-1], 0.3)
    assert "rare class" not in number.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--records", 10, "--d", 3], "--d, --classes and --regression follow from --schema"),
        (["--records", 10, "--regression"], "follow from --schema"),
        ([], "--records is missing"),
    ],
)
def test_what_does_not_go_together_is_refused(words, says):
    assert says in run(CLASSES + COLUMNS, *words, code=1).stderr


def test_users_of_python_are_answered_in_their_words():
    assert [*plan(10**6, 5, epsilon=1.0).values] == [plan(10**6, 5, epsilon=[1.0]).values[0]]
    many = plan(10**6, 5, regression=True, epsilon=2, inference="robust")
    assert many.title.startswith("Intervals, robust")
    for given, words in (
        ({"n": 10}, "d= or schema= is missing"),
        ({"n": 0, "d": 3}, "n=0 must be an integer"),
        ({"n": 10, "d": 3, "epsilon": np.inf}, "epsilon=inf must be a finite"),
        (
            {"n": 10, "d": 3, "regression": True, "largest_class": 0.5},
            "largest_class=0.5 is for",
        ),
        ({"n": 10, "d": 3, "classes": 3, "inference": True}, "inference=True is for two"),
    ):
        with pytest.raises(ParameterError, match=words):
            plan(**given)


def test_without_a_schema_features_are_needed():
    assert "--d or --schema is missing" in refusal("plan", "--records", 10)


def test_a_pattern_is_resolved_by_the_table_and_a_model_keeps_its_columns():
    answers = {f"q{k}": DRAWN.integers(1, 6, N) for k in (1, 2, 3)}
    TABLE.assign(**answers).to_csv("t.csv", index=False)
    TABLE.to_csv("o.csv", index=False)
    pattern = '[columns.answers]\ncolumns = "q*"\nkind = "number"\nbounds = [1, 5]\n'
    Path("s.toml").write_text(CLASSES + pattern)
    says = "columns = 'q*' is a pattern, which stands for columns of a table: give a file of it"
    assert says in refusal("schema", "check", "s.toml")
    assert says in run(CLASSES + pattern, "--n", N, code=1).stderr
    found = answer("schema", "check", "s.toml", "t.csv")
    assert found["features"] == ["q1", "q2", "q3"]
    call("fit", "t.csv", "--schema", "s.toml", "--epsilon", 3, "--seed", 1, "--out", "m.json")
    assert [column.name for column in load("m.json").schema_.columns] == ["q1", "q2", "q3"]
    assert [own.column for own in look("t.csv", "s.toml").columns] == ["ill", "q1", "q2", "q3"]
    candidates = [TableModel("s.toml"), TableModel("s.toml", DPLogisticRegression(lam=0.1))]
    search = DPModelSearch(candidates, epsilon=5.0, mean_runs=2, random_state=0).fit("t.csv")
    assert search.best_estimator_.schema_.columns[2].name == "q3"
    assert "pattern 'q*' matches no column" in refusal("schema", "check", "s.toml", "o.csv")
