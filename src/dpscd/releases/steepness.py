"""Steepness: temperature scaling of a classifier of persons' rows.

For a record the link accounts for the cap of its loss. For persons one clip holds all rows
together, and its effect depends on their number, which is not public.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import CardError, ParameterError
from dpscd.link import Link, expected_decisions
from dpscd.plan import Plan
from dpscd.privacy.release import Release
from dpscd.problem import Model
from dpscd.releases.base import WRONG_SIZE, Parties, State, SumRelease
from dpscd.releases.calibration import STEEP, CalibrationQuery, link_of
from dpscd.releases.query import SomeRecords
from dpscd.releases.rescaling import SLOPES

__all__ = ["Steepness", "SteepnessQuery"]

Floats = npt.NDArray[np.float64]

# How large the logarithm of a change is expected to be, as a standard deviation; at most so
# much of it is made at once.
_EXPECTED, _LARGEST = 0.4, 0.7


@dataclass(frozen=True)
class SteepnessQuery(CalibrationQuery):
    """Sums of residuals along the decision, and of slopes there.

    Notes
    -----
    A row of probability p, slope s and label y in {0, 1} adds ``((y - p) v, 3.25 s u v)``, made
    shorter where it is longer than 1, times its weight, one above 1 counting as 1; of a person
    the mean over its rows: docs/proofs/after.md, docs/proofs/persons.md.
    """

    wide: float = 1.0  # the unit of decisions; v is a decision u in it, cut to [-1, 1]

    def factors(self, records: SomeRecords) -> tuple[Any, Any]:
        """Return v, and the decision times v."""
        decisions = self.declared.lines(records.X, self.model)[0]
        v = np.clip(decisions / self.wide, -1.0, 1.0)
        return v, decisions * v


@dataclass(frozen=True)
class Steepness(SumRelease):
    """The release "steepness": two successive factors of decisions, for persons.

    Notes
    -----
    Proof: docs/proofs/after.md.
    """

    what: ClassVar[str] = "steepness"
    words: ClassVar[str] = "by how much predicted chances are too bold or too timid"
    proof: ClassVar[str] = "after"
    place: ClassVar[int] = 105
    times: ClassVar[int] = 2
    begins: ClassVar[int] = 1  # a calibration has time 0: a recorder tells them apart

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Refuse it where there are not two classes, or no persons."""
        if not listed:
            return
        if len(public.get("classes", ())) != 2 or "max_rows" not in public:
            raise CardError("the card lists a steepness that no such model has.")
        if listed.size != 2:
            raise CardError(WRONG_SIZE.format(cls.what))

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if a plan has other than two classes, or no moments."""
        super().check_fits(plan)
        if plan.outputs != 1 or not plan.lists("moments"):
            raise ParameterError("a steepness needs two classes and released moments.")

    @property
    def size(self) -> int:
        """Residuals, and slopes."""
        return 2

    def run(self, state: State, parties: Parties) -> State:
        """Release it, and multiply the model twice; the link stays."""
        link = link_of(state)
        model = cast("Model", state.model)
        for time in self.at:
            model = self._step(model, link, state, parties, time)
        return replace(state, model=model, link=link)

    def _step(
        self, model: Model, link: Link, state: State, parties: Parties, time: int
    ) -> Model:
        """Return the model with decisions multiplied by the factor of one release."""
        coef, intercept = model.coef[0], float(model.intercept[0])
        mean, deviation = expected_decisions(model.runs[-1], coef, intercept)
        wide = max(math.hypot(mean, deviation), 1e-6)
        query = SteepnessQuery(self.n, state.declared, model, link, wide=wide)
        missed, steep = self.noisy(query, parties, time) / self.n
        error = self.noise_multiplier / self.n
        # What is missed grows with the logarithm of the change by this, at least two errors.
        growth = max(float(steep), 2.0 * error) / STEEP
        kept = _EXPECTED**2 / (_EXPECTED**2 + (error / growth) ** 2)
        change = min(_LARGEST, max(-_LARGEST, kept * float(missed) / growth))
        slope = float(np.clip(model.slope * np.exp(change), *SLOPES))
        factor = slope / model.slope
        return replace(
            model,
            coef=factor * model.coef,
            intercept=factor * model.intercept,
            coef_noise=factor * np.asarray(model.coef_noise),
            intercept_noise=factor * np.asarray(model.intercept_noise),
            slope=slope,
        )
