"""Reading any of the three estimators back from its file."""

import os

from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
from dpscd.estimators.files import read_model
from dpscd.estimators.regression import DPRidge
from dpscd.estimators.table import TableModel, restored_table

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> DPLinearModel | TableModel:
    """Read a model that ``save`` wrote.

    Parameters
    ----------
    path : path
        The file. It is data only: reading it runs no code of it.

    Returns
    -------
    DPRidge, DPLogisticRegression, DPLinearSVC or TableModel
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is malformed or was changed.
    """
    types = (DPRidge, DPLogisticRegression, DPLinearSVC)
    names: dict[str, type] = {kind.__name__: kind for kind in types}
    model: DPLinearModel | TableModel = read_model(path, names, restored_table)
    return model
