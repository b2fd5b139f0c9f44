"""One question of a bench: a problem at an epsilon, and how to answer it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from dpscd_experiments.cells import Cell, Scalar
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.store import Row

__all__ = ["Config", "Part", "Setting", "Stored", "measure_of", "worth_of"]

#: What a method is run with: becomes parameters of a cell.
Config = Mapping[str, Scalar]

#: Rows of the store, by the key of their cell.
Stored = Mapping[str, list[Row]]

#: Rows to be scored on: those for tuning, or those for the result.
Part = Literal["validation", "test"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A problem at one epsilon."""

    problem: str  # name of the problem, such as 'adult-svm'
    dataset: str  # its data, and 'squared', 'logistic' or 'hinge'
    loss: str
    # Which thinning of large grids it gets: 'small', 'large', 'wide', 'huge' or 'vast'.
    grid: str
    epsilon: float  # the privacy to reach
    delta: float
    seeds: int  # results are of the seeds from 0 up to this
    tuning_seeds: tuple[int, ...]  # seeds for tuning, none of them a seed of results
    finalists: int  # how many configurations are tried with all tuning seeds
    published: str = ""  # the figure of the paper whose grid the published method is tuned over
    experiment: str = "accuracy"  # the bench: 'accuracy' or 'tables'

    def worth(self, score: float) -> float:
        """Return a score so that larger is better and a broken model is the worst."""
        return worth_of(self.loss, score)

    def cell(
        self,
        method: str,
        function: Callable[[Cell], Metrics],
        part: Part,
        seed: int,
        config: Config,
    ) -> Cell:
        """Return the cell of one run of a method."""
        return Cell(
            function=function,
            experiment=self.experiment,
            dataset=self.dataset,
            method=method,
            epsilon=self.epsilon,
            delta=self.delta,
            seed=seed,
            parameters={"problem": self.problem, "loss": self.loss, "part": part, **config},
        )

    def results(
        self, method: str, function: Callable[[Cell], Metrics], config: Config
    ) -> list[Cell]:
        """Return the cells of a configuration's results: every seed, on test rows."""
        return [self.cell(method, function, "test", seed, config) for seed in range(self.seeds)]


def measure_of(loss: str) -> str:
    """Return the metric by which models are compared: 'mse' or 'accuracy'."""
    return "mse" if loss == "squared" else "accuracy"


def worth_of(loss: str, score: float) -> float:
    """Return a score so that larger is better and a broken model is the worst."""
    if math.isnan(score):
        return -math.inf
    return -score if measure_of(loss) == "mse" else score
