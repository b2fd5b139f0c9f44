"""Long rows: whether predictions improve if rows are cut as in training."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.plan import Plan
from dpscd.problem import Model, Problem
from dpscd.releases.base import Parties, State
from dpscd.releases.labels import MeanRelease, OneNumberQuery
from dpscd.releases.query import SomeRecords

__all__ = ["LongRows", "LongRowsQuery"]

Floats = npt.NDArray[np.float64]

# Errors beyond so many times the labels' spread count as that; beyond more where what is
# released is still so exact, in squares of that spread.
_FAR, _EXACT = 5.0, 0.01
# Rows are cut only if what that gains is so many times its noise.
_SEEN = 1.5


@dataclass(frozen=True)
class LongRowsQuery(OneNumberQuery):
    """The sum of the decrease of squared errors if rows are cut in prediction.

    Notes
    -----
    A record adds its squared error with the whole row less the one with the row cut to the
    row bound, in units of ``far^2``; one whose row is not longer adds 0.
    Proof: docs/proofs/after.md.
    """

    declared: Problem  # sets the longest row
    model: Model  # released
    bounds: tuple[float, float]  # bounds of predictions
    far: float  # larger errors count as this

    def each(self, records: SomeRecords) -> Floats:
        """Return the differences, each between -1 and 1."""
        whole, cut = self.declared.lines(records.X, self.model)
        with np.errstate(all="ignore"):
            return self._squares(whole, records.labels) - self._squares(cut, records.labels)

    def _squares(self, line: Floats, labels: Floats) -> Floats:
        """Return squared errors, at most 1."""
        guess = np.clip(line, *self.bounds)
        found: Floats = np.square(np.minimum(np.abs(guess - labels) / self.far, 1.0))
        return found


@dataclass(frozen=True)
class LongRows(MeanRelease):
    """The release "long rows": whether predictions cut rows to the row bound.

    Notes
    -----
    Proof: docs/proofs/after.md.
    """

    what: ClassVar[str] = "long rows"
    words: ClassVar[str] = "what cutting long rows in predictions would gain"
    proof: ClassVar[str] = "after"
    place: ClassVar[int] = 120

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if a plan has more than one output."""
        super().check_fits(plan)
        if plan.outputs != 1:
            raise ParameterError("long rows are for one output.")

    def run(self, state: State, parties: Parties) -> State:
        """Release it, and cut rows in prediction if that gains."""
        model, meaning = cast("Model", state.model), cast("Any", state.meaning)
        error = self.noise_multiplier / self.n
        # Of labels: the first problem's spread, a later one is of what a pilot leaves.
        far = max(_FAR, math.sqrt(_EXACT / error)) * model.runs[0].label_scale
        bounds = (meaning.low, meaning.high)
        far = min(far, meaning.high - meaning.low)
        query = LongRowsQuery(self.n, state.declared, model, bounds, far)
        if self.mean(query, parties) <= _SEEN * error:
            return state
        return replace(state, model=replace(model, longest_row=state.declared.row_bound))
