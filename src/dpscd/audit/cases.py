"""The cases that the command line audits, by the entrance that they attack."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpscd.audit.fits import FitCase, TableCase
from dpscd.audit.scores import ScoreCase, SearchCase
from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
from dpscd.estimators.registry import MODELS
from dpscd.estimators.regression import DPRidge

Claim = dict[str, Any]
Made = tuple[list[Any], list[Any]]  # cases of records, and further ones of persons

#: Rows of a canary that is a person, where not all canaries are.
PERSON_ROWS = 5

# With a constant column that takes little of a canary's length away from its own feature, whose
# standardised rows are short.
_STANDARDISED: Claim = {"standardise": True, "fit_intercept": True, "intercept_scaling": 0.05}
_PLAIN = {"standardise": False, "fit_intercept": False}


def cases(
    through: str,
    epsilon: float,
    delta: float,
    *,
    relation: str = "zero-out",
    person_rows: int | None = None,
) -> list[Any]:
    """Return the cases of one of the :data:`ENTRANCES`; only the core's have the `relation`."""
    records, persons = ENTRANCES[through]({"epsilon": epsilon, "delta": delta}, relation)
    if person_rows is None:
        return [*records, *(_with_persons(one, PERSON_ROWS) for one in persons)]
    return [_with_persons(one, person_rows) for one in records if not _needs_records(one)]


def _needs_records(case: Any) -> bool:
    """Return whether canaries cannot be persons: noise of persons is never lazy."""
    tables = isinstance(case, ScoreCase) and case.table
    return tables or isinstance(case, SearchCase) or "lazy" in case.name


def _with_persons(case: Any, rows: int) -> Any:
    return replace(case, name=f"{case.name}, persons of {rows}", person_rows=rows)


def _core(claim: Claim, relation: str) -> Made:
    # The constant column would take a share of a canary's length away from its own feature;
    # without it the attack is as strong as theory allows. A lot is a tenth of the records.
    chosen = {**claim, "relation": relation, "lot_size": 410, "epochs": 100, **_PLAIN}
    kinds = [kind for kind in MODELS if kind.task != "counts"]
    return [FitCase(x.estimator(**chosen), f"core: {x.name}", canaries=4000) for x in kinds], []


def _quick(model: Any, units: int, options: dict[str, Any]) -> Any:
    """Return an estimator with 100 lots of a quarter of the records, or persons."""
    return model(**{"lot_size": units // 4, "epochs": 25, **_PLAIN, **options})


def _fits(claim: Claim, _relation: str) -> Made:
    def case(
        name: str, model: Any, canaries: int = 1000, ordinary: int = 100, *,
        dense: bool = False, **options: Any,
    ) -> FitCase:  # fmt: skip
        estimator = _quick(model, canaries + ordinary, {**claim, **options})
        return FitCase(estimator, name, canaries, ordinary, dense)

    records = [
        case("ridge, sparse", DPRidge),
        case("logistic, dense", DPLogisticRegression, 500, dense=True),
        case("SVM, dense, intercept", DPLinearSVC, 500, dense=True, fit_intercept=True),
        case("logistic, standardised, sparse", DPLogisticRegression, standardise=True),
        case("SVM, standardised, dense, intercept", DPLinearSVC, 500, 500, dense=True,
             **_STANDARDISED),
        case("ridge, standardised, pilot, intercept", DPRidge, **_STANDARDISED),
        case("logistic, three classes", DPLogisticRegression, classes=[0, 1, 2]),
        case("logistic, lazy noise", DPLogisticRegression, 5000),
        case("ridge, replace-one", DPRidge, relation="replace-one"),
        case("SVM, add-remove", DPLinearSVC, relation="add-remove"),
    ]  # fmt: skip
    persons = [
        case("ridge, replace-one, sparse", DPRidge, relation="replace-one"),
        case("logistic, standardised, dense", DPLogisticRegression, 500, 500, dense=True,
             standardise=True),
        case("SVM, add-remove, dense, shared weight", DPLinearSVC, 500, dense=True,
             relation="add-remove", person_weight="share"),
    ]  # fmt: skip
    return records, persons


def _tables(claim: Claim, _relation: str) -> Made:
    def case(
        name: str, model: Any, options: dict[str, Any], canaries: int = 500, **table: Any
    ) -> TableCase:
        estimator = _quick(model, 2 * canaries, {**claim, **options})
        return TableCase(estimator, f"table: {name}", canaries, **table)

    persons = case("logistic", DPLogisticRegression, {"fit_intercept": True})
    records = [
        replace(persons, name="table: logistic, intercept"),
        case("SVM, private bounds", DPLinearSVC, {}, 94, private=True),
        case("ridge, standardised, pilot", DPRidge, _STANDARDISED),
        case("ridge, replace-one", DPRidge, {"relation": "replace-one"}, 200,
             columns=True, rows="scale"),
        case("CSV, logistic, add-remove", DPLogisticRegression, {"relation": "add-remove"},
             csv=True, rows="scale"),
    ]  # fmt: skip
    return records, [persons]


def _scores(claim: Claim, _relation: str) -> Made:
    def case(name: str, metric: str, relation: str = "zero-out", **more: Any) -> ScoreCase:
        return ScoreCase(f"score: {name}", metric, {**claim, "relation": relation}, **more)

    cells: dict[str, Any] = {"classes": 8, "canaries": 64}
    records = [
        case("accuracy", "accuracy"),
        case("accuracy, add-remove", "accuracy", "add-remove"),
        case("log loss", "log_loss"),
        case("Brier score", "brier"),
        case("absolute error", "mae"),
        case("squared error, add-remove", "mse", "add-remove"),
        case("R2", "r2"),
        case("shares of all", "confusion", **cells),
        case("shares of all, replace-one", "confusion", "replace-one"),
        case("recall, add-remove", "recall", "add-remove", canaries=4),
        case("AUC", "auc", canaries=4),
        case("table, shares of all", "confusion", table=True, **cells),
    ]
    return records, [case("shares of all", "confusion", **cells)]


def _searches(claim: Claim, _relation: str) -> Made:
    trained, scored = "search: trained on", "search: scored on"
    return [SearchCase(trained, claim), SearchCase(scored, claim, trained=False)], []


#: What makes the cases, by the names of the command line.
ENTRANCES: dict[str, Callable[[Claim, str], Made]] = {
    "core": _core,
    "estimator": _fits,
    "table": _tables,
    "score": _scores,
    "search": _searches,
}
