"""Predictions, scores, shapes and intervals of a fitted model of a table."""

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
from dpscd.estimators.intervals import Terms, WithIntervals
from dpscd.estimators.registry import usual_kind
from dpscd.estimators.shapes import column_shapes, table_terms
from dpscd.estimators.validation import check_fitted
from dpscd.model.card import PrivacyCard
from dpscd.model.fit import Fit
from dpscd.preprocessing.column_features import width_of
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.records.encoding import encode, is_sparse, unit_of, used_columns
from dpscd.records.labels import exposures_in, from_trained
from dpscd.records.tables import open_parsed

Floats = npt.NDArray[np.float64]


def _inner(model: Any) -> Any:
    """Return the estimator that a model of a table has trained, or is going to train."""
    found = getattr(model, "estimator_", None) or model.estimator
    if found is None:
        schema = schema_of(model.schema)
        found = usual_kind(classifies=bool(schema.target.classes)).estimator()
    return found


def _has(method: str) -> Callable[[Any], bool]:
    """Return a check for scikit-learn: whether the estimator of a model has this method."""
    return lambda model: bool(getattr(_inner(model), method))  # raises AttributeError


class TableAnswers(WithIntervals, TransformerMixin, BaseEstimator):
    """Views of a fitted model of a table, under the names of scikit-learn."""

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
        return np.array(used_columns(self.schema_, target=False), dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns predictions are made from."""
        return len(self.feature_names_in_)

    def get_feature_names_out(
        self,
        input_features: Any = None,  # noqa: ARG002 - scikit-learn's interface
    ) -> npt.NDArray[Any]:
        """Return the names of the features that :meth:`transform` makes."""
        check_fitted(self)
        return np.array(cast("Any", self.estimator_).feature_names_in_, dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the features of every record, which predictions are made from.

        They are an array or CSR matrix of float32, or what ``set_output`` asks for: as in
        training, but for levels that the released moments did not show, in whose place stands
        the column's released average. The table may lack the target.
        """
        return self._features(X)

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Return the predicted class, or number, of every record.

        `table` is a path, a list of paths or a DataFrame, and may lack the target. Of counts
        over exposures, those are returned that are expected over the exposure of each record;
        over the middle of the exposure's bounds where it is missing.
        """
        model, target = self._nameless(), self.schema_.target
        over: dict[str, Any] = {}
        if target.exposure is not None:
            table = open_parsed(table, self.schema_, target=False).read()
            over["exposure"] = exposures_in(target, table.columns)[0]
        found: npt.NDArray[Any] = model.predict(self._features(table), **over)
        inside = bool(getattr(model, "clip_predictions", False))
        return from_trained(target, found, inside=inside)

    @available_if(_has("predict_proba"))
    def predict_proba(self, table: Any) -> Floats:
        """Return the probability of each class, in the order of `classes_`."""
        return schema_chances(self, table)[:, self._order()]

    @available_if(_has("predict_proba"))
    def predict_log_proba(self, table: Any) -> Floats:
        """Return the logarithm of the probability of each class, as `predict_proba`."""
        model = self._nameless()
        found: Floats = model.predict_log_proba(self._features(table))[:, self._order()]
        return found

    @available_if(_has("decision_function"))
    def decision_function(self, table: Any) -> Floats:
        """Return the decisions: of two classes for the second, of more one column each."""
        found: Floats = self._nameless().decision_function(self._features(table))
        if found.ndim == 1:
            return found if self._order()[0] == 0 else -found
        return found[:, self._order()]

    def score(self, table: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return accuracy, or R2 of a regression: not private, keep it to yourself.

        Records whose target is missing or not one of the classes are left out. `y` is the
        target, where a table in memory does not have it.
        """
        from sklearn.metrics import accuracy_score, r2_score  # not needed to load a model

        check_fitted(self)
        parsed = open_parsed(table, self.schema_, y).read()
        answers, target = self.predict(parsed), parsed.target
        classes = self.schema_.target.classes
        known = target >= 0 if classes else np.isfinite(target)
        known &= exposures_in(self.schema_.target, parsed.columns)[1]
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
            One row per column and value, the column with the clearest effects first: `column`,
            `value` (a number's knots, bounds, or middles of intervals), `effect` on the
            prediction (the log-odds of two classes, the score of each of several, then named
            in `class`) relative to the column's average, and `band`: an estimate of two
            standard deviations over repeated fits of the same records, NaN where it cannot be
            told. `bound` is a proved upper limit for two standard deviations of the noise,
            unless the rows of a lot are nearly parallel: of ridge regression without rescaling
            and without monotone columns, else NaN. `clear` says that the effect is larger than
            the band and chance in the records explain, that it is at least 5 % of the largest,
            and that at least 0.5 % of the records have the value, as far as released means
            tell. A pair is a column "a x b", with a row for every value of a and every one of
            b, in `other`: what it adds to the effects of a and of b.

        Notes
        -----
        Computed from the released model alone: nothing is spent, and the average is a
        released one where means were released. Where the schema normalises rows, shown is what
        a column does before that. Bands of monotone columns are wider
        (docs/proofs/noise_band.md). What bands assume, and where they err:
        docs/proofs/spread.md.
        """
        check_fitted(self)
        return column_shapes(self.schema_, self.bounds_, self.estimator_, self._means())

    def plot(self, column: str | None = None, *, ax: Any = None, label: Any = None) -> Any:
        """Draw what columns do to the prediction, as :meth:`shapes` says it.

        A number is a curve with its band, other columns are bars, faint where they are not
        clear, a pair is a map with signs where it is. Needs the extra ``dpscd[plot]``.

        Parameters
        ----------
        column : str, optional
            The column, or the pair "a x b"; a grid of all of them if left out.
        ax : matplotlib Axes, optional
            Where to draw one column; a new figure if left out.
        label : optional
            The class to draw, of a model with more than two: all of them if left out, of a
            pair the one with the largest effect.
        """
        from dpscd.estimators.plots import plot_effects

        check_fitted(self)
        return plot_effects(self, column, ax, label)

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
        parsed = open_parsed(table, schema, target=False).read()
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


def as_average(
    rows: Any, schema: Schema, unseen: npt.NDArray[np.bool_], means: Floats | None
) -> Any:
    """Return rows in which released means stand for levels not seen in training.

    `rows` are written to; `unseen` are levels that the released moments did not show. A cell
    missing from a complete list, and a pair without a feature, count in the same way.

    Guarantee: what a row becomes is a function of the row and of released numbers.
    """
    if means is None:
        return rows
    stop = 0
    for part in schema.parts:
        own = slice(stop, stop + width_of(part))
        stop = own.stop
        cells = rows[:, own]
        unknown = cells[:, unseen[own]].any(axis=1)
        if _may_be_absent(part):
            unknown |= ~cells.any(axis=1)
        cells[unknown] = means[own]
    return rows


def averages_in(
    coef: Floats, intercept: Floats, schema: Schema, unseen: Any, means: Floats | None
) -> tuple[Floats, Floats]:
    """Return coefficients that predict the same without :func:`as_average`.

    A record has one level of a category, or none: the column's average is taken from its
    levels and added to the intercept. The features of a pair add up to a constant, or there
    are none. The indicator of a missing number gets the average.
    """
    coef, intercept = coef.copy(), intercept.copy()
    if means is None:
        return coef, intercept
    unit = unit_of(schema)
    stop = 0
    for part in schema.parts:
        own = slice(stop, stop + width_of(part))
        stop = own.stop
        average = coef[:, own] @ means[own]
        if isinstance(part, Cross) or part.kind == "category" or part.cyclic:
            coef[:, own] -= average[:, None] / unit
            coef[:, own][:, unseen[own]] = 0.0
            intercept += average
        elif unseen[own].any():
            coef[:, own][:, unseen[own]] = average[:, None] / unit
    return coef, intercept


def _may_be_absent(part: Column | Cross) -> bool:
    """Return whether a record may have no feature of a column or pair."""
    columns = (part,) if isinstance(part, Column) else (part.first, part.second)
    return any(column.missing == "average" for column in columns)
