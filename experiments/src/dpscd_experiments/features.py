"""Fashion-MNIST as rows: its pixels, and scattering features that are kept on disk."""

import gzip
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError
from dpscd_experiments.sources import VARIABLE, DatasetMissing, find_file

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

#: Numbers of an image after scattering: 81 channels of 7 x 7.
SCATTERING_SIZE = 81 * 49

# Group normalisation as Tramer and Boneh (2021) have it: 27 groups of 3 channels.
_GROUPS = 27
_TINY = 1e-5
_BATCH = 200

_CLASSES = 10
_VALIDATION = 6  # one in so many training rows, the last ones, is for validation


@dataclass(frozen=True)
class Images:
    """The pictures of Fashion-MNIST, 0 to 255, and their classes, in the order of the files."""

    train: npt.NDArray[np.uint8] = field(repr=False)
    y: Labels = field(repr=False)
    test: npt.NDArray[np.uint8] = field(repr=False)
    y_test: Labels = field(repr=False)
    sources: dict[str, str] = field(repr=False)  # SHA-256 of the files of both parts


def read_fashion(folder: str | os.PathLike[str] | None = None) -> Images:
    """Read the four files of Fashion-MNIST (Zalando Research)."""
    found: list[npt.NDArray[Any]] = []
    sources: dict[str, str] = {}
    for part, prefix in (("train", "train"), ("test", "t10k")):
        for kind, dimensions in (("images", 3), ("labels", 1)):
            name = f"{prefix}-{kind}-idx{dimensions}-ubyte"
            path = find_file("fashion_mnist", (f"{name}.gz", name), folder=folder)
            found.append(_idx(path, dimensions))
            if kind == "images":
                sources[part] = hashlib.sha256(path.read_bytes()).hexdigest()
        if len(found[-2]) != len(found[-1]):
            raise DataError(f"The files of Fashion-MNIST, {prefix}, do not fit together.")
    images, labels, tested, test_labels = found
    return Images(
        images, labels.astype(np.int64), tested, test_labels.astype(np.int64), sources
    )


def pixels(images: npt.NDArray[np.uint8]) -> Floats:
    """Return one row per picture: its 784 pixels, 0 to 1."""
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255.0)


def scattering(images: npt.NDArray[np.uint8]) -> Floats:
    """Return one row per picture: its 3,969 normalised scattering coefficients."""
    try:
        from kymatio.numpy import Scattering2D
    except ImportError as error:
        raise DatasetMissing(
            "Scattering features need kymatio: pip install 'dpscd[examples]'."
        ) from error
    # Two scales, eight angles, second order; nothing is learnt, and a row depends on its own
    # picture alone: features cost no privacy.
    transform = Scattering2D(J=2, shape=(28, 28), L=8)
    rows = np.empty((len(images), SCATTERING_SIZE), dtype=np.float32)
    for first in range(0, len(images), _BATCH):
        batch = images[first : first + _BATCH].astype(np.float32) / 255.0
        rows[first : first + _BATCH] = normalised(transform(batch))
    return rows


def normalised(channels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return 81 channels of pictures as rows, each of 27 groups with mean 0 and variance 1."""
    groups = channels.reshape(len(channels), _GROUPS, -1)
    groups = groups - groups.mean(axis=2, keepdims=True)
    groups = groups / np.sqrt(groups.var(axis=2, keepdims=True) + _TINY)
    rows: npt.NDArray[Any] = groups.reshape(len(channels), -1)
    return rows


def _idx(path: Path, dimensions: int) -> npt.NDArray[np.uint8]:
    """Return the array of bytes in a file of the format idx."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    head = 4 + 4 * dimensions
    if data[:4] != bytes((0, 0, 8, dimensions)) or len(data) < head:
        raise DataError(f"{path.name} is not an idx file of bytes of {dimensions} dimensions.")
    shape = tuple(int(size) for size in np.frombuffer(data, ">i4", dimensions, 4))
    if len(data) - head != int(np.prod(shape)):
        raise DataError(f"{path.name} is not complete.")
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


#: What can be trained on: how rows are made of pictures, and the longest row there can be.
FEATURES: dict[str, tuple[Callable[[npt.NDArray[np.uint8]], Floats], float]] = {
    "scattering": (scattering, float(np.sqrt(SCATTERING_SIZE))),
    "pixels": (pixels, 28.0),
}


@dataclass(frozen=True)
class Split:
    """Rows to train on, and rows to be judged on."""

    X: Floats = field(repr=False)
    y: Labels = field(repr=False)
    X_judged: Floats = field(repr=False)
    y_judged: Labels = field(repr=False)


@dataclass(frozen=True)
class Features:
    """Fashion-MNIST as rows."""

    name: str  # one of :data:`FEATURES`
    whole: Split  # all training rows and the test rows
    row_bound: float  # no row can be longer: public, whatever the pictures are
    classes: tuple[int, ...] = tuple(range(_CLASSES))  # the public classes

    @property
    def tuning(self) -> Split:
        """The first five sixths of the training rows, and the last sixth to be judged on."""
        X, y = self.whole.X, self.whole.y
        edge = len(y) - len(y) // _VALIDATION
        return Split(X[:edge], y[:edge], X[edge:], y[edge:])


def load_features(name: str, records: int | None = None) -> Features:
    """Return Fashion-MNIST as rows of features, kept in memory for the next call."""
    if name not in FEATURES:
        raise ParameterError(f"data={name!r} must be one of {', '.join(FEATURES)}.")
    return _load(name, os.environ.get(VARIABLE), records)


@lru_cache(maxsize=1)
def _load(name: str, folder: str | None, records: int | None) -> Features:
    images = read_fashion(folder)
    X, X_test = (_rows(name, part, images, records) for part in ("train", "test"))
    whole = Split(X, images.y[: len(X)], X_test, images.y_test[: len(X_test)])
    return Features(name, whole, FEATURES[name][1])


def _rows(name: str, part: str, images: Images, records: int | None) -> Floats:
    pictures = getattr(images, part)
    if records is not None:
        pictures = pictures[: records if part == "train" else records // _VALIDATION]
    make = FEATURES[name][0]
    folder = _folder()
    if name != "scattering" or folder is None:
        return make(pictures)
    # Other pictures, or more of them, are other files.
    file = folder / f"fashion-{name}-{part}-{len(pictures)}-{images.sources[part][:12]}.npy"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        begun = file.with_suffix(f".{os.getpid()}.part")
        with begun.open("wb") as stream:
            np.save(stream, make(pictures))
        begun.replace(file)
    rows: Floats = np.load(file)
    return rows


def _folder() -> Path | None:
    """Return where features are kept; None if they are not."""
    chosen = os.environ.get("DPSCD_CACHE")
    if chosen is not None:
        return None if chosen.strip().lower() in ("", "off") else Path(chosen) / "features"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "dpscd" / "features" if os.path.isabs(base) else None
