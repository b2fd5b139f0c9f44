"""Who is one person with whom follows from the two identifiers alone, in every container."""

import itertools

import numpy as np
from hostile import (
    ANYTHING,
    ENTRANCE,
    Records,
    Untold,
    built,
    changes,
    outcome,
    replaced,
    turning_changes,
    typed_changes,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from kinds import KEEPING, NUMBERS, PERSONS, PERSONS_TYPED, Cells
from opening import persons_of, persons_of_parts, texts_of_persons

from dpscd import DataError
from dpscd.records.identifiers import count_of, keyed_hashes, order_of

MISSING = ("999", "NA", "?", "None")
ODD = ["a", "a ", "A", "07", (1, 2), (1, 2.0), "1", 1, "true", 2**53, b"\xfe", "\\xff"]


def cells_of(records):
    return [record[0] for record in records]


def column(make):
    return lambda records: make(cells_of(records))


ANY = {kind: column(make) for kind, make in PERSONS.items()}
TYPED = {kind: column(make) for kind, make in PERSONS_TYPED.items()}


def codes(cells):
    return persons_of(cells, MISSING)


# Those that are refused are few here: one of them ends what is tested with all others.
TAKEN = Cells(
    cell
    for cell in ANYTHING + NUMBERS + ODD
    if not isinstance(outcome(codes, [cell]), DataError)
)
CELLS = TAKEN + TAKEN + TAKEN + ANYTHING
assert len(TAKEN) > 150


def together(found):
    """Return who is together with whom; -1 with nobody."""
    found = np.array(found)
    return (found[:, None] == found) & (found >= 0)


def numbered(found):
    """Return whether numbers are given in the order in which they first appear."""
    seen = list(dict.fromkeys(code for code in found if code >= 0))
    return seen == list(range(len(seen)))


def check(make, change):
    records, k, other = change
    try:
        first, second = (
            outcome(codes, built(make, x)) for x in (records, replaced(records, k, other))
        )
    except Untold:
        assume(False)
    if isinstance(first, DataError) or isinstance(second, DataError):
        return
    assert numbered(first)
    assert numbered(second)
    rest = np.arange(len(records)) != k
    assert (together(first)[rest][:, rest] == together(second)[rest][:, rest]).all()


@ENTRANCE
@given(kind=st.sampled_from(sorted(ANY)), change=changes(CELLS, 1, ()))
def test_a_record_changes_nobody_elses_person(kind, change):
    check(ANY[kind], change)


@ENTRANCE
@given(kind=st.sampled_from(sorted(TYPED)), change=typed_changes(1))
def test_in_columns_of_one_type(kind, change):
    if kind == "array":
        assume(not any(cell is None for cell in [*cells_of(change[0]), change[2][0]]))
    check(TYPED[kind], change)


@ENTRANCE
@given(change=turning_changes(1))
def test_in_columns_that_change_their_type(change):
    check(ANY["as pandas infers them"], change)


lists = st.lists(st.integers(0, len(CELLS) - 1), min_size=1, max_size=8).map(
    lambda places: Records((CELLS[place],) for place in places)
)


@ENTRANCE
@given(lists)
def test_every_container_that_keeps_cells_has_the_same_persons(records):
    expected = outcome(codes, cells_of(records))
    for kind in KEEPING:
        found = outcome(codes, built(ANY[kind], records))
        assert str(found) == str(expected)
    part = len(records) // 2
    halves = [cells_of(half) for half in (records[:part], records[part:])]
    assert str(outcome(persons_of_parts, halves, MISSING)) == str(expected)


@ENTRANCE
@given(lists)
def test_two_are_one_person_if_they_are_alone_with_each_other(records):
    found = outcome(codes, cells_of(records))
    assume(not isinstance(found, DataError))
    cells = cells_of(records)
    for i, one in enumerate(cells):
        for j in range(i):
            alone = codes([one, cells[j]]).tolist()
            same = alone[0] == alone[1] >= 0
            assert same == (found[i] == found[j] >= 0)


@ENTRANCE
@given(changes(CELLS, 1, ()))
def test_texts_say_the_same_of_whoever_has_one(change):
    records, _, other = change
    cells = [*cells_of(records), *other]
    try:
        found, keys = texts_of_persons(cells, MISSING)
    except DataError:
        assume(False)
    assert found.tolist() == codes(cells).tolist()
    assert len(set(keys)) == len(keys) == count_of(found)
    texts = [None if code < 0 else keys[code] for code in found]
    assert codes(texts).tolist() == found.tolist()  # read again, they are the same persons
    assert len(np.unique(keyed_hashes(keys, bytes(16)), axis=0)) == len(keys)


@given(st.lists(st.integers(-1, 5), max_size=30))
def test_the_order_of_rows(rows):
    given = persons_of([None if row < 0 else row for row in rows], MISSING)
    order, starts = order_of(given)
    order = np.arange(len(rows)) if order is None else order
    assert sorted(order) == np.flatnonzero(given >= 0).tolist()
    for person, (first, last) in enumerate(itertools.pairwise(starts)):
        own = order[first:last]
        assert (given[own] == person).all()
        assert (np.diff(own) > 0).all()
        assert len(own)
