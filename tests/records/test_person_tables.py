"""Tables with a column of persons: the same persons in every container, counted first."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpscd import DataError, ParameterError, Schema, SchemaError
from dpscd.records import refusals
from dpscd.records.tables import open_parsed

SCHEMA = Schema.from_dict(
    {
        "table": {"person": "p"},
        "target": {"column": "y", "classes": ["a", "b"]},
        "columns": {"z": {"kind": "boolean"}},
    }
)
TABLE = pd.DataFrame(
    {"p": [7, 3, 7, None, 999], "z": [1, 0, 1, 0, 1], "y": ["a", "b", "a", "b", "a"]}
)
CODES = [0, 1, 0, -1, 2]


def containers(folder):
    path, packed = folder / "t.csv", folder / "t.parquet"
    texts = TABLE.assign(p=["7", "3", "7", "", "999"])
    texts.to_csv(path, index=False)
    TABLE.to_parquet(packed)
    return [
        path, [packed], TABLE, texts, TABLE.astype(object), TABLE.convert_dtypes(),
        TABLE.astype("category"), pa.Table.from_pandas(TABLE), TABLE.set_axis([5, 5, 5, 1, 1]),
    ]  # fmt: skip


def test_every_container_has_the_same_persons(tmp_path):
    for table in containers(tmp_path):
        source = open_parsed(table, SCHEMA, person=True)
        assert source.count == 3
        found = source.read()
        assert found.persons.tolist() == CODES
        assert open_parsed(found, SCHEMA, person=True).count == 3
        assert open_parsed(found, SCHEMA).count == 5
        plain = open_parsed(table, SCHEMA)
        assert (plain.count, plain.read().persons) == (5, None)
        without = Schema.from_dict({**SCHEMA.to_dict(), "table": {}})
        assert open_parsed(table, without, person=True).count == 5


def test_the_target_may_be_given_besides():
    source = open_parsed(TABLE.drop(columns="y"), SCHEMA, TABLE["y"].tolist(), person=True)
    assert source.count == 3
    assert source.read().target.tolist() == [0, 1, 0, 1, 0]


def test_what_is_declared_missing_is_nobody():
    layout = {"person": "p", "missing": ["999", "7"]}
    schema = Schema.from_dict({**SCHEMA.to_dict(), "table": layout})
    source = open_parsed(TABLE, schema, person=True)
    assert source.count == 1
    assert source.read().persons.tolist() == [-1, 0, -1, -1, -1]


def test_records_without_persons_are_not_taken_for_some():
    parsed = open_parsed(TABLE, SCHEMA).read()
    with pytest.raises(ParameterError, match="without their persons"):
        open_parsed(parsed, SCHEMA, person=True)
    with pytest.raises(SchemaError, match="no column 'p'"):
        open_parsed(TABLE.drop(columns="p"), SCHEMA, person=True)
    with pytest.raises(DataError) as caught:
        open_parsed(TABLE.assign(p=np.float32(2**24)), SCHEMA, person=True)
    assert str(caught.value) == refusals.ROUNDED_PERSONS


def test_errors_while_persons_are_counted_say_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise LookupError("secret 7431")

    path, *_ = containers(tmp_path)
    monkeypatch.setattr("dpscd.records.tables.Numbering.codes", fail)
    with pytest.raises(DataError) as caught:
        open_parsed(path, SCHEMA, person=True)
    assert str(caught.value) == refusals.UNFORESEEN
    assert caught.value.__context__ is None
