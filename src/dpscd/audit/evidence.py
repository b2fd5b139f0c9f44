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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dpscd.audit.recording import Recording, Training
from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records, plain_steps, shorten
from dpscd.kernels.margin import MARGIN
from dpscd.plan import Plan
from dpscd.privacy.random import Purpose
from dpscd.privacy.release import BOUND_CELLS, Release
from dpscd.problem import labels_of, rows_of

__all__ = ["Canaries", "Evidence", "evidence"]

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


class Evidence(NamedTuple):
    """Log-likelihood ratios of the canaries of one fit."""

    releases: dict[str, Floats]  # by release; their sum is the ratio of all of them
    parts: dict[str, dict[str, Floats]]  # by release and part, where it has parts


def evidence(recording: Recording, canaries: Canaries) -> Evidence:
    """Return the ratios of each canary from each release, and each part of one."""
    planned = {x.what: x for x in recording.plan.first_releases()}
    releases: dict[str, Floats] = {}
    parts: dict[str, dict[str, Floats]] = {}
    if canaries.cells is not None:
        histogram = recording.sums[Purpose.BOUNDS, 0]
        releases["bounds"] = _bounds(planned["bounds"], histogram, canaries.cells)
    if "moments" in planned:
        mean, square = _moments(planned["moments"], recording, canaries)
        releases["moments"] = mean + square
        parts["moments"] = {"means": mean, "squares": square}
    names = ["pilot", "shared vector"][-len(recording.trainings) :]
    for name, training in zip(names, recording.trainings, strict=True):
        there, absent = _shifts(training, canaries)
        every = range(len(there))
        releases[name] = _path(training, canaries.features, there, absent, list(every))
        if len(every) > 1:
            parts[name] = {
                f"output {k + 1}": _path(training, canaries.features, there, absent, [k])
                for k in every
            }
    return Evidence(releases, parts)


def _bounds(release: Release, histogram: Floats, cells: Ints) -> Floats:
    """Return the ratios of a count of one in a bin that is otherwise empty."""
    columns = release.size // BOUND_CELLS
    shift = MARGIN / np.sqrt(columns)
    seen = histogram.reshape(columns, BOUND_CELLS)[0, np.maximum(cells, 0)]
    noise = release.event.noise_multiplier
    ratio = _gaussian(seen[None], np.full((1, len(cells)), shift), 0.0, noise)
    found: Floats = np.where(cells >= 0, ratio, 0.0)
    return found


def _moments(
    release: Release, recording: Recording, canaries: Canaries
) -> tuple[Floats, Floats]:
    """Return the ratios of a canary's own mean, and of its mean square."""
    problem = recording.trainings[-1].problem
    noisy = recording.sums[Purpose.MOMENTS, 0].reshape(2, problem.d)[:, canaries.features]

    def contribution(X: Any) -> Floats:
        own = problem.plain_rows(X).factor * _own(X, canaries.features)
        found: Floats = MARGIN * np.sqrt(0.5) * np.stack([own, own * own])
        return found[:, None]

    there = contribution(canaries.X)
    absent = np.zeros_like(there)
    if canaries.absent is not None:
        absent = contribution(canaries.absent[0])
    noise = release.event.noise_multiplier
    mean, square = (_gaussian(noisy[k : k + 1], there[k], absent[k], noise) for k in (0, 1))
    return mean, square


def _gaussian(seen: Floats, there: Floats, absent: Any, std: float) -> Floats:
    """Return the ratio of two Gaussians of one deviation, numbers along the first axis."""
    middle = (there + absent) / 2.0
    ratio: Floats = ((seen - middle) * (there - absent)).sum(axis=0) / std**2
    return ratio


def _shifts(training: Training, canaries: Canaries) -> tuple[Floats, Floats | None]:
    """Return how far a canary, or its replacement, moves the canary's coordinates."""
    there = saturated_shifts(training, canaries, canaries.X, canaries.labels)
    if canaries.absent is None:
        return there, None
    return there, saturated_shifts(training, canaries, *canaries.absent)


def _path(
    training: Training,
    features: Ints,
    there: Floats,
    absent: Floats | None,
    outputs: list[int],
) -> Floats:
    """Return the ratios of the increments of a canary's own coordinates in some outputs."""
    plan = training.plan
    total = np.zeros(len(features))
    for steps, moved in training.increments():
        own = moved[outputs][:, features]
        total += _mixture(own, there[outputs], plan, steps)
        if absent is not None:
            total -= _mixture(own, absent[outputs], plan, steps)
    return total


def _mixture(own: Floats, shift: Floats, plan: Plan, steps: int) -> Floats:
    """Return the log-ratio to noise alone of a canary that is drawn at random in each step.

    Over several steps it is drawn a binomial number of times, each with the same shift.
    """
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


def saturated_shifts(training: Training, canaries: Canaries, X: Any, labels: Floats) -> Floats:
    """Return how far each canary moves its own coordinate when it is drawn, per output.

    `X` and `labels` are the canaries or their replacements. ParameterError is raised if a step
    is not clipped at the first or the last possible state.
    """
    problem, plan = training.problem, training.plan
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
    last = training.vectors[-1].copy()
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
