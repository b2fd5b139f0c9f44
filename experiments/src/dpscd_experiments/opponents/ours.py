"""Our estimators as they come: epsilon and delta are all they are told."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpscd.errors import PrivacyWarning
from dpscd.estimators.classification import DPLogisticRegression
from dpscd.estimators.regression import DPRidge
from dpscd.estimators.svc import DPLinearSVC
from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import Dataset
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.prepared import Prepared, judge
from dpscd_experiments.opponents.setting import Setting, Stored

__all__ = ["cells", "fitted", "model_of", "play"]

_ESTIMATORS: dict[str, Any] = {
    "squared": DPRidge,
    "logistic": DPLogisticRegression,
    "hinge": DPLinearSVC,
}


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of the results; there is nothing to tune."""
    del spec, stored
    return setting.results("ours", play, {})


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge(cell, _train)


def fitted(data: Dataset, loss: str, **parameters: Any) -> Any:
    """Return our estimator for a loss, fitted to the training part."""
    estimator = _ESTIMATORS[loss](**parameters, **data.fit_parameters)
    with warnings.catch_warnings():
        # The paper's delta is above 1/n, and its seeds are known: both are warned of.
        warnings.simplefilter("ignore", PrivacyWarning)
        return estimator.fit(data.X, data.y)


def model_of(estimator: Any) -> Model:
    """Return the model of a fitted estimator with one output."""
    return Model(np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_))


def _train(ready: Prepared, cell: Cell) -> Model:
    estimator = fitted(
        ready.data, ready.loss, epsilon=cell.epsilon, delta=cell.delta, random_state=cell.seed
    )
    return model_of(estimator)
