"""One part of a schema for several columns: listed, or by a pattern that a table resolves."""

import pytest

from dpscd import Schema, SchemaError
from dpscd.preprocessing.declarations import Column

BLOCK = """
[table]
person = "who"
pairs = [["q1", "age"]]
[target]
column = "y"
classes = ["a", "b"]
[columns.answers]
columns = ["q1", "q2", "q 3"]
kind = "ordinal"
values = [1, 2, 3]
[columns.age]
kind = "boolean"
"""
PATTERN = BLOCK.replace('["q1", "q2", "q 3"]', '"q*"')


def test_one_block_may_be_for_several_columns():
    schema = Schema.parse(BLOCK)
    assert [column.name for column in schema.columns] == ["q1", "q2", "q 3", "age"]
    assert schema.columns[2] == Column("q 3", "ordinal", values=("1", "2", "3"))
    assert Schema.from_dict(schema.to_dict()) == schema
    assert set(schema.to_dict()["columns"]) == {"q1", "q2", "q 3", "age"}


def test_a_pattern_stands_for_columns_of_a_table():
    schema = Schema.parse(PATTERN)
    assert schema.patterns
    assert Schema.from_dict(schema.to_dict()) == schema
    found = schema.resolved(["who", "q1", "age", "q2", "Q9", "q 3", "y"])
    assert found == Schema.parse(BLOCK)
    assert not found.patterns
    assert found.resolved(["other"]) == found
    for ask in (lambda: schema.features, lambda: schema.parts, lambda: schema.private):
        with pytest.raises(SchemaError, match=r"columns = 'q\*' is a pattern, .* give a file"):
            ask()


@pytest.mark.parametrize(
    ("text", "names", "says"),
    [
        (PATTERN, ["age", "y"], r"pattern 'q\*' matches no column of the table"),
        (PATTERN.replace("q*", "?*"), ["y", "q1"], "column 'y' too, which is the target or id"),
        (PATTERN.replace("q*", "[qw]*"), ["who", "q1"], "column 'who' too, which is"),
        (PATTERN.replace("q*", "*[!yo]"), ["q1", "age"], "column 'age' is in two blocks"),
        (PATTERN, ["q2", "age"], "pairs: there is no column 'q1'"),
        (PATTERN.replace("[columns.age]", "[columns.b]\ncolumns = 'q*'"), ["q1"],
         r"\[columns.answers\] and \[columns.b\]"),
        (BLOCK.replace("[columns.age]", "[columns.q2]"), [],
         r"line 12: column 'q2' is in two blocks, \[columns.answers\] and \[columns.q2\]"),
        (BLOCK.replace('"q2"', '"q1"'), [], "line 9: block 'answers': columns must be"),
        (BLOCK.replace('["q1", "q2", "q 3"]', "[]"), [], "columns must be a list of names, or"),
        (BLOCK.replace('["q1", "q2", "q 3"]', '""'), [], "columns must be a list of names, or"),
        (BLOCK.replace('["q1", "q2", "q 3"]', "7"), [], "columns must be a list of different"),
        (BLOCK.replace('"q2"', '"y"'), [], "column 'y' is the target too"),
        (BLOCK.replace('"q2"', '"who"'), [], "'who' identifies persons, so it must not be"),
        (BLOCK.replace("[1, 2, 3]", "[1]"), [], "line 11: block 'answers' needs values"),
    ],
)  # fmt: skip
def test_blocks_that_cannot_be_are_refused(text, names, says):
    with pytest.raises(SchemaError, match=says):
        Schema.parse(text).resolved(names)
