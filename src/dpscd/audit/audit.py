"""The game of every audit: canaries in or out, statistics of the answers, lower bounds.

In each run half of the canaries, drawn at random, take part. A case makes the records, runs
what is audited and reads a score of each canary from each released statistic.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betainccinv, log_ndtr, ndtr, ndtri

from dpscd.errors import ParameterError, UtilityWarning
from dpscd.kernels.draws import shuffle
from dpscd.privacy.accounting import epsilon_of
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.cost import Cost
from dpscd.privacy.random import Purpose, SecureSource, SeededSource, Source
from dpscd.privacy.relation import PrivacyTarget

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Each release is compared with its own claim at this confidence: there are many of them.
RELEASE_CONFIDENCE = 0.999

# Share of the trials on which thresholds are chosen; the bounds use the others.
_PILOT = 0.1
_FEWEST = 20


class World(NamedTuple):
    """Which canaries take part in a run, and the randomness of the run."""

    present: Bools
    source: Source
    seed: int | None  # None when the operating system gives the randomness


class Statistic(NamedTuple):
    """A score of each canary of one run; higher means that the canary took part."""

    name: str
    scores: Floats
    # The release that it is read from, which has a claim of its own; None: all releases.
    cost: Cost | None = None


class Case(Protocol):
    """What is audited."""

    stream: ClassVar[str]  # name of the randomness of its runs, with {seed} and {name}

    @property
    def name(self) -> str:
        """Name in tables."""

    @property
    def canaries(self) -> int:
        """Canaries of a run, whose scores are independent."""

    @property
    def person_rows(self) -> int | None:
        """Rows of a canary that is a person; None if canaries are records."""

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Run what is audited once; return the claim, and statistics, the strongest first."""


@dataclass(frozen=True)
class Bound:
    """Lower bounds on epsilon from one statistic, and the claim that they are held against."""

    statistic: str
    epsilon_claimed: float
    confidence: float  # of each bound
    # Epsilon at delta of the Gaussian mechanism with this `mu`. Valid if the trade-off curve of
    # the mechanism is that of a Gaussian, as many small steps make it; the threshold lies where
    # the curve is best measured.
    gaussian: float
    mu: float  # lower bound on the parameter of Gaussian differential privacy
    clopper_pearson: float  # lower bound at delta, for any mechanism
    fpr: float  # observed error rates at the threshold of the Gaussian bound
    fnr: float

    @property
    def measured(self) -> float:
        """The larger of the bounds."""
        return max(self.gaussian, self.clopper_pearson)

    @property
    def exceeded(self) -> bool:
        """Whether a bound is above the claim: at this confidence, the claim is false."""
        return self.measured > self.epsilon_claimed


@dataclass(frozen=True)
class AuditResult:
    """Lower bounds from all statistics of a case."""

    name: str
    relation: str
    person_rows: int | None
    epsilon_claimed: float
    delta: float
    bounds: tuple[Bound, ...]  # the strongest statistic first
    trials: int  # canaries observed in each of the two worlds
    canaries: int  # in a run
    runs: int
    seed: int | None
    seconds: float

    def __getitem__(self, statistic: str) -> Bound:
        return next(bound for bound in self.bounds if bound.statistic == statistic)

    @property
    def epsilon_lower(self) -> float:
        """The Gaussian bound of the strongest statistic."""
        return self.bounds[0].gaussian

    @property
    def exceeded(self) -> bool:
        """Whether a bound of any statistic is above its claim."""
        return any(bound.exceeded for bound in self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        bounds = [{**asdict(bound), "exceeded": bound.exceeded} for bound in self.bounds]
        return {**asdict(self), "bounds": bounds, "exceeded": self.exceeded}


def audit(
    case: Case,
    *,
    trials: int = 20_000,
    confidence: float = 0.95,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> AuditResult:
    """Return empirical lower bounds on the epsilon of a case.

    Parameters
    ----------
    case : Case
        What is audited: a fit, a fit of a table, a score, a search, or one training.
    trials : int
        Canaries to observe in each of the two worlds. They count as independent.
    confidence : float
        Probability of each bound on the whole claim to be below the truth. A single release is
        held against its own claim at 99.9 %.
    random_state : int, optional
        Makes the audit repeatable.
    progress : callable, optional
        Called after each run with its number of canaries.

    Returns
    -------
    AuditResult
        The bounds, one pair for each statistic.

    Examples
    --------
    >>> from dpscd import DPRidge
    >>> from dpscd.audit import FitCase, audit
    >>> model = DPRidge(epsilon=1.0, delta=1e-5, lot_size=110, epochs=10)
    >>> result = audit(FitCase(model), trials=2000, random_state=0)
    >>> result.exceeded, result.epsilon_lower < result.epsilon_claimed
    (False, True)
    """
    start = time.perf_counter()
    if trials < 1:
        raise ParameterError(f"trials={trials!r} must be a positive integer.")
    worlds: list[Bools] = []
    seen: list[list[Statistic]] = []
    for world in _worlds(case, trials, random_state):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UtilityWarning)  # models that are not to be used
            target, statistics = case.trial(world)
        worlds.append(world.present)
        seen.append(statistics)
        if progress is not None:
            progress(case.canaries)
    there = np.concatenate(worlds)
    bounds = []
    for runs in zip(*seen, strict=True):
        name, _, cost = runs[0]
        scores = np.concatenate([run.scores for run in runs])
        sure = confidence if cost is None else RELEASE_CONFIDENCE
        claimed = target.epsilon if cost is None else _alone(cost, target)
        bounds.append(
            lower_bounds(
                scores[~there][:trials],
                scores[there][:trials],
                delta=target.delta,
                confidence=sure,
                claimed=claimed,
                statistic=name,
            )
        )
    return AuditResult(
        name=case.name,
        relation=target.relation.value,
        person_rows=case.person_rows,
        epsilon_claimed=target.epsilon,
        delta=target.delta,
        bounds=tuple(bounds),
        trials=trials,
        canaries=case.canaries,
        runs=len(worlds),
        seed=random_state,
        seconds=time.perf_counter() - start,
    )


def _worlds(case: Case, trials: int, random_state: int | None) -> Iterator[World]:
    """Yield a world for each run, until `trials` canaries were in, and as many out."""
    stream = case.stream.format(seed=random_state, name=case.name)
    have = np.zeros(2, dtype=np.int64)
    for run in count():
        if have.min() >= trials:
            return
        source: Source = SecureSource()
        if random_state is not None:
            source = SeededSource(f"{stream} {run}".encode())
        present, seed = draw_world(source, case.canaries, run % 2)
        yield World(present, source, seed if source.seeded else None)
        have += (present.sum(), (~present).sum())


def draw_world(source: Source, canaries: int, odd: int) -> tuple[Bools, int]:
    """Draw which canaries are present, half of them, and a seed for what is run with them."""
    # `odd`, 0 or 1, says which half of an odd number is larger: with one canary, whether it is
    # present.
    words = source.words(Purpose.ORDER, 0, 1, canaries + 1)[0]
    order = np.arange(canaries)
    shuffle(words[:-1], order)
    return order < (canaries + odd) // 2, int(words[-1] >> np.uint64(1))


def _alone(release: Cost, target: PrivacyTarget) -> float:
    """Return the epsilon of one release alone."""
    event, parts = release.event, ((release.event.rate, release.event.steps),)
    interval = interval_for(target.epsilon, target.delta, target.relation, parts)
    return epsilon_of([event], target.delta, target.relation, interval).epsilon


def lower_bounds(
    absent: Floats,
    present: Floats,
    *,
    delta: float,
    confidence: float = 0.95,
    claimed: float = math.inf,
    statistic: str = "",
) -> Bound:
    """Return lower bounds on epsilon at `delta` from the scores of two neighbouring worlds.

    Scores are without and with the record; higher should mean present. What was `claimed`, by
    which `statistic`, is only noted.

    Guarantee: with fpr and fnr the true error rates of the test ``score > threshold``, both are
    below their Clopper-Pearson limits with probability `confidence` (half the risk each), and
    an (epsilon, delta)-private mechanism has ``epsilon >= log((1 - delta - fnr) / fpr)`` and
    the same with fpr and fnr exchanged. For the Gaussian bound,
    ``mu = Phi^-1(1 - fpr) - Phi^-1(fnr)``.
    Requires: scores independent of each other. Thresholds are chosen on the first tenth of the
    trials and applied to the others, so the choice costs no confidence.
    """
    if min(len(absent), len(present)) < _FEWEST:
        raise ParameterError(f"an audit needs at least {_FEWEST} trials in each world.")
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    risk = (1.0 - confidence) / 2.0
    pilot, rest = zip(_split(absent), _split(present), strict=True)
    middle = float(np.median(np.concatenate(pilot)))
    fpr, fnr = _limits(*rest, middle, risk)
    mu = gaussian_mu(fpr, fnr)
    threshold = _threshold(*pilot, middle, len(rest[0]), delta, risk)
    epsilon = _epsilon(*_limits(*rest, threshold, risk), delta)
    return Bound(
        statistic=statistic,
        epsilon_claimed=claimed,
        confidence=confidence,
        gaussian=gaussian_epsilon(mu, delta),
        mu=mu,
        clopper_pearson=epsilon,
        fpr=float(np.mean(rest[0] > middle)),
        fnr=float(np.mean(rest[1] <= middle)),
    )


def gaussian_mu(fpr: float, fnr: float) -> float:
    """Return the mu of the Gaussian trade-off curve through error rates, at least 0."""
    return max(-float(ndtri(fpr) + ndtri(fnr)), 0.0)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon at `delta` of a mu-Gaussian-private mechanism."""

    def excess(epsilon: float) -> float:
        # exp(epsilon) Phi(...) with one exponential: neither factor need be finite.
        second = math.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2.0))
        return float(ndtr(-epsilon / mu + mu / 2.0) - second - delta)

    if mu <= 0.0 or excess(0.0) <= 0.0:
        return 0.0
    # Beyond this the first term alone is below delta.
    high = mu * (mu / 2.0 - float(ndtri(delta)))
    return float(brentq(excess, 0.0, high, xtol=1e-12))


def trade_off(fpr: npt.ArrayLike, mu: float) -> Floats:
    """Return the highest true positive rate that mu-Gaussian privacy allows."""
    tpr: Floats = ndtr(ndtri(fpr) + mu)
    return tpr


def _split(scores: Floats) -> tuple[Floats, Floats]:
    cut = max(_FEWEST // 2, round(_PILOT * len(scores)))
    return scores[:cut], scores[cut:]


def _threshold(
    absent: Floats, present: Floats, middle: float, trials: int, delta: float, risk: float
) -> float:
    """Return a threshold that suits the bound on epsilon, from the trials of the pilot."""
    # Ratios of error rates are largest in the tails, where there is little to count. The
    # distance is that for the Gaussian curve which the pilot suggests: trying thresholds would
    # need far more trials. Then the better tail is taken.
    shares = np.geomspace(1e-5, 0.5, 60)
    # Half an error more than were counted: no rate is 0 or 1.
    fpr = (np.sum(absent > middle) + 0.5) / (len(absent) + 1.0)
    fnr = (np.sum(present <= middle) + 0.5) / (len(present) + 1.0)
    missed = 1.0 - trade_off(shares, gaussian_mu(fpr, fnr))
    expected = [
        _epsilon(_upper(a * trials, trials, risk), _upper(b * trials, trials, risk), delta)
        for a, b in zip(shares, missed, strict=True)
    ]
    share = float(shares[np.argmax(expected)])
    tails = np.quantile(absent, 1.0 - share), np.quantile(present, share)
    return float(max(tails, key=lambda t: _epsilon(*_limits(absent, present, t, risk), delta)))


def _limits(
    absent: Floats, present: Floats, threshold: float, risk: float
) -> tuple[float, float]:
    """Return upper confidence limits of the error rates of ``score > threshold``."""
    wrong, missed = int(np.sum(absent > threshold)), int(np.sum(present <= threshold))
    return _upper(wrong, len(absent), risk), _upper(missed, len(present), risk)


def _upper(count: float, trials: int, risk: float) -> float:
    """Return the Clopper-Pearson upper limit of a probability."""
    return float(betainccinv(count + 1.0, trials - count, risk)) if count < trials else 1.0


def _epsilon(fpr: float, fnr: float, delta: float) -> float:
    """Return the smallest epsilon, at least 0, that allows these error rates."""
    one, other = (1.0 - delta - fnr) / fpr, (1.0 - delta - fpr) / fnr
    return math.log(max(one, other, 1.0))
