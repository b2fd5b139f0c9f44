"""The one way in: records of a fit, here or on a Dask cluster, of which the shape is known."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError
from dpscd.persons import PersonFacts
from dpscd.preprocessing.schema import Schema, shaped
from dpscd.records import refusals
from dpscd.records.encoding import check_columns, used_columns
from dpscd.records.identifiers import count_of, person_codes
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.records.refusals import redact_errors
from dpscd.records.rows import RowReader, Unread, is_dask, open_rows
from dpscd.records.tables import TableReader, TableRecords, open_parsed, training_rows
from dpscd.releases.base import RecordStore
from dpscd.solvers.local import LocalRecords

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Labels = ClassLabels | NumberLabels

_UNTOLD = NumberLabels(0.0, 1.0)  # of readers that only count


class Given(NamedTuple):
    """What may be given for each record besides its row and label; None where it is not."""

    sample_weight: Any = None
    exposure: Any = None
    groups: Any = None

    def __repr__(self) -> str:
        return "Given()"  # identifiers are not for a traceback


@contextmanager
def open_records(
    X: Any,
    y: Any = None,
    given: Given | None = None,
    *,
    schema: Schema | None = None,
    persons: PersonFacts | None = None,
    epsilon: float = math.inf,
    n: Any = None,
) -> Iterator[Unread]:
    """Yield the unread records of a fit, of which `read(labels, threads)` makes a record store.

    X are rows of numbers, or with `schema` a table. `n` is the declared number of records or
    persons, None if the true one is public; the shape of numbers follows from it and `epsilon`.
    At infinite epsilon undeclared bounds are read off the records.

    Guarantee: until `read` is called, no cell is read but identifiers of persons, which are
    counted. Proof: docs/proofs/records.md, "Before and after the charge".
    """
    given = given or Given()
    if is_dask(X, y, *given):
        with _on_dask(X, y, given, schema, persons, epsilon, n) as unread:
            yield unread
    elif schema is None:
        yield _rows(X, y, given, persons)
    else:
        yield _table(X, y, given.groups, schema, persons, epsilon, n)


def _rows(X: Any, y: Any, given: Given, persons: PersonFacts | None) -> Unread:
    rows = X if isinstance(X, Unread) else open_rows(X)
    codes = codes_of(given.groups, rows.count)

    def read(labels: Labels, threads: int) -> LocalRecords:
        reader = RowReader(labels, rows.features, rows.sparse, persons)
        triples = reader.whole(rows, y, given.sample_weight, given.exposure, codes)
        return LocalRecords(*triples[:3], threads, triples.persons)

    count, weighted = units_in(codes, rows.count), given.sample_weight is not None
    return replace(rows, count=count, read=read, labels=y, weighted=weighted, persons=persons)


def _table(
    table: Any,
    y: Any,
    groups: Any,
    schema: Schema,
    persons: PersonFacts | None,
    epsilon: float,
    n: Any,
) -> Unread:
    person = persons is not None and persons.column is not None
    records = open_parsed(table, schema, y, person=person)
    codes = codes_of(groups, records.count)
    count = units_in(codes, records.count)
    schema = shaped(schema, epsilon, count if n is None else int(n))
    shape = TableReader(_UNTOLD, schema, {}, persons)

    def read(labels: Labels, threads: int) -> RecordStore:
        parsed = records.read()
        if codes is not None:
            if len(parsed) != len(codes):
                raise DataError(refusals.CHANGED)
            parsed = replace(parsed, persons=codes)
        reader = replace(shape, labels=labels)
        if not schema.private:
            return training_rows(reader, parsed, threads)
        held = TableRecords(reader, parsed, threads)
        if not math.isinf(epsilon):
            return held
        held.bound(_ranges(held.columns))
        return held.rows

    return Unread(count, shape.features, read, shape.sparse, schema=schema, persons=persons)


@contextmanager
def _on_dask(
    X: Any,
    y: Any,
    given: Given,
    schema: Schema | None,
    persons: PersonFacts | None,
    epsilon: float,
    n: Any,
) -> Iterator[Unread]:
    from dpscd.distributed.workers import workers_with

    names, reader, parts = _divided(X, y, given, schema, persons)
    with workers_with(parts, reader) as workers:
        if schema is not None:
            schema = shaped(schema, epsilon, workers.count if n is None else int(n))
            reader = TableReader(_UNTOLD, schema, {}, persons)

        def read(labels: Labels, threads: int) -> Any:
            del threads
            workers.read_with(replace(reader, labels=labels))
            return workers.held()

        yield Unread(
            workers.count,
            reader.features,
            read,
            reader.sparse,
            names=names,
            weighted=given.sample_weight is not None,
            schema=schema,
            persons=persons,
            workers=workers.workers,
        )


def _divided(
    X: Any, y: Any, given: Given, schema: Schema | None, persons: PersonFacts | None
) -> tuple[Any, RowReader | TableReader, Any]:
    """Return names of features, what reads partitions, and these; or refuse what Dask lacks."""
    from dpscd.distributed.collections import columns_of, partitions_of

    if schema is None:
        names, features, as_sparse = columns_of(X)
        reader = RowReader(_UNTOLD, features, as_sparse, persons)
        return names, reader, partitions_of(X, y, *given)
    if y is not None:
        raise ParameterError("y is not available on Dask: the table must have the target.")
    if given.groups is not None:
        raise ParameterError(
            "groups is not available on Dask: name the column in the schema, person = ..."
        )
    wanted = {"target": True, "person": persons is not None}
    check_columns(schema, [str(name) for name in X.columns], **wanted)
    parts = partitions_of(X[used_columns(schema, **wanted)])
    return None, TableReader(_UNTOLD, schema, {}, persons), parts


def codes_of(groups: Any, count: int) -> Codes | None:
    """Return the number of each row's person, below 0 if it has none; None without groups."""
    if groups is None:
        return None
    codes = redact_errors(lambda: person_codes(groups))
    if len(codes) != count:
        raise DataError(refusals.UNEQUAL)
    return codes


def units_in(codes: Codes | None, rows: int) -> int:
    """Return how many persons there are, or records if those are what is protected."""
    return rows if codes is None else count_of(codes)


def _ranges(columns: Sequence[Floats]) -> list[tuple[float, float]]:
    """Return the range of each column's values, for a training without privacy."""
    found = []
    for values in columns:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        found.append((low, high if low < high else low + 1.0))
    return found
