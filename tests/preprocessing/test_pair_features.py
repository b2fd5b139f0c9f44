"""Pairs of columns: products of what each has, as many as public facts allow."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd import Schema, SchemaError
from dpscd.preprocessing import schema_checks
from dpscd.preprocessing.column_features import width_of
from dpscd.preprocessing.schema import pair_intervals, shaped
from dpscd.records.encoding import encode, feature_names, is_sparse, levels_of, parse

TARGET = {"column": "y", "classes": ["0", "1"]}
COLUMNS = {
    "smooth": {"kind": "number", "bounds": [0, 8], "shape": "smooth"},
    "steps": {"kind": "number", "bounds": [0, 8], "shape": "steps"},
    "bins": {"kind": "number", "bounds": [0, 8], "bins": 7},
    "line": {"kind": "number", "bounds": [0, 8], "shape": "line"},
    "log": {"kind": "number", "bounds": [0, 8], "transform": "log1p", "shape": "smooth"},
    "knots": {"kind": "number", "bounds": [0, 8], "shape": "smooth", "knots": [1, 5]},
    "signed": {"kind": "number", "bounds": [0, 8], "shape": "smooth", "missing": "column"},
    "round": {"kind": "number", "bounds": [0, 8], "cyclic": True},
    "month": {"kind": "number", "bounds": [0, 7], "cyclic": True, "integer": True},
    "count": {"kind": "number", "bounds": [0, 8], "shape": "steps", "integer": True},
    "level": {"kind": "category", "values": ["a", "b"]},
    "whole": {"kind": "category", "values": ["a", "b"], "complete": True},
    "absent": {"kind": "category", "values": ["a", "b"], "missing": "column"},
    "grade": {"kind": "ordinal", "values": ["i", "ii", "iii", "iv", "v", "vi", "vii"]},
    "few": {"kind": "ordinal", "values": ["i", "ii"], "missing": "column"},
    "flag": {"kind": "boolean"},
}
CELLS = {
    name: ["a", "b", "c", None] if column["kind"] == "category" else
    ["i", "ii", "iii", "vii", "elsewhere", None] if column["kind"] == "ordinal" else
    [True, False, "perhaps", None] if column["kind"] == "boolean" else
    [0, 0.5, 1, 3.3, 4, 7.9, 8, 99, -5, None]
    for name, column in COLUMNS.items()
}  # fmt: skip


def schema_of(*pairs, columns=COLUMNS, **table):
    values = {"table": {"pairs": list(pairs), **table}, "target": TARGET, "columns": columns}
    return Schema.from_dict(values)


def only(*names):
    return {name: COLUMNS[name] for name in names}


def rows_of(schema, cells, *, as_sparse=False, short=False):
    parsed = parse(schema, pd.DataFrame(cells, dtype=object), target=False)
    found = encode(schema, parsed, as_sparse=as_sparse, short=short)
    return found.toarray() if as_sparse else found


def side(name, cell, bins):
    """Return the features of one cell within a pair, written down once more, slowly."""
    column = COLUMNS[name]
    missing = cell in (None, "elsewhere", "perhaps")
    if column["kind"] == "ordinal":
        missing = cell not in column["values"]
    sign = [float(missing)] if column.get("missing") == "column" else []
    if column["kind"] == "category":
        listed = ["a", "b"] if column.get("complete") else ["a", "b", "(other)"]
        if sign:
            return [
                *(float(cell == x or (x == "(other)" and cell == "c")) for x in listed),
                *sign,
            ]
        shown = "(other)" if cell not in ("a", "b") else cell
        return [float(shown == x) for x in listed]
    if sign and missing:
        return [0.0] * (count_of(name, bins) - 1) + [1.0]
    if column["kind"] == "number":
        value = 4.0 if missing else min(max(float(cell), 0.0), 8.0)
        if column.get("transform"):
            value = 4.0 if missing else math.log1p(value) * 8.0 / math.log1p(8.0)
        knots = [0.0, 1.0, 5.0, 8.0] if name == "knots" else None
        intervals = 1 if name == "line" else bins
        knots = knots or [8.0 * j / intervals for j in range(intervals + 1)]
        if name in ("round", "month"):
            value = 8.0 if missing else min(value, 7.0) if name == "month" else value
            near = [max(0.0, 1.0 - abs(value - k) * intervals / 8.0) for k in knots]
            return [0.0] * intervals if missing else [near[0] + near[-1], *near[1:-1]]
        if name == "count":  # 0 to 8: nine whole numbers, the steps between 2 and 3, and so on
            knots = [0.0, 2.5, 4.5, 6.5, 8.0]
    else:
        top = 1 if column["kind"] == "boolean" else len(column["values"]) - 1
        place = top / 2 if missing else None
        if column["kind"] == "boolean" and not missing:
            place = int(cell)
        value = column["values"].index(cell) if place is None else place
        intervals = min(bins, top)
        knots = [math.floor(top * j / intervals + 0.5) for j in range(intervals + 1)]
    if name in ("steps", "bins", "count"):
        return [
            float(a <= value < b or (b == 8.0 and value == 8.0))
            for a, b in itertools.pairwise(knots)
        ]
    hats = [float(np.interp(value, knots, np.eye(len(knots))[j])) for j in range(len(knots))]
    return [*hats, *sign]


def count_of(name, bins):
    schema = schema_of({"columns": [name, "flag"], "bins": bins}, columns=only(name, "flag"))
    return width_of(schema.parts[-1]) // 2


@pytest.mark.parametrize(
    ("first", "second"),
    [pair for pair in itertools.combinations(COLUMNS, 2) if "flag" not in pair[:1]],
)
def test_features_are_products_of_both_sides(first, second):
    bins = 4
    schema = schema_of({"columns": [first, second], "bins": bins}, columns=only(first, second))
    both = list(itertools.product(CELLS[first], CELLS[second]))
    cells = {first: [a for a, _ in both], second: [b for _, b in both]}
    products = [np.outer(side(first, a, bins), side(second, b, bins)) for a, b in both]
    wanted = np.array([product.ravel() for product in products])
    width = wanted.shape[1]
    assert width == width_of(schema.parts[-1])
    np.testing.assert_allclose(rows_of(schema, cells)[:, -width:], wanted, atol=1e-6)
    np.testing.assert_array_equal(
        rows_of(schema, cells, as_sparse=True), rows_of(schema, cells)
    )
    assert len(feature_names(schema)) == rows_of(schema, cells).shape[1]
    short = rows_of(schema, cells, short=True).astype(np.float64)
    assert (np.linalg.norm(short, axis=1) <= 1.0 + 1e-6).all()
    np.testing.assert_allclose(short[:, -width:], wanted / math.sqrt(3), atol=1e-6)


@given(st.floats(allow_nan=True), st.floats(allow_nan=True), st.integers(1, 20))
def test_no_pair_is_longer_than_a_column(a, b, bins):
    columns = only("smooth", "log")
    schema = schema_of({"columns": ["smooth", "log"], "bins": bins}, columns=columns)
    row = rows_of(schema, {"smooth": [a], "log": [b]})[0]
    pair = row[-((bins + 1) ** 2) :]
    assert (pair >= 0.0).all()
    assert pair.sum() == pytest.approx(1.0, abs=1e-5)
    assert np.linalg.norm(row) <= math.sqrt(3) * (1 + 1e-6)


def test_names_say_both_sides():
    schema = schema_of(
        {"columns": ["level", "smooth"], "bins": 2},
        {"columns": ["flag", "grade"], "bins": 2},
        columns=only("level", "smooth", "flag", "grade"),
    )
    names = feature_names(schema)
    assert names[-15:-6] == [
        f"level={a} x smooth at {b}" for a in ("a", "b", "(other)") for b in (0, 4, 8)
    ]
    assert names[-6:] == [
        f"flag={a} x grade={b}" for a in ("false", "true") for b in ("i", "iv", "vii")
    ]
    assert schema.parts[-1].name == "flag x grade"
    signed = feature_names(schema_of(["few", "steps"], columns=only("few", "steps")))
    assert signed[-4:] == [f"few=(missing) x steps {a} to {a + 2}" for a in (0, 2, 4, 6)]


def test_large_pairs_are_sparse():
    level = {"kind": "category", "values": [str(x) for x in range(10)]}
    schema = schema_of(["a", "b"], columns={"a": level, "b": level})
    assert is_sparse(schema)
    assert not is_sparse(schema_of(columns={"a": level, "b": level}))
    parsed = parse(schema, pd.DataFrame({"a": ["3"], "b": ["4"]}), target=False)
    row = encode(schema, parsed, as_sparse=True)
    assert row.nnz == 3


def test_levels_of_two_categories_are_levels():
    schema = schema_of(
        ["level", "whole"], ["level", "smooth"], columns=only("level", "whole", "smooth")
    )
    levels = levels_of(schema)
    widths = [width_of(part) for part in schema.parts]
    expected = [1.0, 1.0, 0.0, 1.0, 0.0]
    np.testing.assert_allclose(levels.value, np.repeat(expected, widths) / math.sqrt(5))
    np.testing.assert_array_equal(levels.column, np.repeat(np.arange(5), widths))


def cross(*names):
    return schema_of(list(names), columns=only(*names)).parts[-1]


@pytest.mark.parametrize("signal", [1.0, 50.0, 1000.0, 5000.0, 1e9])
def test_resolution_is_that_of_the_least_error(signal):
    """Noise (k m^2 / s)^2 or (k w m / s)^2, and k / m^4 of the shape that is left over."""
    parts, n = 4, 1000
    epsilon = signal * math.sqrt(parts) / n
    grid = np.geomspace(0.5, 2000.0, 9001)
    for pair, features in (
        (cross("smooth", "steps"), lambda m: m**2),
        (cross("smooth", "level"), lambda m: 3.0 * m),
        (cross("line", "grade"), lambda m: 2.0 * m),
        (cross("knots", "smooth"), lambda m: 4.0 * m),
    ):
        error = (parts * features(grid) / (epsilon * n)) ** 2 + parts / grid**4
        best = grid[error.argmin()]
        found = pair_intervals(epsilon, n, parts, pair)
        # Half of it is taken; where w is given, the least error is at 2^(1/6) of the power.
        assert found == pytest.approx(min(max(best / 2.0, 1.0), 16.0), rel=0.2, abs=1.0)


def test_resolution_ends():
    assert pair_intervals(math.inf, 10, 3, cross("smooth", "steps")) == 16
    assert pair_intervals(1e-6, 10, 3, cross("smooth", "steps")) == 1
    assert pair_intervals(1.0, 10**4, 3, cross("level", "line")) is None
    assert pair_intervals(1.0, 10**4, 3, cross("few", "flag")) is None


def test_shapes_are_decided_before_their_pairs():
    columns = {"x": {"kind": "number", "bounds": [0, 1]}, **only("level", "smooth")}
    pairs = (["x", "level"], {"columns": ["x", "smooth"], "bins": 2}, ["level", "smooth"])
    schema = schema_of(*pairs, columns=columns)
    found = shaped(schema, 1.0, 20_000)
    # (20000 / sqrt(6))^(1/3) alone; half of that over 3 levels, and two as declared.
    assert found.columns[0].bins == 20
    assert [pair.bins for pair in found.pairs] == [7, 2, 7]
    few = shaped(schema, 0.001, 100)
    assert few.columns[0].shape == "line"
    assert [pair.bins for pair in few.pairs] == [None, 2, 1]
    assert [width_of(part) for part in few.parts[3:]] == [6, 6, 6]
    # Steps are at least two, or they would say nothing.
    assert width_of(shaped(schema_of(["steps", "level"]), 0.001, 100).parts[-1]) == 6


TEXT = """\
[table]
pairs = {pairs}
rows = "{rows}"
[target]
column = "y"
classes = {classes}
[columns.age]
kind = "number"
bounds = [0, 100]
{age}
[columns.sex]
kind = "category"
values = ["f", "m"]
{sex}
[columns.note]
kind = "ignore"
[columns."age x sex"]
kind = "{named}"
"""


def text(pairs="[]", rows="scale", classes='["0", "1"]', age="", sex="", named="ignore"):
    return TEXT.format(pairs=pairs, rows=rows, classes=classes, age=age, sex=sex, named=named)


@pytest.mark.parametrize(
    ("changes", "line", "words"),
    [
        ({"pairs": "3"}, 2, "must be a list"),
        ({"pairs": '["age", "sex"]'}, 2, "two names"),
        ({"pairs": '[["age"]]'}, 2, "two names"),
        ({"pairs": '[["age", 3]]'}, 2, "two names"),
        ({"pairs": '[{columns = ["age", "sex"]}]'}, 2, "two names"),
        ({"pairs": '[{columns = ["age", "sex"], bins = 0}]'}, 2, "from 1 to 1000"),
        ({"pairs": '[{columns = ["age", "sex"], bins = true}]'}, 2, "from 1 to 1000"),
        ({"pairs": '[["age", "none"]]'}, 2, "no column 'none'"),
        ({"pairs": '[["age", "y"]]'}, 2, "no column 'y'"),
        ({"pairs": '[["note", "sex"]]'}, 2, "'note' is ignored"),
        ({"pairs": '[["age", "age"]]'}, 2, "'age' is paired with itself"),
        ({"pairs": '[["age", "sex"], ["sex", "age"]]'}, 2, "'sex' and 'age' are paired twice"),
        ({"pairs": '[["age", "sex"]]'}, 2, "have one name"),
        ({"pairs": '[["sex", "age"]]', "age": 'monotone = "up"'}, 10, "it is in a pair"),
        ({"rows": "normalise", "age": 'monotone = "up"'}, 10, "rows are normalised"),
        ({"classes": "[1, 2, 3]", "age": 'monotone = "down"'}, 10, "more than two classes"),
        ({"age": 'monotone = "sideways"'}, 10, "'up' or 'down'"),
        ({"sex": 'monotone = "up"'}, 14, "'monotone' is not known here"),
        ({"sex": 'shape = "smooth"'}, 14, "'shape' is not known here"),
        ({"age": 'shape = "smooth"\nknots = [50, 101]'}, 11, "inside of declared bounds"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(changes, line, words):
    with pytest.raises(SchemaError, match=f"schema line {line}: .*{words}"):
        Schema.parse(text(**changes))


def test_good_ones_pass():
    pairs = '[\n  ["sex", "age"],\n]'
    assert Schema.parse(text(pairs=pairs)).pairs[0].columns == ("sex", "age")
    assert Schema.parse(text(age='monotone = "down"')).columns[0].monotone == "down"


def test_two_pairs_of_one_name_are_refused():
    columns = dict.fromkeys(("a", "b x c", "a x b", "c"), COLUMNS["line"])
    with pytest.raises(SchemaError, match="one name"):
        schema_of(["a", "b x c"], ["a x b", "c"], columns=columns)


def test_features_are_limited(monkeypatch):
    # Numbers whose shape follows from epsilon and n count with as many as they can get.
    monkeypatch.setattr(schema_checks, "MOST_FEATURES", 37)
    assert Schema.parse(text())
    with pytest.raises(SchemaError, match=r"line 2: with the pair 'sex x age' .* than 37 feat"):
        Schema.parse(text(pairs='[["sex", "age"]]'))
    monkeypatch.setattr(schema_checks, "MOST_FEATURES", 37 + 3 * 17)
    assert Schema.parse(text(pairs='[["sex", "age"]]'))
    monkeypatch.setattr(schema_checks, "MOST_FEATURES", 36)
    with pytest.raises(SchemaError, match="line 11: with column 'sex' there can be more"):
        Schema.parse(text())
