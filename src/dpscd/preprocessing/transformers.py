"""scikit-learn transformers of rows and of whole tables: fitting them reads no value."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpscd.errors import DataError, ParameterError, SchemaError
from dpscd.preprocessing.schema import schema_of, shaped_if_known
from dpscd.records.encoding import check_columns, encode, feature_names, is_sparse, parse
from dpscd.records.rows import open_rows, table_of

_NO_TARGET = {"column": "\0", "classes": ["0", "1"]}  # no column is called so


class RowScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
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
        """Check the parameters and the columns; no value is read.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        """
        del y
        bound = self.bound
        if not isinstance(bound, int | float) or not 0.0 < bound < math.inf:
            raise ParameterError(f"bound={bound!r} must be a positive number.")
        source = open_rows(X)
        if hasattr(source.X, "columns"):
            self.feature_names_in_ = np.array([str(x) for x in source.X.columns], dtype=object)
        self.n_features_in_ = source.features
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows, no longer than the bound.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array or CSR matrix of float64
            In double precision whatever X is in: equal numbers have equal rows.
        """
        check_is_fitted(self)
        source = open_rows(X)
        if source.features != self.n_features_in_:
            raise DataError(f"X must have {self.n_features_in_} columns, as in the fit.")
        names = [str(x) for x in getattr(source.X, "columns", ())]
        if names and names != list(getattr(self, "feature_names_in_", names)):
            raise DataError("X must have the columns of the fit, in their order.")
        rows = source.read(finite=False).astype(np.float64)
        length = np.zeros(source.count)
        with np.errstate(all="ignore"):  # rows that hold no number stay without one
            # Entry by entry, so that a length does not depend on other rows: a sum over an axis
            # may be taken in another order for another shape.
            if sparse.issparse(rows):
                owner = np.repeat(np.arange(source.count), np.diff(rows.indptr))
                np.hypot.at(length, owner, rows.data)
                rows.data = self._bounded(rows.data, length[owner])
                return rows
            for column in rows.T:
                length = np.hypot(length, column)
            return self._bounded(rows, length[:, None])

    def _bounded(
        self, entries: npt.NDArray[np.float64], length: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return entries of rows that have these lengths as they are in bounded rows."""
        changed = (length > self.bound) | (self.normalise & (length > 0.0))
        # Divided first: their product with the bound may leave the range of doubles.
        return np.where(changed, entries / np.where(changed, length, 1.0) * self.bound, entries)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table into rows of length at most 1, by a schema.

    Parameters
    ----------
    schema : Schema, dict or path
        Its target is left out of the features, and a dict needs none. Private bounds are not
        possible here: :class:`dpscd.TableModel` has the budget for them.
    sparse_output : bool or 'auto', default='auto'
        Whether to return CSR; 'auto' does when that is at least eight times smaller than
        float32, below which dense training is faster.
    epsilon, n : float and int, optional
        Of the fit that is to come, from which the shape of numbers follows as in
        :class:`dpscd.TableModel`; n is the public number of records. Without them a number
        whose shape is not declared is a line.

    Attributes
    ----------
    schema_ : Schema
        The schema that is used, with the shape of every number.
    n_features_in_, feature_names_in_ : int and array of str
        Number of columns of the table, and their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpscd import TableEncoder
    >>> table = pd.DataFrame({"age": [30, 200], "sex": ["f", "x"]})
    >>> schema = {
    ...     "columns": {
    ...         "age": {"kind": "number", "bounds": [0, 120]},
    ...         "sex": {"kind": "category", "values": ["f", "m"]},
    ...     },
    ... }
    >>> encoder = TableEncoder(schema).set_output(transform="pandas")
    >>> encoder.fit_transform(table).round(2)
        age  sex=f  sex=m  sex=(other)
    0 -0.35   0.71    0.0         0.00
    1  0.71   0.00    0.0         0.71
    """

    def __init__(
        self,
        schema: Any,
        *,
        sparse_output: bool | str = "auto",
        epsilon: float | None = None,
        n: int | None = None,
    ) -> None:
        self.schema = schema
        self.sparse_output = sparse_output
        self.epsilon = epsilon
        self.n = n

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and the columns; no value is read.

        Parameters
        ----------
        X : DataFrame
        y : ignored
        """
        del y
        names = [str(name) for name in table_of(X).columns]
        given = self.schema
        if isinstance(given, dict):
            given = {"target": _NO_TARGET, **given}
        schema = schema_of(given)
        schema = schema.resolved(names) if schema.patterns else schema
        schema = shaped_if_known(schema, self.epsilon, self.n)
        if self.sparse_output not in (True, False, "auto"):
            raise ParameterError(
                f"sparse_output={self.sparse_output!r} must be True, False or 'auto'."
            )
        if any(column.private_bounds for column in schema.features):
            raise SchemaError(
                "private bounds need a budget: use TableModel, or declare all bounds."
            )
        check_columns(schema, names, target=False)
        self.schema_ = schema
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def get_feature_names_out(
        self,
        input_features: Any = None,  # noqa: ARG002 - scikit-learn's interface
    ) -> npt.NDArray[Any]:
        """Return the names of the features, which the schema knows."""
        check_is_fitted(self)
        return np.array(feature_names(self.schema_), dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the features of every record.

        Parameters
        ----------
        X : DataFrame
            Values outside the schema are moved to the nearest bound or to "other", silently.

        Returns
        -------
        array or CSR matrix of float32
        """
        check_is_fitted(self)
        auto = self.sparse_output == "auto"
        as_sparse = is_sparse(self.schema_) if auto else bool(self.sparse_output)
        parsed = parse(self.schema_, table_of(X), target=False)
        return encode(self.schema_, parsed, as_sparse=as_sparse)
