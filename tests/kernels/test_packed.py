import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st
from test_dual import LOSSES, NUMBERS, STEPS, WILD, D, every_loss, exactly_released, joint_too
from test_dual import Case as FloatCase

from commands import python
from dpscd.kernels.dual import Records, release
from dpscd.kernels.pack import NORM, SCALE, pack_rows
from dpscd.kernels.packed import advance_packed, release_cells
from dpscd.losses import Hinge, Logistic, Squared
from dpscd.problem import Problem


class Case(FloatCase):
    """The cases of the float kernel, on packed records."""

    def __init__(self, loss, **options):
        super().__init__(loss, **options)
        self.hold(self.rows)

    def hold(self, rows):
        super().hold(rows)
        self.packed = pack_rows(self.rows, self.records)
        place, width = self.packed.place, self.packed.width
        scale = self.packed.state[:, place + SCALE]
        self.X = scale[:, None] * self.packed.cells[:, :width]

    def kernel(self, loss, numbers, *chunk):
        advance_packed(loss, self.packed, numbers, *chunk)


@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@pytest.mark.parametrize("outputs", [1, 3, 10])
@joint_too
def test_it_is_the_mechanism_on_rounded_records(loss, outputs, constant, weighted):
    case = Case(loss, outputs=outputs, constant=constant, weighted=weighted)
    dual, shared, average = case.run(average_from=20)
    plain_dual, path = case.plain()
    # Predictions are made in single precision, and rounding may move a number to the next
    # point of the grid: at any of the steps, so further if there are more numbers.
    near = {"rtol": 0.0, "atol": (4.0 if outputs < 10 else 8.0) * NUMBERS.grid}
    np.testing.assert_allclose(shared, path[-1], **near)
    np.testing.assert_allclose(dual, plain_dual, rtol=0.0, atol=1e-3 * NUMBERS.clip)
    np.testing.assert_allclose(average / 10.0, np.mean(path[20:], axis=0), **near)
    assert np.linalg.norm(dual, axis=1).max() > 0.1  # the case is not an idle one


every_kernel = pytest.mark.parametrize("kind", [FloatCase, Case], ids=["floats", "packed"])


@every_kernel
def test_the_shared_vector_stays_on_the_grid(kind):
    _, shared, _ = kind(Logistic()).run()
    units = shared / NUMBERS.grid
    np.testing.assert_array_equal(units, np.round(units))


@every_kernel
def test_empty_lots_still_add_noise(kind):
    case = kind(Logistic())
    case.lots = [np.empty(0, dtype=np.int64)] * STEPS
    dual, shared, _ = case.run()
    expected = np.floor(NUMBERS.spread * case.normals + 0.5).sum(axis=0) * NUMBERS.grid
    np.testing.assert_array_equal(shared[0], expected)
    assert not dual.any()


@every_kernel
def test_chunks_do_not_matter(kind):
    case = kind(Hinge(), outputs=3)
    dual, shared, average = case.run(average_from=12)
    other_dual, (other, other_average) = case.start()
    case.advance(0, 7, 12, other_dual, other, other_average)
    case.advance(7, 20, 12 - 7, other_dual, other, other_average)
    case.advance(20, STEPS, 12 - 20, other_dual, other, other_average)
    np.testing.assert_array_equal(other_dual, dual)
    np.testing.assert_array_equal(other, shared)
    np.testing.assert_array_equal(other_average, average)


@pytest.mark.parametrize(
    ("count", "features"), [(300, 5), pytest.param(9, 70_000, marks=pytest.mark.compiled)]
)
def test_blocks_and_their_order_do_not_matter(count, features):
    # Several blocks of full length, and blocks of four because rows are long.
    generator = np.random.default_rng(7)
    X = generator.normal(size=(count, features))
    problem = Problem(Squared(), 0.05, count, features)
    records = Records(generator.normal(size=count), np.ones(count))
    pack = pack_rows(problem.rows(X), records)
    start = np.round(generator.normal(size=(1, features)) * 2.0**14) * NUMBERS.grid

    def run(lots):
        dual, shared = np.zeros((count, 1)), start.copy()
        for lot in lots:
            advance_packed(
                problem.loss, pack, NUMBERS._replace(grid=NUMBERS.cell, spread=0.0), lot,
                np.array([0, len(lot)]), np.zeros((1, features)), 1, dual, shared,
                np.zeros_like(shared),
            )  # fmt: skip
        return dual, shared

    everybody = np.arange(count)
    dual, shared = run([everybody])
    other_dual, other = run([everybody[::-1].copy()])
    np.testing.assert_array_equal(other, shared)
    np.testing.assert_array_equal(other_dual, dual)
    # The sum of all is the sum of what each adds alone, to the last bit.
    alone = sum(run([everybody[i : i + 1]])[1] - start for i in range(count))
    np.testing.assert_array_equal(shared - start, alone)
    assert (dual != 0.0).all()


# --- one record ------------------------------------------------------------------------


def contribution(loss, x, label, weight, numbers, shared, dual):
    """Return what one record adds to the shared vector, in cells."""
    problem = Problem(loss, 1.0, 1, len(x))
    records = Records(np.array([label]), np.array([weight]))
    pack = pack_rows(problem.rows(np.array([x])), records)
    numbers = numbers._replace(grid=numbers.cell, spread=0.0)
    shared, dual = np.array([shared]), np.array([[dual]])
    before, own = shared.copy(), dual.copy()
    advance_packed(
        loss, pack, numbers, np.array([0]), np.array([0, 1]), np.zeros((1, len(x))), 1, dual,
        shared, np.zeros_like(shared),
    )  # fmt: skip
    return (shared - before)[0] / numbers.cell, (dual - own)[0, 0], pack


@every_loss
@given(
    x=st.lists(WILD, min_size=2, max_size=2),
    label=WILD,
    weight=WILD,
    dual=WILD,
    clip=st.sampled_from([1e-99, 1e-6, 0.01, 1.0, 1e99]),
)
@example(x=[0.1, 0.0], label=1.0, weight=1e170, dual=0.0, clip=0.01)
@example(x=[0.1, 0.0], label=1.0, weight=1e300, dual=0.0, clip=1e-99)
@example(x=[1e-90, 0.0], label=1e153, weight=1e155, dual=0.0, clip=1e-99)
@example(x=[1.0, 0.0], label=1e150, weight=1e6, dual=0.0, clip=1e-6)
def test_no_record_contributes_more_than_the_clip(loss, x, label, weight, dual, clip):
    if not isinstance(loss, Squared):
        label = 1.0 if label > 0.0 else -1.0
    cell = math.ldexp(1.0, math.frexp(clip)[1] - 39)
    numbers = NUMBERS._replace(clip=clip, cell=cell)
    with np.errstate(all="ignore"):
        added, _, _ = contribution(loss, x, label, weight, numbers, [0.0, 0.0], dual)
    square = sum(Fraction(v) ** 2 for v in added) * Fraction(cell) ** 2
    assert square <= Fraction(clip) ** 2


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["label", "weight", "shared", "dual", "row"])
@every_loss
def test_what_is_not_finite_contributes_nothing_or_finitely(loss, where, bad):
    given = {"label": 1.0, "weight": 1.0, "shared": 0.25, "dual": 0.0, "row": 0.6, where: bad}
    with np.errstate(all="ignore"):
        added, step, pack = contribution(
            loss, [given["row"], 0.8], given["label"], given["weight"], NUMBERS,
            [0.0, given["shared"]], given["dual"],
        )  # fmt: skip
    if where == "shared":
        added = added[:1]  # the other entry was no number before
    assert np.isfinite(added).all()
    assert math.hypot(*added) * NUMBERS.cell <= NUMBERS.clip
    silent = where == "row" or (math.isnan(bad) and where in {"weight", "shared"})
    if silent:
        assert not added.any()
        assert step == 0.0 or where == "dual"
    assert (pack.state[0, pack.place + NORM] == 0.0) == (where == "row")


@pytest.mark.parametrize(
    ("kind", "sparse"), [(FloatCase, False), (FloatCase, True), (Case, False)], ids=str
)
def test_rows_that_are_not_finite_change_nothing(kind, sparse):
    case = kind(Logistic(), sparse=sparse)
    dual, shared, _ = case.run()
    X = case.X[:, :D] * case.problem.scale
    X[3, 1], X[11, 0] = math.nan, math.inf
    case.hold(case.problem.rows(scipy.sparse.csr_matrix(X) if sparse else X))
    spoilt_dual, spoilt, _ = case.run()
    assert not spoilt_dual[[3, 11]].any()
    case.lots = [lot[~np.isin(lot, [3, 11])] for lot in case.lots]
    without_dual, without, _ = case.run()
    np.testing.assert_array_equal(spoilt, without)
    np.testing.assert_array_equal(spoilt_dual, without_dual)
    assert np.isfinite(spoilt).all()
    assert (shared != spoilt).any()
    assert dual[[3, 11]].any()


# --- the release ------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True], ids=["floats", "packed"])
@given(
    # Multiples of 2^-32 of the grid and of 2^-20: everything fits a double exactly, so
    # that ties are ties.
    total=st.integers(-(2**52), 2**52),
    normal=st.integers(-(2**23), 2**23).map(lambda units: units * 2.0**-20),
    bits=st.integers(0, 32),
)
@example(total=2**31, normal=0.0, bits=32)
@example(total=-(2**31), normal=0.0, bits=32)
@example(total=0, normal=2.0**-11, bits=20)
@example(total=0, normal=-(2.0**-11), bits=20)
@example(total=2**52 - 1, normal=-7.5, bits=0)
def test_release_is_the_rounded_sum(packed, total, normal, bits):
    numbers = NUMBERS._replace(cell=math.ldexp(1.0, -bits - 5), grid=2.0**-5, spread=1024.0)
    shared, normals = np.zeros(1), np.array([normal])
    if packed:
        release_cells(np.array([total]), normals, numbers, bits, shared)
    else:
        release(np.array([float(total)]), normals, numbers, shared)
    assert Fraction(shared[0]) == exactly_released(total, normal, numbers)


@pytest.mark.parametrize("bits", [9, 30, 52])
def test_release_is_the_rounded_sum_for_large_sums_and_drawn_normals(bits):
    generator = np.random.default_rng(4)
    totals = generator.integers(-(2**62), 2**62, 2000)
    normals = generator.normal(size=2000)
    numbers = NUMBERS._replace(cell=math.ldexp(NUMBERS.grid, -bits))
    shared = np.zeros(2000)
    release_cells(totals, normals, numbers, bits, shared)
    for total, normal, found in zip(totals, normals, shared, strict=True):
        assert Fraction(found) == exactly_released(int(total), normal, numbers)


# --- without the compiler ---------------------------------------------------------------

SCRIPT = """
import sys
sys.path[:0] = {folders!r}
import numba, test_packed as here
assert numba.config.DISABLE_JIT
for number in here.numbers_of_runs():
    sys.stdout.write(float(number).hex() + "\\n")
"""


def numbers_of_runs():
    """Return all numbers of runs of every loss on every kind of rows."""
    runs = [
        kind(loss, sparse=sparse).run(average_from=20)
        for loss in LOSSES
        for kind, sparse in ((FloatCase, False), (FloatCase, True), (Case, False))
    ]
    return np.concatenate([part.ravel() for run in runs for part in run])


@pytest.mark.full
@pytest.mark.compiled
def test_the_interpreter_agrees_with_the_compiler():
    folders = [str(folder) for folder in Path(__file__).parents[:2]]
    printed = python(SCRIPT.format(folders=folders), NUMBA_DISABLE_JIT="1")
    found = [float.fromhex(line) for line in printed.split()]
    np.testing.assert_allclose(found, numbers_of_runs(), rtol=0.0, atol=30.0 * NUMBERS.grid)
