"""Fashion-MNIST as rows: files, scattering features and where they are kept."""

import sys
from types import ModuleType

import numpy as np
import pytest
from fashion_files import idx, pictures, write_fashion

from dpscd.errors import DataError, ParameterError
from dpscd_experiments import features
from dpscd_experiments.features import (
    SCATTERING_SIZE,
    load_features,
    pixels,
    read_fashion,
    scattering,
)
from dpscd_experiments.sources import DatasetMissing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_fashion(tmp_path)
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    monkeypatch.setenv("DPSCD_CACHE", str(tmp_path / "cache"))
    features._load.cache_clear()
    yield tmp_path
    features._load.cache_clear()


@pytest.fixture
def kymatio(monkeypatch):
    """Stand in for kymatio's network: as many channels; return the calls."""
    module, calls = ModuleType("kymatio.numpy"), []

    def transform(batch):
        calls.append(len(batch))
        small = batch.reshape(len(batch), 1, 7, 4, 7, 4).mean(axis=(3, 5))
        return small * np.arange(1, 82).reshape(1, 81, 1, 1) ** 0.5

    module.Scattering2D = lambda **_: transform
    monkeypatch.setitem(sys.modules, "kymatio", ModuleType("kymatio"))
    monkeypatch.setitem(sys.modules, "kymatio.numpy", module)
    return calls


@pytest.mark.usefixtures("folder")
def test_files_are_read_and_parts_for_tuning_have_no_test_row():
    found, (images, labels) = read_fashion(), pictures(600, 0)
    np.testing.assert_array_equal(found.train, images)
    np.testing.assert_array_equal(found.y, labels)
    rows = pixels(found.train)
    assert (rows.dtype, rows.max()) == (np.float32, images.max() / np.float32(255.0))
    data = load_features("pixels")
    assert (data.row_bound, data.classes) == (28.0, tuple(range(10)))
    tuning = data.tuning
    assert (len(tuning.y), len(tuning.y_judged)) == (500, 100)
    np.testing.assert_array_equal(np.vstack((tuning.X, tuning.X_judged)), data.whole.X)
    few = load_features("pixels", 120).whole
    assert (len(few.y), len(few.y_judged)) == (120, 20)


def test_other_files_are_refused(folder):
    file = folder / "train-labels-idx1-ubyte"
    for data, message in (
        (b"\0\0\x08\x01", "is not an idx file"),
        (idx(np.zeros(600, np.uint8))[:-1], "is not complete"),
        (idx(np.zeros(599, np.uint8)), "do not fit together"),
    ):
        file.write_bytes(data)
        with pytest.raises(DataError, match=message):
            read_fashion()


def test_scattering_is_a_function_of_one_picture_and_kept_on_disk(folder, kymatio, monkeypatch):
    images, _ = pictures(450, 0)
    rows = scattering(images)
    assert kymatio == [200, 200, 50]
    np.testing.assert_array_equal(scattering(images[201:202])[0], rows[201])
    groups = rows.reshape(450, 27, -1)
    np.testing.assert_allclose(groups.mean(axis=2), 0.0, atol=1e-5)
    assert groups.var(axis=2).max() <= 1.0 + 1e-5
    first, calls = load_features("scattering").whole, len(kymatio)
    features._load.cache_clear()
    np.testing.assert_array_equal(first.X, load_features("scattering").whole.X)
    assert len(kymatio) == calls
    kept = folder / "cache" / "features"
    assert len(list(kept.glob("fashion-scattering-test-100-*"))) == 1
    # Fewer pictures are other files; switched off, nothing is kept.
    monkeypatch.setenv("DPSCD_CACHE", "off")
    assert load_features("scattering", 60).whole.X.shape == (60, SCATTERING_SIZE)
    assert len(list(kept.iterdir())) == 2


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
