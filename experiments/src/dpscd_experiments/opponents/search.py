"""Tune a method on validation rows, in stages, from what is stored.

A search is told what is stored and says which cells are needed, as far as it can know: the
next stage only once the one before is there. Asked again and again it comes to the results
of the winner, and an interrupted one goes on where it was.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.setting import Config, Setting, Stored

__all__ = ["Stage", "search"]

#: Takes the configurations tried so far, best first, and returns those to try next.
Stage = Callable[[Sequence[Config]], Iterable[Config]]


def search(
    setting: Setting,
    method: str,
    function: Callable[[Cell], Metrics],
    stages: Sequence[Stage],
    stored: Stored,
) -> list[Cell]:
    """Return the cells that a search needs, as far as they are known."""
    first, *others = setting.tuning_seeds
    made: dict[str, Cell] = {}
    tried: list[tuple[float, Config]] = []

    def ask(configs: Iterable[Config], seed: int) -> list[Cell]:
        cells = [setting.cell(method, function, "validation", seed, one) for one in configs]
        fresh = [cell for cell in cells if cell.key not in made]
        made.update({cell.key: cell for cell in fresh})
        return fresh

    for stage in stages:
        configs = list(stage([config for _, config in tried]))
        cells = ask(configs, first)
        if any(cell.key not in stored for cell in cells):
            return list(made.values())
        tried += [(_worth(setting, stored, cell), _config(cell)) for cell in cells]
        tried.sort(key=lambda one: -one[0])
    finalists = [config for worth, config in tried if worth > -math.inf][: setting.finalists]
    for seed in others:
        ask(finalists, seed)
    if not finalists or any(key not in stored for key in made):
        return list(made.values())

    def mean_worth(config: Config) -> float:
        runs = [
            setting.cell(method, function, "validation", seed, config)
            for seed in setting.tuning_seeds
        ]
        return fmean(_worth(setting, stored, cell) for cell in runs)

    winner = max(finalists, key=mean_worth)
    return [*made.values(), *setting.results(method, function, winner)]


def _worth(setting: Setting, stored: Stored, cell: Cell) -> float:
    scores = [row["value"] for row in stored[cell.key] if row["metric"] == "validation"]
    return setting.worth(float(scores[0])) if scores else -math.inf


def _config(cell: Cell) -> Config:
    own = ("problem", "loss", "part")
    return {name: value for name, value in cell.parameters.items() if name not in own}
