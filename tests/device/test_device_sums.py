"""Rows, sums and margins are whole numbers: those of Python."""

import numpy as np
import pytest

from dpscd.device.backend import compiled
from dpscd.device.rows import (
    BLOCK,
    LARGEST,
    LARGEST_CUT,
    MOST,
    empty_rows,
    gather,
    margins,
    put_rows,
    room_for,
    rounded_shared,
    split,
    sums,
)
from dpscd.privacy.draws import capacity_of, limb_lattice_step, whole_lattice_step

pytestmark = pytest.mark.usefixtures("exact")

two_limbs = compiled(lambda numbers: split(numbers, 2))
three_limbs = compiled(lambda numbers: split(numbers, 3))
summed = compiled(sums)
multiplied = compiled(margins, static_argnums=4)
rounded = compiled(rounded_shared, static_argnums=1)


def joined(limbs):
    total = 0
    for limb in limbs:
        assert limb.dtype == np.int8
        total = 256 * total + np.asarray(limb).astype(np.int64)
    return total


def test_limbs_are_the_number():
    whole = np.arange(-LARGEST, LARGEST + 1, dtype=np.int32)
    np.testing.assert_array_equal(joined(two_limbs(whole)), whole)
    wide = np.random.default_rng(0).integers(-LARGEST_CUT, LARGEST_CUT + 1, 2 * LARGEST + 1)
    wide[:8] = [-LARGEST_CUT, LARGEST_CUT, 0, -1, 127, 128, -128, -129]
    np.testing.assert_array_equal(joined(three_limbs(wide.astype(np.int32))), wide)
    assert LARGEST == 127 * 256 + 127  # one more would need -128 where its opposite has 128


def test_so_many_products_of_limbs_fit_32_bits():
    assert MOST * 2**14 < 2**31


def test_steps_fit_three_limbs():
    """A row that speaks has an entry of LARGEST, so its step is clip over that, in cells."""
    for n in (1, 100, 10**6, 10**9):
        for clip in (1e-30, 0.3, 1.0, 8.0 - 2.0**-50):
            cell = limb_lattice_step(n, clip)
            assert cell >= whole_lattice_step(n, clip)
            assert clip / cell / LARGEST < 1.005 * LARGEST_CUT  # what is above is cut
            # Sums of all records, in cells, and of a block, fit 64 bits.
            assert capacity_of(n) * (clip / cell) < 2**63
    assert MOST * LARGEST * LARGEST_CUT < 2**62


@pytest.mark.parametrize("outputs", [1, 5, 30])
def test_sums_are_whole_numbers(outputs):
    rng = np.random.default_rng(outputs)
    rows = rng.integers(-LARGEST, LARGEST + 1, (4096, 32), dtype=np.int32)
    cut = rng.integers(-LARGEST_CUT, LARGEST_CUT + 1, (4096, outputs), dtype=np.int32)
    # Sums of limbs that single precision does not hold, and limbs of -128.
    rows[:2047], cut[:2047] = LARGEST, 127 * 256 + 127
    rows[2047:2060, ::2] = 128
    found = np.asarray(summed(*two_limbs(rows), cut))
    expected = cut.T.astype(np.int64) @ rows.astype(np.int64)  # below 2^49
    np.testing.assert_array_equal(found, expected)
    order = rng.permutation(4096)
    np.testing.assert_array_equal(summed(*two_limbs(rows[order]), cut[order]), found)


@pytest.mark.full
@pytest.mark.parametrize("outputs", [1, 30])
@pytest.mark.parametrize("row", [-LARGEST, 127 * 256 - 128])
@pytest.mark.parametrize("step", [LARGEST_CUT, -(2**22) + 2**15 + 128, 128])
def test_the_largest_sums_fit(row, step, outputs):
    rows = np.full((MOST, 32), row, np.int32)
    cut = np.full((MOST, outputs), step, np.int32)
    found = np.asarray(summed(*two_limbs(rows), cut))
    assert (found == MOST * row * step).all()


@pytest.mark.full
@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_margins_are_whole_numbers(outputs):
    rng = np.random.default_rng(outputs)
    rows = rng.integers(-LARGEST, LARGEST + 1, (64, 96), dtype=np.int32)
    rows[0], rows[1] = LARGEST, 128
    shared = rng.normal(size=(outputs, 90)) * 10.0 ** rng.integers(-9, 9, (outputs, 1))
    high, low, unit = (np.asarray(part) for part in rounded(shared, 96))
    whole = joined((high, low))
    # Rounding is of the released vector alone, to half a unit, and padding is nothing.
    assert not whole[:, 90:].any()
    assert np.abs(whole).max() == LARGEST
    assert (np.abs(whole[:, :90] * unit[:, None] - shared) <= 0.50001 * unit[:, None]).all()
    limbs = [np.asarray(limb).astype(object) for limb in two_limbs(rows)]
    expected = 256 * limbs[0] @ high.T.astype(object)
    expected = expected + limbs[0] @ low.T.astype(object) + limbs[1] @ high.T.astype(object)
    found = np.asarray(multiplied(*two_limbs(rows), high, low, np.float64))
    assert (found.astype(object) == expected).all()
    single = np.asarray(multiplied(*two_limbs(rows), high, low, np.float32))
    np.testing.assert_allclose(single, found, rtol=1e-5, atol=1e4)


@pytest.mark.full
@pytest.mark.parametrize("outputs", [2, 3])
def test_the_longest_margins_fit(outputs):
    rows = np.full((2, MOST), 128, np.int32)  # limbs 1 and -128
    rows[1] = -LARGEST
    shared = np.full((outputs, MOST), -LARGEST, np.int32)
    shared[1] = 127 * 256 - 128
    found = np.asarray(multiplied(*two_limbs(rows), *two_limbs(shared), np.float64))
    high, low = (np.asarray(limb)[:, 0].astype(int) for limb in two_limbs(rows))
    for k in range(outputs):
        upper, lower = (int(limb[k, 0]) for limb in two_limbs(shared))
        assert found[:, k].tolist() == [
            MOST * (256 * h * upper + h * lower + w * upper)
            for h, w in zip(high.tolist(), low.tolist(), strict=True)
        ]


def test_a_vector_of_zeros_has_margins_of_zero():
    high, low, unit = (np.asarray(part) for part in rounded(np.zeros((2, 90)), 96))
    assert not high.any()
    assert not low.any()
    assert not unit.any()


# --- rows ---------------------------------------------------------------------------------


def put(values, *, tail=0.25, norm=None, factor=1.0, first=0, width=None, rows=None):
    values = np.asarray(values)
    count = len(values)
    room = empty_rows(first + count, width or values.shape[1] + 1) if rows is None else rows
    norm = np.ones(count) if norm is None else np.asarray(norm, float)
    labels, weights = np.arange(count) + 10.0, np.full(count, 0.5)
    return put_rows(
        room, values, np.full(count, factor), norm, tail, labels, weights, first
    )  # fmt: skip


take = compiled(gather)


def test_rows_are_rounded_to_16_bits_each_by_itself():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(300, 5)) * 10.0 ** rng.integers(-20, 20, (300, 1))
    rows = put(values, factor=0.5)
    members = take(rows, np.arange(300, dtype=np.int32))
    whole, scale = joined((members.high, members.low)), np.asarray(members.scale)
    expected = np.column_stack([0.5 * values, np.full(300, 0.25)])
    np.testing.assert_allclose(scale, np.abs(expected).max(axis=1) / LARGEST, rtol=1e-15)
    assert (np.abs(whole[:, :6] * scale[:, None] - expected) <= 0.50001 * scale[:, None]).all()
    assert not whole[:, 6:].any()
    assert (np.abs(whole).max(axis=1) == LARGEST).all()
    # The squares are what the check of the clip rests on.
    assert (np.asarray(members.squares) == (whole.astype(object) ** 2).sum(axis=1)).all()
    np.testing.assert_array_equal(members.label, np.arange(300) + 10.0)
    np.testing.assert_array_equal(members.weight, np.full(300, 0.5))
    # A row among others is what it is alone.
    alone = take(put(values[7:8], factor=0.5), np.arange(300, dtype=np.int32))
    for name in ("high", "low", "scale", "squares"):
        one, other = (np.asarray(getattr(part, name)) for part in (alone, members))
        np.testing.assert_array_equal(one[0], other[7])


def test_rows_that_cannot_be_measured_are_silent():
    values = np.ones((300, 5))
    values[0], values[1, 2], values[2] = np.nan, np.inf, 1e-300
    norm = np.ones(300)
    norm[[0, 1, 3]] = [np.nan, 0.0, -1.0]
    members = take(put(values, tail=0.0, norm=norm), np.arange(300, dtype=np.int32))
    assert not np.asarray(members.scale)[:4].any()
    assert not np.asarray(members.high)[:4].any()
    assert (np.asarray(members.scale)[4:] > 0.0).all()
    # Nobody's numbers are silent records too.
    ids = np.full(300, 2 * BLOCK, np.int32)
    nobody = take(put(values, tail=0.0), ids)
    assert not any(np.asarray(part).any() for part in nobody)


def test_rows_come_to_their_places_block_by_block():
    rows = put(np.ones((BLOCK, 5)), first=0, rows=empty_rows(BLOCK + 3, 6))
    rows = put(np.full((3, 5), -1.0), first=BLOCK, rows=rows)
    assert rows.room == 2 * BLOCK == room_for(BLOCK + 3, 6)[0]
    ids = np.array([0, BLOCK - 1, BLOCK, BLOCK + 2, BLOCK + 3], np.int32)
    members = take(rows, ids)
    assert joined((members.high, members.low))[:, 0].tolist() == [LARGEST] * 2 + [
        -LARGEST, -LARGEST, 0,
    ]  # fmt: skip
    assert np.asarray(members.label).tolist() == [10.0, BLOCK + 9.0, 10.0, 12.0, 0.0]


def test_as_many_columns_as_there_is_room_for():
    # Without a constant column a width of 32 has no room for one, and needs none.
    values = np.random.default_rng(2).normal(size=(300, 32))
    members = take(put(values, tail=0.0, width=32), np.arange(300, dtype=np.int32))
    scale = np.asarray(members.scale)[:, None]
    found = joined((members.high, members.low)) * scale
    assert (np.abs(found - values) <= 0.50001 * scale).all()
    assert room_for(0, 33) == (BLOCK, 64)
