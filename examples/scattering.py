"""Private classes of pictures: scattering features of Fashion-MNIST and a linear model.

    pip install 'dpscd[examples]'
    python examples/scattering.py PICTURES --features features --epsilon 3

PICTURES is a folder with the four files of Fashion-MNIST (``train-images-idx3-ubyte.gz`` and so
on). Features are computed once, in a quarter of an hour on two cores, and written to
``features`` in float16. They are functions of one picture each: a fixed wavelet transform, of
whose every channel the picture's own mean is taken away and the rest divided by its own spread;
then the row is divided by its length.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np

from dpscd import DPLogisticRegression, StoredRows

PARTS = {"train": "train", "test": "t10k"}
SIDE, CHANNELS, CLASSES = 28, 27, 10
BLOCK = 200  # pictures at a time


def read_idx(path):
    """Return the array in a file of the MNIST kind: its sizes, then bytes."""
    with gzip.open(path) as file:
        content = file.read()
    sizes = np.frombuffer(content, ">u4", count=content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes)


def standardised(channels):
    """Return rows of length 1 from channels of pictures, each by its own numbers."""
    channels = channels - channels.mean(axis=2, keepdims=True)
    channels /= np.sqrt(channels.var(axis=2, keepdims=True) + 1e-5)
    rows = channels.reshape(len(channels), -1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(lengths, 1e-6)


def write_features(pictures, labels, folder, part, scatter):
    """Write the features of pictures and their labels as .npy files."""
    width = scatter(np.zeros((1, SIDE, SIDE), np.float32)).size
    shape = (len(pictures), width)
    out = np.lib.format.open_memmap(folder / f"{part}_x.npy", "w+", np.float16, shape)
    for first in range(0, len(pictures), BLOCK):
        block = pictures[first : first + BLOCK].astype(np.float32) / 255
        channels = scatter(block).reshape(len(block), CHANNELS, -1)
        out[first : first + BLOCK] = standardised(channels)
    out.flush()
    np.save(folder / f"{part}_y.npy", labels)


def main():
    """Compute features where there are none, train and test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--features", type=Path, default=Path("features"))
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--pictures-of-each", type=int, help="only the first of each part")
    asked = parser.parse_args()
    asked.features.mkdir(exist_ok=True)
    for part, name in PARTS.items():
        if not (asked.features / f"{part}_y.npy").exists():
            from kymatio.numpy import Scattering2D  # only for features that are not there yet

            scatter = Scattering2D(J=2, shape=(SIDE, SIDE), L=8)
            images, labels = (
                read_idx(asked.pictures / f"{name}-{kind}-ubyte.gz")[: asked.pictures_of_each]
                for kind in ("images-idx3", "labels-idx1")
            )
            write_features(images, labels, asked.features, part, scatter)

    train, test = (StoredRows(asked.features / f"{part}_x.npy") for part in PARTS)
    known, wanted = (np.load(asked.features / f"{part}_y.npy") for part in PARTS)
    model = DPLogisticRegression(asked.epsilon, classes=list(range(CLASSES)), n_jobs=-1)
    model.fit(train, known)
    print(f"{len(train):,} pictures, {train.shape[1]} features: {model.privacy_.statement}")
    print(f"accuracy on {len(test):,} others: {model.score(test, wanted):.4f}")
    model.save(asked.features / "model.json")


if __name__ == "__main__":
    main()
