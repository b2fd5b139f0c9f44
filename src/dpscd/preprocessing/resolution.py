"""How fine the shape of a number may be, by epsilon, n and the number of columns alone."""

import dataclasses
import math
from numbers import Integral, Real
from typing import Any

from dpscd.errors import ParameterError
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.schema import Schema

__all__ = ["intervals_for", "shaped", "shaped_if_known", "undecided"]

_FEWEST, _MOST = 3, 32


def intervals_for(epsilon: float, n: int, columns: int) -> int:
    """Return how many intervals a smooth shape gets; 0 if a line is all that can be learnt.

    Parameters
    ----------
    epsilon : float
        Of the fit.
    n : int
        The public number of records: declared where the true one is secret.
    columns : int
        Number of columns that become features.

    Notes
    -----
    With m intervals per column, columns being k, the square of what noise adds to a prediction
    grows as (k m / (epsilon n))^2, and that of what a piecewise linear curve leaves of a smooth
    one falls as k / m^4, so the best m grows as (epsilon n / sqrt(k))^(1/3), and is taken as
    that. On generated tables (``python benchmarks/resolution.py``) half of it to all of it is
    about as good for waves, jumps and sharp edges; above that, lines pay for noise.
    """
    if math.isinf(epsilon):
        return _MOST
    wished = (epsilon * n / math.sqrt(columns)) ** (1.0 / 3.0)
    return 0 if wished < _FEWEST - 0.5 else min(round(wished), _MOST)


def undecided(column: Column) -> bool:
    """Return whether the shape of a column follows from epsilon and n."""
    plain = column.shape is None and column.bins is None
    return column.kind == "number" and (plain or column.shape == "auto")


def shaped(schema: Schema, epsilon: float, n: int) -> Schema:
    """Return a schema that says the shape of every number.

    Parameters
    ----------
    schema : Schema
        As declared.
    epsilon, n
        See :func:`intervals_for`.

    Notes
    -----
    Guarantee: no record is looked at; of the records only the public n is used.
    """
    count = intervals_for(epsilon, n, len(schema.features))
    found = {"shape": "smooth", "bins": count} if count else {"shape": "line", "bins": None}
    columns = tuple(
        dataclasses.replace(column, **found) if undecided(column) else column
        for column in schema.columns
    )
    return dataclasses.replace(schema, columns=columns)


def shaped_if_known(schema: Schema, epsilon: Any, n: Any) -> Schema:
    """Return a schema for transformers, which know epsilon and n only if they are told.

    Without both, a number whose shape is not declared is a line.
    """
    if epsilon is None and n is None:
        for column in schema.features:
            if column.shape == "auto":
                raise ParameterError(
                    f"shape='auto' of column {column.name!r} follows from epsilon and n: give "
                    "epsilon= and n=, those of the fit."
                )
        return schema
    if not isinstance(epsilon, Real) or isinstance(epsilon, bool) or not float(epsilon) > 0.0:
        raise ParameterError(f"epsilon={epsilon!r} must be a number greater than 0, beside n=.")
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ParameterError(f"n={n!r} must be an integer of at least 1, beside epsilon=.")
    return shaped(schema, float(epsilon), int(n))
