"""Workers that are compiled for different processors: processes, as ``dask worker`` starts."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from llvmlite.binding import get_host_cpu_name

from dpscd import DPRidge, Ledger, WorkerError
from dpscd.solvers import sharded

pytestmark = [pytest.mark.full, pytest.mark.compiled]

HERE = {"NUMBA_CPU_NAME": get_host_cpu_name()}
GENERIC = {"NUMBA_CPU_NAME": "generic"}


@contextmanager
def worker_of(cluster, environment):
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
    process = subprocess.Popen(
        command + options, env=os.environ | environment, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def cluster():
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as started,
        Client(started) as client,
    ):
        yield started, client


def model(path):
    return DPRidge(0.5, y_bounds=(0, 1), epochs=10, lot_size=90, ledger=path, dataset="people")


def records():
    X = da.from_array(np.full((900, 3), 0.1), chunks=(300, 3))
    return X, X[:, 0]


def test_a_mixture_is_refused_before_the_charge(cluster, budget):
    started, client = cluster
    with worker_of(started, HERE), worker_of(started, GENERIC):
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(WorkerError, match="workers differ: processor") as caught:
            model(budget).fit(*records())
    assert HERE["NUMBA_CPU_NAME"] in str(caught.value)
    assert "generic" in str(caught.value)
    assert Ledger(budget).show("people").spent_epsilon == 0.0


def test_a_replacement_of_another_kind_does_not_join(cluster, budget, monkeypatch):
    started, client = cluster
    released, move = [], sharded._move
    with ExitStack() as stack:
        lost = stack.enter_context(worker_of(started, HERE))
        client.wait_for_workers(1, timeout=60)

        def replace(*args):
            move(*args)
            released.append(1)
            if len(released) == 20:
                stack.enter_context(worker_of(started, GENERIC))
                client.wait_for_workers(2, timeout=60)
                lost.send_signal(signal.SIGKILL)

        monkeypatch.setattr(sharded, "_move", replace)
        with pytest.raises(WorkerError, match="workers differ: processor"):
            model(budget).fit(*records())
    assert len(released) == 20
    assert Ledger(budget).show("people").spent_epsilon > 0.0
