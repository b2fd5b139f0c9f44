"""Data ready to train on, and the judge of what was trained."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.losses import Hinge, Logistic, Loss, Squared
from dpscd.planning.rule import default_constant
from dpscd.problem import Model, Problem
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import Dataset, load_dataset
from dpscd_experiments.metrics import (
    Metrics,
    decision_metrics,
    probability_metrics,
    regression_metrics,
)
from dpscd_experiments.opponents.setting import Part, measure_of

Floats = npt.NDArray[np.float64]

LOSSES: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "hinge": Hinge()}


@dataclass(frozen=True)
class Prepared:
    """A data set with a loss, wrapped for the kernels."""

    data: Dataset  # all three parts
    loss: str  # 'squared', 'logistic' or 'hinge'
    rows: Rows  # the training rows, with a constant column where the data set has an intercept
    labels: Floats  # the training labels: -1 and 1, or clipped to the declared bounds

    @property
    def label_bound(self) -> float:
        """The largest label, from the centre that the problem has: public."""
        if self.data.y_bounds is None:
            return 1.0
        low, high = self.data.y_bounds
        return (high - low) / 2.0 if self.data.fit_intercept else max(abs(low), abs(high))

    def problem(self, lam: float, label_scale: float = 1.0) -> Problem:
        """Return the problem at a regularisation; its rows are :attr:`rows`."""
        return _problem(self.data, self.loss, lam, label_scale)

    def records(self, problem: Problem) -> Records:
        """Return the training labels in the units of the inner problem."""
        return Records(problem.labels(self.labels), np.ones(len(self.labels)))

    def score(self, model: Model, part: Part) -> float:
        """Return the accuracy or MSE on a part; NaN if the model is broken."""
        return float(self.metrics(model, part)[measure_of(self.loss)])  # type: ignore[arg-type]

    def metrics(self, model: Model, part: Part = "test") -> Metrics:
        """Return all metrics on a part."""
        X, y = getattr(self.data, f"X_{part}"), getattr(self.data, f"y_{part}")
        with np.errstate(over="ignore", invalid="ignore"):
            decision = np.asarray(X @ model.coef[0]) + model.intercept[0]
            decision = np.where(np.isfinite(decision), decision, math.nan)
            if self.loss == "squared":
                return regression_metrics(y, decision)
            positive = y == 1
            metrics = decision_metrics(positive, decision)
            if self.loss == "logistic":
                return {**probability_metrics(positive, expit(decision)), **metrics}
            return metrics


@lru_cache(maxsize=2)
def prepare(dataset: str, loss: str) -> Prepared:
    """Return a data set ready for a loss, kept for the next cell of this process."""
    return prepared_from(load_dataset(dataset), loss)


def prepared_from(data: Dataset, loss: str) -> Prepared:
    """Return data ready for a loss."""
    if data.y_bounds is not None:
        labels = np.clip(np.asarray(data.y, dtype=np.float64), *data.y_bounds)
    else:
        labels = np.where(data.y == 1, 1.0, -1.0)
    return Prepared(data, loss, _problem(data, loss, 1.0, 1.0).rows(data.X), labels)


def judge(cell: Cell, train: Callable[[Prepared, Cell], Model]) -> Metrics:
    """Train what a cell says and score it on the part that the cell names."""
    ready = prepare(cell.dataset, str(cell.parameters["loss"]))
    model = train(ready, cell)
    if cell.parameters["part"] == "validation":
        return {"validation": ready.score(model, "validation")}
    return ready.metrics(model)


def _problem(data: Dataset, loss: str, lam: float, label_scale: float) -> Problem:
    """Return the problem, with the intercept and the public label centre of our estimators."""
    centre = 0.0
    if data.y_bounds is not None and data.fit_intercept:
        centre = sum(data.y_bounds) / 2.0
    return Problem(
        loss=LOSSES[loss],
        lam=lam,
        n=data.X.shape[0],
        d=data.X.shape[1],
        constant=default_constant(1.0) if data.fit_intercept else 0.0,
        label_centre=centre,
        label_scale=label_scale,
    )
