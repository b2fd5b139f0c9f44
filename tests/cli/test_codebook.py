"""``dpscd schema init --codebook``: a schema of what a codebook says, or all its mistakes."""

import csv
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import call, refusal
from dpscd import Schema, SchemaError
from dpscd.preprocessing.codebook import schema_of_codebook
from dpscd.preprocessing.declarations import Column, Layout

HEAD = "name,kind,low,high,values,label,integer,cyclic\n"
GOOD = (
    HEAD
    + """\
rooms,number,1,16,,Rooms of the flat,true,
hour,Number,0,24,,Hour,no,yes
income,number,private,private,,,,
q1,ordinal,,,1|2|3,I sleep well,,
q2,ordinal,,,1 | 2 | 3,"I eat, well",,

well,boolean,,,,,,
who,ignore,,,,Patient,,
ill,category,,,no|yes,Ill?,,
"""
)
INIT = ("schema", "init", "--codebook", "codes.csv", "--out", "s.toml")


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_codebook_becomes_a_schema(sign, folder):
    del folder
    rows = list(csv.reader(GOOD.splitlines()))
    with open("codes.csv", "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=sign).writerows(rows)
    assert "s.toml: made of codes.csv" in call(*INIT, "--person", "who").stdout
    text = Path("s.toml").read_text()
    schema = Schema.parse(text)
    answer = Column("q1", "ordinal", values=("1", "2", "3"))
    assert [column.name for column in schema.columns] == [
        "rooms", "hour", "income", "q1", "q2", "well",
    ]  # fmt: skip
    rooms, hour, income, first, *_ = schema.columns
    assert (rooms.bounds, rooms.integer, rooms.cyclic) == ((1.0, 16.0), True, False)
    assert (hour.bounds, hour.integer, hour.cyclic) == ((0.0, 24.0), False, True)
    assert income.private_bounds
    assert first == answer
    assert (schema.target.name, schema.target.classes) == ("ill", ("no", "yes"))
    assert schema.person == "who"
    assert '# q1: I sleep well\n# q2: I eat, well\n[columns."q1 and 1 more"]' in text
    assert text.count("[columns.") == 5


def test_the_table_is_compared_by_its_names(folder):
    del folder
    Path("codes.csv").write_text(GOOD)
    names = [row[0] for row in csv.reader(GOOD.splitlines()[1:]) if row]
    pd.DataFrame(columns=[*names, "note"]).to_csv("t.csv", index=False)
    call(*INIT, "t.csv", "--target", "rooms", "--person", "note")
    schema = Schema.read("s.toml")
    assert schema.target.bounds == (1.0, 16.0)
    assert schema.person == "note"
    call(*INIT[:-1], "o.toml", "t.csv")
    assert "# Not in the codebook, so not read: note\n" in Path("o.toml").read_text()
    pd.DataFrame(columns=[*names, "patient id"]).to_csv("t.csv", index=False)
    call(*INIT[:-1], "q.toml", "t.csv")
    assert '\n# person = "patient id"\n' in Path("q.toml").read_text()
    pd.DataFrame(columns=["rooms", "ill"]).to_csv("few.csv", index=False)
    says = call(*INIT[:-1], "p.toml", "few.csv", "--person", "no one", code=1).stderr
    assert "codes.csv line 3: the table has no column 'hour'." in says
    assert "codes.csv: the table has no column 'no one'." in says
    assert not Path("p.toml").exists()
    assert "nothing is read off" in refusal(*INIT, "--read-values-from-data-not-private")
    assert "give a file of the table, or --codebook" in refusal(*INIT[:2], *INIT[4:])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["it has no column 'name' in its first line", "no column 'kind' in its"]),
        (
            "name,kind,kind,unit\n",
            ["two columns called 'kind'", "'unit' is not known; use name"],
        ),
        (HEAD, ["codes.csv: it has no columns of a table"]),
        (GOOD.replace("ordinal", "scale"), ["line 5: column 'q1' needs kind, one of", "'q2'"]),
        (GOOD + GOOD.splitlines()[1], ["line 2: column 'rooms' is there twice"]),
        (GOOD.replace("1,16", "16,1"), ["line 2: column 'rooms' needs bounds"]),
        (GOOD.replace("1,16", "1,many"), ["line 2: column 'rooms' needs bounds"]),
        (GOOD.replace("1,16", "1,16.5"), ["line 2: column 'rooms': integer needs"]),
        (GOOD.replace("private,private", "private,"), ["line 4: column 'income' needs bounds"]),
        (GOOD.replace("0,24", "private,private"), ["'hour': a cyclic column has no private"]),
        (GOOD.replace("no,yes", "no,maybe"), ["line 3: column 'hour': cyclic must be true or"]),
        (GOOD.replace("1|2|3", "1|1"), ["line 5: column 'q1': values must be a list of diff"]),
        (GOOD.replace("ignore", "ignore,"), ["line 9: it must have 8 cells"]),
        (GOOD.replace("well,boolean,,,", "well,boolean,,,a|b"), ["'values' is not known here"]),
        (GOOD.replace("no|yes", "no"), ["line 10: target 'ill' needs at least two"]),
    ],
)
def test_all_mistakes_are_told_with_their_lines(text, says, tmp_path):
    (tmp_path / "codes.csv").write_text(text)
    with pytest.raises(SchemaError) as caught:
        schema_of_codebook(tmp_path / "codes.csv", Layout())
    for words in says:
        assert words in str(caught.value)


def test_a_codebook_is_a_text(tmp_path):
    (tmp_path / "codes.csv").write_bytes(b"\xff")
    with pytest.raises(SchemaError, match=r"codes\.csv is not a text in UTF-8"):
        schema_of_codebook(tmp_path / "codes.csv", Layout())
    (tmp_path / "codes.csv").write_text(GOOD)
    with pytest.raises(SchemaError, match=r"codes\.csv: it has no column 'x', the target"):
        schema_of_codebook(tmp_path / "codes.csv", Layout(), target="x")


TEXTS = [
    "{{ 7 }}",
    "<b>&amp;",
    "[a](b) `c` *d*",
    "a: #c",
    "''",
    '"q\\"',
    "=1+1",
    "a\u2028b",
]


@given(st.permutations(TEXTS), st.text(st.characters(codec="utf-8"), min_size=1))
def test_names_values_and_labels_may_be_any_text(tmp_path_factory, texts, other):
    file = tmp_path_factory.mktemp("codes") / "codes.csv"
    name, value, label, target = texts[:4]
    rows = [[name, "category", value, f"{label} {other}"], [target, "category", "a|b", other]]
    with open(file, "w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([["name", "kind", "values", "label"], *rows])
    schema = Schema.parse(schema_of_codebook(file, Layout()))
    assert [(x.name, x.values) for x in schema.columns] == [(name.strip(), (value.strip(),))]
    assert schema.target.name == target.strip()
