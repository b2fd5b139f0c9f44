"""Audits of ``private_score`` as users call it, attacked by all of its releases."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.bounds import LowerBounds, lower_bounds
from dpscd.audit.recording import recorded
from dpscd.audit.score_game import ScoreGame
from dpscd.audit.worlds import draw_world
from dpscd.errors import ParameterError
from dpscd.privacy.random import Purpose

__all__ = ["ScoreResult", "audit_score"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoreResult:
    """The result of an attack on scores."""

    name: str  # what was audited
    metric: str
    relation: str  # which held-out records were to be distinguished
    epsilon_claimed: float  # the claim of the card, with delta
    delta: float
    confidence: float  # of the bounds
    epsilon_lower: float  # From the noisy sum: its law is Gaussian, so both are bounds.
    epsilon_lower_clopper_pearson: float
    value_lower: float | None  # from the value alone; None where many canaries share it
    value_lower_clopper_pearson: float | None
    trials: int  # canaries observed in each world
    canaries: int  # in a score
    scores: int  # drawn
    person_rows: int | None  # rows of a canary that is a person; None if canaries are records
    noise_multiplier: float  # of the release
    seed: int | None  # None when the operating system gave the randomness
    seconds: float

    @property
    def exceeded(self) -> bool:
        """Whether a bound is above the claim: at this confidence, the claim is false."""
        measured = max(
            self.epsilon_lower,
            self.epsilon_lower_clopper_pearson,
            self.value_lower or 0.0,
            self.value_lower_clopper_pearson or 0.0,
        )
        return measured > self.epsilon_claimed

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**asdict(self), "exceeded": self.exceeded}


def audit_score(
    game: ScoreGame,
    *,
    trials: int = 2000,
    confidence: float = 0.95,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ScoreResult:
    """Return empirical lower bounds on the epsilon of private scores as users call them.

    Parameters
    ----------
    game : ScoreGame
        Which score of which records.
    trials : int
        Canaries to observe in each of the two worlds. Those of one score count as independent:
        each has a number of its own in the released sum.
    confidence : float
        Chance of each lower bound to be below the truth.
    random_state : int, optional
        A seed to repeat the audit; by default the operating system's randomness is used.
    progress : callable, optional
        Called with the number of canaries observed in each score.

    Examples
    --------
    >>> from dpscd.audit import ScoreGame, audit_score
    >>> game = ScoreGame("shares", "confusion", {"epsilon": 1.0}, classes=8, canaries=64)
    >>> result = audit_score(game, trials=1000, random_state=0)
    >>> result.epsilon_lower < result.epsilon_claimed
    True
    """
    start = time.perf_counter()
    if trials < 1:
        raise ParameterError(f"trials={trials!r} must be a positive integer.")
    worlds: list[npt.NDArray[np.bool_]] = []
    sums: list[Floats] = []
    values: list[Floats] = []
    have = np.zeros(2, dtype=np.int64)
    while have.min() < trials:
        run = f"{game.name}, score {len(worlds)}"
        present, seed = draw_world(run, game.canaries, len(worlds) % 2, random_state)
        with recorded() as recording:
            found = game.play(present, seed)
        (released,) = (x for (what, _), x in recording.sums.items() if what is Purpose.SCORE)
        sums.append(released)
        value = game.value(found)
        if value is not None:
            values.append(value)
        worlds.append(present)
        have += (present.sum(), (~present).sum())
        if progress is not None:
            progress(game.canaries)
    there, card = np.concatenate(worlds), found.card
    # Given the law of the noise no attack is stronger: how far the sum went a canary's way.
    way, others = game.suspects(card)
    seen = ((np.array(sums) - others) @ (way / np.sqrt(np.square(way).sum(axis=0)))).ravel()

    def bounds(scores: Floats) -> LowerBounds:
        absent, present = scores[~there][:trials], scores[there][:trials]
        return lower_bounds(absent, present, delta=card.delta, confidence=confidence)

    whole, alone = bounds(seen), bounds(np.concatenate(values)) if values else None
    return ScoreResult(
        name=game.name,
        metric=game.metric,
        relation=card.relation.value,
        epsilon_claimed=card.epsilon,
        delta=card.delta,
        confidence=confidence,
        epsilon_lower=whole.epsilon_gaussian,
        epsilon_lower_clopper_pearson=whole.epsilon_clopper_pearson,
        value_lower=None if alone is None else alone.epsilon_gaussian,
        value_lower_clopper_pearson=None if alone is None else alone.epsilon_clopper_pearson,
        trials=trials,
        canaries=game.canaries,
        scores=len(worlds),
        person_rows=game.person_rows,
        noise_multiplier=card.noise_multiplier,
        seed=random_state,
        seconds=time.perf_counter() - start,
    )
