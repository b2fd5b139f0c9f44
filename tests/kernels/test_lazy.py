"""Noise that is drawn when it is read: the same law as noise at every step."""

import math
from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from dpscd.kernels.dual import Records, StepConstants, new_buffer
from dpscd.kernels.lazy import (
    Law,
    _deviation,
    add_product,
    advance_lazy,
    average_due,
    new_state,
    settle_all,
    shared_of,
)
from dpscd.kernels.lots import advance
from dpscd.late import COMPILED
from dpscd.losses import Hinge, Logistic, Softmax, Squared
from dpscd.privacy.draws import LatticeGaussian, PoissonLots, draw_normals
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.problem import Problem

N, D, STEPS, START = 14, 6, 9, 2
BITS = 6


def case(loss, outputs, constant, seed=0):
    """Return sparse rows whose inner products are exact, and their records."""
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, size=(N, D)) * (generator.random((N, D)) < 0.4) / 8.0
    problem = Problem(loss, 0.02, N, D, outputs=outputs, constant=constant)
    tail = 0.25 if constant else 0.0
    rows = problem.rows(scipy.sparse.csr_matrix(X))._replace(tail=tail)
    # Powers of two: no product or sum is rounded, in whichever order.
    rows.factor[:] = 0.5
    rows.norm[:] = np.sqrt(0.25 * (X**2).sum(axis=1) + tail**2)
    labels = generator.integers(0, outputs, N) * 1.0
    if outputs == 1:
        labels = generator.choice([-1.0, 1.0], N)
    return problem, rows, Records(labels, generator.choice([0.5, 1.0], N))


def numbers_of(problem, bits=BITS, spread=0.0):
    cell = 2.0**-24
    return StepConstants(problem.strength, 4.0, 0.25, cell, cell * 2.0**bits, spread)


def law_of(variance, bits=BITS, start=START):
    return Law(variance, bits, 2**bits - 1, 2.0**-bits, start)


def lots_of(source, first=0, rate=0.3):
    return PoissonLots(rate).draw(source, first, STEPS, N)


def run_eager(problem, rows, records, numbers, lots, normals):
    """Return shared vector, its sum over the last steps, and duals."""
    dual = np.zeros((N, problem.outputs))
    shared = np.zeros((problem.outputs, problem.width))
    total = np.zeros_like(shared)
    advance(
        problem.loss, rows, records, numbers, *lots, normals, START, dual, shared, total
    )  # fmt: skip
    return shared, total, dual


class Lazy:
    """A whole lazy run on given normals."""

    def __init__(self, problem, rows, records, numbers, law, normals):
        self.data = problem.loss, rows, records, numbers, law
        self.outputs = problem.outputs
        self.law, self.grid = law, numbers.grid
        self.dual = np.zeros((N, problem.outputs))
        self.state = new_state(problem.width, problem.outputs)
        self.normals = normals

    def use_up(self, end, done):
        reached, used = done
        assert reached == end
        self.normals = self.normals[used:]

    def steps(self, lots, first):
        given = *self.data, *lots, first, 0, self.normals, self.dual, self.state
        self.use_up(len(lots[0]), advance_lazy(*given, new_buffer(self.outputs, 3)))

    def settle(self, now):
        given = self.law, self.outputs, now, 0, self.normals, self.state
        self.use_up(len(self.state), settle_all(*given))

    def result(self, coarse=0):
        self.settle(STEPS)
        shared = np.empty((self.outputs, len(self.state)))
        shared_of(self.state, self.grid, shared)
        total = np.empty_like(shared)
        given = self.law, coarse, 0, self.normals, self.state, total
        self.use_up(len(self.state), average_due(*given))
        return shared, total * self.grid, self.dual

    def whole(self, lots):
        ids, starts = lots
        cut = starts[START]
        self.steps((ids[:cut], starts[: START + 1]), 0)
        self.settle(START)
        self.steps((ids[cut:], starts[START:] - cut), START)
        return self.result()


every_case = pytest.mark.parametrize(
    ("loss", "outputs", "constant"),
    [
        (Hinge(), 1, 0.0),
        (Squared(), 1, 0.25),
        (Logistic(), 3, 0.0),
        (Hinge(), 3, 0.25),
        (Softmax(), 3, 0.25),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, tuple) else str(x),
)


@pytest.mark.full
@every_case
@pytest.mark.parametrize("bits", [0, BITS])
def test_without_noise_lazy_and_eager_agree_exactly(loss, outputs, constant, bits):
    problem, rows, records = case(loss, outputs, constant)
    numbers = numbers_of(problem, bits)
    lots = lots_of(SeededSource(b"lots"))
    zeros = np.zeros((STEPS, outputs * problem.width))
    expected = run_eager(problem, rows, records, numbers, lots, zeros)
    lazy = Lazy(problem, rows, records, numbers, law_of(0.0, bits), np.zeros(10**4))
    shared, total, dual = lazy.whole(lots)
    assert expected[0].any()
    np.testing.assert_array_equal(shared, expected[0])
    np.testing.assert_array_equal(dual, expected[2])
    # What rounding leaves of a sum is spread over the steps after it.
    steps = STEPS - START
    atol = 0.0 if bits == 0 else numbers.grid * steps**2
    np.testing.assert_allclose(total, expected[1], rtol=0.0, atol=atol)


def bridge(k):
    """Return mean and variance of the sum of a random walk's k values, given its end 1."""
    times = range(1, k + 1)
    mean = sum(Fraction(i, k) for i in times)
    variance = sum(min(i, j) - Fraction(i * j, k) for i in times for j in times)
    return mean, variance


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_a_coordinate_gets_what_is_due_in_one_draw(k, outputs):
    """Against the moments of a random walk, computed in fractions from its definition."""
    law, now = law_of(1.5 * 2.0**20, start=0), 5
    state = new_state(1, outputs)
    state[0, 0] = now
    value, due = np.array([70, -11])[:outputs], np.array([3 * 64 + 17, -40])[:outputs]
    state[0, 2 : 2 + 4 * outputs : 4], state[0, 3 : 3 + 4 * outputs : 4] = value, due
    normals = np.array([0.7, -1.9, 9.0])
    assert settle_all(law, outputs, now + k, 0, normals, state) == (1, outputs)
    assert state[0, 0] == now + k
    mean, variance = bridge(k)
    assert state[0, 1] == 12 * variance
    for o in range(outputs):
        added = Fraction(int(due[o]), 2**BITS)
        move = float(added) + math.sqrt(k * law.variance - 1.0 / 12.0) * normals[o]
        after, left, total, rest = state[0, 2 + 4 * o : 6 + 4 * o]
        assert after == value[o] + math.floor(move + 0.5)
        assert left == 0
        noise = int(after) - int(value[o]) - added
        expected = k * (int(value[o]) + added) + mean * noise
        assert (int(total) + Fraction(int(rest), 2**BITS)) / 2 == expected


def test_a_settled_coordinate_is_left_alone():
    state = new_state(3, 1)
    state[:, 0] = [4, 2, 4]
    state[:, 3] = 7
    assert settle_all(law_of(2.0**20), 1, 4, 0, np.ones(3), state) == (3, 1)
    assert state[:, 3].tolist() == [7, 0, 7]
    assert state[:, 2].tolist()[::2] == [0, 0]


def test_only_steps_that_are_averaged_enter_the_average():
    state = new_state(2, 1)
    state[:, 0] = [START - 1, START]
    settle_all(law_of(2.0**20), 1, START + 3, 0, np.ones(2), state)
    assert state[0, [1, 4, 5]].tolist() == [0, 0, 0]
    assert state[1, 1] == 24
    assert state[1, 4] != 0


@pytest.mark.parametrize("coarse", [0, 1, 5])
def test_a_sum_is_drawn_around_what_is_expected(coarse):
    law, state = law_of(2.0**20), new_state(4, 1)
    state[:, 1] = [0, 0, 42, 120]
    state[:, 4] = [10, -11, 10, -11]
    state[:, 5] = [0, 65, -65, 1000]
    normals = np.array([3.0, -3.0, 1.2, -0.3])
    out = np.empty((1, 4))
    assert average_due(law, coarse, 0, normals, state, out) == (4, 4)
    for j in range(4):
        centre = (int(state[j, 4]) + Fraction(int(state[j, 5]), 2**BITS)) / 2
        variance = int(state[j, 1]) / 12.0 * law.variance
        deviation = math.sqrt(variance - 1.0 / 12.0) if variance else 0.0
        total = math.floor(float(centre) + deviation * normals[j] + 0.5)
        assert out[0, j] == 2**coarse * ((total + 2**coarse // 2) // 2**coarse)


def wrapped(number, bits=64):
    """Return a whole number modulo 2^bits, between -2^(bits - 1) and 2^(bits - 1)."""
    half = 2 ** (bits - 1)
    return (number + half) % (2 * half) - half


@numba.njit  # not from a cache: the compiler must see the overload
def compiled_sum(total, times, number):
    return add_product(total, times, number)


@pytest.mark.parametrize("total", [0, 5, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("times", [1, -3, 2**20])
@pytest.mark.parametrize("number", [0, -1, 2**62 + 12345, -(2**63)])
def test_sums_are_taken_modulo_their_range(total, times, number):
    arguments = [np.int64(x) for x in (total, times, number)]
    assert compiled_sum(*arguments) == wrapped(total + times * number)
    assert add_product(*arguments) == wrapped(total + times * number)


@pytest.mark.parametrize("value", [2**63 - 7, -(2**63) + 7, 2**61 + 3])
@pytest.mark.parametrize("normal", [0.9, -0.9])
def test_a_value_and_its_sum_are_those_of_exact_numbers_modulo_their_range(value, normal):
    law, k = law_of(2.0**20, start=0), 5
    state = new_state(1, 1)
    state[0, 2], state[0, 3], state[0, 4] = value, 20 * 64, 2**63 - 1
    settle_all(law, 1, k, 0, np.array([normal]), state)
    noise = math.floor(math.sqrt(k * law.variance - 1.0 / 12.0) * normal + 0.5)
    assert state[0, 2] == wrapped(value + 20 + noise)
    assert state[0, 4] == wrapped(2**63 - 1 + 2 * k * (value + 20) + (k + 1) * noise)


@pytest.mark.parametrize("coarse", [0, 3])
def test_a_sum_that_leaves_its_range_is_known_modulo_its_range(coarse):
    """Two ways to one sum: one with, the other without leaving the range on the way."""
    law, state = law_of(1.0 + 1.0 / 12.0), new_state(3, 1)
    state[:, 1] = 12
    state[:, 4] = [2 * (2**62 - 5), wrapped(2 * (2**62 + 5)), 2 * 7]
    out = np.empty((1, 3))
    average_due(law, coarse, 0, np.array([5.0, -5.0, 5.0]), state, out)
    assert out[0].tolist() == [-(2.0**62), -(2.0**62), 12.0 if coarse == 0 else 16.0]


def test_contributions_that_are_no_numbers_are_left_out():
    problem, rows, records = case(Hinge(), 1, 0.25)
    for factor, added in ((1e308, False), (0.5, True)):
        rows.factor[:] = factor
        numbers = numbers_of(problem)._replace(clip=1e8)
        lazy = Lazy(problem, rows, records, numbers, law_of(0.0), np.zeros(10**3))
        with np.errstate(over="ignore"):
            lazy.steps((np.arange(N), np.array([0, N])), 3)
        assert lazy.dual.any()
        assert lazy.state[:, 0].all()
        assert lazy.state[:, 3].any() == added


@pytest.mark.full
def test_records_that_cannot_be_used_read_nothing():
    problem, rows, records = case(Hinge(), 1, 0.0)
    rows.norm[:5], records.weights[5:] = np.nan, 0.0
    wild = rows._replace(indptr=np.full(N + 1, 10**15))
    numbers, law = numbers_of(problem), law_of(2.0**20)
    lazy = Lazy(problem, wild, records, numbers, law, np.ones(9))
    lazy.steps((np.arange(N), np.array([0, N])), 3)
    assert len(lazy.normals) == 9
    assert not lazy.state.any()
    assert not lazy.dual.any()


def test_a_step_that_is_no_number_adds_nothing():
    problem, rows, records = case(Squared(), 1, 0.25)
    records.labels[:] = np.nan
    lazy = Lazy(problem, rows, records, numbers_of(problem), law_of(0.0), np.zeros(10**3))
    lazy.steps((np.arange(N), np.array([0, N])), 3)
    assert lazy.state[:, 0].all()  # it was read
    assert not lazy.state[:, 1:].any()
    assert not lazy.dual.any()


# --- the law ---------------------------------------------------------------------------


def observed(shared, total, dual):
    """Return a run as one row, with the sums also against what their ends let expect."""
    against = total - 0.5 * (STEPS - START) * shared
    return np.concatenate([x.ravel() for x in (shared, total, against, dual)])


def samples(repeats, outputs, constant):
    """Return what eager and lazy runs release and keep, one row a run."""
    problem, rows, records = case(Logistic(), outputs, constant)
    noise = LatticeGaussian(0.25, 0.5)
    cell = noise.grid * 2.0**-BITS
    numbers = StepConstants(problem.strength, 4.0, 0.25, cell, noise.grid, noise.spread)
    law = law_of(noise.lattice_variance)
    source, size = SeededSource(b"law"), outputs * problem.width
    eager, lazy = [], []
    for r in range(repeats):
        normals = draw_normals(source, Purpose.NOISE, r * STEPS, STEPS, size)
        lots = lots_of(source, 2 * r * STEPS, rate=0.08)
        eager.append(observed(*run_eager(problem, rows, records, numbers, lots, normals)))
        lots = lots_of(source, (2 * r + 1) * STEPS, rate=0.08)
        normals = draw_normals(source, Purpose.LAZY_NOISE, r, 1, 2 * STEPS * size)[0]
        run = Lazy(problem, rows, records, numbers, law, normals)
        lazy.append(observed(*run.whole(lots)))
    return np.array(eager), np.array(lazy)


@pytest.mark.full
@pytest.mark.parametrize(("outputs", "constant"), [(1, 0.0), (2, 0.25)])
def test_eager_and_lazy_have_the_same_law(outputs, constant):
    """Means, all second moments and distributions, with a false-alarm rate of 1e-6."""
    repeats = 4000 if COMPILED else 40
    eager, lazy = samples(repeats, outputs, constant)
    centre, scale = eager.mean(axis=0), eager.std(axis=0) + 1e-9
    eager, lazy = (eager - centre) / scale, (lazy - centre) / scale
    width = eager.shape[1]
    pairs = [(i, j) for i in range(width) for j in range(i + 1)]
    limit = scipy.stats.norm.isf(1e-6 / 4 / (len(pairs) + width))
    for terms in (
        lambda x: x,
        lambda x: np.column_stack([x[:, i] * x[:, j] for i, j in pairs]),
    ):
        one, other = terms(eager), terms(lazy)
        error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / repeats) + 1e-9
        assert (abs(one.mean(axis=0) - other.mean(axis=0)) < limit * error).all()
    turns = np.random.default_rng(7).normal(size=(width, width))
    for view in (np.eye(width), turns):
        for one, other in zip((eager @ view).T, (lazy @ view).T, strict=True):
            assert scipy.stats.ks_2samp(one, other).pvalue > 1e-6 / 4 / width


# --- the lemmas of the proof -------------------------------------------------------------


def test_a_rounded_normal_is_a_gaussian_on_the_lattice():
    """The bound 2^-34 of docs/proofs/shared_vector.md, in many digits."""
    with mpmath.workdps(40):
        for variance in (2**20 + 16, (2**20 + 16) / 2):
            s = mpmath.sqrt(variance)
            narrow = mpmath.sqrt(mpmath.mpf(variance) - mpmath.mpf(1) / 12)
            for z in (0, 0.5, 1, 2, 4, 8, 13.43):
                for rest in (0, 0.3, 0.5):
                    x = mpmath.floor(z * s) + mpmath.mpf(rest)
                    ends = ((x - 0.5) / narrow, (x + 0.5) / narrow)
                    mass = mpmath.quad(mpmath.npdf, ends)
                    ratio = mpmath.log(mass * s / mpmath.npdf(x / s))
                    assert abs(ratio) < 2.0**-34


def test_gaussians_on_the_lattice_hardly_depend_on_their_centre():
    with mpmath.workdps(200):
        for centre in (0, 0.25, 0.5):
            total = mpmath.nsum(lambda x, c=centre: mpmath.npdf((x - c) / 4) / 4, [-200, 200])
            assert abs(total - 1) < mpmath.mpf(2) ** -453


@pytest.mark.parametrize("variance", [1.0, 2.0**20 + 16.0, 7.0 * 2.0**21])
def test_rounding_is_part_of_the_stated_variance(variance):
    """Sheppard's correction: rounding to whole numbers adds 1/12 to a variance."""
    assert _deviation(variance) ** 2 == pytest.approx(variance - 1.0 / 12.0, rel=1e-15)
    assert _deviation(0.0) == 0.0
