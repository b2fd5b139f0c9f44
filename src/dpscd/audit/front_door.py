"""Audits of ``fit`` as users call it, attacked by all of its releases."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.audit.bounds import LowerBounds, lower_bounds
from dpscd.audit.evidence import Canaries, Evidence, evidence
from dpscd.audit.recording import recorded
from dpscd.audit.worlds import draw_world
from dpscd.cards.card import PrivacyCard
from dpscd.errors import ParameterError
from dpscd.privacy.accounting import epsilon_of
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.release import Release

__all__ = ["DoorGame", "DoorResult", "ReleaseResult", "audit_door"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Each release is compared with its own claim at this confidence: there are many of them.
RELEASE_CONFIDENCE = 0.999


class DoorGame(Protocol):
    """A real fit on synthetic records, each canary included or not."""

    @property
    def name(self) -> str:
        """Name of the audited subject."""

    @property
    def canaries(self) -> int:
        """Number of canaries in a fit."""

    @property
    def person_rows(self) -> int | None:
        """Rows of a canary that is a person; None for records."""

    def fit(self, present: Bools, seed: int | None) -> Any:
        """Fit as a user does, and return the fitted model."""

    def suspects(self, model: Any) -> Canaries:
        """Return the canaries' records as the mechanism sees them, given earlier releases."""

    def model_scores(self, model: Any) -> Floats:
        """Return a score of each canary from the coefficients alone."""


@dataclass(frozen=True)
class ReleaseResult:
    """Result of the attack on one release, against the claim of that release alone."""

    what: str  # as the card names it; the first training of two is 'pilot'
    part: str  # empty for the whole release
    epsilon_claimed: float  # of this release alone, at the delta of the audit
    epsilon_lower: float  # lower bounds, at the confidence RELEASE_CONFIDENCE
    epsilon_lower_clopper_pearson: float

    @property
    def exceeded(self) -> bool:
        """Whether a bound is above the claim."""
        measured = max(self.epsilon_lower, self.epsilon_lower_clopper_pearson)
        return measured > self.epsilon_claimed


@dataclass(frozen=True)
class DoorResult:
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
    def exceeded(self) -> bool:
        """Whether a bound is above its claim, of the whole fit or of one release."""
        measured = max(
            self.epsilon_lower,
            self.epsilon_lower_clopper_pearson,
            self.model_lower,
            self.model_lower_clopper_pearson,
        )
        return measured > self.epsilon_claimed or any(x.exceeded for x in self.releases)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {
            **asdict(self),
            "releases": [{**asdict(x), "exceeded": x.exceeded} for x in self.releases],
            "exceeded": self.exceeded,
        }


def audit_door(
    game: DoorGame,
    *,
    trials: int = 20_000,
    confidence: float = 0.95,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> DoorResult:
    """Return empirical lower bounds on the epsilon of a fit as users call it.

    The canaries of a fit count as independent trials: they have features of their own and
    constant contributions. Each bound on the whole claim is below the truth with probability
    `confidence`. `progress` is called with the number of canaries observed in each fit.
    """
    start = time.perf_counter()
    if trials < 1:
        raise ParameterError(f"trials={trials!r} must be a positive integer.")
    played = _play(game, trials, random_state, progress)
    card, there = played.card, played.present

    def bounds(scores: Floats, risk: float) -> LowerBounds:
        absent, present = scores[~there][:trials], scores[there][:trials]
        return lower_bounds(absent, present, delta=card.delta, confidence=risk)

    whole = bounds(np.sum(list(played.releases.values()), axis=0), confidence)
    alone = bounds(played.model, confidence)
    claims = _claims(card)
    releases = []
    for what, part, scores in played.one_by_one():
        own = bounds(scores, RELEASE_CONFIDENCE)
        found = (own.epsilon_gaussian, own.epsilon_clopper_pearson)
        releases.append(ReleaseResult(what, part, claims[what], *found))
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
        fits=played.fits,
        person_rows=game.person_rows,
        steps=card.steps,
        rate=card.rate,
        noise_multiplier=card.noise_multiplier,
        seed=random_state,
        seconds=time.perf_counter() - start,
    )


class _Played(NamedTuple):
    """The scores of all canaries of all fits."""

    card: PrivacyCard
    present: Bools
    releases: dict[str, Floats]
    parts: dict[str, dict[str, Floats]]
    model: Floats
    fits: int

    def one_by_one(self) -> Iterator[tuple[str, str, Floats]]:
        """Yield release, part and scores, of whole releases and of parts."""
        for what, scores in self.releases.items():
            yield what, "", scores
            for part, own in self.parts.get(what, {}).items():
                yield what, part, own


def _play(
    game: DoorGame,
    trials: int,
    random_state: int | None,
    progress: Callable[[int], None] | None,
) -> _Played:
    """Fit until there are enough canaries in each world."""
    found: list[Evidence] = []
    models: list[Floats] = []
    worlds: list[Bools] = []
    have = np.zeros(2, dtype=np.int64)
    while have.min() < trials:
        run = f"{game.name}, fit {len(worlds)}"
        present, seed = draw_world(run, game.canaries, len(worlds) % 2, random_state)
        with recorded() as recording:
            model = game.fit(present, seed)
        found.append(evidence(recording, game.suspects(model)))
        models.append(game.model_scores(model))
        worlds.append(present)
        have += (present.sum(), (~present).sum())
        if progress is not None:
            progress(game.canaries)
    return _Played(
        model.privacy_,
        np.concatenate(worlds),
        _joined([one.releases for one in found]),
        {what: _joined([one.parts[what] for one in found]) for what in found[0].parts},
        np.concatenate(models),
        len(worlds),
    )


def _joined(fits: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Return the concatenated scores of all fits."""
    return {name: np.concatenate([one[name] for one in fits]) for name in fits[0]}


def _claims(card: PrivacyCard) -> dict[str, float]:
    """Return the epsilon of each release alone, by the names of :func:`evidence`."""

    def alone(release: Release) -> float:
        event = release.event
        parts = ((event.rate, event.steps),)
        interval = interval_for(card.epsilon, card.delta, card.relation, parts)
        return epsilon_of([event], card.delta, card.relation, interval).epsilon

    claims = {}
    for release in card.releases:
        # Of two trainings the pilot is the first.
        pilot = release.what == "shared vector" and release is not card.training
        claims["pilot" if pilot else release.what] = alone(release)
    return claims
