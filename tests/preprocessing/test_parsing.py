"""Cells become numbers by the schema, silently, whatever they hold."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpscd import ParameterError, Schema, SchemaError
from dpscd.preprocessing.identifiers import Numbering
from dpscd.preprocessing.parsing import MISSING, OTHER, Parsed, parse

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


@pytest.mark.parametrize(
    "cells",
    [
        pd.Series([1, 2, 3], dtype="int8"),
        pd.Series([1.0, 2.0, 3.0], dtype="float32"),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series(["1", "2", "3"], dtype="category"),
        pd.Series(["1", "2", "3"], dtype="string"),
        pd.Series([1, "2", 3.0], dtype=object),
        pd.Series([1, 2, 3], dtype=pd.ArrowDtype(pa.int64())),
        pd.Series([1, 2, 3], dtype=pd.ArrowDtype(pa.float32())),
        pd.Series(
            [Decimal(1), Decimal(2), Decimal(3)], dtype=pd.ArrowDtype(pa.decimal128(9, 2))
        ),
        pd.Series(["1", "2", "3"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series(["1", "2", "3"], dtype=pd.ArrowDtype(pa.large_string())),
    ],
)
def test_tables_of_other_types_mean_the_same(cells):
    found = parse(SCHEMA, frame(a=cells, c=cells))
    np.testing.assert_array_equal(found.columns["a"], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found.columns["c"], [0, 1, OTHER])


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


cells = st.one_of(
    st.none(), st.text(), st.floats(), st.integers(), st.booleans(), st.binary(), st.dates()
)


@given(st.lists(cells, min_size=1, max_size=5))
def test_no_cell_makes_an_error(values):
    table = frame(a=values, c=values, o=values, b=values, y=values)
    found = parse(SCHEMA, table.astype(object))
    assert all(len(column) == len(values) for column in found.columns.values())
    assert parse(REGRESSION, table.astype(object)).target.dtype == float


like_others = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**53), 2**53),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.1, np.float32(0.1), math.nan, math.inf]),
    st.sampled_from(["1", "1.0", " 1", "true", "True", "0", "-0.0", "x", "?", "", "0.1"]),
    st.sampled_from(
        [Decimal("1.0"), Decimal("1.00"), Decimal("0.1"), np.int8(1), np.bool_(True)]
    ),
)


@pytest.mark.full
@settings(max_examples=500)
@given(st.lists(like_others, min_size=2, max_size=5), st.booleans())
def test_a_record_is_parsed_on_its_own(values, as_objects):
    # In whatever type pandas puts the column, which depends on all of its cells.
    column = pd.Series(values, dtype=object) if as_objects else pd.Series(values)
    whole = parse(SCHEMA, frame(a=column, c=column, o=column, b=column, y=column))
    for place, value in enumerate(values):
        alone = pd.Series([value], dtype=object)
        one = parse(SCHEMA, frame(a=alone, c=alone, o=alone, b=alone, y=alone))
        for name in "acob":
            np.testing.assert_array_equal(
                whole.columns[name][place : place + 1], one.columns[name]
            )
        assert whole.target[place] == one.target[0]


def test_what_a_missing_value_does_to_the_type_of_a_column_changes_no_other_cell():
    for values in ([True, False], [1, 2], [np.float32(0.1)], [Decimal("1.5")], ["1", "x"]):
        full = parse(SCHEMA, frame(a=pd.Series(values), c=pd.Series(values)))
        more = pd.Series([*values, None])
        part = parse(SCHEMA, frame(a=more, c=more))
        for name in "ac":
            np.testing.assert_array_equal(part.columns[name][:-1], full.columns[name])


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean", "int64[pyarrow]"])
def test_missing_values_of_typed_columns(kind):
    cells = pd.Series([1, None, 0], dtype=kind)
    found = parse(SCHEMA, frame(a=cells, b=cells))
    np.testing.assert_array_equal(found.columns["a"], [1, np.nan, 0])
    np.testing.assert_array_equal(found.columns["b"], [1, MISSING, 0])


def test_complex_numbers_are_none():
    assert np.isnan(parse(SCHEMA, frame(a=pd.Series([1j]))).columns["a"]).all()


def test_dates_and_other_things_are_texts():
    days = pd.Series(pd.to_datetime(["2020-01-01", None]))
    np.testing.assert_array_equal(parse(SCHEMA, frame(c=days)).columns["c"], [OTHER, MISSING])
    assert np.isnan(parse(SCHEMA, frame(a=days)).columns["a"]).all()
    huge = pd.Series([10**400, "9" * 400], dtype=object)
    np.testing.assert_array_equal(parse(SCHEMA, frame(a=huge)).columns["a"], [np.inf, np.inf])


PERSONS = SCHEMA.with_person("who")


def test_persons_are_read_if_they_are_wanted():
    table = frame(a=["1", "2", "3", "4"], who=["x", "NA", " x", "y"])
    assert parse(PERSONS, table).persons is None
    found = parse(PERSONS, table, person=True)
    assert found.persons.dtype == np.int64
    assert found.persons.tolist() == [0, -1, 0, 1]
    assert set(found.columns) == set("acob")
    assert parse(SCHEMA, table, person=True).persons is None
    without = table.drop(columns="who")
    assert len(parse(PERSONS, without)) == 4  # not needed for predictions
    with pytest.raises(SchemaError, match="no column 'who'"):
        parse(PERSONS, without, person=True)
    twice = pd.concat([table, table[["who"]]], axis=1)
    with pytest.raises(SchemaError, match="two columns called 'who'"):
        parse(PERSONS, twice, person=True)
    assert parse(PERSONS, table, target=False, person=True).target is None
    numbered = table.set_axis([*table.columns[:-1], 7], axis=1)  # names of any type
    found = parse(SCHEMA.with_person("7"), numbered, person=True)
    assert found.persons.tolist() == [0, -1, 0, 1]


def test_persons_of_parts_are_those_of_the_whole():
    one = frame(a=["1", "2"], who=["7", "x"])
    two = frame(a=["3", "4", "5"], who=pd.Series([8, 7, None]))
    persons = Numbering(PERSONS.layout.missing)
    whole = Parsed.joined([parse(PERSONS, part, person=persons) for part in (one, two)])
    assert whole.persons.tolist() == [0, 1, 2, 0, -1]
    again = Parsed.joined([whole, parse(PERSONS, one, person=persons)])
    assert again.persons.tolist() == [0, 1, 2, 0, -1, 0, 1]
    for apart in (
        [parse(PERSONS, part, person=True) for part in (one, two)],
        [parse(PERSONS, one, person=True), parse(PERSONS, two)],
        [parse(PERSONS, one), parse(PERSONS, two, person=True)],
    ):
        with pytest.raises(ParameterError, match="not numbered together"):
            Parsed.joined(apart)


def test_rows_are_taken_in_any_order():
    table = frame(a=["1", "2", "3"], y=["no", "yes", "no"], who=["x", "y", "x"])
    found = parse(PERSONS, table, person=True).taken(np.array([2, 0]))
    assert len(found) == 2
    assert found.persons is None
    assert found.columns["a"].tolist() == [3.0, 1.0]
    assert found.target.tolist() == [0, 0]
    assert {len(values) for values in found.columns.values()} == {2}
    assert parse(PERSONS, table, target=False).taken(np.array([1])).target is None
