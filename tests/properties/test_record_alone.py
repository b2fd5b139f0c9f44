"""What a record is trained on is a function of that record, to the last bit.

Not of the other records, of how many there are, of where blocks of them begin, nor of the
type or layout that they are kept in.
"""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from dpscd import problem as problem_module
from dpscd import standard as standard_module
from dpscd.kernels.dual import Records
from dpscd.kernels.pack import empty_pack, pack_rows
from dpscd.kernels.packed import add_packed_lot, advance_packed
from dpscd.kernels.packed_threads import advance_part, new_state
from dpscd.kernels.persons import Persons
from dpscd.losses import Logistic, Poisson, Softmax, Squared
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import DeferredRows, Problem, labels_of
from dpscd.releases.base import Residuals
from dpscd.releases.moments import MomentsQuery
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.threads import fill_deferred
from dpscd.standard import Standard
from plans import held, make_training

N = 23


def plan(d, **changes):
    values = {
        "relation": Relation.ADD_REMOVE, "n": N, "d": d, "lam": 0.01, "steps": 40, "rate": 0.3,
        "clip": 0.05, "separability": 8.0, "noise_multiplier": 1.0, "moments_noise": 1.0,
        "label_noise": 1.0,
    }  # fmt: skip
    return make_training(**{**values, **changes})


def standard(kind, d, rng):
    direction = rng.normal(size=d)
    return {
        "none": None,
        "centred": Standard(rng.normal(size=d), rng.uniform(0.5, 2.0, d), np.zeros(d), 0.0),
        "turned": Standard(
            np.zeros(d), rng.uniform(0.5, 2.0, d), direction / np.linalg.norm(direction), 0.7
        ),
        "scaled": Standard(np.zeros(d), rng.uniform(0.5, 2.0, d), np.zeros(d), 0.0),
    }[kind]


@st.composite
def situations(draw, kinds):
    d = draw(st.integers(1, 20) | st.sampled_from([90, 131, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = (rng.normal(size=(N, d)) * (rng.random((N, d)) < 0.8)).astype(np.float32)
    one = standard(draw(st.sampled_from(kinds)), d, rng)
    problem = Problem(
        Squared(), 0.01, N, d, row_bound=np.sqrt(d).item(), constant=0.5, standard=one
    )
    chosen = rng.permutation(N)[: draw(st.integers(1, N - 1))]  # the others are removed
    return problem, X, rng.normal(size=N), chosen, draw(st.integers(1, N))


def in_blocks(size):
    """Let rows be standardised and measured so many at a time."""
    return (
        mock.patch.object(problem_module, "_BLOCK", size),
        mock.patch.object(standard_module, "_BLOCK", size),
    )


def dense_rows(problem, X, labels):
    """Return every record as bytes: its packed numbers, what was measured, and its values."""
    rows, deferred = problem.rows(X), DeferredRows(problem, X)
    pack = empty_pack(len(X), problem.d, rows.tail, lambda size: np.zeros(size, np.uint8))
    fill_deferred(deferred, Records(labels, np.ones(len(X))), pack)
    values = rows.values.astype(np.float64)
    return [
        (rows.factor[i], rows.norm[i], values[i].tobytes(), pack.cells[i].tobytes())
        for i in range(len(X))
    ]


def containers(X):
    return [X, X.astype(np.float64), np.asfortranarray(X), np.asfortranarray(X, np.float64)]


@pytest.mark.full
@settings(max_examples=60)
@given(situations(["none", "centred", "turned"]))
def test_a_row_is_that_of_its_record_alone(situation):
    problem, X, labels, chosen, size = situation
    expected = dense_rows(problem, X, labels)
    first, second = in_blocks(size)
    with first, second:
        for kept in containers(X)[:2]:
            assert dense_rows(problem, kept, labels) == expected
    for kept in containers(X):
        if problem.standard is not None:
            np.testing.assert_array_equal(
                problem.rows(kept).values.view(np.uint32),
                problem.rows(X).values.view(np.uint32),
            )
        some = np.ascontiguousarray(kept[chosen])
        assert dense_rows(problem, some, labels[chosen]) == [expected[i] for i in chosen]


def sparse_rows(problem, X):
    rows = problem.rows(X)
    values = rows.values.astype(np.float64)
    return [
        (rows.factor[i], rows.norm[i], values[rows.indptr[i] : rows.indptr[i + 1]].tobytes())
        for i in range(X.shape[0])
    ]


@settings(max_examples=60)
@given(situations(["none", "scaled"]))
def test_a_sparse_row_is_that_of_its_record_alone(situation):
    problem, X, _, chosen, size = situation
    expected = sparse_rows(problem, scipy.sparse.csr_array(X))
    first, second = in_blocks(size)
    with first, second:
        for dtype in (np.float32, np.float64):
            kept = scipy.sparse.csr_array(X.astype(dtype))
            assert sparse_rows(problem, kept) == expected
            assert sparse_rows(problem, kept[chosen]) == [expected[i] for i in chosen]


def kinds_of(X):
    return [
        *(X.astype(dtype) for dtype in (np.float32, np.float64)),
        *(scipy.sparse.csr_array(X.astype(dtype)) for dtype in (np.float32, np.float64)),
    ]


@settings(max_examples=40)
@given(situations(["none"]))
def test_moments_are_sums_of_what_each_record_adds_alone(situation):
    problem, X, labels, chosen, _ = situation
    query = MomentsQuery(N, problem)
    alone = [held(X[i : i + 1], labels[i : i + 1]).total(query) for i in range(N)]
    for kept in kinds_of(X):
        found = held(kept[chosen], labels[chosen]).total(query)
        np.testing.assert_array_equal(found, sum(alone[i] for i in chosen))


@settings(max_examples=40)
@given(situations(["none", "centred", "turned"]))
def test_how_a_label_is_cut_with_its_row_is_a_function_of_the_record(situation):
    problem, X, labels, chosen, size = situation
    expected = labels_of(problem, DeferredRows(problem, X), labels)
    first, second = in_blocks(size)
    with first, second:
        for kept in containers(X):
            some = DeferredRows(problem, np.ascontiguousarray(kept[chosen]))
            found = labels_of(problem, some, labels[chosen])
            np.testing.assert_array_equal(found, expected[chosen])


@settings(max_examples=40)
@given(situations(["none", "centred", "turned"]))
def test_what_a_pilot_leaves_of_a_label_is_a_function_of_the_record(situation):
    problem, X, labels, chosen, size = situation
    shared = np.random.default_rng(size).normal(size=(1, problem.width))
    left = Residuals(problem, shared, 1.7)
    expected = left.labels(DeferredRows(problem, X), labels)
    first, second = in_blocks(size)
    with first, second:
        for kept in (X, X.astype(np.float64)):
            some = DeferredRows(problem, np.ascontiguousarray(kept[chosen]))
            np.testing.assert_array_equal(left.labels(some, labels[chosen]), expected[chosen])
    if problem.standard is None:
        single, double = (left.labels(problem.rows(kept), labels) for kept in kinds_of(X)[2:])
        np.testing.assert_array_equal(single, double)


@pytest.mark.full
@pytest.mark.parametrize("multiplier", [1.0, 2e-5], ids=["fixed point", "floats"])
@pytest.mark.parametrize(
    ("layout", "d"), [("dense", 7), ("dense", 90), ("csr", 7), ("csr", 90), ("csr", 5000)]
)
def test_a_fit_does_not_depend_on_the_type_that_numbers_are_kept_in(layout, d, multiplier):
    n = 150
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < min(1.0, 40 / d))
    X = X.astype(np.float32)
    one = plan(d, n=n, noise_multiplier=multiplier)
    assert one.fixed_point == (multiplier == 1.0)
    assert one.lazy == (d == 5000)
    problem = Problem(Logistic(), one.lam, n, d, row_bound=3.0, constant=0.5)
    records = Records(np.sign(rng.normal(size=n)), np.ones(n))
    kept = kinds_of(X)[:2] if layout == "dense" else kinds_of(X)[2:]
    single, double = (
        dp_scd(problem, one, problem.rows(each), records, SeededSource(b"kept"))
        for each in kept
    )
    np.testing.assert_array_equal(single, double)


def lot_of(loss, d, outputs, n=300):
    """Return what a kernel needs to step: more records than two blocks have, some silent."""
    rng = np.random.default_rng(d)
    one = plan(d, n=n, outputs=outputs)
    problem = Problem(loss, one.lam, n, d, outputs=outputs, row_bound=3.0, constant=0.5)
    labels = rng.choice([-1.0, 1.0], n)
    if not isinstance(loss, Logistic):
        labels = rng.integers(0, max(3, outputs), n) * 1.0  # counts, or classes
    weights = rng.choice([1.0, 0.3, 2.0], n)
    pack = pack_rows(problem.rows(rng.normal(size=(n, d))), Records(labels, weights))
    constants = one.constants(problem.strength, fixed_point=True)
    shared = rng.normal(size=(outputs, d + 1))
    before = rng.uniform(0.0, 0.05, (n, outputs))
    before[::7, 0] = np.inf  # silent, beside others
    return rng, (loss, pack, constants), shared, before


@pytest.mark.full
@pytest.mark.parametrize(
    ("loss", "d", "outputs"),
    [
        (Logistic(), 7, 1),
        (Poisson(0.7), 7, 1),
        (Softmax(), 90, 3),
        (Softmax(), 512, 10),
        (Softmax(), 300, 17),
    ],
)
def test_steps_of_a_record_do_not_depend_on_the_rest_of_its_lot(loss, d, outputs):
    rng, problem, shared, before = lot_of(loss, d, outputs)
    n = len(before)

    def moved(ids):
        dual, total = before.copy(), np.zeros((outputs, problem[1].padded), np.int64)
        add_packed_lot(*problem, np.array(ids), dual, shared, total)
        return dual, total

    alone = [moved([i]) for i in range(n)]
    for size in (*range(2, 20), 33, 127, 128, 129, 300):
        ids = rng.permutation(n)[:size]
        dual, total = moved(ids)
        for i in ids:
            np.testing.assert_array_equal(dual[i], alone[i][0][i])
        np.testing.assert_array_equal(total, sum(alone[i][1] for i in ids))


@pytest.mark.full
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize(
    ("loss", "d", "outputs"), [(Logistic(), 90, 1), (Poisson(0.7), 90, 1), (Softmax(), 300, 9)]
)
def test_nor_do_they_in_the_kernels_that_train(loss, d, outputs, persons):
    """The loop over rows is compiled into each of them: for one thread, and for several."""
    rng, problem, shared, before = lot_of(loss, d, outputs)
    n = len(before)
    units = (Persons(np.arange(n + 1), np.zeros(n, np.int64), 100),) if persons else ()

    def stepped(kernel, ids):
        dual, average = before.copy(), np.zeros_like(shared)
        starts, normals = np.array([0, len(ids)]), np.zeros((1, shared.size))
        chunk = (np.array(ids), starts, normals, 1, dual, shared.copy(), average)
        kernel(*problem, *chunk, *units)
        return dual

    for kernel in (advance_packed, by_threads):
        alone = [stepped(kernel, [i])[i] for i in range(40)]
        for size in (40, 41, 43, 129, 300):
            dual = stepped(kernel, rng.permutation(np.arange(size)))
            np.testing.assert_array_equal(dual[:40], alone)


def by_threads(loss, pack, constants, ids, starts, *others):
    """Run a chunk of steps by the kernel of threads, in one."""
    *chunk, dual, shared, average = others[:5]
    totals = np.empty((2, shared.shape[0], pack.padded), np.int64)
    state = new_state(starts, 2)
    for part in (0, 1):
        advance_part(
            loss, pack, constants, ids, starts, *chunk, dual, shared, average, part, totals,
            state, *others[5:],
        )  # fmt: skip
