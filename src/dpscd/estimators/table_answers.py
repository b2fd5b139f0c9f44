"""What a fitted model of a table answers: predictions, scores, shapes and intervals."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from dpscd.errors import DpscdError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.intervals import (
    Intervals,
    Terms,
    WithIntervals,
    intervals_of,
    table_terms,
)
from dpscd.estimators.parameters import KnownParameters
from dpscd.estimators.registry import usual_kind
from dpscd.estimators.searches import check_fitted
from dpscd.estimators.shapes import column_shapes
from dpscd.estimators.unseen import as_average
from dpscd.model.card import PrivacyCard
from dpscd.model.fit import Fit
from dpscd.preprocessing.encoding import encode, is_sparse
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.records.labels import from_trained
from dpscd.records.tables import table_source

Floats = npt.NDArray[np.float64]


def _inner(model: Any) -> Any:
    """Return the estimator that a model of a table has trained, or is going to train."""
    found = getattr(model, "estimator_", None) or model.estimator
    if found is None:
        schema = schema_of(model.schema)
        found = usual_kind(classifies=bool(schema.target.classes)).estimator()
    return found


def _has(method: str, words: str) -> Callable[[Any], bool]:
    """Return a check for scikit-learn: whether the estimator of a model has this method."""

    def check(model: Any) -> bool:
        estimator = _inner(model)
        if not hasattr(estimator, method):
            raise AttributeError(f"{type(estimator).__name__} has no {words}.")
        return True

    return check


class TableAnswers(KnownParameters, WithIntervals, TransformerMixin, BaseEstimator):
    """The part of a model of a table that asks what was learnt, as scikit-learn does."""

    schema: Any
    estimator: Any
    schema_: Schema
    estimator_: DPLinearModel
    bounds_: dict[str, tuple[float, float]]

    @property
    def fit_(self) -> Fit:
        """What was fitted: the content of its file."""
        check_fitted(self)
        return self.estimator_.fit_

    @property
    def privacy_(self) -> PrivacyCard:
        """What the model guarantees."""
        check_fitted(self)
        return self.estimator_.privacy_

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes in the order of probabilities: sorted, as scikit-learn has them."""
        check_fitted(self)
        model: Any = self.estimator_
        classes: npt.NDArray[Any] = np.sort(model.classes_)
        return classes

    @property
    def target_bounds_(self) -> tuple[float, float]:
        """Bounds of the target of a regression, declared or released, in its own unit."""
        check_fitted(self)
        target = self.schema_.target
        bounds: tuple[float, float] = self.bounds_.get(
            target.name, cast("tuple[float, float]", target.bounds)
        )
        return bounds

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The columns that predictions are made from."""
        check_fitted(self)
        return np.array([column.name for column in self.schema_.features], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns predictions are made from."""
        return len(self.feature_names_in_)

    def get_feature_names_out(
        self,
        input_features: Any = None,  # noqa: ARG002 - scikit-learn's interface
    ) -> npt.NDArray[Any]:
        """Return what the features are called that :meth:`transform` makes.

        Parameters
        ----------
        input_features : ignored
            The schema knows the columns.

        Returns
        -------
        array of str
        """
        check_fitted(self)
        return np.array(cast("Any", self.estimator_).feature_names_in_, dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the features of every record, which predictions are made from.

        Parameters
        ----------
        X : path, list of paths or DataFrame
            Records; the target may be absent.

        Returns
        -------
        array or CSR matrix of float32, or what ``set_output`` asks for
            As in training, but for levels that the released moments did not show: in their
            place stands the column's released average.
        """
        return self._features(X)

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Return the predicted class, or number, of every record.

        Parameters
        ----------
        table : path, list of paths or DataFrame
            Records; the target may be absent.

        Returns
        -------
        array of shape (n_samples,)
        """
        model = self._nameless()
        found: npt.NDArray[Any] = model.predict(self._features(table))
        inside = bool(getattr(model, "clip_predictions", False))
        return from_trained(self.schema_.target, found, inside=inside)

    @available_if(_has("predict_proba", "probabilities"))
    def predict_proba(self, table: Any) -> Floats:
        """Return the probability of each class; of a logistic regression only.

        Parameters
        ----------
        table : path, list of paths or DataFrame
            Records; the target may be absent.

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of `classes_`, which are sorted.
        """
        return schema_chances(self, table)[:, self._order()]

    @available_if(_has("predict_proba", "probabilities"))
    def predict_log_proba(self, table: Any) -> Floats:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        table : path, list of paths or DataFrame
            Records; the target may be absent.

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of `classes_`, which are sorted.
        """
        model = self._nameless()
        found: Floats = model.predict_log_proba(self._features(table))[:, self._order()]
        return found

    @available_if(_has("decision_function", "decision function"))
    def decision_function(self, table: Any) -> Floats:
        """Return the decisions: of two classes for the second of `classes_`.

        Parameters
        ----------
        table : path, list of paths or DataFrame
            Records; the target may be absent.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            In the order of `classes_`, which are sorted.
        """
        found: Floats = self._nameless().decision_function(self._features(table))
        if found.ndim == 1:
            return found if self._order()[0] == 0 else -found
        return found[:, self._order()]

    def score(self, table: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return accuracy, or R2 of a regression: not private, keep it to yourself.

        Parameters
        ----------
        table : path, list of paths or DataFrame
            Records with their target. Those whose target is missing or not one of the classes
            are left out.
        y : array-like, optional
            The target, when a table in memory does not have it.
        sample_weight : array-like, optional
            Weights of the records.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score, r2_score  # not needed to load a model

        check_fitted(self)
        parsed = table_source(table, self.schema_, y).parsed()
        answers, target = self.predict(parsed), parsed.target
        classes = self.schema_.target.classes
        known = target >= 0 if classes else np.isfinite(target)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        if classes:
            truth = np.array(classes)[target[known]]
            return float(accuracy_score(truth, answers[known], sample_weight=weight))
        low, high = self.target_bounds_
        truth = np.clip(target[known], low, high)
        return float(r2_score(truth, answers[known], sample_weight=weight))

    def shapes(self) -> pd.DataFrame:
        """Return what each column does to the prediction, with the noise that privacy added.

        Returns
        -------
        DataFrame
            One row per column and value: `column`, `value`, `effect` on the prediction (on the
            log-odds of a logistic regression of two classes, on the score of each class of
            several) relative to the column's average, and `band`: for ridge regression without
            rescaling a proved upper bound for two standard deviations of the noise in it,
            unless the rows of a lot are nearly parallel; else a rough estimate, usually too
            wide, often by several times, and sometimes too narrow. `clear` says that zero lies
            outside the band, that the effect is at least 5 % of the largest, and that at least
            0.5 % of the records have the value, as far as released means tell. With more than
            two classes also `class`.
            Numbers are shown at their knots, the middle of their intervals, or at their
            bounds. The column whose effects are the clearest comes first. A pair is a column
            called "a x b", with a row for every value of a and every one of b, which stands in
            `other`; it is there if the schema has pairs. Shown is what the pair adds to the
            effects of a and of b.

        Notes
        -----
        Computed from the released model alone: nothing is spent, and the average is a
        released one where means were released. Where the schema normalises rows, what a column
        does depends on the rest of the record; shown is what it does before that. Bands of
        monotone columns are wider, docs/proofs/noise_band.md says why; those of models with
        such columns are rough estimates.
        """
        check_fitted(self)
        return column_shapes(self.schema_, self.bounds_, self.estimator_, self._means())

    def conf_int(
        self, level: float = 0.95, reference: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return confidence intervals of what columns do, if trained with `inference`.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.
        reference : dict, optional
            From categories to the level that others are compared with; the first listed where
            it says nothing.

        Returns
        -------
        DataFrame
            `term`, `estimate`, `low` and `high`: of a number by its own unit, of a level
            against the reference. NaN where there is no interval; ``summary()`` says why.
        """
        frame = self.summary(level, reference).frame
        return frame[["term", "estimate", "low", "high"]]

    def summary(
        self, level: float = 0.95, reference: Mapping[str, Any] | None = None
    ) -> Intervals:
        """Return estimates, standard errors, z, p-values and intervals; it prints as a table.

        Parameters
        ----------
        level, reference
            As of :meth:`conf_int`.
        """
        check_fitted(self)
        return intervals_of(self.estimator_, self._terms(reference), level)

    def _terms(self, reference: Mapping[str, Any] | None = None) -> Terms:
        return table_terms(self.schema_, self.bounds_, reference)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        schema = self._schema_or_none()
        if schema is not None and schema.target.classes:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif schema is not None:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        tags.target_tags.required = False  # it may be a column of the table
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = getattr(self.estimator, "random_state", None) is None
        return tags

    def _schema_or_none(self) -> Schema | None:
        """Return the schema, or None if there is none that could be read: `fit` says why."""
        if hasattr(self, "schema_"):
            return self.schema_
        try:
            return schema_of(self.schema)
        except (DpscdError, OSError):
            return None

    def _features(self, table: Any) -> Any:
        check_fitted(self)
        model, schema = self.estimator_, self.schema_
        parsed = table_source(table, schema, target=False).parsed()
        rows = encode(schema, parsed, self.bounds_, as_sparse=is_sparse(schema))
        return as_average(rows, schema, model.unseen_features(), self._means())

    def _means(self) -> Floats | None:
        """Return the released means of the features, if they are in the unit of a column."""
        plain = self.schema_.rows == "scale" and not is_sparse(self.schema_)
        return self.estimator_.released_means() if plain else None

    def _nameless(self) -> Any:
        """Return the estimator for arrays: the schema has already seen to names."""
        check_fitted(self)
        plain: Any = copy.copy(self.estimator_)
        del plain.feature_names_in_
        return plain

    def _order(self) -> npt.NDArray[np.intp]:
        """Return where the classes, sorted, stand in the schema."""
        return np.argsort(cast("Any", self.estimator_).classes_)


def schema_chances(model: TableAnswers, table: Any) -> Floats:
    """Return the probability of each class, in the order of the schema."""
    found: Floats = model._nameless().predict_proba(model._features(table))
    return found
