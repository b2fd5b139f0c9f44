"""Products of rows with coefficients, each from its row alone."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["products"]

Floats = npt.NDArray[np.float64]

_BLOCK = 2**14  # rows that are multiplied together


def products(X: Any, coef: Floats) -> Floats:
    """Return ``X coef^T``, each number from its row alone, to the last bit.

    Not by BLAS, whose last bits for a row depend on how many rows there are.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    coef : array of shape (outputs, d)
        Coefficients.
    """
    if hasattr(X, "indptr"):
        sums: Floats = np.asarray(X @ coef.T)
        return sums
    scores = np.empty((X.shape[0], len(coef)))
    for first in range(0, X.shape[0], _BLOCK):
        block = np.ascontiguousarray(X[first : first + _BLOCK], dtype=np.float64)
        np.einsum("ij,kj->ik", block, coef, out=scores[first : first + _BLOCK], optimize=False)
    return scores
