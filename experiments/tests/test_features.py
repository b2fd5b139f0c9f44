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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0\0\x0d\x01" + b"\0" * 8, "is not an idx file"),
        (b"\0\0\x08\x01", "is not an idx file"),
        (idx(np.zeros(600, np.uint8))[:-1], "is not complete"),
        (idx(np.zeros(599, np.uint8)), "do not fit together"),
    ],
)
def test_other_files_are_refused(folder, data, message):
    (folder / "train-labels-idx1-ubyte").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_fashion()


@pytest.mark.usefixtures("kymatio")
def test_scattering_is_a_function_of_one_picture_and_kept_on_disk(folder, monkeypatch):
    images, _ = pictures(450, 0)
    rows = scattering(images)
    assert Scattering2D.calls == 3
    np.testing.assert_array_equal(scattering(images[201:202])[0], rows[201])
    groups = rows.reshape(450, 27, -1)
    np.testing.assert_allclose(groups.mean(axis=2), 0.0, atol=1e-5)
    assert groups.var(axis=2).max() <= 1.0 + 1e-5
    assert np.linalg.norm(rows, axis=1).max() <= np.sqrt(SCATTERING_SIZE) * (1.0 + 1e-6)
    first = load_features("scattering").whole
    calls = Scattering2D.calls
    features._load.cache_clear()
    np.testing.assert_array_equal(first.X, load_features("scattering").whole.X)
    assert Scattering2D.calls == calls
    names = sorted(file.name for file in (folder / "cache" / "features").iterdir())
    assert len(names) == 2
    assert names[0].startswith("fashion-scattering-test-100-")
    # Fewer pictures are other files; switched off, nothing is kept.
    monkeypatch.setenv("DPSCD_CACHE", "off")
    assert load_features("scattering", 60).whole.X.shape == (60, SCATTERING_SIZE)
    assert len(list((folder / "cache" / "features").iterdir())) == 2
    monkeypatch.delenv("DPSCD_CACHE")
    for base, kept in (("/x", "/x/dpscd/features"), ("x", None)):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        found = features._folder()
        assert (found and found.as_posix()) == kept


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
