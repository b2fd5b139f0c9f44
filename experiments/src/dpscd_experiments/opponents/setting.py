"""One question of a bench, a method that answers it, and how methods are tuned."""

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from dpscd.errors import PrivacyWarning
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.store import Row

#: The name of our method in every bench of methods.
OURS = "ours"

#: What a method is run with: becomes parameters of a cell.
Config = Mapping[str, str | int | float | bool | None]

#: Rows of the store, by the key of their cell.
Stored = Mapping[str, list[Row]]

#: Rows to be scored on: those for tuning, or those for the result.
Part = Literal["validation", "test"]

#: What a cell calls: returns ``validation`` or test metrics.
Play = Callable[[Cell], Metrics]

#: Takes the configurations tried so far, best first, and returns those to try next.
Stage = Callable[[Sequence[Config]], Iterable[Config]]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A problem at one epsilon."""

    problem: str  # name of the problem, such as 'adult-svm'
    dataset: str
    loss: str  # 'squared', 'logistic', 'hinge' or 'softmax'
    # Which thinning of large grids it gets: 'small', 'large', 'wide', 'huge' or 'vast'.
    grid: str
    epsilon: float
    delta: float
    seeds: int  # results are of the seeds from 0 up to this
    tuning_seeds: tuple[int, ...]  # none of them a seed of results
    finalists: int  # how many configurations are tried with all tuning seeds
    published: str = ""  # the figure of the paper whose grid the published method gets
    experiment: str = "accuracy"  # the bench

    @property
    def not_private(self) -> "Setting":
        """The same for methods without privacy and chance: one seed, whatever the epsilon."""
        few = self.tuning_seeds[:1]
        return replace(self, epsilon=math.inf, delta=0.0, seeds=1, tuning_seeds=few)

    def worth(self, score: float) -> float:
        """Return a score so that larger is better and a broken model is the worst."""
        if math.isnan(score):
            return -math.inf
        return -score if measure_of(self.loss) == "mse" else score

    def cell(self, method: str, play: Play, part: Part, seed: int, config: Config) -> Cell:
        """Return the cell of one run of a method."""
        about = {"problem": self.problem, "loss": self.loss, "part": part}
        return Cell(
            play, self.experiment, self.dataset, method,
            self.epsilon, self.delta, seed, about | dict(config),
        )  # fmt: skip

    def results(self, method: str, play: Play, config: Config) -> list[Cell]:
        """Return the cells of a configuration's results: every seed, on test rows."""
        return [self.cell(method, play, "test", seed, config) for seed in range(self.seeds)]


@dataclass(frozen=True)
class Method:
    """A method of a bench."""

    label: str  # its name in tables and figures
    # From the setting, the spec and what is stored to the cells that are known to be needed:
    # none if the method does not apply.
    cells: Callable[[Setting, Mapping[str, Any], Stored], list[Cell]]
    # Whether it is a private method at the epsilon and delta that were asked for, or claims to
    # be one: ours is measured against the best of these.
    rival: bool
    note: str  # what a reader must know of it


def measure_of(loss: str) -> str:
    """Return the metric by which models are compared: 'mse' or 'accuracy'."""
    return "mse" if loss == "squared" else "accuracy"


def number(cell: Cell, name: str) -> float:
    """Return a parameter of a cell that is a number."""
    return float(cell.parameters[name])


def cpu_seconds() -> float:
    """Return the processor's seconds of this process and of those that it has waited for."""
    # Unlike the clock's they hardly depend on what else the machine does.
    return sum(os.times()[:4])


def timed_fit(estimator: Any, *data: Any, **groups: Any) -> tuple[Any, float]:
    """Fit, and return the model and the processor's seconds that it took."""
    start = cpu_seconds()
    with warnings.catch_warnings():
        # The paper's delta is above 1/n, and seeds are known: both are warned of.
        warnings.simplefilter("ignore", PrivacyWarning)
        model = estimator.fit(*data, **groups)
    return model, cpu_seconds() - start


def config_of(cell: Cell) -> dict[str, Any]:
    """Return the parameters of a cell that its method chose."""
    own = ("problem", "loss", "part")
    return {name: value for name, value in cell.parameters.items() if name not in own}


def search(
    setting: Setting, method: str, play: Play, stages: Sequence[Stage], stored: Stored
) -> list[Cell]:
    """Return the cells that a search on validation rows needs, as far as they are known.

    Asked again and again as more is stored it comes to the results of the winner.
    """
    # Every configuration is tried with the first tuning seed, the finalists with all of them;
    # the best mean wins. A configuration that failed counts as the worst.
    first, *others = setting.tuning_seeds
    made: dict[str, Cell] = {}
    tried: list[tuple[float, Config]] = []

    def ask(configs: Iterable[Config], seed: int) -> list[Cell]:
        cells = [setting.cell(method, play, "validation", seed, one) for one in configs]
        fresh = [cell for cell in cells if cell.key not in made]
        made.update({cell.key: cell for cell in fresh})
        return fresh

    def worth(cell: Cell) -> float:
        scores = [row["value"] for row in stored[cell.key] if row["metric"] == "validation"]
        return setting.worth(float(scores[0])) if scores else -math.inf

    for stage in stages:
        configs = list(stage([config for _, config in tried]))
        cells = ask(configs, first)
        if any(cell.key not in stored for cell in cells):
            return list(made.values())
        tried += [(worth(cell), config_of(cell)) for cell in cells]
        tried.sort(key=lambda one: -one[0])
    finalists = [config for score, config in tried if score > -math.inf][: setting.finalists]
    for seed in others:
        ask(finalists, seed)
    if not finalists or any(key not in stored for key in made):
        return list(made.values())

    def mean_worth(config: Config) -> float:
        seeds = setting.tuning_seeds
        return fmean(worth(setting.cell(method, play, "validation", s, config)) for s in seeds)

    winner = max(finalists, key=mean_worth)
    return [*made.values(), *setting.results(method, play, winner)]
