"""Attack an estimator or a mechanism and bound its epsilon from below."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.attacks import Attack
from dpscd.audit.bounds import lower_bounds, roc
from dpscd.audit.canaries import Game, check_saturated
from dpscd.audit.mechanism import Mechanism
from dpscd.audit.subject import fit_to, game_for, saturated
from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.privacy.random import SecureSource, SeededSource

__all__ = ["AuditResult", "audit"]

Floats = npt.NDArray[np.float64]
Scored = tuple[Floats, npt.NDArray[np.bool_]]

_KINDS = ("white-box", "black-box")


@dataclass(frozen=True)
class AuditResult:
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

    @property
    def exceeded(self) -> bool:
        """Whether a bound is above the claim: at this confidence, the claim is false."""
        measured = max(self.epsilon_lower, self.epsilon_lower_clopper_pearson)
        return measured > self.epsilon_claimed

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**asdict(self), "exceeded": self.exceeded}


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

    Parameters
    ----------
    subject : estimator or Mechanism
        An estimator, fitted or not: what is audited is the claim it makes on its card,
        with its epsilon, delta, relation, epochs, lot size and intercept, at the data
        set of the game and the `lam` and `travel` that saturate the canaries. Fitted, with a
        card whose unit is a person, it is audited with persons. Or a mechanism, perhaps wrong
        on purpose.
    kind : {'white-box', 'black-box'}
        Whether the attack sees the released path, or the coefficients of a fitted model.
    trials : int
        Canaries to observe in each of the two worlds.
    game : Game, optional
        The records; 1000 canaries a run by default, fewer if fewer trials are asked for.
        With `person_rows` canaries are persons with so many rows, given to `fit` by groups;
        of a subject that protects persons they have 5 rows by default.
    attack : callable, optional
        Returns a fresh attack on the path of one run; the likelihood ratio by default.
    confidence : float
        Chance of each lower bound to be below the truth.
    random_state : int, optional
        A seed to repeat the audit; by default the operating system's randomness is used.
    progress : callable, optional
        Called with the number of canaries observed, both worlds together, in each run.

    Returns
    -------
    AuditResult
        Lower bounds and what they rest on.

    Notes
    -----
    Trials count as independent. They are for saturated canaries on features of their
    own: a constant contribution, independent lots and independent noise.

    A white-box attack is on noise that is drawn at every step. The lazy noise of sparse fits
    with many numbers is seen by black-box attacks only, on games of so many features; that
    it has the same law is proved (docs/proofs/shared_vector.md, "Lazy noise") and tested.

    Examples
    --------
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
    check_saturated(
        mechanism.problem,
        mechanism.plan,
        game.records,
        persons=mechanism.persons,
        person_rows=game.person_rows,
    )
    seed = None if random_state is None else f"audit {random_state}, {name}, {kind}"
    if seed is not None and game.person_rows is not None:
        seed += f", persons of {game.person_rows}"  # trials of their own
    if estimator is not None and kind == "black-box":
        runs = _black_box(estimator, game, seed)
    else:
        runs = _white_box(mechanism, game, attack or mechanism.likelihood_ratio, seed)
    absent, present, count = _collect(runs, trials, progress)
    plan = mechanism.plan
    bounds = lower_bounds(absent, present, delta=plan.delta, confidence=confidence)
    return AuditResult(
        subject=name,
        kind=kind,
        relation=plan.relation.value,
        epsilon_claimed=plan.epsilon,
        delta=plan.delta,
        epsilon_lower=bounds.epsilon_gaussian,
        epsilon_lower_clopper_pearson=bounds.epsilon_clopper_pearson,
        mu_lower=bounds.mu,
        confidence=confidence,
        trials=trials,
        canaries=game.canaries,
        runs=count,
        person_rows=game.person_rows,
        steps=plan.steps,
        rate=plan.rate,
        noise_multiplier=plan.noise_multiplier,
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
    count = 0
    while min(have) < trials:
        scores, present = next(runs)
        count += 1
        for world, members in enumerate((~present, present)):
            worlds[world].append(scores[members])
            have[world] += int(members.sum())
        if progress is not None:
            progress(len(scores))
    absent, there = (np.concatenate(scores)[:trials] for scores in worlds)
    return absent, there, count


def _white_box(
    mechanism: Mechanism, game: Game, attack: Callable[[], Attack], seed: str | None
) -> Iterator[Scored]:
    """Yield scores of the path, run after run."""
    plan = mechanism.plan
    run = 0
    while True:
        source = _source(seed, run)
        present, _ = game.worlds(source, run)
        data = game.dataset(present, plan.relation, mechanism.problem.row_bound)
        adversary = attack()
        mechanism.play(data, source, adversary)
        yield adversary.scores, present
        run += 1


def _black_box(estimator: DPLinearModel, game: Game, seed: str | None) -> Iterator[Scored]:
    """Yield the canaries' coefficients, fit after fit."""
    run = 0
    while True:
        present, number = game.worlds(_source(seed, run), run)
        estimator.set_params(random_state=None if seed is None else number)
        fit_to(estimator, game, present)
        yield np.ravel(estimator.coef_)[: game.canaries].copy(), present
        run += 1


def _source(seed: str | None, run: int) -> SecureSource:
    """Return a fresh source for each run."""
    return SecureSource() if seed is None else SeededSource(f"{seed}, run {run}".encode())
