"""Reading any of the three estimators back from its file."""

import os

from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
from dpscd.estimators.files import read_model
from dpscd.estimators.regression import DPRidge

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> DPLinearModel:
    """Read a model that an estimator's ``save`` wrote.

    Parameters
    ----------
    path : path
        The file. It is data only: reading it runs no code of it.

    Returns
    -------
    DPRidge, DPLogisticRegression or DPLinearSVC
        The fitted estimator.

    Raises
    ------
    ModelFileError
        If the file is malformed or was changed.
    """
    types = (DPRidge, DPLogisticRegression, DPLinearSVC)
    model: DPLinearModel = read_model(path, {kind.__name__: kind for kind in types})
    return model
