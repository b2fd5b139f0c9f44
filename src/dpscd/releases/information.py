"""Information: how curved the loss is at the trained model, and how much its slopes vary.

From these two matrices statisticians compute how sure coefficients are. Both are sums over
records, so they are released as other sums are: docs/proofs/intervals.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import CardError, ParameterError
from dpscd.inference import Measure, measure_of, packed_size
from dpscd.kernels.chances import fill_chances
from dpscd.kernels.dual import predictions
from dpscd.kernels.margin import MARGIN
from dpscd.kernels.rows import DenseRows
from dpscd.plan import Plan
from dpscd.privacy.release import Release
from dpscd.problem import DeferredRows, Problem, labels_of
from dpscd.releases.base import WRONG_SIZE, Parties, State, SumRelease
from dpscd.releases.query import Query, SomeRecords
from dpscd.releases.store import Residuals

__all__ = ["Information", "InformationQuery"]

Floats = npt.NDArray[np.float64]

# A record with a slope beyond this counts for nothing: its square must be a number.
_LARGEST = 1e100


@dataclass(frozen=True)
class InformationQuery(Query):
    """Sums of the second derivatives of records' losses, and of their squared slopes.

    Attributes
    ----------
    problem : Problem
        As it was trained: standardised, of one output.
    theta : array of shape (width,)
        The trained model, in its units.
    measure : Measure
        How rows and slopes are cut.
    residuals : Residuals, optional
        What a pilot left of labels, if that was trained on.

    Notes
    -----
    A record with row z, slope s and second derivative c adds two packed matrices: c z z^T, and
    s^2 z z^T (or its trace), in units that make each no longer than its part, and shortens
    both where they are longer than 1 together. A person adds the means over its rows, slopes
    times rows being added up before they are squared: docs/proofs/intervals.md.
    """

    problem: Problem
    theta: Floats
    measure: Measure
    residuals: Residuals | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Packed numbers, one after the other."""
        return (self.measure.size,)

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums; what is no number does not count."""
        measure, width = self.measure, self.measure.width
        rows = self.problem.block(records.X)
        counted = records.weights > 0.0
        with np.errstate(all="ignore"):
            slopes, curved = self._slopes(rows, records)
            usable = counted & (rows.norm > 0.0) & (rows.norm <= 1.0 + 2.0**-30)
            usable &= (np.abs(slopes) < _LARGEST) & np.isfinite(curved)
        norm = np.where(usable, rows.norm, 1.0)
        slopes, curved = np.where(usable, slopes, 0.0), np.where(usable, curved, 0.0)
        short = np.minimum(1.0, measure.row / norm)

        def column(j: int) -> Floats:
            tail = rows.tail if j == self.problem.d else rows.values[:, j] * rows.factor
            return np.where(usable, tail, 0.0)

        def of_units(each: Floats) -> Floats:
            """Return numbers of rows as numbers of records or persons."""
            if records.persons is None:
                return each
            found: Floats = records.persons.means(each[None], counted)[0]
            return found

        pulled = np.abs(slopes) * norm
        if records.persons is not None:
            pulled = np.sqrt(sum(of_units(slopes * column(j)) ** 2 for j in range(width)))
        inside = pulled < measure.cap
        cut = np.minimum(1.0, measure.cap / np.maximum(pulled, measure.cap))
        pulls = [of_units(slopes * short * column(j)) * cut for j in range(width)]
        first, second = measure.parts
        unit = first / (measure.curved * measure.row**2)
        curves = curved * short * short
        long = of_units(curves * norm * norm) * unit
        trace = sum(pull * pull for pull in pulls) * (second / measure.cap**2)
        factor = 1.0 / np.maximum(1.0, np.sqrt(long * long + trace * trace))
        sums = np.empty(measure.size)
        place = 0
        for j in range(width):
            left = curves * column(j)
            for k in range(j, width):
                each = of_units(left * column(k)) * (unit * _twice(j, k)) * factor
                sums[place] = self._sum(np.where(inside, each, 0.0))
                place += 1
        if not measure.robust:
            if second:
                sums[place] = self._sum(trace * factor)
            return sums
        scale = second / measure.cap**2
        for j in range(width):
            for k in range(j, width):
                each = pulls[j] * pulls[k] * (scale * _twice(j, k)) * factor
                sums[place] = self._sum(each)
                place += 1
        return sums

    def _sum(self, each: Floats) -> float:
        """Return the sum in units, each number cut toward zero: exact in any order."""
        return float(np.trunc(each * (MARGIN / self.unit)).sum())

    def _slopes(self, rows: DenseRows, records: SomeRecords) -> tuple[Floats, Floats]:
        """Return minus the slope and the second derivative of each record's loss."""
        found = np.empty((2, len(rows.norm)))
        if self.measure.logistic:
            whole = np.ones(len(rows.norm))
            fill_chances(rows, whole, self.theta, 0.0, 1.0, np.ones(2), found[0], found[1])
            return (records.labels > 0.0) - found[0], found[1]
        deferred = DeferredRows(self.problem, records.X)
        labels = (
            labels_of(self.problem, deferred, records.labels)
            if self.residuals is None
            else self.residuals.labels(deferred, records.labels)
        )
        predictions(rows, self.theta, 1.0, found[0])
        found[1] = 1.0
        return labels - found[0], found[1]


def _twice(j: int, k: int) -> float:
    """Return by what an entry is multiplied: those off the diagonal stand for two."""
    return 1.0 if j == k else math.sqrt(2.0)


@dataclass(frozen=True)
class Information(SumRelease):
    """The release "information": what standard errors of coefficients are computed from.

    Attributes
    ----------
    width : int
        Entries of the shared vector.
    logistic, robust : bool
        As of the :class:`~dpscd.inference.Measure`.

    Notes
    -----
    Proof: docs/proofs/intervals.md.
    """

    what: ClassVar[str] = "information"
    words: ClassVar[str] = "how exactly the records determine the coefficients"
    proof: ClassVar[str] = "intervals"
    place: ClassVar[int] = 150

    width: int
    logistic: bool
    robust: bool

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Refuse it for more than two classes, of rows as they are, or of another size."""
        if not listed:
            return
        if len(public.get("classes", (0, 1))) != 2 or not public.get("standardised", True):
            raise CardError("the card lists an information that no such model has.")
        if "d" in public and "intercept" in public:
            own = packed_size(public["d"] + int(public["intercept"] > 0.0))
            plain = own if "classes" in public else own + 1
            if listed.size not in (plain, 2 * own):
                raise CardError(WRONG_SIZE.format(cls.what))

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if a plan has other entries, several outputs or no moments."""
        super().check_fits(plan)
        if plan.size != self.width or plan.outputs != 1 or not plan.lists("moments"):
            raise ParameterError("an information needs one output and released moments.")

    @property
    def size(self) -> int:
        """Packed numbers of one matrix, and of the other or its trace."""
        return Measure(self.width, 1.0, 1.0, 1.0, self.logistic, self.robust).size

    def run(self, state: State, parties: Parties) -> State:
        """Release it; the model stays."""
        plan, problem = cast("Plan", state.plan), state.problem
        if not parties.store.dense:
            raise ParameterError("inference needs dense rows.")
        measure = measure_of(problem, plan.travel, plan.averaging, self.robust)
        theta = cast("Floats", state.shared)[0] / problem.strength
        query = InformationQuery(self.n, problem, theta, measure, state.residuals)
        return replace(state, information=self.noisy(query, parties))
