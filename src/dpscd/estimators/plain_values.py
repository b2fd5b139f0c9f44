"""Parameters and class labels of a model file, as plain values of JSON and back."""

import math
from typing import Any

import numpy as np

from dpscd.errors import ModelFileError

__all__ = ["from_plain", "labels_from_plain", "labels_to_plain", "to_plain"]

_LABELS = {"bool": bool, "int": int, "float": float, "str": str}


def to_plain(value: Any) -> Any:
    """Return a parameter as JSON, kinds that JSON lacks under a name of their own."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return {"list": [to_plain(item) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ModelFileError(f"a parameter of type {type(value).__name__} cannot be saved.")


def floats_from_plain(values: Any) -> Any:
    """Return an array of numbers in a file, or raise TypeError for texts and truth values."""
    if isinstance(values, list):
        return np.array([floats_from_plain(value) for value in values], dtype=np.float64)
    if type(values) not in (int, float):
        raise TypeError("not a number.")
    return np.float64(values)


def from_plain(value: Any) -> Any:
    """Return the parameter that :func:`to_plain` wrote, or raise an error of its kind."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "dict":
        return {from_plain(key): from_plain(item) for key, item in content}
    if kind == "list":
        return [from_plain(item) for item in content]
    raise ModelFileError("it has a parameter of an unknown kind.")


def labels_to_plain(classes: Any) -> dict[str, Any]:
    """Return class labels with their type: one of those that JSON can carry exactly."""
    values = classes.tolist()
    kinds = {type(value).__name__ for value in values}
    if len(kinds) != 1 or not kinds <= set(_LABELS):
        raise ModelFileError("classes can be saved when all are text, or all are numbers.")
    return {"kind": kinds.pop(), "values": values, "dtype": classes.dtype.str}


def labels_from_plain(classes: Any) -> Any:
    """Return the array that :func:`labels_to_plain` wrote, to the last bit."""
    if set(classes) != {"kind", "values", "dtype"}:
        raise ModelFileError("its classes are malformed.")
    kind = _LABELS[classes["kind"]]
    values = classes["values"]
    dtype = np.dtype(str(classes["dtype"]))
    if len(values) < 2 or not all(type(value) is kind for value in values):
        raise ModelFileError("its classes are malformed.")
    if dtype.kind not in "biufUO" or dtype.itemsize > 4096:
        raise ModelFileError("its classes are of an unknown type.")
    array = np.array(values, dtype=dtype)
    if array.tolist() != values or len(set(values)) != len(values):
        raise ModelFileError("its classes are malformed.")
    return array
