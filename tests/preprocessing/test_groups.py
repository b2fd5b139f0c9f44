"""Signs for missing values of one column, and codes that are compared by their beginning."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd import DPLogisticRegression, Schema, SchemaError, TableModel, load, look
from dpscd.records.cells import MISSING, OTHER
from dpscd.records.encoding import parse


def schema(column, target=None):
    return Schema.from_dict(
        {
            "target": {"column": "y", "classes": ["no", "yes"], **(target or {})},
            "columns": {"x": column},
        }
    )


def read(column, cells, target=None, labels=None):
    table = pd.DataFrame({"x": cells, "y": ["no"] * len(cells) if labels is None else labels})
    found = parse(schema(column, target), table)
    return found.columns["x"].tolist() if labels is None else found.target.tolist()


NUMBER = {"kind": "number", "bounds": [0, 10], "missing_values": [999, "none", "-1"]}
ICD = {"kind": "category", "values": ["E10", "I21", "071"], "group": {"prefix": 3}}
MAPPED = {
    "kind": "category",
    "values": ["diabetes", "heart", "other heart"],
    "group": {
        "mapping": {"E10": "diabetes", "E11": "diabetes", "I": "heart", "I2": "other heart"}
    },
}


@pytest.mark.parametrize("kind", [object, "int64", "float64", "str"])
def test_a_number_that_stands_for_no_answer_is_missing_in_every_type(kind):
    found = read(NUMBER, pd.Series([1, 999, -1, 5], dtype=kind))
    np.testing.assert_array_equal(found, [1.0, np.nan, np.nan, 5.0])


def test_other_signs_are_missing_too_and_only_in_their_column():
    found = read(NUMBER, ["none", "NA", "999.0", "", "x"])
    assert np.isnan(found).all()
    plain = {"kind": "number", "bounds": [0, 10]}
    assert read(plain, ["999"]) == [999.0]


def test_signs_go_with_lists_truth_values_and_targets():
    column = {"kind": "category", "values": ["a", "b"], "missing_values": ["z", 9]}
    assert read(column, ["a", "z", "9", 9.0, "c"]) == [0, MISSING, MISSING, MISSING, OTHER]
    column = {"kind": "boolean", "missing_values": ["unknown", 9]}
    assert read(column, ["yes", "unknown", 9, "maybe"]) == [1, MISSING, MISSING, OTHER]
    target, cells = {"missing_values": ["refused"]}, ["yes", "refused", "", "x"]
    labels = read(column, ["1"] * 4, target, cells)
    assert labels == [1, MISSING, MISSING, OTHER]
    table = pd.DataFrame({"x": ["1"] * 3, "y": [1, 999, 30]})
    target = {"column": "y", "bounds": [0, 10], "missing_values": [999]}
    numbers = Schema.from_dict({"target": target, "columns": {"x": column}})
    np.testing.assert_array_equal(parse(numbers, table).target, [1.0, np.nan, 30.0])
    assert look(table, numbers).columns[0].missing == pytest.approx(1 / 3)


def test_codes_are_compared_by_their_first_signs():
    cells = ["E10.9", "E10", "I219", "I2", "07123", 71, "0712", " E10 ", None, "NA", "e10"]
    # 71 is 071, as it would be without a group: one number is one value.
    expected = [0, 0, 1, OTHER, 2, 2, 2, 0, MISSING, MISSING, OTHER]
    assert read(ICD, cells) == expected


def test_codes_are_compared_by_their_longest_listed_beginning():
    cells = ["E10.9", "E119", "E12", "I10", "I219", "I2", "heart", "?"]
    expected = [0, 0, OTHER, 1, 2, 2, 1, MISSING]
    assert read(MAPPED, cells) == expected


def test_signs_for_missing_values_are_looked_for_before_the_group():
    column = {**ICD, "values": ["N", "9"], "group": {"prefix": 1}, "missing_values": ["999"]}
    assert read(column, ["NA", "Nab", "999", 999.0, "99"]) == [MISSING, 0, MISSING, MISSING, 1]


def test_renamed_spellings_are_of_groups():
    column = {**ICD, "rename": {"E11": "E10"}}
    assert read(column, ["E11.2", "E12"]) == [0, OTHER]


@pytest.mark.full
@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=5), st.integers(1, 6))
def test_a_whole_number_has_one_group_in_every_type(values, size):
    column = {"kind": "category", "values": ["1", "-2", "7"], "group": {"prefix": size}}
    column["values"] = [value for value in column["values"] if len(value) <= size]
    found = read(column, pd.Series(values, dtype="int64"))
    for kind in ("float64", "str", object, "Int64"):
        assert read(column, pd.Series(values, dtype="int64").astype(kind)) == found
    assert read(column, [f"{value}.0" for value in values]) == found
    for value, code in zip(values, found, strict=True):
        assert read(column, [value]) == [code]
        if abs(value) >= 2**53:
            assert code == OTHER


def test_spellings_of_numbers_that_are_listed_stay_what_they_are():
    column = {"kind": "category", "values": ["1E5", "tru"], "group": {"prefix": 3}}
    assert read(column, ["1E53", "1e2", True, "True", "true"]) == [0, OTHER, 1, 1, 1]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({**ICD, "group": 3}, "'x': group must be { prefix = k }"),
        ({**ICD, "group": {}}, "group must be"),
        ({**ICD, "group": {"prefix": 0}}, "group must be"),
        ({**ICD, "group": {"prefix": 101}}, "group must be"),
        ({**ICD, "group": {"prefix": True}}, "group must be"),
        ({**ICD, "group": {"prefix": 3, "mapping": {"a": "E10"}}}, "group must be"),
        ({**ICD, "group": {"mapping": {}}}, "group must be"),
        ({**ICD, "group": {"mapping": ["a"]}}, "group must be"),
        ({**ICD, "group": {"mapping": {" ": "E10"}}}, "group must be"),
        ({**ICD, "group": {"mapping": {"a": "b"}}}, "group must be"),
        ({**ICD, "group": {"mapping": {"a": ["E10"]}}}, "group must be"),
        ({**ICD, "group": {"prefix": 2}}, "by its group no cell can be 'E10'"),
        ({**ICD, "rename": {"E100": "E10"}}, "by its group no cell can be 'E100'"),
        ({**ICD, "group": {"mapping": {"E": "I21"}}}, "by its group no cell can be 'E10'"),
        ({**ICD, "values": ["None"], "rename": {"x": []}}, "rename must map"),
        ({**ICD, "missing_values": ["E10"]}, "'E10' cannot be a value and stand for"),
        ({**ICD, "missing_values": "E10"}, "missing_values must be a list of different"),
        ({"kind": "boolean", "missing_values": ["yes"]}, "'yes' cannot be a value"),
        ({"kind": "boolean", "group": {"prefix": 1}}, "'group' is not known here"),
        ({**NUMBER, "group": {"prefix": 1}}, "'group' is not known here"),
    ],
)
def test_what_cannot_be_is_refused(column, says):
    with pytest.raises(SchemaError) as caught:
        schema(column)
    assert says in str(caught.value)


def test_a_class_cannot_stand_for_a_missing_label():
    with pytest.raises(SchemaError, match="'no' cannot be a value"):
        schema(NUMBER, {"missing_values": ["no"]})


def test_a_model_keeps_them(tmp_path):
    codes = np.random.default_rng(0).choice(["E10.1", "E11.3", "I21", "J00"], 3000)
    table = pd.DataFrame({"x": codes, "y": np.where(codes == "I21", "yes", "no")})
    model = TableModel(schema(MAPPED), DPLogisticRegression(3.0, random_state=0)).fit(table)
    assert model.score(table) > 0.95
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    others = pd.DataFrame({"x": ["E10.77", "I29", "I1"]})
    np.testing.assert_array_equal(again.predict_proba(others), model.predict_proba(others))
    assert model.predict(others).tolist()[1] == "yes"
