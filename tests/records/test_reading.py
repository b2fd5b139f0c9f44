"""Files: what is read, piece by piece, and what a bad one says."""

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpscd import DataError, ParameterError, Schema, SchemaError
from dpscd.preprocessing.declarations import Layout
from dpscd.records import refusals
from dpscd.records.files import CsvFile, names_of, open_table
from dpscd.records.tables import open_parsed

SCHEMA = Schema.from_dict(
    {
        "target": {"column": "y", "classes": ["no", "yes"]},
        "columns": {"a": {"kind": "number", "bounds": [0, 10]}, "t": {"kind": "ignore"}},
    }
)
TEXT = "a,t,y\n1,x,no\n2,y,yes\n3,z,no\n"
SECRET = "canary-7431"


def read_parsed(paths, schema, *, target=True):
    return open_parsed(paths, schema, target=target).read()


def whole(path, layout=None, wanted=None, chunk=2):
    return pd.concat(open_table(path, layout or Layout()).frames(wanted, chunk))


@pytest.fixture
def table(tmp_path):
    def write(content, name="table.csv"):
        file = tmp_path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return write


def test_cells_are_read_as_they_are_written(table):
    found = whole(table("a,t,y\n01, x ,\n1.50,NA,yes\n"))
    assert found["a"].tolist() == ["01", "1.50"]
    assert [cell.strip() for cell in found["t"]] == ["x", "NA"]
    assert found["y"].tolist() == ["", "yes"]


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT,
        TEXT.replace("a,t,y", '" a",t, y '),
        TEXT.rstrip("\n"),
        TEXT.replace("\n1,", "\n\n1,"),
    ],
    ids=["plain", "CRLF", "BOM", "spaced header", "no last newline", "blank"],
)
def test_ways_of_writing_mean_the_same(table, content):
    found = read_parsed([table(content)], SCHEMA)
    np.testing.assert_array_equal(found.columns["a"], [1, 2, 3])
    np.testing.assert_array_equal(found.target, [0, 1, 0])


def test_compressed_files_are_read(table):
    packed = table(gzip.compress(TEXT.encode()), "table.csv.gz")
    assert len(whole(packed)) == 3
    half = gzip.compress(TEXT.encode() * 1000)[:-20]
    for name, content in (("cut.csv.gz", half), ("wrong.csv.gz", TEXT)):
        with pytest.raises(DataError, match=f"{name} cannot be read"):
            whole(table(content, name))


def test_files_without_header_and_with_comments(table):
    layout = Layout(header=False, names=("a", "b"), comment="|", delimiter=";")
    found = whole(table("|first line\n1;2\n3;4\n"), layout)
    assert found.to_dict("list") == {"a": ["1", "3"], "b": ["2", "4"]}
    with pytest.raises(DataError, match="another number of columns than names in"):
        whole(table("1,2\n"), layout)


def test_wanted_columns_only_in_pieces(table):
    pieces = list(open_table(table(TEXT), Layout()).frames(["y", "a", "none"], 2))
    assert [list(piece.columns) for piece in pieces] == [["a", "y"]] * len(pieces)
    assert sum(map(len, pieces)) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,t,y\n", "has no records"),
        (f"a,t,y\n1,2,3\n1,{SECRET},3,4,5\n", "different numbers"),
        (f'a,t,y\n1,"{SECRET},3\n', "a quote is not closed"),
        (TEXT.replace(",", ";"), "no column 'a'"),
        ("a,a,y\n1,2,no\n", "two columns called 'a'"),
        (b"a,t,y\n1,\xff\xfe,no\n", "is not a text in UTF-8: save it as CSV in UTF-8"),
    ],
)
def test_bad_files_say_so_and_show_no_cell(table, content, says):
    with pytest.raises((DataError, SchemaError), match=says) as caught:
        read_parsed([table(content)], SCHEMA)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)


@pytest.mark.parametrize("stray", ['"', '"open', 'x"y,"z'])
def test_a_stray_quote_does_not_swallow_other_records(table, stray):
    # A quote that opens a cell goes on to the next one, lines away.
    layout = Layout(header=False, names=("a", "t", "y") if "," not in stray else tuple("atuy"))
    lines = [f"1,{stray},no", *["2,x,no"] * 5, '3,"z",no', "4,x,no"]
    file = table("\n".join(lines) + "\n")
    words = r"quoted cell that goes on|different numbers"
    with pytest.raises(DataError, match=words) as caught:
        whole(file, layout)
    assert caught.value.__context__ is None


def test_cells_of_several_lines_are_read_where_the_schema_allows_them(table):
    schema = Schema.from_dict({**SCHEMA.to_dict(), "table": {"multiline": True}})
    file = table(TEXT.replace("x", '"x\n\nx"'))
    files = open_parsed([file], schema)
    assert files.count == len(files.read()) == 3
    assert Schema.from_dict(schema.to_dict()).layout.multiline
    with pytest.raises(SchemaError, match="multiline must be true or false"):
        Schema.from_dict({**SCHEMA.to_dict(), "table": {"multiline": "yes"}})
    damaged = table(TEXT + '5,"x\n6,y,no\n', "damaged.csv")
    files = open_parsed([damaged], schema)
    assert files.count == 5  # lines, until the records are read
    with pytest.raises(DataError, match="a quote is not closed"):
        files.read()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 2**20])
def test_lines_are_counted_as_pandas_counts_records(table, end, chunk, monkeypatch):
    monkeypatch.setattr("dpscd.records.files._BLOCK", chunk)
    text = "\n \n# note\na,t,y\n1,x,no\n\n \t\n  2,x # rest,yes\n# note\n3,,no"
    file = table(text.replace("\n", end))
    schema = Schema.from_dict({**SCHEMA.to_dict(), "table": {"comment": "#"}})
    files = open_parsed([file], schema)
    assert files.count == 3
    np.testing.assert_array_equal(files.read().columns["a"], [1, 2, 3])


def test_a_file_that_may_not_be_read_is_the_systems_error(table, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied", "table.csv")

    monkeypatch.setattr(pd, "read_csv", refuse)
    with pytest.raises(PermissionError):
        whole(table(TEXT))


def test_parquet_is_read_in_pieces(tmp_path):
    file = tmp_path / "table.parquet"
    cells = {"a": [1, 2, 3], "t": ["x", "y", "z"], "y": ["no", "yes", None]}
    pd.DataFrame(cells).to_parquet(file)
    pieces = list(open_table(file, Layout()).frames(["a", "y"], 2))
    assert [len(piece) for piece in pieces] == [0, 2, 1]
    found = read_parsed([file], SCHEMA)
    np.testing.assert_array_equal(found.columns["a"], [1, 2, 3])
    np.testing.assert_array_equal(found.target, [0, 1, -2])
    whole_numbers = tmp_path / "large.parquet"
    large = 2**53 + 1
    columns = {
        "a": {"kind": "category", "values": [large]},
        "b": {"kind": "number", "bounds": [0, 1]},
    }
    codes = Schema.from_dict({"target": {"column": "y", "bounds": [0, 1]}, "columns": columns})
    for more in ([large, True], [None, None]):  # a missing value does not change the others
        table = pa.table({"a": [large, more[0]], "b": [True, more[1]], "y": [0.5, 0.5]})
        parquet.write_table(table, whole_numbers)
        found = read_parsed([whole_numbers], codes)
        assert found.columns["a"][0] == 0
        assert found.columns["b"][0] == 1.0
    file.write_bytes(b"PAR1 no parquet")
    with pytest.raises(DataError, match="not a Parquet file"):
        whole(file)


PERSONS = SCHEMA.with_person("p")


def people(count, seed=0):
    rng = np.random.default_rng(seed)
    who = rng.integers(0, 40, count)
    return pd.DataFrame({"a": rng.integers(0, 9, count), "p": who, "y": "no"})


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "parquet of texts"])
def test_persons_are_counted_over_all_pieces_and_files(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("dpscd.records.files.CHUNK", 7)
    tables = [people(50), people(30, 1), people(1, 2)]
    paths = [tmp_path / f"{number}.{kind.partition(' ')[0]}" for number in range(3)]
    for path, frame in zip(paths, tables, strict=True):
        if kind.startswith("csv"):
            frame.to_csv(path, index=False)
        else:
            (frame.astype(str) if "texts" in kind else frame).to_parquet(path)
    whole = pd.concat(tables)["p"]
    expected, values = pd.factorize(whole)
    source = open_parsed(paths, PERSONS, person=True)
    assert source.count == len(values)
    found = source.read()
    np.testing.assert_array_equal(found.persons, expected)
    assert len(found) == 81
    assert "p" not in found.columns
    for other in (open_parsed(paths, PERSONS), open_parsed(paths, SCHEMA, person=True)):
        assert (other.count, other.read().persons) == (81, None)


def test_rows_without_a_person_are_nobody(table):
    file = table("a,p,y\n1,x,no\n2,,yes\n3,NA,no\n4, x ,no\n5,007,no\n6,7,no\n7,7.0,no\n")
    source = open_parsed([file], PERSONS, person=True)
    assert source.count == 4
    assert source.read().persons.tolist() == [0, -1, -1, 0, 1, 2, 3]
    nobody = open_parsed([table("a,p,y\n1,,no\n", "n.csv")], PERSONS, person=True)
    assert nobody.count == 0
    assert nobody.read().persons.tolist() == [-1]


def test_only_identifiers_are_looked_at_for_the_count(table, monkeypatch):
    seen = []
    frames = CsvFile.frames

    def noted(self, wanted):
        seen.append(wanted)
        return frames(self, wanted)

    monkeypatch.setattr(CsvFile, "frames", noted)
    source = open_parsed([table("a,p,y\n1,x,no\n2,y,no\n")], PERSONS, person=True)
    assert (source.count, seen) == (2, [["p"]])
    source.read()
    assert seen[1:] == [["a", "y", "p"]]


@pytest.mark.parametrize("after", ["1,x,no\n2,y,no\n", "1,x,no\n2,y,no\n3,y,no\n", ""])
def test_a_file_that_changes_between_both_readings_is_refused(table, after):
    file = table("a,p,y\n1,x,no\n2,x,no\n")
    source = open_parsed([file], PERSONS, person=True)
    table(f"a,p,y\n{after}")
    with pytest.raises(DataError) as caught:
        source.read()
    assert str(caught.value) == refusals.CHANGED
    table("a,p,y\n")
    with pytest.raises(DataError, match="no records"):
        open_parsed([file], PERSONS, person=True).read()


def test_persons_come_through_a_pipe(monkeypatch):
    text = b"a,p,y\n1,x,no\n2,x,no\n3,z,no\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    source = open_parsed(["-"], PERSONS, person=True)
    assert source.count == 2
    assert source.read().persons.tolist() == [0, 0, 1]


def test_columns_that_pandas_kept_as_an_index_are_columns(tmp_path):
    frame = pd.DataFrame(
        {"t": ["x", "z"], "y": ["no", "yes"]}, index=pd.Index([1, 2], name="a")
    )
    frame.to_parquet(tmp_path / "t.parquet")
    file = open_table(tmp_path / "t.parquet", Layout())
    assert sorted(file.names()) == ["a", "t", "y"]
    (found,) = [part for part in file.frames(["a", "y"]) if len(part)]
    assert found["a"].tolist() == [1, 2]


def test_a_file_that_grows_between_counting_and_reading_is_refused(table):
    file = table("a,t,y\n1,x,no\n2,x,yes\n")
    opened = open_parsed([file], SCHEMA)
    with file.open("a") as more:
        more.write("3,x,no\n")
    with pytest.raises(DataError) as refused:
        opened.read()
    assert str(refused.value) == refusals.CHANGED


def test_names_of_what_is_a_table_and_not_of_a_pipe(table):
    for given in (table(TEXT), [str(table(TEXT))], pd.DataFrame(columns=["a", "t", "y"])):
        assert names_of(given, Layout()) == ["a", "t", "y"]
    assert names_of([[1.0]], Layout()) == []
    with pytest.raises(ParameterError, match="read once"):
        names_of("-", Layout())
