"""Which features of a schema are levels of categories."""

import math

import numpy as np

from dpscd.preprocessing.encoding import width_of
from dpscd.preprocessing.schema import Schema
from dpscd.standard import Levels

__all__ = ["levels_of"]


def levels_of(schema: Schema) -> Levels | None:
    """Return which features are levels of categories, signs of missing values among them.

    None where rows are normalised: then their value depends on the rest of the record.
    """
    if schema.rows != "scale":
        return None
    unit = 1.0 / math.sqrt(len(schema.features))
    found = []
    for column in schema.features:
        own = np.full(width_of(column), unit if column.kind == "category" else 0.0)
        if column.missing == "column":
            own[-1] = unit
        found.append(own)
    columns = np.repeat(np.arange(len(found)), [len(own) for own in found])
    return Levels(np.concatenate(found), columns)
