import math
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpscd.errors import ParameterError
from dpscd_experiments.cells import Cell, Skip
from dpscd_experiments.runner import run
from dpscd_experiments.store import Store


def draw(cell):
    rng = np.random.default_rng(cell.seed)
    A = rng.normal(size=(300, 300))
    return {"sum": (A @ A).sum(), "curve": [(epoch, rng.random()) for epoch in range(3)]}


def act(cell):
    """End as the cell's method says."""
    if cell.method == "fail":
        raise ValueError(f"seed {cell.seed} is bad")
    if cell.method == "skip":
        raise Skip("package not installed")  # as DatasetMissing
    if cell.method == "die":
        os._exit(3)
    if cell.method == "slow":
        time.sleep(60.0 * min(cell.seed, 1))
    for _ in range(3 * (cell.method == "warn")):
        warnings.warn("careful", UserWarning, stacklevel=1)
    return {} if cell.method == "nothing" else {"one": 1.0}


def cells(function=draw, seeds=4, method="m"):
    return [Cell(function, "e", "d", method, seed=seed) for seed in range(seeds)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "rows.jsonl")


def values(store):
    return sorted((x["seed"], x["metric"], x["at"] or 0.0, x["value"]) for x in store.read())


def test_processes_do_not_change_results(tmp_path, store):
    other = Store(tmp_path / "other.jsonl")
    assert run(cells(), store) == {"ok": 4}
    assert run(cells(), other, processes=2) == {"ok": 4}
    assert len(values(store)) == 16
    assert values(store) == values(other)


def test_a_run_goes_on_and_never_runs_a_cell_twice(store):
    run(cells(seeds=2), store)
    before = store.path.read_bytes()
    assert run(cells(seeds=3), store) == {"stored": 2, "ok": 1}
    assert store.path.read_bytes().startswith(before)
    assert run(cells(seeds=3) * 2, store) == {"stored": 3}
    run(cells(act, 1, "fail"), store)
    assert run(cells(draw, 1, "fail"), store)["ok"] == 1  # its function was mended
    assert set(store.status().values()) == {"ok"}


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.full)])
def test_trouble_is_stored_and_others_go_on(store, processes):
    told = {
        "fail": "ValueError: seed 7 is bad (test_runner.py:",
        "skip": "package not installed",
        "nothing": "ValueError: the function returned no metrics",
        "warn": "careful",
    }
    todo = [Cell(act, "e", "d", method, seed=np.int64(7)) for method in told]
    if processes > 1:
        todo += [Cell(act, "e", "d", "die"), Cell(lambda _: {}, "e", "d", "local")]
    ends = {"failed": len(todo) - 2, "skipped": 1}
    assert run(todo, store, processes=processes) == {"ok": 1, **ends}
    found = {row["method"]: row for row in store.read()}
    assert all(found[method]["message"].startswith(words) for method, words in told.items())
    assert found["fail"]["value"] is None
    assert found["warn"]["prov.numpy"] == np.__version__
    if processes > 1:
        assert "its process died" in found["die"]["message"]
        assert "lambda" in found["local"]["message"]
    else:
        assert run(todo, store) == {"stored": 1, **ends}


@pytest.mark.full
def test_ctrl_c_stops_processes_and_keeps_what_is_done(store):
    # A shell that runs tests in the background lets them ignore Ctrl-C; the child must not.
    program = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from test_runner import act, cells
from dpscd_experiments.runner import run
from dpscd_experiments.store import Store
if __name__ == "__main__":
    run(cells(act, 3, "slow"), Store({str(store.path)!r}), processes=2)
"""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 50.0
    while not store.status() and time.monotonic() < limit:
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20.0)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert set(store.status().values()) == {"ok"}
    assert len(store.status()) == 1


def test_keys_tell_cells_apart():
    cell = Cell(draw, "e", "d", "m", epsilon=1, delta=0, parameters={"a": 1, "b": math.inf})
    same = Cell(act, "e", "d", "m", epsilon=1.0, delta=0.0, parameters={"b": math.inf, "a": 1})
    assert (cell.key, cell, hash(cell)) == (same.key, same, hash(same))
    for change in ({"seed": 1}, {"epsilon": 2.0}, {"parameters": {"a": 1}}):
        fields = {"epsilon": 1.0, "parameters": {"a": 1, "b": math.inf}, **change}
        assert Cell(draw, "e", "d", "m", **fields).key != cell.key
    with pytest.raises(ParameterError, match=r"parameters\['grid'\]"):
        Cell(draw, "e", "d", "m", parameters={"grid": [1, 2]})
    with pytest.raises(ParameterError, match="processes=0"):
        run([], Store("unused"), processes=0)
