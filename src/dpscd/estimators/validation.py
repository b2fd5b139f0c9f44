"""Checks of parameters and data whose messages never carry a value of the data.

scikit-learn's own checks are used, but their messages (and those of numpy below them)
may print a cell. Here such a message is replaced, and the original is not chained: it is
gone when the new one is raised.
"""

import contextlib
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.records import refusals
from dpscd.records.labels import label_column
from dpscd.records.rows import Unread, open_rows

# This library, and what its context managers and decorators are called through.
_OURS = (str(Path(__file__).parents[1]), contextlib.__file__)

# More labels than this are hardly classes: more likely a regression by mistake, which would
# publish every label.
_MOST_CLASSES = 100

# What scikit-learn may say about shapes, types and names, with the part that is kept.
# Numbers of records are cut: they are secret under add-remove.
_HARMLESS = [
    (r"X has \d+ features, but \w+ is expecting \d+ features as input\.?", r"\g<0>"),
    (r"at least one array or dtype is required", "X has no columns."),
    (r"(Unknown label type: [a-z-]+).*", r"\g<1>: the labels of a classifier are classes."),
    (r"The feature names should match those that were passed during fit.*", r"\g<0>"),
]
_UNREADABLE = "The data cannot be read: give X as numbers and y as one label per record."


def quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of scikit-learn; let only harmless messages through."""
    try:
        return call(*args, **kwargs)
    except (ValueError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        unusable = DataTypeError if isinstance(error, TypeError) else DataError
        text = str(error)
    for pattern, kept in _HARMLESS:
        found = re.fullmatch(pattern, text, flags=re.DOTALL)
        if found:
            raise unusable(found.expand(kept))
    raise unusable(_UNREADABLE)


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn at the line outside of this library from which it was called."""
    # By hand: skip_file_prefixes came with Python 3.12.
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def check_rows(estimator: Any, X: Any) -> Any:
    """Return the rows of a prediction, dense, CSR or stored, checked against the fit."""
    rows = open_rows(X)
    quietly(validate_data, estimator, rows.X, reset=False, skip_check_array=True)
    if rows.count == 0:
        raise DataError("Found array with 0 sample(s); 1 is required.")
    return rows.read(stored=True)


def look_at_records(estimator: Any, X: Any, y: Any) -> tuple[Unread, pd.Series]:
    """Return rows and labels of a fit, not yet read: shapes and names of containers only."""
    rows = open_rows(X)
    quietly(validate_data, estimator, rows.X, skip_check_array=True)
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warn_user(
            "A column-vector y was passed when a 1d array was expected.", DataConversionWarning
        )
    column = label_column(y)
    if len(column) != rows.count:
        raise DataError(refusals.UNEQUAL)
    return rows, column


def sorted_classes(labels: Any) -> npt.NDArray[Any] | None:
    """Return declared labels in order, each as it is; None if they are not of one type."""
    try:
        plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
        if len({isinstance(label, str) for label in plain}) > 1:
            return None
        ordered = sorted(set(plain))
    except TypeError:
        return None
    found = np.asarray(ordered)
    if found.ndim != 1 or found.tolist() != ordered:  # an array would round large numbers
        found = np.empty(len(ordered), dtype=object)
        found[:] = ordered
    return found


def label_set(column: pd.Series) -> npt.NDArray[Any]:
    """Return the sorted labels that occur, which makes them public."""
    y = column.to_numpy()
    if y.dtype.kind == "O":
        labels = column.tolist()
        if len({isinstance(label, str) for label in labels}) > 1:
            raise DataError(
                "y has texts and other labels; give classes= with those that count."
            )
        y = quietly(np.asarray, labels)
    if y.dtype.kind == "c":
        raise DataError("Complex data not supported.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("Input y contains NaN or infinity; labels must be classes.")
    with warnings.catch_warnings():  # of scikit-learn about many classes: ours is an error
        warnings.simplefilter("ignore", UserWarning)
        quietly(check_classification_targets, y)
    labels = np.asarray(quietly(np.unique, y))
    if len(labels) > _MOST_CLASSES:
        raise ParameterError(
            "{classes} takes the labels in y as public, up to {} of them. Name the classes if "
            "these are classes; for numbers, use DPRidge.",
            _MOST_CLASSES,
            classes=None,
        )
    return labels
