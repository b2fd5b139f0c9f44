"""scikit-learn transformers of declared columns, for pipelines: fitting them reads no value."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.columns import as_column
from dpscd.preprocessing.containers import RowSource, as_frame
from dpscd.preprocessing.encoding import encode, feature_names
from dpscd.preprocessing.parsing import parse
from dpscd.preprocessing.schema import Schema, shaped_if_known
from dpscd.preprocessing.transformers import Transformer

_ROWS = (list, tuple, np.ndarray)  # what a record of a list may be


class _Declared(Transformer):
    """Columns in any array or table, each treated as one declared column of a schema."""

    pairs: Any

    @abstractmethod
    def _columns(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return what a schema would declare about each column."""

    def _announce(self, X: Any) -> None:
        frame = _frame(X)
        names = [str(name) for name in frame.columns]
        self._schema_of(names)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)

    def _names_out(self, names: Sequence[str]) -> Sequence[str]:
        return feature_names(self._schema_of(names))

    def transform(self, X: Any) -> Any:
        """Return the features of every record; what is not declared is silently moved.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The columns of the fit.

        Returns
        -------
        array of float32
            One row per record.
        """
        check_is_fitted(self)
        frame = _frame(X)
        if frame.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {frame.shape[1]} columns, but {self.n_features_in_} were declared."
            )
        names = self._names()
        schema = self._schema_of(names)
        parsed = parse(schema, frame.set_axis(names, axis=1), target=False)
        # Bounding the length of rows is RowScaler's part.
        return encode(schema, parsed, as_sparse=False, short=False)

    def _schema_of(self, names: Sequence[str]) -> Schema:
        if not names or len(set(names)) != len(names):
            raise DataError("X must have at least one column, and no two of one name.")
        columns = dict(zip(names, self._columns(names), strict=True))
        # A schema needs a target; here there is none, and no column is called so.
        target = {"column": "\0", "classes": ["0", "1"]}
        table = {} if self.pairs is None else {"pairs": _named(self.pairs, names)}
        schema = Schema.from_dict({"table": table, "target": target, "columns": columns})
        told = getattr(self, "epsilon", None), getattr(self, "n", None)
        return shaped_if_known(schema, *told)


class DeclaredScaler(_Declared):
    """Scale numbers to [-1, 1] by bounds that are known without looking at the records.

    Parameters
    ----------
    bounds : tuple of two numbers, or a list of such, one per column
        Lowest and highest value; others are moved to the nearest.
    log1p : bool, default=False
        Whether to take log(1 + value), of the bounds too, before scaling.
    bins : int, optional
        So many intervals of equal width instead, a feature of 0 and 1 each; with a shape, how
        many it has, 16 if not given.
    missing : {'middle', 'column'} or float, default='middle'
        What stands in for NaN: the middle of the bounds, a feature of its own, a number.
    shape : {'auto', 'line', 'steps', 'smooth'}, optional
        What the effect of a column may look like. 'steps' adds a feature per interval,
        'smooth' one per knot, so that the effect is piecewise linear. 'auto' is smooth, as fine
        as `epsilon` and `n` allow. If not given, a line, or 'auto' where those two are.
    knots : list of numbers, optional
        Where intervals of a shape end, inside the bounds, in place of `bins`.
    epsilon, n : float and int, optional
        Of the fit that is to come, for shape 'auto' and for pairs; n is the public number of
        records.
    pairs : list of pairs, optional
        Columns, by name or by number, that get features of their own together: products of what
        each has. In place of two columns, ``{"columns": [0, 1], "bins": 4}`` also says how many
        intervals their shapes have within the pair. What shapes must do (monotone) is a model's
        part: :class:`dpscd.TableModel` has it.

    Examples
    --------
    >>> from dpscd import DeclaredScaler
    >>> DeclaredScaler(bounds=(0, 120)).fit_transform([[30], [60], [500]]).ravel().tolist()
    [-0.5, 0.0, 1.0]
    """

    def __init__(
        self,
        bounds: Any,
        *,
        log1p: bool = False,
        bins: int | None = None,
        missing: str | float = "middle",
        shape: str | None = None,
        knots: Any = None,
        epsilon: float | None = None,
        n: int | None = None,
        pairs: Any = None,
    ) -> None:
        self.bounds = bounds
        self.log1p = log1p
        self.bins = bins
        self.missing = missing
        self.shape = shape
        self.knots = knots
        self.epsilon = epsilon
        self.n = n
        self.pairs = pairs

    def _columns(self, names: Sequence[str]) -> list[dict[str, Any]]:
        own = {"kind": "number", "missing": self.missing}
        own |= {"transform": "log1p"} if self.log1p else {}
        for name in ("bins", "shape", "knots"):
            if getattr(self, name) is not None:
                own[name] = getattr(self, name)
        each = _one_a_column("bounds", self.bounds, names)
        return [{**own, "bounds": list(pair)} for pair in each]


class DeclaredEncoder(_Declared):
    """One feature for each declared value of a category, and one for all others.

    Parameters
    ----------
    categories : list of values, or a list of such lists, one per column
        The values that have a feature of their own.
    missing : {'other', 'column'} or one of the values, optional
        Where None and NaN go: with the others, to a feature of their own, or to a value.
        'other' if not given; none of the features if `complete`.
    complete : bool, default=False
        Whether there are no values but those listed: no feature for others, and a cell with
        another value counts as missing.
    pairs : list of pairs, optional
        Columns, by name or by number, whose values get features of their own together.

    Examples
    --------
    >>> from dpscd import DeclaredEncoder
    >>> DeclaredEncoder(["f", "m"]).fit_transform([["m"], ["x"]]).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(
        self,
        categories: Any,
        *,
        missing: str | None = None,
        complete: bool = False,
        pairs: Any = None,
    ) -> None:
        self.categories = categories
        self.missing = missing
        self.complete = complete
        self.pairs = pairs

    def _columns(self, names: Sequence[str]) -> list[dict[str, Any]]:
        own = {"kind": "category", "complete": self.complete}
        own |= {} if self.missing is None else {"missing": self.missing}
        each = _one_a_column("categories", self.categories, names)
        return [{**own, "values": part} for part in each]


def _frame(X: Any) -> pd.DataFrame:
    """Return columns in whatever they are given, each cell as it is."""
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        return X
    if sparse.issparse(X):
        raise DataTypeError("X must be a DataFrame or an array with two dimensions.")
    source = RowSource(X)
    if isinstance(source.X, np.ndarray):
        return pd.DataFrame({k: as_column(column) for k, column in enumerate(source.X.T)})
    # Not by pandas, which would give the cells of a column one type.
    records = [list(record) if isinstance(record, _ROWS) else [] for record in source.X]
    if any(len(record) != source.features for record in records):
        raise DataError(refusals.RAGGED)
    columns = zip(*records, strict=True)
    return pd.DataFrame({k: as_column(list(column)) for k, column in enumerate(columns)})


def _one_a_column(name: str, given: Any, names: Sequence[str]) -> list[Any]:
    """Return a list for each column: its own, or the one that is for all."""
    several = isinstance(given, list | tuple) and any(
        isinstance(part, list | tuple) for part in given
    )
    each = given if several else [given] * len(names)
    if len(each) != len(names):
        raise ParameterError(
            f"{name} has {len(each)} entries, but X has {len(names)} columns; give one for "
            "all, or one per column."
        )
    if not all(isinstance(part, list | tuple) for part in each):
        raise ParameterError(f"{name}={each!r} must be a list, or a list of lists.")
    return list(each)


def _named(pairs: Any, names: Sequence[str]) -> Any:
    """Return pairs with names for the numbers of columns; what is no pair stays as it is."""
    if isinstance(pairs, dict):
        own = pairs.get("columns")
        return {**pairs, "columns": _named(own, names)}
    if isinstance(pairs, list | tuple):
        return [_named(part, names) for part in pairs]
    number = isinstance(pairs, Integral) and not isinstance(pairs, bool)
    return names[int(pairs)] if number and 0 <= pairs < len(names) else pairs
