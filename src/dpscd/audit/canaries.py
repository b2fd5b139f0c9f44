"""Records made to be found, and the likelihood ratios that find them.

A canary's row is the longest allowed, along a feature of its own, and its step is *saturated*:
it contributes the whole clip whenever it is drawn. Given earlier answers every release is a sum
plus Gaussian noise, and a canary's contribution is known, so the log-likelihood ratio of
present to absent is too. Numbers that all canaries share are not used: canaries of one fit are
independent trials. Why this is the worst case: docs/understanding/audit.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gammaln

from dpscd.audit.audit import Bools, Floats, Statistic
from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records, plain_steps, shorten
from dpscd.kernels.rows import MARGIN
from dpscd.model.fit import Fit
from dpscd.persons import SHARE, PersonFacts
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem, labels_of, rows_of
from dpscd.releases.bounds import Bounds
from dpscd.releases.moments import Moments
from dpscd.releases.training import Pilot, Training

Ints = npt.NDArray[np.int64]

#: Regularisation of an audit, in units of the squared row bound: predictions vanish.
SATURATING_LAM = 1e9

_CLIPPED = 1.0 - 2.0**-18
_ORDINARY_FEATURES = 4


@dataclass(frozen=True)
class Dataset:
    """The data of one run, in the user's units; the rows of a person are adjacent."""

    X: sparse.csr_array
    targets: Floats
    weights: Floats
    present: Bools  # which canaries took part
    starts: Ints  # first row of each person or record, and the end of the last

    @property
    def groups(self) -> Ints:
        """Person of each row."""
        sizes = np.diff(self.starts)
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def scattered(self) -> Ints:
        """An order of rows in which every person's first row precedes any second one."""
        place = np.arange(self.starts[-1]) - self.starts[self.groups]
        return np.argsort(place, kind="stable")


@dataclass(frozen=True)
class Suspects:
    """The canaries as they are given to a fit; number k has feature k to itself."""

    X: Any  # rows in the user's units, one for each canary; of a person, any of its rows
    labels: Floats
    # rows and labels in the place of absent canaries (replace-one), or None
    absent: tuple[Any, Floats] | None = None
    # the cell of the first histogram of bounds that is a canary's own
    cells: Ints | None = None
    weights: tuple[float, float] = (1.0, 1.0)  # as :func:`row_weights` returns them


@dataclass(frozen=True)
class Population:
    """Canaries and other records of a run, or persons with all their rows."""

    canaries: int = 1000  # each on a feature of its own; these features come first
    ordinary: int = 100  # other records, on features of their own, that no canary meets
    # For each canary, records on its feature that pull the other way. They hide it under
    # Poisson sampling, and give it away when lots have a fixed size.
    companions: int = 0
    # Rows of each canary, which is a person then, as all others are: a companion has one row,
    # an ordinary person one, two and so on up to as many as a canary. None: rows are records.
    person_rows: int | None = None

    def __post_init__(self) -> None:
        if self.canaries < 1 or self.ordinary < 0 or self.companions < 0:
            raise ParameterError("canaries must be at least 1, other records at least 0.")
        if self.person_rows is not None and self.person_rows < 1:
            raise ParameterError(
                f"person_rows={self.person_rows!r} must be at least 1, or None."
            )

    @property
    def records(self) -> int:
        """Number of records, or of persons, when every canary is there."""
        return self.canaries * (1 + self.companions) + self.ordinary

    @property
    def features(self) -> int:
        """Number of features."""
        return self.canaries + (_ORDINARY_FEATURES if self.ordinary else 0)

    def dataset(self, present: Bools, relation: Relation, row_bound: float) -> Dataset:
        """Return the records of a run; targets are +-1, canaries' always +1.

        An absent canary has weight 0, is not in the data, or pulls the other way.
        """
        block = 1 + self.companions
        own = self.canaries * block
        sizes = self._sizes(present, relation)
        owner = np.repeat(np.arange(self.records), sizes)
        canaries = owner[owner < own]
        signs = np.full(own, -1.0)
        signs[::block] = np.where(present | (relation.absent != "other"), 1.0, -1.0)
        rows = sparse.csr_array(
            (row_bound * signs[canaries], canaries // block, np.arange(len(canaries) + 1)),
            shape=(len(canaries), self.features),
        )
        weights = np.ones(self.records)
        if relation.absent == "empty":
            weights[:own:block] = present
        targets = np.ones(len(owner))
        targets[len(canaries) :: 2] = -1.0
        others = self._ordinary(len(owner) - len(canaries), row_bound)
        X = sparse.csr_array(sparse.vstack([rows, others]))
        starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
        return Dataset(X, targets, weights[owner], present, starts)

    def suspects(
        self, relation: Relation, row_bound: float, labels: Floats, *, dense: bool = False
    ) -> Suspects:
        """Return the canaries as the adversary knows them; of a person one row."""
        there = np.ones(self.canaries, dtype=bool)

        def rows(present: Bools) -> Any:
            data = self.dataset(present, relation, row_bound)
            block = 1 + self.companions
            X = data.X[data.starts[: self.canaries * block : block]]
            return X.toarray() if dense else X

        absent = (rows(~there), labels) if relation.absent == "other" else None
        return Suspects(rows(there), labels, absent)

    def _sizes(self, present: Bools, relation: Relation) -> Ints:
        """Return how many rows each record (one, or none) or each person has."""
        most = self.person_rows or 1
        any_number = 1 + np.arange(self.records) % most
        absent: dict[str, Any] = {
            "empty": 1,
            "nothing": 0,
            "other": any_number[: self.canaries],
        }
        sizes = np.ones(self.records, dtype=np.int64)
        own = self.canaries * (1 + self.companions)
        sizes[: own : 1 + self.companions] = np.where(present, most, absent[relation.absent])
        sizes[own:] = any_number[: self.ordinary]
        return sizes

    def _ordinary(self, rows: int, row_bound: float) -> sparse.csr_array:
        """Return rows of different lengths and directions, the same in every run."""
        width = _ORDINARY_FEATURES if self.ordinary else 0
        angles = np.outer(np.arange(rows), np.arange(1, width + 1))
        values = row_bound * np.cos(angles) / np.sqrt(max(width, 1))
        empty = sparse.csr_array((rows, self.canaries))
        return sparse.csr_array(sparse.hstack([empty, sparse.csr_array(values)]))


def row_weights(persons: PersonFacts | None, rows: int) -> tuple[float, float]:
    """Return the training weight of a canary's row, and of all rows that step with it."""
    if persons is None:
        return 1.0, 1.0
    weight = 1.0 / rows if persons.weight == SHARE else 1.0
    return weight, weight * min(rows, persons.most)


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


def evidence(fit: Fit, path: Path, suspects: Suspects, model: Floats) -> list[Statistic]:
    """Return the ratios of all releases together, the `model` alone, and each release."""
    answers, walks = iter(fit.answers), iter(path.walks)
    found = []
    whole = np.zeros(len(suspects.labels))
    for release in fit.plan.releases:
        answer, *_ = [next(answers) for _ in release.at]
        parts: dict[str, Floats] = {}
        if isinstance(release, Bounds) and suspects.cells is not None:
            parts = {"": _bounds(release, answer, suspects.cells)}
        elif isinstance(release, Moments):
            mean, square = _moments(release, answer, path.walks[-1].problem, suspects)
            parts = {"": mean + square, "means": mean, "squares": square}
        elif isinstance(release, Training):
            parts = path_ratios(next(walks), suspects)
        what = "pilot" if isinstance(release, Pilot) else release.what
        for part, scores in parts.items():
            found.append(Statistic(f"{what} {part}".strip(), scores, release.cost))
        whole += parts.get("", 0.0)
    return [Statistic("all releases", whole), Statistic("model alone", model), *found]


def _bounds(release: Bounds, histogram: Floats, cells: Ints) -> Floats:
    """Return the ratios of a count of one in a bin that is otherwise empty."""
    shift = np.full((1, len(cells)), MARGIN / np.sqrt(release.columns))
    return _gaussian(histogram[:1, cells], shift, 0.0, release.noise_multiplier)


def _moments(
    release: Moments, noisy: Floats, problem: Problem, suspects: Suspects
) -> tuple[Floats, Floats]:
    """Return the ratios of a canary's own mean, and of its mean square."""

    def contribution(X: Any) -> Floats:
        own = problem.plain_rows(X).factor * _own(X)
        found: Floats = MARGIN * np.sqrt(0.5) * np.stack([own, own * own])
        return found[:, None]

    there = contribution(suspects.X)
    absent = np.zeros_like(there)
    if suspects.absent is not None:
        absent = contribution(suspects.absent[0])
    seen, noise = noisy[:, None, : len(suspects.labels)], release.noise_multiplier
    mean, square = (_gaussian(seen[k], there[k], absent[k], noise) for k in (0, 1))
    return mean, square


def _gaussian(seen: Floats, there: Floats, absent: Any, std: float) -> Floats:
    """Return the ratio of two Gaussians of one deviation, numbers along the first axis."""
    middle = (there + absent) / 2.0
    ratio: Floats = ((seen - middle) * (there - absent)).sum(axis=0) / std**2
    return ratio


def path_ratios(walk: Walk, suspects: Suspects) -> dict[str, Floats]:
    """Return the ratios of increments of a canary's own coordinates, and of each output's."""
    there = saturated_shifts(walk, suspects, suspects.X, suspects.labels)
    absent = None
    if suspects.absent is not None:
        absent = saturated_shifts(walk, suspects, *suspects.absent)
    outputs = range(len(there))
    parts = {"": list(outputs)}
    if len(outputs) > 1:
        parts |= {f"output {k + 1}": [k] for k in outputs}
    found = {part: np.zeros(len(suspects.labels)) for part in parts}
    rate, std = walk.training.rate, walk.training.noise.std
    for steps, moved in walk.increments():
        for part, own in parts.items():
            seen = moved[own, : len(suspects.labels)]
            found[part] += step_ratios(seen, there[own], rate, std, steps)
            if absent is not None:
                found[part] -= step_ratios(seen, absent[own], rate, std, steps)
    return found


def step_ratios(own: Floats, shift: Floats, rate: float, std: float, steps: int = 1) -> Floats:
    """Return the log-ratio to noise alone of canaries that are drawn at random in each step.

    `own` are moves of each canary, one output in each row, `shift` those when it is drawn.
    """
    # Over several steps it is drawn a binomial number of times.
    times = np.arange(steps + 1)[:, None]
    chances = gammaln(steps + 1) - gammaln(times + 1) - gammaln(steps - times + 1)
    chances = chances + times * np.log(rate)
    if rate < 1.0:
        chances = chances + (steps - times) * np.log1p(-rate)
    else:
        chances, times = chances[-1:], times[-1:]
    along, square = (own * shift).sum(axis=0), np.square(shift).sum(axis=0)
    exponents = (times * along - times**2 * square / 2.0) / (steps * std**2)
    ratio: Floats = np.logaddexp.reduce(chances + exponents, axis=0)
    return ratio


def saturated_shifts(walk: Walk, suspects: Suspects, X: Any, labels: Floats) -> Floats:
    """Return how far each canary moves its coordinate when drawn, or refuse unclipped steps."""
    problem, plan = walk.problem, walk.training
    numbers = plan.constants(problem.strength)
    rows = problem.rows(X)
    inner = labels
    if problem.outputs == 1:
        inner = labels_of(problem, rows_of(problem, X), labels)
    weight, mass = suspects.weights
    records = Records(inner, np.full(len(inner), weight))
    own = rows.factor * _own(_values(X, rows))
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


def _own(X: Any) -> Floats:
    """Return the entry of each canary's row at its own feature."""
    found = X[:, : X.shape[0]].diagonal()
    return np.asarray(found, dtype=np.float64).ravel()
