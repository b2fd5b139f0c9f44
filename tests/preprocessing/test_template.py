"""Templates: from declared names alone, unless asked otherwise in so many words."""

import re
import tomllib

import pandas as pd
import pytest

from dpscd import DataError, Schema, SchemaError
from dpscd.preprocessing import schema_keys
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.template import ReadTemplate, may_identify, template

TABLE = pd.DataFrame(
    {
        "age": ["30", "41", "?"],
        "odd name [x]": ["a", "b", ""],
        "empty": ["", "", "NA"],
        "income": [1.5, 2.5, -3.0],
        "ill": ["no", "yes", "no"],
    }
)


NAMES = dict.fromkeys(TABLE.columns, "")


def filled(target=None, layout=None, table=TABLE):
    found = ReadTemplate(list(table.columns), layout or Layout())
    found.look(table)
    return found.text(target)


def test_a_template_of_names_leaves_everything_to_be_filled_in():
    text = template(NAMES, Layout())
    assert text.count("FILL IN") == 5
    assert '[columns."odd name [x]"]\nkind = ""' in text
    assert '[target]\ncolumn = "ill"\nclasses = []' in text
    assert 'column = "age"' in template(NAMES, Layout(), target="age")


def test_declared_kinds_are_kept():
    kinds = {"a": "number", "b": "category", "c": "boolean", "d": "", "y": "number"}
    text = template(kinds, Layout())
    assert text.count("FILL IN") == 4
    assert '[columns.a]\nkind = "number"\nbounds = []' in text
    assert '[columns.b]\nkind = "category"\nvalues = []' in text
    assert '[columns.c]\nkind = "boolean"\n\n' in text


def test_an_unfilled_template_says_where_to_go_on():
    text = template({"age": "", "ill": ""}, Layout())
    lines = text.splitlines()

    def line_of(start):
        return next(k for k, line in enumerate(lines, start=1) if line.startswith(start))

    with pytest.raises(SchemaError, match=f"line {line_of('classes')}: target 'ill' needs"):
        Schema.parse(text)
    text = text.replace("classes = []", 'classes = ["no", "yes"]')
    with pytest.raises(SchemaError, match=f"line {line_of('kind')}: column 'age' needs kind"):
        Schema.parse(text)
    number = text.replace('kind = ""', 'kind = "number"')
    with pytest.raises(SchemaError, match=f"line {line_of('kind') - 1}: .*'age' needs bounds"):
        Schema.parse(number)
    done = Schema.parse(number.replace("# bounds = []", "bounds = [0, 120]"))
    assert done.columns[0].bounds == (0.0, 120.0)
    named = text.replace('kind = ""', 'kind = "category"')
    named = named.replace("# values = []", "values = []")
    with pytest.raises(SchemaError, match=f"line {line_of('# values')}: .*'age' needs values"):
        Schema.parse(named)


def test_values_read_from_data_are_marked():
    text = filled()
    schema = Schema.parse(text)
    assert text.startswith("# NOT PRIVATE")
    assert schema.read_from_data == ("age", "odd name [x]", "empty", "income", "ill")
    age, odd, empty, income = schema.columns
    assert age.bounds == (30.0, 41.0)
    assert odd.values == ("a", "b")
    assert empty.kind == "ignore"
    assert income.bounds == (-3.0, 2.5)
    assert schema.target.classes == ("no", "yes")


def test_targets_are_numbers_or_classes():
    assert Schema.parse(filled(target="income")).target.bounds == (-3.0, 2.5)
    assert Schema.parse(filled(target="age")).target.classes == ("30", "41")


def test_columns_with_many_texts_are_left_out():
    table = pd.DataFrame({"name": [f"n{k}" for k in range(150)], "y": ["0", "1"] * 75})
    text = filled(table=table)
    assert 'kind = "ignore"  # more than 100 different values\nread_from_data = true' in text
    found = ReadTemplate(["name", "y"], Layout())
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


def test_an_index_of_pandas_is_no_feature_and_no_target():
    for name in ("Unnamed: 0", "__index_level_0__"):
        for names in ([name, "age", "ill"], ["age", "ill", name]):
            read = ReadTemplate(names, Layout())
            read.look(pd.DataFrame(dict(zip(names, [[1, 2]] * 3, strict=True))))
            for text in (template(dict.fromkeys(names, "number"), Layout()), read.text(None)):
                assert text.count("by its name the index of a table of pandas") == 1
                assert tomllib.loads(text)["columns"][name]["kind"] == "ignore"
                assert tomllib.loads(text)["target"]["column"] == "ill"
    assert 'column = "Unnamed: 0"' in template({"Unnamed: 0": ""}, Layout())


LOOK_LIKE_ONE = ["id", "ID", "patient_id", "patientId", "PatientID", "patient", "Person No",
                 "customer-number", "USER_ID", "client", "member.nr", "account", "SSN",
                 "Household", "subject2", "my id"]  # fmt: skip
DO_NOT = ["age", "idle", "paid", "video", "patience", "personal", "users", "Guid3d", "grid",
          "humid", "accountant", "é"]  # fmt: skip


def test_names_that_look_as_if_they_identified_persons():
    assert [name for name in LOOK_LIKE_ONE if not may_identify(name)] == []
    assert [name for name in DO_NOT if may_identify(name)] == []


def test_a_template_asks_for_the_column_of_persons():
    for names in (["age", "ill"], ["age", "patient_id"]):
        text = template(dict.fromkeys(names, ""), Layout())  # the last one is the target
        assert "\n[table]\n# Does a column say which person" in text
        assert '\n# person = "..."\n' in text
        assert "# If none does, each record is protected by itself: somebody with k" in text
    text = template(dict.fromkeys(["patient_id", "age", "user name", "ill"], ""), Layout())
    assert '\n# person = "patient_id"\n# person = "user name"\n# If none' in text
    assert "[columns.patient_id]" in text
    assert "\nperson =" not in text


def test_a_template_of_names_that_are_answered_has_persons():
    columns = {"patient_id": "number", "sick": "boolean", "ill": "number"}
    text = template(columns, Layout(delimiter=";"))
    for empty in ("classes = []", "bounds = []"):
        text = text.replace(empty, "bounds = [0, 1]")
    assert Schema.parse(text).person is None
    answered = text.replace("# person", "person")
    with pytest.raises(SchemaError, match="so it must not be a feature"):
        Schema.parse(answered)
    start, end = answered.index("[columns.patient_id]"), answered.index("[columns.sick]")
    assert Schema.parse(answered[:start] + answered[end:]).person == "patient_id"


@pytest.mark.parametrize("layout", [Layout(), Layout(delimiter=";", comment="|")])
def test_a_column_of_persons_that_is_named_is_no_feature(layout):
    text = template(NAMES, layout, person="odd name [x]")
    assert '\nperson = "odd name [x]"\n' in text
    assert 'columns."odd' not in text
    assert "Does a column say" not in text
    found = ReadTemplate(list(TABLE.columns), layout)
    found.look(TABLE)
    schema = Schema.parse(found.text(None, "age"))
    assert schema.person == "age"
    assert "age" not in {column.name for column in schema.columns}
    assert "age" not in schema.read_from_data
    assert schema.layout == layout
    for person, target, says in (
        (None, "x", "no column 'x' to be the target"),
        ("x", None, "no column 'x' to identify persons"),
        ("ill", None, "'ill' is the target: it cannot identify"),
        ("age", "age", "'age' is the target: it cannot identify"),
    ):
        with pytest.raises(DataError, match=says):
            template(NAMES, layout, target=target, person=person)
        with pytest.raises(DataError, match=says):
            found.text(target, person)


def test_a_template_names_every_key():
    text = template({"age": "", "ill": ""}, Layout())
    told = text.partition("# All keys, ")[2].replace("#     ", "").replace("\n", " ")
    for part, keys in {
        "[table]": schema_keys.TABLE_KEYS,
        "[target]": schema_keys.TARGET,
        **{f" {kind}": keys for kind, keys in schema_keys.KEYS.items()},
    }.items():
        line = told.partition(f"{part}:")[2].partition("#")[0]
        assert set(keys) <= set(re.findall("[a-z_]+", line)), part
    assert all(
        line.startswith("#") for line in text.partition("# All keys")[2].splitlines()[1:]
    )


@pytest.mark.parametrize(
    ("names", "delimiter", "says"),
    [
        (["39", "Bachelors"], ",", "does not hold names of columns"),
        (["age", ""], ",", "does not hold names of columns"),
        ([], ",", "no two of one name"),
        (["age;sex;ill"], ",", r'is --delimiter ";" missing\?'),
        (["age,sex"], ";", r'is --delimiter "," missing\?'),
    ],
)
def test_names_that_are_none_are_refused(names, delimiter, says):
    layout = Layout(delimiter=delimiter)
    with pytest.raises(DataError, match=says):
        template(dict.fromkeys(names, ""), layout)
    with pytest.raises(DataError, match=says):
        ReadTemplate(names, layout)
