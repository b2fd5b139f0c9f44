"""Names of columns are read without a record having any part in it."""

import gzip
import io
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpscd import DataError
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.template import declared_columns
from dpscd.records import files

RECORDS = [
    b"",
    b"1,f,no\n",
    b"one,f,no\n",
    b"\xff\xfe\x00not a text\n" * 50,
    b'1,2,3,4,5,6,7\n"never closed',
    b"\x1f\x8b\x08" + bytes(range(256)) * 1000,
]


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_what_follows_the_names_changes_nothing(tmp_path, records, end):
    file = tmp_path / "t.csv"
    file.write_bytes(b"age, sex ,ill" + end + records)
    assert declared_columns(file, Layout()) == {"age": "", "sex": "", "ill": ""}


def test_names_as_tables_write_them(tmp_path):
    file = tmp_path / "t.csv"
    text = '\ufeff# a comment\n\n  \n"a; b";c "d"; "e # f" # more\nx;y;z\n'
    file.write_text(text, encoding="utf-8")
    layout = Layout(delimiter=";", comment="#")
    assert list(declared_columns(file, layout)) == ["a; b", 'c "d"', "e # f"]


def test_a_file_without_header_is_not_even_opened(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_bytes(b"1,2")
    opened = lambda _: pytest.fail("the file was opened")  # noqa: E731
    monkeypatch.setattr(files.CsvFile, "_opened", opened)
    layout = Layout(header=False, names=("a", "b"))
    assert declared_columns(file, layout) == {"a": "", "b": ""}
    with pytest.raises(DataError, match="no two of one name"):
        declared_columns(file, Layout(header=False, names=("a", "a")))


def test_packed_files_and_pipes(tmp_path, monkeypatch):
    text = b"age,ill\n" + b"1,no\n" * 9
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(text))
    assert list(declared_columns(packed, Layout())) == ["age", "ill"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert list(declared_columns("-", Layout())) == ["age", "ill"]


@pytest.mark.parametrize("name", ["t.zip", "t.csv.BZ2", "t.csv.xz", "t.csv.zst", "t.tgz"])
def test_other_archives_are_to_be_unpacked(tmp_path, name):
    (tmp_path / name).write_bytes(b"canary")
    with pytest.raises(DataError, match=rf"{name} is packed: unpack it \(only \.gz") as caught:
        declared_columns(tmp_path / name, Layout())
    assert "canary" not in str(caught.value)


def test_files_without_usable_names_are_refused(tmp_path, monkeypatch):
    def says(name, content, match):
        file = tmp_path / name
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(DataError, match=match) as caught:
            declared_columns(file, Layout())
        assert "canary" not in str(caught.value)

    says("none.csv", None, "there is no file")
    says("empty.csv", b"", "is empty")
    says("blank.csv", b"\n \n", "is empty")
    says("double.csv", b"a,b,a\ncanary", "no two of one name; for a file without header give")
    # A record that was taken for names, two cells of which are equal.
    says("bare.csv", b"1,0,0\n2,canary,1", "does not hold names of columns")
    says("days.csv", b"2020-01-01,canary\n", "does not hold names of columns")
    says("clock.csv", b"canary,1.2.2020 03:00\n", "does not hold names of columns")
    says("index.csv", b",age,ill\n0,canary,no", "as pandas writes its index: .* index=False")
    says("gaps.csv", b",age,\n0,canary,no", "does not hold names of columns")
    for text in ('[{"day":5,"ill":"canary"}]', '{"day":{"0":5}}', "[\n", '[["canary",2]]', "{"):
        says("t.txt", text.encode(), "is JSON, not a table: save it as CSV")
    for name in ("t.json", "t.jsonl"):
        says(name, b'{"canary":1}', f"{name} is JSON: save it as CSV")
    says("t.XLSX", b"PK", "is a spreadsheet: save it as CSV in UTF-8")
    says("open.csv", b'a,"b\ncanary,1', "not closed")
    monkeypatch.setattr(files, "_LONGEST", 1000)
    says("other.csv", b"\xff\xfea\x00\n", "not a text in UTF-8")
    says("long.csv", b"canary" * 2000, "does not end")
    says("t.gz", b"canary", "cannot be read")
    says("cut.gz", gzip.compress(b"a,b\n" * 99)[:12], "cannot be read")
    says("t.feather", b"canary", "is a Feather file: save it as Parquet")
    says("t.parquet", b"canary", "not a Parquet file")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(DataError, match="is a folder without Parquet files"):
        declared_columns(folder, Layout())


def test_a_parquet_file_declares_types(tmp_path, monkeypatch):
    kinds = {
        "integer": [pa.int8(), pa.uint64()],
        "number": [pa.float32(), pa.decimal128(9, 2)],
        "boolean": [pa.bool_()],
        "category": [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
        "date": [pa.date32()],
        "": [pa.null()],
    }
    expected = {str(own): kind for kind, types in kinds.items() for own in types}
    schema = pa.schema([(str(own), own) for types in kinds.values() for own in types])
    parquet.write_table(schema.empty_table(), tmp_path / "t.parquet")
    assert declared_columns(tmp_path / "t.parquet", Layout()) == expected
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "two.parquet")
    with pytest.raises(DataError, match="no two of one name"):
        declared_columns(tmp_path / "two.parquet", Layout())
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match="need pyarrow"):
        declared_columns(tmp_path / "t.parquet", Layout())
