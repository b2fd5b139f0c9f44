"""Persons on a cluster: all rows of one in one partition, and no identifier on the way."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from dpscd import DataError, DPLogisticRegression, DPRidge, ParameterError, TableModel

pytestmark = pytest.mark.full

N, ROWS = 300, 4
EASY = {"epochs": 10, "lot_size": 30, "random_state": 7, "epsilon": 5.0}
SCHEMA = {
    "table": {"person": "patient"},
    "target": {"column": "ill", "classes": ["no", "yes"]},
    "columns": {name: {"kind": "number", "bounds": [-1, 1]} for name in "abc"},
}


def records():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(N), ROWS)
    X = rng.uniform(-0.5, 0.5, size=(len(person), 3))
    return X, X @ [3.0, -2.0, 1.0] + 10.0, person


def ridge():
    return DPRidge(y_bounds=(7.0, 13.0), **EASY)


def divided(rows):
    X, y, person = records()
    parts = (da.from_array(a, chunks=(rows, *a.shape[1:])) for a in (X, y, person))
    X, y, person = parts
    return ridge().fit(X, y, groups=person)


@pytest.mark.usefixtures("client")
def test_the_model_is_the_same_however_persons_are_divided():
    one, several = divided(N * ROWS), divided(5 * ROWS * 7)
    np.testing.assert_array_equal(one.coef_, several.coef_)
    assert several.privacy_.facts.n == N
    assert "person" in several.privacy_.unit
    assert several.privacy_.verify() <= 5.0
    X, y, _ = records()
    assert several.score(X, y) > 0.5


@pytest.mark.usefixtures("client")
def test_a_person_in_two_partitions_is_refused():
    with pytest.raises(DataError, match="several partitions"):
        divided(3 * ROWS + 1)


def table():
    X, y, person = records()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["ill"] = np.where(y > 10.0, "yes", "no")
    frame["patient"] = [f"canary-{i}" for i in person]
    return frame.sample(frac=1.0, random_state=0, ignore_index=True)


@pytest.mark.usefixtures("client")
def test_tables_are_shuffled_by_their_owner_first(tmp_path):
    estimator = DPLogisticRegression(**EASY)
    mixed = dd.from_pandas(table(), npartitions=3)
    with pytest.raises(DataError, match="shuffle"):
        TableModel(SCHEMA, estimator).fit(mixed)
    table().sort_values("patient").to_parquet(tmp_path / "all.parquet", row_group_size=100)
    whole = dd.read_parquet(tmp_path / "all.parquet")
    model = TableModel(SCHEMA, estimator).fit(whole)
    assert model.privacy_.facts.n == N
    assert model.privacy_.unit == "a person: all records with the same value of 'patient'"
    plain = {**SCHEMA, "table": {}}
    with pytest.raises(ParameterError, match="groups is not available on Dask"):
        TableModel(plain, estimator).fit(whole, groups=whole["patient"])


def test_identifiers_do_not_travel(client, monkeypatch, tmp_path):
    """No frame that reaches client and scheduler holds an identifier."""
    from distributed.comm import tcp

    table().to_parquet(tmp_path / "people.parquet")
    frames = []
    read = tcp.from_frames

    async def seen(found, *args, **options):
        frames.extend(bytes(frame) for frame in found)
        return await read(found, *args, **options)

    stored = dd.read_parquet(tmp_path / "people.parquet")
    monkeypatch.setattr(tcp, "from_frames", seen)
    TableModel(SCHEMA, DPLogisticRegression(**EASY)).fit(stored)
    assert len(frames) > 100
    assert b"canary-" not in b"\0".join(frames)
    assert client.status == "running"
