"""Threads that share a lot: the same result, whoever else is there."""

import dataclasses
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpscd.kernels.dual import Records
from dpscd.kernels.pack import empty_pack, pack_rows
from dpscd.kernels.packed import add_packed_lot, advance_packed
from dpscd.kernels.packed_threads import (
    CANCELLED,
    STEP,
    advance_part,
    claim,
    done,
    new_state,
    share_of,
    take_part,
    was_shared,
)
from dpscd.kernels.persons import Persons
from dpscd.late import COMPILED
from dpscd.losses import Hinge, Softmax, Squared
from dpscd.persons import PersonRows
from dpscd.privacy.random import SeededSource
from dpscd.problem import DeferredRows, Problem
from dpscd.solvers import threads as threads_module
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.threads import fill_deferred
from dpscd.standard import Standard
from plans import make_facts, make_training

N, D, OUTPUTS = 600, 7, 3
PROBLEM = Problem(Hinge(), 0.01, N, D, outputs=OUTPUTS, constant=0.3)
PLAN = make_training(
    n=N, d=D, outputs=OUTPUTS, lam=0.01, steps=40, rate=0.5, clip=0.05, separability=300.0,
    averaging=0.25, noise_multiplier=2.0,
)  # fmt: skip


def with_facts(**changes):
    """Return the plan with other facts."""
    facts = make_facts(**{"n": N, "d": D, "outputs": OUTPUTS, **changes})
    return dataclasses.replace(PLAN, facts=facts)


def data():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(N, D))
    return PROBLEM.rows(X), Records(generator.integers(0, OUTPUTS, N) * 1.0, np.ones(N))


def fit(threads):
    return dp_scd(PROBLEM, PLAN, *data(), SeededSource(b"team"), threads=threads)


@pytest.fixture
def eager(monkeypatch):
    """However small a lot is, threads share it."""
    monkeypatch.setattr(threads_module, "_LEAST_WORK", 1)


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize(("loss", "outputs"), [(Hinge(), OUTPUTS), (Softmax(), 9)], ids=str)
def test_threads_do_not_change_the_result(loss, outputs, threads):
    problem = dataclasses.replace(PROBLEM, loss=loss, outputs=outputs)
    rows, records = data()
    given = rows, records._replace(labels=np.arange(N) % outputs * 1.0)
    one, other = (
        dp_scd(
            problem, with_facts(outputs=outputs), *given, SeededSource(b"team"), threads=used
        )
        for used in (1, threads)
    )
    np.testing.assert_array_equal(other, one)


@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
def test_two_fits_at_once_do_not_disturb_each_other():
    expected = fit(1)
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(fit, [2, 2, 2, 2]):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning")  # of JAX, if loaded
def test_a_forked_process_can_fit_with_threads():
    expected = fit(2)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(fit(2), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("records", "threads", "used"), [(600, 8, 1), (200_000, 8, 8), (4096, 8, 3)]
)
def test_small_lots_are_worth_no_threads(records, threads, used):
    plan = with_facts(n=records)
    problem = Problem(Hinge(), 0.01, records, D, outputs=OUTPUTS, constant=0.3)
    with threads_module.kernel_for(problem, plan, *data(), threads) as (_, parts):
        assert parts == (used if COMPILED else 1)


def test_on_windows_one_thread_works(monkeypatch):
    monkeypatch.setattr(threads_module.sys, "platform", "win32")
    assert threads_module._most_parts(with_facts(n=10**6)) == 1


class Chunk:
    """Five steps, and threads that come when a test calls them."""

    def __init__(self, parts, steps=5, lots=None):
        rows, records = data()
        self.pack = pack_rows(rows, records)
        self.constants = PLAN.constants(PROBLEM.strength, fixed_point=True)
        self.lots = lots or PLAN.lots.draw(SeededSource(b"parts"), 0, steps, N)
        self.steps, self.parts = steps, parts
        self.normals = np.random.default_rng(5).normal(size=(steps, PLAN.size))
        self.dual = np.zeros((N, OUTPUTS))
        self.shared = np.zeros((OUTPUTS, PROBLEM.width))
        self.average = np.zeros_like(self.shared)
        self.totals = np.empty((parts, OUTPUTS, self.pack.padded), np.int64)
        self.state = new_state(self.lots.starts, parts)

    @property
    def moved(self):
        return self.dual, self.shared, self.average

    def data(self):
        chunk = (*self.lots, self.normals, 2, *self.moved)
        return Hinge(), self.pack, self.constants, *chunk

    def work(self, part, *persons):
        advance_part(*self.data(), part, self.totals, self.state, *persons)

    def hold(self, part, size):
        """Claim members of a share for its thread, which is then not seen again."""
        begin, end = share_of(self.lots.starts, 0, part, self.parts)
        first = claim(self.state, part, begin, end, size)
        return self.lots.ids[first : min(first + size, end)]

    def deliver(self, part, members):
        """Do what the thread would have done with what it held."""
        take_part(self.state, part, 0)
        self.totals[part] = 0
        add_packed_lot(
            Hinge(), self.pack, self.constants, members, self.dual, self.shared,
            self.totals[part],
        )  # fmt: skip
        done(self.state, len(members))


def assert_expected(chunk, expected=None, *persons):
    """The state must be that of one thread, on the same lots."""
    expected = expected or Chunk(1)
    advance_packed(*expected.data(), *persons)
    assert chunk.state[STEP] == chunk.steps
    for found, state in zip(chunk.moved, expected.moved, strict=True):
        np.testing.assert_array_equal(found, state)


@pytest.mark.parametrize(("part", "parts"), [(0, 1), (0, 2), (1, 2), (2, 3), (4, 5)])
def test_a_thread_does_the_shares_of_those_that_never_come(part, parts):
    chunk = Chunk(parts)
    chunk.work(part)
    assert_expected(chunk)
    assert not was_shared(chunk.state, parts)


def test_empty_lots_still_add_noise():
    # Between lots with members, whose sums are left in the threads' rooms.
    lots = PLAN.lots.draw(SeededSource(b"parts"), 0, 5, N)
    first, second = lots.ids[: lots.starts[1]], lots.ids[lots.starts[1] : lots.starts[2]]
    starts = np.cumsum([0, 0, len(first), 0, len(second), 0])
    sparser = type(lots)(np.concatenate([first, second]), starts)
    expected, chunk = Chunk(1, lots=sparser), Chunk(2, lots=sparser)
    chunk.work(1)
    assert_expected(chunk, expected)


@pytest.mark.full
@pytest.mark.parametrize("part", [0, 1])
def test_a_thread_does_the_shares_of_persons_too(part):
    starts = np.arange(0, N + 1, 3)
    count = len(starts) - 1
    lots = PLAN.lots.draw(SeededSource(b"persons"), 0, 5, count)
    expected, chunk = Chunk(1, lots=lots), Chunk(2, lots=lots)
    one, other = (Persons(starts, np.zeros(count, np.int64), 2) for _ in range(2))
    chunk.work(part, other)
    assert_expected(chunk, expected, one)
    np.testing.assert_array_equal(other.turns, one.turns)


def test_who_comes_when_all_is_done_changes_nothing():
    chunk = Chunk(3)
    for part in (1, 0, 2):
        chunk.work(part)
    assert_expected(chunk)


@pytest.mark.compiled
@pytest.mark.parametrize("delay", [0.0, 1e-5, 1e-4, 1e-3])
def test_threads_may_come_at_any_time(delay):
    for _ in range(5):
        chunk = Chunk(5)

        def work(part, chunk=chunk):
            time.sleep(part * delay)
            chunk.work(part)

        with ThreadPoolExecutor(4) as pool:
            threads_module.together(pool, work, 5, chunk.state, chunk.steps)
            assert_expected(chunk)


@pytest.mark.full
@pytest.mark.parametrize("size", [1, 40, 1000])
def test_a_step_is_released_when_those_that_are_late_have_delivered(size):
    chunk = Chunk(2)
    held = chunk.hold(1, size)
    chunk.work(0)
    # It did what was left, waited, and went home: nothing is released without the others.
    assert chunk.state[STEP] == 0
    assert not chunk.shared.any()
    assert not chunk.dual[held].any()
    chunk.work(0)
    assert chunk.state[STEP] == 0
    chunk.deliver(1, held)
    chunk.work(0)
    assert_expected(chunk)
    assert not was_shared(chunk.state, 2)


def test_nothing_is_released_behind_a_closed_gate():
    chunk = Chunk(2)
    chunk.state[CANCELLED] = 1
    chunk.work(0)
    assert not chunk.shared.any()
    assert not chunk.dual.any()


@pytest.mark.compiled
def test_a_gate_that_is_called_off_sends_a_waiting_thread_home():
    chunk = Chunk(2)
    chunk.hold(1, 40)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            chunk.work(0)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.01)
    chunk.state[CANCELLED] = 1
    stop.set()
    thread.join(60.0)
    assert not thread.is_alive()
    assert not chunk.shared.any()


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_in_one_thread_calls_all_off(failing):
    chunk = Chunk(2)

    def work(part):
        if part == failing:
            chunk.hold(part, 10)
            raise KeyboardInterrupt
        chunk.work(part)

    chunk.hold(failing, 1)  # else the other one might be done with everything before
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        threads_module.together(pool, work, 2, chunk.state, chunk.steps)
    assert chunk.state[CANCELLED]
    assert not chunk.shared.any()


def test_who_waited_in_vain_sleeps_until_the_other_is_done():
    state, calls = new_state(np.array([0, 9]), 2), []

    def work(part):
        calls.append(part)
        if part == 1:
            time.sleep(0.05)
            state[STEP] = 1

    with ThreadPoolExecutor(1) as pool:
        threads_module.together(pool, work, 2, state, 1)
    assert state[STEP] == 1
    assert calls.count(0) <= 2


def test_who_is_late_is_not_waited_for():
    state, late = new_state(np.array([0, 9]), 3), threading.Event()

    def work(part):
        if part == 0:
            state[STEP] = 1
        else:
            late.wait(60.0)

    with ThreadPoolExecutor(1) as pool:
        threads_module.together(pool, work, 3, state, 1)
        assert not late.is_set()
        late.set()
    assert not state[CANCELLED]


def test_an_interrupt_of_the_sleep_calls_all_off(monkeypatch):
    state = new_state(np.array([0, 9]), 2)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(threads_module, "wait", interrupt)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        threads_module.together(pool, lambda _: None, 2, state, 1)
    assert state[CANCELLED]


def test_after_waiting_in_vain_one_thread_works_for_a_while():
    backoff = threads_module.ThreadBackoff()
    asked = []
    for _ in range(6):
        alone = 0
        while not backoff.may_share():
            alone += 1
        asked.append(alone)
        backoff.learn(shared=False)
    assert asked == [0, 1, 2, 4, 8, 16]
    while not backoff.may_share():
        alone += 1
    assert alone == 16 + 16
    backoff.learn(shared=True)
    assert backoff.may_share()
    backoff.learn(shared=False)
    assert not backoff.may_share()
    assert backoff.may_share()


@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_one_thread_for_a_while_does_not_change_the_result(threads, monkeypatch):
    expected = fit(1)
    turns = np.random.default_rng(threads)
    monkeypatch.setattr(
        threads_module.ThreadBackoff, "may_share", lambda _: turns.random() < 0.5
    )
    monkeypatch.setattr("dpscd.solvers.dp_scd._CHUNK", 4 * N)
    np.testing.assert_array_equal(fit(threads), expected)


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_do_not_change_the_result_for_persons(threads):
    starts = np.unique(np.concatenate([[0, N], np.random.default_rng(3).integers(0, N, 150)]))
    count = len(starts) - 1
    problem = Problem(Hinge(), 0.01, count, D, outputs=OUTPUTS, constant=0.3)
    plan = with_facts(n=count)
    X = np.random.default_rng(1).normal(size=(N, D))
    rows, records = problem.rows(X), data()[1]

    def run(number):
        own = PersonRows(starts, records.weights, 3)
        source = SeededSource(b"persons")
        return dp_scd(problem, plan, rows, records, source, threads=number, persons=own)

    np.testing.assert_array_equal(run(threads), run(1))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 4096, 5000])
def test_rows_packed_block_by_block_are_those_packed_at_once(count, kind):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(count, 3)).astype(kind)
    standard = Standard(np.full(3, 0.1), np.array([1.0, 2.0, 3.0]), np.zeros(3), 0.0)
    problem = Problem(Squared(), 1e-3, count, 3, constant=0.25, standard=standard)
    records = Records(rng.normal(size=count), np.ones(count))
    deferred = DeferredRows(problem, X)
    assert deferred.count == count
    whole, parts = pack_rows(deferred.read(), records), empty_pack(count, 3, deferred.tail)
    fill_deferred(deferred, records, parts)
    np.testing.assert_array_equal(parts.cells, whole.cells)
    assert problem.block(X).values.dtype == kind
    assert (parts.width, parts.padded, parts.place) == (whole.width, whole.padded, whole.place)
