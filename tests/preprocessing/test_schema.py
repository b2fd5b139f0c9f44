"""Schemas: what is accepted, and where a message says that something is wrong."""

import json
import time

import pytest

from dpscd import Schema, SchemaError
from dpscd.preprocessing.declarations import Column, Layout, Target

GOOD = """\
[table]
delimiter = ";"
missing = ["?", 9]
rows = "normalise"

[target]
column = "ill"
classes = ["no", "yes"]
rename = { nope = "no" }

[columns.age]
kind = "number"
bounds = [0, 120]
bins = 4
missing = 30

[columns."blood pressure"]
kind = "number"
bounds = "private"
missing = "column"

[columns.income]
kind = "number"
bounds = [0, 1e6]
transform = "log1p"

[columns.sex]
kind = "category"
values = ["f", "m", 3, 4.0, 4.5, true]
rename = { female = "f" }
missing = "f"
read_from_data = true

[columns.grade]
kind = "ordinal"
values = ["low", "mid", "high"]

[columns.smokes]
kind = "boolean"

[columns.name]
kind = "ignore"
"""


def test_every_field_is_read():
    schema = Schema.parse(GOOD)
    assert schema.rows == "normalise"
    assert schema.layout == Layout(delimiter=";", missing=("?", "9"))
    assert schema.target == Target("ill", ("no", "yes"), None, {"nope": "no"})
    age, pressure, income, sex, grade, smokes, name = schema.columns
    assert age == Column("age", "number", (0.0, 120.0), bins=4, missing=30.0)
    assert pressure.private_bounds
    assert pressure.missing == "column"
    assert (income.transform, income.missing) == ("log1p", "middle")
    assert sex.values == ("f", "m", "3", "4", "4.5", "true")
    assert (sex.rename, sex.missing, sex.read_from_data) == ({"female": "f"}, "f", True)
    assert grade.values == ("low", "mid", "high")
    assert (smokes.kind, name.kind) == ("boolean", "ignore")
    assert schema.features == schema.columns[:-1]
    assert schema.private == (pressure,)
    assert schema.read_from_data == ("sex",)


GROUP = {"mapping": {"E10": "diabetes", "I": "heart"}}
SCHEMAS = [
    Schema.parse(GOOD).to_dict(),
    {
        "table": {"header": False, "names": ["x", "y", "z"], "comment": "#",
                  "pairs": [["x", "z"], {"columns": ["z", "y"], "bins": 3}]},
        "target": {"column": "t", "bounds": [0.0, 1.0], "read_from_data": True},
        "columns": {name: {"kind": "boolean"} for name in "xyz"},
    },
    {
        "target": {"column": "t", "bounds": "private", "missing_values": ["refused", "9"]},
        "columns": {"x": {"kind": "number", "bounds": [0.0, 1.0], "missing_values": ["999"]}},
    },
    {
        "target": {"column": "t", "bounds": [0.0, 9.0], "transform": "log1p"},
        "columns": {"x": {"kind": "category", "values": ["diabetes", "heart"], "group": GROUP}},
    },
]  # fmt: skip


@pytest.mark.parametrize("values", SCHEMAS)
def test_plain_values_make_the_same_schema_again_and_name_nothing_else(values):
    schema = Schema.from_dict(values)
    assert schema.to_dict() == values
    assert Schema.from_dict(json.loads(json.dumps(values))) == schema
    private = [
        name for name, own in values["columns"].items() if own.get("bounds") == "private"
    ]
    private += ["t"] if values["target"].get("bounds") == "private" else []
    assert [own.name for own in schema.private] == private
    assert ("t" in schema.read_from_data) == values["target"].get("read_from_data", False)


_CLOSE = 'bounds = [0, 1e18]\nshape = "steps"\nknots = [1]'


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        *[
            ("[0, 120]", f"[{bad}]", 13, "column 'age' needs bounds = [lowest, highest]")
            for bad in ("", "120, 0", "0, inf", "-1e308, 1e308", '"0", 1', "false, true")
        ],
        ("bounds = [0, 120]", "", 11, "lowest, highest"),
        ("bins = 4", "bins = 1", 14, "bins must be"),
        ("bins = 4", "bins = 2.0", 14, "bins must be"),
        ("bins = 4", 'shape = "curve"', 14, "'line', 'steps' or 'smooth'"),
        ("bins = 4", 'shape = "line"\nbins = 4', 15, "bins go with shape"),
        ("bins = 4", "knots = [30]", 14, "knots go with shape"),
        ("bins = 4", 'shape = "steps"\nbins = 4\nknots = [3]', 16, "without bins"),
        ("bins = 4", 'shape = "smooth"\nknots = [120]', 15, "inside of declared"),
        *[
            ("bins = 4", f'shape = "smooth"\nknots = {bad}', 15, "numbers that grow")
            for bad in ("[5, 4]", '["a"]', "[]", "3")
        ],
        ("bounds = [0, 120]\nbins = 4", _CLOSE, 15, "too close together"),
        *[
            ("bins = 4", f"cyclic = true\n{more}", 14, f"a cyclic column has {says}")
            for more, says in (
                ('monotone = "up"', "no monotone"),
                ('shape = "smooth"\nknots = [50]', "no knots"),
                ('transform = "log1p"', "no transform"),
                ('shape = "line"', "shape = 'smooth', with 3 bins or more, or 'auto'"),
                ('shape = "smooth"\nbins = 2', "shape = 'smooth', with 3 bins or more"),
                ("bins = 4", "shape = 'smooth', with 3 bins or more"),
            )
        ],
        ('missing = "column"', "cyclic = true", 20, "cyclic column has no private b"),
        ('missing = "column"', "integer = true", 20, "integer needs declared bounds"),
        ("[0, 120]\nbins = 4", "[0, 120.5]\ninteger = true", 14, "whole numbers"),
        ("[0, 120]\nbins = 4", "[0, 1e17]\ninteger = true", 14, "whole numbers"),
        ("[0, 120]\nbins = 4", "[0, 1099511627776]\ninteger = true", 14, "1e12"),
        (
            "[0, 120]\nbins = 4\nmissing = 30",
            "[0, 1]\ninteger = true\ncyclic = true",
            15,
            "three whole numbers or more",
        ),
        ("missing = 30", "missing = 30\ncyclic = 1", 16, "cyclic must be true or f"),
        ("missing = 30", "missing = 121", 15, "within bounds"),
        ("missing = 30", 'missing = "mean"', 15, "'middle', 'column'"),
        ('missing = "column"', "missing = true", 20, "'middle', 'column'"),
        ('"log1p"', '"sqrt"', 25, "'income': transform"),
        ("bounds = [0, 1e6]", "bounds = [-1, 5]", 25, "begin at 0"),
        ("bounds = [0, 1e6]", 'bounds = "private"', 25, "begin at 0"),
        ('kind = "boolean"', 'kind = "bool"', 39, "'smokes' needs kind"),
        ('kind = "boolean"', 'kind = "boolean"\nbounds = [0, 1]', 40, "'bounds'"),
        ('kind = "boolean"', 'kind = "boolean"\nmissing = "no"', 40, "'middle'"),
        ('values = ["low", "mid", "high"]', 'values = ["low"]', 36, "needs values"),
        ('values = ["low", "mid", "high"]', "", 34, "needs values"),
        *[
            ('["low", "mid", "high"]', bad, 36, "different texts")
            for bad in ('["low", "low"]', '["low", []]', '"low"')
        ],
        ('missing = "f"', 'missing = "x"', 31, "one of its values"),
        *[
            ('{ female = "f" }', bad, 30, "rename must map")
            for bad in ('{ female = "x" }', '{ m = "f" }', "3", "{ female = [] }")
        ],
        ("read_from_data = true", "read_from_data = 1", 32, "true or false"),
        ('column = "ill"', 'column = ""', 6, "target needs column"),
        ('column = "ill"', 'column = "age"', 11, "is the target too"),
        ('classes = ["no", "yes"]', 'classes = ["no"]', 8, "two different classes"),
        ('classes = ["no", "yes"]', "", 6, "target 'ill' needs either classes"),
        ('classes = ["no", "yes"]', "bounds = [0, 1]", 9, "with classes"),
        ("[target]", "[target]\nbounds = [0, 1]", 6, "either classes"),
        ('rows = "normalise"', 'rows = "long"', 4, "'scale' or 'normalise'"),
        *[
            ('delimiter = ";"', bad, 2, "must be one sign of ASCII, not a quote")
            for bad in (
                'delimiter = "--"',
                'delimiter = "\\n"',
                "comment = 3",
                'comment = "§"',
                "comment = '\"'",
            )
        ],
        ('delimiter = ";"', "header = 0", 2, "header must be"),
        ('delimiter = ";"', "header = false", 1, "without header"),
        ('delimiter = ";"', 'names = ["a"]', 2, "without header"),
        ('delimiter = ";"', 'separator = ";"', 2, "'separator' is not known here"),
        ('kind = "ignore"', 'kind = "ignore"\nvalues = ["a"]', 43, "'name': 'values'"),
        *[
            ('delimiter = ";"', f"person = {person}", 2, "must be the name of one col")
            for person in ('""', '"  "', "7", "true", '["patient", "visit"]', '["patient"]')
        ],
        ('delimiter = ";"', 'person = "ill"', 2, "'ill' is the target: it cannot"),
        ('delimiter = ";"', 'person = "age"', 2, "'age' identifies persons, so"),
    ],
)
def test_messages_name_the_line(old, new, line, says):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(changed(old, new), "people.toml")
    assert str(caught.value).startswith(f"people.toml line {line}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it has no [target]"),
        (changed("[target]", "[aim]"), "line 6: 'aim' is not known here"),
        ("[target]\ncolumn='y'\nclasses=['a','b']", "it has no [columns]"),
        ("columns=3\n[target]\ncolumn='y'\nclasses=['a','b']", "it has no [columns]"),
        ("table=3\n[target]\ncolumn='y'\nclasses=['a','b']\n[columns]", "must be a table"),
        ("[target]\ncolumn='y'\nclasses=['a','b']\n[columns]\nx=3", "[columns.x]"),
        ("[target]\ncolumn='y'\nclasses=['a','b']\n[columns]", "every column is ignored"),
        (
            "[target]\ncolumn='y'\nclasses=['a','b']\n[columns.x]\nkind='ignore'",
            "every column is ignored",
        ),
        ("[target", "is not TOML"),
    ],
)
def test_what_is_missing_is_said(text, says):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text)
    assert says in str(caught.value)


def test_a_flag_that_is_false_says_nothing():
    text = changed("bins = 4", "bins = 4\ninteger = false\ncyclic = false")
    assert Schema.parse(text) == Schema.parse(GOOD)


def test_plain_values_that_are_no_table_are_refused():
    with pytest.raises(SchemaError, match="a schema is a table"):
        Schema.from_dict([1])


def test_files_may_begin_with_a_mark_and_must_be_text(tmp_path):
    file = tmp_path / "people.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert Schema.read(file) == Schema.parse(GOOD)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match=r"people.toml is not a text"):
        Schema.read(file)


def test_lines_are_found_behind_texts_of_several_lines():
    text = '[target]\ncolumn = "y"\nclasses = [\n  "a=b",\n  "c",\n]\n[columns.x]\nkind = "n"'
    with pytest.raises(SchemaError, match=r"^schema line 8"):
        Schema.parse(text)
    text = (
        'target.column = "y"\ntarget.classes = """\n[x y]\nx = [\n"""\n[columns.x]\nkind = ""'
    )
    with pytest.raises(SchemaError, match=r"\* schema line 2:"):
        Schema.parse(text)


PERSON = '[table]\nperson = "patient"\n\n' + GOOD.split("\n\n", 1)[1]


def test_a_column_may_identify_persons():
    schema = Schema.parse(PERSON)
    assert schema.person == "patient"
    assert schema.to_dict()["table"] == {"person": "patient"}
    assert Schema.from_dict(schema.to_dict()) == schema
    assert "patient" not in {column.name for column in schema.columns}
    ignored = Schema.parse(PERSON.replace('"patient"', '"name"'))
    assert ignored.person == "name"


def test_a_column_of_persons_can_be_named_later():
    plain = Schema.parse(GOOD)
    schema = plain.with_person("patient")
    assert schema.person == "patient"
    assert schema.with_person("patient") == schema
    assert (schema.layout, schema.columns) == (plain.layout, plain.columns)
    assert Schema.parse(GOOD.split("\n\n", 1)[1]).with_person("name").person == "name"
    with pytest.raises(SchemaError, match="says that column 'patient' identifies persons, not"):
        schema.with_person("name")
    with pytest.raises(SchemaError, match="'age' identifies persons, so it must not be"):
        plain.with_person("age")


def test_all_mistakes_are_named_at_once_in_the_order_of_lines():
    text = """
[table]
rows = "long"
delimiter = ";;"

[target]
column = "ill"

[columns.age]
kind = "number"
bound = [0, 120]
steps = 3

[columns.sex]
kind = "category"

[columns.income]
kind = "number"
bounds = [0, 10.5]
integer = true
"""
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text, "s.toml")
    lines = str(caught.value).splitlines()
    assert lines[0] == "7 mistakes in the schema:"
    starts = [line.split(":")[0] for line in lines[1:]]
    assert starts == [f"* s.toml line {k}" for k in (3, 4, 6, 9, 11, 14, 20)]
    assert "column 'age' needs bounds" in lines[4]
    assert "'bound', 'steps' are not known here" in lines[5]
    assert "integer needs declared bounds" in lines[7]


def test_very_many_mistakes_are_counted():
    columns = {f"c{k}": {"kind": "no such"} for k in range(100)}
    values = {"target": {"column": "y", "classes": ["a", "b"]}, "columns": columns}
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(values)
    lines = str(caught.value).splitlines()
    assert lines[0] == "100 mistakes in the schema:"
    assert len(lines) == 22
    assert lines[-1] == "and 80 more."


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 200_000,
        "a = " + "[" * 200_000 + "]" * 200_000,
        "a = {" * 100_000,
        ".".join(["a"] * 40_000) + " = 1",
        "[" + ".".join(["a"] * 40_000) + "]",
        ".".join(['"a = "'] * 20_000) + " = 1",
        '"\\' * 40_000,
        '"""' * 20_001 + "'''" * 20_001,
    ],
    ids=range(8),
)
def test_what_is_nested_too_deeply_is_refused_at_once(text):
    begun = time.process_time()
    with pytest.raises(SchemaError, match="schema is not TOML: "):
        Schema.parse(text)
    assert time.process_time() - begun < 3.0


def test_dots_and_brackets_in_texts_count_for_nothing():
    marks = "[{." * 50
    lines = [
        f"# {marks}",
        "[target]",
        'column = "y"',
        f'classes = ["{marks}", "{marks}x"]',
        f"[columns.'{marks}']",
        'kind = "number"',
        'shape = "steps"',
        "knots = [" + ", ".join(f"{k}.5" for k in range(30)) + "]",
        "bounds = [-0.5, 100.5]",
    ]
    found = Schema.parse("\n".join(lines))
    assert found.target.classes == (marks, f"{marks}x")
    assert found.columns[0].name == marks
