"""What may be asked of workers and what may leave them, where no cluster is running."""

import ast
import asyncio

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from distributed import LocalCluster
from small import SCHEMA, arrays, reader

from commands import python
from dpscd import (
    DataError,
    DataTypeError,
    DPLogisticRegression,
    DPRidge,
    DpscdError,
    ParameterError,
    SchemaError,
    TableModel,
    WorkerError,
)
from dpscd.distributed.collections import columns_of, connected, partitions_of
from dpscd.distributed.workers import ShardActor, StaleShardError, _room, check_alike, own_build
from dpscd.records.rows import Unread, is_dask
from dpscd.releases.base import only_sums
from dpscd.releases.moments import MomentsQuery


@pytest.fixture(autouse=True)
def in_this_thread():
    """Compute what tests compare with here, and not where Dask likes."""
    with dask.config.set(scheduler="synchronous"):
        yield


def actor_of(parts):
    actor = ShardActor(parts, reader(), own_build())
    asyncio.run(actor.meet("token"))
    return actor


@pytest.mark.parametrize("reply", [None, 7, 3.0, np.array([2, 3]), np.array([2.0, -3.0])])
def test_sums_may_leave(reply):
    assert only_sums(reply) is reply


@pytest.mark.parametrize(
    "reply",
    [0.5, np.array([0.5]), np.nan, np.array([np.inf, np.nan]), np.inf, -np.inf,
     np.array([1.0, np.inf]), "text", [1.0], True, b"1",
     np.array([1], dtype=np.int32), np.array(["a"]), {"a": 1}, np.float64(1.0)],
    ids=repr,
)  # fmt: skip
def test_nothing_else_may_leave(reply):
    with pytest.raises(WorkerError, match="about to leave"):
        only_sums(reply)


def test_a_shard_is_asked_for_nothing_but_sums():
    actor = actor_of(partitions_of(*arrays(), None))
    assert actor.ask("token", "count") == 12
    for method in ("_records", "__dict__", "load"):
        with pytest.raises(WorkerError, match="not asked for"):
            actor.ask("token", method)


def test_a_row_does_not_leave_its_worker(monkeypatch):
    actor = actor_of(partitions_of(*arrays(), None))
    row = arrays()[0][1].compute()
    monkeypatch.setattr(actor._shard, "count", lambda: row)
    with pytest.raises(WorkerError, match="about to leave"):
        actor.ask("token", "count")


def test_errors_of_a_worker_hold_nothing_of_the_records():
    class Broken:
        count = None

        def load(self):
            raise RuntimeError("secret cell 42")

    with pytest.raises(WorkerError) as caught:
        actor_of([Broken()]).ask("token", "count")
    assert "RuntimeError" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    X, y = arrays()
    bad = da.where(X == X, np.nan, X)
    actor = actor_of(partitions_of(bad, y, None))
    model = DPRidge(y_bounds=(0, 1), standardise=True, epochs=1, lot_size=6)
    fitting = model._fitting(Unread(12, 3, None), None)
    query = MomentsQuery(12, fitting.facts.problem(1.0))
    with pytest.raises(DataError, match="NaN, infinity") as caught:
        actor.ask("token", "total", query)
    assert caught.value.__context__ is None


def test_a_shard_answers_only_whom_it_met():
    """Dask may build a lost actor again: with the first reader, and without its steps."""
    parts = partitions_of(*arrays(), None)
    met, stranger = actor_of(parts), ShardActor(parts, reader(), own_build())
    assert asyncio.run(met.knows("token"))
    for actor, token in [(stranger, "token"), (met, "other"), (stranger, None)]:
        assert not asyncio.run(actor.knows(token))
        with pytest.raises(StaleShardError):
            actor.ask(token, "count")
    with pytest.raises(StaleShardError):
        asyncio.run(met.meet("token"))  # once only
    assert not issubclass(StaleShardError, DpscdError)


@pytest.mark.parametrize(
    "name",
    ["dpscd", "numpy", "numba", "llvmlite", "target", "processor", "features", "options"],
)
def test_a_worker_that_may_round_otherwise_is_refused(name):
    """A worker that replaces another one is made so too."""
    build = {**own_build(), name: "another"}
    with pytest.raises(WorkerError, match=f"workers differ: {name} another on one and"):
        ShardActor(partitions_of(*arrays(), None), reader(), build)
    with pytest.raises(WorkerError, match=f"{name} .* on one and none on another"):
        check_alike(own_build(), {key: own_build()[key] for key in build if key != name})


def test_of_features_those_are_named_that_differ():
    with pytest.raises(WorkerError, match=r"features \+fma on one and -avx,-fma on another"):
        check_alike({"features": "+aes,+fma"}, {"features": "+aes,-fma,-avx"})


def test_what_numba_is_told_to_compile_for_counts():
    told = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_JIT": "1"}
    asked = "from dpscd.kernels._jit import own_build; print(own_build())"
    found = ast.literal_eval(python(asked, **told))
    assert found["processor"] == "generic"
    assert found["features"] == ""
    assert found["options"][-1] == "1"
    assert found.keys() == own_build().keys()


def test_partitions_can_be_loaded_again_and_again_and_are_never_printed():
    X, y = arrays()
    parts = partitions_of(X, y, None)
    assert len(parts) == 3
    for _ in range(2):
        rows, labels, weights = parts[1].load()
        np.testing.assert_array_equal(rows, X[4:8].compute())
        np.testing.assert_array_equal(labels, y[4:8].compute())
        assert weights is None
    assert "0.1" not in repr(parts[0])
    assert [part.count for part in parts] == [4, 4, 4]
    assert len(parts[0].graph) < len(dict(X.dask)) + len(dict(y.dask))
    frame = dd.from_pandas(pd.DataFrame({"a": range(6)}), npartitions=2)
    assert [len(part.load()) for part in partitions_of(frame)] == [3, 3]


def test_collections_that_are_not_divided_alike_are_refused():
    X, y = arrays()
    with pytest.raises(DataTypeError, match="all be Dask"):
        partitions_of(X, y.compute(), None)
    for other in (y.rechunk(6), y.rechunk((5, 5, 2))):
        with pytest.raises(DataError, match="same partitions"):
            partitions_of(X, other, None)
    unequal = reader()
    with pytest.raises(DataError, match="divided alike"):
        unequal.records((np.zeros((3, 3)), np.zeros(2), None))


def test_partitions_that_are_not_as_announced_are_refused():
    X = np.zeros((2, 3))
    with pytest.raises(DataError, match="announced form"):
        reader(features=4).records((X, X[:, 0], None))
    with pytest.raises(DataError, match="announced form"):
        reader(sparse=True).records((X, X[:, 0], None))


def test_empty_partitions_and_partitions_without_weight_are_fine():
    for sparse in (False, True):
        X, labels, weights, _ = reader(sparse=sparse).records(
            (np.empty((0, 3)), np.empty(0), None)
        )
        assert X.shape == (0, 3)
        assert scipy.sparse.issparse(X) == sparse
        assert len(labels) == len(weights) == 0
    _, _, weights, _ = reader().records((np.zeros((2, 3)), np.zeros(2), np.zeros(2)))
    assert not weights.any()
    assert reader().columns((np.zeros((2, 3)), np.zeros(2), None)) == ((), None)
    with pytest.raises(ParameterError, match="no columns for 1 released bounds"):
        reader().with_bounds([(0.0, 1.0)])


def test_columns_of_arrays_and_tables():
    X, _ = arrays()
    assert columns_of(X) == (None, 3, False)
    csr = X.map_blocks(scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0)))
    assert columns_of(csr)[2]
    frame = pd.DataFrame(np.zeros((4, 2)), columns=["a", "b"])
    assert columns_of(dd.from_pandas(frame, npartitions=1)) == (["a", "b"], 2, False)
    numbered = frame.set_axis([0, 1], axis=1)
    assert columns_of(dd.from_pandas(numbered, npartitions=1)) == (None, 2, False)
    with pytest.raises(DataError, match="two dimensions"):
        columns_of(X[:, 0])


def test_only_dask_collections_are_dask():
    assert is_dask(None, arrays()[0])
    assert not is_dask(None, np.zeros(2), pd.DataFrame())


def test_what_is_not_available_is_said():
    X, y = arrays()
    with pytest.raises(ParameterError, match="epsilon=inf"):
        DPRidge(np.inf, y_bounds=(0, 1)).fit(X, y)
    with pytest.raises(ParameterError, match="name the classes"):
        DPLogisticRegression().fit(X, y)
    with pytest.raises(ParameterError, match="no Dask client"):
        DPRidge(y_bounds=(0, 1)).fit(X, y)
    table = dd.from_pandas(pd.DataFrame({"age": [1.0], "won": ["no"]}), npartitions=1)
    with pytest.raises(ParameterError, match="y is not available"):
        TableModel(SCHEMA).fit(table, y)
    with pytest.raises(SchemaError, match="no column 'won'"):
        TableModel(SCHEMA).fit(table[["age"]])
    with pytest.raises(ParameterError, match="no Dask scheduler"):
        connected("tcp://127.0.0.1:1", timeout=0.5).__enter__()


def test_without_a_limit_everything_is_kept_in_memory():
    assert _room() == (None, None)


def test_a_cluster_is_found_by_its_address():
    with (
        LocalCluster(processes=False, protocol="tcp://", dashboard_address=":0") as cluster,
        connected(cluster.scheduler_address) as client,
    ):
        assert client.scheduler.address == cluster.scheduler_address
