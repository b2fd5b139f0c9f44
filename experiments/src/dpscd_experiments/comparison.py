"""Comparisons of methods: what runs, tuning included, and what is stored of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Asked, Experiment, Failure, Shown, Spec, settings_of
from dpscd_experiments.opponents.setting import Method, Setting, Stored
from dpscd_experiments.store import Row, Store

#: Methods by name.
Known = Mapping[str, Method]


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
        return tuple(value for _, value in sorted(self.by_seed(metric).items()))

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


def comparison(
    known: Known,
    settings: Callable[[Spec, Sequence[str]], list[Setting]],
    load: Callable[[Setting, Spec], object],
    show: Callable[[list[Result], bool, Spec, Stored], Shown],
    data: str = "datasets",
    again: Sequence[str] = (),
) -> Experiment:
    """Return the experiment that runs methods, tuning included, in settings.

    Settings are those of data that are asked for, or of all that a file names in `data`;
    `load` raises when data are missing; `again` may be forgotten besides methods.
    """

    def go(spec: Spec, asked: Asked, store: Store) -> None:
        chosen = settings_of(spec, asked.quick)
        wanted = [
            replace(one, seeds=min(asked.seeds or one.seeds, one.seeds))
            for one in settings(chosen, asked.datasets)
            if one.epsilon in (asked.epsilons or chosen["epsilons"])
        ]
        for one in {one.dataset: one for one in wanted}.values():
            load(one, chosen)  # before anything has run
        asked.forget(store)
        run_methods(wanted, asked, chosen, store, known)

    def shown(spec: Spec, quick: bool, store: Store) -> Shown:
        chosen, stored = settings_of(spec, quick), store.by_cell()
        everything = settings(chosen, ())
        results = results_of(everything, chosen, stored, known)
        if not any(one.rows for one in results):
            reasons = "; ".join(sorted({reason for one in results for reason in one.trouble}))
            raise Failure(f"{everything[0].experiment}: no results; {reasons}")
        return show(results, quick, chosen, stored)

    def choices(chosen: Spec) -> Mapping[str, Sequence[Any]]:
        return {
            "data": list(chosen[data]),
            "method": list(known),
            "epsilon": chosen["epsilons"],
            "again": [*known, *again],
        }

    return Experiment(go, shown, choices)


def run_methods(
    settings: Sequence[Setting], asked: Asked, spec: Spec, store: Store, known: Known
) -> None:
    """Run methods, tuning included, as far as the store does not have them yet."""
    seen: set[str] = set()
    # What a round of tuning finds decides what the next round runs.
    for number in range(1, 100):
        stored = store.by_cell()
        waiting = {
            cell.key: cell
            for setting in settings
            for name in asked.methods or known
            for cell in known[name].cells(setting, spec, stored)
            if cell.key not in seen
        }
        if not waiting:
            return
        seen |= waiting.keys()
        asked.run(list(waiting.values()), store, f"round {number}")


def results_of(
    settings: Iterable[Setting], spec: Spec, stored: Stored, known: Known
) -> list[Result]:
    """Return what is stored of every method in these settings; nothing runs."""
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


def rows_of(results: Iterable[Result]) -> list[Row]:
    """Return the rows of all results, each once."""
    return list({id(row): row for one in results for row in one.rows}.values())
