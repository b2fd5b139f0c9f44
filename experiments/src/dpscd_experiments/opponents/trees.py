"""Models that take the columns of a table as they are: trees, EBMs, and MST before trees.

They are given what ours is given: the declared bounds, values and transforms. EBMs are those of
interpret-core (the extra ``dpscd-experiments[peers]``); MST (McKenna et al. 2021) is dpmm's.
"""

import math
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.schema import Schema
from dpscd.records.cells import MISSING, OTHER
from dpscd.records.encoding import Parsed
from dpscd_experiments.cells import Cell, Skip
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.peers import fit_elsewhere, interpreter_of
from dpscd_experiments.opponents.setting import cpu_seconds, number
from dpscd_experiments.opponents.tabled import Answer, judge_table
from dpscd_experiments.tables import Table

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

#: Why EBMs take no part.
ABSENT = "interpret-core is not installed: pip install 'dpscd-experiments[peers]'"

_BEYOND = 1.0 / 16.0  # of the range: where missing numbers stand if they are to be told apart


def is_number(column: Column) -> bool:
    """Return whether a column has an order; otherwise it has values."""
    return column.kind != "category"


def bounds_of(column: Column) -> tuple[float, float]:
    """Return the bounds of a number as it is given, the place of missing ones included."""
    low, high = _declared(column)
    return low, high + (high - low) * _BEYOND * (column.missing == "column")


def as_texts(schema: Schema, records: Parsed) -> npt.NDArray[Any]:
    """Return records as an array of objects: floats for numbers, texts for categories."""
    out = np.empty((len(records), len(schema.features)), dtype=object)
    for place, column in enumerate(schema.features):
        cells = records.columns[column.name]
        if is_number(column):
            out[:, place] = as_numbers(column, cells)
        else:
            words = np.array([*column.values, "(missing)", "(other)"], dtype=object)
            out[:, place] = words[_value_codes(column, cells)]
    return out


def as_codes(schema: Schema, records: Parsed) -> Floats:
    """Return records as floats, NaN where missing or not listed; categories as codes."""
    columns = []
    for column in schema.features:
        cells = np.asarray(records.columns[column.name], dtype=np.float64)
        columns.append(
            np.where(cells < 0.0, np.nan, cells) if column.kind != "number" else cells
        )
    return np.column_stack(columns)


def _declared(column: Column) -> tuple[float, float]:
    if column.kind != "number":
        return 0.0, float(1 if column.kind == "boolean" else len(column.values) - 1)
    bounds: Any = column.bounds
    low, high = bounds
    return (math.log1p(low), math.log1p(high)) if column.transform else (low, high)


def as_numbers(column: Column, cells: npt.NDArray[Any]) -> Floats:
    """Return the numbers of a column within :func:`bounds_of`, none of them missing."""
    low, high = _declared(column)
    values = np.asarray(cells, dtype=np.float64)
    if column.kind == "number":
        absent = np.isnan(values)
        bounds: Any = column.bounds
        values = np.clip(values, *bounds)
        values = np.log1p(values) if column.transform else values
    else:
        absent = values < 0.0
    stand_in = bounds_of(column)[1] if column.missing == "column" else (low + high) / 2.0
    return np.where(absent, stand_in, values)


def _value_codes(column: Column, cells: npt.NDArray[Any]) -> Codes:
    """Return codes of values, with one more for missing and one for other ones."""
    last = len(column.values)
    return np.where(cells == MISSING, last, np.where(cells == OTHER, last + 1, cells))


def boosted_trees(schema: Schema, seed: int) -> Any:
    """Return the model for a schema's columns, not fitted."""
    kind = (
        HistGradientBoostingClassifier
        if schema.target.classes
        else HistGradientBoostingRegressor
    )
    categories = [not is_number(column) for column in schema.features]
    return kind(categorical_features=categories, random_state=seed)


def answer_of_trees(table: Table, cell: Cell) -> Answer:
    """Fit scikit-learn's gradient boosting, not private: what a table can give."""
    schema = table.schema
    X, X_test = (as_codes(schema, one) for one in (table.train, table.test))
    y = table.train.target
    bounds: Any = schema.target.bounds
    model = boosted_trees(schema, cell.seed)
    start = cpu_seconds()
    model.fit(X, y if bounds is None else np.clip(y, *bounds))
    seconds = cpu_seconds() - start
    predicted = model.predict_proba(X_test)[:, 1] if bounds is None else model.predict(X_test)
    return Answer(predicted, seconds)


def answer_of_ebm(table: Table, cell: Cell) -> Answer:
    """Fit an explainable boosting machine, the private one or the other."""
    kind = "Classifier" if table.schema.target.classes else "Regressor"
    private = cell.method == "dp-ebm"
    home, prefix = ("privacy", "DP") if private else ("glassbox", "")
    try:
        module = import_module(f"interpret.{home}")
    except ImportError:
        raise Skip(ABSENT) from None
    features = table.schema.features
    parameters: dict[str, Any] = {
        "feature_names": [column.name for column in features],
        "feature_types": [
            "continuous" if is_number(column) else "nominal" for column in features
        ],
        "random_state": cell.seed,
        "n_jobs": 1,
    }
    y = table.train.target
    if private:
        parameters |= {
            "epsilon": cell.epsilon,
            "delta": cell.delta,
            "privacy_bounds": {
                column.name: bounds_of(column) for column in features if is_number(column)
            },
        }
        if kind == "Regressor":
            bounds: Any = table.schema.target.bounds
            low, high = bounds
            parameters |= {"privacy_target_min": low, "privacy_target_max": high}
            y = np.clip(y, low, high)
    else:
        parameters["outer_bags"] = int(number(cell, "outer_bags"))
    model = getattr(module, f"{prefix}ExplainableBoosting{kind}")(**parameters)
    X, X_test = (as_texts(table.schema, one) for one in (table.train, table.test))
    start = cpu_seconds()
    with warnings.catch_warnings():
        # It warns that a seed is for tests.
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = cpu_seconds() - start
    if kind == "Regressor":
        return Answer(model.predict(X_test), seconds)
    return Answer(model.predict_proba(X_test)[:, 1], seconds)


def domain_of(schema: Schema, bins: int) -> list[int]:
    """Return how many codes each column has: intervals, or values with two for the rest."""
    return [bins if is_number(column) else len(column.values) + 2 for column in schema.features]


def to_codes(schema: Schema, records: Parsed, bins: int) -> Codes:
    """Return records as codes: intervals of equal width between declared bounds, or values."""
    columns = []
    for column in schema.features:
        cells = records.columns[column.name]
        if is_number(column):
            low, high = bounds_of(column)
            along = (as_numbers(column, cells) - low) / (high - low)
            columns.append(np.clip((along * bins).astype(np.int64), 0, bins - 1))
        else:
            columns.append(_value_codes(column, cells))
    return np.column_stack(columns).astype(np.int64)


def answer_of_mst(table: Table, cell: Cell) -> Answer:
    """Make synthetic records by MST, and fit trees to them."""
    interpreter_of("dpmm")  # or a reason why not, before rows are copied
    schema, bins = table.schema, int(number(cell, "bins"))
    sizes = [*domain_of(schema, bins), len(schema.target.classes)]
    codes = to_codes(schema, table.train, bins)
    start = cpu_seconds()
    made = fit_elsewhere(
        "dpmm",
        {
            "codes": np.column_stack([codes, table.train.target]),
            "sizes": np.array(sizes),
            "epsilon": cell.epsilon,
            "delta": cell.delta,
            "seed": cell.seed,
        },
        threads=1,
    )
    records = made["codes"]
    model = boosted_trees(schema, cell.seed).fit(records[:, :-1], records[:, -1])
    seconds = cpu_seconds() - start
    return Answer(model.predict_proba(to_codes(schema, table.test, bins))[:, 1], seconds)


_ANSWERS = {
    "boosting": answer_of_trees,
    "dp-ebm": answer_of_ebm,
    "ebm": answer_of_ebm,
    "mst": answer_of_mst,
}


def play(cell: Cell) -> Metrics:
    """Run a cell of any of them."""
    return judge_table(cell, _ANSWERS[cell.method])
