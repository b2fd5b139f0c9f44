"""What a benchmark trains on: a prepared data set in three parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import train_test_split

from dpscd.errors import DataError

__all__ = ["SPLIT_SEED", "Dataset", "Rows", "Task", "scale_columns", "split_rows", "unit_rows"]

Rows = Any  # a C-contiguous float array, or a CSR matrix
Task = Literal["classification", "regression"]

#: Every random split of the bench is made with this seed, the one of the paper's authors.
SPLIT_SEED = 1


@dataclass(frozen=True)
class Dataset:
    """A prepared data set: training, validation and test part, and what is public of it."""

    name: str  # name under which it is loaded and stored in result rows
    task: Task  # kind of label
    X: Rows = field(repr=False)  # records, one a row, no longer than 1
    y: npt.NDArray[Any] = field(repr=False)  # labels
    X_validation: Rows = field(repr=False)
    y_validation: npt.NDArray[Any] = field(repr=False)
    X_test: Rows = field(repr=False)
    y_test: npt.NDArray[Any] = field(repr=False)
    classes: tuple[Any, ...] | None = None  # the public classes, for classification
    # The public range of the labels, for regression.
    y_bounds: tuple[float, float] | None = None
    fit_intercept: bool = True  # whether a model of these data should have an intercept
    # How it was prepared, and what was read from the data and hence is not private.
    notes: tuple[str, ...] = field(default=(), repr=False)
    # SHA-256 of each file that was read.
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Test metrics of the model that made the labels, for generated data.
    best: Mapping[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for X, y in (
            (self.X, self.y),
            (self.X_validation, self.y_validation),
            (self.X_test, self.y_test),
        ):
            if X.shape != (len(y), self.X.shape[1]):
                raise DataError(f"The parts of the data set {self.name!r} do not fit together.")
        declared = self.classes if self.task == "classification" else self.y_bounds
        if declared is None:
            raise DataError(
                f"The data set {self.name!r} must declare classes for classification or "
                "y_bounds for regression."
            )

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What to pass to an estimator of ours: the intercept, and classes or bounds."""
        if self.task == "classification":
            return {"fit_intercept": self.fit_intercept, "classes": self.classes}
        return {"fit_intercept": self.fit_intercept, "y_bounds": self.y_bounds}


def split_rows(
    n: int, *, validation: float, test: float | int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Draw which rows are for training, validation and test."""
    rest, test_rows = train_test_split(np.arange(n), test_size=test, random_state=SPLIT_SEED)
    train, validation_rows = train_test_split(
        rest, test_size=validation, random_state=SPLIT_SEED
    )
    return train, validation_rows, test_rows


def scale_columns(X: npt.NDArray[Any], train: npt.NDArray[Any]) -> None:
    """Divide columns, in place, by their largest value in the training part: not private."""
    largest = np.abs(X[train]).max(axis=0)
    X /= np.where(largest > 0.0, largest, 1.0)


def unit_rows(X: Rows) -> Rows:
    """Return rows scaled to length 1; a row of zeros stays. Each record on its own."""
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        factor = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
        return sparse.csr_matrix(sparse.diags(factor) @ X)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0.0, norms, 1.0)
