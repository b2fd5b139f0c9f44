import json
import math

import pytest

from dpscd_experiments.store import Store, StoreError


def row(cell="a", rows=1, **change):
    return {
        "cell": cell, "rows": rows, "experiment": "e", "dataset": "d", "method": "m",
        "param.lot": 50, "epsilon": 1.0, "delta": 1e-5, "seed": 0, "status": "ok",
        "message": "", "metric": "accuracy", "at": None, "value": 0.5, "seconds": 0.1,
        "prov.commit": "unknown", **change,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "folder" / "rows.jsonl")


def test_rows_come_back_with_numbers_that_json_lacks(store):
    assert store.read() == []
    rows = [
        row(rows=2, metric="log_loss", value=math.inf),
        row(rows=2, metric="inf", message="nan", epsilon=math.inf, at=0.5),
    ]
    store.append(rows)
    assert store.read() == rows
    assert "Infinity" not in store.path.read_text()
    store.append([row("b", value=math.nan)])
    assert math.isnan(store.read()[-1]["value"])


@pytest.mark.parametrize("kept", [0, 1, 30, 200])
def test_a_crash_loses_only_the_cell_being_written(store, kept):
    store.append([row("a")])
    whole = store.path.stat().st_size
    store.append([row("b", rows=2), row("b", rows=2)])
    text = store.path.read_bytes()
    store.path.write_bytes(text[: whole + kept])
    assert store.status() == {"a": "ok"}
    store.append([row("b", rows=2), row("b", rows=2)])
    assert store.status() == {"a": "ok", "b": "ok"}
    assert len(store.read()) == 3
    store.append([row("c", rows=2)])  # a cell with missing rows does not count
    assert "c" not in store.status()
    store.append([row(metric="mse", value=0.7)])  # the last run of a cell counts
    assert [r["metric"] for r in store.read() if r["cell"] == "a"] == ["mse"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": "large"}, "'large' in the column 'epsilon'"),
        ({"value": True}, "True in the column 'value'"),
        ({"status": "fine"}, "status 'fine'"),
        ({"rows": 0}, "'rows'"),
        ({"lot": 5}, "unknown column 'lot'"),
        ({"param.lot": [1]}, "unknown column 'param.lot'"),
    ],
)
def test_the_schema_is_checked_both_ways(store, change, message):
    with pytest.raises(StoreError, match=message):
        store.append([row(**change)])
    assert store.read() == []
    store.append([row()])
    with store.path.open("a") as stream:
        stream.write(json.dumps(row(**change)) + "\n")
    with pytest.raises(StoreError, match=f"line 2 .*{message}"):
        store.read()


def test_a_method_is_forgotten_wholly_or_not_at_all(store, monkeypatch):
    def fail(_descriptor):
        raise OSError("disk full")

    store.append([row("a"), row("b", method="other")])
    before = store.path.read_bytes()
    assert store.forget("nobody") == 0
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        store.forget("m")
    monkeypatch.undo()
    assert store.path.read_bytes() == before
    assert store.forget("m") == 1
    assert store.status() == {"b": "ok"}
    store.append([row("a", value=0.7)])
    assert {r["cell"]: r["value"] for r in store.read()} == {"b": 0.5, "a": 0.7}
    assert [file.name for file in store.path.parent.iterdir()] == ["rows.jsonl"]
