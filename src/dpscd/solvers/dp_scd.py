"""The private solver: stochastic dual coordinate descent with a secret dual."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpscd.errors import DataError, ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import CsrRows, Rows, row_width
from dpscd.persons import PersonRows
from dpscd.privacy.draws import Lots, check_capacity
from dpscd.privacy.random import Source
from dpscd.problem import DeferredRows, Floats, Problem
from dpscd.releases.base import Observer
from dpscd.releases.training import Training
from dpscd.solvers.lazy import lazy_scd
from dpscd.solvers.threads import kernel_for

Draw = tuple[Lots, Floats]

# Numbers drawn for one chunk of steps: large enough that Python does not count, small
# enough that they stay in the cache and that Ctrl-C is heard within milliseconds.
_CHUNK = 2**16


# Vectors that are looked at together, once an epoch.
_SEEN = 10
# A path swings if its increments are larger than noise and lots explain, by this factor in
# squares, and cancel: less than this part of their squares is left at the end of a look
# (docs/understanding/planning.md, "Larger lots").
_MORE, _LEFT = 2.0, 0.5
# The part of all looks that must do for the damping to rise as far as it may.
_EARLY = 0.25


class DampingRule(NamedTuple):
    """Public numbers of :class:`Damping`."""

    period: int  # steps of a period
    seen: int  # vectors that are compared, at the start of each period
    # Iterates oscillate if they moved by more than `more` times what is expected, in squares,
    # and less than the part `left` of that remains at the end.
    more: float
    left: float
    expected: float
    start: float  # initial damping
    most: float  # largest damping

    @classmethod
    def of(cls, plan: Training) -> "DampingRule":
        """Return the rule of a plan."""
        period = max(_SEEN, round(1.0 / plan.rate))
        most = max(plan.separability, plan.most_separability)
        # With few looks there is little time to learn from them.
        doublings = int(_EARLY * plan.steps / period)
        noise = plan.size * plan.noise.std**2
        drawn = plan.lot_size * plan.clip**2
        return cls(
            period,
            _SEEN,
            _MORE,
            _LEFT,
            expected=(_SEEN - 1) * (noise + drawn),
            start=max(plan.separability, most * 2.0**-doublings),
            most=most,
        )


class Damping:
    """Adaptive damping: increased when iterates oscillate.

    Guarantee: what :meth:`before` returns is a function of the plan and of the vectors it was
    shown, to the last bit, on any machine.
    Requires: only released vectors are shown, in order.
    Proof: docs/proofs/shared_vector.md, condition (iv).
    """

    def __init__(self, plan: Training) -> None:
        self._steps = plan.steps
        self._rule = DampingRule.of(plan)
        self._separability = self._rule.start
        self._seen: list[Floats] = []

    def alone(self, number: int) -> int:
        """Return how many steps from this one on have its damping, whatever the path."""
        if self._separability == self._rule.most:
            return self._steps - number
        place = number % self._rule.period
        return 1 if place < self._rule.seen - 1 else self._rule.period - place

    def before(self, number: int, shared: Floats) -> float:
        """Return the damping of step `number`, which starts from `shared`."""
        place = number % self._rule.period
        if self._separability == self._rule.most or place >= self._rule.seen:
            return self._separability
        self._seen.append(shared.copy())
        if place == self._rule.seen - 1:
            if self._swings():
                self._separability = min(2.0 * self._separability, self._rule.most)
            self._seen.clear()
        return self._separability

    def _swings(self) -> bool:
        """Return whether the vectors moved much and made no progress."""
        moved = 0.0
        for before, after in pairwise(self._seen):
            moved += _square(after - before)  # one after the other, whatever `sum` does
        left = _square(self._seen[-1] - self._seen[0])
        rule = self._rule
        return moved > rule.more * rule.expected and left < rule.left * moved


def _square(moved: Floats) -> float:
    """Return the squared length, added in one order on every machine."""
    return float((moved * moved).cumsum()[-1])


def dp_scd(
    problem: Problem,
    plan: Training,
    rows: Rows | DeferredRows,
    records: Records,
    source: Source,
    *,
    persons: PersonRows | None = None,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
    observer: Observer | None = None,
) -> Floats:
    """Run the plan and return the shared vector, averaged as the plan says.

    Of `rows` and `records` only the returned vector may leave. The number of `threads` does not
    change the result. `progress` is called with numbers of steps; `observer` is shown the path.

    Guarantee: the path of the shared vector, hence what is returned, satisfies
    ``plan.claim()``. The duals live in this call and die with it.
    Requires: `source` was not used for a training before.
    Proof: docs/proofs/shared_vector.md, docs/proofs/persons.md.
    """
    count = len(records.labels) if persons is None else persons.count
    check_plan(problem, plan, rows, records, persons)
    epoch = epoch_of(plan)
    if plan.lazy and isinstance(rows, CsrRows) and persons is None:
        return lazy_scd(
            problem, plan, rows, records, source,
            epoch=epoch, progress=progress, observer=observer,
        )  # fmt: skip
    dual = np.zeros((len(records.labels), problem.outputs))
    shared = np.zeros((problem.outputs, problem.width))
    average = np.zeros_like(shared)
    first = 0
    damping = Damping(plan)
    pause = plan.steps
    if observer is not None:
        observer.begins(problem, plan)
        pause = observer.pause or epoch
    drawn = None if persons is None else persons.drawn()
    with kernel_for(problem, plan, rows, records, threads, drawn) as (run, used):
        for lots, normals in draws(plan, source, count, pause=pause, draw_ahead=used < threads):
            begin = 0
            while begin < len(normals):
                separability = damping.before(first, shared)
                end = min(begin + damping.alone(first), len(normals))
                part = lots.ids, lots.starts[begin : end + 1], normals[begin:end]
                run(separability, *part, plan.average_from - first, dual, shared, average)
                first += end - begin
                begin = end
            if progress is not None:
                progress(len(normals))
            if observer is not None and (first % pause == 0 or first == plan.steps):
                observer.moved(first, shared.copy())
    return average / (plan.steps - plan.average_from)


def check_plan(
    problem: Problem,
    plan: Training,
    rows: Rows | DeferredRows,
    records: Records,
    persons: PersonRows | None = None,
) -> None:
    """Refuse a plan that is not calibrated, or not for this problem and these records."""
    check_problem(problem, plan)
    count = len(records.labels)
    if isinstance(rows, DeferredRows):
        lengths, width = {rows.count}, int(rows.X.shape[1])
    else:
        lengths, width = {len(rows.factor), len(rows.norm)}, row_width(rows)
    if {count, len(records.weights)} | lengths != {count}:
        raise DataError("rows, labels and weights are not equally many.")
    if width != problem.d or (rows.tail != 0.0) != plan.facts.intercept:
        raise DataError("the rows do not have the problem's columns.")
    if persons is not None:
        if persons.starts[-1] != count:
            raise DataError("persons do not have all rows.")
        count = persons.count
    check_capacity(plan.n, count)


def check_problem(problem: Problem, plan: Training) -> None:
    """Refuse a plan that is not calibrated, or not for this problem."""
    _ = plan.event  # refuses a multiplier that is not a positive number
    planned = (plan.n, plan.facts.d, plan.outputs, plan.facts.intercept, plan.lam)
    if planned != (
        problem.n, problem.d, problem.outputs, problem.constant != 0.0, problem.lam,
    ):  # fmt: skip
        raise ParameterError("the plan was made for another problem.")


def epoch_of(plan: Training) -> int:
    """Return the number of steps in which a record is expected to be drawn once."""
    return max(1, round(1.0 / plan.rate))


def draws(
    plan: Training, source: Source, count: int, *, pause: int, draw_ahead: bool = False
) -> Iterator[Draw]:
    """Yield the lots and the noise of consecutive chunks of steps."""
    # A chunk ends at every multiple of `pause` steps; the numbers drawn do not depend on it.
    lots, noise = plan.lots, plan.noise
    # From the public n, not the true count: chunks are seen in the progress bar.
    chunk = max(1, _CHUNK // max(plan.size, lots.skips(plan.n)))

    def draw(first: int) -> Draw:
        steps = min(chunk, pause - first % pause, plan.steps - first)
        return (
            lots.draw(source, first, steps, count),
            noise.draw(source, first, steps, plan.size),
        )

    stops = range(0, plan.steps, pause)
    firsts = [
        first for stop in stops for first in range(stop, min(stop + pause, plan.steps), chunk)
    ]
    if not draw_ahead:
        yield from map(draw, firsts)
        return
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(1))
        waiting = pool.submit(draw, firsts[0])
        for first in firsts[1:]:
            ready, waiting = waiting, pool.submit(draw, first)
            yield ready.result()
        yield waiting.result()
