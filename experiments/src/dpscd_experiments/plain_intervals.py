"""Least squares and logistic regression without privacy, with their standard errors."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

__all__ = ["Plain", "plain_least_squares", "plain_logistic"]

Floats = npt.NDArray[np.float64]

_STEPS, _CLOSE = 50, 1e-10


class Plain(NamedTuple):
    """Coefficients with their standard errors; the intercept, if there is one, comes last."""

    estimate: Floats
    std_error: Floats


def plain_least_squares(
    X: Floats,
    y: Floats,
    *,
    intercept: bool = True,
    robust: bool = False,
    persons: npt.NDArray[np.int64] | None = None,
) -> Plain:
    """Fit least squares: not private."""
    rows = _rows(X, intercept)
    weighted = rows
    if persons is not None:
        weighted = rows / np.bincount(persons)[persons][:, None]
    inverse = _inverse(rows.T @ weighted)
    estimate = inverse @ (weighted.T @ y)
    left = y - rows @ estimate
    if persons is not None:
        pulls = weighted * left[:, None]
        sums = [np.bincount(persons, weights=column) for column in pulls.T]
        return _sandwich(estimate, inverse, np.array(sums, np.float64).T)
    if robust:
        return _sandwich(estimate, inverse, rows * left[:, None])
    variance = float(left @ left) / (len(y) - rows.shape[1])
    return Plain(estimate, np.sqrt(variance * np.diag(inverse)))


def plain_logistic(
    X: Floats, y: Floats, *, intercept: bool = True, robust: bool = False
) -> Plain:
    """Fit logistic regression by Newton's method: not private."""
    rows = _rows(X, intercept)
    estimate = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = expit(rows @ estimate)
        inverse = _inverse((rows * (chance * (1.0 - chance))[:, None]).T @ rows)
        step = inverse @ (rows.T @ (y - chance))
        estimate = estimate + step
        if np.abs(step).max() <= _CLOSE * max(1.0, np.abs(estimate).max()):
            break
    else:
        raise ArithmeticError("Newton's method did not converge: are the classes separated?")
    if robust:
        return _sandwich(estimate, inverse, rows * (y - chance)[:, None])
    return Plain(estimate, np.sqrt(np.diag(inverse)))


def _rows(X: Any, intercept: bool) -> Floats:
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else np.asarray(X)


def _inverse(matrix: Any) -> Floats:
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _sandwich(estimate: Floats, inverse: Floats, pulls: Floats) -> Plain:
    return Plain(estimate, np.sqrt(np.diag(inverse @ (pulls.T @ pulls) @ inverse)))
