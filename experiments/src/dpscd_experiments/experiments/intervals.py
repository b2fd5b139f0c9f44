"""How often confidence intervals of private coefficients contain the truth."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpscd import DPLogisticRegression, DPRidge
from dpscd.errors import ParameterError
from dpscd.planning.rule import default_delta
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Asked, Experiment, Failure, Shown, Spec, settings_of
from dpscd_experiments.experiments.intervals_figures import draw_coverage, draw_table
from dpscd_experiments.experiments.intervals_page import (
    LEVEL,
    PLAIN,
    REACH,
    TABLES,
    Named,
    fits_of,
    lines_of,
    page,
    terms_of,
)
from dpscd_experiments.interval_designs import FAMILIES, Design, Family, Sample, draw_sample
from dpscd_experiments.interval_tables import QUESTIONS, load_question
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.store import Row, Store

Floats = npt.NDArray[np.float64]

_OURS = "ours"  # on real tables, with privacy
_STEPS, _CLOSE = 50, 1e-10  # of Newton's method
_PRIVATE = ("estimate", "std_error", "low", "high")
_HOPELESS = "inference cannot work"  # how the message of a fit begins that is refused


def designs_in(
    chosen: Spec,
    only: Sequence[str] = (),
    families: Sequence[str] = (),
    seeds: int | None = None,
) -> list[Named]:
    """Return these designs or those that the file names, of these models, with few fits."""
    found = []
    for name in only or chosen.get("only", chosen["designs"]):
        own = dict(chosen["designs"][name])
        words, mine = own.pop("words"), own.pop("families", FAMILIES)
        most = min(own.pop("seeds", chosen["seeds"]), chosen["seeds"])
        design = Design(**{**chosen["base"], **own})
        kept = tuple(x for x in mine if not families or x in families)
        found.append(Named(name, words, design, kept, min(most, seeds or most)))
    return found


def fit_cells(designs: Sequence[Named]) -> list[Cell]:
    """Return a cell per fit, all designs at each seed: an interrupted run has some of each."""
    return [
        Cell(
            measure_fit,
            "intervals",
            named.name,
            family,
            named.design.epsilon,
            default_delta(named.design.declared_n),
            seed,
            {name: own for name, own in asdict(named.design).items() if name != "epsilon"},
        )
        for seed in range(max((named.seeds for named in designs), default=0))
        for named in designs
        if seed < named.seeds
        for family in named.families
    ]


def table_cells(names: Sequence[str], epsilons: Sequence[float]) -> list[Cell]:
    """Return the cells of real tables, which must be there: without privacy and with."""
    made = []
    for name in names:
        delta = default_delta(len(load_question(name)[1]))
        made.append(Cell(measure_table, TABLES, name, PLAIN))
        made += [
            Cell(measure_table, TABLES, name, _OURS, epsilon=epsilon, delta=delta)
            for epsilon in epsilons
        ]
    return made


class Plain(NamedTuple):
    """Coefficients with their standard errors; the intercept, if there is one, comes last."""

    estimate: Floats
    std_error: Floats


def measure_fit(cell: Cell) -> Metrics:
    """Fit generated records with and without privacy, and count what is covered."""
    design = Design(**cell.parameters, epsilon=cell.epsilon)
    family = cast("Family", cell.method)
    sample = draw_sample(design, family, cell.seed)
    mine = _private(cell, design, sample)
    plain = _plain(design, family, sample)
    d = len(sample.coef)
    truth = np.append(sample.coef, sample.intercept)[: len(plain.estimate)]
    given = np.isfinite(mine["low"])
    covered = (mine["low"] <= truth) & (truth <= mine["high"])
    by_plain = np.abs(plain.estimate - truth) <= REACH * plain.std_error
    with np.errstate(invalid="ignore"):
        widths = mine["std_error"][:d][given[:d]] / plain.std_error[:d][given[:d]]
        z2 = np.square((mine["estimate"] - truth) / mine["std_error"])[:d][given[:d]]
    metrics = {
        "intervals": int(given[:d].sum()),
        "refused": int((~given[:d]).sum()),
        "covered": int(covered[:d].sum()),
        "plain_covered": int(by_plain[:d].sum()),
        "width": float(np.median(widths)) if len(widths) else math.nan,
        "z2": float(z2.mean()) if len(z2) else math.nan,
        "cut": float((np.linalg.norm(sample.X, axis=1) > sample.row_bound).mean()),
    }
    if design.intercept:
        metrics["intercept_covered"] = float(covered[d]) if given[d] else math.nan
        metrics["intercept_plain"] = float(by_plain[d])
    return metrics


def _private(cell: Cell, design: Design, sample: Sample) -> dict[str, Floats]:
    """Return estimates and errors of a private fit, the intercept last; NaN where refused."""
    common: dict[str, Any] = {
        "delta": cell.delta,
        "relation": design.relation,
        "n": design.declared_n if design.relation == "add-remove" else None,
        "row_bound": sample.row_bound,
        "fit_intercept": design.intercept,
        "inference": "robust" if design.robust and sample.persons is None else True,
        "person_weight": "sum" if sample.persons is None else "share",
        "random_state": cell.seed,
    }
    model = _model(cell.method, cell.epsilon, sample.y_bounds, common)
    try:
        model.fit(sample.X, sample.y, groups=sample.persons)
    except ParameterError as error:
        if not str(error).startswith(_HOPELESS):
            raise
        return dict.fromkeys(_PRIVATE, np.full(len(sample.coef) + design.intercept, math.nan))
    frame = model.summary(1.0 - LEVEL).frame
    return {name: frame[name].to_numpy(np.float64) for name in _PRIVATE}


def _model(
    family: str, epsilon: float, y_bounds: tuple[float, float] | None, common: Mapping[str, Any]
) -> Any:
    if family == "ridge":
        return DPRidge(epsilon, y_bounds=y_bounds, **common)
    return DPLogisticRegression(epsilon, classes=(0.0, 1.0), **common)


def _plain(design: Design, family: Family, sample: Sample) -> Plain:
    common = {"intercept": design.intercept, "robust": design.robust}
    if family == "ridge":
        return plain_least_squares(sample.X, sample.y, persons=sample.persons, **common)
    return plain_logistic(sample.X, sample.y, **common)


def measure_table(cell: Cell) -> Metrics:
    """Fit a real table, with privacy or without."""
    asked, (X, y) = QUESTIONS[cell.dataset], load_question(cell.dataset)
    if cell.method == PLAIN:
        fit = plain_least_squares if asked.family == "ridge" else plain_logistic
        plain = fit(X, y, robust=asked.robust)
        reach = REACH * plain.std_error
        low, high = plain.estimate - reach, plain.estimate + reach
        found = {"estimate": plain.estimate, "low": low, "high": high}
    else:
        common: dict[str, Any] = {
            "delta": cell.delta,
            "row_bound": asked.row_bound,
            "inference": "robust" if asked.robust else True,
            "random_state": cell.seed,
        }
        model = _model(asked.family, cell.epsilon, asked.y_bounds, common).fit(X, y)
        frame = model.summary(1.0 - LEVEL).frame
        found = {x: frame[x].to_numpy(np.float64) for x in ("estimate", "low", "high")}
    return {
        name: [
            (float(place), float(value))
            for place, value in enumerate(numbers[: len(asked.terms)] * asked.units)
        ]
        for name, numbers in found.items()
    }


def plain_least_squares(
    X: Floats,
    y: Floats,
    *,
    intercept: bool = True,
    robust: bool = False,
    persons: npt.NDArray[np.int64] | None = None,
) -> Plain:
    """Fit least squares: not private."""
    rows = _rows(X, intercept)
    weighted = rows
    if persons is not None:
        weighted = rows / np.bincount(persons)[persons][:, None]
    inverse = _inverse(rows.T @ weighted)
    estimate = inverse @ (weighted.T @ y)
    left = y - rows @ estimate
    if persons is not None:
        pulls = weighted * left[:, None]
        sums = [np.bincount(persons, weights=column) for column in pulls.T]
        return _sandwich(estimate, inverse, np.array(sums, np.float64).T)
    if robust:
        return _sandwich(estimate, inverse, rows * left[:, None])
    variance = float(left @ left) / (len(y) - rows.shape[1])
    return Plain(estimate, np.sqrt(variance * np.diag(inverse)))


def plain_logistic(
    X: Floats, y: Floats, *, intercept: bool = True, robust: bool = False
) -> Plain:
    """Fit logistic regression by Newton's method: not private."""
    rows = _rows(X, intercept)
    estimate = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = expit(rows @ estimate)
        inverse = _inverse((rows * (chance * (1.0 - chance))[:, None]).T @ rows)
        step = inverse @ (rows.T @ (y - chance))
        estimate = estimate + step
        if np.abs(step).max() <= _CLOSE * max(1.0, np.abs(estimate).max()):
            break
    else:
        raise ArithmeticError("Newton's method did not converge: are the classes separated?")
    if robust:
        return _sandwich(estimate, inverse, rows * (y - chance)[:, None])
    return Plain(estimate, np.sqrt(np.diag(inverse)))


def _rows(X: Any, intercept: bool) -> Floats:
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else np.asarray(X)


def _inverse(matrix: Any) -> Floats:
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _sandwich(estimate: Floats, inverse: Floats, pulls: Floats) -> Plain:
    return Plain(estimate, np.sqrt(np.diag(inverse @ (pulls.T @ pulls) @ inverse)))


def _run(spec: Spec, asked: Asked, store: Store) -> None:
    chosen = settings_of(spec, asked.quick)
    tables = [name for name in asked.datasets if name in QUESTIONS]
    made = [name for name in asked.datasets if name not in QUESTIONS]
    waiting = []
    if made or not tables:
        waiting += fit_cells(designs_in(chosen, made, asked.methods, asked.seeds))
    if tables or not (asked.datasets or asked.methods):
        # Raises when a table is missing, before anything ran.
        waiting += table_cells(tables or chosen["tables"], chosen["table_epsilons"])
    asked.forget(store)
    asked.run(waiting, store, "intervals")


def _show(spec: Spec, quick: bool, store: Store) -> Shown:
    designs = designs_in(settings_of(spec, quick))
    # The store may hold another version of the experiment too: quick or full.
    wanted = {cell.key for cell in fit_cells(designs)}
    kept = [row for row in store.read() if row["experiment"] == TABLES or row["cell"] in wanted]
    done = [row for row in kept if row["status"] == "ok"]
    fits, terms = fits_of(done), terms_of(done)
    if not fits and not terms:
        reasons = {row["message"] for row in kept}
        raise Failure(f"intervals: no results; {'; '.join(sorted(reasons))}")
    rows: dict[str, list[Row]] = {}
    figures = {}
    if fits:
        rows["intervals"] = fits
        figures["intervals-coverage"] = draw_coverage(lines_of(fits, designs), quick)
    if terms:
        rows["intervals-tables"] = terms
        for name in dict.fromkeys(row["dataset"] for row in terms):
            own = [row for row in terms if row["dataset"] == name]
            figures[f"intervals-{name}"] = draw_table(own, quick)
    return Shown(page(fits, terms, designs, kept, quick, list(figures)), rows, figures)


def _choices(chosen: Spec) -> Mapping[str, Sequence[Any]]:
    return {
        "data": [*chosen["designs"], *QUESTIONS],
        "method": FAMILIES,
        "again": [*FAMILIES, _OURS, PLAIN],
    }


EXPERIMENT = Experiment(_run, _show, _choices)
