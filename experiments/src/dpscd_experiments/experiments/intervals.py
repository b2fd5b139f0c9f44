"""Confidence intervals: what the bench runs, and what one fit tells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd import DPLogisticRegression, DPRidge
from dpscd.errors import ParameterError
from dpscd.planning import default_delta
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.interval_designs import FAMILIES, Design, Family, Sample, draw_sample
from dpscd_experiments.interval_tables import QUESTIONS, load_question
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.plain_intervals import Plain, plain_least_squares, plain_logistic

__all__ = [
    "LEVEL", "OURS", "PLAIN", "TABLES", "Named", "designs_in", "fit_cells", "measure_fit",
    "measure_table", "table_cells",
]  # fmt: skip

Floats = npt.NDArray[np.float64]

#: Of all intervals.
LEVEL = 0.95

#: The methods on real tables, without privacy and with, and the experiment of their rows.
PLAIN, OURS, TABLES = "plain", "ours", "intervals-tables"

_REACH = NormalDist().inv_cdf(0.5 + LEVEL / 2.0)
_HOPELESS = "inference cannot work"  # how the message of a fit begins that is refused


@dataclass(frozen=True)
class Named:
    """A design as the bench's file has it."""

    name: str  # in rows, and on the page
    words: str
    design: Design  # what it is
    families: tuple[Family, ...]  # for which models
    seeds: int  # how many fits


def designs_in(
    spec: Mapping[str, Any],
    quick: bool,
    *,
    only: Sequence[str] = (),
    families: Sequence[str] = (),
    seeds: int | None = None,
) -> list[Named]:
    """Return the designs of a run."""
    chosen = settings_of(spec, quick)
    known = chosen["designs"]
    for what, given, allowed in (("design", only, known), ("family", families, FAMILIES)):
        for name in given:
            if name not in allowed:
                raise ParameterError(f"{what}={name!r} must be one of {', '.join(allowed)}.")
    found = []
    for name in only or chosen.get("only", known):
        own = dict(known[name])
        words, mine = own.pop("words"), own.pop("families", FAMILIES)
        most = min(own.pop("seeds", chosen["seeds"]), chosen["seeds"])
        design = Design(**{**chosen["base"], **own})
        kept = tuple(x for x in mine if not families or x in families)
        fits = most if seeds is None else min(most, seeds)
        found.append(Named(name, words, design, kept, fits))
    return found


def fit_cells(designs: Sequence[Named]) -> list[Cell]:
    """Return a cell per fit, all designs at each seed: an interrupted run has some of each."""
    return [
        Cell(
            measure_fit,
            "intervals",
            named.name,
            family,
            epsilon=named.design.epsilon,
            delta=default_delta(named.design.declared_n),
            seed=seed,
            parameters={k: v for k, v in asdict(named.design).items() if k != "epsilon"},
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
            Cell(measure_table, TABLES, name, OURS, epsilon=epsilon, delta=delta)
            for epsilon in epsilons
        ]
    return made


class _Private:
    """Estimates and errors of a private fit, the intercept last; NaN where refused."""

    def __init__(self, terms: int, frame: Any = None) -> None:
        none = np.full(terms, math.nan)
        self.estimate, self.std_error, self.low, self.high = (
            none if frame is None else frame[name].to_numpy(np.float64)
            for name in ("estimate", "std_error", "low", "high")
        )


def measure_fit(cell: Cell) -> Metrics:
    """Fit generated records with and without privacy, and count what is covered."""
    parameters = cast("dict[str, Any]", cell.parameters)
    design = Design(**parameters, epsilon=cell.epsilon)
    family = cast("Family", cell.method)
    sample = draw_sample(design, family, cell.seed)
    mine = _private(cell, design, sample)
    plain = _plain(design, family, sample)
    d = len(sample.coef)
    truth = np.append(sample.coef, sample.intercept)[: len(plain.estimate)]
    given = np.isfinite(mine.low)
    covered = (mine.low <= truth) & (truth <= mine.high)
    by_plain = np.abs(plain.estimate - truth) <= _REACH * plain.std_error
    with np.errstate(invalid="ignore"):
        widths = mine.std_error[:d][given[:d]] / plain.std_error[:d][given[:d]]
        z2 = np.square((mine.estimate - truth) / mine.std_error)[:d][given[:d]]
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


def _private(cell: Cell, design: Design, sample: Sample) -> _Private:
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
        return _Private(len(sample.coef) + int(design.intercept))
    return _Private(0, model.summary(LEVEL).frame)


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
        reach = _REACH * plain.std_error
        found = {
            "estimate": plain.estimate,
            "low": plain.estimate - reach,
            "high": plain.estimate + reach,
        }
    else:
        common: dict[str, Any] = {
            "delta": cell.delta,
            "row_bound": asked.row_bound,
            "inference": "robust" if asked.robust else True,
            "random_state": cell.seed,
        }
        model = _model(asked.family, cell.epsilon, asked.y_bounds, common).fit(X, y)
        frame = model.summary(LEVEL).frame
        found = {x: frame[x].to_numpy(np.float64) for x in ("estimate", "low", "high")}
    return {
        name: [
            (float(place), float(value))
            for place, value in enumerate(numbers[: len(asked.terms)] * asked.units)
        ]
        for name, numbers in found.items()
    }
