"""How good a model is on held-out records, released with noise and an interval."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import validate_data

from dpscd._version import __version__
from dpscd.errors import DataError, ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.evaluation import bounds_of, labels_of, predicted_answers
from dpscd.estimators.fitting import Charge
from dpscd.estimators.parameters import check, integer, number
from dpscd.estimators.table import TableModel
from dpscd.estimators.validation import check_budget, check_fitted, delta_of, quietly
from dpscd.model.file import write_fit
from dpscd.model.fit import Fit, numbers_of, run
from dpscd.planning.plan import Plan
from dpscd.privacy.accounting import library_version
from dpscd.privacy.random import source_for
from dpscd.privacy.relation import RECORD, PrivacyTarget, Relation, Unit
from dpscd.records import refusals
from dpscd.records.labels import label_column
from dpscd.records.opening import codes_of, units_in
from dpscd.records.refusals import redact_errors, redact_memory_errors
from dpscd.records.rows import Unread, is_dask, open_rows
from dpscd.records.stored_rows import StoredRows
from dpscd.records.tables import open_parsed
from dpscd.releases.score import SCORE, Score, ScoredRecords
from dpscd.scores.measure import Answers
from dpscd.scores.registry import METRIC_WORDS, ScoreFacts, metric_called

_LARGEST = 1e4  # epsilon that a card holds


def _view(of: str, says: str) -> Any:
    return property(attrgetter(of), doc=says)


@dataclass(frozen=True)
class PrivateScore:
    """A measure of a model on held-out records, with noise.

    `low` and `high` hold noise and sampling error: the interval is for the population that the
    records are drawn from. `noise_low` and `noise_high` are for the value on these records.
    Both have the level `level`, each number by itself.

    Attributes
    ----------
    fit_ : Fit
        All that was released; everything else is a view of it.

    Examples
    --------
    >>> from dpscd import DPRidge, private_score
    >>> X, y = [[0.1], [0.2]] * 50, [0, 1] * 50
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1)).fit(X, y)
    >>> private_score(model, X, y, epsilon=0.5, metric="mse").bound
    1.0
    """

    fit_: Fit

    metric = _view("fit_.plan.facts.metric", "Which measure it is.")
    value = _view(
        "fit_.numbers.value",
        "The estimate: of 'recall' a list with a number per class, of 'confusion' one per pair "
        "of classes (rows are true, columns predicted ones), as shares of all records.",
    )
    low = _view("fit_.numbers.low", "Lower end of the interval for the population.")
    high = _view("fit_.numbers.high", "Upper end of the interval for the population.")
    noise_low = _view("fit_.numbers.noise_low", "Lower end of the interval for these records.")
    noise_high = _view(
        "fit_.numbers.noise_high", "Upper end of the interval for these records."
    )
    level = _view("fit_.plan.facts.level", "Level of both intervals.")
    card = _view("fit_.card", "What is guaranteed to the held-out records.")

    @property
    def bound(self) -> float | None:
        """The largest loss of a record, where the measure has one."""
        found: float | None = self.fit_.plan.main.measure.facts().get("bound")
        return found

    @property
    def classes(self) -> list[Any] | None:
        """Names of the classes, in the order of lists."""
        facts: Any = self.fit_.plan.facts
        return list(facts.classes) or None

    def __repr__(self) -> str:
        ends = (
            ""
            if np.ndim(self.value)
            else f"={self.value:.4g}, {self.low:.4g} to {self.high:.4g}"
        )
        return f"PrivateScore({self.metric}{ends}, epsilon={self.card.epsilon:g})"

    def _repr_html_(self) -> str:
        from dpscd.rendering import html_table

        facts: Any = self.fit_.plan.facts
        names = [str(x) for x in facts.classes] if np.ndim(self.value) else [""]
        columns: Any = np.atleast_1d(self.value, self.low, self.high)
        headings = [METRIC_WORDS[self.metric], "value", "low", "high"]
        if np.ndim(self.value) == 2:
            columns, headings = np.transpose(self.value), ["true \\ predicted", *names]
        rows = [[name, *map(float, row)] for name, *row in zip(names, *columns, strict=True)]
        title = f"Private score on {facts.n:,} held-out {facts.unit.noun}s"
        note = (
            f"Intervals at {100.0 * self.level:g} %, for the population. {self.card.statement}"
        )
        return html_table(title, headings=headings, rows=rows, note=note)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the score to a JSON file, which ``dpscd verify`` and ``dpscd report`` read."""
        write_fit(self.fit_, path)


@redact_memory_errors
def private_score(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    metric: str = "auto",
    delta: float | str = "auto",
    relation: str = "zero-out",
    level: float = 0.95,
    bound: float | None = None,
    n: int | None = None,
    groups: Any = None,
    ledger: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    random_state: Any = None,
) -> PrivateScore:
    """Return how good a model is on held-out records, private for these records.

    Parameters
    ----------
    model : TableModel or one of the estimators
        Fitted, on other records.
    X : path, list of paths, table or array
        For a TableModel whatever it predicts for, else rows.
    y : array-like, optional
        The labels, where a table does not have them. A record whose label is missing, not one
        of the classes or no number counts as the worst; in a confusion matrix, recalls and the
        AUC it is left out.
    epsilon : float
        What the score may cost the held-out records.
    metric : str, default='auto'
        'accuracy', 'auc', 'log_loss', 'brier', 'confusion' or 'recall' of a classifier; 'mae',
        'mse' or 'r2' of a regression; or scikit-learn's name of one ('roc_auc',
        'neg_mean_squared_error', ...; losses without its sign). 'auto' is the first.
    level : float, default=0.95
        Of the intervals.
    bound : float, optional
        The largest loss of a record, a public number: of 'log_loss' log 100 unless given, of
        'mae' and 'mse' what `y_bounds` allow. The smaller, the less noise.
    groups : array-like, optional
        Group label of each row: persons are protected then, each counting once.
    delta, relation, n, ledger, dataset, random_state
        As of the estimators; the budget is that of the held-out records.

    Notes
    -----
    Guarantee: what is returned is (epsilon, delta)-differentially private under the relation,
    for a record, or for a person with all its records; the charge is on disk before a value is
    used.
    Requires: the facts on the card were known without looking at the held-out records.
    Proof: docs/proofs/score.md.

    Examples
    --------
    >>> from dpscd import DPLogisticRegression, private_score
    >>> X, y = [[0.1], [0.2]] * 5000, ["no", "yes"] * 5000
    >>> model = DPLogisticRegression(classes=["no", "yes"]).fit(X[:8000], y[:8000])
    >>> found = private_score(model, X[8000:], y[8000:], epsilon=0.5)
    >>> found.low <= found.value <= found.high
    True
    """
    # Of public facts only.
    check_budget(ledger, dataset, random_state)
    check("level", level, number(0.5, 0.9999))
    if bound is not None:
        bound = check("bound", bound, number())
    records = held_out(model, X, y, groups)
    epsilon = check("epsilon", epsilon, number(high=_LARGEST))
    if getattr(records.model, "exposure_bounds", None) is not None:
        raise ParameterError("private scores of counts over exposures are not available.")
    parsed = Relation.parse(relation)
    count = public_count(parsed, n, records.count, records.unit)
    target = PrivacyTarget(epsilon, delta_of(delta, count), parsed)
    classes = records.model.fit_.plan.facts.classes
    low, high = records.bounds or (None, None)
    facts = ScoreFacts(
        count,
        metric_called(metric, classifies=bool(classes)),
        classes,
        low,
        high,
        hasattr(records.model, "predict_proba"),
        bound,
        float(level),
        records.unit.person,
        records.unit.groups,
        None if dataset is None else str(dataset),
    )
    score = Score.planned(facts, target)
    plan = Plan(target, cast("Any", facts), (score,))
    # The budget: spent from here on, whatever happens.
    charge = Charge(ledger, dataset, random_state)
    salt = charge.reserve(plan.costs, target, SCORE, records.unit)
    source = source_for(random_state, salt)
    # From here on values of the data are used.
    found = records.read(score.measure.needs_chances)
    state, answers = run(plan, found, lambda _: source)
    charge.commit()
    versions = {"dpscd": __version__, "dp-accounting": library_version()}
    return PrivateScore(
        Fit(plan, answers, numbers_of(state), "PrivateScore", {}, None, source.seeded, versions)
    )


def public_count(relation: Relation, declared: Any, found: int, unit: Unit) -> int:
    """Return the number of records or persons that formulas use: declared where secret."""
    if relation.needs_n:
        if declared is None:
            raise ParameterError(
                "{relation} needs {n}, a declared number of {}s: the true one is secret under "
                "this relation and must not enter any formula.",
                unit.noun,
                relation=relation.value,
                n=...,
            )
        return int(check("n", declared, integer()))
    if declared is not None:
        raise ParameterError(
            "{n} goes with {relation}: the number of {}s is public under {!r}.",
            unit.noun,
            relation.value,
            n=declared,
            relation=Relation.ADD_REMOVE.value,
        )
    if not found:
        raise DataError(refusals.NO_RECORDS)
    return found


@dataclass(frozen=True, repr=False)
class HeldOut:
    """Unread records; only their number, and identifiers of persons, are known."""

    model: Any  # the fitted estimator, without what reads tables
    unit: Unit  # what is protected
    bounds: tuple[float, float] | None  # of the target of a regression, in its own unit
    count: int  # records or persons
    opened: Callable[[bool], ScoredRecords] = field(repr=False)

    def read(self, chances: bool) -> ScoredRecords:
        """Read the cells, with probabilities if asked for.

        Guarantee: neither an error nor a warning of numpy says anything of a value.
        """
        with np.errstate(all="ignore"):  # a decision of huge numbers may be none
            found: ScoredRecords = redact_errors(lambda: self.opened(chances))
        return found


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
    unit, inner = _unit(model, groups), getattr(model, "estimator_", model)
    opened = _table if isinstance(model, TableModel) else _arrays
    count, read = opened(model, X, y, groups)
    return HeldOut(inner, unit, bounds_of(model), count, read)


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


_Opened = tuple[int, Callable[[bool], ScoredRecords]]


def _table(model: Any, table: Any, y: Any, groups: Any) -> _Opened:
    own = model.schema_.person is not None
    source = open_parsed(table, model.schema_, y, person=own)
    codes = codes_of(groups, source.count)

    def read(chances: bool) -> ScoredRecords:
        parsed = source.read()
        answers = predicted_answers(model, parsed, parsed.target, chances=chances)
        return _scored(answers, parsed.persons if own else codes)

    return units_in(codes, source.count), read


def _arrays(model: Any, X: Any, y: Any, groups: Any) -> _Opened:
    rows = open_rows(X)
    quietly(validate_data, model, rows.X, reset=False, skip_check_array=True)
    if y is None:
        raise ParameterError("y=None: a score compares predictions with known labels.")
    column = label_column(y)
    if len(column) != rows.count:
        raise DataError(refusals.UNEQUAL)
    codes = codes_of(groups, rows.count)

    def read(chances: bool) -> ScoredRecords:
        found, usable = _finite_rows(rows)
        unknown = -1 if hasattr(model, "classes_") else np.nan
        labels = np.where(usable, labels_of(model, column), unknown)
        return _scored(predicted_answers(model, found, labels, chances=chances), codes)

    return units_in(codes, rows.count), read


def _finite_rows(rows: Unread) -> tuple[Any, Any]:
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
