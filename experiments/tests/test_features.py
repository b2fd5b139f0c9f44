"""Fashion-MNIST as rows: files, scattering features and where they are kept."""

from unittest.mock import MagicMock

import numpy as np
import pytest
from fashion_files import pictures, write_fashion

from dpscd_experiments import features
from dpscd_experiments.features import load_features


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    write_fashion(tmp_path)
    monkeypatch.setenv("DPSCD_DATA", str(tmp_path))
    monkeypatch.setenv("DPSCD_CACHE", str(tmp_path / "cache"))
    features._load.cache_clear()
    yield tmp_path
    features._load.cache_clear()


def test_files_are_read_and_parts_for_tuning_have_no_test_row():
    (images, labels), data = pictures(600, 0), load_features("pixels")
    np.testing.assert_allclose(data.whole.X, images.reshape(600, -1) / 255.0, rtol=1e-6)
    np.testing.assert_array_equal(data.whole.y, labels)
    assert (data.row_bound, data.classes) == (28.0, tuple(range(10)))
    tuning = data.tuning
    assert (len(tuning.y), len(tuning.y_judged)) == (500, 100)
    np.testing.assert_array_equal(np.vstack((tuning.X, tuning.X_judged)), data.whole.X)
    few = load_features("pixels", 120).whole
    assert (len(few.y), len(few.y_judged)) == (120, 20)


def test_scattering_is_normalised_picture_by_picture_and_kept_on_disk(monkeypatch):
    channels = np.random.default_rng(0).normal(size=(20, 81, 7, 7))
    rows = features.normalised(channels)
    np.testing.assert_array_equal(features.normalised(channels[7:8])[0], rows[7])
    groups = rows.reshape(20, 27, -1)
    np.testing.assert_allclose(groups.mean(axis=2), 0.0, atol=1e-5)
    assert 0.99 <= groups.var(axis=2).min() <= groups.var(axis=2).max() <= 1.0 + 1e-5
    made = MagicMock(side_effect=features.pixels)
    monkeypatch.setitem(features.FEATURES, "scattering", (made, 63.0))
    first = load_features("scattering").whole
    features._load.cache_clear()
    np.testing.assert_array_equal(first.X, load_features("scattering").whole.X)
    assert made.call_count == 2  # rows to train on and for test
