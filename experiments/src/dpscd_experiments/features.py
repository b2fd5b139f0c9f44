"""The rows of the bench of features: pixels, and scattering features that are kept on disk."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd_experiments.fashion import SCATTERING_SIZE, Images, pixels, read_fashion, scattering

__all__ = ["FEATURES", "Features", "Split", "load_features"]

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

#: What can be trained on: how rows are made of pictures, and the longest row there can be.
FEATURES: dict[str, tuple[Callable[[npt.NDArray[np.uint8]], Floats], float]] = {
    "scattering": (scattering, float(np.sqrt(SCATTERING_SIZE))),
    "pixels": (pixels, 28.0),
}

_CLASSES = 10
_VALIDATION = 6  # one in so many training rows, the last ones, is for validation


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

    def split(self, part: str) -> Split:
        """Return the rows for a part: 'validation' or 'test'."""
        return self.tuning if part == "validation" else self.whole


def load_features(name: str, records: int | None = None) -> Features:
    """Return Fashion-MNIST as rows of features, kept in memory for the next call."""
    if name not in FEATURES:
        raise ParameterError(f"data={name!r} must be one of {', '.join(FEATURES)}.")
    return _load(name, os.environ.get("DPSCD_DATA"), records)


@lru_cache(maxsize=1)
def _load(name: str, folder: str | None, records: int | None) -> Features:
    images = read_fashion(folder)
    X, X_test = (_rows(name, part, images, records) for part in ("train", "test"))
    return Features(
        name,
        Split(X, images.y[: len(X)], X_test, images.y_test[: len(X_test)]),
        FEATURES[name][1],
    )


def _rows(name: str, part: str, images: Images, records: int | None) -> Floats:
    pictures = getattr(images, part)
    if records is not None:
        pictures = pictures[: records if part == "train" else records // _VALIDATION]
    make = FEATURES[name][0]
    folder = _folder()
    if name != "scattering" or folder is None:
        return make(pictures)
    # Other pictures, or more of them, are other files.
    source = next(sha for file, sha in images.files.items() if file.startswith(_prefix(part)))
    file = folder / f"fashion-{name}-{part}-{len(pictures)}-{source[:12]}.npy"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        begun = file.with_suffix(f".{os.getpid()}.part")
        with begun.open("wb") as stream:
            np.save(stream, make(pictures))
        begun.replace(file)
    rows: Floats = np.load(file)
    return rows


def _prefix(part: str) -> str:
    return "train-images" if part == "train" else "t10k-images"


def _folder() -> Path | None:
    """Return where features are kept; None if they are not."""
    chosen = os.environ.get("DPSCD_CACHE")
    if chosen is not None:
        return None if chosen.strip().lower() in ("", "off") else Path(chosen) / "features"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "dpscd" / "features" if os.path.isabs(base) else None
