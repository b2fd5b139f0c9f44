"""Standardisation by released moments: a linear map of rows, and its inverse for the model.

Noise is the same in every direction, and its size follows the length of the records. A large
common part (the mean of the rows) makes records long without information; columns of very
different size let noise dominate small ones. So records are trained on ``(x - centre) *
scale``, or, without an intercept to take up the mean, with the part along one `direction`, the
mean's, made shorter. All of it is computed from noisy moments that are public by then, so it is
post-processing.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Standardised rows have length 1 on average (root of the mean square) and at most this.
LONGEST = 4.0

# Columns are scaled by their variance to minus this half power: between leaving them as
# they are and making all equal.
_POWER = 0.75
# A variance below this many errors of its estimate cannot be seen.
_FLOOR = 2.0
# Levels that are not seen are left out only where one of this share of the records would be:
# else the moments say too little to leave anything out.
_LEAST_SEEN = 0.01
# Without intercept the mean's part keeps this share of the length of all the rest.
_KEPT = 0.2
# Rows that are standardised at once: small enough for the cache.
_BLOCK = 4096


class Levels(NamedTuple):
    """Which features are levels of categories: a public fact of a schema."""

    value: Floats  # of a level where a record has it; 0 for other features
    column: npt.NDArray[np.intp]  # number of the column that a feature belongs to


@dataclass(frozen=True)
class Standard:
    """A linear map of rows of length at most 1."""

    centre: Floats  # of shape (d,): rows become ``(x - centre) * scale``
    scale: Floats
    direction: Floats  # a unit vector, or 0
    shrink: float  # the part along `direction` that is removed

    def dense(
        self, X: npt.NDArray[Any], factor: Floats, parts: Floats | float = 1.0
    ) -> npt.NDArray[np.float32]:
        """Return the standardised rows of a matrix whose row i is multiplied by factor[i].

        Guarantee: a row of the result is a function of its own row and factor, to the last
        bit, wherever it stands (under add-remove the others move up) and whatever the matrix
        is kept in.
        Proof: docs/proofs/moments.md, "Together with training".
        """
        # A row that was cut to a part of itself becomes that part of the whole row's image.
        out = np.empty(X.shape, dtype=np.float32)
        parts = np.broadcast_to(parts, len(X))
        for first in range(0, X.shape[0], _BLOCK):
            block = slice(first, first + _BLOCK)
            with np.errstate(all="ignore"):  # rows that hold no number stay without one
                rows = X[block] * factor[block, None] - parts[block, None] * self.centre
                rows *= self.scale
                if self.shrink:
                    # Not a matrix product: its last bits depend on where a row stands. Rows
                    # one after the other: sums along columns have another order.
                    along = np.multiply(rows, self.direction, order="C").sum(axis=1)
                    rows -= self.shrink * np.outer(along, self.direction)
                out[block] = rows
        return out

    def sparse(
        self, values: npt.NDArray[Any], indices: npt.NDArray[Any]
    ) -> npt.NDArray[np.float32]:
        """Return the scaled entries of a sparse matrix; it is neither centred nor turned."""
        scaled: npt.NDArray[np.float32] = (
            values * self.scale.take(indices, mode="clip")
        ).astype(np.float32)
        return scaled

    def back(self, coef: Floats) -> tuple[Floats, Floats]:
        """Return coefficients for the original rows, and the intercepts' shift by centring."""
        turned = coef - self.shrink * np.outer(coef @ self.direction, self.direction)
        own = turned * self.scale
        return own, -(own @ self.centre)

    def inner(self, own: Floats) -> Floats:
        """Return the inverse image of :meth:`back`; 0 where a scale is 0."""
        turned: Floats = np.divide(
            own, self.scale, out=np.zeros_like(own), where=self.scale > 0.0
        )
        along = float(turned @ self.direction) * self.shrink / (1.0 - self.shrink)
        return turned + along * self.direction

    def shares(self) -> Floats:
        """Return the mean squares of standardised columns, which add up to 1."""
        # They are those that the scales were made from, as far as noise showed them.
        seen = self.scale > 0.0
        least = float(self.scale[seen].min()) if seen.any() else 1.0
        power = 2.0 - 2.0 / _POWER
        squares = np.where(seen, (np.where(seen, self.scale, least) / least) ** power, 0.0)
        shares: Floats = squares / max(float(squares.sum()), 1e-300)
        return shares

    def back_lengths(self) -> tuple[Floats, float]:
        """Return the lengths of the linear maps of :meth:`back`, one for each number."""
        along = self.shrink * (2.0 - self.shrink) * self.direction**2
        common = self.centre * self.scale
        turned = common - self.shrink * (common @ self.direction) * self.direction
        return self.scale * np.sqrt(1.0 - along), float(np.linalg.norm(turned))


def standard_of(
    mean: Floats,
    square: Floats,
    error: float,
    *,
    centred: bool,
    turned: bool,
    levels: Levels | None = None,
) -> Standard:
    """Return the map for noisy moments, with errors of `error`, of rows of length at most 1.

    `centred` says whether the mean may be removed (there is an intercept, and rows are dense),
    `turned` whether the part along it may be shortened instead.
    """
    # Levels that seem never to occur get scale 0, and a coefficient of exactly 0.
    if levels is not None:
        seen = ~_unseen(mean, square, error, levels)
        part = standard_of(mean[seen], square[seen], error, centred=centred, turned=turned)
        centre, scale, direction = np.zeros((3, len(mean)))
        centre[seen], scale[seen], direction[seen] = part.centre, part.scale, part.direction
        return Standard(centre, scale, direction, part.shrink)
    d = len(mean)
    size = float(mean @ mean)
    # Where noise is all there is to see, the mean is taken as zero (James and Stein).
    trusted = max(0.0, 1.0 - error * error * d / size) if size > 0.0 else 0.0
    mean = trusted * mean if centred or turned else np.zeros(d)
    variance = square - mean * mean
    floored = np.maximum(variance, max(_FLOOR * error, 2.0**-40))
    scale = floored ** (-_POWER / 2.0)
    # The mean squared length once scaled: of what was seen, which floors would exaggerate.
    most = float((scale * scale) @ floored)
    spread = min(most, max(0.1 * most, float((scale * scale) @ variance)))
    common = scale * mean
    size = float(common @ common)
    direction, kept = np.zeros(d), 1.0
    if turned and size > 0.0:
        direction = common / math.sqrt(size)
        kept = min(1.0, _KEPT * math.sqrt(spread / size))
    length = math.sqrt(spread + (kept * kept * size if turned else 0.0))
    return Standard(
        centre=mean if centred else np.zeros(d),
        scale=scale / length,
        direction=direction,
        shrink=1.0 - kept,
    )


def _unseen(
    mean: Floats, square: Floats, error: float, levels: Levels
) -> npt.NDArray[np.bool_]:
    """Return which levels may never occur, by noisy moments that would have shown it."""
    # A column's many rare levels may each be hidden by noise and be common together, so they
    # are judged together too.
    limit = _FLOOR * error
    hidden = (levels.value > 0.0) & (limit <= _LEAST_SEEN * levels.value)
    hidden &= np.maximum(mean, square) <= limit
    for column in np.unique(levels.column[hidden]):
        own = hidden & (levels.column == column)
        if mean[own].sum() > limit * math.sqrt(own.sum()):
            hidden &= ~own
    return hidden
