import os
import sys
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import dpscd
from dpscd import Ledger

# The reference of divided records is that of the solvers' tests.
SOLVERS = str(Path(__file__).parents[1] / "solvers")
sys.path.insert(0, SOLVERS)
# Workers are processes of their own, which must find this package as it is here.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(dpscd.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
)


@pytest.fixture(scope="module")
def client():
    """Return the client of a cluster of two processes."""
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def near():
    """A cluster of threads in this process: enough where nobody is killed."""
    cluster = LocalCluster(n_workers=2, processes=False, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def budget(tmp_path):
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "people", epsilon=2.0, delta=1e-4)
    return path
