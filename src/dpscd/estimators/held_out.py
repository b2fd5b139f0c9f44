"""Records that a model is scored on: how many there are first, their cells after the charge."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import validate_data

from dpscd.errors import DataError, ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.searches import check_fitted
from dpscd.estimators.sources import codes_of, units_in
from dpscd.estimators.table import TableModel
from dpscd.estimators.table_answers import schema_chances
from dpscd.estimators.validation import quietly
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import RowSource, is_dask
from dpscd.preprocessing.refusals import redact_errors
from dpscd.preprocessing.stored_rows import StoredRows
from dpscd.privacy.unit import RECORD, Unit
from dpscd.records.labels import ClassLabels, label_column, numbers_in
from dpscd.records.tables import table_source
from dpscd.releases.score import ScoredRecords
from dpscd.scores.measure import Answers

_CHANGED = "the table changed while it was read; what was charged stays charged."


@dataclass(frozen=True, repr=False)
class HeldOut:
    """Unread records; only their number is known, and identifiers of persons."""

    model: Any  # the fitted estimator, without what reads tables
    unit: Unit  # what is protected
    bounds: tuple[float, float] | None  # of the target of a regression, in its own unit
    count: int  # records or persons
    read: Callable[[bool], ScoredRecords]  # reads the cells, with probabilities if asked for


def held_out(model: Any, X: Any, y: Any, groups: Any) -> HeldOut:
    """Return the records that a fitted model is to be scored on.

    Guarantee: what is returned holds of the records their number only; `read` returns for each
    a function of its own cells, and raises nothing that holds a cell.
    """
    if not isinstance(model, TableModel | DPLinearModel):
        raise ParameterError(
            f"model must be a TableModel or one of this library's estimators, not "
            f"{type(model).__name__}: what a record adds to a score must depend on that record "
            "alone."
        )
    check_fitted(model)
    if is_dask(X, y, groups):
        raise ParameterError("private scores are not available on Dask; use a part in memory.")
    unit = _unit(model, groups)
    return (_table if isinstance(model, TableModel) else _arrays)(model, X, y, groups, unit)


def _unit(model: Any, groups: Any) -> Unit:
    """Return what is protected: persons where the model protects them."""
    column = model.schema_.person if isinstance(model, TableModel) else None
    if column is not None:
        if groups is not None:
            raise ParameterError(f"groups cannot be given: the schema's person is {column!r}.")
        return Unit(column)
    if groups is not None:
        return Unit(groups=True)
    if model.privacy_.protected.is_person:
        raise ParameterError(
            "the persons of this model were groups given to fit: without groups= a private "
            "score would protect single records. Give groups=, or name their column in the "
            "schema."
        )
    return RECORD


def _scored(answers: Answers, persons: npt.NDArray[np.int64] | None) -> ScoredRecords:
    return ScoredRecords(answers, persons, units_in(persons, len(answers.labels)))


def _quiet(read: Callable[[bool], ScoredRecords], chances: bool) -> ScoredRecords:
    """Read records; nothing is said of a value, by an error or by a warning of numpy's."""
    with np.errstate(all="ignore"):  # a decision of huge numbers may be none
        found: ScoredRecords = redact_errors(lambda: read(chances))
    return found


def _table(model: Any, table: Any, y: Any, groups: Any, unit: Unit) -> HeldOut:
    own = unit.person is not None
    source = table_source(table, model.schema_, y, person=own)
    codes = codes_of(groups, source.count)

    def read(chances: bool) -> ScoredRecords:
        parsed = source.parsed()
        if not own and len(parsed) != source.count:
            raise DataError(_CHANGED)
        found = _answers(model, model.estimator_, parsed, parsed.target)
        if chances and len(parsed):
            found = found._replace(chances=schema_chances(model, parsed))
        return _scored(found, parsed.persons if own else codes)

    count = units_in(codes, source.count)
    bounds = None if model.schema_.target.classes else model.target_bounds_
    return HeldOut(model.estimator_, unit, bounds, count, lambda x: _quiet(read, x))


def _arrays(model: Any, X: Any, y: Any, groups: Any, unit: Unit) -> HeldOut:
    rows = RowSource(X)
    quietly(validate_data, model, rows.X, reset=False, skip_check_array=True)
    if y is None:
        raise ParameterError("y=None: a score compares predictions with known labels.")
    column = label_column(y)
    if len(column) != rows.count:
        raise DataError(refusals.UNEQUAL)
    codes = codes_of(groups, rows.count)

    def read(chances: bool) -> ScoredRecords:
        found, usable = _finite_rows(rows)
        labels: Any
        if hasattr(model, "classes_"):
            labels = ClassLabels(tuple(model.classes_.tolist())).places(column)
            labels = np.where(usable, labels, -1)
        else:
            labels = np.where(usable, numbers_in(column), np.nan)
        answers = _answers(model, model, found, labels)
        if chances and len(labels):
            answers = answers._replace(chances=model.predict_proba(found))
        return _scored(answers, codes)

    count = units_in(codes, rows.count)
    low, high = getattr(model, "y_bounds", None) or (None, None)
    bounds = None if low is None or high is None else (float(low), float(high))
    return HeldOut(model, unit, bounds, count, lambda x: _quiet(read, x))


def _finite_rows(rows: RowSource) -> tuple[Any, Any]:
    """Return rows of finite numbers, and which are as they were: others are made 0.

    Stored rows are refused where one is not finite.
    """
    if isinstance(rows.X, StoredRows):
        return rows.X, np.ones(rows.count, bool)
    found = rows.read(finite=False)
    if not rows.sparse:
        usable = np.isfinite(found).all(axis=1)
        return np.where(usable[:, None], found, found.dtype.type(0)), usable
    usable = np.ones(rows.count, bool)
    finite = np.isfinite(found.data)
    usable[np.repeat(np.arange(rows.count), np.diff(found.indptr))[~finite]] = False
    kept = np.where(finite, found.data, found.dtype.type(0))
    return sparse.csr_matrix((kept, found.indices, found.indptr), found.shape), usable


def _answers(predictor: Any, model: Any, rows: Any, labels: Any) -> Answers:
    """Return what is known and predicted; classes as codes, in the estimator's order."""
    classes = getattr(model, "classes_", None)
    if not len(labels):
        return Answers(labels, labels, None if classes is None else np.empty((0, len(classes))))
    guess = predictor.predict(rows)
    if classes is not None:
        order = np.argsort(classes)
        guess = order[np.searchsorted(classes, guess, sorter=order)]
    return Answers(labels, guess, None)
