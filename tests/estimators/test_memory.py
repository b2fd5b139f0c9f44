"""What a fit holds in memory besides its input."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dpscd import DPLogisticRegression


@pytest.mark.parametrize("standardise", [True, False])
def test_a_mapped_matrix_is_not_read_into_memory(tmp_path, standardise):
    n, d = 60_000, 40
    path = tmp_path / "X.dat"
    X = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, d))
    X[:] = np.random.default_rng(0).uniform(-0.1, 0.1, size=(n, d))
    y = np.asarray(X[:, 0] > 0.0)
    mapped = np.memmap(path, dtype=np.float32, mode="r", shape=(n, d))
    model = DPLogisticRegression(
        1.0, classes=[False, True], random_state=0, epochs=1, standardise=standardise
    )
    model.fit(mapped, y)  # compiles, imports and calibrates
    tracemalloc.start()
    try:
        model.fit(mapped, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One pack, labels, weights and duals, and some megabytes for blocks and draws.
    assert peak < 4 * n * d + (16 + 8) * n + 8 * 2**20


@pytest.mark.parametrize("standardise", [True, False])
def test_a_mapped_sparse_matrix_is_not_read_into_memory(tmp_path, standardise):
    n, d, entries = 60_000, 3000, 30
    generator = np.random.default_rng(0)
    parts = {
        "data": generator.uniform(-0.1, 0.1, size=n * entries).astype(np.float32),
        "indices": np.sort(
            generator.choice(d // entries, size=(n, entries))
            + np.arange(entries) * (d // entries)
        )
        .astype(np.int32)
        .ravel(),
        "indptr": (np.arange(n + 1) * entries).astype(np.int64),
    }
    mapped = {}
    for name, values in parts.items():
        values.tofile(tmp_path / name)
        mapped[name] = np.memmap(tmp_path / name, dtype=values.dtype, mode="r")
    y = parts["data"][::entries] > 0.0
    del parts, values
    X = sparse.csr_array((mapped["data"], mapped["indices"], mapped["indptr"]), shape=(n, d))
    model = DPLogisticRegression(
        1.0, classes=[False, True], random_state=0, epochs=1, standardise=standardise
    )
    model.fit(X, y)  # compiles, imports and calibrates
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Standardised entries in single precision, at most; and as above.
    assert peak < 4 * n * entries + (16 + 8 + 24) * n + 12 * 2**20
