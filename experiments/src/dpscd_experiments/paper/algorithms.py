"""The paper's algorithms and baselines, and how lots and noise are drawn for them.

For reproduction only: :data:`dpscd_experiments.paper.STATEMENTS` says what is and is not
guaranteed. The product is :func:`dpscd.solvers.dp_scd.dp_scd`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import linalg

from dpscd.errors import ParameterError
from dpscd.kernels.draws import shuffle
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import CsrRows, Rows
from dpscd.losses import Hinge, Loss, Squared
from dpscd.privacy.draws import Lots, PoissonLots, draw_normals
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import Problem
from dpscd.solvers.sdca import sdca
from dpscd_experiments.kernels.gradient import descend
from dpscd_experiments.kernels.published import (
    PublishedNumbers,
    advance_primal,
    advance_published,
    combine,
)
from dpscd_experiments.losses.published_logistic import PublishedLogistic
from dpscd_experiments.paper import theory
from dpscd_experiments.solvers.dp_sgd import decay_of, follow
from dpscd_experiments.solvers.looks import Look, Observer, exact_looks

Floats = npt.NDArray[np.float64]

#: The losses as the paper trains them.
LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    # The type names the losses of the estimators; operations serve any loss.
    "logistic": cast(Loss, PublishedLogistic()),
    "hinge": Hinge(),
}

#: How lots may be drawn: cut from a permutation, as in the authors' experiments, or with
#: independent bits, as the accounting assumes.
LOTS = ("shuffled", "poisson")

_CHUNK = 2**16  # numbers drawn at once


@dataclass(frozen=True)
class Settings:
    """The settings of one run; each method uses those it has."""

    epochs: int  # passes over the records (or, in Algorithm 2, over the coordinates)
    lot_size: int = 1  # the paper's L
    clip: float = math.inf  # the paper's C; infinite for none, which needs ``sigma=0``
    # The paper's sigma: standard deviation of the noise over the *published* sensitivity.
    sigma: float = 0.0
    lots: str = "shuffled"
    learning_rate: float = 1.0  # the paper's eta, for SGD and DP-SGD

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.lot_size < 1:
            raise ParameterError(
                f"epochs={self.epochs!r} and lot_size={self.lot_size!r} must be at least 1."
            )
        if self.lots not in LOTS:
            raise ParameterError(f"lots={self.lots!r} must be one of {', '.join(LOTS)}.")
        if not (math.isfinite(self.sigma) and self.sigma >= 0.0):
            raise ParameterError(f"sigma={self.sigma!r} must be at least 0 and finite.")
        # A clip of 0 would mean noise of 0, and an epsilon computed from sigma alone.
        if not self.clip > 0.0:
            raise ParameterError(f"clip={self.clip!r} must be greater than 0.")
        if self.sigma > 0.0 and math.isinf(self.clip):
            raise ParameterError(f"sigma={self.sigma!r} needs a finite clip.")

    def steps_per_epoch(self, units: int) -> int:
        """Return the number of lots that make an epoch of `units` records or coordinates."""
        if self.lot_size > units:
            raise ParameterError(
                f"lot_size={self.lot_size!r} must be at most {units}, the number of records "
                "(of coordinates in Algorithm 2)."
            )
        return math.ceil(units / self.lot_size)

    def steps(self, units: int) -> int:
        """Return the number of steps, the paper's T."""
        return self.epochs * self.steps_per_epoch(units)

    def noise(self, sensitivity: float) -> float:
        """Return the standard deviation of noise for `sensitivity`, which may be infinite."""
        return self.sigma * sensitivity if self.sigma > 0.0 else 0.0


class Run(NamedTuple):
    """What every algorithm is given; it returns the shared vector."""

    problem: Problem
    rows: Rows
    records: Records
    settings: Settings
    source: Source
    observer: Observer | None = None


class Chunk(NamedTuple):
    """The randomness of some steps."""

    lots: Lots
    own: Floats  # standard normals, one a member
    shared: Floats  # standard normals, one row a step


def shuffled_lots(
    source: Source, count: int, lot_size: int, epochs: int, chunk: int
) -> Iterator[Lots]:
    """Yield lots cut from a fresh permutation every epoch, at most `chunk` at a time.

    Guarantee: none. Accounting for Poisson lots does not apply to these.
    """
    order = np.arange(count)
    for epoch in range(1, epochs + 1):
        # Every epoch starts a lot, so nobody is twice in one.
        shuffle(source.words(Purpose.ORDER, epoch, 1, count)[0], order)
        for first in range(0, count, chunk * lot_size):
            ids = order[first : first + chunk * lot_size]
            yield Lots(ids, np.append(np.arange(0, len(ids), lot_size), len(ids)))


def _lots(settings: Settings, source: Source, units: int, chunk: int) -> Iterator[Lots]:
    epoch = settings.steps_per_epoch(units)
    if settings.lots == "shuffled":
        yield from shuffled_lots(source, units, settings.lot_size, settings.epochs, chunk)
        return
    poisson = PoissonLots(settings.lot_size / units)
    for start in range(0, settings.steps(units), epoch):
        for first in range(start, start + epoch, chunk):
            steps = min(chunk, start + epoch - first)
            yield poisson.draw(source, first, steps, units)


def chunks(
    settings: Settings, source: Source, units: int, size: int, *, own: bool = True
) -> Iterator[Chunk]:
    """Yield the lots of `units` records or coordinates with their noise, epoch by epoch."""
    first = pairs = 0
    for lots in _lots(settings, source, units, max(1, _CHUNK // max(size, settings.lot_size))):
        steps, members = len(lots.starts) - 1, len(lots.ids)
        shared, normals = np.zeros((steps, size)), np.zeros(members)
        if settings.sigma > 0.0:
            shared = draw_normals(source, Purpose.NOISE, first, steps, size)
        if own and settings.sigma > 0.0:
            # Lots differ in size: the stream is counted in pairs of normals.
            more = (members + 1) // 2
            drawn = draw_normals(source, Purpose.DUAL_NOISE, pairs, more, 2)
            normals = drawn.ravel()[:members]
            pairs += more
        first += steps
        yield Chunk(lots, normals, shared)


def dp_scd(run: Run) -> Floats:
    """Run Algorithm 1, DP-SCD: noise on the duals of the lot and on the shared vector."""
    return _dual_lots(run, theory.sensitivity_dual(run.settings.clip), sequential=False)


def seq_dp_scd(run: Run) -> Floats:
    """Run Algorithm 3, seqDP-SCD: each step of a lot sees those before it."""
    # The subproblem is that of equation (5), lot size included, as in the published listing.
    sensitivity = theory.sensitivity_sequential(run.settings.clip, run.settings.lot_size)
    return _dual_lots(run, sensitivity, sequential=True)


def _dual_lots(run: Run, sensitivity: float, *, sequential: bool) -> Floats:
    problem, rows, records, settings, source, observer = run
    single_output(problem)
    count = len(records.labels)
    dual, shared = np.zeros(count), np.zeros(problem.width)
    std = settings.noise(sensitivity)
    lot = float(settings.lot_size)
    numbers = PublishedNumbers(problem.strength, lot, settings.clip, std)
    epoch = settings.steps_per_epoch(count)
    step = clipped = taken = 0
    for chunk in chunks(settings, source, count, problem.width):
        clipped += advance_published(
            problem.loss, rows, records, numbers, sequential,
            chunk.lots.ids, chunk.lots.starts, chunk.own, chunk.shared, dual, shared,
        )  # fmt: skip
        taken += len(chunk.lots.ids)
        step += len(chunk.shared)
        if observer is not None and step % epoch == 0:
            drift = -shared
            combine(rows, dual, drift)
            length, share = float(np.linalg.norm(drift)), clipped / max(1, taken)
            observer(Look(step // epoch, shared[None], dual[:, None], length, share))
            clipped = taken = 0
    return shared[None]


def single_output(problem: Problem) -> None:
    """Raise ParameterError unless one model is trained: the paper has no other."""
    if problem.outputs != 1:
        raise ParameterError(
            f"outputs={problem.outputs!r} must be 1: the paper trains one model at a time."
        )


def primal_dp_scd(run: Run) -> Floats:
    """Run Algorithm 2, primalDP-SCD: coordinates of the model instead of records."""
    # The paper does not spell out its subproblem. Here it is the second-order model of the
    # objective (section 2.2), with the coupling of the L coordinates of a lot bounded as in
    # equation (5): exact for the squared loss, one Newton step for the logistic. The lemma
    # wants features of length 1, the objective records of length 1: features are divided by
    # their lengths, and the ridge of a coordinate by the square of it. Reading the lengths
    # off the data is one of the things that the published guarantee leaves out.
    problem, rows, records, settings, source, observer = run
    single_output(problem)
    if isinstance(problem.loss, Hinge):
        raise ParameterError("loss=Hinge() must be smooth in the primal: use Algorithm 1.")
    features, lengths = _features(problem, rows)
    count, width = len(records.labels), problem.width
    coef, predictions = np.zeros(width), np.zeros(count)
    lot = settings.lot_size
    std = settings.noise(theory.sensitivity_primal(settings.clip, lot))
    numbers = PublishedNumbers(float(problem.n), float(lot), settings.clip, std)
    ridge = problem.strength / problem.n / lengths**2
    epoch = settings.steps_per_epoch(width)
    step = clipped = taken = 0
    for chunk in chunks(settings, source, width, count):
        clipped += advance_primal(
            problem.loss, features, records, numbers, ridge,
            chunk.lots.ids, chunk.lots.starts, chunk.own, chunk.shared, coef, predictions,
        )  # fmt: skip
        taken += len(chunk.lots.ids)
        step += len(chunk.shared)
        if observer is not None and step % epoch == 0:
            drift = -predictions
            combine(features, coef, drift)
            shared = problem.strength * coef[None] / lengths
            length = float(np.linalg.norm(drift))
            observer(Look(step // epoch, shared, None, length, clipped / max(1, taken)))
            clipped = taken = 0
    return problem.strength * coef[None] / lengths


def _features(problem: Problem, rows: Rows) -> tuple[Rows, Floats]:
    """Return the features as rows of length 1, and their lengths before (1 if empty)."""
    factor = np.where(np.isfinite(rows.norm), rows.factor, 0.0)
    tail = np.full((1, len(factor)), rows.tail)
    if isinstance(rows, CsrRows):
        each = np.repeat(factor, np.diff(rows.indptr))
        parts = (rows.values * each, rows.indices, rows.indptr)
        matrix = sparse.csr_array(parts, shape=(len(factor), rows.width)).T.tocsr()
        if rows.tail:
            matrix = sparse.vstack([matrix, sparse.csr_array(tail)], format="csr")
        matrix.sort_indices()
        lengths = _or_one(linalg.norm(matrix, axis=1))
        matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
    else:
        matrix = np.ascontiguousarray((rows.values * factor[:, None]).T)
        if rows.tail:
            matrix = np.vstack([matrix, tail])
        lengths = _or_one(np.linalg.norm(matrix, axis=1))
        matrix /= lengths[:, None]
    # Rows of another problem, with as many features as there are records.
    flipped = Problem(problem.loss, problem.lam, problem.width, len(factor))
    return flipped.rows(matrix), lengths


def _or_one(lengths: Floats) -> Floats:
    filled: Floats = np.where(lengths > 0.0, lengths, 1.0)
    return filled


def scd(run: Run) -> Floats:
    """Run SCD (SDCA) for the given epochs: not private."""
    problem, rows, records, settings, source, observer = run
    # No tolerance is ever reached: the epochs are fixed.
    return sdca(
        problem, rows, records, source,
        tolerance=-math.inf, max_epochs=settings.epochs, observer=exact_looks(observer),
    )[0]  # fmt: skip


def sgd(run: Run) -> Floats:
    """Run SGD over shuffled lots without clipping or noise: not private."""
    plain = replace(run.settings, clip=math.inf, sigma=0.0, lots="shuffled")
    return dp_sgd(run._replace(settings=plain))


def dp_sgd(run: Run) -> Floats:
    """Run DP-SGD as the paper describes it; the last model is returned."""
    # The sum of a lot's gradients, each clipped to C, plus noise of standard deviation
    # sigma C, over L; plus lam times the model. The one to compare with in earnest is
    # dpscd_experiments.solvers.dp_sgd.
    problem, rows, records, settings, source, observer = run
    count = len(records.labels)
    steps = settings.steps(count)
    decay = decay_of(problem, settings.learning_rate)
    rate = settings.learning_rate / settings.lot_size
    std = settings.noise(settings.clip)

    def advance(lots: Lots, normals: Floats, start: int, model: Floats, mean: Floats) -> int:
        return descend(
            problem.loss, rows, records, settings.clip, std, decay, rate,
            lots.ids, lots.starts, normals, start, model, mean,
        )  # fmt: skip

    drawn = chunks(settings, source, count, problem.outputs * problem.width, own=False)
    randomness = ((chunk.lots, chunk.shared) for chunk in drawn)
    epoch = settings.steps_per_epoch(count)
    return follow(problem, randomness, advance, steps, steps - 1, epoch, observer)
