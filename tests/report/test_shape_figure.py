"""The figure of a column shows something, whatever kind the column is of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from dpscd.preprocessing.declarations import Column
from dpscd.report.shape_figure import shape_figure

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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shape_figure(shape, column, "the score of y = 1", tmp_path / "x.png")
    red, green, blue = imread(tmp_path / "x.png")[..., :3].transpose(2, 0, 1)
    drawn = (red < 0.05) & (np.abs(green - 0.447) < 0.05) & (np.abs(blue - 0.698) < 0.05)
    rows, columns = drawn.nonzero()
    assert drawn.sum() > 200
    assert np.ptp(rows) > 100
    assert np.ptp(columns) > 300
