"""Checks of parameters and data whose messages never carry a value of the data.

scikit-learn's own checks are used, but their messages (and those of numpy below them)
may print a cell. Here such a message is replaced, and the original is not chained: it is
gone when the new one is raised.
"""

import re
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from dpscd.errors import DataError, DataTypeError, ParameterError

__all__ = [
    "check_finite",
    "check_integer",
    "check_number",
    "check_records",
    "check_rows",
    "check_weights",
    "label_set",
]

Floats = npt.NDArray[np.float64]

_DTYPES = [np.float64, np.float32]

# More labels than this are hardly classes: more likely a regression by mistake, which would
# publish every label.
_MOST_CLASSES = 100

# What scikit-learn may say about shapes, types and names, with the part that is kept.
# Numbers of records are cut: they are secret under add-remove.
_HARMLESS = [
    (r"X has \d+ features, but \w+ is expecting \d+ features as input\.?", r"\g<0>"),
    (r"Found array with 0 sample\(s\).*", "Found array with 0 sample(s); 1 is required."),
    (
        r"(Found array with 0 feature\(s\) \(shape=\()\d*(, 0\)\) while a minimum of \d+ is "
        r"required).*",
        r"\g<1>\g<2>.",
    ),
    (
        r"(Expected 2D array, got (?:1D|scalar) array instead).*",
        r"\g<1>. Reshape your data: one row a record, one column a feature.",
    ),
    (
        r"Expected a 2-dimensional container but got .*",
        "Expected 2D array, got one column instead. Reshape your data: a table of one column "
        "is df[['name']].",
    ),
    (r"at least one array or dtype is required", "X has no columns."),
    (r"(Found array with dim \d+).*", r"\g<1>, while dim 2 is required."),
    (r"(Found input variables with inconsistent numbers of samples).*", r"\g<1>."),
    (r"(y should be a 1d array).*", r"\g<1>."),
    (r"(Complex data not supported).*", r"\g<1>."),
    (r"(Unknown label type: [a-z-]+).*", r"\g<1>: the labels of a classifier are classes."),
    (r".*requires y to be passed, but the target y is None.*", r"\g<0>"),
    (r"The feature names should match those that were passed during fit.*", r"\g<0>"),
    (r"(Sparse data was passed).*", r"\g<1>; use a CSR matrix."),
    (r"The type of target cannot be used to compute OOB estimates.*", r"\g<0>"),
]
_UNREADABLE = (
    "X (or, in regression, y) cannot be read as numbers. Encode text and categories first, for "
    "instance with OneHotEncoder and declared categories; an argument must be a string of "
    "digits or a number."
)


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


def check_number(
    name: str,
    value: Any,
    *,
    low: float = 0.0,
    high: float = 1e100,
    strict: bool = True,
    infinite: bool = False,
) -> float:
    """Return a parameter as a float, or say what is allowed."""
    allowed = f"a number {'greater than' if strict else 'of at least'} {low:g}"
    if name in ("delta", "lam", "epochs", "travel", "intercept_scaling"):
        allowed += ", or 'auto'"
    allowed += " (float('inf') trains without privacy)" if infinite else f", up to {high:g}"
    good = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if good:
        x = float(value)
        good = (x > low if strict else x >= low) and (infinite or x <= high)
    if not good:
        raise ParameterError(f"{name}={value!r} must be {allowed}.")
    return x


def check_integer(name: str, value: Any, *, low: int = 1) -> int:
    """Return a parameter as an integer, or say what is allowed."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise ParameterError(f"{name}={value!r} must be an integer of at least {low}.")
    return int(value)


def check_rows(estimator: Any, X: Any) -> Any:
    """Return the rows of a prediction, dense or CSR, checked against the fit."""
    X = quietly(
        validate_data,
        estimator,
        X,
        reset=False,
        accept_sparse="csr",
        dtype=_DTYPES,
        ensure_all_finite=False,
    )
    check_finite("X", X.data if sparse.issparse(X) else X)
    return X


def check_records(estimator: Any, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
    """Return rows and labels of a fit: shapes and types only, no value is judged."""
    options = {
        "accept_sparse": "csr",
        "dtype": _DTYPES,
        "order": "C",
        "ensure_all_finite": False,
    }
    kinds = X.dtypes if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    if any(getattr(kind, "kind", "O") in "mM" for kind in kinds):
        raise DataTypeError("X has a column of dates or times; turn it into numbers first.")
    if y is None:  # scikit-learn's own words for it
        quietly(validate_data, estimator, X, y, **options)
    X = quietly(validate_data, estimator, X, **options)
    y = quietly(column_or_1d, y, warn=True)
    quietly(check_consistent_length, X, y)
    if sparse.issparse(X):
        # A fresh wrapper: flags that the caller's object remembers may be out of date.
        X = quietly(_fresh, X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X, y


def _fresh(X: Any) -> Any:
    fresh = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    fresh.check_format(full_check=True)
    return fresh


def check_finite(name: str, values: npt.NDArray[Any]) -> None:
    """Raise DataError if there is a NaN or an infinity among `values`."""
    with np.errstate(all="ignore"):  # a numpy warning would tell of large values
        total = np.sum(values, dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(values).all():
        raise DataError(
            f"Input {name} contains NaN or infinity; only finite numbers can be used."
        )


def check_weights(sample_weight: Any, count: int, *, part: bool = False) -> Floats:
    """Return the weight of every record; ones for None. All of a `part` may be zero."""
    if sample_weight is None:
        return np.ones(count)
    weights: Floats = quietly(np.asarray, sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        raise DataError("sample_weight must be a number or one number a record (1D array).")
    check_finite("sample_weight", weights)
    if (weights < 0.0).any() or not (part or weights.any()):
        raise DataError("sample_weight must not be negative, nor zero for every record.")
    return weights.copy()


def label_set(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sorted labels that occur, which makes them public."""
    if y.dtype.kind == "f":
        check_finite("y", y)
    with warnings.catch_warnings():  # of scikit-learn about many classes: ours is an error
        warnings.simplefilter("ignore", UserWarning)
        quietly(check_classification_targets, y)
    labels = np.asarray(quietly(np.unique, y))
    if len(labels) > _MOST_CLASSES:
        raise ParameterError(
            f"classes=None takes the labels in y as public, up to {_MOST_CLASSES} of them. "
            "Give classes= if these are classes; for numbers, use DPRidge."
        )
    return labels
