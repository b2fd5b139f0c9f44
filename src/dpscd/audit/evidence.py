"""Log-likelihood ratios of each canary from each release of a fit.

The adversary knows the canaries' records, the code, all other records and everything that was
released; only participation, lots and duals are hidden. Every release is a sum plus Gaussian
noise of a known deviation, given earlier releases, so its log-likelihood ratio of present to
absent is known once a canary's contribution is. That of a saturated canary is: its clipped
step, whichever its dual, in the direction of its row by then.

Only numbers that no other canary moves are used: the canary's own features and cells. Their
noise is independent, so canaries of one fit are independent trials. Numbers shared by all
canaries (the mean of labels, their spread, the constant column) would add little to each and
make them dependent.

A likelihood ratio is the best attack on a mechanism that is as it claims to be. Noise missing
from a part shows little in the whole and much in an attack on that part, so releases and their
parts are also attacked one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records, plain_steps, shorten
from dpscd.kernels.rows import MARGIN
from dpscd.model.fit import Fit
from dpscd.problem import Problem, labels_of, rows_of
from dpscd.releases.base import Release
from dpscd.releases.bounds import Bounds
from dpscd.releases.moments import Moments
from dpscd.releases.training import Training

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CLIPPED = 1.0 - 2.0**-18


@dataclass(frozen=True)
class Canaries:
    """The attacked records, as the estimator gets them."""

    X: Any  # rows in the user's units, one per canary; so are `labels`
    labels: Floats
    features: Ints  # the feature that is a canary's own
    # rows and labels in the place of absent canaries (replace-one), or None
    absent: tuple[Any, Floats] | None = None
    # the cell of the first histogram of bounds that is a canary's own; -1 for none
    cells: Ints | None = None
    # Training weight of a canary's row, and of all that step with it. A person's rows are
    # alike, so one of them shows where all of them, clipped together, move.
    row_weights: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True)
class Walk:
    """The released path of one training."""

    problem: Problem  # public; standardised by earlier releases
    training: Training
    # The count of steps done and the shared vector then, of shape (outputs, width): after every
    # step, or after every epoch where noise is lazy.
    seen: list[tuple[int, Floats]] = field(default_factory=list)

    def increments(self) -> Iterator[tuple[int, Floats]]:
        """Yield the number of steps, and the shared vector's move over them."""
        step, vector = 0, np.zeros_like(self.seen[0][1])
        for then, found in self.seen:
            yield then - step, found - vector
            step, vector = then, found


class Path:
    """An observer of a fit, which keeps the path of each training."""

    pause: int | None = 1

    def __init__(self) -> None:
        self.walks: list[Walk] = []

    def begins(self, problem: Problem, training: Training) -> None:
        """Begin the path of a training."""
        self.walks.append(Walk(problem, training))

    def moved(self, steps: int, shared: Floats) -> None:
        """Keep the shared vector."""
        self.walks[-1].seen.append((steps, shared))


class Evidence(NamedTuple):
    """Log-likelihood ratios of the canaries of one fit from a release."""

    release: Release
    part: str  # empty for the whole release
    scores: Floats  # those of whole releases add up to the ratio of the fit


def evidence(fit: Fit, path: Path, canaries: Canaries) -> Iterator[Evidence]:
    """Yield the ratios of each canary from each release, then from the parts of that one."""
    answers, walks = iter(fit.answers), iter(path.walks)
    for release in fit.plan.releases:
        answer, *_ = [next(answers) for _ in release.at]
        parts: dict[str, Floats] = {}
        if isinstance(release, Bounds) and canaries.cells is not None:
            parts = {"": _bounds(release, answer, canaries.cells)}
        elif isinstance(release, Moments):
            mean, square = _moments(release, answer, path.walks[-1].problem, canaries)
            parts = {"": mean + square, "means": mean, "squares": square}
        elif isinstance(release, Training):
            parts = _path(next(walks), canaries)
        yield from (Evidence(release, part, scores) for part, scores in parts.items())


def _bounds(release: Bounds, histogram: Floats, cells: Ints) -> Floats:
    """Return the ratios of a count of one in a bin that is otherwise empty."""
    shift = MARGIN / np.sqrt(release.columns)
    seen, there = histogram[:1, np.maximum(cells, 0)], np.full((1, len(cells)), shift)
    ratio = _gaussian(seen, there, 0.0, release.noise_multiplier)
    found: Floats = np.where(cells >= 0, ratio, 0.0)
    return found


def _moments(
    release: Moments, noisy: Floats, problem: Problem, canaries: Canaries
) -> tuple[Floats, Floats]:
    """Return the ratios of a canary's own mean, and of its mean square."""

    def contribution(X: Any) -> Floats:
        own = problem.plain_rows(X).factor * _own(X, canaries.features)
        found: Floats = MARGIN * np.sqrt(0.5) * np.stack([own, own * own])
        return found[:, None]

    there = contribution(canaries.X)
    absent = np.zeros_like(there)
    if canaries.absent is not None:
        absent = contribution(canaries.absent[0])
    seen, noise = noisy[:, None, canaries.features], release.noise_multiplier
    mean, square = (_gaussian(seen[k], there[k], absent[k], noise) for k in (0, 1))
    return mean, square


def _gaussian(seen: Floats, there: Floats, absent: Any, std: float) -> Floats:
    """Return the ratio of two Gaussians of one deviation, numbers along the first axis."""
    middle = (there + absent) / 2.0
    ratio: Floats = ((seen - middle) * (there - absent)).sum(axis=0) / std**2
    return ratio


def _path(walk: Walk, canaries: Canaries) -> dict[str, Floats]:
    """Return the ratios of increments of a canary's own coordinates, and of each output's."""
    there = saturated_shifts(walk, canaries, canaries.X, canaries.labels)
    absent = None
    if canaries.absent is not None:
        absent = saturated_shifts(walk, canaries, *canaries.absent)
    outputs = range(len(there))
    parts = {"": list(outputs)}
    if len(outputs) > 1:
        parts |= {f"output {k + 1}": [k] for k in outputs}
    found = {part: np.zeros(len(canaries.features)) for part in parts}
    for steps, moved in walk.increments():
        for part, own in parts.items():
            seen = moved[own][:, canaries.features]
            found[part] += _mixture(seen, there[own], walk.training, steps)
            if absent is not None:
                found[part] -= _mixture(seen, absent[own], walk.training, steps)
    return found


def _mixture(own: Floats, shift: Floats, plan: Training, steps: int) -> Floats:
    """Return the log-ratio to noise alone of a canary that is drawn at random in each step."""
    # Over several steps it is drawn a binomial number of times, each with the same shift.
    times = np.arange(steps + 1)[:, None]
    chances = gammaln(steps + 1) - gammaln(times + 1) - gammaln(steps - times + 1)
    chances = chances + times * np.log(plan.rate)
    if plan.rate < 1.0:
        chances = chances + (steps - times) * np.log1p(-plan.rate)
    else:
        chances, times = chances[-1:], times[-1:]
    variance = steps * plan.noise.std**2
    along, square = (own * shift).sum(axis=0), (shift * shift).sum(axis=0)
    exponents = (times * along - times**2 * square / 2.0) / variance
    ratio: Floats = np.logaddexp.reduce(chances + exponents, axis=0)
    return ratio


def saturated_shifts(walk: Walk, canaries: Canaries, X: Any, labels: Floats) -> Floats:
    """Return how far each canary, or replacement, moves its coordinate when drawn, per output.

    ParameterError is raised if a step is not clipped at the first or the last possible state.
    """
    problem, plan = walk.problem, walk.training
    numbers = plan.constants(problem.strength)
    rows = problem.rows(X)
    inner = labels
    if problem.outputs == 1:
        inner = labels_of(problem, rows_of(problem, X), labels)
    weight, mass = canaries.row_weights
    records = Records(inner, np.full(len(inner), weight))
    own = rows.factor * _own(_values(X, rows), canaries.features)
    shifts = np.empty((problem.outputs, len(inner)))
    steps = np.empty(problem.outputs)
    last = walk.seen[-1][1].copy()
    begin, end = np.zeros((2, len(inner), problem.outputs))

    def step(i: int, shared: Floats, dual: Floats) -> None:
        plain_steps(problem.loss, rows, records, numbers, shared, dual, i, mass, steps)
        shorten(steps, rows.norm[i], numbers.clip)

    for i in range(len(inner)):
        step(i, np.zeros_like(last), begin)
        shifts[:, i] = steps * own[i]
        first = steps.copy()
        end[i] = plan.steps * first
        step(i, last, end)
        shortest = rows.norm[i] * min(np.linalg.norm(first), np.linalg.norm(steps))
        if not (shortest >= _CLIPPED * plan.clip and first @ steps > 0.0):
            raise ParameterError(
                f"travel={plan.travel:g} and lam={plan.lam:g} leave steps of a canary "
                "unclipped; an audit needs a smaller travel or a larger lam."
            )
    return shifts


def _values(X: Any, rows: Any) -> Any:
    """Return the matrix of the rows' values, standardised or not."""
    if not hasattr(X, "indptr"):
        return rows.values
    return type(X)((rows.values, rows.indices, rows.indptr), shape=X.shape)


def _own(X: Any, features: Ints) -> Floats:
    """Return the entry of each row at its own feature."""
    found = X[np.arange(len(features)), features]
    return np.asarray(found, dtype=np.float64).ravel()
