"""Threads that share a lot: the same result, whoever else is there."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpscd.kernels._jit import COMPILED
from dpscd.kernels._memory import CALLED_OFF, GATE, barrier
from dpscd.kernels.dual import Records
from dpscd.kernels.pack import empty_pack, pack_rows
from dpscd.kernels.packed import advance_packed, advance_part
from dpscd.losses import Hinge, Logistic, Squared
from dpscd.plan import Plan
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import DeferredRows, Problem
from dpscd.solvers import threads as threads_module
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.threads import fill_deferred
from dpscd.standard import Standard

N, D, OUTPUTS = 600, 7, 3
PROBLEM = Problem(Hinge(), 0.01, N, D, outputs=OUTPUTS, constant=0.3)
PLAN = Plan(
    epsilon=1.0,
    delta=1e-5,
    relation=Relation.ZERO_OUT,
    n=N,
    d=D,
    outputs=OUTPUTS,
    intercept=True,
    lam=0.01,
    steps=40,
    rate=0.5,
    clip=0.05,
    separability=300.0,
    averaging=0.25,
    noise_multiplier=2.0,
)


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


@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_do_not_change_the_result(threads):
    np.testing.assert_array_equal(fit(threads), fit(1))


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
    plan = Plan(**{**PLAN.__dict__, "n": records})
    problem = Problem(Hinge(), 0.01, records, D, outputs=OUTPUTS, constant=0.3)
    with threads_module.kernel_for(problem, plan, *data(), threads) as (_, parts):
        assert parts == (used if COMPILED else 1)


def test_windows_has_no_yield(monkeypatch):
    monkeypatch.setattr(threads_module.sys, "platform", "win32")
    assert threads_module._most_parts(Plan(**{**PLAN.__dict__, "n": 10**6})) == 1


def test_parts_are_shares_of_the_same_work():
    rows, records = data()
    pack, numbers = pack_rows(rows, records), PLAN.constants(PROBLEM.strength, fixed_point=True)
    lots = PLAN.lots.draw(SeededSource(b"parts"), 0, 5, N)
    normals = np.zeros((5, PLAN.size))

    def state():
        shared = np.zeros((OUTPUTS, PROBLEM.width))
        return np.zeros((N, OUTPUTS)), shared, np.zeros_like(shared)

    expected, found = state(), state()
    advance_packed(Hinge(), pack, numbers, *lots, normals, 2, *expected)
    totals, gate = threads_module._room(pack, OUTPUTS, 1)
    advance_part(Hinge(), pack, numbers, *lots, normals, 2, *found, 0, totals, gate)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(COMPILED, reason="compiled, each part would wait for the other")
def test_parts_add_up_and_release_their_coordinates():
    """One after the other: what the last one releases is the sum of both."""
    rows, records = data()
    pack, numbers = pack_rows(rows, records), PLAN.constants(PROBLEM.strength, fixed_point=True)
    lots = PLAN.lots.draw(SeededSource(b"parts"), 0, 1, N)
    normals = np.ones((1, PLAN.size))
    results = []
    for parts in (1, 2):
        totals, gate = threads_module._room(pack, OUTPUTS, parts)
        totals[:] = 0
        dual, shared = np.zeros((N, OUTPUTS)), np.zeros((OUTPUTS, PROBLEM.width))
        for part in reversed(range(parts)):
            moved = shared.copy() if part else shared
            advance_part(
                Hinge(), pack, numbers, *lots, normals, 1, dual, moved, shared.copy(), part,
                totals, gate,
            )  # fmt: skip
        results.append((dual, shared[:, : PROBLEM.width // 2]))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_nothing_is_released_behind_a_closed_gate():
    rows, records = data()
    pack, numbers = pack_rows(rows, records), PLAN.constants(PROBLEM.strength, fixed_point=True)
    lots = PLAN.lots.draw(SeededSource(b"closed"), 0, 2, N)
    totals, gate = threads_module._room(pack, OUTPUTS, 2)
    gate[CALLED_OFF] = 1
    shared = np.zeros((OUTPUTS, PROBLEM.width))
    advance_part(
        Hinge(), pack, numbers, *lots, np.ones((2, PLAN.size)), 0, np.zeros((N, OUTPUTS)),
        shared, shared, 0, totals, gate,
    )  # fmt: skip
    assert not shared.any()


@pytest.mark.compiled
def test_a_gate_that_is_called_off_sends_a_thread_home():
    rows, records = data()
    pack, numbers = pack_rows(rows, records), PLAN.constants(PROBLEM.strength, fixed_point=True)
    lots = PLAN.lots.draw(SeededSource(b"off"), 0, 5, N)
    totals, gate = threads_module._room(pack, OUTPUTS, 2)
    shared = np.zeros((OUTPUTS, PROBLEM.width))
    work = threading.Thread(
        target=advance_part,
        args=(
            Hinge(), pack, numbers, *lots, np.ones((5, PLAN.size)), 9,
            np.zeros((N, OUTPUTS)), shared, shared.copy(), 0, totals, gate,
        ),
    )  # fmt: skip
    work.start()
    work.join(0.2)
    assert work.is_alive()  # it waits for the other one
    gate[CALLED_OFF] = 1
    work.join(60.0)
    assert not work.is_alive()
    assert not shared.any()


def test_alone_nobody_is_waited_for():
    assert barrier(np.zeros(GATE, np.int64), 1, 1)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_in_one_thread_calls_all_off(failing):
    gate = np.zeros(GATE, np.int64)

    def work(part):
        if part == failing:
            raise KeyboardInterrupt
        while not gate[CALLED_OFF]:
            pass

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        threads_module.together(pool, work, 2, gate)


@pytest.mark.compiled
@pytest.mark.usefixtures("eager")
def test_logistic_threads_agree_too():
    problem = Problem(Logistic(), 0.01, N, D)
    plan = Plan(**{**PLAN.__dict__, "outputs": 1, "intercept": False})
    X = np.random.default_rng(2).normal(size=(N, D))
    rows, records = problem.rows(X), Records(np.sign(X[:, 0]), np.ones(N))
    one, two = (
        dp_scd(problem, plan, rows, records, SeededSource(b"l"), threads=t) for t in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("count", [1, 4096, 5000])
def test_rows_packed_block_by_block_are_those_packed_at_once(count):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(count, 3)).astype(np.float32)
    standard = Standard(np.full(3, 0.1), np.array([1.0, 2.0, 3.0]), np.zeros(3), 0.0)
    problem = Problem(Squared(), 1e-3, count, 3, constant=0.25, standard=standard)
    records = Records(rng.normal(size=count), np.ones(count))
    deferred = DeferredRows(problem, X)
    assert deferred.count == count
    whole, parts = pack_rows(deferred.read(), records), empty_pack(count, 3, deferred.tail)
    fill_deferred(deferred, records, parts)
    np.testing.assert_array_equal(parts.cells, whole.cells)
    assert (parts.width, parts.padded, parts.place) == (whole.width, whole.padded, whole.place)
