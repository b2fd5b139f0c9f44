"""On a real cluster: a record is the same in every partition, whatever another one became."""

import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "properties"))
from hostile import Untold, built, changes, outcome, replaced
from kinds import STRANGE, Cells
from opening import TWO, rows_part_reader, rows_reader, table_part_reader

from dpscd import Schema

pytestmark = pytest.mark.full

SCHEMA = Schema.from_dict(
    {
        "table": {"missing": ["999", "NA"]},
        "target": {"column": "ill", "classes": ["0", "1"]},
        "columns": {
            "age": {"kind": "number", "bounds": [0, 100], "missing": "column"},
            "sex": {"kind": "category", "values": ["1", "true", "a"]},
        },
    }
)
READ_TABLE = table_part_reader(SCHEMA, TWO)
# Workers do not know the types of the tests, and pandas refuses texts that are none.
FOREIGN = Cells(
    cell
    for cell in STRANGE
    if type(cell).__module__ != "kinds"
    and not (isinstance(cell, str) and any("\ud800" <= sign <= "\udfff" for sign in cell))
)
OWN = Cells([0, 1, 7, 999, "999", 0.5, True, "1", "0"])
few = settings(max_examples=20, suppress_health_check=list(HealthCheck))


def frame(records):
    return pd.DataFrame(
        {n: [r[j] for r in records] for j, n in enumerate(("age", "sex", "ill"))}
    )


def triples(client, records, cut):
    """Return the triples of a table of which workers have two parts."""
    parts = [frame(part) for part in (records[:cut], records[cut:])]
    jobs = [client.submit(READ_TABLE, part, pure=False) for part in parts]
    return [row for job in jobs for row in outcome(job.result)]


@few
@given(change=changes(OWN, 3, FOREIGN), cuts=st.tuples(*[st.integers(0, 3)] * 2))
def test_tables_on_workers(client, change, cuts):
    records, k, other = change
    try:
        built(frame, replaced(records, k, other))
    except Untold:
        assume(False)
    whole = outcome(READ_TABLE, frame(records))
    assert triples(client, records, cuts[0]) == whole
    found = triples(client, replaced(records, k, other), cuts[1])
    assert found[:k] + found[k + 1 :] == whole[:k] + whole[k + 1 :]


@few
@given(change=changes(OWN, 2, ()), cut=st.integers(0, 3))
def test_arrays_on_workers(client, change, cut):
    records, k, other = change
    records = [list(record) for record in replaced(records, k, other)]
    labels = [0, 1, 0, 1, 0, 1][: len(records)]
    whole = outcome(rows_reader(), records, labels, None)
    parts = [(pd.DataFrame(records[:cut], columns=["a", "b"]), labels[:cut], None)]
    parts.append((pd.DataFrame(records[cut:], columns=["a", "b"]), labels[cut:], None))
    jobs = [client.submit(rows_part_reader(), part, pure=False) for part in parts]
    assert [row for job in jobs for row in outcome(job.result)] == whole
