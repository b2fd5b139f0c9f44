import bz2
import gzip
import hashlib
import os
import pickle
import zipfile

import numpy as np
import pytest
from scipy import sparse

from dpscd.errors import DataError, ParameterError
from dpscd_experiments import adult, msd, svmlight
from dpscd_experiments.adult import adult_paper, read_adult
from dpscd_experiments.dataset import Dataset, split_rows
from dpscd_experiments.datasets import DATASETS, DatasetMissing, load_dataset
from dpscd_experiments.sources import CHECKSUMS, ChecksumError, OfficialFile, download

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


def parts(data):
    return (data.X, data.y), (data.X_validation, data.y_validation), (data.X_test, data.y_test)


def check(data):
    """What every data set keeps, whatever its files."""
    for X, y in parts(data):
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        assert np.sqrt(squares.sum(axis=1)).max() <= 1.0 + 1e-12
        assert X.dtype == np.float64
        assert sparse.issparse(X) or X.flags.c_contiguous
        if data.task == "classification":
            assert set(y) <= {-1, 1} == set(data.classes)
        else:
            low, high = data.y_bounds
            assert low <= y.min() <= y.max() <= high
    assert data.notes
    assert all(len(digest) == 64 for digest in data.files.values())
    assert data.name in repr(data)
    assert len(repr(data)) < 200


@needs_data
@pytest.mark.parametrize("name", DATASETS)
def test_real_data(name):
    data = load_dataset(name)
    check(data)
    rows = tuple(len(y) for _, y in parts(data))
    assert (*rows, data.X.shape[1]) == SIZES[name]
    assert load_dataset(name) is data


@needs_data
def test_the_packaged_adult_is_the_published_one():
    here = adult_paper(os.environ["DPSCD_DATA"])
    packaged = adult_paper()
    np.testing.assert_array_equal(here.X, packaged.X)
    np.testing.assert_array_equal(here.y_test, packaged.y_test)
    assert here.files == packaged.files
    assert "adult.test: the published file, by its checksum" in here.notes


def test_adult_needs_no_files(monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    data = load_dataset("adult")
    check(data)
    assert [len(y) for _, y in parts(data)] == [24420, 8141, 16281]
    assert data.fit_parameters == {"fit_intercept": False, "classes": (-1, 1)}


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "adult"])
def test_missing_files_name_the_variable(name, tmp_path, monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    with pytest.raises(DatasetMissing, match="set the environment variable DPSCD_DATA"):
        load_dataset(name)
    with pytest.raises(FileNotFoundError, match=f"not in '{tmp_path}'.*DPSCD_DATA"):
        load_dataset(name, folder=tmp_path)


def test_unknown_names_and_impossible_downloads():
    with pytest.raises(ParameterError, match="adult, phishing"):
        load_dataset("iris")
    with pytest.raises(ParameterError, match="covtype"):
        load_dataset("covtype", download=True)


@pytest.mark.parametrize(
    ("name", "width", "load"),
    [("phishing", 68, svmlight.load_phishing), ("w8a", 300, svmlight.load_w8a)],
)
@pytest.mark.parametrize("ending", ["", ".bz2", ".svm.gz"])
def test_svmlight_text(tmp_path, name, width, load, ending):
    lines = [f"{k % 2} 1:0.6 {k + 2}:0.8 \n" for k in range(20)]
    text = "".join([*lines, "1 \n"]).encode()
    packed = {"": bytes, ".bz2": bz2.compress, ".svm.gz": gzip.compress}[ending](text)
    (tmp_path / (name + ending)).write_bytes(packed)
    data = load(tmp_path)
    check(data)
    assert sum(len(y) for _, y in parts(data)) == 21
    assert data.X.shape[1] == width
    assert sparse.issparse(data.X) == (name == "w8a")
    assert data.files == {name + ending: hashlib.sha256(packed).hexdigest()}
    assert any("checksum is not known" in note for note in data.notes) == (ending == "")


@pytest.mark.parametrize("packed", [False, True])
def test_year_prediction_text(tmp_path, monkeypatch, packed):
    monkeypatch.setattr(msd, "_OFFICIAL_TRAINING", 40)
    rng = np.random.default_rng(0)
    years, X = rng.integers(1922, 2012, size=50), rng.normal(scale=50.0, size=(50, 90))
    lines = [
        f"{year},{','.join(f'{x:.5f}' for x in row)}\n"
        for year, row in zip(years, X, strict=True)
    ]
    if packed:
        with zipfile.ZipFile(tmp_path / "YearPredictionMSD.txt.zip", "w") as archive:
            archive.writestr("YearPredictionMSD.txt", "".join(lines))
    else:
        (tmp_path / "YearPredictionMSD.txt").write_text("".join(lines))
    data = load_dataset("msd", folder=tmp_path)
    check(data)
    assert [len(y) for _, y in parts(data)] == [30, 10, 10]
    centre = 1922.0 - data.y_bounds[0]
    np.testing.assert_allclose(data.y_test + centre, years[40:])
    assert abs(data.y.mean()) < 1e-9
    (tmp_path / "YearPredictionMSD.txt").write_text("2001,1.0\n2002,2.0\n")
    with pytest.raises(DataError, match="90 numbers"):
        msd.load_msd(tmp_path)
    (tmp_path / "YearPredictionMSD.txt").write_text("".join(lines[:40]))
    with pytest.raises(DataError, match="not the whole file"):
        msd.load_msd(tmp_path)


ADULT_ROW = "{age}, {work}, 77516, Bachelors, 13, Never-married, Sales, Husband, White, {sex}, {gain}, 0, 40, United-States, {label}\n"  # noqa: E501


def write_adult(folder):
    def rows(n, dot):
        for k in range(n):
            work = ("Private", "?", "State-gov", "Private")[k % 4]
            sex = ("Male", "Female", "Male")[k % 3]
            label = ("<=50K", ">50K")[k % 2] + dot
            yield ADULT_ROW.format(age=20 + k, work=work, sex=sex, gain=k, label=label)

    (folder / "adult.data").write_text("".join(rows(40, "")) + "\n")
    (folder / "adult.test").write_text("|1x3 Cross validator\n" + "".join(rows(12, ".")) + "\n")


def test_adult_text(tmp_path):
    write_adult(tmp_path)
    raw = read_adult(tmp_path)
    assert raw.training == 40
    assert set(raw.columns["income"]) == {"<=50K", ">50K"}
    data = load_dataset("adult", folder=tmp_path)
    check(data)
    assert [len(y) for _, y in parts(data)] == [30, 10, 12]
    # Six numbers less fnlwgt, one more level of workclass and one of sex.
    assert data.X.shape[1] == 5 + 1 + 1
    assert "adult.data: not the published file, its checksum differs" in data.notes
    assert data.files != dict.fromkeys(data.files)


COLUMNS = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_delay,carrier,origin,distance"


def test_flights_text(tmp_path):
    lines = [COLUMNS]
    lines += [f"2013,{1 + k},1,517,{515 + k},{10 * k},{9 * k},UA,EWR,1400" for k in range(10)]
    lines += ["2013,1,1,,600,,,UA,EWR,1400", "2013,1,1,9,600,1,NA,UA,EWR,1400"]
    lines += ["2013,12,31,9,2359,1301,1272,XX,PHL,4983"]
    (tmp_path / "flights.csv").write_text("\n".join(lines) + "\n")
    data = load_dataset("nycflights13", folder=tmp_path)
    check(data)
    X, y = (np.concatenate(part) for part in zip(*parts(data), strict=True))
    assert X.shape == (11, 64)
    late = X[y.argmax()] * np.sqrt(7)
    assert y.max() == 300.0
    np.testing.assert_array_equal(np.flatnonzero(late[:62]), [11, 12 + 1, 19 + 23])
    np.testing.assert_allclose(late[62:], [4983 / 5000, 1.0])
    assert (X[y < 300][:, :62] > 0).sum(axis=1).tolist() == [5] * 10


def test_covtype_text(tmp_path):
    rows = ["a," * 54 + "Cover_Type"]
    rows += [",".join(str((k * j) % 7) for j in range(54)) + f",{1 + k % 3}" for k in range(30)]
    (tmp_path / "covtype.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    data = load_dataset("covtype", folder=tmp_path)
    check(data)
    assert [len(y) for _, y in parts(data)] == [18, 6, 6]
    assert sum((y == 1).sum() for _, y in parts(data)) == 10


def published(tmp_path, content=b"0 1:1\n", sha256=None):
    source = tmp_path / "publisher"
    source.write_bytes(content)
    return OfficialFile("phishing", source.as_uri(), sha256)


def test_downloads_are_checked(tmp_path):
    right = published(tmp_path, sha256=hashlib.sha256(b"0 1:1\n").hexdigest())
    wrong = published(tmp_path, sha256="0" * 64)
    assert download(right, tmp_path / "new").read_bytes() == b"0 1:1\n"
    assert not (tmp_path / "new" / CHECKSUMS).exists()
    with pytest.raises(ChecksumError, match="instead of 0000"):
        download(wrong, tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


def test_unknown_checksums_are_recorded_and_compared(tmp_path):
    folder = tmp_path / "data"
    download(published(tmp_path), folder)
    download(published(tmp_path), folder)
    digest = hashlib.sha256(b"0 1:1\n").hexdigest()
    assert (folder / CHECKSUMS).read_text() == f"{digest}  phishing\n"
    with pytest.raises(ChecksumError, match=f"instead of {digest}"):
        download(published(tmp_path, b"1 1:1\n"), folder)
    assert (folder / "phishing").read_bytes() == b"0 1:1\n"


def test_no_network_is_one_clear_error(tmp_path):
    gone = OfficialFile("phishing", (tmp_path / "gone").as_uri(), None)
    with pytest.raises(DatasetMissing, match=r"could not be downloaded.*DPSCD_DATA"):
        download(gone, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_loaders_download_when_asked(tmp_path, monkeypatch):
    lines = "".join(f"{k % 2} 1:0.6 {k + 2}:0.8 \n" for k in range(20)).encode()
    monkeypatch.setattr(svmlight, "PHISHING_FILE", published(tmp_path, lines))
    data = load_dataset("phishing", folder=tmp_path / "data", download=True)
    check(data)
    assert (tmp_path / "data" / "phishing").read_bytes() == lines


def test_adult_knows_its_published_checksums():
    assert [len(file.sha256) for file in adult.ADULT_FILES] == [64, 64]
    assert read_adult().files == {file.name: file.sha256 for file in adult.ADULT_FILES}


def test_splits_are_those_of_the_paper():
    train, validation, test = split_rows(11055, validation=0.25, test=0.25)
    assert (len(train), len(validation), len(test)) == (6218, 2073, 2764)
    assert len(np.unique(np.concatenate([train, validation, test]))) == 11055


def test_a_data_set_is_checked():
    X, y = np.zeros((2, 3)), np.array([-1, 1])
    good = Dataset("x", "classification", X, y, X, y, X, y, classes=(-1, 1))
    assert pickle.loads(pickle.dumps(good)).classes == (-1, 1)
    with pytest.raises(DataError, match="fit together"):
        Dataset("x", "classification", X, y[:1], X, y, X, y, classes=(-1, 1))
    with pytest.raises(DataError, match="y_bounds"):
        Dataset("x", "regression", X, y, X, y, X, y, classes=(-1, 1))
