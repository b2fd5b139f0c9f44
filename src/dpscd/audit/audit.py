"""Attack an estimator or a mechanism and bound its epsilon from below."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.bounds import Measured, lower_bounds, roc
from dpscd.audit.canaries import (
    PERSON_ROWS,
    SATURATING_LAM,
    Game,
    check_saturated,
    draw_world,
    saturating_travel,
    source_of,
)
from dpscd.audit.mechanism import Attack, Mechanism
from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.registry import kind_of
from dpscd.privacy.random import Source
from dpscd.privacy.relation import Relation


def game_for(subject: DPLinearModel | Mechanism, game: Game | None, trials: int) -> Game:
    """Return the game to play: the given one, with persons where the claim is for persons."""
    # The game decides for an estimator that is not fitted, which claims nothing yet.
    if game is None:
        game = Game(canaries=min(Game.canaries, 2 * trials))
    if isinstance(subject, Mechanism):
        person = subject.persons is not None
    elif hasattr(subject, "privacy_"):
        person = subject.privacy_.protected.is_person
    else:
        return game
    if person and game.person_rows is None:
        return replace(game, person_rows=PERSON_ROWS)
    if game.person_rows is not None and not person:
        raise ParameterError(
            f"person_rows={game.person_rows!r} asks for persons, but what is claimed protects "
            "records; leave it out, or audit an estimator that is not fitted."
        )
    return game


def saturated(estimator: DPLinearModel, game: Game) -> DPLinearModel:
    """Return an unfitted copy whose public numbers saturate the canaries."""
    # Only numbers on which the claim does not depend are changed.
    parameters = estimator.get_params(deep=False)
    if not parameters["epsilon"] < np.inf:
        raise ParameterError("epsilon=inf claims no privacy; there is nothing to audit.")
    n = parameters["n"] or game.records
    parameters.update(
        n=n,
        travel=saturating_travel(n, game.person_rows),
        lam=SATURATING_LAM * parameters["row_bound"] ** 2,
        ledger=None,  # an attack on made-up records spends nobody's budget
        dataset=None,
        verbose=0,
    )
    if kind_of(estimator).task == "counts":
        raise ParameterError("counts cannot be audited: a canary's label is -1 or 1.")
    if not kind_of(estimator).classifies:
        parameters["y_bounds"] = (-1.0, 1.0)
    else:
        if len(set(parameters["classes"] or (-1, 1))) != 2:
            raise ParameterError("only models with two classes can be audited.")
        parameters.update(classes=(-1, 1), class_weight=None)
    return type(estimator)(**parameters)


def fit_to(estimator: DPLinearModel, game: Game, present: npt.NDArray[np.bool_]) -> None:
    """Fit the estimator to the records, or the persons, of the game."""
    relation = Relation.parse(estimator.relation)
    data = game.dataset(present, relation, float(estimator.row_bound))
    y: Any = data.targets
    if kind_of(estimator).classifies:
        y = data.targets.astype(int)
    order = data.scattered
    groups = None if game.person_rows is None else data.groups[order]
    weights = data.weights[order]
    estimator.fit(data.X[order], y[order], sample_weight=weights, groups=groups)


Floats = npt.NDArray[np.float64]
Scored = tuple[Floats, npt.NDArray[np.bool_]]

_KINDS = ("white-box", "black-box")


@dataclass(frozen=True)
class AuditResult(Measured):
    """The result of an attack."""

    subject: str  # what was audited
    # What the attack saw: 'white-box': the shared vector after every step. 'black-box': the
    # coefficients of the fitted model.
    kind: str
    relation: str  # which data sets were to be distinguished
    epsilon_claimed: float  # the claim, with delta
    delta: float
    epsilon_lower: float  # lower bound on epsilon, if the trade-off curve is Gaussian
    epsilon_lower_clopper_pearson: float  # lower bound on epsilon without that assumption
    mu_lower: float  # lower bound on the parameter of Gaussian differential privacy
    confidence: float  # probability of each lower bound to be below the truth
    trials: int  # canaries observed in each of the two worlds
    canaries: int  # in a run
    runs: int
    person_rows: int | None  # rows of a canary that is a person; None if canaries are records
    steps: int  # of the plan that was audited, as are rate and noise_multiplier
    rate: float
    noise_multiplier: float
    fpr: float  # error rates at the threshold of `epsilon_lower`
    fnr: float
    seed: int | None  # None when the operating system gave the randomness
    seconds: float
    roc: list[tuple[float, float]] = field(repr=False)  # false and true positive rates


def audit(
    subject: DPLinearModel | Mechanism,
    *,
    kind: str = "white-box",
    trials: int = 100_000,
    game: Game | None = None,
    attack: Callable[[], Attack] | None = None,
    confidence: float = 0.95,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> AuditResult:
    """Return an empirical lower bound on the epsilon of an estimator or a mechanism.

    What is audited is the claim that a `subject`, fitted or not, makes on its card, with its
    epsilon, delta, relation, epochs, lot size and intercept, at the data set of the game and
    the `lam` and `travel` that saturate the canaries: of persons if its unit is a person. Or it
    is a mechanism, perhaps wrong on purpose. A 'white-box' attack sees the released path, by
    default with a fresh likelihood ratio in each run; a 'black-box' one the coefficients of a
    fitted model. In each of the two worlds `trials` canaries are observed, by default 1000 a
    run or as many as are asked for; `progress` is called with their number. Each bound is below
    the truth with probability `confidence`. A `random_state` repeats the audit.

    Trials count as independent. They are for saturated canaries on features of their own: a
    constant contribution, independent lots and independent noise.

    A white-box attack is on noise that is drawn at every step. The lazy noise of sparse fits
    with many numbers is seen by black-box attacks only, on games of so many features; that it
    has the same law is proved (docs/proofs/shared_vector.md, "Lazy noise") and tested.

    >>> from dpscd import DPRidge
    >>> from dpscd.audit import audit
    >>> model = DPRidge(epsilon=1.0, delta=1e-5, lot_size=110, epochs=10)
    >>> result = audit(model, trials=2000, random_state=0)
    >>> result.epsilon_lower < result.epsilon_claimed
    True
    """
    start = time.perf_counter()
    if kind not in _KINDS:
        raise ParameterError(f"kind={kind!r} must be 'white-box' or 'black-box'.")
    if trials < 1:
        raise ParameterError(f"trials={trials!r} must be a positive integer.")
    game = game_for(subject, game, trials)
    name = type(subject).__name__
    estimator = None
    if isinstance(subject, Mechanism):
        mechanism = subject
        if kind == "black-box":
            raise ParameterError("kind='black-box' needs an estimator, which has a model.")
    else:
        estimator = saturated(subject, game)
        fit_to(estimator, game, np.ones(game.canaries, dtype=bool))
        mechanism = Mechanism.of_fit(estimator)
    training = mechanism.training
    check_saturated(training, game.records, game.person_rows)
    text = f"audit {random_state}, {name}, {kind}"
    if game.person_rows is not None:
        text += f", persons of {game.person_rows}"  # trials of their own
    sources = (source_of(f"{text}, run {run}", random_state) for run in count())
    if estimator is not None and kind == "black-box":
        runs = _black_box(estimator, game, sources)
    else:
        runs = _white_box(mechanism, game, attack or mechanism.likelihood_ratio, sources)
    absent, present, played = _collect(runs, trials, progress)
    target = training.target
    bounds = lower_bounds(absent, present, delta=target.delta, confidence=confidence)
    return AuditResult(
        subject=name,
        kind=kind,
        relation=target.relation.value,
        epsilon_claimed=target.epsilon,
        delta=target.delta,
        epsilon_lower=bounds.epsilon_gaussian,
        epsilon_lower_clopper_pearson=bounds.epsilon_clopper_pearson,
        mu_lower=bounds.mu,
        confidence=confidence,
        trials=trials,
        canaries=game.canaries,
        runs=played,
        person_rows=game.person_rows,
        steps=training.steps,
        rate=training.rate,
        noise_multiplier=training.noise_multiplier,
        fpr=bounds.fpr,
        fnr=bounds.fnr,
        seed=random_state,
        seconds=time.perf_counter() - start,
        roc=roc(absent, present),
    )


def _collect(
    runs: Iterator[Scored], trials: int, progress: Callable[[int], None] | None
) -> tuple[Floats, Floats, int]:
    """Return `trials` scores of each world, and the number of runs."""
    worlds: tuple[list[Floats], list[Floats]] = ([], [])
    have = [0, 0]
    played = 0
    while min(have) < trials:
        scores, present = next(runs)
        played += 1
        for world, members in enumerate((~present, present)):
            worlds[world].append(scores[members])
            have[world] += int(members.sum())
        if progress is not None:
            progress(len(scores))
    absent, there = (np.concatenate(scores)[:trials] for scores in worlds)
    return absent, there, played


def _white_box(
    mechanism: Mechanism, game: Game, attack: Callable[[], Attack], sources: Iterable[Source]
) -> Iterator[Scored]:
    """Yield scores of the path, run after run."""
    relation, row_bound = mechanism.training.relation, mechanism.problem.row_bound
    for run, source in enumerate(sources):
        present, _ = draw_world(source, game.canaries, run % 2)
        adversary = attack()
        mechanism.play(game.dataset(present, relation, row_bound), source, adversary)
        yield adversary.scores, present


def _black_box(
    estimator: DPLinearModel, game: Game, sources: Iterable[Source]
) -> Iterator[Scored]:
    """Yield the canaries' coefficients, fit after fit."""
    for run, source in enumerate(sources):
        present, seed = draw_world(source, game.canaries, run % 2)
        estimator.set_params(random_state=seed if source.seeded else None)
        fit_to(estimator, game, present)
        yield np.ravel(estimator.coef_)[: game.canaries].copy(), present
