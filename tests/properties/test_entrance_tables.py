"""Tables by a schema: no cell refuses anything, none changes what another record means."""

import functools
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hostile import (
    ANYTHING,
    ENTRANCE,
    Untold,
    apart,
    built,
    changes,
    check_change,
    check_others,
    one_of_these,
    outcome,
    replaced,
    turning_changes,
    typed_changes,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from kinds import NUMBERS, STRANGE, TABLES, TYPED_COLUMNS, frame_of, object_column
from opening import (
    codes_in,
    count_and_pieces,
    has_sparse_rows,
    numbers_in,
    said_by_cells,
    table_part_reader,
    table_reader,
)
from pyarrow import parquet

from dpscd import RowScaler, Schema, TableEncoder
from dpscd.records import refusals
from dpscd.records.cells import Grouped, Listed, NumberCells, TruthCells
from dpscd.records.labels import ClassLabels, NumberLabels, trained_bounds

NAMES = ("age", "sex", "grade", "smokes", "ill")


def schema(shape=None, pairs=(), **target):
    return Schema.from_dict(
        {
            "table": {"missing": ["999", "NA", "?", "None"], "pairs": pairs},
            "target": {"column": "ill", **(target or {"classes": ["0", "1", "yes"]})},
            "columns": {
                "age": {
                    "kind": "number",
                    "bounds": [-10, 1000],
                    "missing": "column",
                    **(shape or {}),
                },
                "sex": {
                    "kind": "category",
                    "values": ["1", "true", "a", "7", "None", "1 days"],
                },
                "grade": {
                    "kind": "ordinal",
                    "values": ["0", "0.1", "7", "2020-01-01"],
                    "missing": "middle",
                },
                "smokes": {"kind": "boolean", "missing": "column"},
            },
        }
    )


SCHEMA = schema()
PLAIN_TARGET = schema({"shape": "smooth", "knots": [0.1, 7, 100]}, bounds=[-5, 5])
# One with dense rows, one with sparse ones.
FEW = schema({"shape": "steps"}, [{"columns": ["age", "grade"], "bins": 2}, ["sex", "smokes"]])
MANY = schema({"shape": "smooth"}, [{"columns": ["sex", "age"], "bins": 99}, ["smokes", "age"]])
GROUPED = Schema.from_dict(
    {
        "table": {"missing": ["NA", "?"]},
        "target": {"column": "ill", "classes": ["0", "1"], "missing_values": ["yes", 999]},
        "columns": {
            "age": {"kind": "number", "bounds": [-10, 1000], "missing_values": [999, 7, "a"]},
            "sex": {
                "kind": "category",
                "values": ["1", "t", "a", "N", "99"],
                "group": {"mapping": {"1": "1", "9": "99", "tr": "t", "No": "N"}},
            },
            "grade": {
                "kind": "category",
                "values": ["0", "1", "7", "a", "T"],
                "missing_values": ["None", "yes"],
                "missing": "column",
                "group": {"prefix": 1},
            },
            "smokes": {"kind": "boolean", "missing": "column", "missing_values": [7, "b"]},
        },
    }
)
LOGARITHM = schema(bounds=[0, 50], transform="log1p", missing_values=[7])
ROUND = schema({"cyclic": True}, [["age", "grade"]])
WHOLE = schema({"integer": True, "bins": 9}, [["age", "sex"]], bounds=[-5, 5])
TABLE = (SCHEMA, ClassLabels((0, 1, 2)))
MEANINGS = [
    TABLE,
    (PLAIN_TARGET, NumberLabels(-5.0, 5.0)),
    (FEW, ClassLabels((0, 1, 2))),
    (MANY, ClassLabels((0, 1, 2))),
    (GROUPED, ClassLabels((0, 1))),
    (ROUND, ClassLabels((0, 1, 2))),
    (WHOLE, NumberLabels(-5.0, 5.0)),
    (LOGARITHM, NumberLabels(*trained_bounds(LOGARITHM.target))),
]
READERS = [table_part_reader(*meaning) for meaning in MEANINGS]
READ, READ_ANY = READERS[0], table_reader(*TABLE)
assert [has_sparse_rows(*meaning) for meaning in MEANINGS].count(True) == 1
LISTED = ["1", 1, True, "True", 7.0, "07", "a", "b", "?", "0", 0.1, "0.1", "None", "yes", 999]
CELLS = ANYTHING + LISTED + LISTED
cells = one_of_these(CELLS)


FRAMES = {kind: frame_of(make, NAMES) for kind, make in TABLES.items()}
TYPED = {kind: frame_of(make, NAMES) for kind, make in TYPED_COLUMNS.items()}


def check_tables(make, change, read):
    check_change(read, make, change, refuses=False)


@pytest.mark.full
@pytest.mark.parametrize("kind", FRAMES)
@ENTRANCE
@given(change=changes(CELLS, 5, ()), read=st.sampled_from(READERS))
def test_tables(kind, change, read):
    check_tables(FRAMES[kind], change, read)


@pytest.mark.full
@pytest.mark.parametrize("kind", TYPED)
@ENTRANCE
@given(change=typed_changes(5), read=st.sampled_from(READERS))
def test_tables_of_one_type(kind, change, read):
    check_tables(TYPED[kind], change, read)


@pytest.mark.full
@ENTRANCE
@given(change=turning_changes(5), read=st.sampled_from(READERS))
def test_columns_that_change_their_type(change, read):
    check_tables(FRAMES["as pandas infers them"], change, read)


@pytest.mark.full
@ENTRANCE
@given(
    kind=st.sampled_from(["as pandas infers them", "objects"]),
    change=changes(CELLS, 5, ()),
    cut=st.integers(0, 3),
)
def test_a_record_is_the_same_alone_and_in_any_partition(kind, change, cut):
    records, k, _ = change
    parts = [records[:cut], records[cut:], [records[k]]]
    try:
        whole, *parts = [built(FRAMES[kind], part) for part in (records, *parts) if part]
    except Untold:
        assume(False)
    found = outcome(READ, whole)
    *parts, alone = [outcome(READ, part) for part in parts]
    assert [row for part in parts for row in part] == found
    assert alone == [found[k]]


@pytest.mark.full
@ENTRANCE
@given(
    change=changes(NUMBERS + LISTED, 5),
    place=st.integers(0, 4),
    kind=st.sampled_from([list, object_column]),
)
def test_a_target_that_is_given_apart(change, place, kind):
    records, k, other = change
    labels = kind([record[place] for record in records])
    after = kind([record[place] for record in replaced(records, k, other)])
    table = FRAMES["objects"](records).drop(columns="ill")

    check_others(READ_ANY, (table, labels), (table, after), k, refuses=False)


@pytest.mark.parametrize("cell", NUMBERS + STRANGE + LISTED, ids=lambda c: type(c).__name__)
def test_no_cell_refuses_anything(cell):
    plain = [(30, "a", "7", "yes", "0"), (1, 1, 0, True, 1), ("50", "b", 0.1, "no", "yes")]
    spoilt = replaced(plain, 1, (cell,) * 5)
    for make in (FRAMES["objects"], FRAMES["texts as objects"]):
        try:
            before, after = built(make, plain), built(make, spoilt)
        except Untold:
            continue
        check_others(READ, (before,), (after,), 1, refuses=False)


@pytest.mark.full
@pytest.mark.parametrize(
    "meaning",
    [
        Listed({"1": 0, "a": 1, "None": 2, "2020-01-01": 3}, ["NA"]),
        Grouped({"1": 0, "a": 1, "No": 2, "202": 3, "9": 4}, ["NA"], {"prefix": 3}),
        Grouped({"1": 0, "b": 1}, ["NA"], {"mapping": {"1": "1", "a": "b", "0.": "b"}}),
        TruthCells(["7"]),
        NumberCells(["999"]),
    ],
    ids=["listed", "prefix", "mapping", "truth", "numbers"],
)
@ENTRANCE
@given(own=st.lists(cells, min_size=1, max_size=6))
def test_a_column_says_of_each_cell_what_the_cell_says(meaning, own):
    expected = said_by_cells(own, meaning)
    if isinstance(meaning, NumberCells):
        found = numbers_in(own, meaning)
        assert found.tobytes() == np.array(expected, dtype=float).tobytes()
    else:
        assert codes_in(own, meaning).tolist() == expected


@pytest.mark.parametrize("listed", ["9007199254740993", "1e20", "-9007199254740992.0"])
def test_whole_numbers_that_floats_cannot_tell_apart_are_the_one_exception(listed):
    meaning = Listed({listed: 0, "1": 1})
    whole = int(float(listed)) if "e" in listed or "." in listed else int(listed)
    assert codes_in([whole, 1], meaning).tolist() == [0, 1]
    if abs(whole) < 2**63:
        assert codes_in(pd.Series([whole, 1], dtype="int64"), meaning).tolist() == [0, 1]
        assert codes_in(pd.Series([whole + 1, 1], dtype="Int64"), meaning).tolist() == [-1, 1]
    for others in ([0.5, 1], [1j, 1]):
        error = outcome(lambda own: codes_in(pd.Series(own), meaning), others)
        assert str(error) == refusals.ROUNDED
    # Among objects a float that is as large may have been another whole number.
    error = outcome(lambda own: codes_in(own, meaning), [float(whole), "a"])
    assert str(error) == refusals.ROUNDED


def csv_line(record, quoted):
    text = [str(cell) for cell in record]
    return ",".join('"' + t.replace('"', '""') + '"' if quoted else t for t in text)


words = st.sampled_from(
    ["1", "a", "7", "0.1", "999", "NA", "", " true ", "x y", "é", "1e3", "no"]
)
wild_line = st.one_of(
    st.lists(words, min_size=1, max_size=7).map(",".join),
    st.text(st.sampled_from('"", \t\0\ufeff#\'\\a17é\x0b\x85\u2028'), max_size=12),
    st.just('"'),
    st.just('1,"2,3,4'),
    st.just('""",a'),
).map(lambda line: line.replace("\n", "").replace("\r", ""))


WITHOUT_HEADER = Schema.from_dict(
    SCHEMA.to_dict()
    | {"table": SCHEMA.to_dict()["table"] | {"header": False, "names": list(NAMES)}}
)


def read_file(text, chunk, folder, suffix, header):
    """Return what is trained on, of a file that is read in pieces."""
    path = folder / f"t.csv{suffix}"
    path.write_bytes(gzip.compress(text, 1, mtime=0) if suffix else text)
    own = SCHEMA if header else WITHOUT_HEADER
    count, frames = count_and_pieces(path, own, list(NAMES), chunk)
    triples = [triple for frame in frames for triple in apart(READ(frame))]
    assert count == len(triples)
    return triples


@pytest.mark.full
@ENTRANCE
@given(
    suffix=st.sampled_from(["", ".gz"]),
    records=st.lists(st.tuples(*[words] * 5), min_size=3, max_size=4),
    k=st.integers(0, 2),
    line=wild_line,
    quoted=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    header=st.booleans(),
    chunk=st.sampled_from([1, 2, 100, 100]),
    encoding=st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
def test_lines_of_a_file(
    tmp_path_factory, suffix, records, k, line, quoted, ending, header, chunk, encoding
):
    # A blank line is no record: then there is one record less, which is another neighbour.
    assume(line.strip(" \t\ufeff") != "")
    folder = tmp_path_factory.getbasetemp()
    lines = [csv_line(record, quoted) for record in records]
    assume(all(text.strip(" \t") for text in lines))
    top = [",".join(NAMES)] if header else []
    before = ending.join([*top, *lines, ""]).encode()
    own = [text.encode() for text in [*top, *lines]]
    own[k + len(top)] = line.encode(encoding, errors="replace")
    after = ending.encode().join([*own, b""])
    check_others(
        lambda text: read_file(text, chunk, folder, suffix, header), (before,), (after,), k
    )


@functools.cache
def parquet_reader(path):
    def read(content):
        path.write_bytes(content)
        return READ_ANY([path])

    return read


@functools.cache
def parquet_maker(rows):
    """Return what makes the content of a file of groups of so many records."""

    def make(records):
        cells = {n: pa.array([r[j] for r in records]) for j, n in enumerate(NAMES)}
        with io.BytesIO() as file:
            parquet.write_table(pa.table(cells), file, row_group_size=rows)
            return file.getvalue()

    return make


@pytest.mark.full
@ENTRANCE
@given(change=typed_changes(5), rows=st.integers(1, 3))
def test_parquet(tmp_path_factory, change, rows):
    path = tmp_path_factory.getbasetemp() / "t.parquet"
    check_change(parquet_reader(path), parquet_maker(rows), change, refuses=False)


def test_texts_in_arrow_that_are_none():
    good = pd.arrays.ArrowExtensionArray(pa.array([b"a", b"b", b"7"]).view(pa.string()))
    bad = pd.arrays.ArrowExtensionArray(pa.array([b"a", b"\xff", b"7"]).view(pa.string()))
    before, after = (pd.DataFrame(dict.fromkeys(NAMES, own)) for own in (good, bad))
    check_others(READ, (before,), (after,), 1, refuses=False)


BOXES = {
    "list": lambda records: [list(record) for record in records],
    "frame": lambda records: pd.DataFrame({j: [r[j] for r in records] for j in (0, 1)}),
    "objects": lambda records: np.array(
        [[*map(as_object, record)] for record in records] + [[None] * 2], dtype=object
    )[:-1],
}


def as_object(cell):
    return None if np.ndim(cell) else cell


ENCODER = TableEncoder(SCHEMA)


@ENTRANCE
@given(change=changes(CELLS, 5, ()))
def test_table_encoder(change):
    make = FRAMES["as pandas infers them"]
    check_change(ENCODER.fit_transform, make, change, refuses=False)


SCALERS = [RowScaler(normalise=normalise) for normalise in (False, True)]


@ENTRANCE
@given(
    box=st.sampled_from(sorted(BOXES)), change=changes(width=2), scaler=st.sampled_from(SCALERS)
)
def test_row_scaler(box, change, scaler):
    check_change(scaler.fit_transform, BOXES[box], change)
