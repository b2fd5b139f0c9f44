"""Private searches over records on a cluster: the same model as over records in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch, ParameterError, TableModel
from dpscd.distributed.collections import fetched_rows, row_counts, some_rows

pytestmark = [
    pytest.mark.full, pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("near"),
]  # fmt: skip

CLASSES = ["a", "b"]
SCHEMA = {
    "target": {"column": "ill", "classes": ["no", "yes"]},
    "columns": {"age": {"kind": "number", "bounds": [0, 100], "shape": "line"}},
}


def rows(n=2000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (n, 3))
    return X, np.where(X[:, 0] > X[:, 1], "b", "a")


def test_rows_are_taken_partition_by_partition():
    X, y = rows(10)
    kept = [np.array([0, 2]), np.array([], dtype=np.int64), np.array([1])]
    cut = da.from_array(X, chunks=((4, 4, 2), (1, 2)))
    labels = da.from_array(y, chunks=((4, 4, 2),))
    assert row_counts(cut) == [4, 4, 2]
    for found in (some_rows(cut, kept).compute(), fetched_rows(cut, kept)):
        assert (found == X[[0, 2, 9]]).all()
    assert list(fetched_rows(labels, kept)) == list(y[[0, 2, 9]])
    thin = cut.rechunk({1: -1}).map_blocks(sparse.csr_matrix)
    assert (fetched_rows(thin, kept).toarray() == X[[0, 2, 9]]).all()
    frame = dd.from_pandas(pd.DataFrame({"x": np.arange(10)}), npartitions=2)
    halves = [np.array([1]), np.array([0, 4])]
    assert row_counts(frame) == [5, 5]
    assert list(fetched_rows(frame, halves)["x"]) == [1, 5, 9]
    assert list(some_rows(frame, halves).compute()["x"]) == [1, 5, 9]


def test_a_search_over_arrays():
    X, y = rows()
    candidates = [
        DPLogisticRegression(classes=CLASSES, epochs=5),
        DPLinearSVC(classes=CLASSES, epochs=5),
    ]
    search = DPModelSearch(candidates, 5.0, mean_runs=2, random_state=0)
    found = search.fit(da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700))
    card = found.privacy_
    assert card.verify() <= 5.0
    assert card.facts.n + card.search.score.n == 2000
    assert found.score(X, y) > 0.85
    with pytest.raises(ParameterError, match="single records"):
        search.fit(da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700), groups=y)


def test_a_search_over_tables():
    age = np.random.default_rng(0).integers(0, 100, 2000)
    frame = pd.DataFrame({"age": age, "ill": np.where(age > 60, "yes", "no")})
    candidates = [
        TableModel(SCHEMA, DPLogisticRegression(epochs=5)),
        TableModel(SCHEMA, DPLinearSVC(epochs=5)),
    ]
    search = DPModelSearch(candidates, 5.0, mean_runs=2, random_state=0)
    found = search.fit(dd.from_pandas(frame, npartitions=3))
    assert found.privacy_.verify() <= 5.0
    assert found.score(frame) > 0.85
