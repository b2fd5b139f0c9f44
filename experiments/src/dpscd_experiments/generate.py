"""Data of any size whose best model is known."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import ParameterError
from dpscd.metrics import regression_metrics
from dpscd_experiments.dataset import Dataset, Rows, Task
from dpscd_experiments.metrics import probability_metrics

__all__ = ["generate"]

_BLOCK = 1 << 16  # rows made at once: what fits a cache is faster
_LABEL_DEVIATIONS = 4.0  # y_bounds of regression, in standard deviations of the labels


def generate(
    n: int,
    d: int,
    *,
    task: Task = "classification",
    density: float = 1.0,
    layout: Literal["dense", "csr"] | None = None,
    dtype: npt.DTypeLike = np.float64,
    decay: float = 0.5,
    signal: float = 3.0,
    r2: float = 0.7,
    held_out: float = 0.25,
    seed: int = 0,
) -> Dataset:
    """Make a data set whose labels come from a linear model.

    Parameters
    ----------
    n, d : int
        Rows of the training part, and columns.
    task : {'classification', 'regression'}
        Labels -1 and 1 drawn with probability ``1 / (1 + exp(-x.w))``, or ``x.w`` with
        normal noise and standard deviation 1.
    density : float, default=1.0
        Expected part of entries that are not zero; a row has at least one.
    layout : {'dense', 'csr'}, optional
        How to store rows; default: CSR when `density` is below 1.
    dtype : dtype, default=float64
        float32 or float64.
    decay : float, default=0.5
        Column j has standard deviation ``(j + 1) ** -decay`` before rows are scaled to
        length 1: real data have some large directions and many small ones.
    signal : float, default=3.0
        Standard deviation of ``x.w`` for classification: 3 makes the best accuracy about
        0.85, 10 about 0.95.
    r2 : float, default=0.7
        Part of the labels' variance that the best model explains, for regression.
    held_out : float, default=0.25
        Rows of the validation and of the test part, each as a part of `n`.
    seed : int, default=0
        Seed; the same arguments make the same data.

    Returns
    -------
    Dataset
        Rows within the unit ball. ``best`` has the test metrics of the model that made
        the labels, which no other model beats but by chance.
    """
    _check(n, d, density, r2)
    rng = np.random.default_rng(seed)
    extra = max(1, round(n * held_out))
    total = n + 2 * extra
    if layout is None:
        layout = "csr" if density < 1.0 else "dense"
    deviation = (np.arange(1, d + 1, dtype=np.float64) ** -decay).astype(dtype)
    X = (
        _dense(rng, total, deviation)
        if density >= 1.0
        else _csr(rng, total, deviation, density)
    )
    if layout == "csr" and not sparse.issparse(X):
        X = sparse.csr_matrix(X)
    elif layout == "dense" and sparse.issparse(X):
        X = X.toarray()
    score = np.asarray(X @ rng.standard_normal(d).astype(X.dtype), dtype=np.float64)
    score *= (signal if task == "classification" else np.sqrt(r2)) / score.std()
    parts = slice(n), slice(n, n + extra), slice(n + extra, total)
    classes, y_bounds = None, None
    if task == "classification":
        chance = 1.0 / (1.0 + np.exp(-score))
        y = np.where(rng.random(total) < chance, 1, -1)
        best = probability_metrics(y[parts[2]] > 0, chance[parts[2]])
        classes = (-1, 1)
    else:
        y_bounds = (-_LABEL_DEVIATIONS, _LABEL_DEVIATIONS)
        y = np.clip(score + np.sqrt(1.0 - r2) * rng.standard_normal(total), *y_bounds)
        best = regression_metrics(y[parts[2]], score[parts[2]])
    return Dataset(
        f"generated-{task}-{n}x{d}",
        task,
        X[parts[0]], y[parts[0]], X[parts[1]], y[parts[1]], X[parts[2]], y[parts[2]],
        classes=classes,
        y_bounds=y_bounds,
        fit_intercept=False,
        notes=(f"generated: density={density:g}, decay={decay:g}, seed={seed}",),
        best={name: value for name, value in best.items() if isinstance(value, float)},
    )  # fmt: skip


def _check(n: int, d: int, density: float, r2: float) -> None:
    if n < 1 or d < 1:
        raise ParameterError(f"n={n!r} and d={d!r} must be at least 1.")
    if not 0.0 < density <= 1.0:
        raise ParameterError(f"density={density!r} must be above 0 and at most 1.")
    if not 0.0 < r2 < 1.0:
        raise ParameterError(f"r2={r2!r} must be between 0 and 1.")


def _dense(rng: np.random.Generator, total: int, deviation: npt.NDArray[Any]) -> Rows:
    X = np.empty((total, len(deviation)), dtype=deviation.dtype)
    for start in range(0, total, _BLOCK):
        block = X[start : start + _BLOCK]
        rng.standard_normal(dtype=deviation.dtype, out=block)
        block *= deviation
        block /= _length(np.einsum("ij,ij->i", block, block, dtype=np.float64), X.dtype)[
            :, None
        ]
    return X


def _csr(
    rng: np.random.Generator, total: int, deviation: npt.NDArray[Any], density: float
) -> Rows:
    d = len(deviation)
    counts = np.maximum(rng.binomial(d, density, size=total), 1)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns = rng.integers(d, size=indptr[-1], dtype=np.int32)
    values = rng.standard_normal(indptr[-1], dtype=deviation.dtype) * deviation[columns]
    X = sparse.csr_matrix((values, columns, indptr), shape=(total, d))
    # A column drawn twice in a row is one entry: slightly fewer than `density` in all.
    X.sum_duplicates()
    filled = np.diff(X.indptr)
    squares = np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[:-1])
    X.data /= np.repeat(_length(squares, X.dtype), filled)
    return X


def _length(squares: npt.NDArray[np.float64], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return lengths, rounded up so that divided rows stay within the unit ball."""
    lengths: npt.NDArray[Any] = (np.sqrt(squares) * (1.0 + 2.0**-20)).astype(dtype)
    return np.where(lengths > 0.0, lengths, 1.0).astype(dtype)
