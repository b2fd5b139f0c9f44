"""Conversion of fitted models to plain scikit-learn, and to ONNX."""

import copy
import dataclasses
import math
import os
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import HuberRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from dpscd.atomic import atomic_write
from dpscd.errors import DpscdError, ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.table import TableModel
from dpscd.estimators.table_answers import averages_in
from dpscd.estimators.validation import check_fitted
from dpscd.link import Link
from dpscd.preprocessing.transformers import RowScaler, TableEncoder


class LinkedLogisticRegression(LogisticRegression):
    """scikit-learn's logistic regression; probabilities follow from decisions by a link."""

    link_ = Link()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit it as scikit-learn does, without privacy and with sigmoids."""
        self.link_ = Link()
        found: Self = super().fit(X, y, sample_weight)
        return found

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of both classes."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of both classes."""
        return self.link_.log_probabilities(self.decision_function(X))


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
        :class:`dpscd.TableEncoder` for a model of tables. A logistic model of more than two
        classes has them sorted; one of two whose probabilities are not sigmoids is of a
        subclass that computes them. A regression whose predictions stay within `y_bounds` is
        in a TransformedTargetRegressor that clips what it returns (its `regressor_` is the
        bare line, after a :class:`dpscd.RowScaler` where predictions cut long rows). It has no
        privacy card: keep the model's own file with it. Its `privacy_statement_` says the
        guarantee and what it protects in one line.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPRidge, to_sklearn
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(1000, 3))
    >>> model = DPRidge(y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0])
    >>> bool(np.allclose(to_sklearn(model).predict(X), model.predict(X)))
    True
    """
    check_fitted(model)
    plain = _plain(model)
    plain.privacy_statement_ = model.privacy_.statement
    return plain


def _plain(model: Any) -> Any:
    """Return what :func:`to_sklearn` returns, but for its statement."""
    if isinstance(model, TableModel):
        if model.schema_.target.transform:
            raise ParameterError(
                f"the target {model.schema_.target.name!r} has a transform, which a pipeline "
                "would not map back: use dpscd, or give model.estimator_, which predicts "
                f"{model.schema_.target.trained_on} from features."
            )
        if model.schema_.target.exposure is not None:
            raise ParameterError(
                "counts over exposures are not what a pipeline predicts: use dpscd, or give "
                "model.estimator_, which predicts rates from features."
            )
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
        numbers = inner.fit_.numbers
        coef, intercept = averages_in(
            numbers.coef, numbers.intercept, schema, inner.unseen_features(), model._means()
        )
        numbers = dataclasses.replace(numbers, coef=coef, intercept=intercept)
        inner.fit_ = dataclasses.replace(inner.fit_, numbers=numbers)
        return make_pipeline(encoder, _plain(inner))
    plain, link = _bare(model), getattr(model, "link_", Link())
    if hasattr(plain, "classes_"):
        link = _sort_classes(plain, link)
    if not link.is_sigmoid:
        linked = LinkedLogisticRegression()
        linked.__dict__.update(vars(plain), link_=link)
        return linked
    if getattr(model, "clip_predictions", False):
        longest = getattr(model, "longest_row_", math.inf)
        cut = _after_cut(plain, longest) if longest < math.inf else plain
        return _clipped(cut, *model._bounds())
    return plain


def _sort_classes(plain: Any, link: Link) -> Link:
    """Put the classes, which are in the order of a schema, in that of scikit-learn's models."""
    order = np.argsort(plain.classes_)
    plain.classes_ = plain.classes_[order]
    if len(order) > 2:
        plain.coef_, plain.intercept_ = plain.coef_[order], plain.intercept_[order]
    elif order[0]:
        plain.coef_, plain.intercept_ = -plain.coef_, -plain.intercept_
        return dataclasses.replace(link, caps=link.caps[::-1])
    return link


def _bare(model: Any) -> Any:
    """Return scikit-learn's model of the same name, with sigmoids and the bare line."""
    kind, iterations = _PLAIN[model.kind.type]
    plain = kind()
    if model.kind.task == "counts":  # only a fit tells it that its link is a logarithm
        plain.fit(np.zeros((1, model.n_features_in_)), [1.0])
    names = ("coef_", "intercept_", "classes_", "n_features_in_", "feature_names_in_")
    own = {name: getattr(model, name) for name in names if hasattr(model, name)}
    vars(plain).update(copy.deepcopy(own), n_iter_=iterations)
    if kind is LogisticRegression and len(model.classes_) > 2:
        _sort_classes(plain, Link())
    return plain


_ONNX_FLOAT = 1  # onnx.TensorProto.FLOAT
Part = tuple[str, list[float], dict[str, Any]]  # operator, numbers, attributes
_ONE = np.array([1], dtype=np.int32)

# What each has in n_iter_, which some versions of scikit-learn ask a fitted model for.
_PLAIN: dict[str, tuple[Any, Any]] = {
    "DPLogisticRegression": (LogisticRegression, _ONE),
    "DPLinearSVC": (LinearSVC, 1),
    "DPRidge": (Ridge, None),
    "DPHuberRegressor": (HuberRegressor, 1),
    "DPPoissonRegressor": (PoissonRegressor, 1),
}


def to_onnx(model: DPLinearModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as ONNX, for runtimes without Python.

    Parameters
    ----------
    model : estimator
        Fitted; of a model of tables its `estimator_`, which takes features. The input is
        ``X``, float32, one row per record. The file's metadata say the guarantee and what it
        protects under ``privacy``.
    path : path
        The file, replaced if it exists.
    """
    if isinstance(model, TableModel):
        raise ParameterError(
            "ONNX has the linear model only: give model.estimator_, and feed it what "
            "model.transform(table) returns."
        )
    check_fitted(model)
    plain, link = _bare(model), getattr(model, "link_", Link())
    try:
        from skl2onnx import to_onnx as convert
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError:
        raise DpscdError("ONNX needs skl2onnx; install it with: pip install skl2onnx") from None
    inputs = [("X", FloatTensorType([None, model.n_features_in_]))]
    options = None
    if hasattr(plain, "predict_proba"):
        options = {id(plain): {"zipmap": False, "raw_scores": not link.is_sigmoid}}
    made = convert(plain, initial_types=inputs, options=options)
    if not link.is_sigmoid:  # of decisions -u and u
        normal: Part = ("LpNormalization", [], {"p": 1, "axis": 1})
        capped: Part = ("Min", [*link.caps[::-1]], {})
        _append(made.graph, ("Mul", [link.scale], {}), ("Sigmoid", [], {}), capped, normal)
    if getattr(model, "clip_predictions", False):
        low, high = model._bounds()
        _append(made.graph, ("Max", [low], {}), ("Min", [high], {}))
        if getattr(model, "longest_row_", math.inf) < math.inf:
            _prepend_cut(made.graph, model.n_features_in_, model.longest_row_)
    made.metadata_props.add(key="privacy", value=model.privacy_.statement)
    with atomic_write(path, binary=True) as file:
        file.write(made.SerializeToString())


def _after_cut(plain: Any, longest: float) -> Any:
    """Return a fitted model that gets rows cut to a length."""
    scaler = RowScaler(longest).fit(np.zeros((1, plain.n_features_in_)))
    if hasattr(plain, "feature_names_in_"):
        scaler.feature_names_in_ = plain.feature_names_in_
        del plain.feature_names_in_  # what it gets are arrays
    return make_pipeline(scaler, plain)


def _clipped(plain: Any, low: float, high: float) -> Any:
    """Return a regression whose predictions are those of a fitted one, within bounds."""
    clip = FunctionTransformer(
        inverse_func=np.clip, inv_kw_args={"a_min": low, "a_max": high}, check_inverse=False
    )
    whole = TransformedTargetRegressor(clone(plain), transformer=clip, check_inverse=False)
    # Only a fit tells it the shape of its labels.
    whole.fit(np.zeros((1, plain.n_features_in_)), [max(low, 1.0)])
    whole.regressor_ = plain
    if hasattr(plain, "feature_names_in_"):
        whole.feature_names_in_ = plain.feature_names_in_
    return whole


def _prepend_cut(graph: Any, width: int, longest: float) -> None:
    """Cut the rows that a graph takes: multiply each by min(1, longest / its length)."""
    from onnx import helper

    for node in graph.node:
        names = ["X_cut" if name == "X" else name for name in node.input]
        del node.input[:]
        node.input.extend(names)
    ones = ("column_of_ones", [width, 1], [1.0] * width)
    for name, shape, values in (("longest", [1], [longest]), ("one", [1], [1.0]), ones):
        graph.initializer.append(helper.make_tensor(name, _ONNX_FLOAT, shape, values))
    nodes = [
        helper.make_node("Mul", ["X", "X"], ["X_squares"]),
        helper.make_node("MatMul", ["X_squares", "column_of_ones"], ["X_square"]),
        helper.make_node("Sqrt", ["X_square"], ["X_length"]),
        helper.make_node("Div", ["longest", "X_length"], ["X_relative"]),
        helper.make_node("Min", ["X_relative", "one"], ["X_part"]),
        helper.make_node("Mul", ["X", "X_part"], ["X_cut"]),
    ]
    own = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *own])


def _append(graph: Any, *parts: Part) -> None:
    """Put nodes, each on what the one before it gives, between a graph and its last output."""
    from onnx import helper

    output = graph.output[-1].name
    last = f"{output}_bare"
    for node in graph.node:
        names = [last if name == output else name for name in node.output]
        del node.output[:]
        node.output.extend(names)
    for place, (kind, numbers, more) in enumerate(parts):
        name = output if place == len(parts) - 1 else f"{output}_{kind}"
        given = [last, f"{output}_{kind}_by"] if numbers else [last]
        if numbers:
            tensor = helper.make_tensor(given[1], _ONNX_FLOAT, [len(numbers)], numbers)
            graph.initializer.append(tensor)
        graph.node.append(helper.make_node(kind, given, [name], **more))
        last = name
