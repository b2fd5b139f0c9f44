"""Whether something is on Dask, asked without importing it."""

import sys
from typing import Any

__all__ = ["is_dask"]


def is_dask(*values: Any) -> bool:
    """Return whether one of `values` is a Dask collection."""
    dask = sys.modules.get("dask")
    return dask is not None and any(map(dask.is_dask_collection, values))
