"""Templates: from names and types alone, unless asked otherwise in so many words."""

import pandas as pd
import pytest

from dpscd import DataError, Schema, SchemaError
from dpscd.preprocessing.schema import Layout
from dpscd.preprocessing.template import Template, template

TABLE = pd.DataFrame(
    {
        "age": ["30", "41", "?"],
        "odd name [x]": ["a", "b", ""],
        "empty": ["", "", "NA"],
        "income": [1.5, 2.5, -3.0],
        "ill": ["no", "yes", "no"],
    }
)


def filled(values=True, target=None, layout=None, table=TABLE):
    found = Template(list(table.columns), layout or Layout(), values=values)
    found.look(table)
    return found.text(target)


def test_a_template_holds_no_value_of_the_records():
    text = template(TABLE)
    assert text == filled(values=False)
    for value in ("30", "41", '"a"', '"b"', "1.5", '"no"', '"yes"'):
        assert value not in text
    assert text.count("FILL IN") == 4
    assert '[columns."odd name [x]"]' in text
    assert 'column = "ill"' in text
    other = TABLE.assign(age=["99", "98", "97"], income=[7.0, 8.0, 9.0], ill=["c", "d", "e"])
    assert template(other) == text


def test_an_unfilled_template_says_where_to_go_on():
    with pytest.raises(SchemaError, match="line"):
        Schema.parse(template(TABLE))


def test_values_read_from_data_are_marked():
    text = filled()
    schema = Schema.parse(text)
    assert text.startswith("# NOT PRIVATE")
    assert schema.read_from_data == ("age", "odd name [x]", "income", "ill")
    age, odd, empty, income = schema.columns
    assert age.bounds == (30.0, 41.0)
    assert odd.values == ("a", "b")
    assert empty.kind == "ignore"
    assert income.bounds == (-3.0, 2.5)
    assert schema.target.classes == ("no", "yes")


def test_targets_are_numbers_or_classes():
    assert Schema.parse(filled(target="income")).target.bounds == (-3.0, 2.5)
    assert Schema.parse(filled(target="age")).target.classes == ("30", "41")
    with pytest.raises(DataError, match="no column 'x' to be the target"):
        filled(target="x")


def test_columns_with_many_texts_are_left_out():
    table = pd.DataFrame({"name": [f"n{k}" for k in range(150)], "y": ["0", "1"] * 75})
    text = filled(table=table)
    assert 'kind = "ignore"  # more than 100' in text
    found = Template(["name", "y"], Layout(), values=True)
    for _ in range(3):
        found.look(table)
    assert found.text(None) == text


def test_constant_and_endless_columns_have_a_range():
    table = pd.DataFrame({"one": ["5", "5"], "wild": ["inf", "-inf"], "y": ["a", "b"]})
    one, wild = Schema.parse(filled(table=table)).columns
    assert one.bounds == (5.0, 6.0)
    assert wild.bounds == (0.0, 1.0)


def test_the_layout_is_kept():
    layout = Layout(header=False, names=tuple(TABLE.columns), delimiter=";", comment="|")
    assert Schema.parse(filled(layout=layout)).layout == layout


def test_a_first_line_that_is_a_record_is_not_taken_for_names():
    for names in (["39", "Bachelors"], ["age", ""]):
        with pytest.raises(DataError, match="does not hold names of columns"):
            Template(names, Layout(), values=False)


def test_tables_without_or_with_double_columns_are_refused():
    for names in ([], ["a", "a"]):
        with pytest.raises(DataError, match="no two of one name"):
            Template(names, Layout(), values=False)
