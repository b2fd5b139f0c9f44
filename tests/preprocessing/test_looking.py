"""A look finds the usual mistakes, says that it is not private, and is kept nowhere."""

import datetime
import pickle
import re
import tomllib

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dpscd
from dpscd import DataError, DataTypeError, Look, ParameterError, Schema, SchemaError
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.looking import NOT_PRIVATE, REPAIRS, percent
from dpscd.preprocessing.spellings import spelling_of
from dpscd.records.encoding import other_delimiter

SCHEMA = {
    "table": {"person": "who"},
    "target": {"column": "ill", "classes": ["no", "yes"]},
    "columns": {
        "age": {"kind": "number", "bounds": [0, 120]},
        "height": {"kind": "number", "bounds": [0.3, 2.5]},
        "income": {"kind": "number", "bounds": [0, 1_000_000], "transform": "log1p"},
        "rate": {"kind": "number", "bounds": "private"},
        "smoker": {"kind": "category", "values": ["never", "now"]},
        "stage": {"kind": "ordinal", "values": ["I", "II", "III"]},
        "retired": {"kind": "boolean"},
        "note": {"kind": "ignore"},
    },
}


def people(n=1000, **changed):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "who": np.arange(n) // 2,
            "age": rng.integers(1, 100, n),
            "height": rng.uniform(1.4, 2.0, n).round(2),
            "income": np.exp(rng.normal(10, 1, n)).round(),
            "rate": rng.normal(0, 1, n),
            "smoker": rng.choice(["never", "now"], n),
            "stage": rng.choice(["I", "II", "III"], n),
            "retired": rng.choice(["yes", "no"], n),
            "note": "secret",
            "ill": rng.choice(["yes", "no"], n),
        }
    )
    return table.assign(**{name: make(table[name]) for name, make in changed.items()})


def look(schema=SCHEMA, **changed):
    return dpscd.look(people(**changed), schema)


def shares(found, name):
    return next(own for own in found.columns if own.column == name)[2:]


def test_a_table_as_declared_has_no_hint():
    found = look()
    assert found.hints == ()
    assert found.records == 1000
    assert [own.column for own in found.columns][:2] == ["ill", "age"]
    assert "note" not in [own.column for own in found.columns]
    for own in found.columns:
        assert own[2:] == (1.0, 0.0, 0.0, 0.0)
    assert "No likely mistake was found." in str(found)


def first(share, value):
    """Return what replaces the first cells of a column."""

    def changed(cells):
        own = cells.astype(object)
        own.iloc[: round(share * len(own))] = value
        return own

    return changed


def dots(x):
    return x.map("{:,.0f}".format).str.replace(",", ".") + ".000"


def blanks(x):
    return (x + 1000).map("{:,.1f}".format).str.replace(",", " ")


def three(x):
    return (x % 900 + 100).map("{:.3f}".format)


CASE = r".* but for case, blanks or full stops; rename = \{ \"Yes\" = \"yes\" \} takes them in"
TOO_LARGE = ".* less than 10 times as large as a bound"
THREE_DIGITS = ".* comma before three digits: take it out if it parts thousands"


@pytest.mark.parametrize(
    ("name", "make", "hint"),
    [
        ("ill", lambda x: x.replace({"yes": "Yes"}), CASE),
        ("ill", lambda x: x + ".", "100 % .* full stops"),
        (
            "ill",
            lambda x: x.map({"yes": 1, "no": 2}),
            "100 % .* none of the classes, and would",
        ),
        ("smoker", lambda x: x.str.upper(), "100 % .* case"),
        ("smoker", lambda x: "level " + x, "100 % of its cells are not listed"),
        ("stage", lambda x: x.replace("II", "i i"), ".* rename"),
        ("retired", first(0.6, "maybe"), "60 % .* no truth values"),
        ("age", lambda x: x * 365, ".* beyond the bounds, .* 100 times as large"),
        ("age", lambda x: x + 125, f"100 % {TOO_LARGE}"),
        ("age", lambda x: -x, "100 % .* not larger in size than the bounds"),
        ("height", lambda x: x * 100, "100 % .* 10 times as large .* unit"),
        ("age", lambda x: x / 100, "100 % .* not at the lowest bound are in the hund"),
        ("age", lambda x: x * 0, "100 % of its numbers are at the lowest bound"),
        ("age", lambda x: x * 0 + 120, "100 % of its numbers are at the highest bound"),
        ("age", first(0.02, 999), "2 % of its cells are 999, beyond the bounds"),
        ("height", lambda x: x.map("{:.2f}".format).str.replace(".", ","), ".* comma"),
        ("age", first(0.1, "young"), "10 % of its cells are no numbers.* texts"),
        ("income", dots, ".* full stops between thousands: take these out"),
        ("income", lambda x: (x + 1000).map("{:,.0f}".format), THREE_DIGITS),
        ("income", blanks, ".* blanks or apostrophes between thousands"),
        ("age", lambda x: x.astype(str) + " y", ".* unit or a sign beside the number"),
        ("income", three, "100 % .* full stop before three digits, .* read as decimals"),
        ("income", lambda x: x.map("{:.2f}".format), None),
        ("age", first(0.004, 999), None),
        ("rate", first(0.5, None), "50 % of its cells are missing"),
        ("who", first(0.5, ""), "50 % of its cells are missing"),
    ],
)
def test_each_mistake_is_found_and_nothing_else(name, make, hint):
    hints = look(**{name: make}).hints
    if hint is None:
        assert hints == ()
        return
    assert len(hints) == 1, hints
    kind = "target" if name == "ill" else "column"
    assert re.search(f"{kind} '{name}': {hint}", hints[0]), hints


@pytest.mark.parametrize(
    "day",
    [
        "2020-01-31", "31.1.2020", "1/31/20 3:00", "2020-01-31T03:00:00Z", "12:30",
        "3 days 01:00:00", pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-31 03:00"),
        datetime.date(2020, 1, 31),
    ],
)  # fmt: skip
def test_dates_are_no_numbers(day):
    others = {name: own for name, own in SCHEMA["columns"].items() if name != "age"}
    number = {"target": {"column": "age", "bounds": [0, 120]}, "columns": others}
    for own, title in ((SCHEMA, "column 'age'"), (number, "target 'age'")):
        found = dpscd.look(people(age=lambda x: [day] * len(x)), own)
        assert shares(found, "age") == (0.0, 0.0, 1.0, 0.0)
        words = f"{title}: 100 % of its cells are no numbers, most dates or times, which are"
        assert any(hint.startswith(words) for hint in found.hints), found.hints
    for text in ("1.5.2", "1.234.567", "2020", "1,5", "12:3", "1-2-3"):
        assert spelling_of(text) != "date"


@pytest.mark.parametrize("cell", [pd.Timedelta(hours=5), datetime.time(12, 30)])
def test_durations_and_times_of_day_are_no_numbers(cell):
    found = dpscd.look(people(age=lambda x: [cell] * len(x)), SCHEMA)
    assert shares(found, "age") == (0.0, 0.0, 1.0, 0.0)
    assert any("'age': 100 % of its cells are no numbers" in hint for hint in found.hints)


def test_decimal_commas_stay_such_where_some_have_three_digits():
    heights = people()["height"].map("{:.2f}".format).str.replace(".", ",")
    heights[:700] += "5"  # "1,675" alone could be a thousand and more
    found = look(height=lambda _: heights)
    assert "with a decimal comma" in found.hints[0]


def test_what_the_schema_declares_missing_is_no_mistake():
    def declared(name, values):
        own = {**SCHEMA["columns"][name], "missing_values": values}
        return {**SCHEMA, "columns": {**SCHEMA["columns"], name: own}}

    for name, sign in (("age", 999), ("age", "-1"), ("smoker", "unknown")):
        found = look(declared(name, [sign]), **{name: first(0.9, sign)})
        assert shares(found, name) == pytest.approx((0.1, 0.0, 0.0, 0.9))
        assert found.hints == ()
        # Empty cells are not what was declared.
        empty = look(declared(name, [sign]), **{name: first(0.9, None)})
        assert "90 % of its cells are missing" in empty.hints[0]


def test_a_hint_can_be_pasted_into_the_schema():
    found = look(ill=lambda x: x.replace({"yes": '"Yes"'}))
    line = re.search(r"rename = \{.*\}", found.hints[0])[0]
    rename = tomllib.loads(line)["rename"]
    assert rename == {'"Yes"': "yes"}
    mended = {**SCHEMA, "target": {**SCHEMA["target"], "rename": rename}}
    assert look(mended, ill=lambda x: x.replace({"yes": '"Yes"'})).hints == ()


def test_the_label_of_a_regression_is_looked_at_too():
    schema = {**SCHEMA, "target": {"column": "ill", "bounds": [0, 10]}}
    found = look(schema, ill=lambda x: x.map({"yes": 4.0, "no": 4000.0}))
    assert shares(found, "ill")[0] + shares(found, "ill")[1] == 1.0
    assert "target 'ill'" in found.hints[0]
    assert "100 times as large" in found.hints[0]
    private = {**schema, "target": {"column": "ill", "bounds": "private"}}
    assert look(private, ill=lambda x: x.map({"yes": 4.0, "no": 4000.0})).hints == ()


def test_shares_add_up_and_spellings_that_are_two_values_are_left_alone():
    columns = {"x": {"kind": "number", "bounds": [0, 1]}}
    schema = {"target": {"column": "y", "classes": ["a", "A"]}, "columns": columns}
    cells = {"y": ["a", "A", " a ", "a."], "x": [np.inf, "?", "one", 0.5]}
    table = pd.DataFrame(cells, dtype=object)
    found = dpscd.look(table, Schema.from_dict(schema))
    assert shares(found, "y") == (0.75, 0.25, 0.0, 0.0)
    assert shares(found, "x") == (0.25, 0.25, 0.25, 0.25)
    assert not any("rename" in hint for hint in found.hints)


def test_files_are_looked_at_piece_by_piece_as_tables_are(tmp_path, monkeypatch):
    monkeypatch.setattr("dpscd.preprocessing.looking.CHUNK", 70)
    table = people(age=lambda x: x * 100)
    files = []
    for k, part in enumerate((table[:300], table[300:])):
        files.append(tmp_path / f"{k}.csv")
        part.to_csv(files[-1], index=False)
    before = sorted(tmp_path.iterdir())
    whole = dpscd.look(table, SCHEMA)
    assert dpscd.look(files, SCHEMA) == whole
    assert dpscd.look(str(files[0]), SCHEMA).records == 300
    assert sorted(tmp_path.iterdir()) == before


def test_a_wrong_separator_is_named(tmp_path):
    file = tmp_path / "t.csv"
    people(20).to_csv(file, index=False, sep=";")
    with pytest.raises(SchemaError, match=r'is delimiter = ";" missing under \[table\]\?'):
        dpscd.look(file, SCHEMA)
    good = {**SCHEMA, "table": {"person": "who", "delimiter": ";"}}
    assert dpscd.look(file, good).records == 20


def test_separators_are_told_by_names_alone():
    usual = Layout().delimiter
    assert other_delimiter(["a;b;c"], usual) == ";"
    assert other_delimiter(["a\tb"], usual) == "\t"
    assert other_delimiter(["a,b"], ";") == ","
    assert other_delimiter(["a|b|c,"], ";") == "|"
    assert other_delimiter(["a"], usual) is None
    assert other_delimiter(["a;b", "c"], usual) is None


def test_the_result_says_that_it_is_not_private_and_stays_in_memory():
    found = look(age=lambda x: x * 100)
    lines = str(found).splitlines()
    assert lines[0] == lines[-1] == NOT_PRIVATE
    assert REPAIRS in lines
    assert "read_from_data = true" in REPAIRS
    assert any(line.startswith("* column 'age'") for line in lines)
    names = ["column", "kind", "inside", "outside", "unread", "missing"]
    assert list(found.frame.columns) == names
    with pytest.raises(ParameterError, match="not pickled"):
        pickle.dumps(found)
    assert isinstance(found, Look)


def test_what_cannot_be_looked_at_is_refused_in_words():
    table = people(10)
    with pytest.raises(DataTypeError, match="off for Dask"):
        dpscd.look(dd.from_pandas(table, npartitions=1), SCHEMA)
    for other in (np.zeros((2, 2)), []):
        with pytest.raises(DataTypeError, match="path of a file"):
            dpscd.look(other, SCHEMA)
    with pytest.raises(DataError, match="no records"):
        dpscd.look(table[:0], SCHEMA)
    with pytest.raises(SchemaError, match="no column 'age'"):
        dpscd.look(table.drop(columns="age"), SCHEMA)


def test_a_share_is_not_rounded_to_none_or_all():
    assert percent(0.0) == "0 %"
    assert percent(1e-6) == "<0.01 %"
    assert percent(1 - 1e-6) == ">99.99 %"
    assert percent(1.0) == "100 %"
    assert percent(0.12345) == "12.35 %"
