"""A private model of a table: schema, bounds, features and estimator in one."""

import dataclasses
import hashlib
import json
import math
import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from dpscd.cards.card import PrivacyCard
from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLinearClassifier
from dpscd.estimators.files import write_model
from dpscd.estimators.monotone import is_monotone, made_monotone
from dpscd.estimators.plain_values import floats_from_plain
from dpscd.estimators.registry import MODELS, kind_of, usual_kind
from dpscd.estimators.regression import DPLinearRegressor
from dpscd.estimators.searches import check_fitted, refusals_noted, warn_of_split_groups
from dpscd.estimators.sources import DaskTable, Table
from dpscd.estimators.table_answers import TableAnswers
from dpscd.preprocessing.cells import canonical, text_of
from dpscd.preprocessing.containers import is_dask
from dpscd.preprocessing.declarations import Target
from dpscd.preprocessing.encoding import feature_names, width_of
from dpscd.preprocessing.levels import levels_of
from dpscd.preprocessing.resolution import lined
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.preprocessing.target_scale import trained_bounds
from dpscd.privacy.release import Release
from dpscd.records.redaction import redact_memory_errors

__all__ = ["TableModel", "restored_table"]

Floats = npt.NDArray[np.float64]


class TableModel(TableAnswers):
    """Train on a table by its schema, and predict for tables.

    Parameters
    ----------
    schema : Schema, dict or path
        What is known about the columns without looking at the records. Columns with
        ``bounds = "private"`` get bounds estimated with a part of the budget, stated on the
        card.
    estimator : one of the estimators, optional
        What to train, unfitted, with epsilon and the other parameters. Its `classes` and
        `y_bounds` come from the schema: leave them out, others are refused. None is
        ``DPLogisticRegression()`` for a target with classes and ``DPRidge()`` for one with
        bounds.

    Attributes
    ----------
    schema_ : Schema
        The schema that was used, with the shape that each number got.
    estimator_ : one of the estimators
        The fitted estimator, on features.
    bounds_ : dict
        Released bounds of the columns that have private ones.
    privacy_ : PrivacyCard
        What the model guarantees.
    classes_ : array
        The classes in the order of probabilities: sorted, as scikit-learn has them.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dpscd import DPLogisticRegression, TableModel
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.integers(18, 90, 20_000)})
    >>> table["retired"] = np.where(table["age"] > 65, "yes", "no")
    >>> schema = {
    ...     "target": {"column": "retired", "classes": ["no", "yes"]},
    ...     "columns": {"age": {"kind": "number", "bounds": [0, 120], "bins": 12}},
    ... }
    >>> estimator = DPLogisticRegression(epsilon=1.0, random_state=0)
    >>> model = TableModel(schema, estimator).fit(table)
    >>> bool((model.predict(table) == table["retired"]).mean() > 0.9)
    True
    """

    def __init__(self, schema: Any, estimator: Any = None) -> None:
        self.schema = schema
        self.estimator = estimator

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the estimator as ``estimator__lam`` and so on.

        Parameters
        ----------
        **params
            New values. An estimator that was not given is the usual one of the schema.

        Returns
        -------
        self
        """
        own = params.get("estimator", self.estimator)
        if own is None and any(name.startswith("estimator__") for name in params):
            schema = schema_of(params.get("schema", self.schema))
            usual = usual_kind(classifies=bool(schema.target.classes))
            params = {**params, "estimator": usual.estimator()}
        found: Self = super().set_params(**params)
        return found

    @redact_memory_errors
    def fit(self, table: Any, y: Any = None, groups: Any = None) -> Self:
        """Train on a table that has the target among its columns.

        Parameters
        ----------
        table : path, list of paths or DataFrame
            The records: CSV or Parquet files, or a table of pandas, of polars (or whatever
            speaks Arrow), or of Dask, whose partitions are trained on where they are. Files are
            the safest: a table may have lost what its cells were. Values outside the schema are
            moved to the nearest bound or to "other", silently; a record whose target is missing
            or not one of the classes contributes nothing.
        y : array-like, optional
            The target, when a table in memory does not have it; not on Dask.
        groups : array-like, optional
            Whose row each is, where the schema names no column of persons; not on Dask. Then,
            as with such a column, a person with all its rows is what is protected.

        Returns
        -------
        self
        """
        model, source, classes = self._prepared(table, y, groups)
        with refusals_noted(self):
            pairs = model.fit_source(source, classes).bounds or getattr(source, "seen", ())
        schema = source.schema
        found = dict(zip((part.name for part in schema.private), pairs, strict=True))
        if schema.target.private_bounds:
            model.set_params(y_bounds=found[schema.target.name])
        model.feature_names_in_ = np.array(feature_names(schema, found), dtype=object)
        model.n_features_in_ = len(model.feature_names_in_)
        if schema.target.classes:
            weights = getattr(self.estimator, "class_weight", None)
            model.set_params(classes=list(schema.target.classes), class_weight=weights)
            model.classes_ = np.array(schema.target.classes)
        model.privacy_ = _with_schema(model.privacy_, schema, found)
        projected, means = made_monotone(schema, found, model), model.released_means()
        if means is not None:  # the average prediction stays where training put it
            model.intercept_ = model.intercept_ + (model.coef_ - projected) @ means
        model.coef_ = projected
        self.schema_, self.bounds_, self.estimator_ = schema, found, model
        return self

    def planned_releases(
        self, table: Any, y: Any, groups: Any, count: int
    ) -> tuple[Release, ...]:
        """Return what a fit on some of these records would release, from public facts alone.

        Parameters
        ----------
        table, y, groups
            As for :meth:`fit`.
        count : int
            Public number of the records, or persons, that would be trained on.
        """
        model, source, classes = self._prepared(table, y, groups, count)
        found: tuple[Release, ...] = model.planned_releases(source, classes, count)
        return found

    def _prepared(
        self, table: Any, y: Any, groups: Any, count: int | None = None
    ) -> tuple[Any, "Table | DaskTable", Any]:
        """Return the unfitted estimator, the records and the classes' codes.

        `count` is the public number of records to plan for, if that is not the table's.
        """
        schema = schema_of(self.schema)
        model: Any = self._unfitted(schema)
        if getattr(model, "inference", False):
            schema = lined(schema)
            if not model.fit_intercept:
                raise ParameterError("inference on a table needs fit_intercept=True.")
            if schema.target.transform:
                raise ParameterError(
                    f"inference is for a target in its own unit: {schema.target.name!r} has "
                    f"transform = {schema.target.transform!r}."
                )
        persons = None
        if groups is not None or schema.person is not None:
            if groups is not None and schema.person is not None:
                raise ParameterError(
                    f"groups cannot be given: the schema's person is {schema.person!r}."
                )
            persons = model.persons_in(schema.person)
        else:
            warn_of_split_groups()
        classes = np.arange(len(schema.target.classes)) if schema.target.classes else None
        kind = DaskTable if is_dask(table, y) else Table
        n = model.n if count is None else count
        return model, kind(table, y, schema, model.epsilon, n, persons, groups), classes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model with its schema to a JSON file, for :func:`dpscd.load`.

        Parameters
        ----------
        path : path
            The file, replaced if it exists.
        """
        check_fitted(self)
        table = {
            "schema": self.schema_.to_dict(),
            "bounds": {name: list(pair) for name, pair in self.bounds_.items()},
        }
        write_model(self.estimator_, path, table)

    def __getstate__(self) -> Any:
        # As for estimators: whoever has the seed can take the noise away again.
        state = super().__getstate__()
        if "estimator_" in state and self.estimator is not None:
            own = {"random_state": None, "ledger": None, "dataset": None}
            state = {**state, "estimator": clone(self.estimator).set_params(**own)}
        return state

    def _unfitted(self, schema: Schema) -> DPLinearModel:
        """Return a fresh estimator with the schema's classes or bounds."""
        given = self.estimator
        if given is None:
            given = usual_kind(classifies=bool(schema.target.classes)).estimator()
        if not isinstance(given, DPLinearModel):
            names = [kind.type for kind in MODELS]
            raise ParameterError(f"estimator must be one of {', '.join(names)}.")
        model: DPLinearModel = clone(given)
        if getattr(model, "exposure_bounds", None) is not None:
            raise ParameterError("exposure_bounds is for arrays: tables have no exposure.")
        if isinstance(model, DPLinearClassifier) != bool(schema.target.classes):
            kind = "classes" if schema.target.classes else "bounds, not classes"
            raise ParameterError(
                f"{type(model).__name__} does not go with target {schema.target.name!r}, "
                f"which has {kind}."
            )
        _check_against(schema.target, model)
        if not isinstance(model, DPLinearClassifier):
            bounds = schema.target.bounds
            if isinstance(bounds, str) and kind_of(model).task == "counts":
                raise ParameterError(
                    f"target {schema.target.name!r} has counts: their bounds must be declared, "
                    "not private."
                )
            if schema.target.transform and kind_of(model).task == "counts":
                raise ParameterError(
                    f"target {schema.target.name!r} has counts, which are trained as they are: "
                    "take transform away, or take DPRidge."
                )
            own = (-1.0, 1.0) if isinstance(bounds, str) else trained_bounds(schema.target)
            model.set_params(y_bounds=own)
            return model
        weights = model.class_weight
        if isinstance(weights, dict):
            number = {text: place for place, text in enumerate(schema.target.classes)}
            foreign = sorted(str(label) for label in weights if str(label) not in number)
            if foreign:
                raise ParameterError(
                    f"class_weight has a weight for {foreign[0]}, which is not one of the "
                    "schema's classes."
                )
            weights = {number[str(label)]: weight for label, weight in weights.items()}
        classes = list(range(len(schema.target.classes)))
        model.set_params(classes=classes, class_weight=weights)
        return model


def _check_against(target: Target, model: Any) -> None:
    """Refuse an estimator whose classes or bounds of labels are not those of the schema."""
    if target.classes:
        name, said = "classes", f"classes = {list(target.classes)}"
        same = model.classes is None or {
            canonical(str(text_of(label))) for label in model._declared_classes().tolist()
        } == {canonical(text) for text in target.classes}
    else:
        name, own = "y_bounds", target.bounds
        said = f"bounds = {own!r}"
        same = model.y_bounds is None or (
            not isinstance(own, str) and model._bounds() in (own, trained_bounds(target))
        )
    if not same:
        raise ParameterError(
            f"{name}={getattr(model, name)!r} contradicts the schema, whose target "
            f"{target.name!r} has {said}: leave {name} out, or change the schema."
        )


def restored_table(model: DPLinearModel, table: dict[str, Any]) -> TableModel:
    """Return the table model of a file, given its estimator and the rest."""
    schema = Schema.from_dict(table["schema"])
    found = {str(k): floats_from_plain(v).tolist() for k, v in table["bounds"].items()}
    bounds = {name: (low, high) for name, (low, high) in found.items()}
    expected = _with_schema(model.privacy_, schema, bounds).public
    width = sum(width_of(part) for part in schema.parts)
    good = expected == model.privacy_.public and width == model.n_features_in_
    good = good and set(bounds) == {part.name for part in schema.private}
    good = good and all(-math.inf < low < high < math.inf for low, high in bounds.values())
    levels = levels_of(schema)
    known = np.ones(width, dtype=bool) if levels is None else levels.value == 0.0
    good = good and not (model.unseen_features() & known).any()
    good = good and is_monotone(schema, bounds, model)
    good = good and model.privacy_.protected.person == schema.person
    if isinstance(model, DPLinearRegressor):
        own = tuple(model.y_bounds or ())
        good = good and own == (bounds.get(schema.target.name) or trained_bounds(schema.target))
    if not good:
        raise ParameterError("its schema does not fit its card.")
    usual = {"y_bounds": None} if schema.target.private_bounds else {}
    whole = TableModel(schema, clone(model).set_params(**usual))  # to be estimated anew
    whole.schema_, whole.bounds_, whole.estimator_ = schema, bounds, model
    return whole


def _with_schema(
    card: PrivacyCard, schema: Schema, bounds: dict[str, tuple[float, float]]
) -> PrivacyCard:
    """Return a card that also says which schema was taken as public."""
    text = json.dumps(schema.to_dict(), sort_keys=True)
    public = {
        **card.public,
        "target": schema.target.name,
        "schema": hashlib.sha256(text.encode()).hexdigest(),
        "read_from_data": list(schema.read_from_data),
        "released_bounds": {name: list(pair) for name, pair in bounds.items()},
    }
    if schema.target.classes:
        public["classes"] = list(schema.target.classes)
        named = {str(place): text for place, text in enumerate(schema.target.classes)}
        weights = card.public["class_weight"]
        if "schema" not in card.public:
            weights = {named[place]: weight for place, weight in weights.items()}
        public["class_weight"] = weights
    return dataclasses.replace(card, public=public)
