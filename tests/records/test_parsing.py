"""Cells become numbers by the schema, silently, whatever they hold."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpscd import Schema, SchemaError
from dpscd.records.cells import MISSING, OTHER
from dpscd.records.encoding import Parsed, check_columns, parse

SCHEMA = Schema.from_dict(
    {
        "target": {"column": "y", "classes": ["no", "yes"], "rename": {"yes.": "yes"}},
        "columns": {
            "a": {"kind": "number", "bounds": [0, 10]},
            "c": {"kind": "category", "values": ["1", "2", "x", "?"], "rename": {"one": "1"}},
            "o": {"kind": "ordinal", "values": ["low", "high"]},
            "b": {"kind": "boolean"},
            "i": {"kind": "ignore"},
        },
    }
)
REGRESSION = Schema.from_dict({**SCHEMA.to_dict(), "target": {"column": "y", "bounds": [0, 1]}})


def frame(**columns):
    size = len(next(iter(columns.values())))
    usual = {name: [""] * size for name in "acoby"}
    return pd.DataFrame({**usual, **columns})


def test_numbers_are_read_and_everything_else_is_missing():
    cells = ["1", " 2.5 ", "-1e3", "inf", "", "NA", "?", "abc", "1,5", None, "nan", "1_0"]
    found = parse(SCHEMA, frame(a=cells)).columns["a"]
    np.testing.assert_array_equal(found[:4], [1.0, 2.5, -1000.0, np.inf])
    assert np.isnan(found[4:]).all()


TYPED = [
    ("int8 float32 int64[pyarrow] float[pyarrow]", [1, 2, 3]),
    ("Int64 Float64 int64[pyarrow]", [1, 2, 3, None]),
    ("category string string[pyarrow] large_string[pyarrow]", ["1", "2", "3", None]),
    ("object", [1, "2", 3.0, None, Decimal(1)]),
]


@pytest.mark.parametrize(
    ("kind", "values"), [(kind, values) for kinds, values in TYPED for kind in kinds.split()]
)
def test_tables_of_other_types_mean_the_same(kind, values):
    decimals = pd.ArrowDtype(pa.decimal128(9, 2))
    for cells in (
        pd.Series(values, dtype=kind),
        pd.Series([x and Decimal(x) for x in values], dtype=decimals),
    ):
        found = parse(SCHEMA, frame(a=cells, c=cells)).columns
        np.testing.assert_array_equal(found["a"], [1.0, 2.0, 3.0, np.nan, 1.0][: len(values)])
        np.testing.assert_array_equal(found["c"], [0, 1, OTHER, MISSING, 0][: len(values)])


def test_values_are_known_by_their_text():
    cells = ["1", " x", "one", "X", "", "NA", None, "?", np.nan]
    expected = [0, 2, 0, OTHER, MISSING, MISSING, MISSING, 3, MISSING]  # "?" is declared here
    np.testing.assert_array_equal(parse(SCHEMA, frame(c=cells)).columns["c"], expected)
    cells = ["low", "high", "?", "lowest"]
    found = parse(SCHEMA, frame(o=cells)).columns["o"]
    np.testing.assert_array_equal(found, [0, 1, MISSING, OTHER])


def test_truth_has_many_spellings():
    cells = ["True", "YES", "1", "f", "no", "0", "2", "", True, False, 1.0, np.bool_(False)]
    expected = [1, 1, 1, 0, 0, 0, OTHER, MISSING, 1, 0, 1, 0]
    np.testing.assert_array_equal(parse(SCHEMA, frame(b=cells)).columns["b"], expected)


def test_the_target_is_classes_or_numbers():
    cells = ["yes", "no", "yes.", "maybe", ""]
    found = parse(SCHEMA, frame(y=cells)).target
    np.testing.assert_array_equal(found, [1, 0, 1, OTHER, MISSING])
    found = parse(REGRESSION, frame(y=["0.5", "", "7"])).target
    np.testing.assert_array_equal(found, [0.5, np.nan, 7.0])
    assert parse(SCHEMA, frame(a=["1"]).drop(columns="y"), target=False).target is None


def test_missing_columns_are_named_and_ignored_ones_are_not_needed():
    table = frame(a=["1"])
    assert len(parse(SCHEMA, table)) == 1  # without column i
    with pytest.raises(SchemaError, match="no column 'a'; is this"):
        parse(SCHEMA, table.drop(columns="a"))
    with pytest.raises(SchemaError, match="no column 'a', 'c', 'o' and 2 more"):
        parse(SCHEMA, pd.DataFrame({"a;c;o;b;y": ["1;2;3;4;5"]}))
    twice = pd.concat([table, table[["a"]]], axis=1)
    with pytest.raises(SchemaError, match="two columns called 'a'"):
        parse(SCHEMA, twice)


def test_parts_join_in_order():
    one, two = parse(SCHEMA, frame(a=["1", "2"])), parse(SCHEMA, frame(a=["3"]))
    whole = Parsed.joined([one, two])
    assert len(whole) == 3
    np.testing.assert_array_equal(whole.columns["a"], [1, 2, 3])
    assert len(whole.target) == 3
    without = [parse(SCHEMA, frame(a=["1"]), target=False)] * 2
    assert Parsed.joined(without).target is None


def test_dates_and_other_things_are_texts():
    days = pd.Series(pd.to_datetime(["2020-01-01", None]))
    np.testing.assert_array_equal(parse(SCHEMA, frame(c=days)).columns["c"], [OTHER, MISSING])
    assert np.isnan(parse(SCHEMA, frame(a=days)).columns["a"]).all()
    huge = pd.Series([10**400, "9" * 400], dtype=object)
    np.testing.assert_array_equal(parse(SCHEMA, frame(a=huge)).columns["a"], [np.inf, np.inf])


PERSONS = SCHEMA.with_person("who")


def test_persons_need_their_column():
    table = frame(a=["1", "2", "3", "4"], who=["x", "NA", " x", "y"])
    assert parse(PERSONS, table).persons is None
    assert len(parse(PERSONS, table.drop(columns="who"))) == 4  # not needed for predictions
    with pytest.raises(SchemaError, match="no column 'who'"):
        check_columns(PERSONS, [*"acoby"], target=True, person=True)
    with pytest.raises(SchemaError, match="two columns called 'who'"):
        check_columns(PERSONS, [*"acoby", "who", "who"], target=True, person=True)


def test_rows_are_taken_in_any_order():
    table = frame(a=["1", "2", "3"], y=["no", "yes", "no"], who=["x", "y", "x"])
    found = parse(PERSONS, table).taken(np.array([2, 0]))
    assert len(found) == 2
    assert found.persons is None
    assert found.columns["a"].tolist() == [3.0, 1.0]
    assert found.target.tolist() == [0, 0]
    assert {len(values) for values in found.columns.values()} == {2}
    assert parse(PERSONS, table, target=False).taken(np.array([1])).target is None
