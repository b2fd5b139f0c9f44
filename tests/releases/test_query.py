"""What may be asked of records, and that only sums leave them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from dpscd.errors import WorkerError
from dpscd.kernels.rows import MARGIN
from dpscd.losses import Squared
from dpscd.model.fit import run
from dpscd.model.plain import KINDS
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.releases.base import Query, SumRelease, sum_over
from dpscd.releases.moments import MomentsQuery
from dpscd.solvers import local
from plans import held, make_plan

N, D = 400, 3


@dataclass(frozen=True)
class Asked(Query):
    """A query that returns what it is told to."""

    answer: np.ndarray = None
    shape = (2,)

    def total(self, records):  # noqa: ARG002 - it answers whatever the records are
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [np.array([0.5, 1.0]), np.array([np.nan, 0.0]), np.array([np.inf, 0.0])],
    ids=["a fraction", "no number", "infinity"],
)
def test_only_sums_leave_the_records(answer):
    store = held(np.zeros((4, D)))
    with pytest.raises(WorkerError, match="no whole number"):
        store.total(Asked(N, answer))
    assert store.total(Asked(N, np.array([3.0, -1.0]))).tolist() == [3.0, -1.0]


def test_a_total_has_the_shape_of_its_query():
    with pytest.raises(WorkerError, match="shape of its query"):
        sum_over(Asked(N, np.zeros((4, 2))), [None])
    with pytest.raises(WorkerError, match="shape of its query"):
        sum_over(Asked(N, np.zeros(1)), [None])  # which would be added to every number


def test_parts_are_added_up():
    one = Asked(N, np.array([1.0, 2.0]))
    assert sum_over(one, [None, None, None]).tolist() == [3.0, 6.0]
    assert sum_over(one, []).tolist() == [0.0, 0.0]


@dataclass(frozen=True)
class CountQuery(Query):
    """How many records count at all: a release of its own needs no more than these lines."""

    shape = (1,)

    def total(self, records):
        whole = np.floor(MARGIN / self.step)
        return np.array([whole * np.count_nonzero(records.weights > 0.0)])


@dataclass(frozen=True)
class Count(SumRelease):
    what: ClassVar[str] = "count"
    words: ClassVar[str] = "how many records count"
    proof: ClassVar[str] = "count"
    size = 1

    def query(self, state):  # noqa: ARG002 - as the base
        return CountQuery(self.n)

    def learn(self, state, answer):  # noqa: ARG002 - as the base
        return state


def planned(*first):
    return make_plan(n=N, d=D, steps=20, noise_multiplier=4.0, first=first)


def test_a_new_release_is_planned_paid_for_and_run_like_the_others():
    plan = planned((Count, 30.0))
    assert [x.what for x in plan.releases] == ["count", "shared vector"]
    assert plan.claim().epsilon > planned().claim().epsilon
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(N, D)), np.ones(N)
    weights[:100] = 0.0
    store = held(X, rng.normal(size=N), weights)
    state, ((count,), shared) = run(plan, store, lambda part: SeededSource(b"c", part))
    assert state.model.coef.shape == (1, D)
    np.testing.assert_array_equal(state.shared, shared)
    assert count != 300.0
    assert count == pytest.approx(300.0, abs=6 * 30.0)
    paid, bare = plan.calibrated().training, planned().calibrated().training
    assert paid.noise_multiplier > bare.noise_multiplier


def test_all_kinds_are_found_and_have_their_words():
    assert [kind.what for kind in KINDS] == [
        "bounds", "moments", "label mean", "label spread", "shared vector", "label spread",
        "shared vector", "steepness", "level", "calibration", "long rows", "rescaling",
        "information",
    ]  # fmt: skip
    assert all(kind.words for kind in KINDS)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 25])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_every_record_is_summed_once_however_rows_are_read(count, as_sparse, monkeypatch):
    monkeypatch.setattr(local, "_BLOCK", 8)
    rng = np.random.default_rng(count)
    X, labels = rng.uniform(-0.5, 0.5, (count, 3)), rng.uniform(-1.0, 1.0, count)
    weights = rng.choice([1.0, 0.0], count)
    problem = Problem(Squared(), 0.1, 30, 3)
    query = MomentsQuery(30, problem)

    def total(rows):
        kept = sparse.csr_array(X[rows]) if as_sparse else X[rows]
        return local.LocalRecords(kept, labels[rows], weights[rows]).total(query)

    alone = sum(total(slice(i, i + 1)) for i in range(count))
    np.testing.assert_array_equal(total(slice(None)), alone)
