"""The figure of a column shows something, whatever kind the column is of."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from dpscd.documents.figures import shape_figure
from dpscd.preprocessing.declarations import Column, Cross

NUMBER = {"kind": "number", "bounds": (0.0, 1000.0)}
COLUMNS = {
    "line": (Column("x", **NUMBER), [0.0, 1000.0]),
    "smooth": (Column("x", **NUMBER, shape="smooth", bins=2), [0.0, 500.0, 1000.0]),
    "steps": (Column("x", **NUMBER, shape="steps", bins=2), [250.0, 750.0, "(missing)"]),
    "log1p": (Column("x", **NUMBER, transform="log1p"), [0.0, 30.0, 1000.0]),
    "values": (Column("x", "category", values=("a", "b")), ["a", "b", "(other)"]),
    "truth": (Column("x", "boolean"), [False, True]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_points_and_bands_are_on_the_figure(name, tmp_path):
    column, values = COLUMNS[name]
    effect = np.linspace(-1.0, 2.0, len(values))
    shape = pd.DataFrame({"column": "x", "value": values, "effect": effect, "band": 0.5})
    shape_figure(shape, column, "the score of y = 1", tmp_path / "x.png", "Band.")
    red, green, blue = imread(tmp_path / "x.png")[..., :3].transpose(2, 0, 1)
    drawn = (red < 0.05) & (np.abs(green - 0.447) < 0.05) & (np.abs(blue - 0.698) < 0.05)
    rows, columns = drawn.nonzero()
    assert drawn.sum() > 200
    assert np.ptp(rows) > 100
    assert np.ptp(columns) > 300


def test_a_pair_is_a_map_with_signs(tmp_path):
    pair = Cross(COLUMNS["values"][0], Column("z", **NUMBER, shape="smooth"), 2)
    # One of the values is not shown: its place stays empty.
    rows = [(a, z) for a in ("a", "b", "(other)") for z in (0.0, 500.0, 1000.0)][:-1]
    shape = pd.DataFrame(rows, columns=["value", "other"]).assign(column=pair.name, band=0.5)
    inked = []
    for size in (0.0, 1.0):
        shape["effect"] = np.where(np.arange(len(rows)) == 4, 2.0, -0.1 - size)
        shape["clear"] = shape["effect"].abs() > shape["band"]
        shape_figure(shape, pair, "the score of y = 1", tmp_path / "x.png", None)
        image = imread(tmp_path / "x.png")[..., :3]
        inked.append((image.max(axis=2) < 0.2).sum())
        assert (image[..., 2] - image[..., 0] > 0.2).sum() > 2000  # the one that is above
    assert inked[1] > inked[0]  # seven signs more
