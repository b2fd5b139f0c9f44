"""Fashion-MNIST: its pixels, and the features of a scattering network without weights."""

import gzip
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError
from dpscd_experiments.sources import DatasetMissing, find_file, sha256_of

__all__ = ["SCATTERING_SIZE", "Images", "normalised", "pixels", "read_fashion", "scattering"]

Floats = npt.NDArray[np.float32]

#: Numbers of an image after scattering: 81 channels of 7 x 7.
SCATTERING_SIZE = 81 * 49

_SIDE = 28
_PARTS = {"train": "train", "test": "t10k"}
_KINDS = {"images": "images-idx3-ubyte", "labels": "labels-idx1-ubyte"}
_DIMENSIONS = {"images": 3, "labels": 1}

# Group normalisation as Tramer and Boneh (2021) have it: 27 groups of 3 channels.
_GROUPS = 27
_TINY = 1e-5
_BATCH = 200


@dataclass(frozen=True)
class Images:
    """The pictures of Fashion-MNIST."""

    # Pictures, 0 to 255, in the order of the files.
    train: npt.NDArray[np.uint8] = field(repr=False)
    y: npt.NDArray[np.int64] = field(repr=False)  # their classes, 0 to 9
    test: npt.NDArray[np.uint8] = field(repr=False)
    y_test: npt.NDArray[np.int64] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)  # SHA-256 of each file that was read


def read_fashion(folder: str | os.PathLike[str] | None = None) -> Images:
    """Read the four files of Fashion-MNIST (Zalando Research)."""
    found: dict[str, npt.NDArray[np.uint8]] = {}
    files: dict[str, str] = {}
    for part, prefix in _PARTS.items():
        for kind, suffix in _KINDS.items():
            name = f"{prefix}-{suffix}"
            path = find_file("fashion_mnist", (f"{name}.gz", name), folder=folder)
            found[f"{part}-{kind}"] = _idx(path, _DIMENSIONS[kind])
            files[path.name] = sha256_of(path)
        if len(found[f"{part}-images"]) != len(found[f"{part}-labels"]):
            raise DataError(f"The files of Fashion-MNIST, {prefix}, do not fit together.")
    return Images(
        found["train-images"],
        found["train-labels"].astype(np.int64),
        found["test-images"],
        found["test-labels"].astype(np.int64),
        files,
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
    transform = Scattering2D(J=2, shape=(_SIDE, _SIDE), L=8)
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
