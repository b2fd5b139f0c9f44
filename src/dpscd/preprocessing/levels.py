"""Which features of a schema are levels of categories."""

import numpy as np

from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.encoding import unit_of, width_of
from dpscd.preprocessing.schema import Schema
from dpscd.standard import Levels

__all__ = ["levels_of"]


def levels_of(schema: Schema) -> Levels | None:
    """Return which features are levels of categories, signs of missing values among them.

    Two levels of a pair of categories are a level too.

    None where rows are normalised: then their value depends on the rest of the record.
    """
    if schema.rows != "scale":
        return None
    unit = unit_of(schema)
    found = []
    for part in schema.parts:
        own = np.full(width_of(part), unit if _listed(part) else 0.0)
        if isinstance(part, Column) and part.missing == "column":
            own[-1] = unit
        found.append(own)
    columns = np.repeat(np.arange(len(found)), [len(own) for own in found])
    return Levels(np.concatenate(found), columns)


def _listed(part: Column | Cross) -> bool:
    """Return whether a record has one feature of a part, or none, always of the same size."""
    columns = (part,) if isinstance(part, Column) else (part.first, part.second)
    return all(column.kind == "category" for column in columns)
