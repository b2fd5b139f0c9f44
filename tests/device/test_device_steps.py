"""What a member contributes: bounded, its own, and the step of the loss."""

import math
from fractions import Fraction
from functools import cache

import device_checks as checks
import numpy as np
import pytest
from device_neighbours import Case, neighbour_found
from device_records import hostile_members, hostile_numbers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpscd.device import training
from dpscd.device.backend import compiled
from dpscd.device.contribution import clipped, dual_steps, sum_of_parts
from dpscd.device.rows import LARGEST, LARGEST_CUT, empty_rows, put_rows
from dpscd.device.training import Job, new_state
from dpscd.losses import Hinge, Logistic, Softmax, Squared, dual_step, record_steps
from dpscd.privacy.draws import limb_lattice_step
from dpscd.problem import Problem
from dpscd.solvers import on_device

pytestmark = pytest.mark.usefixtures("exact")

OF = {"squared": Squared(), "logistic": Logistic(), "hinge": Hinge(), "softmax": Softmax()}
RECORDS, FEATURES, BLOCK = 5, 4, 64

lot_sum = compiled(training._lot_sum, static_argnums=0)
clip_steps = compiled(clipped)

# --- brute force --------------------------------------------------------------------------

ordinary = st.floats(-3.0, 3.0)
extreme = st.sampled_from(
    [
        math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, 5e-324, -5e-324, 1e-170, 1e-300,
        1e-45, 1e38, 0.0, -0.0, 1.0, -1.0, 1.0 + 2**-52, 1e16,
    ]
)  # fmt: skip
number = st.one_of(ordinary, extreme)


def lists(of, size):
    return st.lists(of, min_size=size, max_size=size)


@st.composite
def situations(draw, outputs):
    rows = np.array(draw(lists(number, RECORDS * FEATURES))).reshape(RECORDS, FEATURES)
    if draw(st.booleans()):
        rows[1] = rows[0]  # a duplicated record
    label = st.one_of(st.sampled_from([-1.0, 1.0, 0.0, 2.0]), number)
    weight = st.one_of(st.just(1.0), st.floats(0.0, 10.0), extreme)
    state = st.one_of(st.floats(-1.0, 1.0), extreme)
    size = outputs * (FEATURES + 1)
    return {
        "rows": rows,
        "labels": np.array(draw(lists(label, RECORDS))),
        "weights": np.array(draw(lists(weight, RECORDS))),
        "dual": np.array(draw(lists(state, RECORDS * outputs))).reshape(RECORDS, outputs),
        "shared": np.array(draw(lists(st.floats(-9.0, 9.0), size))).reshape(outputs, -1),
        "row_bound": draw(st.sampled_from([1.0, 0.25, 100.0, 1e-120, 1e119])),
        "strength": draw(st.sampled_from([1e-6, 1.0, 100.0])),
        "separability": draw(st.sampled_from([1.0, 5.0, 1e6])),
        "clip": draw(st.sampled_from([1.0, 0.3, 1e-3, 7.0, 1e-30, 1e-44, 1e10, 1e40])),
        "other": np.array(draw(lists(number, FEATURES))),
        "other_label": draw(st.sampled_from([-1.0, 1.0, 0.0, 2.0])),
        "other_dual": draw(st.floats(-1.0, 1.0)),
    }


def summed(loss, s, *, rows, labels, weights, dual, lot=range(RECORDS), room=RECORDS):
    """Return the sum of a lot in cells and the duals after it, from the shipped code."""
    outputs = dual.shape[1]
    with np.errstate(all="ignore"):
        problem = Problem(
            OF[loss], 1.0, RECORDS, FEATURES, outputs, s["row_bound"], s["row_bound"]
        )
        block = problem.block(rows)
        held = put_rows(
            empty_rows(room, problem.width), block.values, block.factor, block.norm, block.tail,
            labels, weights, 0,
        )  # fmt: skip
        numbers = hostile_numbers(s["clip"], RECORDS)._replace(
            strength=np.float64(s["strength"])
        )
        job = Job(loss, outputs, problem.width, BLOCK)
        start = new_state(job, held.room, s["separability"])
        duals = np.zeros(start.dual.shape, start.dual.dtype)
        duals[:RECORDS] = dual
        state = start._replace(shared=s["shared"], dual=duals)
    ids = held.room + np.arange(held.room + BLOCK, dtype=np.int32)
    ids[: len(lot)] = lot
    total, moved = lot_sum(job, held, numbers, (ids, np.int32(len(lot))), state)
    cells = [int(x) for x in np.asarray(total).ravel()]
    return cells, np.asarray(moved)[:RECORDS]


def square(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [
        ("squared", 1),
        ("softmax", 3),
        pytest.param("logistic", 1, marks=pytest.mark.full),
        pytest.param("hinge", 3, marks=pytest.mark.full),
        pytest.param("softmax", 30, marks=pytest.mark.full),
    ],
)
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_no_neighbour_moves_a_lot_by_more_than_the_clip(loss, outputs, data):
    s = data.draw(situations(outputs))
    limit = Fraction(s["clip"]) / Fraction(float(limb_lattice_step(RECORDS, s["clip"])))
    same = {name: s[name] for name in ("rows", "labels", "weights", "dual")}
    full, moved = summed(loss, s, **same)
    k = 0
    # Zero-out: record k contributes nothing.
    silent = {**same, "weights": same["weights"].copy()}
    silent["weights"][k] = 0.0
    without, others_moved = summed(loss, s, **silent)
    assert square(full, without) <= limit**2
    np.testing.assert_array_equal(moved[1:], others_moved[1:])
    # Add-remove: it is not there, and the others stand elsewhere.
    left = {
        name: np.concatenate([part[1:], np.zeros_like(part[:1])]) for name, part in same.items()
    }
    removed, others_moved = summed(loss, s, **left, lot=range(RECORDS - 1))
    assert removed == without
    np.testing.assert_array_equal(moved[1:], others_moved[: RECORDS - 1])
    # Not drawn: the others do not notice.
    assert summed(loss, s, **same, lot=range(1, RECORDS))[0] == without
    # Replace-one: it is another one, with another past of its own.
    other = {name: part.copy() for name, part in same.items()}
    other["rows"][k], other["labels"][k] = s["other"], s["other_label"]
    other["weights"][k], other["dual"][k] = 1.0, s["other_dual"]
    replaced, _ = summed(loss, s, **other)
    assert square(full, replaced) <= (2 * limit) ** 2
    # What a record moves alone is what it moves among others.
    alone, _ = summed(loss, s, **same, lot=[k])
    assert alone == [a - b for a, b in zip(full, without, strict=True)]
    assert square(alone, [0] * len(alone)) <= limit**2


def usual(count=300, outputs=1, seed=1):
    """Return a lot of more than four blocks whose members all move."""
    rng = np.random.default_rng(seed)
    return {
        "rows": rng.normal(size=(count, FEATURES)),
        "labels": rng.integers(0, 3, count).astype(float)
        if outputs > 1
        else np.full(count, 9.0),
        "weights": np.ones(count),
        "dual": np.zeros((RECORDS, outputs)),
    }


SITUATION = {
    "row_bound": 1.0, "strength": 100.0, "separability": 1.0, "clip": 0.3,
    "shared": np.zeros((1, FEATURES + 1)),
}  # fmt: skip


def test_a_saturated_record_attains_the_clip():
    given = usual(1)
    found, _ = summed("squared", SITUATION, **given, lot=[0])
    limit = Fraction(0.3) / Fraction(float(limb_lattice_step(RECORDS, 0.3)))
    length = square(found, [0] * len(found))
    assert (limit * Fraction(999, 1000)) ** 2 < length <= limit**2


@cache
def parts_of_a_long_lot():
    given = usual()
    everybody, _ = summed("squared", SITUATION, **given, lot=range(300))
    each = [summed("squared", SITUATION, **given, lot=[i])[0] for i in (0, 70, 299)]
    return given, everybody, each


def test_a_lot_of_many_blocks_is_not_cut_and_its_sum_is_exact():
    given, everybody, each = parts_of_a_long_lot()
    parts = [range(100), range(100, 299), [299]]
    sums = [summed("squared", SITUATION, **given, lot=part)[0] for part in parts]
    assert everybody == [sum(column) for column in zip(*sums, strict=True)]
    assert all(any(one) for one in each)
    assert sums[2] == each[2]
    others = [i for i in range(300) if i != 70]
    without, _ = summed("squared", SITUATION, **given, lot=others)
    assert without == [a - b for a, b in zip(everybody, each[1], strict=True)]


@pytest.mark.full
@pytest.mark.parametrize(("loss", "outputs"), [("logistic", 1), ("softmax", 3)])
def test_how_much_room_there_is_does_not_matter(loss, outputs):
    # The number of records, rounded up, is a shape of the compiled code.
    given = usual(outputs=outputs)
    s = {**SITUATION, "shared": np.random.default_rng(3).normal(size=(outputs, FEATURES + 1))}
    one = summed(loss, s, **given, lot=range(300))
    other = summed(loss, s, **given, lot=range(300), room=20_000)
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])


# --- the clip -----------------------------------------------------------------------------


def whole_rows(members):
    high, low = (np.asarray(part).astype(object) for part in (members.high, members.low))
    return 256 * high + low


def longest(numbers, members, cut):
    """Return the longest contribution over the clip, squared, and exactly."""
    squares = (np.asarray(cut).astype(object) ** 2).sum(axis=1)
    squares = squares * (whole_rows(members) ** 2).sum(axis=1)
    limit = Fraction(float(numbers.clip)) / Fraction(float(numbers.cell))
    return max(Fraction(int(one)) for one in squares) / limit**2


@pytest.mark.full
def test_contributions_of_hostile_members_are_within_the_clip():
    assert [found for found in checks.lengths() if not found.passed] == []


@pytest.mark.parametrize("work", [np.float32, np.float64])
@pytest.mark.parametrize("clip", [1e-30, 1e-300, 0.3])
def test_the_clip_does_not_rest_on_floats(work, clip):
    """Rows so short that their lengths lose all precision, in single or double."""
    count, rng = 1024, np.random.default_rng(0)
    members = hostile_members(count, 40, 1, 5)
    scale = 10.0 ** rng.uniform(-50, -40, count) * (clip / 1e-30)
    members = members._replace(scale=np.maximum(scale, 0.0), weight=np.ones(count))
    numbers = hostile_numbers(clip)
    length = np.sqrt(np.asarray(members.squares)) * scale
    with np.errstate(all="ignore"):
        steps = np.where(length > 0.0, clip / length, 1.0) * rng.uniform(0.5, 2.0, count)
        found = clip_steps(numbers, members, steps[:, None].astype(work))
    part = longest(numbers, members, found.cut)
    assert part <= 1
    if clip == 1e-30:  # otherwise all are silent in single precision
        assert part > 0.9


@pytest.mark.parametrize("work", [np.float32, np.float64])
def test_steps_are_cut_toward_zero_and_duals_move_by_what_is_left(work):
    members = hostile_members(1024, 40, 1, 5)._replace(weight=np.ones(1024))
    numbers = hostile_numbers()
    rng = np.random.default_rng(1)
    # From less than a cell to more than the clip.
    usual = float(numbers.cell) / np.maximum(np.asarray(members.scale), 1e-30)
    steps = rng.normal(size=(1024, 1)) * usual[:, None] * 10.0 ** rng.uniform(-1, 8, (1024, 1))
    found = clip_steps(numbers, members, steps.astype(work))
    cut, moves = (np.asarray(part).astype(float) for part in found)
    speaks = np.asarray(members.scale) > 0.0
    cells = moves[speaks] / usual[speaks, None]
    rounding = 1.0 + 4.0 * np.finfo(work).eps
    assert (np.abs(cut[speaks]) <= np.abs(cells) * rounding).all()
    assert (np.abs(cut[speaks]) > np.abs(cells) / rounding - 1.0).all()
    assert (cut[speaks] * cells >= 0.0).all()
    assert not cut[~speaks].any()
    assert not moves[~speaks].any()
    short = np.abs(steps[speaks]) < 1e3 * usual[speaks, None]
    np.testing.assert_array_equal(moves[speaks][short], steps.astype(work)[speaks][short])
    assert 0.99 < longest(numbers, members, cut.astype(int)) <= 1


def test_what_is_no_number_is_silent():
    members = hostile_members(1024, 40, 1, 5)
    ones = np.ones(1024)
    scale = np.full(1024, 1e-5)
    members = members._replace(weight=ones, scale=scale)
    steps = np.full((1024, 1), 1e-4)
    bad = [np.nan, np.inf, -np.inf]
    steps[:3, 0] = bad
    weight = ones.copy()
    weight[3:6] = [np.nan, 0.0, -1.0]
    scale[6:8] = [0.0, np.nan]
    found = clip_steps(hostile_numbers(), members._replace(weight=weight, scale=scale), steps)
    cut, moves = (np.asarray(part) for part in found)
    assert not cut[:8].any()
    assert not moves[:8].any()
    assert np.abs(cut).max() <= LARGEST_CUT
    assert (cut[8:] != 0).any()
    assert LARGEST > 0


# --- a member's own -----------------------------------------------------------------------


@pytest.mark.full
def test_a_step_does_not_depend_on_place_lot_or_others():
    found = checks.same_wherever("softmax", 5, 256)
    assert found.passed, found


@pytest.mark.full
def test_no_loss_has_steps_that_depend_on_others():
    assert [found for found in checks.positions() if not found.passed] == []


# --- losses -------------------------------------------------------------------------------

array_steps = compiled(dual_steps, static_argnums=0)
parts = compiled(sum_of_parts)


def given_steps(outputs, count=256, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(count, outputs)) * 10.0 ** rng.uniform(-2, 1.5, (count, 1))
    k = 10.0 ** rng.uniform(-3, 4, count)
    weight = rng.choice([0.25, 1.0, 3.0], count)
    label = rng.integers(0, max(outputs, 2), count).astype(float)
    return u, rng.random((count, outputs)), label, weight, k


@pytest.mark.parametrize("outputs", [1, pytest.param(3, marks=pytest.mark.full)])
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_steps_are_those_of_the_losses(loss, outputs):
    u, b, label, weight, k = given_steps(outputs)
    if outputs == 1:
        label = 2.0 * label - 1.0
        y = label[:, None]
    else:
        y = np.where(label[:, None] == np.arange(outputs), 1.0, -1.0)
    if loss == "hinge":
        k[::5] = 0.0  # rows of no length
    a = weight[:, None] * y * b
    found = np.asarray(array_steps(loss, u, a, label, weight, k))
    for i, j in np.ndindex(u.shape):
        one = dual_step(OF[loss], u[i, j], a[i, j] / weight[i], y[i, j], k[i])
        assert found[i, j] == pytest.approx(weight[i] * one, rel=1e-6, abs=1e-9)


def test_steps_of_all_classes_together_are_those_of_the_loss():
    u, p, label, weight, k = given_steps(5)
    p /= p.sum(axis=1, keepdims=True)
    own = label[:, None] == np.arange(5)
    p[::4] = own[::4]  # where duals start
    a = weight[:, None] * (own - p)
    given = (u, a, label, weight, k)
    found = np.asarray(array_steps("softmax", *(x.astype(np.float32) for x in given)))
    assert found.dtype == np.float32
    for i in range(len(u)):
        expected = u[i].copy()
        record_steps(OF["softmax"], label[i], weight[i], k[i], a[i].copy(), expected)
        # Single precision of margins of up to 100 and of steps of the order of 1.
        np.testing.assert_allclose(found[i], expected, rtol=2e-4, atol=2e-5)


def test_a_dual_that_is_where_it_must_be_does_not_move():
    zeros, ones = np.zeros((256, 5), np.float32), np.ones(256, np.float32)
    u = np.zeros((256, 5), np.float32)
    u[:, 0] = 1000.0  # softmax is exactly the own class
    found = np.asarray(array_steps("softmax", u, zeros, 0.0 * ones, ones, ones))
    assert not found.any()


@pytest.mark.parametrize("work", [np.float32, np.float64])
def test_sums_of_parts_have_no_order(work):
    rng = np.random.default_rng(2)
    given = (4.0 * rng.random((256, 50))).astype(work)
    found = np.asarray(parts(given))
    np.testing.assert_array_equal(parts(given[:, rng.permutation(50)]), found)
    exact = given.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(found, exact, rtol=float(np.finfo(work).eps), atol=50 * 2.0**-40)


def test_losses_of_the_engine_are_those_of_the_library():
    assert {name.lower() for name in on_device._LOSSES} == set(OF)


@pytest.mark.full
@pytest.mark.parametrize("outputs", [1, 5])
def test_one_record_moves_no_other_in_the_program_that_trains(outputs):
    case = Case("small", 6000, 20, outputs, 2000)
    name, passed, found = neighbour_found(case)
    assert passed, (name, found)
