"""Persons in the kernels: blocks of whole persons, one clip, turns."""

import numpy as np
import pytest
from measured_rows import rows_of

from dpscd.kernels.dual import Records, StepConstants, new_buffer
from dpscd.kernels.lots import advance
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.kernels.persons import (
    Persons,
    first_factors,
    gather,
    shorten_sum,
    weigh,
)
from dpscd.losses import Squared

D = 3
NUMBERS = StepConstants(
    strength=1.0, separability=1.0, clip=0.5, cell=2.0**-38, grid=2.0**-20, spread=0.0
)


def people(sizes):
    rng = np.random.default_rng(0)
    count = int(np.sum(sizes))
    X = rng.normal(size=(count, D)) / 4.0
    X[1::7] = 0.0  # rows that say nothing, and one that is no number
    X[2::11] = np.nan
    weights = rng.choice([0.0, 1.0, 2.0], size=count)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels = rng.normal(size=count)
    labels[4] = np.inf  # no step of this row is a number
    return X, Records(labels, np.where(np.isinf(labels), 1.0, weights)), starts


def persons(starts, most=4):
    return Persons(starts, np.zeros(len(starts) - 1, np.int64), most)


SIZES = [1, 2, 3, 9, 0, 4, 1, 40]


def test_a_chunk_of_steps_on_packed_rows_and_on_floats_agree():
    X, records, starts = people(SIZES)
    X = np.nan_to_num(X)
    ids, ends = np.array([0, 2, 3, 7, 1, 3]), np.array([0, 4, 4, 6])
    found = []
    for packed in (False, True):
        rows, own = rows_of(X, constant=0.3), persons(starts)
        shared, average = np.zeros((2, 1, D + 1))
        chunk = ids, ends, np.zeros((3, D + 1)), 1, np.zeros((len(X), 1)), shared, average
        if packed:
            advance_packed(Squared(), pack_rows(rows, records), NUMBERS, *chunk, own)
        else:
            advance(Squared(), rows, records, NUMBERS, *chunk, own)
        assert own.turns.tolist() == [0, 0, 0, 8, 0, 0, 0, 4]
        found.append(shared)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)
    assert np.abs(found[0]).max() > 0.01


def test_blocks_hold_whole_persons():
    starts = np.array([0, 3, 3, 5, 15])
    own = Persons(starts, np.array([0, 0, 0, 8]), 4)
    ids, rows, ends = np.arange(4), np.empty(6, np.int64), np.empty(6, np.int64)
    assert gather(own, ids, 0, rows, ends) == (3, 5)
    assert rows[:5].tolist() == [0, 1, 2, 3, 4]
    assert ends[:3].tolist() == [3, 3, 5]
    assert gather(own, ids, 3, rows, ends) == (1, 4)
    assert rows[:4].tolist() == [13, 14, 5, 6]  # it goes on with its first row
    assert own.turns[3] == 2
    assert gather(own, ids, 4, rows, ends) == (0, 0)


def test_weights_are_added_up_over_rows_that_speak():
    buffer = new_buffer(1, 4)
    buffer.weight[:] = [1.0, 2.0, 0.0, 5.0]
    buffer.norm[:] = [1.0, 1.0, 1.0, 0.0]
    weigh(np.array([3, 4]), buffer)
    assert buffer.mass.tolist() == [3.0, 3.0, 3.0, 0.0]


def test_rows_without_a_number_are_silent_and_others_go_on():
    buffer = new_buffer(1, 3)
    buffer.weight[:] = buffer.norm[:] = 1.0
    buffer.squares[:] = [np.nan, 0.04, np.inf]
    joint = np.empty(3, np.bool_)
    first_factors(NUMBERS, np.array([3]), buffer, joint)
    assert buffer.squares.tolist() == [0.0, 1.0, 0.0]
    assert not joint[0]


def test_a_sum_is_shortened_as_one_vector():
    numbers = NUMBERS._replace(clip=1.0, cell=1.0 / 1024)
    total = np.array([[3000, -4000]])
    factor = shorten_sum(total, numbers)
    assert factor == pytest.approx(1024 / 5000, rel=1e-5)
    assert np.hypot(*total[0]) <= 1024
    assert total.tolist() == [[614, -819]]
    assert shorten_sum(total, numbers) == 1.0
