"""The optimisation problem and its scaling: the one place that converts units.

The user's problem is ``mean loss(x . w + c w0) + lam / 2 (|w|^2 + w0^2)`` with a constant
column c. Inside, a record is ``(x, c) / scale`` with ``scale = sqrt(row_bound^2 + c^2)``, so
no longer than 1, labels are ``(y - centre) / label_scale``, and the model is
``shared / strength`` with ``strength = lam n / scale^2``. A standardised problem is the same
with rows ``standard(x / row_bound)``, no longer than LONGEST, in the place of x.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd import losses
from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.passes import measure_rows, predictions
from dpscd.kernels.rows import CsrRows, DenseRows, Rows
from dpscd.kernels.sdca import joint_objectives, objectives
from dpscd.losses import Loss
from dpscd.standard import LONGEST, Levels, Standard

Floats = npt.NDArray[np.float64]

# Lengths of rows beyond these ends would let products of their scales overflow.
_SHORTEST, _LONGEST = 1e-120, 1e120

# Rows that are standardised and measured at once: few enough for the cache.
_BLOCK = 4096
_WHOLE = slice(None)

# Lengths that differ by no more than this part are equal.
_SAME = 2.0**-40

# A released mean of counts is taken for no smaller than this part of their scale.
_LEAST_MEAN = 1e-3


@dataclass(frozen=True)
class Model:
    """Coefficients in the user's units, one row per output."""

    coef: Floats  # of shape (outputs, d)
    intercept: Floats  # of shape (outputs,)
    # largest standard deviation that noise adds, of each coefficient, or 0
    coef_noise: Floats | float = 0.0
    intercept_noise: Floats | float = 0.0
    # The problems whose models add up to this one, all public: the noise is computed from them.
    # A pilot that was used comes first.
    runs: "tuple[Problem, ...]" = ()
    # predictions cut rows to this length: the row bound, or infinity
    longest_row: float = math.inf
    slope: float = 1.0  # factor of the model by a release after training

    def stretched(self, factor: float, slope: float) -> "Model":
        """Return the model times a released factor, with its noise; `slope` is that of all."""
        return replace(
            self,
            coef=factor * self.coef,
            intercept=factor * self.intercept,
            coef_noise=factor * np.asarray(self.coef_noise),
            intercept_noise=factor * np.asarray(self.intercept_noise),
            slope=slope,
        )


@dataclass(frozen=True)
class Problem:
    """A regularised linear model; all fields are public."""

    loss: Loss  # for inner labels, divided by `label_scale`
    lam: float  # regularisation in the user's units
    n: int  # public number of records: the mean is the sum divided by it
    d: int  # features, without the constant column
    outputs: int = 1  # models trained together: classes, or 1
    row_bound: float = 1.0  # longest allowed row
    constant: float = 0.0  # value of the constant column, 0 without intercept
    label_centre: float = 0.0  # labels are shifted by this and divided by `label_scale`
    label_scale: float = 1.0
    # How rows, once divided by `row_bound`, are standardised. Then `lam` and `constant` are in
    # the units of standardised rows.
    standard: Standard | None = None
    # which features are levels of categories, with values divided by `row_bound`
    levels: Levels | None = None

    def __post_init__(self) -> None:
        if not _SHORTEST <= self.row_bound <= _LONGEST:
            raise ParameterError(
                f"row_bound={self.row_bound!r} must lie between {_SHORTEST:g} and {_LONGEST:g}."
            )
        if self.constant and not _SHORTEST <= self.constant <= _LONGEST:
            raise ParameterError(
                f"constant={self.constant!r} must be 0 or lie between {_SHORTEST:g} and "
                f"{_LONGEST:g}."
            )

    @property
    def longest(self) -> float:
        """Length of the longest row that is trained on."""
        return self.row_bound if self.standard is None else LONGEST

    @property
    def scale(self) -> float:
        """Length of the longest possible record, constant column included."""
        return math.hypot(self.longest, self.constant)

    @property
    def strength(self) -> float:
        """Regularisation ``lam n`` for records of length at most 1."""
        return self.lam * self.n / self.scale**2 / losses.unit(self.loss)

    @property
    def width(self) -> int:
        """Entries of one output's shared vector."""
        return self.d + (1 if self.constant else 0)

    def rows(self, X: Any) -> Rows:
        """Return a C-contiguous matrix or a CSR matrix as measured rows."""
        # They are views of `X`; standardised, they are a copy in single precision.
        if self.standard is None:
            return _measured(X, self.d, self.row_bound, self.constant)
        return _measured(self._standardised(X, self.standard), self.d, LONGEST, self.constant)

    def block(self, X: npt.NDArray[Any]) -> DenseRows:
        """Return a few dense rows, the same numbers as :meth:`rows`, in the type of `X`."""
        # The functions that measure and read them are then compiled for one type only.
        if self.standard is None:
            return cast("DenseRows", self.rows(X))
        wide = self._standardised(X, self.standard).astype(X.dtype, copy=False)
        return cast("DenseRows", _measured(wide, self.d, LONGEST, self.constant))

    def plain_rows(self, X: Any) -> Rows:
        """Return rows of length at most 1, not standardised and without constant column."""
        return _measured(X, self.d, self.row_bound, 0.0)

    def cut_rows(self, X: Any) -> tuple[Rows, Floats]:
        """Return rows cut to `row_bound` and divided by it, and the remaining parts."""
        # The part is exactly 1 for a row that is not longer.
        rows = self.plain_rows(X)
        return rows, _parts(rows.factor, self.row_bound)

    def lines(self, X: Any, model: Model) -> tuple[Floats, Floats]:
        """Return a one-output model's decisions for rows as they are, and cut to `row_bound`.

        Guarantee: each is a function of its row and the model, to the last bit; NaN for a row
        that cannot be used.
        """
        rows, parts = self.cut_rows(X)
        cut = np.empty(len(parts))
        with np.errstate(all="ignore"):
            predictions(rows, model.coef[0] * self.row_bound, 1.0, cut)
            intercept = float(model.intercept[0])
            return cut / parts + intercept, cut + intercept

    def _standardised(self, X: Any, standard: Standard) -> Any:
        factor = _measured(X, self.d, self.row_bound, 0.0).factor
        if not hasattr(X, "indptr"):
            return standard.dense(X, factor, _parts(factor, self.row_bound))
        values = np.empty(len(X.data), np.float32)
        for first in range(0, X.shape[0], _BLOCK):
            ends = X.indptr[first : first + _BLOCK + 1]
            part = slice(ends[0], ends[-1])
            each = np.repeat(factor[first : first + _BLOCK], np.diff(ends))
            with np.errstate(all="ignore"):  # rows that hold no number stay without one
                values[part] = standard.sparse(X.data[part] * each, X.indices[part])
        return type(X)((values, X.indices, X.indptr), shape=X.shape)

    def labels(self, y: Floats) -> Floats:
        """Return labels in the units of the inner problem."""
        return (y - self.label_centre) / self.label_scale

    def with_labels(self, centre: float, scale: float) -> "Problem":
        """Return the same problem with labels shifted and divided by other numbers."""
        # `lam` is then for labels in the new scale. Counts are not shifted: their mean, if it
        # is not 0, becomes the one where predictions are 0.
        if losses.has_log_link(self.loss):
            problem = self.with_mean(centre / self.label_scale)
            rate = problem.loss.rate * self.label_scale / scale  # type: ignore[union-attr]
            counts = losses.in_inner_unit(self.loss._replace(rate=rate))
            return replace(self, loss=counts, label_scale=scale)
        loss = losses.in_inner_unit(losses.rescaled(self.loss, scale / self.label_scale))
        return replace(self, loss=loss, label_centre=centre, label_scale=scale)

    def with_mean(self, mean: float) -> "Problem":
        """Return the problem whose counts have this mean where predictions are 0."""
        # In their scale; the same problem if it is not of counts, or the mean is 0: unknown.
        if not losses.has_log_link(self.loss) or not mean:
            return self
        return replace(self, loss=self.loss._replace(rate=max(mean, _LEAST_MEAN)))

    def model(self, shared: Floats, noise: float = 0.0) -> Model:
        """Return the model of a shared vector, in the user's units.

        `noise` is the largest standard deviation of the noise in the vector, in any direction;
        each number of the model deviates by the length of its row of a linear map:
        docs/proofs/noise_band.md. Steps of a joint loss add up to 0 over the outputs, so their
        common part is noise and is removed.
        """
        factor, origin = self.label_scale / (self.strength * self.scale), self.label_centre
        if losses.has_log_link(self.loss):
            factor = 1.0 / (self.strength * self.scale)
            origin = math.log(self.loss.rate * self.label_scale)
        inner = shared * factor
        if losses.is_joint(self.loss):
            inner = inner - inner.mean(axis=0)
            noise *= math.sqrt(1.0 - 1.0 / self.outputs)
        intercept = np.full(self.outputs, origin)
        if self.constant:
            intercept = intercept + self.constant * inner[:, self.d]
        coef = inner[:, : self.d].copy()
        lengths, length = np.ones(self.d), self.constant
        if self.standard is not None:
            coef, shift = self.standard.back(coef)
            coef, intercept = coef / self.row_bound, intercept + shift
            lengths, length = self.standard.back_lengths()
            lengths, length = lengths / self.row_bound, math.hypot(length, self.constant)
        return Model(
            coef,
            intercept,
            coef_noise=np.tile(noise * factor * lengths, (self.outputs, 1)),
            intercept_noise=np.full(self.outputs, noise * factor * length),
            runs=(self,),
        )

    def gap(
        self, rows: Rows, records: Records, dual: Floats, shared: Floats, output: int = 0
    ) -> tuple[float, float]:
        """Return primal objective and duality gap of one output: not private."""
        # If the loss is joint, they are those of all outputs together.
        if losses.is_joint(self.loss):
            values, conjugates = joint_objectives(
                self.loss, rows, records, self.strength, dual, shared
            )
            size = float(np.vdot(shared, shared))
        else:
            values, conjugates = objectives(
                self.loss, rows, records, self.strength, output, dual, shared
            )
            size = float(shared[output] @ shared[output])
        ridge = size / (2.0 * self.strength * self.n)
        primal = values / self.n + ridge
        return primal, primal + conjugates / self.n + ridge


@dataclass(frozen=True)
class DeferredRows:
    """Dense rows that are standardised and measured when they are read, block by block."""

    problem: Problem
    X: npt.NDArray[Any]

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def tail(self) -> float:
        """The constant column, as in :class:`~dpscd.kernels.rows.DenseRows`."""
        return self.problem.constant / self.problem.scale

    @property
    def blocks(self) -> list[slice]:
        """Slices of rows to be read at once: copies of them are small."""
        firsts = range(0, self.count, _BLOCK)
        return [slice(first, first + _BLOCK) for first in firsts]

    def parts(self) -> Floats:
        """Return which part of each row is trained on: 1, or less if it is cut."""
        # A function of the row; 1 for rows that are not standardised.
        if self.problem.standard is None:
            return np.ones(self.count)
        found = np.empty(self.count)
        for block in self.blocks:
            first = self.problem.cut_rows(self.X[block])[1]
            found[block] = first * _parts(self.read(block).factor, self.problem.scale)
        return found

    def read(self, block: slice = _WHOLE) -> DenseRows:
        """Return rows, all of them if no block is given."""
        return cast("DenseRows", self.problem.rows(self.X[block]))


def labels_of(problem: Problem, rows: Rows | DeferredRows, labels: Floats) -> Floats:
    """Return labels in the units of the inner problem, shortened where their rows are cut."""
    # This concerns standardised ridge and Huber regressions: where a row is cut to a part of
    # itself, its label's distance from the centre is cut to the same part. A line that fits the
    # whole record fits the cut one, which only counts less. Sparse rows are not centred, so
    # their labels are not cut.
    inner = problem.labels(labels)
    if isinstance(rows, DeferredRows) and losses.is_of_errors(problem.loss):
        inner = inner * rows.parts()
    return inner


def rows_of(problem: Problem, X: Any) -> Rows | DeferredRows:
    """Return rows to train on: sparse ones measured, dense ones when they are read."""
    return problem.rows(X) if hasattr(X, "indptr") else DeferredRows(problem, X)


def _measured(X: Any, d: int, longest: float, constant: float) -> Rows:
    """Return rows as views of `X`, each cut to `longest`, with a constant column."""
    n = X.shape[0]
    factor, norm = np.empty(n), np.empty(n)
    scale = math.hypot(longest, constant)
    tail = constant / scale
    rows: Rows
    if hasattr(X, "indptr"):
        indptr = X.indptr.astype(np.int64, copy=False)
        values, indices = _sealed(X.data), _sealed(X.indices)
        rows = CsrRows(values, indices, _sealed(indptr), d, factor, norm, tail)
    else:
        rows = DenseRows(_sealed(X), factor, norm, tail)
    measure_rows(rows, longest, scale)
    return rows


def _parts(factor: Floats, unit: float) -> Floats:
    """Return the remaining parts of rows, once divided by `unit`: exactly 1 for whole ones."""
    parts: Floats = factor * unit
    parts[parts > 1.0 - _SAME] = 1.0
    return parts


def _sealed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view: one compiled kernel for writable and mapped data."""
    view = array.view()
    view.flags.writeable = False
    return view
