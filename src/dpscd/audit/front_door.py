"""Audits of ``fit`` as users call it, attacked by all of its releases."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.bounds import LowerBounds, Measured, lower_bounds
from dpscd.audit.canaries import drawn_worlds
from dpscd.audit.evidence import Evidence, Path, evidence
from dpscd.audit.games import EstimatorGame, TableGame
from dpscd.model.card import PrivacyCard
from dpscd.privacy.accounting import epsilon_of
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.cost import Cost
from dpscd.releases.training import Pilot

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Each release is compared with its own claim at this confidence: there are many of them.
RELEASE_CONFIDENCE = 0.999


#: A real fit on synthetic records, each canary included or not.
DoorGame = EstimatorGame | TableGame


@dataclass(frozen=True)
class ReleaseResult(Measured):
    """Result of the attack on one release, against the claim of that release alone."""

    what: str  # as the card names it; the first training of two is 'pilot'
    part: str  # empty for the whole release
    epsilon_claimed: float  # of this release alone, at the delta of the audit
    epsilon_lower: float  # lower bounds, at the confidence RELEASE_CONFIDENCE
    epsilon_lower_clopper_pearson: float


@dataclass(frozen=True)
class DoorResult(Measured):
    """Result of an attack on a fit as users call it."""

    name: str
    relation: str
    epsilon_claimed: float
    delta: float
    confidence: float  # of the bounds on the claim
    epsilon_lower: float  # lower bounds from all releases together
    epsilon_lower_clopper_pearson: float
    model_lower: float  # lower bounds from the coefficients alone
    model_lower_clopper_pearson: float
    releases: tuple[ReleaseResult, ...]  # each release against its own claim
    trials: int  # canaries observed in each world
    canaries: int  # in a fit
    fits: int
    person_rows: int | None  # rows of a canary that is a person; None for records
    steps: int  # of the training, as `rate` and `noise_multiplier` are
    rate: float
    noise_multiplier: float
    seed: int | None  # None when the operating system gave the randomness
    seconds: float

    @property
    def measured(self) -> float:
        """The largest of the bounds on the claim of the whole fit."""
        alone = max(self.model_lower, self.model_lower_clopper_pearson)
        return max(super().measured, alone)

    @property
    def exceeded(self) -> bool:
        """Whether a bound is above its claim, of the whole fit or of one release."""
        return super().exceeded or any(x.exceeded for x in self.releases)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**super().to_dict(), "releases": [x.to_dict() for x in self.releases]}


def audit_door(
    game: DoorGame,
    *,
    trials: int = 20_000,
    confidence: float = 0.95,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> DoorResult:
    """Return empirical lower bounds on the epsilon of a fit as users call it.

    Each bound on the whole claim is below the truth with probability `confidence`, canaries of
    a fit counting as independent trials: features of their own, constant contributions.
    `progress` is called with the number of canaries observed in each fit.
    """
    start = time.perf_counter()
    seen: list[list[Evidence]] = []
    models: list[Floats] = []
    worlds: list[Bools] = []
    drawn = drawn_worlds(f"{game.name}, fit", game.canaries, trials, random_state, progress)
    for present, seed in drawn:
        path = Path()
        model = game.fit(present, seed, path)
        seen.append(list(evidence(model.fit_, path, game.suspects(model))))
        models.append(game.model_scores(model))
        worlds.append(present)
    there, card = np.concatenate(worlds), model.privacy_
    every = [
        fits[0]._replace(scores=np.concatenate([one.scores for one in fits]))
        for fits in zip(*seen, strict=True)
    ]

    def bounds(scores: Floats, risk: float) -> LowerBounds:
        absent, present = scores[~there][:trials], scores[there][:trials]
        return lower_bounds(absent, present, delta=card.delta, confidence=risk)

    whole = bounds(np.sum([one.scores for one in every if not one.part], axis=0), confidence)
    alone = bounds(np.concatenate(models), confidence)
    releases = []
    for release, part, scores in every:
        own = bounds(scores, RELEASE_CONFIDENCE)
        what = "pilot" if isinstance(release, Pilot) else release.what
        found = (own.epsilon_gaussian, own.epsilon_clopper_pearson)
        releases.append(ReleaseResult(what, part, _alone(release.cost, card), *found))
    return DoorResult(
        name=game.name,
        relation=card.relation.value,
        epsilon_claimed=card.epsilon,
        delta=card.delta,
        confidence=confidence,
        epsilon_lower=whole.epsilon_gaussian,
        epsilon_lower_clopper_pearson=whole.epsilon_clopper_pearson,
        model_lower=alone.epsilon_gaussian,
        model_lower_clopper_pearson=alone.epsilon_clopper_pearson,
        releases=tuple(releases),
        trials=trials,
        canaries=game.canaries,
        fits=len(worlds),
        person_rows=game.person_rows,
        steps=card.steps,
        rate=card.rate,
        noise_multiplier=card.noise_multiplier,
        seed=random_state,
        seconds=time.perf_counter() - start,
    )


def _alone(release: Cost, card: PrivacyCard) -> float:
    """Return the epsilon of one release alone."""
    event, parts = release.event, ((release.event.rate, release.event.steps),)
    interval = interval_for(card.epsilon, card.delta, card.relation, parts)
    return epsilon_of([event], card.delta, card.relation, interval).epsilon
