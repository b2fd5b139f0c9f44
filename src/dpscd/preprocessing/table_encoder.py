"""A scikit-learn transformer of whole tables, by a schema: fitting it reads no value."""

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpscd.errors import DataTypeError, ParameterError, SchemaError
from dpscd.preprocessing.containers import as_frame
from dpscd.preprocessing.encoding import encode, feature_names, is_sparse
from dpscd.preprocessing.parsing import check_columns, parse
from dpscd.preprocessing.resolution import shaped_if_known
from dpscd.preprocessing.schema import schema_of

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table into rows of length at most 1, by a schema.

    Parameters
    ----------
    schema : Schema, dict or path
        What is declared about the columns; its target is left out of the features. Private
        bounds are not possible here: :class:`dpscd.TableModel` has the budget for them.
    sparse_output : bool or 'auto', default='auto'
        Whether to return CSR; 'auto' does when that is at least eight times smaller than
        float32, below which dense training is faster.
    epsilon, n : float and int, optional
        Of the fit that is to come, if numbers whose shape is not declared are to get the one
        that :class:`dpscd.TableModel` would choose; n is the public number of records. Without
        them such a number is a line.

    Attributes
    ----------
    schema_ : Schema
        The schema that is used, with the shape of every number.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : array of str
        Their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpscd import TableEncoder
    >>> table = pd.DataFrame({"age": [30, 200], "sex": ["f", "x"]})
    >>> schema = {
    ...     "target": {"column": "ill", "classes": ["no", "yes"]},
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
        """Check that the columns are there; no value is read.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : ignored
            There because scikit-learn passes it.

        Returns
        -------
        self
        """
        del y
        schema = shaped_if_known(schema_of(self.schema), self.epsilon, self.n)
        if self.sparse_output not in (True, False, "auto"):
            raise ParameterError(
                f"sparse_output={self.sparse_output!r} must be True, False or 'auto'."
            )
        if any(column.private_bounds for column in schema.features):
            raise SchemaError(
                "private bounds need a budget: use TableModel, or declare all bounds."
            )
        names = [str(name) for name in _table(X).columns]
        check_columns(schema, names, target=False)
        self.schema_ = schema
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of every record.

        Parameters
        ----------
        X : DataFrame
            The table. Values outside the schema are moved to the nearest bound or to
            "other", silently.

        Returns
        -------
        array or CSR matrix of float32
            One row per record.
        """
        check_is_fitted(self)
        auto = self.sparse_output == "auto"
        as_sparse = is_sparse(self.schema_) if auto else bool(self.sparse_output)
        parsed = parse(self.schema_, _table(X), target=False)
        return encode(self.schema_, parsed, as_sparse=as_sparse)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features.

        Parameters
        ----------
        input_features : ignored
            The schema has the names.

        Returns
        -------
        array of str
        """
        del input_features
        check_is_fitted(self)
        return np.array(feature_names(self.schema_), dtype=object)


def _table(X: Any) -> pd.DataFrame:
    X = as_frame(X)
    if not isinstance(X, pd.DataFrame):
        raise DataTypeError("a schema goes with a table: give a pandas DataFrame.")
    return X
