"""Persons on shards: divided between persons, the model is that of one machine."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from test_sharded import CUTS, D, N, Near, data, planned, same, small_blocks
from test_sharded import divided as records_divided
from test_sharded import whole as records_whole

from dpscd.persons import PersonFacts, PersonRows
from dpscd.releases.base import sum_over
from dpscd.releases.bounds import HistogramQuery
from dpscd.solvers.shard import Shard
from dpscd.solvers.sharded import ShardPool

__all__ = ["small_blocks"]  # a fixture of all tests here

ROWS = np.random.default_rng(1).choice([1, 2, 3, 30], size=N)  # of each person


def people(loss="Squared", outputs=1):
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


divided = partial(records_divided, near=Between)


def whole(plan, arrays, sparse=False):
    *records, person = arrays
    return records_whole(plan, records, sparse, persons=rows_of(person, arrays[2]))


@pytest.mark.full
@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize(("loss", "outputs"), [("Squared", 1), ("Logistic", 3), ("Softmax", 3)])
@pytest.mark.parametrize("kind", ["packed", "floats", "sparse"])
def test_divided_persons_give_the_model_of_one_machine(kind, loss, outputs, cuts):
    noise = 1e-4 if kind == "floats" else 0.5
    plan = planned(loss=loss, outputs=outputs, noise_multiplier=noise)
    assert plan.training.fixed_point == (kind != "floats")
    arrays, sparse = people(loss, outputs), kind == "sparse"
    found, _ = divided(plan, arrays, cuts, reader=Grouped(sparse=sparse))
    same(found, whole(plan, arrays, sparse))


@pytest.mark.parametrize(
    ("cuts", "pilot", "options"),
    [
        ([130, 200], False, {"losses": [(1, "step", 7)]}),
        ([130, 200], False, {"losses": [(0, "step", 3), (2, "step", 19)]}),
        pytest.param([130, 200], True, {}, marks=pytest.mark.full),
        pytest.param([130], False, {"room": 3000}, marks=pytest.mark.full),
        pytest.param([130], False, {"room": 100_000}, marks=pytest.mark.full),
    ],
)
def test_nor_with_a_pilot_a_lost_shard_or_little_memory(cuts, pilot, options):
    plan, arrays = planned(pilot=pilot), people()
    found, transport = divided(plan, arrays, cuts, reader=Grouped(), **options)
    assert transport.refills == len(options.get("losses", ()))
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
    assert total.sum() * query.step <= N
