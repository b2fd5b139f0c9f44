"""Encoding of labels, by declared facts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing.declarations import Target
from dpscd.records import refusals
from dpscd.records.cells import (
    Listed,
    NumberCells,
    as_column,
    codes,
    numbers,
    same_value,
    text_of,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassLabels:
    """The labels of a classification."""

    classes: tuple[Any, ...]  # in the order of their codes
    weights: tuple[float, ...] | None = None  # of a record of each class
    dtype: str = "<U1"  # of an array of the classes

    def __post_init__(self) -> None:
        texts = [text_of(label) for label in self.classes]
        known = {str(text): place for place, text in enumerate(texts)}
        if None in texts or len(known) != len(texts) or same_value(known):
            raise ParameterError(
                f"classes={list(self.classes)!r} must be different labels; a number and its "
                "text are the same, and a missing value is none."
            )

    def scaling(self, *, centred: bool) -> tuple[float, float]:
        """Return the public centre and scale of the labels: codes stay as they are."""
        del centred
        return 0.0, 1.0

    def coded(self, cells: pd.Series) -> tuple[Floats, Floats]:
        """Return labels, -1 and 1 or codes, and weights; an unknown label has weight 0.

        Guarantee: both are functions of the record's own label.
        """
        return self.weighed(self.places(cells))

    def places(self, cells: pd.Series) -> npt.NDArray[Any]:
        """Return the index of each label among the classes, below 0 if it is unknown."""
        listed = {str(text_of(label)): code for code, label in enumerate(self.classes)}
        return codes(cells, Listed(listed))

    def weighed(self, code: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """Return labels and weights of codes; a code below 0 is unknown."""
        own = np.ones(len(self.classes)) if self.weights is None else np.array(self.weights)
        weights: Floats = np.append(own, 0.0)[np.maximum(code, -1)]
        if len(self.classes) == 2:
            return np.where(code == 1, 1.0, -1.0), weights
        return np.maximum(code, 0).astype(np.float64), weights


@dataclass(frozen=True)
class NumberLabels:
    """The labels of a regression."""

    low: float  # labels below it are clipped to it, those above `high` to that
    high: float

    def scaling(self, *, centred: bool) -> tuple[float, float]:
        """Return the public centre and scale of the labels, which bring them to [-1, 1]."""
        if centred:
            return (self.low + self.high) / 2.0, (self.high - self.low) / 2.0
        return 0.0, max(abs(self.low), abs(self.high))

    def coded(self, cells: pd.Series) -> tuple[Floats, Floats]:
        """Return labels and weights; all must be finite numbers."""
        values = numbers_in(cells)
        if not np.isfinite(values).all():
            raise DataTypeError(refusals.NOT_FINITE)
        return self.weighed(values)

    def weighed(self, values: Floats) -> tuple[Floats, Floats]:
        """Return labels and weights of numbers; those that are not finite have weight 0."""
        known = np.isfinite(values)
        return np.clip(np.where(known, values, 0.0), self.low, self.high), known.astype(float)


@dataclass(frozen=True)
class CountLabels(NumberLabels):
    """The labels of a regression of counts, each over an exposure of its own."""

    least: float = 1.0  # exposures are clipped to [least, most]; both are positive
    most: float = 1.0

    def scaling(self, *, centred: bool) -> tuple[float, float]:
        """Return the public scale of the counts, which are not centred: they stay counts."""
        del centred
        return 0.0, self.high

    @property
    def usual(self) -> float:
        """The inner unit of exposures."""
        return 0.5 * (self.least + self.most)

    def exposed(
        self, labels: Floats, weights: Floats, exposure: Any, count: int
    ) -> tuple[Floats, Floats]:
        """Return counts as rates of the usual exposure, and weights that grow with exposures.

        Guarantee: both are functions of the record's own count, weight and exposure.
        Proof: docs/proofs/records.md.
        """
        share = np.clip(exposures_of(exposure, count), self.least, self.most) / self.usual
        with np.errstate(all="ignore"):  # a warning would tell of small exposures
            rates = np.minimum(labels / share, np.finfo(np.float64).max)
        return rates, weights * share


def label_column(y: Any) -> pd.Series:
    """Return labels in any container as a column; a list of one label is that label."""
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    if isinstance(y, str | bytes | dict | set) or not hasattr(y, "__len__"):
        if not hasattr(y, "__array__"):
            raise DataError(refusals.NOT_FLAT)
        y = np.asarray(y)
    shape: tuple[int, ...] = y.shape if hasattr(y, "shape") else (len(y),)
    if len(shape) == 2 and shape[1] == 1:
        y = np.asarray(y).reshape(-1)
    elif len(shape) != 1:
        raise DataError(refusals.NOT_FLAT)
    typed = isinstance(y, np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    if typed and y.dtype != object:
        return as_column(y)  # with its type, which says how far whole numbers are told apart
    return as_column([_alone(label) for label in y])


def numbers_in(cells: pd.Series) -> Floats:
    """Return labels as numbers, NaN for any other value."""
    return numbers(cells, NumberCells())


def _alone(label: Any) -> Any:
    one = type(label) in (list, tuple) and len(label) == 1
    one = one or (type(label) is np.ndarray and label.shape == (1,))
    return label[0] if one else label


def weights_of(sample_weight: Any, count: int) -> Floats:
    """Return the weight of every record, or raise DataError with a fixed text."""
    if sample_weight is None:
        return np.ones(count)
    if getattr(sample_weight, "ndim", 1) > 1:
        raise DataError(refusals.NOT_A_WEIGHT_EACH)
    weights = _number_each(sample_weight, count, refusals.NOT_A_WEIGHT_EACH)
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise DataError(refusals.NOT_WEIGHTS)
    return weights


def exposures_of(exposure: Any, count: int) -> Floats:
    """Return the exposure of every record, or raise DataError with a fixed text."""
    exposures = _number_each(exposure, count, refusals.NOT_AN_EXPOSURE_EACH)
    if not np.isfinite(exposures).all():
        raise DataError(refusals.NOT_EXPOSURES)
    return exposures


def exposures_in(target: Target, columns: Mapping[str, Floats]) -> tuple[Any, Any]:
    """Return the exposure of every record of a table, and whether it is known.

    One that is missing is the middle of its bounds, for predictions; without exposure 1, True.
    """
    if target.exposure is None or target.exposure_bounds is None:
        return 1.0, True
    own = columns[target.exposure]
    known = np.isfinite(own)
    return np.where(known, own, sum(target.exposure_bounds) / 2.0), known


def _number_each(values: Any, count: int, otherwise: str) -> Floats:
    """Return one number per record, from a scalar or a column; NaN for any other value."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values.item()
    if isinstance(values, int | float | np.number):
        values = np.full(count, float(values))
    column = label_column(values)
    if len(column) != count:
        raise DataError(otherwise)
    return numbers_in(column)


def trained_bounds(target: Target) -> tuple[float, float]:
    """Return declared bounds of a target on the scale of training: its own, or log1p of it."""
    low, high = cast("tuple[float, float]", target.bounds)
    return (math.log1p(low), math.log1p(high)) if target.transform else (low, high)


def trained_labels(target: Target, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels, or codes of classes, on the scale of training; what is no number stays so.

    Guarantee: what a record's label becomes is a function of that label and of the target.
    """
    if not target.transform:
        return values
    own = np.asarray(values, dtype=np.float64)
    low, high = cast("tuple[float, float]", target.bounds)
    # First the bounds: below -1 there is no logarithm, and a record is moved, not dropped.
    return np.where(np.isfinite(own), np.log1p(np.clip(own, low, high)), own)


def from_trained(target: Target, predictions: Floats, *, inside: bool) -> Floats:
    """Return predictions in the unit of the target; if `inside`, exactly within its bounds."""
    if not target.transform:
        return predictions
    with np.errstate(over="ignore"):  # of predictions that are not kept inside
        found: Floats = np.expm1(predictions)
    low, high = cast("tuple[float, float]", target.bounds)
    return np.clip(found, low, high) if inside else found
