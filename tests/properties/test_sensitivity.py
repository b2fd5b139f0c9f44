"""Brute force: no neighbour moves a lot's pre-noise sum by more than the clip.

One step of the shipped kernel is run on neighbouring data sets from the same released
state, with the grid of the release set to the cell of the sums and no noise: the shared
vector then moves by the exact sum of the lot, whose difference is judged in integers.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpscd.kernels.dual import Records, StepConstants
from dpscd.kernels.lots import advance
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.losses import Hinge, Logistic, Softmax, Squared
from dpscd.problem import Problem
from dpscd.releases.training import Training
from plans import make_training

LOSSES = [Squared(), Logistic(), Hinge(), Softmax()]
RECORDS, FEATURES = 5, 4

ordinary = st.floats(-3.0, 3.0)
extreme = st.sampled_from(
    [
        math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, 5e-324, -5e-324, 1e-170, 1e-300,
        0.0, -0.0, 1.0, -1.0, 1.0 + 2**-52, 1e16,
    ]
)  # fmt: skip
number = st.one_of(ordinary, extreme)


def plan(clip: float, outputs: int, intercept: bool) -> Training:
    return make_training(
        n=RECORDS, d=FEATURES, outputs=outputs, intercept=intercept, lam=1.0, steps=1, rate=1.0,
        clip=clip, separability=float(RECORDS), averaging=0.0, noise_multiplier=1.0,
    )  # fmt: skip


@st.composite
def situations(draw):
    def array_of(strategy, *shape):
        size = math.prod(shape)
        return np.array(draw(st.lists(strategy, min_size=size, max_size=size))).reshape(shape)

    outputs = draw(st.sampled_from([1, 3, 9]))
    rows = array_of(number, RECORDS, FEATURES)
    if draw(st.booleans()):
        rows[1] = rows[0]  # a duplicated record
    label = st.one_of(st.sampled_from([-1.0, 1.0, 0.0, 2.0]), number)
    weight = st.one_of(st.just(1.0), st.floats(0.0, 10.0), extreme)
    state = st.one_of(st.floats(-1.0, 1.0), extreme)
    return {
        "rows": rows,
        "labels": array_of(label, RECORDS),
        "weights": array_of(weight, RECORDS),
        "dual": array_of(state, RECORDS, outputs),
        "shared": array_of(st.floats(-9.0, 9.0), outputs * (FEATURES + 1)),
        "row_bound": draw(st.sampled_from([1.0, 0.25, 100.0, 1e-120, 1e120])),
        "constant": draw(st.sampled_from([0.0, 0.3, 1e-3, 50.0])),
        "strength": draw(st.sampled_from([1e-6, 1.0, 100.0])),
        "clip": draw(st.sampled_from([1.0, 0.3, 1e-3, 7.0, 1e-30, 1e10])),
        "outputs": outputs,
        "other": array_of(number, FEATURES),
        "other_label": draw(st.sampled_from([-1.0, 1.0, 0.0, 2.0])),
        "other_dual": draw(st.floats(-1.0, 1.0)),
    }


def lot_sum(loss, s, *, rows, labels, weights, dual, layout, dtype, lot=range(RECORDS)):
    """Return the lot's pre-noise sum in whole cells, for each output."""
    problem = Problem(loss, 1.0, RECORDS, FEATURES, s["outputs"], s["row_bound"], s["constant"])
    planned = plan(s["clip"], s["outputs"], s["constant"] != 0.0)
    numbers = planned.constants(s["strength"], fixed_point=layout == "packed")
    numbers = StepConstants(**{**numbers._asdict(), "grid": numbers.cell, "spread": 0.0})
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(rows, dtype=dtype)
    if layout == "csr":
        X = sparse.csr_array(X)
    # A released state on the grid, small enough that adding the sum to it is exact.
    width = FEATURES + (1 if s["constant"] else 0)
    state = np.round(s["shared"][: s["outputs"] * width] * 2**20).reshape(s["outputs"], width)
    before = state * numbers.cell
    shared = before.copy()
    ids, starts = np.array(lot, dtype=np.int64), np.array([0, len(lot)])
    rest = (
        numbers, ids, starts, np.zeros((1, shared.size)), 1, dual.copy(), shared,
        np.zeros_like(shared),
    )  # fmt: skip
    with np.errstate(over="ignore"):
        measured, records = problem.rows(X), Records(labels, weights)
    if layout == "packed":
        advance_packed(loss, pack_rows(measured, records), *rest)
    else:
        advance(loss, measured, records, *rest)
    assert np.isfinite(shared).all()
    moved = (shared - before) / numbers.cell
    assert (moved == np.round(moved)).all()
    return [int(x) for x in moved.ravel()], Fraction(s["clip"]) / Fraction(numbers.cell)


@pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.full)]
)
@pytest.mark.parametrize(
    "layout", [pytest.param("dense", marks=pytest.mark.full), "csr", "packed"]
)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large],
)
@given(s=situations())
def test_no_neighbour_moves_a_lot_by_more_than_the_clip(loss, layout, dtype, s):
    same = {name: s[name] for name in ("rows", "labels", "weights", "dual")}
    kind = {"layout": layout, "dtype": dtype}
    full, clip = lot_sum(loss, s, **same, **kind)
    for k in range(2):
        # Zero-out: record k contributes nothing.
        silent = same["weights"].copy()
        silent[k] = 0.0
        without, _ = lot_sum(loss, s, **{**same, "weights": silent}, **kind)
        moved = sum((a - b) ** 2 for a, b in zip(full, without, strict=True))
        assert moved <= clip**2
        # Not drawn: the others do not notice.
        others = [i for i in range(RECORDS) if i != k]
        assert lot_sum(loss, s, **same, **kind, lot=others)[0] == without
        # Replace-one: record k is another one, with another past of its own.
        other = {name: same[name].copy() for name in same}
        other["rows"][k], other["labels"][k] = s["other"], s["other_label"]
        other["weights"][k], other["dual"][k] = 1.0, s["other_dual"]
        replaced, _ = lot_sum(loss, s, **other, **kind)
        moved = sum((a - b) ** 2 for a, b in zip(full, replaced, strict=True))
        assert moved <= (2 * clip) ** 2


@pytest.mark.parametrize("layout", ["dense", "csr", "packed"])
def test_a_saturated_record_attains_the_clip(layout):
    """The bound is not idle: a record far from its label moves the sum by almost clip."""
    s = {
        "row_bound": 1.0, "constant": 0.0, "strength": 1.0, "clip": 0.3, "outputs": 1,
        "shared": np.zeros(FEATURES),
    }  # fmt: skip
    far = {
        "rows": np.eye(RECORDS, FEATURES), "labels": np.full(RECORDS, 100.0),
        "weights": np.ones(RECORDS), "dual": np.zeros((RECORDS, 1)),
    }  # fmt: skip
    total, clip = lot_sum(Squared(), s, **far, layout=layout, dtype=np.float64, lot=[0])
    assert 0.99999 * clip < total[0] <= clip


@pytest.mark.parametrize("packed", [False, True], ids=["floats", "fixed point"])
def test_the_sum_of_a_long_lot_is_exact(packed):
    """In a lot of 20,000 one record counts no more, and the order does not count at all."""
    n, clip = 20_000, 0.3
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(n, FEATURES)))
    problem = Problem(loss=Squared(), lam=1.0, n=n, d=FEATURES)
    numbers = plan(clip, 1, intercept=False).constants(1.0, fixed_point=packed)
    numbers = StepConstants(**{**numbers._asdict(), "grid": numbers.cell, "spread": 0.0})
    rows, records = problem.rows(X), Records(np.full(n, 100.0), np.ones(n))
    pack = pack_rows(rows, records)

    def total(lot):
        shared = np.zeros((1, FEATURES))
        rest = (
            numbers, lot, np.array([0, len(lot)]), np.zeros((1, FEATURES)), 1,
            np.zeros((n, 1)), shared, np.zeros_like(shared),
        )  # fmt: skip
        if packed:
            advance_packed(Squared(), pack, *rest)
        else:
            advance(Squared(), rows, records, *rest)
        return [int(x) for x in shared[0] / numbers.cell]

    lot = np.arange(n)
    everybody = total(lot)
    assert total(rng.permutation(lot)) == everybody
    alone = total(lot[:1])
    assert total(lot[1:]) == [a - b for a, b in zip(everybody, alone, strict=True)]
    length = sum(x**2 for x in alone)
    limit = Fraction(clip) / Fraction(numbers.cell)
    assert (limit * Fraction(99999, 100000)) ** 2 <= length <= limit**2
