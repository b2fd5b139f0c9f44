"""How fine the shape of a number may be, by epsilon, n and the number of columns alone."""

import dataclasses
import math
from numbers import Integral, Real
from typing import Any

from dpscd.errors import ParameterError
from dpscd.preprocessing.declarations import Cross
from dpscd.preprocessing.knots import MOST_IN_PAIRS, MOST_INTERVALS
from dpscd.preprocessing.pair_features import grows, side_width, sides_of
from dpscd.preprocessing.schema import Schema

__all__ = [
    "intervals_for",
    "lined",
    "pair_intervals",
    "shaped",
    "shaped_if_known",
]

_FEWEST = 3
_PART = 0.5  # of what theory says, in pairs


def intervals_for(epsilon: float, n: int, columns: int) -> int:
    """Return how many intervals a smooth shape gets; 0 if a line is all that can be learnt.

    `n` is the public number of records, `columns` counts pairs too. With m intervals per
    column, columns being k, the square of what noise adds to a prediction grows as (k m /
    (epsilon n))^2, and that of what a piecewise linear curve leaves of a smooth one falls as k
    / m^4, so the best m grows as (epsilon n / sqrt(k))^(1/3), and is taken as that. Above it,
    lines pay for noise.
    """
    if math.isinf(epsilon * n):
        return MOST_INTERVALS
    wished = (epsilon * n / math.sqrt(columns)) ** (1.0 / 3.0)
    return 0 if wished < _FEWEST - 0.5 else min(round(wished), MOST_INTERVALS)


def pair_intervals(epsilon: float, n: int, parts: int, pair: Cross) -> int | None:
    """Return how many intervals the numbers and ordinals of a pair get.

    At least 1, two lines crossed: a declared pair is never left out. None if nothing in the
    pair depends on it. `parts` counts columns and pairs; the shapes of the pair's numbers are
    decided.

    The argument is that of :func:`intervals_for` with two sides. Products of hats leave as much
    of a smooth surface as hats do of a curve, m^-4 squared for m intervals, and each of k parts
    has m^2 features, or w m if the other side has w whatever m is. Noise adds (k m^2 / (epsilon
    n))^2 or (k w m / (epsilon n))^2 to a squared prediction; the sum with k / m^4 is least
    where m grows as (epsilon n / sqrt(k))^(1/4) or (epsilon n / (w sqrt(k)))^(1/3). Taken is
    half of that, which generated tables with waves and corners chose.
    """
    growing = [grows(column) for column in (pair.first, pair.second)]
    if not any(growing):
        return None
    if math.isinf(epsilon * n):
        return MOST_IN_PAIRS
    signal = epsilon * n / math.sqrt(parts)
    if all(growing):
        wished = math.sqrt(math.sqrt(signal))
    else:
        fixed = sides_of(pair)[growing.index(False)]
        wished = math.cbrt(signal / side_width(fixed))
    return min(max(round(_PART * wished), 1), MOST_IN_PAIRS)


def shaped(schema: Schema, epsilon: float, n: int) -> Schema:
    """Return a schema that says the shape of every number, alone and in pairs.

    Notes
    -----
    Guarantee: no record is looked at; of the records only the public n is used.
    """
    parts = len(schema.parts)
    count = intervals_for(epsilon, n, parts)
    found = {"shape": "smooth", "bins": count} if count else {"shape": "line", "bins": None}
    columns = tuple(
        dataclasses.replace(column, **found) if column.undecided else column
        for column in schema.columns
    )
    schema = dataclasses.replace(schema, columns=columns)
    crossed = [part for part in schema.parts if isinstance(part, Cross)]
    pairs = tuple(
        dataclasses.replace(pair, bins=pair_intervals(epsilon, n, parts, cross))
        if pair.bins is None
        else pair
        for pair, cross in zip(schema.pairs, crossed, strict=True)
    )
    return dataclasses.replace(schema, pairs=pairs)


def lined(schema: Schema) -> Schema:
    """Return a schema whose numbers are lines, for inference, or raise ParameterError.

    Shapes that follow from epsilon and n become lines; declared ones are refused, and so are
    pairs and rows that are divided by their length.
    """
    if schema.pairs or schema.rows != "scale":
        raise ParameterError(
            "inference is for columns by themselves: not for pairs, nor for rows = 'normalise'."
        )
    for column in schema.features:
        shape = "monotone" if column.monotone else column.shape or (column.bins and "bins")
        if shape not in (None, "auto", "line"):
            raise ParameterError(
                f"inference is not for the shape of column {column.name!r} ({shape}): a shape "
                "has no single effect. Declare shape = 'line', or leave it out."
            )
    columns = tuple(
        dataclasses.replace(column, shape="line") if column.undecided else column
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
