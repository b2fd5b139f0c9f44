"""Plots show what shapes, coefficients and intervals say, on the axes that are asked for."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from dpscd import (
    DPLinearSVC,
    DPLogisticRegression,
    DPRidge,
    DpscdError,
    ParameterError,
    TableModel,
)

mpl.use("agg")
import matplotlib.pyplot as plt

N = 6000
COLUMNS = {
    "hour": {"kind": "number", "bounds": [0, 23], "shape": "smooth"},
    "weight $": {
        "kind": "number", "bounds": [0, 3000], "transform": "log1p", "missing": "column",
        "shape": "steps",
    },
    "city": {"kind": "category", "values": ["Oslo $x$", "Bergen", "Bodø"], "complete": True},
    "rain": {"kind": "boolean"},
}  # fmt: skip
PAIRS = {"pairs": [["city", "rain"]]}
DELAY = {"column": "delay", "bounds": [-30, 60]}
KIND = {"column": "kind", "classes": ["early", "late", "on time"]}


def people(n=N):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"hour": rng.integers(0, 24, n), "weight $": rng.gamma(2, 200, n)})
    table.loc[rng.random(n) < 0.1, "weight $"] = np.nan
    table["city"] = rng.choice(COLUMNS["city"]["values"], n)
    table["rain"] = rng.random(n) < 0.3
    table["delay"] = 20 * np.sin(table["hour"] / 4) + 5 * table["rain"]
    late, early = table["delay"] > 5, table["delay"] < -5
    return table.assign(kind=np.select([late, early], ["late", "early"], "on time"))


def of_table(target, estimator, columns=COLUMNS, **table):
    schema = {"target": target, "columns": columns, "table": table}
    return TableModel(schema, estimator).fit(people())


@pytest.fixture(scope="module")
def ridge():
    return of_table(DELAY, DPRidge(8.0, random_state=0), **PAIRS)


@pytest.fixture(scope="module")
def three():
    return of_table(KIND, DPLogisticRegression(8.0, random_state=0), **PAIRS)


@pytest.fixture(autouse=True)
def closed():
    yield
    for number in plt.get_fignums():  # all of it can be drawn, without a warning
        plt.figure(number).canvas.draw()
    plt.close("all")


def own(model, column):
    shapes = model.shapes()
    return shapes[shapes["column"] == column]


@pytest.mark.parametrize("name", ["ridge", "three"])
def test_all_effects_are_a_grid_the_clearest_first(name, request):
    model = request.getfixturevalue(name)
    grid = model.plot()
    titles = [axes.get_title().replace(r"\$", "$") for axes in grid]
    assert titles == list(dict.fromkeys(model.shapes()["column"]))
    assert len({axes.figure for axes in grid}) == 1


def test_a_number_is_a_curve_with_its_band(ridge):
    shape, axes = own(ridge, "hour"), ridge.plot("hour")
    line, dots = axes.lines[:2]
    np.testing.assert_allclose(line.get_ydata(), shape["effect"])
    np.testing.assert_allclose(dots.get_ydata(), shape["effect"][shape["clear"]])
    (band,) = axes.collections
    low, high = (
        band.get_paths()[0].vertices[:, 1].min(),
        (shape["effect"] + shape["band"]).max(),
    )
    assert low == pytest.approx((shape["effect"] - shape["band"]).min())
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(high)


def test_a_missing_value_stands_beside_the_curve(ridge):
    shape, axes = own(ridge, "weight $"), ridge.plot("weight $")
    assert len(axes.lines[0].get_ydata()) == len(shape) - 1
    assert [text.get_text() for text in axes.texts] == ["missing"]
    (point,) = axes.containers
    missing = shape[shape["value"] == "(missing)"]["effect"]
    assert point.lines[0].get_ydata().tolist() == missing.tolist()
    assert r"weight \$" in axes.get_title()


def test_categories_are_bars_faint_where_they_are_not_clear(ridge):
    for column in ("city", "rain"):
        shape, axes = own(ridge, column), ridge.plot(column)
        np.testing.assert_allclose([bar.get_width() for bar in axes.patches], shape["effect"])
        strong = [bar.get_facecolor()[3] == 1.0 for bar in axes.patches]
        assert strong == shape["clear"].tolist()


def test_a_long_list_shows_its_largest():
    rng = np.random.default_rng(0)
    values = [f"v{k}" for k in range(40)]
    table = pd.DataFrame({"a": rng.choice(values, N), "b": rng.random(N)})
    columns = {"a": {"kind": "category", "values": values, "complete": True}}
    schema = {"target": {"column": "b", "bounds": [0, 1]}, "columns": columns}
    axes = TableModel(schema, DPRidge(8.0, random_state=0)).fit(table).plot("a")
    assert len(axes.patches) == len(axes.get_yticks()) == 24


def test_a_pair_is_a_map_with_signs_where_it_is_clear(ridge):
    shape, axes = own(ridge, "city x rain"), ridge.plot("city x rain")
    (image,) = axes.images
    np.testing.assert_allclose(image.get_array().ravel(), shape["effect"])
    assert len(axes.texts) == shape["clear"].sum()


def test_classes_have_one_colour_each_or_are_drawn_alone(three):
    for column in ("hour", "city"):
        axes = three.plot(column)
        assert [x.get_text() for x in axes.get_legend().get_texts()] == KIND["classes"]
    alone = three.plot("hour", label="late")
    shape = own(three, "hour")
    late = shape[shape["class"] == "late"]
    np.testing.assert_allclose(alone.lines[0].get_ydata(), late["effect"])
    assert alone.get_legend() is None
    largest = own(three, "city x rain")
    largest = largest.loc[largest["effect"].abs().idxmax(), "class"]
    assert largest in three.plot("city x rain").get_xlabel()


def test_axes_that_are_given_are_drawn_on(ridge):
    _, (left, right) = plt.subplots(1, 2)
    assert ridge.plot("hour", ax=left) is left
    assert ridge.estimator_.plot(right) is right


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"column": "age"}, r"column='age' must be one of hour, weight \$, city"),
        ({"ax": 1}, "ax is for one column"),
        ({"label": "late"}, "label='late' must be one of the classes"),
    ],
)
def test_what_cannot_be_drawn_is_named(ridge, more, says):
    with pytest.raises(ParameterError, match=says):
        ridge.plot(**more)


def test_coefficients_are_points_with_bands():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 30))
    model = DPRidge(8.0, y_bounds=(-1, 1), random_state=0).fit(X, X[:, 3])
    axes = model.plot()
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert len(names) == 24
    assert "x3" in names
    assert "24 of 30" in axes.get_title()
    (bars,) = axes.containers
    kept = [int(name[1:]) for name in names]
    np.testing.assert_allclose(bars.lines[0].get_xdata(), model.coef_[kept])
    ends = bars.lines[1][1].get_xdata() - model.coef_[kept]
    np.testing.assert_allclose(ends, 2.0 * model.coef_sd_[kept])
    y = np.digitize(X[:, 0], [-0.2, 0.2])
    svm = DPLinearSVC(8.0, classes=[0, 1, 2], random_state=0).fit(X, y)
    assert len(svm.plot().containers) == 3
    free = DPRidge(np.inf, y_bounds=(-1, 1), lam=0.1).fit(X, X[:, 3])
    assert "band" not in free.plot().get_title()


def test_intervals_are_drawn_but_for_the_intercept():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 2))
    kind = DPRidge(8.0, y_bounds=(-2, 2), inference=True, random_state=0)
    model = kind.fit(X, X[:, 0])
    frame = model.conf_int(alpha=0.1).iloc[:2]
    for axes in (model.plot(), model.summary(alpha=0.1).plot()):
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["x0", "x1"]
    np.testing.assert_allclose(axes.containers[0].lines[1][0].get_xdata(), frame["low"])
    assert "90 %" in axes.get_title()


def test_without_matplotlib_the_command_is_named(ridge, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DpscdError, match=r"pip install 'dpscd\[plot\]'"):
        ridge.plot("hour")
