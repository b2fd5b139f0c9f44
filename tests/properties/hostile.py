"""What a neighbour may do to a record, and what must then be true of the others."""

import functools
import os
import random
import re
import warnings

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from kinds import FAMILIES, NUMBERS, SECRET, STRANGE, TEXTS, Cells
from scipy import sparse

from dpscd.errors import DataError
from dpscd.records.refusals import REFUSALS

EXAMPLES = int(os.environ.get("DPSCD_ENTRANCE_EXAMPLES", "200"))
ENTRANCE = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


def one_of_these(cells):
    """Return a strategy that does not show its cells, some of which cannot be shown."""
    return st.integers(0, len(cells) - 1).map(lambda place: cells[place])


ANYTHING = STRANGE + STRANGE + NUMBERS + TEXTS
numbers, anything = one_of_these(NUMBERS), one_of_these(ANYTHING)


class Records(list):
    """Records that are themselves and no others, so that what came of them can be kept."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


@functools.cache
def _records(seed, own, width):
    rng = random.Random(seed)  # noqa: S311
    return Records(tuple(rng.choices(own, k=width)) for _ in range(rng.randint(3, 4)))


# Drawn by seeds: thirty choices of Hypothesis would cost more than what is tested. There are
# 32 tables, so that each is read once; what a neighbour does to them is never the same.
@st.composite
def changes(draw, own=NUMBERS, width=2, others=ANYTHING):
    """Return records, the place of one of them, and another record for that place."""
    records = _records(draw(st.integers(0, 31)), own, width)
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))  # noqa: S311
    return records, rng.randrange(len(records)), tuple(rng.choices([*own, *others], k=width))


@st.composite
def typed_changes(draw, width=2, others=()):
    """Return records of one family of cells, so that a typed container takes them."""
    own, alike = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    return draw(changes(own, width, Cells([*alike, *others])))


def turning_changes(width=2):
    """Return records of one family, and one that may give its columns another type."""
    return typed_changes(width, ANYTHING)


class Untold(Exception):  # noqa: N818 - not a failure of what is tested
    """A container that cannot be built of these cells: its own library says so."""


def built(make, *args):
    """Return a container; what its library does not take is not ours to judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(*args)
        except Exception as error:
            raise Untold from error


def outcome(call, *args):
    """Return what comes out for each record, or the error, which must be listed; in silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return apart(call(*args))
        except DataError as error:
            check_refusal(error)
            return error


_LISTED = [
    re.compile(re.sub(r"\\{(!r)?\\}", r"[\\w., ';|-]+", re.escape(text))) for text in REFUSALS
]


def check_refusal(error):
    """A refusal is one of the list, and carries nothing else."""
    message = str(error)
    assert any(pattern.fullmatch(message) for pattern in _LISTED), message
    assert SECRET not in message
    assert error.__cause__ is None
    assert error.__context__ is None
    assert error.args == (message,)


def apart(found):
    """Return the bits of every record: of triples, of rows, or of predictions."""
    if isinstance(found, list):
        return found  # it was taken apart before
    if isinstance(found, tuple):
        parts = [apart(part) for part in found if part is not None]
        return list(zip(*parts, strict=True))
    if sparse.issparse(found):
        found = found.tocsr()
        return [_entries(found, i) for i in range(found.shape[0])]
    found = np.asarray(found)
    if found.dtype.kind != "f":
        return found.tolist()
    return [np.asarray(row, dtype=np.float64).tobytes() for row in found]


def _entries(rows, i):
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[part].tolist(), rows.data[part].astype(np.float64).tobytes()


def check_others(call, before, after, k, *, refuses=True):
    """No other record is another one for what became of record k."""
    check_outcomes(outcome(call, *before), outcome(call, *after), k, refuses=refuses)


@functools.cache
def _outcome_of(read, make, records):
    return outcome(read, built(make, records))


def check_change(read, make, change, *, refuses=True):
    """The same of a container that `make` makes; what came of the records before is kept."""
    records, k, other = change
    try:
        before = _outcome_of(read, make, records)
        after = built(make, replaced(records, k, other))
    except Untold:
        assume(False)
    check_outcomes(before, outcome(read, after), k, refuses=refuses)


def check_outcomes(first, second, k, *, refuses):
    """No other record is another one in the second than in the first."""
    refused = [x for x in (first, second) if isinstance(x, DataError)]
    assert refuses or not refused, refused
    if not refused:
        assert len(first) == len(second)
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            assert place == k or one == other, place


def replaced(records, k, record):
    """Return all records with another one in place k."""
    return [*records[:k], record, *records[k + 1 :]]
