"""Rows of bounded length, each scaled by its own numbers."""

import math
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpscd.errors import DataError, ParameterError
from dpscd.preprocessing.containers import RowSource

__all__ = ["RowScaler"]

_BLOCK = 2**14  # rows scaled together


class RowScaler(TransformerMixin, BaseEstimator):
    """Bound the length of rows: clip longer ones, or bring all to the same length.

    Parameters
    ----------
    bound : float, default=1.0
        The length.
    normalise : bool, default=False
        Whether shorter rows are lengthened too; rows of zeros stay.

    Examples
    --------
    >>> from dpscd import RowScaler
    >>> RowScaler().fit_transform([[0.0, 4.0], [0.3, 0.4]]).tolist()
    [[0.0, 1.0], [0.3, 0.4]]
    """

    def __init__(self, bound: float = 1.0, *, normalise: bool = False) -> None:
        self.bound = bound
        self.normalise = normalise

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and the number of columns; no value is read.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            There because scikit-learn passes it.

        Returns
        -------
        self
        """
        del y
        bound = self.bound
        if not isinstance(bound, int | float) or not 0.0 < bound < math.inf:
            raise ParameterError(f"bound={bound!r} must be a positive number.")
        source = RowSource(X)
        if hasattr(source.X, "columns"):
            self.feature_names_in_ = np.array([str(x) for x in source.X.columns], dtype=object)
        self.n_features_in_ = source.features
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows, no longer than the bound.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array or CSR matrix of float64
            As many rows, in double precision whatever X is in: equal numbers have equal rows.
        """
        check_is_fitted(self)
        source = RowSource(X)
        if source.features != self.n_features_in_:
            raise DataError(f"X must have {self.n_features_in_} columns, as in the fit.")
        names = [str(x) for x in getattr(source.X, "columns", ())]
        if names and names != list(getattr(self, "feature_names_in_", names)):
            raise DataError("X must have the columns of the fit, in their order.")
        rows = source.read(finite=False).astype(np.float64)
        if sparse.issparse(rows):
            owner = np.repeat(np.arange(source.count), np.diff(rows.indptr))
            unit, factor = self._factors(rows.data[:, None], owner, source.count)
            with np.errstate(all="ignore"):
                rows.data = rows.data / unit[owner] * factor[owner]
            return rows
        for first in range(0, source.count, _BLOCK):
            block = rows[first : first + _BLOCK]
            unit, factor = self._factors(block, np.arange(len(block)), len(block))
            with np.errstate(all="ignore"):
                block /= unit[:, None]
                block *= factor[:, None]
        return rows

    def _factors(self, entries: Any, owner: Any, count: int) -> tuple[Any, Any]:
        """Return what each of `count` rows is divided and then multiplied by.

        Entries are added in order, column by column, so that a row's sum does not depend on
        other rows: a sum over an axis may be taken in another order for another shape.
        """
        with np.errstate(all="ignore"):  # rows that hold no number stay without one
            largest = np.zeros(count)
            for column in entries.T:
                np.maximum.at(largest, owner, np.abs(column))
            unit = np.where(largest > 0.0, largest, 1.0)
            squares = np.zeros(count)
            for column in entries.T:
                np.add.at(squares, owner, (column / unit[owner]) ** 2)
            relative = np.sqrt(squares)
            long = (unit * relative > self.bound) | (self.normalise & (largest > 0.0))
            return np.where(long, unit, 1.0), np.where(long, self.bound / relative, 1.0)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features, which stay as they are.

        Parameters
        ----------
        input_features : sequence of str, optional
            Their names, when the fit had none.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        if input_features is None:
            own = [f"x{place}" for place in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", own)
        return np.array([str(name) for name in input_features], dtype=object)
