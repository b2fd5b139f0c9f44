"""The kernel that trains, compiled by another process: found in the cache, missed by nobody."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from commands import python
from dpscd import DPLinearSVC, DPLogisticRegression, DPPoissonRegressor, DPRidge
from dpscd.kernels import _jit, packed
from dpscd.kernels._jit import compile_training, compiling_beside, wait_for

FIRST_FIT = """
import numpy as np
from dpscd import DPLogisticRegression
from dpscd.kernels import _jit, packed
X = np.random.default_rng(0).normal(size=(400, 3))
DPLogisticRegression(1.0, classes=[0, 1]).fit(X, (X[:, 0] > 0).astype(int))
stats = packed._advance.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""

X = np.random.default_rng(0).normal(size=(200, 3))
SIGNS = (X[:, 0] > 0).astype(int)
THREE = SIGNS + (X[:, 1] > 0)


@pytest.fixture
def empty(monkeypatch, tmp_path):
    """Return an empty cache, on a machine where another process pays."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(2), raising=False)
    return tmp_path


@pytest.fixture
def begun(monkeypatch):
    """Let a process that takes its time stand for the one that compiles; return those begun."""
    processes = []

    def begin(*_):
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        processes.append(subprocess.Popen(sleep))
        return processes[-1]

    monkeypatch.setattr(_jit, "_begin", begin)
    return processes


@pytest.mark.full
@pytest.mark.compiled
def test_the_first_fit_finds_the_kernel_in_the_cache(tmp_path):
    printed = python(FIRST_FIT, XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="")
    alone = len(os.sched_getaffinity(0)) == 1
    assert printed.split() == (["0", "1"] if alone else ["1", "0"])


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("model", "y", "loss", "outputs"),
    [
        (DPLogisticRegression(1.0, classes=[0, 1]), SIGNS, "Logistic", 1),
        (DPLogisticRegression(1.0, classes=[0, 1, 2]), THREE, "Softmax", 3),
        (DPLinearSVC(1.0, classes=[0, 1]), SIGNS, "Hinge", 1),
        (DPLinearSVC(1.0, classes=[0, 1, 2]), THREE, "Hinge", 3),
        (DPRidge(1.0, y_bounds=(0.0, 2.0)), THREE, "Squared", 1),
        (DPPoissonRegressor(1.0, y_bounds=(0.0, 2.0)), THREE, "Poisson", 1),
    ],
)
def test_what_is_compiled_is_what_a_fit_calls(model, y, loss, outputs, monkeypatch):
    asked = []
    monkeypatch.setattr(_jit, "_pays", lambda _: True)
    monkeypatch.setattr(_jit, "_begin", lambda *given: asked.append(given))
    model.fit(X, y)
    assert asked == [(loss, outputs)]
    before = set(packed._advance.signatures)
    compile_training(loss, outputs)
    assert set(packed._advance.signatures) == before


def test_a_fit_without_noise_or_packed_records_asks_for_nothing(monkeypatch):
    asked = []
    monkeypatch.setattr(_jit, "_pays", lambda _: asked.append(1))
    DPLogisticRegression(np.inf, classes=[0, 1], lam=1.0).fit(X, SIGNS)
    DPLogisticRegression(1.0, classes=[0, 1]).fit(sparse.csr_array(X), SIGNS)
    DPLogisticRegression(1.0, classes=[0, 1]).fit(X, SIGNS, groups=np.arange(200) // 2)
    DPLogisticRegression(1.0, classes=[0, 1], n_jobs=2).fit(X, SIGNS)
    assert not asked


def test_one_process_at_a_time_and_none_is_left(empty, begun):
    with compiling_beside(empty, "Logistic", 1):
        with compiling_beside(empty, "Hinge", 1):
            pass
        (process,) = begun
        assert process.poll() is None
    assert process.poll() is not None
    with pytest.raises(KeyError), compiling_beside(empty, "Logistic", 1):
        raise KeyError
    assert [process.poll() is None for process in begun] == [False, False]


def test_a_kernel_is_waited_for_and_no_other_function(empty, begun):
    with compiling_beside(empty, "Logistic", 1):
        wait_for("dpscd.kernels.packed", "_add_lot")
        assert begun[0].poll() is None
        begun[0].kill()
        wait_for("dpscd.kernels.packed", "_advance")
        assert begun[0].poll() is not None
    wait_for("dpscd.kernels.packed", "_advance")


def test_a_process_that_hangs_is_not_waited_for_forever(empty, begun, monkeypatch):
    monkeypatch.setattr(_jit, "_LONGEST", 0.05)
    with compiling_beside(empty, "Logistic", 1):
        wait_for("dpscd.kernels.packed", "_advance")
        assert begun[0].wait(10) is not None


@pytest.mark.parametrize("program", [None, "no such program", "a\0program"])
def test_without_python_to_run_there_is_no_other_process(empty, monkeypatch, program):
    monkeypatch.setattr(_jit, "get_executable", lambda: program)
    with compiling_beside(empty, "Logistic", 1):
        wait_for("dpscd.kernels.packed", "_advance")


def test_it_pays_on_two_cores_for_a_program_that_python_runs(empty, monkeypatch):
    assert _jit._pays(empty)
    (empty / "kernels_0").mkdir()
    index = Path(empty, "kernels_0", "packed._advance-1.py311.nbi")
    index.touch()
    assert not _jit._pays(empty)
    index.unlink()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not _jit._pays(empty)
    monkeypatch.delattr(sys, "frozen")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(1))
    assert not _jit._pays(empty)


def test_the_process_gets_the_losss_name_and_this_ones_places_of_import(empty, monkeypatch):
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    with compiling_beside(empty, "Hinge", 3):
        pass
    assert started[0][-2 - len(sys.path) :] == ["Hinge", "3", *sys.path]
