import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import softmax

from dpscd.kernels.dual import Records, StepConstants, release, step_of
from dpscd.kernels.lots import advance
from dpscd.kernels.passes import measure_rows
from dpscd.kernels.sdca import sweep
from dpscd.losses import Hinge, Logistic, Softmax, Squared
from dpscd.problem import Problem

LOSSES = [Squared(), Logistic(), Hinge()]
COUNT, D, STEPS = 40, 5, 30


def name_of(loss):
    return type(loss).__name__


every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name_of)
joint_too = pytest.mark.parametrize("loss", [*LOSSES, Softmax()], ids=name_of)


# --- the mechanism, written to be read -----------------------------------------------


def plain_step(loss, u, a, y, k):
    """Return the minimiser of conjugate(a + z) + u z + k z^2 / 2."""
    if isinstance(loss, Squared):
        return (y - u - a) / (1.0 + k)
    b = y * a
    if isinstance(loss, Hinge):
        return y * min(max(b + (1.0 - y * u) / k, 0.0), 1.0) - a
    p = k * b - y * u
    s = brentq(lambda s: s + k / (1.0 + math.exp(-s)) - p, p - k - 1.0, p + 1.0, xtol=1e-13)
    return y / (1.0 + math.exp(-s)) - a


def plain_steps_of(loss, margins, duals, label, k):
    """Return the steps for all outputs of a record of weight 1."""
    outputs = len(margins)
    if isinstance(loss, Softmax):
        p = (np.arange(outputs) == label) - duals
        q = p - softmax(margins)
        size, square = np.abs(q).sum() ** 2, q @ q
        return size / (size + k * square) * q if size else q
    labels = [label] if outputs == 1 else np.where(np.arange(outputs) == label, 1.0, -1.0)
    return np.array(
        [plain_step(loss, *each, k) for each in zip(margins, duals, labels, strict=True)]
    )


def plain_mechanism(loss, X, labels, weights, numbers, lots, normals, outputs):
    """Return the duals and the path of the shared vector; X holds scaled records."""
    dual = np.zeros((len(X), outputs))
    shared = np.zeros((outputs, X.shape[1]))
    path = []
    for lot, noise in zip(lots, normals, strict=True):
        total = np.zeros_like(shared)
        for i in lot:
            x, weight = X[i], weights[i]
            norm = np.linalg.norm(x)
            if norm == 0.0 or weight == 0.0:
                continue
            k = weight * numbers.separability * norm**2 / numbers.strength
            margins = shared @ x / numbers.strength
            z = weight * plain_steps_of(loss, margins, dual[i] / weight, labels[i], k)
            length = np.linalg.norm(z) * norm
            limit = numbers.clip * (1.0 - 2.0**-20)
            if length > limit:
                z *= limit / length
            dual[i] += z
            total += np.trunc(np.outer(z, x) / numbers.cell)
        xi = numbers.grid * numbers.spread * noise.reshape(shared.shape)
        moved = np.floor((numbers.cell * total + xi) / numbers.grid + 0.5)
        shared = shared + numbers.grid * moved
        path.append(shared)
    return dual, path


NUMBERS = StepConstants(
    strength=2.0, separability=12.0, clip=0.05, cell=2.0**-35, grid=2.0**-16, spread=1500.0
)


class Case:
    """A small data set with replayed lots and normals."""

    def __init__(self, loss, *, outputs=1, sparse=False, constant=0.3, weighted=True):
        generator = np.random.default_rng(3)
        X = generator.normal(size=(COUNT, D)) * (generator.random((COUNT, D)) < 0.7)
        X[7] = 0.0
        self.problem = Problem(loss, 0.05, COUNT, D, outputs=outputs, constant=constant)
        self.rows = self.problem.rows(scipy.sparse.csr_matrix(X) if sparse else X)
        lengths = np.maximum(np.linalg.norm(X, axis=1), 1.0)
        tail = np.full(COUNT, constant)
        self.X = np.column_stack([X / lengths[:, None], tail])[:, : self.problem.width]
        self.X /= self.problem.scale
        if outputs > 1:
            labels = generator.integers(0, outputs, COUNT).astype(float)
        elif isinstance(loss, Squared):
            labels = generator.uniform(-1.0, 1.0, COUNT)
        else:
            labels = generator.choice([-1.0, 1.0], COUNT)
        weights = generator.uniform(0.0, 2.0, COUNT) if weighted else np.ones(COUNT)
        weights[9] = 0.0
        self.records = Records(labels, weights)
        self.lots = [np.flatnonzero(generator.random(COUNT) < 0.3) for _ in range(STEPS)]
        self.lots[4] = self.lots[STEPS - 1] = np.empty(0, dtype=np.int64)
        self.normals = generator.normal(size=(STEPS, outputs * self.problem.width))

    def hold(self, rows):
        self.rows = rows

    def start(self):
        outputs, width = self.problem.outputs, self.problem.width
        return np.zeros((COUNT, outputs)), np.zeros((2, outputs, width))

    def advance(self, first, last, average_from, dual, shared, average, numbers=NUMBERS):
        lots = self.lots[first:last]
        ids = np.concatenate([*lots, np.empty(0, dtype=np.int64)])
        chunk = ids, np.cumsum([0, *map(len, lots)]), self.normals[first:last], average_from
        self.kernel(self.problem.loss, numbers, *chunk, dual, shared, average)

    def kernel(self, loss, numbers, *chunk):
        advance(loss, self.rows, self.records, numbers, *chunk)

    def run(self, average_from=STEPS, numbers=NUMBERS):
        dual, (shared, average) = self.start()
        self.advance(0, STEPS, average_from, dual, shared, average, numbers)
        return dual, shared, average

    def plain(self):
        lots = self.lots, self.normals, self.problem.outputs
        return plain_mechanism(self.problem.loss, self.X, *self.records, NUMBERS, *lots)


@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@joint_too
def test_advance_is_the_mechanism(loss, sparse, outputs, constant, weighted):
    case = Case(loss, outputs=outputs, sparse=sparse, constant=constant, weighted=weighted)
    dual, shared, average = case.run(average_from=20)
    plain_dual, path = case.plain()
    # Rounding may move a number to the next point of the grid, hence the tolerance.
    near = {"rtol": 0.0, "atol": 3.0 * NUMBERS.grid}
    np.testing.assert_allclose(shared, path[-1], **near)
    np.testing.assert_allclose(dual, plain_dual, rtol=0.0, atol=1e-3 * NUMBERS.clip)
    np.testing.assert_allclose(average / 10.0, np.mean(path[20:], axis=0), **near)
    assert np.abs(dual).max() > 0.1  # the case is not an idle one


def test_clipping_is_at_work_in_the_cases_above():
    case = Case(Squared(), weighted=False)
    loose, _, _ = case.run(numbers=NUMBERS._replace(clip=100.0))
    tight, _, _ = case.run()
    assert np.abs(loose - tight).max() > 0.1


def test_the_average_begins_with_the_step_it_is_told():
    case = Case(Logistic())
    _, shared, none = case.run(average_from=STEPS)
    assert not none.any()
    _, _, last = case.run(average_from=STEPS - 1)
    np.testing.assert_array_equal(last, shared)
    _, path = case.plain()
    _, _, whole = case.run(average_from=-3)
    np.testing.assert_allclose(whole, np.sum(path, axis=0), atol=3.0 * STEPS * NUMBERS.grid)


# --- one record ------------------------------------------------------------------------


def contribution(loss, x, label, weight, numbers, shared, dual):
    """Return the steps of one record and the length of what it adds, exactly squared."""
    rows = Problem(loss, 1.0, 1, len(x)).rows(np.array([x]))
    steps = np.zeros(len(dual[0]))
    records = Records(np.array([label]), np.array([weight]))
    if not step_of(loss, rows, records, numbers, shared, dual, 0, steps):
        return None, 0
    assert np.isfinite(steps).all()
    row = sum((Fraction(rows.factor[0]) * Fraction(v)) ** 2 for v in x)
    size = sum(Fraction(z) ** 2 for z in steps)
    return steps, size * row


WILD = st.one_of(
    st.floats(-10.0, 10.0),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e150, 1e155, 1e170, 1e300, 1e-150, 1e-170, 1e-300, 5e-324]),
)


@pytest.mark.full
@every_loss
@given(
    x=st.lists(WILD, min_size=2, max_size=2),
    label=WILD,
    weight=WILD,
    shared=st.lists(WILD, min_size=2, max_size=2),
    dual=WILD,
    clip=st.sampled_from([1e-99, 1e-6, 0.01, 1.0, 1e99]),
)
@example(x=[0.1, 0.0], label=1.0, weight=1e170, shared=[0.0, 0.0], dual=0.0, clip=0.01)
@example(x=[0.1, 0.0], label=1.0, weight=1e158, shared=[0.0, 0.0], dual=0.0, clip=0.01)
@example(x=[0.1, 0.0], label=1.0, weight=1e300, shared=[0.0, 0.0], dual=0.0, clip=1e-99)
@example(x=[1e-90, 0.0], label=1e153, weight=1e155, shared=[0.0, 0.0], dual=0.0, clip=1e-99)
@example(x=[1.0, 0.0], label=1e150, weight=1e6, shared=[0.0, 0.0], dual=0.0, clip=1e-6)
@example(x=[1.0, 0.0], label=1.0, weight=1.0, shared=[1e308, 0.0], dual=0.0, clip=0.01)
def test_no_record_contributes_more_than_the_clip(loss, x, label, weight, shared, dual, clip):
    if not isinstance(loss, Squared):
        label = 1.0 if label > 0.0 else -1.0
    numbers = NUMBERS._replace(clip=clip)
    with np.errstate(all="ignore"):
        _, square = contribution(
            loss, x, label, weight, numbers, np.array([shared]), np.array([[dual]])
        )
    allowed = Fraction(clip) * (1 - Fraction(1, 2**21))
    assert square <= allowed**2


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("where", ["label", "weight", "shared", "dual"])
@every_loss
def test_what_is_not_finite_contributes_nothing_or_finitely(loss, where, bad):
    given = {"label": 1.0, "weight": 1.0, "shared": 0.2, "dual": 0.0, where: bad}
    with np.errstate(all="ignore"):
        steps, square = contribution(
            loss, [0.6, 0.8], given["label"], given["weight"], NUMBERS,
            np.array([[given["shared"], 0.0]]), np.array([[given["dual"]]]),
        )  # fmt: skip
    assert square <= Fraction(NUMBERS.clip) ** 2
    if math.isnan(bad) and where in {"weight", "shared"}:
        assert steps is None


# --- the release ----------------------------------------------------------------------


def exactly_released(total, normal, numbers):
    """Return grid floor((S + xi) / grid + 1/2) in exact arithmetic."""
    exact = Fraction(numbers.cell) * Fraction(total) / Fraction(numbers.grid)
    exact += Fraction(numbers.spread) * Fraction(normal)
    return math.floor(exact + Fraction(1, 2)) * Fraction(numbers.grid)


def test_release_is_the_rounded_sum_for_drawn_normals():
    generator = np.random.default_rng(4)
    totals = np.trunc(generator.normal(size=2000) * 2.0**50)
    normals = generator.normal(size=2000)
    shared = np.zeros(2000)
    release(totals, normals, NUMBERS, shared)
    for total, normal, found in zip(totals, normals, shared, strict=True):
        assert Fraction(found) == exactly_released(total, normal, NUMBERS)


# --- sweeps ----------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 3])
def test_sweeps_are_the_same_on_sparse_rows(outputs):
    found = []
    for sparse in (False, True):
        case = Case(Logistic(), outputs=outputs, sparse=sparse)
        dual, (shared, _) = case.start()
        order = np.random.default_rng(0).permutation(COUNT)
        sweep(Logistic(), case.rows, case.records, case.problem.strength, order, dual, shared)
        found.append(shared)
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.full
def test_sweeps_do_not_follow_the_pointers_of_rows_that_are_not_well_formed():
    case = Case(Squared(), sparse=True)
    pointers = case.rows.indptr.astype(np.int64)
    pointers[20] = pointers[COUNT] = 2**40  # ends of rows, and the beginning of row 20
    rows = case.rows._replace(indptr=pointers)
    measure_rows(rows, 1.0, case.problem.scale)
    dual, (shared, _) = case.start()
    order = np.arange(COUNT)
    sweep(Squared(), rows, case.records, case.problem.strength, order, dual, shared)
    assert dual[19, 0] == dual[20, 0] == dual[COUNT - 1, 0] == 0.0
    assert dual[18, 0] != 0.0
    assert np.isfinite(shared).all()


def test_sweeps_pass_over_rows_that_are_not_finite():
    case = Case(Squared())
    X = np.array(case.rows.values)
    X[5, 0] = math.nan
    case.hold(case.problem.rows(X))
    dual, (shared, _) = case.start()
    order = np.arange(COUNT)
    sweep(Squared(), case.rows, case.records, case.problem.strength, order, dual, shared)
    assert dual[5, 0] == 0.0
    assert dual[9, 0] == 0.0  # weight zero
    assert np.isfinite(shared).all()
    primal, gap = case.problem.gap(case.rows, case.records, dual, shared)
    assert math.isfinite(primal)
    assert gap >= 0.0
