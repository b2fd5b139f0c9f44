"""Shards on the workers of a cluster of threads in this process, where nobody is killed."""

import asyncio
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from distributed import Client, KilledWorker
from small import SCHEMA, arrays, reader

from dpscd import (
    DPLogisticRegression,
    DPRidge,
    Ledger,
    ParameterError,
    TableModel,
    WorkerError,
    __version__,
)
from dpscd.distributed import workers
from dpscd.distributed.collections import parquet, partitions_of
from dpscd.distributed.workers import ShardActor, own_build, workers_with
from dpscd.planning import rule
from dpscd.preprocessing.schema import schema_of
from dpscd.records.labels import ClassLabels
from dpscd.records.tables import TableReader
from dpscd.solvers import sharded
from dpscd.solvers.shard import Shard
from dpscd.solvers.sharded import LOST, ShardPool

pytestmark = pytest.mark.full

# What Dask's scheduler says.
_GONE = "Worker holding Actor was lost"


@pytest.fixture
def transport(near):
    made = workers._DaskTransport(near, partitions_of(*arrays(), None), reader())
    yield made
    made.close()


def test_persisted_collections_are_refused(near):
    X, y = arrays()
    with pytest.raises(ParameterError, match="persisted"):
        partitions_of(near.persist(X), y, None)


def test_asynchronous_clients_are_refused(near):
    async def ask():
        async with Client(near.scheduler.address, asynchronous=True):
            with workers_with([], reader()):
                pass

    with pytest.raises(ParameterError, match="asynchronous"):
        asyncio.run(ask())


def test_shards_are_divided_among_workers_and_replaced_elsewhere(near, transport):
    assert len(transport) == 2
    assert transport.call(range(2), "count", [(), ()]) == [8, 4]
    before = transport._shards[0].address
    transport.refill(0)
    assert transport._shards[0].address != before
    assert transport.call([0], "count", [()]) == [8]
    near.cancel(transport._shards[1].future, force=True)
    assert transport.call([1], "count", [()]) == [LOST]


@pytest.mark.parametrize("found", ["0.0.1", None, ImportError("secret")], ids=repr)
def test_workers_without_this_version_are_refused_before_they_are_sent_anything(near, found):
    class Cluster:
        def run(self, function, *args, on_error):
            replies = near.run(function, *args, on_error=on_error)
            assert set(replies.values()) == {__version__}
            return {**replies, "tcp://lost:1": OSError(), "tcp://other:1": found}

    workers._check_versions(near)
    with pytest.raises(WorkerError, match="another version of dpscd") as caught:
        workers._check_versions(Cluster())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("found", "match"),
    [
        ({**own_build(), "processor": "generic"}, "processor .* on one and generic on another"),
        (ImportError("secret"), "cannot load what dpscd needs: ImportError"),
    ],
    ids=["processor", "import"],
)
def test_a_mixture_of_workers_is_refused_whether_or_not_they_have_shards(near, found, match):
    class Cluster:
        def run(self, function, *, on_error):
            replies = near.run(function, on_error=on_error)
            return {**replies, "tcp://lost:1": OSError(), **self.others}

    Cluster.others = {}
    assert workers._common_build(Cluster()) == own_build()
    Cluster.others = {"tcp://other:1": found}
    with pytest.raises(WorkerError, match=match) as caught:
        workers._common_build(Cluster())
    assert "secret" not in str(caught.value)


def test_a_mixture_costs_nothing(near, budget, monkeypatch):
    own = own_build()

    def mixed(dask_worker):
        return {**own, "processor": dask_worker.address}

    monkeypatch.setattr(workers, "own_build", mixed)
    with near.as_current(), pytest.raises(WorkerError, match="workers differ: processor"):
        DPRidge(0.5, y_bounds=(0, 1), ledger=budget, dataset="people").fit(*arrays(300, 100))
    assert Ledger(budget).show("people").spent_epsilon == 0.0


def test_workers_that_are_all_lost_at_the_start_end_the_fit():
    class Cluster:
        def run(self, *_, **__):
            return {"tcp://lost:1": OSError()}

    with pytest.raises(WorkerError, match="all workers were lost"):
        workers._common_build(Cluster())


def test_a_replacement_that_may_round_otherwise_ends_the_fit(monkeypatch, transport):
    assert transport.call(range(2), "count", [(), ()]) == [8, 4]
    other = {**own_build(), "processor": "generic"}
    monkeypatch.setattr(workers, "own_build", lambda: other)
    transport.refill(0)
    with pytest.raises(WorkerError, match=r"processor .* on one and generic on another"):
        transport.call([0], "count", [()])


def test_a_shard_that_dask_built_again_is_lost(near, transport):
    assert transport.call([0], "count", [()]) == [8]
    shard = transport._shards[0]
    name = shard.future.key
    for worker in near.cluster.workers.values():
        if name in worker.state.actors:
            worker.state.actors[name] = ShardActor(shard.parts, reader(), own_build())
    assert transport.call([0], "count", [()]) == [LOST]
    transport.refill(0)
    assert transport.call([0], "count", [()]) == [8]


def test_a_worker_that_has_forgotten_its_shard_is_lost(near, monkeypatch, transport):
    """Dask never answers a call of an actor that is not there."""
    monkeypatch.setattr(workers, "_LOOK", 0.05)
    assert transport.call([0], "count", [()]) == [8]
    shard = transport._shards[0]
    elsewhere = {"tcp://elsewhere:1"}

    async def held(keys):
        return dict.fromkeys(keys, tuple(elsewhere))

    for worker in near.cluster.workers.values():
        worker.state.actors.pop(shard.future.key, None)
    monkeypatch.setattr(near.scheduler, "who_has", held, raising=False)
    assert transport.call([0], "count", [()]) == [LOST]
    # Built again at the same place after the call was dropped: it does not know the token.
    elsewhere.clear()
    elsewhere.add(shard.address)

    async def not_known(_):
        return False

    class Again:
        key = shard.actor.key
        ask = shard.actor.ask
        knows = staticmethod(not_known)

    shard.actor = Again
    assert transport.call([0], "count", [()]) == [LOST]
    monkeypatch.undo()


def test_a_worker_that_is_silent_is_waited_for(monkeypatch, transport):
    monkeypatch.setattr(workers, "_LOOK", 0.05)
    slow = Shard.count

    def count(self):
        time.sleep(0.4)
        return slow(self)

    monkeypatch.setattr(Shard, "count", count)
    assert transport.call(range(2), "count", [(), ()]) == [8, 4]


def test_a_worker_that_cannot_make_a_shard_is_not_called_lost(near, monkeypatch):
    def broken(*_):
        raise ModuleNotFoundError("secret path")

    monkeypatch.setattr(workers, "Shard", broken)
    transport = workers._DaskTransport(near, partitions_of(*arrays(), None), reader())
    with pytest.raises(WorkerError, match="ModuleNotFoundError") as caught:
        transport.call([0], "count", [()])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    monkeypatch.undo()
    transport.close()


@pytest.mark.parametrize("error", [KilledWorker("x", None, 3), RuntimeError(_GONE)], ids=repr)
def test_a_worker_that_died_before_it_answered_is_lost(error, transport):

    class Erred:
        status = "error"

        def __await__(self):
            raise error
            yield

    own, transport._shards[0].future = transport._shards[0].future, Erred()
    assert transport.call([0], "count", [()]) == [LOST]
    transport._shards[0].future = own


def test_where_no_worker_is_left_the_fit_ends(near, monkeypatch, transport):
    monkeypatch.setattr(near, "nthreads", dict)

    def late(*_, **__):
        raise TimeoutError

    for wait in (lambda *_, **__: None, late):
        monkeypatch.setattr(near, "wait_for_workers", wait)
        with pytest.raises(WorkerError, match="no worker"):
            transport.refill(0)
    with pytest.raises(WorkerError, match="no worker"), workers_with([], reader()):
        pass


@pytest.mark.usefixtures("near")
def test_the_plan_does_not_know_how_records_are_divided(monkeypatch):
    """The number of partitions follows the data; the number of workers is public."""
    monkeypatch.setattr(rule, "_MESSAGE_TIME", 1e-6)  # lots below n / 20
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(2000, 3))
    cards = []
    for rows in (2000, 1000, 400):
        stored = da.from_array(X, chunks=(rows, 3))
        model = DPRidge(y_bounds=(0, 1), epochs=1, random_state=0).fit(stored, stored[:, 0])
        cards.append(model.privacy_)
    assert cards[0].plan.training.lot_size == pytest.approx(97)  # that of two workers
    assert cards[0] == cards[1] == cards[2]
    sizes = []
    for parts in (1, 2, 4):
        table = dd.from_pandas(
            pd.DataFrame({"age": np.arange(2000) % 90, "won": ["no", "yes"] * 1000}),
            npartitions=parts,
        )
        model = TableModel(SCHEMA, DPLogisticRegression(epochs=1, random_state=0)).fit(table)
        sizes.append(model.privacy_)
    assert sizes[0] == sizes[1] == sizes[2]


@pytest.mark.usefixtures("near")
def test_names_of_an_earlier_fit_are_forgotten():
    X, y = arrays(300, 100)
    model = DPRidge(y_bounds=(0, 1), epochs=1, lot_size=30, random_state=0)
    table = dd.from_pandas(pd.DataFrame(X.compute(), columns=list("abc")), npartitions=3)
    labels = dd.from_pandas(pd.Series(y.compute()), npartitions=3)
    assert list(model.fit(table, labels).feature_names_in_) == list("abc")
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.usefixtures("near")
def test_a_reservation_is_mentioned_where_there_is_one(budget, monkeypatch):
    def lost(*_):
        raise WorkerError("gone.")

    monkeypatch.setattr(ShardPool, "step", lost)
    X, y = arrays(300, 100)
    settings = {"y_bounds": (0, 1), "epochs": 1, "lot_size": 30}
    with pytest.raises(WorkerError) as caught:
        DPRidge(**settings).fit(X, y)
    assert str(caught.value) == "gone."
    with pytest.raises(WorkerError, match=r"gone\. What this fit reserved is spent\."):
        DPRidge(**settings, ledger=budget, dataset="people").fit(X, y)
    assert Ledger(budget).show("people").spent_epsilon > 0.0


@pytest.mark.usefixtures("near")
def test_a_path_that_would_fill_the_memory_costs_nothing(budget, monkeypatch):
    assert sharded._LARGEST_PATH == 2**31
    monkeypatch.setattr(sharded, "_LARGEST_PATH", 8 * 4 * 10 - 1)
    X, y = arrays(300, 100)
    model = DPRidge(y_bounds=(0, 1), epochs=1, lot_size=30, ledger=budget, dataset="people")
    with pytest.raises(ParameterError, match="lot_size"):
        model.fit(X, y)
    assert Ledger(budget).show("people").spent_epsilon == 0.0
    monkeypatch.setattr(sharded, "_LARGEST_PATH", 8 * 4 * 10)
    model.fit(X, y)


@pytest.mark.usefixtures("near")
def test_sparse_arrays_and_the_number_of_records():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(300, 4)) * (rng.random((300, 4)) < 0.5)
    stored = da.from_array(X, chunks=(100, 4))
    csr = stored.map_blocks(scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0)))
    y = da.from_array((X[:, 0] > 0).astype(int), chunks=100)
    settings = {"classes": [0, 1], "epochs": 2, "lot_size": 30, "random_state": 0}
    found = DPLogisticRegression(**settings).fit(csr, y)
    again = DPLogisticRegression(**settings).fit(csr.rechunk((100, 4)), y)
    np.testing.assert_array_equal(found.coef_, again.coef_)
    assert found.privacy_.facts.n == 300
    assert found.privacy_.plan.training.lot_size == pytest.approx(30)


@pytest.mark.usefixtures("near")
def test_files_are_read_by_the_workers(tmp_path):
    table = pd.DataFrame({"age": np.arange(400) % 90, "won": ["no", "yes"] * 200})
    for number in range(2):
        table[200 * number : 200 * (number + 1)].to_parquet(tmp_path / f"{number}.parquet")
    paths = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    model = TableModel(SCHEMA, DPLogisticRegression(epochs=1, lot_size=40, random_state=0))
    assert parquet(paths).npartitions == 2
    assert model.fit(parquet(paths)).predict(table).shape == (400,)
    door = TableReader(ClassLabels((0, 1)), schema_of(SCHEMA), {})
    assert door.count(table) == 400
