"""Fitted models as what others can serve: plain scikit-learn, and ONNX."""

import copy
import dataclasses
import os
from typing import Any

import numpy as np
from sklearn.linear_model import HuberRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from dpscd.atomic import atomic_write
from dpscd.errors import DpscdError, ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLinearClassifier
from dpscd.estimators.registry import kind_of
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.table_encoder import TableEncoder

__all__ = ["to_onnx", "to_sklearn"]

_NO_ONNX = "ONNX needs skl2onnx; install it with: pip install 'dpscd[onnx]'"


def to_sklearn(model: DPLinearModel | TableModel) -> Any:
    """Return a plain scikit-learn model that predicts the same.

    Parameters
    ----------
    model : estimator or TableModel
        Fitted.

    Returns
    -------
    estimator of scikit-learn
        Fitted: the one of the same name, or a pipeline that begins with
        :class:`dpscd.TableEncoder` for a model of tables. Logistic models of more than two
        classes are one against the rest, as here. It
        has no privacy card: keep the model's own file with it.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPRidge, to_sklearn
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(1000, 3))
    >>> model = DPRidge(y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0])
    >>> bool(np.allclose(to_sklearn(model).predict(X), model.predict(X)))
    True
    """
    check_is_fitted(model)
    if isinstance(model, TableModel):
        columns = tuple(
            dataclasses.replace(column, bounds=model.bounds_.get(column.name, column.bounds))
            for column in model.schema_.columns
        )
        schema = dataclasses.replace(model.schema_, columns=columns)
        encoder = TableEncoder(schema)
        encoder.schema_ = schema
        names = [column.name for column in schema.features]
        encoder.feature_names_in_ = np.array(names, dtype=object)
        encoder.n_features_in_ = len(names)
        inner = copy.copy(model.estimator_)
        del inner.feature_names_in_  # the encoder returns arrays
        return make_pipeline(encoder, to_sklearn(inner))
    plain, iterations = _PLAIN[kind_of(model).sklearn]
    if kind_of(model).task == "counts":
        # Only a fit tells it that its link is a logarithm.
        one = plain().fit(np.zeros((1, model.n_features_in_)), [1.0])
        return _filled(one, model, n_iter_=iterations)
    if not isinstance(model, DPLinearClassifier):
        return _filled(plain(), model, n_iter_=iterations)
    if plain is LogisticRegression and len(model.classes_) > 2:
        return _one_against_rest(model)
    return _filled(plain(), model, classes_=model.classes_, n_iter_=iterations)


_ONE = np.array([1], dtype=np.int32)

# What each has in n_iter_, which some versions of scikit-learn ask a fitted model for.
_PLAIN: dict[str, tuple[Any, Any]] = {
    "LogisticRegression": (LogisticRegression, _ONE),
    "LinearSVC": (LinearSVC, 1),
    "Ridge": (Ridge, None),
    "HuberRegressor": (HuberRegressor, 1),
    "PoissonRegressor": (PoissonRegressor, 1),
}


def to_onnx(model: DPLinearModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as ONNX, for runtimes without Python.

    Parameters
    ----------
    model : estimator
        Fitted; of a model of tables its `estimator_`, which takes features. The input is
        ``X``, float32, one row per record.
    path : path
        The file, replaced if it exists.
    """
    if isinstance(model, TableModel):
        raise ParameterError(
            "ONNX has the linear model only: give model.estimator_, and feed it what "
            "model.features(table) returns."
        )
    plain = to_sklearn(model)
    try:
        from skl2onnx import to_onnx as convert
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError:
        raise DpscdError(_NO_ONNX) from None
    inputs = [("X", FloatTensorType([None, model.n_features_in_]))]
    options = {id(plain): {"zipmap": False}} if hasattr(plain, "predict_proba") else None
    made = convert(plain, initial_types=inputs, options=options)
    with atomic_write(path, binary=True) as file:
        file.write(made.SerializeToString())


def _filled(plain: Any, model: Any, **more: Any) -> Any:
    """Return an unfitted scikit-learn model with the coefficients of a fitted one."""
    plain.coef_ = model.coef_.copy()
    plain.intercept_ = np.copy(model.intercept_)
    if np.ndim(model.intercept_) == 0:
        plain.intercept_ = float(model.intercept_)
    plain.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        plain.feature_names_in_ = model.feature_names_in_
    for name, value in more.items():
        setattr(plain, name, value)
    return plain


def _one_against_rest(model: Any) -> Any:
    plain = OneVsRestClassifier(LogisticRegression())
    plain.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    if not hasattr(type(plain), "classes_"):  # a property in older scikit-learn
        plain.classes_ = plain.label_binarizer_.classes_
    # LabelBinarizer sorts its classes; the model's may be in the order of a schema.
    order = np.argsort(model.classes_)
    plain.estimators_ = []
    for place in order:
        one = LogisticRegression()
        one.coef_ = model.coef_[place : place + 1].copy()
        one.intercept_ = model.intercept_[place : place + 1].copy()
        one.classes_ = np.array([0, 1])
        one.n_iter_ = _ONE
        plain.estimators_.append(one)
    for part in (plain, *plain.estimators_):
        part.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            part.feature_names_in_ = model.feature_names_in_
    return plain
