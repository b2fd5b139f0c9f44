"""Our untuned models against tuned opponents: what to run, and what is stored of it.

The bench of accuracy and the bench of tables differ in their methods and their problems.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.opponents.registry import METHODS, Method
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.runner import run
from dpscd_experiments.store import Row, Store

__all__ = ["Result", "results_of", "run_methods", "settings_in", "stored_rows"]


@dataclass(frozen=True)
class Result:
    """What is stored of a method in one setting."""

    setting: Setting  # the problem and the epsilon
    method: str  # the method's name
    rows: tuple[Row, ...]  # rows of its results, on test rows; empty when there are none
    tried: int  # how many configurations were tried on validation rows
    trouble: tuple[str, ...]  # why cells failed or were skipped

    def values(self, metric: str) -> tuple[float, ...]:
        """Return a metric at each seed, in their order."""
        found = [row for row in self.rows if row["metric"] == metric and row["at"] is None]
        return tuple(row["value"] for row in sorted(found, key=lambda row: row["seed"]))

    def by_seed(self, metric: str) -> dict[int, float]:
        """Return a metric at each seed."""
        own = (row for row in self.rows if row["metric"] == metric and row["at"] is None)
        return {row["seed"]: row["value"] for row in own}

    def curve(self, metric: str) -> list[tuple[float, float]]:
        """Return the points of a curve, those of all seeds."""
        return [(row["at"], row["value"]) for row in self.rows if row["metric"] == metric]

    @property
    def config(self) -> dict[str, Any]:
        """The configuration that was chosen."""
        own = ("param.problem", "param.loss", "param.part")
        return {
            name.removeprefix("param."): value
            for name, value in (self.rows[0] if self.rows else {}).items()
            if name.startswith("param.") and name not in own
        }


def settings_in(
    spec: Mapping[str, Any], quick: bool, problems: Sequence[str] = ()
) -> list[Setting]:
    """Return the settings of a run."""
    chosen = settings_of(spec, quick)
    known = chosen["problems"]
    for name in problems:
        if name not in known:
            raise ParameterError(f"problem={name!r} must be one of {', '.join(known)}.")
    common = {
        "experiment": chosen["target"],
        "seeds": chosen["seeds"],
        "tuning_seeds": tuple(chosen["tuning_seeds"]),
        "finalists": chosen["finalists"],
    }
    return [
        Setting(problem=name, epsilon=epsilon, **{**common, **known[name]})
        for name in problems or chosen.get("only", known)
        for epsilon in chosen["epsilons"]
    ]


def run_methods(
    settings: Sequence[Setting],
    methods: Iterable[str],
    spec: Mapping[str, Any],
    store: Store,
    *,
    known: Mapping[str, Method] = METHODS,
    processes: int = 1,
    progress: bool | None = None,
) -> None:
    """Run methods, tuning included, as far as the store does not have them yet."""
    names = list(methods)
    seen: set[str] = set()
    # What a round of tuning finds decides what the next round runs.
    for number in range(1, 100):
        stored = stored_rows(store)
        waiting = {
            cell.key: cell
            for setting in settings
            for name in names
            for cell in known[name].cells(setting, spec, stored)
            if cell.key not in seen
        }
        if not waiting:
            return
        seen |= waiting.keys()
        run(
            waiting.values(),
            store,
            processes=processes,
            progress=progress,
            title=f"round {number}",
        )


def stored_rows(store: Store) -> Stored:
    """Return the rows of a store by cell."""
    by_cell: dict[str, list[Row]] = {}
    for row in store.read():
        by_cell.setdefault(row["cell"], []).append(row)
    return by_cell


def results_of(
    settings: Iterable[Setting],
    spec: Mapping[str, Any],
    stored: Stored,
    known: Mapping[str, Method] = METHODS,
) -> list[Result]:
    """Return what is stored of every method, tried in these settings or not yet complete.

    Nothing runs; `known` are the methods of the bench. A method of which nothing is stored is
    left out.
    """
    results = []
    for setting in settings:
        for name, method in known.items():
            cells = [cell for cell in method.cells(setting, spec, stored) if cell.key in stored]
            if cells:
                results.append(_result(setting, name, cells, stored))
    return results


def _result(setting: Setting, method: str, cells: Sequence[Cell], stored: Stored) -> Result:
    rows: list[Row] = []
    tried = 0
    trouble: dict[str, None] = {}
    for cell in cells:
        found = stored[cell.key]
        if found[0]["status"] != "ok":
            trouble[found[0]["message"]] = None
        elif cell.parameters["part"] == "test":
            rows += found
        elif cell.seed == setting.tuning_seeds[0]:
            counts = [int(row["value"]) for row in found if row["metric"] == "tried"]
            tried += counts[0] if counts else 1
    return Result(setting, method, tuple(rows), tried, tuple(trouble))
