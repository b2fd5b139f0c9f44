"""A real cluster of processes: one model whatever it looks like and whoever dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from one_machine import OneMachine
from scipy import sparse

from dpscd import (
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    Schema,
    TableModel,
    WorkerError,
)
from dpscd.distributed.collections import partitions_of
from dpscd.distributed.workers import workers_with
from dpscd.model.fit import run
from dpscd.preprocessing.schema import shaped
from dpscd.privacy.random import LotsSource, SeededSource, source_for
from dpscd.records.rows import RowReader, Unread
from dpscd.releases.moments import MomentsQuery
from dpscd.solvers import sharded
from dpscd.solvers.shard import Shard

pytestmark = pytest.mark.full

N = 900
EASY = {"epochs": 10, "lot_size": 90, "random_state": 7}


def records():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(N, 3))
    return X, X @ [3.0, -2.0, 1.0] + 10.0


def ridge(**changes):
    return DPRidge(**{"epsilon": 10.0, "y_bounds": (7.0, 13.0), **EASY, **changes})


def here(model, X, y, *others):
    """Fit by the single-machine kernel, with the bits that divided records have."""

    def read(labels, threads):  # noqa: ARG001
        reader = RowReader(labels, X.shape[1], sparse.issparse(X))
        return OneMachine(*reader.triples(X, y, *(others or [None]))[:3])

    weighted = bool(others) and others[0] is not None
    model.fit_records(nullcontext(Unread(*X.shape, read, labels=y, weighted=weighted)))
    return model


def same(found, expected):
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    assert found.privacy_.verify()
    assert found.privacy_ == expected.privacy_


def planned(model, X):
    return model._fitting(Unread(*X.shape, None), None).planned()


def warm_up(X, y):
    """Compile here and once what every worker will need."""
    model = ridge()
    reader = RowReader(model._labels(None), 3, False)
    (part,) = partitions_of(*on_dask(X, y, 1), None)
    training = planned(model, X).training
    problem, lots = training.facts.problem(training.lam), LotsSource.of(SeededSource(b""))
    shard = Shard([part], reader)
    shard.total(MomentsQuery(training.n, problem))
    shard.begin(problem, training, lots, 0, N, None)
    shard.step(0, np.zeros((1, 4)))
    here(model, X, y)


@pytest.fixture(scope="module")
def client():
    X, y = records()
    warm_up(X, y)
    cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


def on_dask(X, y, parts):
    rows = -(-len(y) // parts)
    return da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.usefixtures("client")
def test_arrays_give_the_model_of_one_machine(parts):
    X, y = records()
    expected = here(ridge(), X, y)
    assert expected.privacy_.facts.standardised
    same(ridge().fit(*on_dask(X, y, parts)), expected)


@pytest.mark.usefixtures("client")
def test_columns_of_an_array_may_be_divided_and_lengths_unknown():
    X, y = records()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    expected = here(ridge(), X, y)
    y_parts = dd.from_pandas(pd.Series(y), npartitions=2)
    same(ridge().fit(frame.to_dask_array(), y_parts.to_dask_array()), expected)
    cut = da.from_array(X, chunks=(450, 2)), da.from_array(y, chunks=450)
    same(ridge().fit(*cut), expected)


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.usefixtures("client")
def test_dataframes_and_weights_too(kind):
    X, y = records()
    labels = np.digitize(y, [9.5, 10.5]) if kind is DPLogisticRegression else y > 10.0
    classes = [0, 1, 2] if kind is DPLogisticRegression else [False, True]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = kind(classes=classes, **EASY)
    weights = pd.Series(np.ones(N))
    expected = here(kind(classes=classes, **EASY), X, labels, weights)
    model.fit(
        *(dd.from_pandas(each, npartitions=3) for each in (table, pd.Series(labels), weights))
    )
    same(model, expected)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    assert model.predict(table).shape == (N,)


SCHEMA = {
    "target": {"column": "pay", "bounds": "private"},
    "columns": {
        "age": {"kind": "number", "bounds": "private"},
        "job": {"kind": "category", "values": ["a", "b", "c"]},
    },
}


@pytest.mark.usefixtures("client")
def test_exposures_too():
    X, _ = records()
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.0, 3.0, size=N)
    y = rng.poisson(2.0 * exposure)

    def model():
        own = {"y_bounds": (0, 20), "exposure_bounds": (0.5, 2.0), "standardise": False}
        return DPPoissonRegressor(10.0, **own, **EASY)

    found = model().fit(*on_dask(X, y, 3), exposure=da.from_array(exposure, chunks=N // 3))
    same(found, here(model(), X, y, None, exposure))
    table = pd.DataFrame({"x": X[:, 0], "y": y, "hours": exposure})
    table.loc[::9, "hours"] = np.nan
    target = {
        "column": "y",
        "bounds": [0, 20],
        "exposure": "hours",
        "exposure_bounds": [0.5, 2],
    }
    number = {"kind": "number", "bounds": [-1, 1], "shape": "line"}
    schema = {"target": target, "columns": {"x": number}}
    one, several = (
        TableModel(schema, DPPoissonRegressor(10.0, **EASY)).fit(dd.from_pandas(table, parts))
        for parts in (1, 3)
    )
    same(one.estimator_, several.estimator_)
    assert one.predict(table).sum() == pytest.approx(y.sum(), rel=0.2)


def people(count=3000):
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, count).astype(float)
    job = rng.choice(["a", "b", "c", "x"], count)
    pay = 100.0 + age * (job == "a") + rng.normal(size=count)
    pay[::50] = np.nan
    return pd.DataFrame({"age": age, "job": job, "pay": pay, "unused": "text"})


@pytest.mark.usefixtures("client")
def test_a_table_with_private_bounds_gives_the_same_model_however_divided():
    table = people()
    settings = {"epsilon": 10.0, "epochs": 5, "lot_size": 300, "random_state": 3}
    models = [
        TableModel(SCHEMA, DPRidge(**settings)).fit(dd.from_pandas(table, npartitions=parts))
        for parts in (1, 4)
    ]
    same(models[1].estimator_, models[0].estimator_)
    assert models[0].bounds_ == models[1].bounds_
    alone = TableModel(SCHEMA, DPRidge(**settings)).fit(table)
    assert alone.bounds_ == models[0].bounds_  # the same noise on the same counts
    assert models[0].predict(table).shape == (3000,)


@pytest.mark.parametrize("relation", ["zero-out", "add-remove"])
@pytest.mark.usefixtures("client")
def test_shapes_follow_from_the_public_number_of_records(relation):
    declared = {"n": 5000} if relation == "add-remove" else {}
    settings = {"epochs": 1, "lot_size": 300, "random_state": 3, **declared}
    for count in (300, 3000):
        table = people(count)
        model = TableModel(SCHEMA, DPRidge(5.0, relation=relation, **settings))
        found = model.fit(dd.from_pandas(table, npartitions=3)).schema_
        assert found == shaped(Schema.from_dict(SCHEMA), 5.0, declared.get("n", count))
        assert found == model.fit(table).schema_


def training(client, act, X, y, parts=3):
    """Train on workers; call `act` with the number of each step."""
    model = ridge()
    split = partitions_of(*on_dask(X, y, parts), None)
    reader = RowReader(model._labels(None), X.shape[1], False)
    plan = planned(model, X)
    done = []

    def progress(count):
        done.append(count)
        act(len(done))

    assert client.status == "running"
    with workers_with(split, reader) as workers:
        state, _ = run(
            plan, workers.held(), lambda part: source_for(7, f" {part}" if part else ""),
            progress=progress,
        )  # fmt: skip
        return state.model


def workers_of(client):
    return client.run(os.getpid)


@pytest.mark.parametrize("when", [3, 60])
def test_a_worker_killed_in_mid_fit_changes_nothing(client, when):
    X, y = records()
    expected = here(ridge(), X, y)
    killed = []

    def kill(step):
        if step == when:
            address, pid = sorted(workers_of(client).items())[1]
            killed.append(address)
            os.kill(pid, signal.SIGKILL)

    found = training(client, kill, X, y)
    assert killed
    np.testing.assert_array_equal(found.coef[0], expected.coef_)
    assert found.intercept[0] == expected.intercept_


@pytest.mark.parametrize("more", [0, 1])
def test_a_file_that_grew_when_it_is_read_again_ends_the_fit(
    client, tmp_path, monkeypatch, more
):
    X, y = records()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        table[300 * number : 300 * (number + 1)].to_parquet(path)
    stored = dd.from_map(pd.read_parquet, paths)
    client.wait_for_workers(3)  # one that comes later might be killed in vain
    released, move = [], sharded._move

    def grow(*args):
        move(*args)
        released.append(1)
        if len(released) == 20:
            for path in paths:
                part = pd.read_parquet(path)
                pd.concat([part, part[:more]]).to_parquet(path)
            os.kill(sorted(workers_of(client).items())[0][1], signal.SIGKILL)

    monkeypatch.setattr(sharded, "_move", grow)
    given = stored[["a", "b", "c"]], stored["y"]
    if more:
        with pytest.raises(WorkerError, match="another number of records"):
            ridge().fit(*given)
    else:
        found = ridge().fit(*given)
        monkeypatch.undo()
        same(found, here(ridge(), X, y))


def test_a_slow_worker_is_waited_for(client):
    X, y = records()
    expected = here(ridge(), X, y)
    pid = sorted(workers_of(client).items())[0][1]

    def stop(step):
        if step == 10:
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(1.5, os.kill, (pid, signal.SIGCONT)).start()

    started = time.monotonic()
    found = training(client, stop, X, y)
    assert time.monotonic() - started > 1.4
    np.testing.assert_array_equal(found.coef[0], expected.coef_)


KILLED = """
import os, signal, sys
import dask.array as da
import numpy as np
from distributed import Client
from dpscd import DPRidge
from dpscd.solvers import sharded

released, move = [], sharded._move
def die(*args):
    move(*args)
    released.append(1)
    if len(released) == 20:
        os.kill(os.getpid(), signal.SIGKILL)
sharded._move = die
address, ledger = sys.argv[1:]
X = da.from_array(np.full((900, 3), 0.1), chunks=(300, 3))
model = DPRidge(0.5, y_bounds=(0, 1), epochs=10, lot_size=90, ledger=ledger, dataset="people")
with Client(address):
    model.fit(X, X[:, 0])
"""


def test_a_killed_coordinator_has_spent_its_reservation(client, budget):
    command = [sys.executable, "-c", KILLED, client.scheduler.address, budget]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert Ledger(budget).show("people").spent_epsilon == 0.5
    (entry,) = Ledger(budget).history("people")
    assert not entry.committed
    # What it left on the workers is dropped, and they serve the next one.
    X, y = records()
    same_budget = {"ledger": budget, "dataset": "people"}
    ridge(epsilon=0.5, random_state=None, **same_budget).fit(*on_dask(X, y, 3))
    assert Ledger(budget).show("people").spent_epsilon == 1.0
    assert [entry.committed for entry in Ledger(budget).history("people")].count(True) == 1


@pytest.mark.usefixtures("client")
def test_nothing_but_sums_comes_from_the_workers(monkeypatch, tmp_path):
    """Every frame that reaches client and scheduler, searched for records and duals."""
    from distributed import actor
    from distributed.comm import tcp

    X, y = records()
    cuts = range(0, N, 300)
    canaries = [value.tobytes() for value in X[5]] + [y[5].tobytes()]
    canaries += [np.float32(value).tobytes() for value in X[5]]
    canaries += [repr(float(value)).encode() for value in (*X[5], y[5])]
    table = people()
    table.loc[5, "job"] = "canary-job"
    canaries.append(b"canary-job")
    frames, replies = [], []
    read, ok = tcp.from_frames, actor._OK

    async def seen(found, *args, **options):
        frames.extend(bytes(frame) for frame in found)
        return await read(found, *args, **options)

    def noted(value):
        replies.append(value)
        return ok(value)

    # Data in a graph would pass here on their way to the workers: let those read them.
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    table.to_parquet(tmp_path / "people.parquet", row_group_size=1000)
    X_stored, y_stored = (dask.delayed(np.load)(tmp_path / name) for name in ("X.npy", "y.npy"))
    X_parts = da.concatenate(
        [da.from_delayed(X_stored[i : i + 300], (300, 3), float) for i in cuts]
    )
    y_parts = da.concatenate(
        [da.from_delayed(y_stored[i : i + 300], (300,), float) for i in cuts]
    )
    stored = dd.read_parquet(tmp_path / "people.parquet", split_row_groups=True)
    assert stored.npartitions == 3
    monkeypatch.setattr(tcp, "from_frames", seen)
    monkeypatch.setattr(actor, "_OK", noted)
    found = ridge().fit(X_parts, y_parts)
    same(found, here(ridge(), X, y))
    TableModel(SCHEMA, DPRidge(**{**EASY, "epsilon": 10.0})).fit(stored)
    assert len(frames) > 100
    everything = b"\0".join(frames)
    assert not [canary for canary in canaries if canary in everything]
    assert len(replies) > 100
    for reply in replies:
        numbers = np.asarray(0 if reply is None else reply)
        assert numbers.dtype in (np.int64, np.float64)
        np.testing.assert_array_equal(numbers, np.trunc(numbers))


ROWS, COLUMNS, FILES = 20_000, 50, 100
LIMIT = 640 * 2**20


def peak():
    # Not getrusage: there a process begins with the peak of the one that started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def test_parquet_larger_than_memory_stays_within_the_limit(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(COLUMNS)]
    table = pd.DataFrame(rng.integers(-8, 9, size=(ROWS, COLUMNS)) / 100.0, columns=names)
    table["y"] = table["x0"] > table["x1"]
    table.to_parquet(tmp_path / "000.parquet")
    for number in range(1, FILES):
        (tmp_path / f"{number:03}.parquet").hardlink_to(tmp_path / "000.parquet")
    assert FILES * table.memory_usage().sum() > 1.1 * LIMIT
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit=LIMIT
    )
    with cluster, Client(cluster, direct_to_workers=True) as client:
        stored = dd.read_parquet(tmp_path)
        assert stored.npartitions == FILES
        pids = workers_of(client)
        settings = {"epochs": 1, "lot_size": 200_000, "random_state": 0}
        model = DPLogisticRegression(10.0, classes=[False, True], **settings)
        model.fit(stored[names], stored["y"])
        assert workers_of(client) == pids  # nobody was killed for using too much
        (used,) = client.run(peak).values()
    assert used < LIMIT
    assert (model.predict(table[names]) == table["y"]).mean() > 0.6
