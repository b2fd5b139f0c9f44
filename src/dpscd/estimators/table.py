"""A private model of a table: schema, bounds, features and estimator in one."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import clone

from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.registry import MODELS, usual_kind
from dpscd.estimators.table_answers import TableAnswers
from dpscd.estimators.validation import (
    check_fitted,
    check_for_dask,
    refusals_noted,
    warn_of_split_groups,
)
from dpscd.model.file import write_fit
from dpscd.model.fit import Fit
from dpscd.planning.plan import Plan
from dpscd.preprocessing.declarations import Target
from dpscd.preprocessing.schema import Schema, lined, schema_of
from dpscd.records.cells import canonical, text_of
from dpscd.records.encoding import feature_names
from dpscd.records.files import names_of
from dpscd.records.labels import trained_bounds
from dpscd.records.opening import Given, open_records
from dpscd.records.refusals import redact_memory_errors
from dpscd.records.rows import Unread, is_dask
from dpscd.releases.base import Observer


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
        Fitted on features.
    bounds_ : dict
        Released bounds of the columns that have private ones.

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

        An estimator that was not given is the usual one of the schema.
        """
        own = params.get("estimator", self.estimator)
        if own is None and any(name.startswith("estimator__") for name in params):
            schema = schema_of(params.get("schema", self.schema))
            usual = usual_kind(classifies=bool(schema.target.classes))
            params = {**params, "estimator": usual.estimator()}
        found: Self = super().set_params(**params)
        return found

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
            Group label of each row, where the schema names no column of persons; not on Dask.
            As with such a column, a person with all its rows is then what is protected.

        Returns
        -------
        self
        """
        with refusals_noted(self):
            return self._fit(table, y, groups)

    @redact_memory_errors
    def _fit(self, table: Any, y: Any, groups: Any, observer: Observer | None = None) -> Self:
        """Train; an audit's `observer` sees the released path."""
        model, opened = self._prepared(table, y, groups)
        fit = model.fit_records(opened, observer=observer)
        given = self._given(fit.plan.facts.schema)
        return self._restored(replace(fit, parameters=given._kept_parameters()))

    def _restored(self, fit: Fit) -> Self:
        """Take a fit of this schema and estimator as the result."""
        facts = fit.plan.facts
        schema, bounds = facts.schema, dict(zip(facts.private, fit.numbers.bounds, strict=True))
        model: Any = self._unfitted(schema)
        if schema.target.private_bounds:
            model.set_params(y_bounds=bounds[schema.target.name])
        if schema.target.classes:
            weights = getattr(self.estimator, "class_weight", None)
            model.set_params(classes=list(schema.target.classes), class_weight=weights)
        model._restored(fit)
        model.feature_names_in_ = np.array(feature_names(schema, bounds), dtype=object)
        self.schema_, self.bounds_, self.estimator_ = schema, bounds, model
        return self

    def planned(self, table: Any, y: Any, groups: Any, count: int) -> Plan:
        """Return the plan of a fit on `count` of these records, from public facts alone."""
        model, opened = self._prepared(table, y, groups, count)
        found: Plan = model.planned_on(opened, count)
        return found

    def _prepared(
        self, table: Any, y: Any, groups: Any, count: int | None = None
    ) -> tuple[Any, AbstractContextManager[Unread]]:
        """Return the unfitted estimator, and the records to be opened.

        `count` is the public number of records to plan for, if that is not the table's.
        """
        schema = schema_of(self.schema)
        if schema.patterns:
            schema = schema.resolved(names_of(table, schema.layout))
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
        if groups is None and schema.person is None:
            warn_of_split_groups()
        elif groups is None or schema.person is None:
            persons = model.persons_in(schema.person)
        else:
            raise ParameterError(
                f"groups cannot be given: the schema's person is {schema.person!r}."
            )
        if is_dask(table, y, groups):
            check_for_dask(model)
        n = model.n if count is None else count
        known: dict[str, Any] = {"schema": schema, "persons": persons, "n": n}
        known["epsilon"] = float(model.epsilon)
        return model, open_records(table, y, Given(groups=groups), **known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model with its schema to a JSON file, for :func:`dpscd.load`.

        A file that exists is replaced.
        """
        check_fitted(self)
        fit = self.estimator_._written()
        write_fit(replace(fit, features=None), path)

    def __getstate__(self) -> Any:
        # As for estimators: whoever has the seed can take the noise away again.
        state = super().__getstate__()
        if "estimator_" in state and self.estimator is not None:
            own = {"random_state": None, "ledger": None, "dataset": None}
            state = {**state, "estimator": clone(self.estimator).set_params(**own)}
        return state

    def _given(self, schema: Schema) -> DPLinearModel:
        """Return the estimator as it was given, or the usual one."""
        given = self.estimator
        if given is None:
            given = usual_kind(classifies=bool(schema.target.classes)).estimator()
        if not isinstance(given, DPLinearModel):
            names = [kind.type for kind in MODELS]
            raise ParameterError(f"estimator must be one of {', '.join(names)}.")
        return given

    def _unfitted(self, schema: Schema) -> DPLinearModel:
        """Return a fresh estimator with the schema's classes or bounds."""
        model: Any = clone(self._given(schema))
        target, kind = schema.target, model.kind
        counts, named = kind.task == "counts", f"target {target.name!r}"
        has = "classes" if target.classes else "bounds, not classes"
        for wrong, words in (
            (
                getattr(model, "exposure_bounds", None) is not None,
                "exposure_bounds is for arrays: a table's schema has exposure under [target].",
            ),
            (
                kind.classifies != bool(target.classes),
                f"{type(model).__name__} does not go with {named}, which has {has}.",
            ),
            (
                counts and target.private_bounds,
                f"{named} has counts: their bounds must be declared, not private.",
            ),
            (
                counts and target.transform,
                f"{named} has counts, which are trained as they are: take transform away, or "
                "take DPRidge.",
            ),
            (
                target.exposure is not None and not counts,
                f"{named} has an exposure, which is for counts: take DPPoissonRegressor.",
            ),
        ):
            if wrong:
                raise ParameterError(words)
        _check_against(target, model)
        if target.classes:
            weights = _numbered(model.class_weight, target.classes)
            model.set_params(classes=list(range(len(target.classes))), class_weight=weights)
            return cast("DPLinearModel", model)
        if target.exposure is not None:
            model.set_params(exposure_bounds=target.exposure_bounds)
        own = (-1.0, 1.0) if target.private_bounds else trained_bounds(target)
        model.set_params(y_bounds=own)
        return cast("DPLinearModel", model)


def _numbered(weights: Any, classes: Sequence[str]) -> Any:
    """Return weights of classes by their places in the schema."""
    if not isinstance(weights, dict):
        return weights  # None, or refused by the estimator
    place = {text: number for number, text in enumerate(classes)}
    foreign = sorted(str(label) for label in weights if str(label) not in place)
    if foreign:
        raise ParameterError(
            f"class_weight has a weight for {foreign[0]}, which is not one of the schema's "
            "classes."
        )
    return {place[str(label)]: weight for label, weight in weights.items()}


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
