"""Run many cells, one after the other or in parallel, and never twice.

A cell is one function call with its parameters and its seed. Results do not depend on how
many processes there are: seeds are in the cells, and each runs with one thread of linear
algebra, whose sums would otherwise depend on the number of threads.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from dpscd.errors import ParameterError
from dpscd_experiments.cells import Cell, Outcome, Skip, execute
from dpscd_experiments.pool import in_parallel
from dpscd_experiments.progress import progress_bar
from dpscd_experiments.provenance import provenance
from dpscd_experiments.store import Row, Store

__all__ = ["Cell", "Skip", "Store", "Summary", "run"]


@dataclass(frozen=True)
class Summary:
    """How many cells were there before, and how those that ran ended."""

    stored: int
    ok: int
    failed: int
    skipped: int


def run(
    cells: Iterable[Cell],
    store: Store,
    *,
    processes: int = 1,
    retry: bool = True,
    progress: bool | None = None,
    title: str = "cells",
) -> Summary:
    """Run the cells that the store does not have yet, and store their rows one by one."""
    if processes < 1:
        raise ParameterError(f"processes={processes!r} must be at least 1.")
    unique = {cell.key: cell for cell in cells}
    known = store.status()
    done = {key for key in unique if known.get(key) == "ok" or (key in known and not retry)}
    waiting = [cell for key, cell in unique.items() if key not in done]
    ends: Counter[str] = Counter()
    outcomes = (
        ((cell, execute(cell)) for cell in waiting)
        if processes == 1
        else in_parallel(waiting, processes)
    )
    # Closed at once when interrupted, not when the traceback is forgotten.
    with closing(outcomes), progress_bar(title, len(waiting), progress) as advance:
        for cell, outcome in outcomes:
            store.append(_rows(cell, outcome))
            ends[outcome.status] += 1
            advance(ends)
    return Summary(len(done), ends["ok"], ends["failed"], ends["skipped"])


def _rows(cell: Cell, outcome: Outcome) -> list[Row]:
    common = {
        "cell": cell.key,
        "rows": len(outcome.points),
        **cell.columns(),
        "status": outcome.status,
        "message": outcome.message,
        "seconds": outcome.seconds,
        **{f"prov.{name}": value for name, value in provenance().items()},
    }
    return [
        {**common, "metric": metric, "at": at, "value": value}
        for metric, at, value in outcome.points
    ]
