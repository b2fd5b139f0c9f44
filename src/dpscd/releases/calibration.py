"""Calibration: how far the probabilities of a trained model are from the labels, on average."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import CardError, ParameterError
from dpscd.kernels.chances import fill_chances
from dpscd.link import Link, link_for
from dpscd.plan import Plan
from dpscd.privacy.release import Release
from dpscd.problem import Model, Problem
from dpscd.releases.base import WRONG_SIZE, Parties, State, SumRelease
from dpscd.releases.query import Query, SomeRecords, whole_sums

__all__ = [
    "STEEP",
    "Calibration",
    "CalibrationQuery",
    "least_curvature",
    "link_of",
    "shift_noise",
]

Floats = npt.NDArray[np.float64]

STEEP = 3.25
"""What slopes are multiplied by: with up to 3.33 the pair is no longer than 1."""
# How large a shift is expected to be, as a standard deviation, and at most.
_EXPECTED, _LARGEST = 0.2, 1.0


@dataclass(frozen=True)
class CalibrationQuery(Query):
    """Sums of what probabilities miss of the labels, and of how steep they are.

    Attributes
    ----------
    declared : Problem
        How long rows may be.
    model : Model
        Released; of two classes.
    link : Link
        How its probabilities follow from decisions.

    Notes
    -----
    A record of probability p, slope s and label y in {0, 1} adds ``(y - p, 3.25 s)``, made
    shorter where it is longer than 1, times its weight, one above 1 counting as 1:
    docs/proofs/after.md.
    """

    declared: Problem
    model: Model
    link: Link

    @property
    def shape(self) -> tuple[int, ...]:
        """What is missed, and slopes."""
        return (2,)

    def factors(self, records: SomeRecords) -> tuple[Any, Any]:
        """Return what both numbers are multiplied by, functions of the record's own row."""
        del records
        return 1.0, 1.0

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums; what is no number does not count."""
        rows, parts = self.declared.cut_rows(records.X)
        coef = self.model.coef[0] * self.declared.row_bound
        intercept, caps = float(self.model.intercept[0]), np.array(self.link.caps)
        each = np.empty((2, len(parts)))
        with np.errstate(all="ignore"):
            fill_chances(rows, parts, coef, intercept, self.link.scale, caps, *each)
            first, second = self.factors(records)
            each[0] = ((records.labels > 0.0) - each[0]) * first
            each[1] *= STEEP * second
            length = np.sqrt(np.square(each).sum(axis=0))
            each *= np.minimum(records.weights, 1.0) / np.maximum(1.0, length)
            return whole_sums(each, np.isfinite(each).all(axis=0), records, self.unit)


@dataclass(frozen=True)
class Calibration(SumRelease):
    """The release "calibration": one step by which the intercept makes up what is missed.

    Notes
    -----
    Proof: docs/proofs/after.md.
    """

    what: ClassVar[str] = "calibration"
    words: ClassVar[str] = "how far predicted chances are from the truth, on average"
    proof: ClassVar[str] = "after"
    place: ClassVar[int] = 110

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Refuse it where there are not two classes, or no intercept to shift."""
        if not listed:
            return
        if len(public.get("classes", ())) != 2 or not public.get("intercept", 1.0):
            raise CardError("the card lists a calibration that no such model has.")
        if listed.size != 2:
            raise CardError(WRONG_SIZE.format(cls.what))

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if a plan has other than two classes, or no intercept."""
        super().check_fits(plan)
        if plan.outputs != 1 or not plan.intercept:
            raise ParameterError("a calibration needs two classes and an intercept.")

    @property
    def size(self) -> int:
        """What is missed, and slopes."""
        return 2

    def run(self, state: State, parties: Parties) -> State:
        """Release it, and shift the intercept; the link stays."""
        model, link = cast("Model", state.model), link_of(state)
        query = CalibrationQuery(self.n, state.declared, model, link)
        missed, steep = self.noisy(query, parties) / self.n
        least = least_curvature(self.noise_multiplier, self.n)
        curvature = min(0.25, max(float(steep) / STEEP, least))
        shift = _kept(self.noise_multiplier, self.n, curvature) * float(missed) / curvature
        shift = min(_LARGEST, max(-_LARGEST, shift))
        noise = shift_noise(self.noise_multiplier, self.n, curvature)
        shifted = replace(
            model,
            intercept=model.intercept + shift,
            intercept_noise=np.hypot(model.intercept_noise, noise),
            curvature=curvature,
        )
        return replace(state, model=shifted, link=link)


def link_of(state: State) -> Link:
    """Return the link of a trained model of two classes, from what is public.

    Parameters
    ----------
    state : State
        After training, with privacy or without.
    """
    if state.link is not None:
        return state.link
    model, plan = cast("Model", state.model), state.plan
    weights = cast("Any", state.meaning).weights or (1.0, 1.0)
    if plan is None:
        return Link()
    return link_for(
        model.runs[-1],
        plan.travel,
        plan.shared_noise,
        model.coef[0],
        float(model.intercept[0]),
        weights,
    )


def least_curvature(noise_multiplier: float, n: int) -> float:
    """Return the mean slope that a smaller released one is taken for: two of its errors.

    Parameters
    ----------
    noise_multiplier, n
        Of the release.
    """
    return min(0.25, 2.0 * noise_multiplier / (n * STEEP))


def shift_noise(noise_multiplier: float, n: int, curvature: float) -> float:
    """Return the standard deviation that noise adds to a shift of the intercept.

    Parameters
    ----------
    noise_multiplier, n
        Of the release.
    curvature : float
        The released mean slope of the probabilities.
    """
    return _kept(noise_multiplier, n, curvature) * noise_multiplier / (n * curvature)


def _kept(noise_multiplier: float, n: int, curvature: float) -> float:
    """Return the part of a released shift to expect of the true one: less the more noise."""
    error = noise_multiplier / (n * curvature)
    return _EXPECTED**2 / (_EXPECTED**2 + error**2)
