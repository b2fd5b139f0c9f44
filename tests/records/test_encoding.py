"""Features: their values, their names, and rows no longer than 1."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpscd import Schema, SchemaError
from dpscd.preprocessing.column_features import width_of
from dpscd.records.encoding import encode, feature_names, is_sparse, parse

TARGET = {"column": "y", "classes": ["0", "1"]}


def schema_of(columns, **table):
    return Schema.from_dict({"table": table, "target": TARGET, "columns": columns})


def encoded(columns, cells, bounds=None, as_sparse=False, **table):
    schema = schema_of(columns, **table)
    parsed = parse(schema, pd.DataFrame(cells), target=False)
    return encode(schema, parsed, bounds, as_sparse=as_sparse)


def number(**more):
    return {"x": {"kind": "number", "bounds": [0, 8], **more}}


def test_numbers_are_scaled_clipped_and_filled_in():
    cells = {"x": [0, 2, 8, 99, -1, None, math.inf]}
    found = encoded(number(), cells)[:, 0]
    np.testing.assert_array_equal(found, [-1, -0.5, 1, 1, -1, 0, 1])
    found = encoded(number(missing=6), cells)[:, 0]
    assert found[5] == 0.5
    found = encoded(number(missing="column"), cells)
    np.testing.assert_array_equal(found[5], [0, 1])
    np.testing.assert_array_equal(found[0], [-1, 0])


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize(
    ("missing", "rows"),
    [
        (None, [[1, 0], [0, 1], [0, 0], [0, 0]]),
        ("column", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]),
        ("other", [[1, 0], [0, 1], [0, 1], [0, 1]]),
    ],
)
def test_a_complete_list_has_no_feature_for_others(missing, rows, as_sparse):
    more = {} if missing is None else {"missing": missing}
    own = {"kind": "category", "values": ["a", "other"], "complete": True, **more}
    # The column behind it shows whether a cell that is not listed stays in its own.
    columns = {"x": own, "z": {"kind": "number", "bounds": [-1, 1]}}
    cells = {"x": ["a", "other", "elsewhere", None], "z": [0, 0, 0, 0]}
    found = encoded(columns, cells, as_sparse=as_sparse)
    found = found.toarray() if as_sparse else found
    expected = np.column_stack([rows, np.zeros(4)]) / math.sqrt(2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    names = feature_names(schema_of(columns))
    assert names[:2] == ["x=a", "x=other"]
    assert len(names) == found.shape[1]


def test_hours_close_and_months_go_on_with_the_first():
    hours = {"x": {"kind": "number", "bounds": [0, 24], "cyclic": True}}
    found = encoded(hours, {"x": [0, 24, 99, 3, 21, None]})
    expected = [[1, 0, 0, 0]] * 3 + [[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5], [0, 0, 0, 0]]
    np.testing.assert_array_equal(found, expected)
    months = {**hours["x"], "bounds": [1, 12], "integer": True}
    found = encoded({"x": {**months, "missing": 4}}, {"x": [1, 12, 11, 0, None]})
    expected = [[1, 0, 0, 0], [2 / 3, 0, 0, 1 / 3], [1 / 3, 0, 0, 2 / 3], [1, 0, 0, 0]]
    np.testing.assert_allclose(found, [*expected, [0, 1, 0, 0]], atol=1e-7)
    names = feature_names(schema_of({"x": {**months, "shape": "smooth"}}))
    assert names == [f"x at {k}" for k in range(1, 13)]
    assert width_of(schema_of({"x": {**months, "shape": "smooth", "bins": 5}}).features[0]) == 5


@given(
    st.integers(-40, 40), st.integers(1, 60), st.integers(2, 50),
    st.sampled_from([None, "steps", "smooth"]), st.booleans(),
)  # fmt: skip
def test_shapes_of_integers_keep_to_whole_numbers(low, span, bins, shape, logarithm):
    high, more = low + span, {} if shape is None else {"shape": shape}
    if logarithm and low >= 0:
        more["transform"] = "log1p"
    own = {
        "x": {"kind": "number", "bounds": [low, high], "integer": True, "bins": bins, **more}
    }
    schema = schema_of(own)
    values = np.arange(low, high + 1.0)
    found = encoded(own, {"x": values})[:, int(shape is not None) :]
    least = min(bins, span + (shape != "smooth"))
    if shape == "smooth":
        # Every knot is a whole number: some record has all of it, none the same as another.
        whole = found.max(axis=0) == found.max()
        assert whole.all()
        assert found.shape[1] == least + 1
    else:
        # Every step has whole numbers, next to each other; each of these has one step.
        assert found.shape[1] == least
        assert (found != 0).sum(axis=1).tolist() == [1] * len(values)
        places = found.argmax(axis=1)
        assert (np.diff(places) >= 0).all()
        assert set(places) == set(range(least))
    assert len(set(feature_names(schema))) == found.shape[1] + (shape is not None)


@given(st.integers(3, 20), st.floats(0, 1), st.booleans(), st.booleans())
def test_a_shape_that_closes_has_no_jump(bins, along, integer, sign):
    own = {"kind": "number", "bounds": [0, 60], "cyclic": True, "integer": integer}
    own |= {"shape": "smooth", "bins": bins} | ({"missing": "column"} if sign else {})
    end = 61.0 if integer else 60.0
    value = along * end
    near = [min(value + 1e-9, end), max(value - 1e-9, 0.0), 0.0, end]
    found = encoded({"x": own}, {"x": [value, *near]}).astype(np.float64)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    assert (np.square(found).sum(axis=1) <= 1.0 + 1e-6).all()
    np.testing.assert_allclose(found[1:3], found[[0, 0]], atol=1e-6)
    if not integer:
        np.testing.assert_array_equal(found[3], found[4])


def test_log1p_comes_before_scaling():
    found = encoded(number(transform="log1p"), {"x": [0, 2, 8, 99]})[:, 0]
    np.testing.assert_allclose(found, [-1, 2 * math.log(3) / math.log(9) - 1, 1, 1], atol=1e-6)


def test_bins_are_of_equal_width():
    cells = {"x": [0, 1.9, 2, 7.9, 8, 99, None]}
    found = encoded(number(bins=4), cells)
    np.testing.assert_array_equal(found.argmax(axis=1), [0, 0, 1, 3, 3, 3, 2])
    np.testing.assert_array_equal(found.sum(axis=1), np.ones(7))
    found = encoded(number(bins=4, missing="column"), cells)
    np.testing.assert_array_equal(found[-1], [0, 0, 0, 0, 1])
    assert not found[:-1, -1].any()


HALF = np.float32(math.sqrt(0.5))


def test_a_smooth_shape_is_a_value_and_two_of_its_knots():
    cells = {"x": [0, 1, 2, 8, 99, None]}
    found = encoded(number(shape="smooth", bins=4), cells) / HALF
    knots = [[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0, 1, 0, 0, 0]]
    knots += [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]
    np.testing.assert_allclose(found[:, 0], [-1, -0.75, -0.5, 1, 1, 0], atol=1e-6)
    np.testing.assert_allclose(found[:, 1:], knots, atol=1e-6)


def test_steps_are_a_value_and_its_interval():
    found = encoded(number(shape="steps", knots=[1, 4]), {"x": [0, 1, 3.9, 4, 8]}) / HALF
    np.testing.assert_array_equal(found[:, 1:].argmax(axis=1), [0, 1, 1, 2, 2])
    np.testing.assert_allclose(found[:, 1:].sum(axis=1), 1.0)
    np.testing.assert_allclose(found[:, 0], [-1, -0.75, -0.025, 0, 1], atol=1e-6)


def test_a_shape_has_sixteen_intervals_and_a_missing_value_none_of_them():
    schema = schema_of(number(shape="smooth", missing="column"))
    assert width_of(schema.features[0]) == 1 + 17 + 1
    found = encoded(number(shape="smooth", missing="column"), {"x": [None, 3]})
    assert found[0].nonzero()[0].tolist() == [18]
    assert found[1, 18] == 0
    names = feature_names(schema)
    assert names[:3] == ["x", "x at 0", "x at 0.5"]
    assert names[-1] == "x=(missing)"


def test_own_knots_follow_the_transform():
    found = encoded(number(shape="smooth", knots=[2], transform="log1p"), {"x": [0, 2, 8]})
    np.testing.assert_allclose(found[:, 1:] / HALF, np.eye(3), atol=1e-6)


def test_knots_of_private_bounds_are_named_when_they_are_known():
    private = {"x": {"kind": "number", "bounds": "private", "shape": "smooth", "bins": 2}}
    schema = schema_of(private)
    assert feature_names(schema) == ["x", "x knot 1", "x knot 2", "x knot 3"]
    assert feature_names(schema, {"x": (0, 4)})[1:] == ["x at 0", "x at 2", "x at 4"]


def test_bounds_far_apart_do_not_overflow():
    columns = {"x": {"kind": "number", "bounds": [-8e307, 8e307]}}
    found = encoded(columns, {"x": [-8e307, 0.0, 8e307]})[:, 0]
    np.testing.assert_allclose(found, [-1, 0, 1])


def test_categories_have_a_place_for_all_others():
    columns = {"c": {"kind": "category", "values": ["a", "b"]}}
    cells = {"c": ["a", "b", "z", None]}
    np.testing.assert_array_equal(encoded(columns, cells).argmax(axis=1), [0, 1, 2, 2])
    columns["c"]["missing"] = "column"
    np.testing.assert_array_equal(encoded(columns, cells).argmax(axis=1), [0, 1, 2, 3])
    columns["c"]["missing"] = "b"
    np.testing.assert_array_equal(encoded(columns, cells).argmax(axis=1), [0, 1, 2, 1])


def test_ordinals_and_booleans_are_one_feature():
    columns = {"o": {"kind": "ordinal", "values": ["l", "m", "h"]}}
    cells = {"o": ["l", "m", "h", "z", None]}
    np.testing.assert_array_equal(encoded(columns, cells)[:, 0], [-1, 0, 1, 0, 0])
    columns["o"]["missing"] = "h"
    np.testing.assert_array_equal(encoded(columns, cells)[:, 0], [-1, 0, 1, 1, 1])
    columns = {"b": {"kind": "boolean", "missing": "column"}}
    found = encoded(columns, {"b": ["yes", "no", ""]})
    np.testing.assert_array_equal(found, [[1, 0], [-1, 0], [0, 1]])


MANY = {
    "x": {"kind": "number", "bounds": [-5, 5], "missing": "column"},
    "b": {"kind": "number", "bounds": [0, 1], "bins": 3, "missing": "column"},
    "p": {"kind": "number", "bounds": "private"},
    "c": {"kind": "category", "values": ["u", "v"], "missing": "column"},
    "t": {"kind": "boolean"},
    "i": {"kind": "ignore"},
    "w": {"kind": "number", "bounds": [-3, 9], "integer": True, "shape": "smooth", "bins": 5},
    "r": {"kind": "number", "bounds": [0, 24], "cyclic": True, "missing": "column"},
}
PRIVATE = {"p": (0.0, 4.0)}
cells = st.one_of(st.none(), st.floats(), st.sampled_from(["u", "v", "yes", "x", ""]))


@given(st.lists(st.tuples(*[cells] * 7), min_size=1, max_size=6), st.booleans())
def test_rows_are_never_longer_than_one(records, normalise):
    table = pd.DataFrame(records, columns=list("xbpctwr"), dtype=object)
    rows = "normalise" if normalise else "scale"
    dense = encoded(MANY, table, PRIVATE, rows=rows)
    found = encoded(MANY, table, PRIVATE, as_sparse=True, rows=rows)
    np.testing.assert_array_equal(found.toarray(), dense)
    assert (found.data != 0).all()
    assert dense.dtype == found.dtype == np.float32
    lengths = np.linalg.norm(dense.astype(float), axis=1)
    assert (lengths <= 1.0 + 1e-6).all()
    if normalise:
        assert (np.isclose(lengths, 1.0, atol=1e-6) | (lengths == 0.0)).all()


def test_a_row_depends_on_its_record_alone(monkeypatch):
    generator = np.random.default_rng(0)
    table = pd.DataFrame({name: generator.normal(size=50) for name in "xbpctwr"})
    whole = encoded(MANY, table, PRIVATE)
    for record in (0, 7, 49):
        one = encoded(MANY, table.iloc[[record]], PRIVATE)
        np.testing.assert_array_equal(one[0], whole[record])
    monkeypatch.setattr("dpscd.records.encoding._BLOCK", 7)
    np.testing.assert_array_equal(encoded(MANY, table, PRIVATE), whole)
    found = encoded(MANY, table, PRIVATE, as_sparse=True).toarray()
    np.testing.assert_array_equal(found, whole)


def test_no_records_make_no_rows():
    for as_sparse in (False, True):
        found = encoded(MANY, {name: [] for name in "xbpctwr"}, PRIVATE, as_sparse=as_sparse)
        assert found.shape == (0, 24)
        assert scipy.sparse.issparse(found) == as_sparse


def test_names_tell_values_and_limits():
    schema = schema_of(MANY)
    expected = [
        "x", "x=(missing)",
        "b 0 to 0.333333", "b 0.333333 to 0.666667", "b 0.666667 to 1", "b=(missing)",
        "p",
        "c=u", "c=v", "c=(other)", "c=(missing)",
        "t",
        "w", "w at -3", "w at -1", "w at 2", "w at 4", "w at 7", "w at 9",
        "r at 0", "r at 6", "r at 12", "r at 18", "r=(missing)",
    ]  # fmt: skip
    assert feature_names(schema, PRIVATE) == expected
    assert sum(width_of(column) for column in schema.features) == len(expected)
    binned = schema_of({"x": {"kind": "number", "bounds": "private", "bins": 2}})
    assert feature_names(binned) == ["x bin 1", "x bin 2"]
    assert feature_names(binned, {"x": (0.0, 2.0)}) == ["x 0 to 1", "x 1 to 2"]
    logs = schema_of(number(transform="log1p", bins=2))
    assert feature_names(logs) == ["x 0 to 2", "x 2 to 8"]


def test_private_bounds_must_be_released_first():
    with pytest.raises(SchemaError, match="'p' has private bounds"):
        encoded(MANY, {name: ["1"] for name in "xbpctwr"})


def test_sparse_is_for_rows_that_are_much_smaller_so():
    few = {"c": {"kind": "category", "values": [str(k) for k in range(14)]}}
    many = {"c": {"kind": "category", "values": [str(k) for k in range(15)]}}
    assert not is_sparse(schema_of(few))
    assert is_sparse(schema_of(many))
    # A missing sign is one more entry in every row.
    more = {"x": {"kind": "number", "bounds": [0, 1], "bins": 20, "missing": "column"}}
    assert not is_sparse(schema_of(more))
