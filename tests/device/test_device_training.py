"""A training on the device: the mechanism, step by step, by another hand."""

import math
from fractions import Fraction

import jax
import numpy as np
import pytest

from dpscd.device import backend, training
from dpscd.device.backend import compiled
from dpscd.device.random import draw_lot, draw_normals, key_of
from dpscd.device.rows import MOST
from dpscd.device.training import (
    Job,
    block_for,
    damping_before,
    new_damping,
    new_state,
    release,
    run_steps,
    train,
)
from dpscd.errors import DataError, ParameterError
from dpscd.kernels.dual import Records, StepConstants
from dpscd.kernels.packed import release_cells
from dpscd.losses import Logistic
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import DeferredRows, Problem
from dpscd.solvers import on_device
from dpscd.solvers.dp_scd import Damping, DampingRule
from dpscd.solvers.on_device import check_device_plan, device_numbers, device_scd
from plans import Looks, make_training

N, D = 300, 3
PROBLEM = Problem(Logistic(), 0.01, N, D, constant=0.3)
VALUES = {
    "n": N, "d": D, "lam": 0.01, "steps": 20, "rate": 0.5, "clip": 0.05,
    "separability": 40.0, "averaging": 0.5, "noise_multiplier": 0.5,
}  # fmt: skip
PLAN = make_training(**VALUES)
# A lot has 150 members, three blocks.
JOB = Job("logistic", 1, D + 1, 64)
SECRET = bytes(range(32))

lot_sum = compiled(training._lot_sum, static_argnums=0)
drawn_lot = compiled(draw_lot, static_argnums=(4, 5))
normals = compiled(draw_normals, static_argnums=2)
released = compiled(release)
damping = compiled(damping_before)


def data(count=N):
    X = np.random.default_rng(1).normal(size=(count, D))
    return DeferredRows(PROBLEM, X), Records(np.where(X[:, 0] > 0.0, 1.0, -1.0), np.ones(count))


def held(count=N):
    return on_device._rows_on_device(*data(count))


# --- steps --------------------------------------------------------------------------------


def by_hand(steps, plan=PLAN):
    """Yield the shared vector after every step, from the parts that other tests look at."""
    numbers, rows, key = device_numbers(PROBLEM, plan, N), held(), key_of(SECRET)
    constants = StepConstants(*(float(getattr(numbers, name)) for name in (
        "strength", "spread", "clip", "cell", "grid", "spread",
    )))  # fmt: skip
    state, damping = new_state(JOB, rows.room, plan.separability), Damping(plan)
    for t in range(steps):
        shared = np.array(state.shared)
        damped = state.damping._replace(separability=np.float64(damping.before(t, shared)))
        lot = drawn_lot(key, t, numbers.threshold, numbers.count, rows.room, JOB.block)
        total, dual = lot_sum(JOB, rows, numbers, lot, state._replace(damping=damped))
        noise = np.asarray(normals(key, t, shared.size)).reshape(shared.shape)
        release_cells(np.asarray(total)[0], noise[0], constants, int(numbers.bits), shared[0])
        yield shared
        state = state._replace(shared=shared, dual=dual)


@pytest.mark.full
@pytest.mark.usefixtures("exact")
def test_a_training_is_lots_sums_and_noise_step_by_step():
    path = list(by_hand(PLAN.steps))
    numbers, seen = device_numbers(PROBLEM, PLAN, N), []
    total = train(
        JOB, held(), numbers, DampingRule.of(PLAN), SECRET, [1, 9, 10, PLAN.steps],
        lambda step, shared: seen.append((step, shared())),
    )  # fmt: skip
    assert [step for step, _ in seen] == [1, 9, 10, PLAN.steps]
    for step, shared in seen:
        np.testing.assert_array_equal(shared, path[step - 1])
        cells = shared / float(numbers.grid)
        np.testing.assert_array_equal(cells, np.round(cells))
    np.testing.assert_allclose(total, sum(path[PLAN.average_from :]), rtol=1e-12)


@pytest.mark.usefixtures("exact")
def test_nothing_is_left_on_the_device():
    rows = held()
    made = []

    def fails(_step, shared):
        made.append(shared())
        raise KeyboardInterrupt

    before = {id(array) for array in jax.live_arrays()} - {id(array) for array in rows}
    numbers = device_numbers(PROBLEM, PLAN, N)
    with pytest.raises(KeyboardInterrupt):
        train(JOB, rows, numbers, DampingRule.of(PLAN), SECRET, [1, PLAN.steps], fails)
    assert len(made) == 1
    assert all(array.is_deleted() for array in rows)
    left = [array for array in jax.live_arrays() if id(array) not in before]
    assert all(array.size < N for array in left)


@pytest.mark.usefixtures("exact")
def test_a_step_that_fails_on_the_device_leaves_nothing_either(monkeypatch):
    given = []

    def fails(*parts):
        given.extend(jax.tree.leaves(parts[5]))
        given[0].delete()  # the state is used up, whatever becomes of the step
        raise RuntimeError

    monkeypatch.setattr(training, "run_steps", fails)
    rows, numbers = held(), device_numbers(PROBLEM, PLAN, N)
    with pytest.raises(RuntimeError):
        train(JOB, rows, numbers, DampingRule.of(PLAN), SECRET, [1], lambda *_: None)
    assert all(array.is_deleted() for array in (*rows, *given))


@pytest.mark.usefixtures("exact")
def test_empty_lots_still_add_noise():
    numbers = device_numbers(PROBLEM, PLAN, 0)  # nobody is there
    rows, key = held(), key_of(SECRET)
    state = new_state(JOB, rows.room, 40.0)
    found = run_steps(JOB, rows, numbers, DampingRule.of(PLAN), key, state, 0, 3)
    drawn = [np.asarray(normals(key, t, 4)) for t in range(3)]
    cells = sum(np.floor(float(numbers.spread) * z + 0.5) for z in drawn)
    np.testing.assert_array_equal(found.shared[0], cells * float(numbers.grid))
    assert not np.asarray(found.dual).any()


# --- the release --------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("bits", [0, 9, 30, 52])
def test_release_is_that_of_the_other_engine_and_the_rounded_sum(bits):
    rng = np.random.default_rng(4)
    totals = rng.integers(-(2**62), 2**62, 2000) >> rng.integers(0, 60, 2000)
    drawn = rng.normal(size=2000)
    drawn[:500] = rng.integers(-(2**10), 2**10, 500) * 2.0**-11  # ties
    grid, spread = 2.0**-16, 1024.0
    numbers = device_numbers(PROBLEM, PLAN, N)._replace(
        grid=np.float64(grid), cell=np.float64(math.ldexp(grid, -bits)), bits=np.int64(bits),
        spread=np.float64(spread),
    )  # fmt: skip
    found = np.asarray(released(totals, drawn, numbers, np.zeros(2000)))
    expected = np.zeros(2000)
    constants = StepConstants(1.0, 1.0, 1.0, math.ldexp(grid, -bits), grid, spread)
    release_cells(totals, drawn, constants, bits, expected)
    np.testing.assert_array_equal(found, expected)
    for total, normal, one in zip(totals[500:], drawn[500:], found[500:], strict=True):
        exact = Fraction(int(total), 2**bits) + Fraction(spread) * Fraction(normal)
        whole = math.floor(exact + Fraction(1, 2))
        assert one == float(whole) * grid


# --- the damping ----------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    ("rate", "size", "back"), [(0.2, 0.5, 0.9), (0.07, 10.0, 1.0), (0.2, 10.0, -0.5)]
)
def test_the_damping_is_that_of_the_other_engine(rate, size, back):
    plan = make_training(**{
        **VALUES, "rate": rate, "steps": 200, "separability": 3.0, "most_separability": 80.0,
        "intercept": False,
    })  # fmt: skip
    rng = np.random.default_rng(6)
    moves = rng.normal(size=(plan.steps, 1, D)) * size
    moves[1:] -= back * moves[:-1]
    path = np.cumsum(moves, axis=0)
    rule, other = DampingRule.of(plan), Damping(plan)
    state, found = new_damping(rule.start, jax.numpy.zeros((1, D))), []
    for t, shared in enumerate(path):
        state = damping(rule, np.int64(t), shared, state)
        found.append(float(state.separability))
    assert found == [other.before(t, shared) for t, shared in enumerate(path)]
    assert found[-1] > found[0]


# --- blocks -------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 10, 1000, 10**6])
@pytest.mark.parametrize("lot", [0.5, 1.0, 97.0, 5000.0, 65_536.0, 5e5, 1e7])
def test_blocks_fit_and_are_not_much_larger_than_lots(lot, outputs):
    block = block_for(lot, outputs)
    assert 64 <= block <= MOST
    assert block % 64 == 0
    assert block <= lot + 5.0 * math.sqrt(lot) + 65.0
    assert block * outputs <= max(2**26, 64 * outputs)


def seen_by(plan=PLAN, count=N, monkeypatch=None, secret=b"fit", **options):
    """Run a training up to where the device begins, and return what it would be given."""
    given = []

    def record(job, rows, numbers, rule, key, stops, _seen):
        given.append((job, rows.room, numbers, rule, key, stops))
        return np.zeros((job.outputs, job.width))

    monkeypatch.setattr(training, "train", record)
    device_scd(PROBLEM, plan, *data(count), SeededSource(secret), **options)
    return given[0]


def test_what_is_compiled_follows_from_public_numbers(monkeypatch):
    # The true number of records differs; the public one does not.
    one, other = (seen_by(count=count, monkeypatch=monkeypatch) for count in (N, 20))
    assert one[0] == other[0] == Job("logistic", 1, D + 1, block_for(PLAN.lot_size, 1))
    assert one[2]._replace(count=0) == other[2]._replace(count=0)
    assert (one[2].count, other[2].count) == (N, 20)
    assert one[3:] == other[3:]


def test_the_key_is_drawn_from_the_source_for_nothing_else(monkeypatch):
    one = seen_by(monkeypatch=monkeypatch)[4]
    assert one == SeededSource(b"fit").words(Purpose.DEVICE_KEY, 0, 1, 4).tobytes()
    assert len(one) == 32
    assert seen_by(monkeypatch=monkeypatch, secret=b"other")[4] != one
    assert [purpose.value for purpose in Purpose].count(Purpose.DEVICE_KEY.value) == 1


@pytest.mark.parametrize(("pause", "chunk"), [(1, 1), (7, 7), (None, 2)])
def test_an_observer_sees_the_steps_it_asks_for_and_progress_sees_chunks(
    monkeypatch, pause, chunk
):
    def walk(*given):
        stops, seen = given[-2:]
        for stop in stops:
            seen(stop, lambda: np.full((1, 4), stop))  # noqa: B023 - called at once
        return np.ones((1, 4))

    monkeypatch.setattr(training, "train", walk)
    looks, done, source = Looks(pause), [], SeededSource(b"fit")
    device_scd(PROBLEM, PLAN, *data(), source, progress=done.append, observer=looks)
    assert looks.begun == [(PROBLEM, PLAN)]
    stops = [*range(chunk, PLAN.steps, chunk), PLAN.steps]
    assert [step for step, _ in looks.path] == stops
    assert done == np.diff([0, *stops]).tolist()
    done = []
    found = device_scd(PROBLEM, PLAN, *data(), SeededSource(b"fit"), progress=done.append)
    assert done == [8, 8, 4]
    np.testing.assert_array_equal(found, np.ones((1, 4)) / (PLAN.steps - PLAN.average_from))


def test_the_public_numbers_are_those_of_the_plan():
    numbers = device_numbers(PROBLEM, PLAN, 17)
    assert float(numbers.grid) == PLAN.noise.grid
    assert float(numbers.spread) == PLAN.noise.spread
    assert float(numbers.cell) * 2.0 ** int(numbers.bits) == PLAN.noise.grid
    assert (int(numbers.threshold) + 1) / 2**32 <= PLAN.rate
    assert (float(numbers.clip), int(numbers.count)) == (PLAN.clip, 17)
    assert int(numbers.average_from) == PLAN.average_from


# --- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "loss", "facts", "words"),
    [
        ({}, "Logistic", {"dense": False}, "sparse rows"),
        ({}, "Logistic", {"persons": True}, "groups"),
        ({}, "Huber", {}, "Huber"),
        ({}, "Poisson", {}, "Poisson"),
        ({"d": MOST}, "Logistic", {}, "columns"),
        ({"noise_multiplier": 1e-9}, "Logistic", {}, "so little noise"),
        ({"relation": Relation.ADD_REMOVE}, "Logistic", {}, "number of records is secret"),
        ({"steps": 2**32}, "Logistic", {}, "steps or more"),
        ({"outputs": 7}, "Logistic", {}, "outputs"),
        ({"n": 2**29 + 1}, "Logistic", {}, "records"),
    ],
)
def test_what_the_engine_does_not_do_is_refused_in_words(
    changes, loss, facts, words, monkeypatch
):
    monkeypatch.setattr(on_device, "_MOST_OUTPUTS", 6)
    plan = make_training(**{**VALUES, **changes})
    with pytest.raises(ParameterError, match=words):
        check_device_plan(plan, loss, **{"dense": True, "persons": False, **facts})


class Memory:
    """A device that says how much memory it has."""

    def __init__(self, free):
        self.stats = {"bytes_limit": free + 2**20, "bytes_in_use": 2**20}
        self.platform, self.device_kind = "gpu", "Small One"

    def memory_stats(self):
        return self.stats


def test_what_does_not_fit_is_refused_with_its_size(monkeypatch):
    plan = make_training(**{**VALUES, "n": 10**8, "d": 100, "noise_multiplier": 100.0})
    monkeypatch.setattr(backend, "device", lambda: Memory(2**30))
    with pytest.raises(DataError, match=r"Small One has 1\.0 GiB free and this fit needs"):
        check_device_plan(plan, "Logistic", dense=True, persons=False)
    monkeypatch.setattr(backend, "device", lambda: Memory(2**50))
    check_device_plan(plan, "Logistic", dense=True, persons=False)


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 12 bytes"), MemoryError),
        (RuntimeError("something else"), RuntimeError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_the_errors_of_a_device_say_nothing_of_memory_but_that(monkeypatch, error, becomes):
    def fails(*_given):
        raise error

    monkeypatch.setattr(training, "train", fails)
    with pytest.raises(becomes) as raised:
        device_scd(PROBLEM, PLAN, *data(), SeededSource(b"fit"))
    if becomes is MemoryError:
        assert str(raised.value) == ""
