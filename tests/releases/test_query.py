"""What may be asked of records, and that only sums leave them."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from dpscd.cards.statements import check_releases
from dpscd.errors import CardError, WorkerError
from dpscd.kernels.margin import MARGIN
from dpscd.losses import Squared
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd.records.labels import NumberLabels
from dpscd.releases.base import SumRelease
from dpscd.releases.kinds import all_kinds
from dpscd.releases.moments import MomentsQuery
from dpscd.releases.pipeline import run_plan
from dpscd.releases.query import Query, sum_over
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
        whole = np.floor(MARGIN / self.unit)
        return np.array([whole * np.count_nonzero(records.weights > 0.0)])


@dataclass(frozen=True)
class Count(SumRelease):
    what: ClassVar[str] = "count"
    words: ClassVar[str] = "how many records count"
    proof: ClassVar[str] = "count"
    place: ClassVar[int] = 15
    size = 1

    def run(self, state, parties):
        found.append(float(self.noisy(CountQuery(self.n), parties)[0]))
        return state


found = []


def planned(*first):
    return make_plan(
        epsilon=1.0, delta=1e-5, relation=Relation.ZERO_OUT, n=N, d=D, outputs=1,
        intercept=True, lam=0.03, steps=20, rate=0.1, clip=0.05, separability=40.0,
        averaging=0.4, noise_multiplier=4.0, first=first,
    )  # fmt: skip


def test_a_new_release_is_planned_paid_for_and_run_like_the_others():
    plan = planned(Count(N, 30.0))
    assert [x.what for x in plan.releases()] == ["count", "shared vector"]
    assert plan.claim().epsilon > planned().claim().epsilon
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(N, D)), np.ones(N)
    weights[:100] = 0.0
    problem = Problem(Squared(), plan.lam, N, D, constant=0.25)
    store = held(X, rng.normal(size=N), weights)
    state = run_plan(problem, plan, store, lambda part: SeededSource(b"c", part))
    assert state.model.coef.shape == (1, D)
    (count,) = found
    assert count != 300.0
    assert count == pytest.approx(300.0, abs=6 * 30.0)
    assert plan.calibrated().noise_multiplier > planned().calibrated().noise_multiplier
    facts = {
        "n": N, "d": D, "intercept": 0.3, "standardised": False, "epochs": 2.0,
        "lot_size": 0.1 * N, "averaging": 0.4,
    }  # fmt: skip
    check_releases(plan.releases(), facts)
    with pytest.raises(CardError, match="in another order"):
        check_releases((plan.releases()[0], *plan.releases()), facts)


def test_no_two_releases_share_a_place():
    with pytest.raises(TypeError, match="has place 15"):

        class Other(Count):
            what = "other"
            place = 15


def test_all_kinds_are_found_and_have_their_words_and_a_proof():
    kinds = [kind for kind in all_kinds() if kind.__module__.startswith("dpscd.")]
    assert [kind.what for kind in kinds] == [
        "bounds", "moments", "label mean", "label spread", "shared vector", "label spread",
        "shared vector", "steepness", "level", "calibration", "long rows", "rescaling",
        "information",
    ]  # fmt: skip
    proofs = Path(__file__).parents[2] / "docs" / "proofs"
    for kind in kinds:
        assert kind.words
        assert (proofs / f"{kind.proof}.md").exists()


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
        meaning = NumberLabels(-1.0, 1.0)
        return local.LocalRecords(kept, labels[rows], weights[rows], meaning).total(query)

    alone = sum(total(slice(i, i + 1)) for i in range(count))
    np.testing.assert_array_equal(total(slice(None)), alone)
