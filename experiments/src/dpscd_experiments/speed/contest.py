"""Contenders that take turns, because machines are noisy, and the times they took."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpscd_experiments.cells import Skip, described

__all__ = ["Clock", "Contest", "Row", "clocked", "take_turns", "times_of"]

#: Runs a contender once and returns its seconds.
Clock = Callable[[], float]

#: One time: contest, contender, at, turn, status, message, seconds and the sizes.
Row = dict[str, Any]


@dataclass(frozen=True)
class Contest:
    """Contenders on the same data."""

    name: str  # what the rows call it
    facts: Mapping[str, int]  # sizes that every row states
    # By name, what makes the contender ready and returns its clock. It may raise
    # :class:`~dpscd_experiments.cells.Skip`.
    contenders: Mapping[str, Callable[[], Clock]]
    turns: int  # how often each is measured
    at: float | None = None  # where on the axis of a growth plot this is
    warm: bool = True  # whether there is a turn before, which compiles and is not counted


def take_turns(contest: Contest) -> Iterator[list[Row]]:
    """Run a contest and yield the rows of each turn; that of a warm-up has none.

    A contender that is skipped or fails gets one row that says why; the others go on.
    """
    clocks: dict[str, Clock] = {}
    trouble: list[Row] = []
    for name, ready in contest.contenders.items():
        try:
            clocks[name] = ready()
        except Skip as reason:
            trouble.append(_row(contest, name, 0, "skipped", str(reason)))
    for turn in range(0 if contest.warm else 1, 1 + contest.turns):
        rows, trouble = trouble, []
        for name in list(clocks):
            try:
                seconds = clocks[name]()
            except Skip as reason:
                del clocks[name]
                rows.append(_row(contest, name, turn, "skipped", str(reason)))
            except Exception as error:
                del clocks[name]
                rows.append(_row(contest, name, turn, "failed", described(error)))
            else:
                if turn > 0:
                    rows.append(_row(contest, name, turn, "ok", "", seconds))
        yield rows


def clocked(work: Callable[..., object], *arguments: Any) -> float:
    """Return the seconds that a call takes; its warnings are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of few epochs has not converged
        start = time.perf_counter()
        work(*arguments)
        return time.perf_counter() - start


def _row(
    contest: Contest,
    contender: str,
    turn: int,
    status: str,
    message: str,
    seconds: float | None = None,
) -> Row:
    return {
        "contest": contest.name,
        "contender": contender,
        "at": contest.at,
        "turn": turn,
        "status": status,
        "message": message,
        "seconds": seconds,
        **contest.facts,
    }


def times_of(rows: Sequence[Row], contest: str, contender: str) -> dict[int, float]:
    """Return the seconds of a contender by turn."""
    return {
        row["turn"]: row["seconds"]
        for row in rows
        if row["status"] == "ok" and (row["contest"], row["contender"]) == (contest, contender)
    }
