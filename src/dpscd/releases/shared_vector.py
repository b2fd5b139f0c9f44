"""The path of the shared vector: the main training, and a pilot before it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpscd.errors import CardError, ParameterError
from dpscd.plan import Plan
from dpscd.privacy.release import Release
from dpscd.problem import Model
from dpscd.releases.base import (
    TRAINING,
    TRAINING_PLACE,
    WRONG_SIZE,
    Parties,
    PlannedRelease,
    State,
)
from dpscd.releases.store import Residuals

__all__ = ["Pilot", "SharedVector"]


@dataclass(frozen=True)
class SharedVector(PlannedRelease):
    """The release "shared vector": the main training.

    Notes
    -----
    Proof: docs/proofs/shared_vector.md.
    """

    what: ClassVar[str] = TRAINING
    words: ClassVar[str] = "a step of training: the numbers that become the weights"
    proof: ClassVar[str] = "shared_vector"
    place: ClassVar[int] = TRAINING_PLACE

    plan: Plan  # its lots, clip and noise

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Refuse a shared vector of more or fewer numbers than the model has."""
        if not listed or not ("classes" in public or "y_bounds" in public):
            return
        classes = len(public.get("classes", ()))
        outputs = classes if classes > 2 else 1
        if listed.size != (public["d"] + (public["intercept"] > 0.0)) * outputs:
            raise CardError(WRONG_SIZE.format(cls.what))

    def release(self) -> Release:
        """Return the accounted release."""
        return self.plan.release()

    def run(self, state: State, parties: Parties) -> State:
        """Train, from the pilot's model if there is one to start from."""
        shared = parties.store.train(
            state.problem, self.plan, parties.source, state.residuals, parties.progress
        )
        model = state.problem.model(shared, self.plan.shared_noise)
        return replace(state, model=_together(state.start, model), shared=shared)


@dataclass(frozen=True)
class Pilot(SharedVector):
    """The release "shared vector" of a shorter training before the main one."""

    place: ClassVar[int] = 50
    needs: ClassVar[str | None] = "label spread"
    followed_by: ClassVar[str | None] = "label spread"

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if it is not a pilot of this plan.

        The epsilon of the plan decides whether its noise may be lazy, and the cost of that.
        """
        super().check_fits(plan)
        own = self.plan
        if (own.epsilon, own.delta, own.relation) != (plan.epsilon, plan.delta, plan.relation):
            raise ParameterError(
                "a pilot must have the epsilon, delta and relation of its plan."
            )
        shapes = [(x.d, x.outputs, x.intercept, x.rate) for x in (own, plan)]
        if shapes[0] != shapes[1] or own.first or own.after:
            raise ParameterError("a pilot must be one of the plan's own problem.")

    def run(self, state: State, parties: Parties) -> State:
        """Train the pilot, with randomness of its own."""
        problem = replace(state.problem, lam=self.plan.lam)
        source = parties.source_of("pilot")
        shared = parties.store.train(problem, self.plan, source, None, parties.progress)
        unit = state.declared.label_scale
        left = Residuals(problem, shared, state.problem.label_scale / unit)
        return replace(state, pilot=(problem.model(shared, self.plan.shared_noise), left))


def _together(start: Model | None, model: Model) -> Model:
    """Return the sum of two models with independent noise."""
    if start is None:
        return model
    return Model(
        start.coef + model.coef,
        start.intercept + model.intercept,
        np.hypot(start.coef_noise, model.coef_noise),
        np.hypot(start.intercept_noise, model.intercept_noise),
        (*start.runs, *model.runs),
    )
