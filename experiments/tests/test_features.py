"""Fashion-MNIST as rows: files, scattering features and where they are kept."""

import os
import sys
from types import ModuleType

import numpy as np
import pytest
from fashion_files import idx, pictures, write_fashion

from dpscd.errors import DataError, ParameterError
from dpscd_experiments import features
from dpscd_experiments.fashion import SCATTERING_SIZE, pixels, read_fashion, scattering
from dpscd_experiments.features import load_features
from dpscd_experiments.sources import DatasetMissing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_fashion(tmp_path)
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    monkeypatch.setenv("DPSCD_CACHE", str(tmp_path / "cache"))
    features._load.cache_clear()
    yield tmp_path
    features._load.cache_clear()


class Scattering2D:
    """Stands in for kymatio's: as many channels, and counts its calls."""

    calls = 0

    def __init__(self, J, shape, L):
        assert (J, shape, L) == (2, (28, 28), 8)

    def __call__(self, batch):
        Scattering2D.calls += 1
        small = batch.reshape(len(batch), 1, 7, 4, 7, 4).mean(axis=(3, 5))
        return small * np.arange(1, 82).reshape(1, 81, 1, 1) ** 0.5


@pytest.fixture
def kymatio(monkeypatch):
    module = ModuleType("kymatio.numpy")
    module.Scattering2D = Scattering2D
    monkeypatch.setitem(sys.modules, "kymatio", ModuleType("kymatio"))
    monkeypatch.setitem(sys.modules, "kymatio.numpy", module)
    Scattering2D.calls = 0


@pytest.mark.usefixtures("folder")
def test_files_plain_or_compressed_are_read():
    found = read_fashion()
    images, labels = pictures(600, 0)
    np.testing.assert_array_equal(found.train, images)
    np.testing.assert_array_equal(found.y, labels)
    assert found.test.shape == (100, 28, 28)
    assert len(found.files) == 4
    rows = pixels(found.train)
    assert rows.dtype == np.float32
    assert rows.max() == images.max() / np.float32(255.0)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train-labels-idx1-ubyte", b"\0\0\x0d\x01" + b"\0" * 8, "is not an idx file"),
        ("train-labels-idx1-ubyte", b"\0\0\x08\x01", "is not an idx file"),
        ("train-labels-idx1-ubyte", idx(np.zeros(600, np.uint8))[:-1], "is not complete"),
        ("train-labels-idx1-ubyte", idx(np.zeros(599, np.uint8)), "do not fit together"),
    ],
)
def test_other_files_are_refused(folder, name, data, message):
    (folder / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_fashion()


@pytest.mark.usefixtures("kymatio")
def test_scattering_is_a_function_of_one_picture():
    images, _ = pictures(450, 0)
    rows = scattering(images)
    assert rows.shape == (450, SCATTERING_SIZE)
    assert Scattering2D.calls == 3
    np.testing.assert_array_equal(scattering(images[201:202])[0], rows[201])
    groups = rows.reshape(450, 27, -1)
    np.testing.assert_allclose(groups.mean(axis=2), 0.0, atol=1e-5)
    assert groups.var(axis=2).max() <= 1.0 + 1e-5
    assert np.linalg.norm(rows, axis=1).max() <= np.sqrt(SCATTERING_SIZE) * (1.0 + 1e-6)


@pytest.mark.usefixtures("kymatio")
def test_scattering_features_are_computed_once(folder):
    first = load_features("scattering").whole
    calls = Scattering2D.calls
    features._load.cache_clear()
    again = load_features("scattering").whole
    assert Scattering2D.calls == calls
    np.testing.assert_array_equal(first.X, again.X)
    names = sorted(file.name for file in (folder / "cache" / "features").iterdir())
    assert len(names) == 2
    assert names[0].startswith("fashion-scattering-test-100-")
    assert load_features("scattering", 60).whole.X.shape == (60, SCATTERING_SIZE)
    write_fashion(folder, train=601)
    features._load.cache_clear()
    assert len(load_features("scattering").whole.X) == 601


@pytest.mark.parametrize(
    ("variables", "kept"),
    [
        ({"DPSCD_CACHE": "off"}, None),
        ({"XDG_CACHE_HOME": "/x"}, "/x/dpscd/features"),
        ({"XDG_CACHE_HOME": "x"}, None),
        ({"DPSCD_CACHE": "/y"}, "/y/features"),
    ],
)
def test_where_features_are_kept(monkeypatch, variables, kept):
    for name in ("DPSCD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = features._folder()
    assert (None if found is None else found.as_posix()) == kept


@pytest.mark.usefixtures("kymatio")
def test_nothing_is_kept_if_nothing_shall_be(folder, monkeypatch):
    monkeypatch.setenv("DPSCD_CACHE", "off")
    assert load_features("scattering", 12).whole.X.shape == (12, SCATTERING_SIZE)
    assert not (folder / "cache").exists()


@pytest.mark.usefixtures("folder")
def test_parts_for_tuning_have_no_test_row():
    data = load_features("pixels")
    assert data.row_bound == 28.0
    assert data.classes == tuple(range(10))
    assert data.split("test") is data.whole
    rows = data.split("validation")
    assert (len(rows.y), len(rows.y_judged)) == (500, 100)
    np.testing.assert_array_equal(np.vstack((rows.X, rows.X_judged)), data.whole.X)
    few = load_features("pixels", 120).whole
    assert (len(few.y), len(few.y_judged)) == (120, 20)


def test_unknown_and_missing(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="scattering, pixels"):
        load_features("edges")
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    with pytest.raises(DatasetMissing, match="train-images"):
        load_features("pixels")
    monkeypatch.setitem(sys.modules, "kymatio", None)
    monkeypatch.setitem(sys.modules, "kymatio.numpy", None)
    with pytest.raises(DatasetMissing, match=r"dpscd\[examples\]"):
        scattering(np.zeros((1, 28, 28), np.uint8))


@pytest.mark.full
@pytest.mark.skipif(
    not os.environ.get("DPSCD_DATA"), reason="DPSCD_DATA is not set: pictures are not packaged"
)
def test_the_real_features():
    pytest.importorskip("kymatio.numpy", exc_type=ImportError)
    rows = scattering(read_fashion().test[:10])
    lengths = np.linalg.norm(rows, axis=1)
    assert 30.0 < lengths.min() <= lengths.max() <= np.sqrt(SCATTERING_SIZE)
