"""Persons on shards: divided between persons, the model is that of one machine."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from one_machine import OneMachine
from test_sharded import CUTS, D, N, Near, data, planned, problem_of, sources

from dpscd.losses import Logistic, Softmax, Squared
from dpscd.persons import PersonFacts, PersonRows
from dpscd.privacy import sampling
from dpscd.records.labels import NumberLabels
from dpscd.releases.bounds import HistogramQuery
from dpscd.releases.pipeline import run_plan
from dpscd.releases.query import sum_over
from dpscd.solvers.shard import Shard
from dpscd.solvers.sharded import Sharded, ShardPool

ROWS = np.random.default_rng(1).choice([1, 2, 3, 30], size=N)  # of each person


def people(loss=None, outputs=1):
    """Return the rows of N persons: rows, labels, weights, and whose they are."""
    X, y, weights = data(loss, outputs)
    person = np.repeat(np.arange(N), ROWS)
    rng = np.random.default_rng(2)
    return (
        X[person] + 0.1 * rng.normal(size=(len(person), D)),
        y[person],
        weights[person],
        person,
    )


def rows_of(person, weights):
    starts = np.concatenate([[0], np.flatnonzero(np.diff(person)) + 1, [len(person)]])
    return PersonRows(starts if len(person) else np.zeros(1, int), weights, 7)


@dataclasses.dataclass(frozen=True)
class Grouped:
    """A reader of parts whose rows are in the order of persons."""

    sparse: bool = False
    features: int = D
    persons = PersonFacts("p", "sum", 7)
    labels = NumberLabels(5.0, 15.0)

    def count(self, part):
        return len(np.unique(part[3]))

    def columns(self, part):
        return [part[0][:, 0]], rows_of(part[3], part[2])

    def records(self, part):
        X, y, weights, person = part
        X = scipy.sparse.csr_array(X) if self.sparse else X
        return X, y, weights, rows_of(person, weights)


class Between(Near):
    """Shards that divide persons, not rows."""

    def __init__(self, arrays, cuts, **options):
        ends = np.concatenate([[0], np.cumsum(ROWS)])
        super().__init__(arrays, [int(ends[cut]) for cut in cuts], **options)
        # Parts inside a shard begin where a person does.
        for number, pieces in enumerate(self.pieces):
            whole = [np.concatenate([a.arrays[i] for a in pieces]) for i in range(4)]
            third = len(whole[3]) // 3
            first = np.searchsorted(whole[3], whole[3][third : third + 1])
            cut = int(first[0]) if len(first) else 0
            self.pieces[number] = [
                type(pieces[0])(*(a[:cut] for a in whole)),
                type(pieces[0])(*(a[cut:] for a in whole)),
            ]
            self.shards[number] = Shard(self.pieces[number], self.reader, self.room)


def divided(plan, arrays, cuts, loss=None, **options):
    transport = Between(arrays, cuts, **options)
    pool = ShardPool(transport)
    held = Sharded(pool, pool.ask("count"), transport.reader)
    return run_plan(problem_of(plan, loss), plan, held, sources).model, transport


def whole(plan, arrays, loss=None, sparse=False):
    X, y, weights, person = arrays
    X = scipy.sparse.csr_array(X) if sparse else X
    own = rows_of(person, weights)
    held = OneMachine(X, y, weights, NumberLabels(5.0, 15.0), persons=own)
    return run_plan(problem_of(plan, loss), plan, held, sources).model


def same(found, expected):
    np.testing.assert_array_equal(found.coef, expected.coef)
    np.testing.assert_array_equal(found.intercept, expected.intercept)
    assert np.abs(found.coef).max() > 0.0


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sampling, "_BLOCK", 64)


@pytest.mark.full
@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize(
    ("loss", "outputs"), [(Squared(), 1), (Logistic(), 3), (Softmax(), 3)], ids=str
)
@pytest.mark.parametrize("kind", ["packed", "floats", "sparse"])
def test_divided_persons_give_the_model_of_one_machine(kind, loss, outputs, cuts):
    plan = planned(outputs=outputs, noise_multiplier=1e-4 if kind == "floats" else 0.5)
    assert plan.fixed_point == (kind != "floats")
    arrays, sparse = people(loss, outputs), kind == "sparse"
    found, _ = divided(plan, arrays, cuts, loss, reader=Grouped(sparse=sparse))
    same(found, whole(plan, arrays, loss, sparse))


@pytest.mark.full
def test_a_pilot_and_moments_of_persons_too():
    plan = planned(pilot=True)
    arrays = people()
    found, _ = divided(plan, arrays, [130, 200], reader=Grouped())
    same(found, whole(plan, arrays))


@pytest.mark.parametrize("losses", [[(1, "step", 7)], [(0, "step", 3), (2, "step", 19)]])
def test_a_lost_shard_goes_on_with_the_turns_it_had(losses):
    plan = planned()
    arrays = people()
    found, transport = divided(plan, arrays, [130, 200], reader=Grouped(), losses=losses)
    assert transport.refills == len(losses)
    same(found, whole(plan, arrays))


@pytest.mark.full
@pytest.mark.parametrize("room", [3000, 100_000])
def test_little_memory_does_not_change_the_model(room):
    plan = planned()
    arrays = people()
    found, _ = divided(plan, arrays, [130], reader=Grouped(), room=room)
    same(found, whole(plan, arrays))


def test_histograms_are_of_persons():
    arrays = people()
    query = HistogramQuery(N, (np.linspace(-1.0, 2.0, 129),))
    pool = ShardPool(Between(arrays, [130], reader=Grouped()))
    total = np.sum(pool.ask("total", query), axis=0)

    class Everybody:
        columns = (arrays[0][:, 0],)
        persons = rows_of(arrays[3], arrays[2])

    np.testing.assert_array_equal(total, sum_over(query, [Everybody]))
    assert total.sum() * query.unit <= N
