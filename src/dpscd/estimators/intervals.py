"""Confidence intervals of a model's coefficients: ``conf_int`` and ``summary``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.estimators.kinds import Number, check
from dpscd.estimators.sklearn_compat import check_fitted
from dpscd.inference import ABSENT, CAPPED, Found, Inference, Path, coefficient_map
from dpscd.information import measure_of
from dpscd.model.fit import Fit
from dpscd.preprocessing.column_features import Bounds, column_names, declared_bounds, width_of
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.encoding import levels_of, unit_of
from dpscd.preprocessing.schema import Schema
from dpscd.problem import Problem
from dpscd.releases.base import State
from dpscd.releases.information import Information
from dpscd.standard import Levels, Standard

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

_NORMAL = NormalDist()

# Records must be able to have slopes up to this before they are capped, where 1 is the largest.
_SLOPE = 0.7


@dataclass(frozen=True, eq=False)
class Terms:
    """Linear functions of coefficients and intercept for which intervals are asked."""

    names: Sequence[str]
    rows: Floats  # of shape (terms, features + 1); the intercept comes last
    # Of shape (directions, features + 1): changes of coefficients that change no prediction
    unknown: Floats | None = None
    # as above: changes that matter to records with a missing value alone
    doubtful: Floats | None = None
    # of shape (features,): the value of a category's level in its records; else 0
    levels: Floats | None = None
    reference: Sequence[str] = ()  # levels that others are compared with, as "column=level"


class Intervals:
    """Estimates of a private model with their standard errors: what ``summary()`` returns.

    Printed, it is a table; `frame` is for programs.

    Attributes
    ----------
    frame : DataFrame
        One row per term: `term`, `estimate`, `std_error`, `z`, `p_value`, `low`, `high`,
        `privacy` (the part of the variance that is noise added for privacy) and `refused` (why
        there is no interval, else None); of a logistic regression also `odds_ratio`,
        `odds_low` and `odds_high`.
    level : float
        The level of `low` and `high`.
    heading : str
        What the model is, and what it guarantees.
    notes : list of str
        Terms without an interval, the reference levels, and what standard errors assume.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 2))
    >>> y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=20000)
    >>> model = DPRidge(epsilon=1.0, y_bounds=(-2, 2), inference=True, random_state=0)
    >>> found = model.fit(X, y).summary().frame
    >>> bool(found["low"][0] < 1.1 and found["high"][0] > 0.9)
    True
    """

    def __init__(
        self, frame: "pd.DataFrame", level: float, heading: str, notes: Sequence[str]
    ) -> None:
        self.frame, self.level, self.heading = frame, level, heading
        refused = frame[frame["refused"].notna()].to_dict(orient="records")
        why = [f"{row['term']}: no interval, {row['refused']}." for row in refused]
        self.notes = [*why, *notes]

    def rows(self) -> list[list[str]]:
        """Return the table as texts, its headings first."""
        tail = f"{50.0 * (1.0 - self.level):.4g}"
        ends = f"[{tail}%", f"{100 - float(tail):g}%]"
        found = [["", "estimate", "std err", "z", "P>|z|", *ends, "privacy"]]
        for row in self.frame.to_dict(orient="records"):
            cells = [""] * 7
            if row["refused"] is None:
                cells = [f"{row[x]:.4g}" for x in ("estimate", "std_error")]
                cells += [f"{row['z']:.3f}", f"{row['p_value']:.3f}"]
                cells += [f"{row[x]:.4g}" for x in ("low", "high")]
                cells.append(f"{100.0 * row['privacy']:.0f} %")
            found.append([str(row["term"]), *cells])
        return found

    def __repr__(self) -> str:
        cells = self.rows()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        first, *others = (
            row[0].ljust(widths[0])
            + "".join(x.rjust(2 + w) for x, w in zip(row[1:], widths[1:], strict=True))
            for row in cells
        )
        rule = "-" * len(first)
        return "\n".join([self.heading, rule, first, rule, *others, rule, *self.notes])


class WithIntervals:
    """Intervals of a model that was trained with `inference`."""

    def _terms(self, reference: Mapping[str, Any] | None = None) -> Terms:
        """Return every coefficient, and the intercept if there is one."""
        if reference:
            raise ParameterError("reference is for models of tables; this one is of arrays.")
        model: Any = self
        d = int(model.n_features_in_)
        names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(d)])
        rows = np.eye(d + 1)
        if model.fit_.plan.facts.intercept:
            return Terms([*map(str, names), "(intercept)"], rows)
        return Terms([*map(str, names)], rows[:d])

    def conf_int(
        self, alpha: float = 0.05, reference: Mapping[str, Any] | None = None
    ) -> "pd.DataFrame":
        """Return confidence intervals of the coefficients and the intercept.

        Parameters
        ----------
        alpha : float, default=0.05
            One minus the level of the intervals.
        reference : dict, optional
            Of a model of a table: from categories to the level that others are compared with;
            the first listed where it says nothing.

        Returns
        -------
        DataFrame
            `term`, `estimate`, `low` and `high`: of a column of a table in its own unit, of a
            level against the reference. Where noise or the penalty dominates there is no
            interval, and all three are NaN; ``summary()`` says why. The estimate differs from
            `coef_` by the bias of the penalty. Computed from released numbers at no cost.
        """
        return self.summary(alpha, reference).frame[["term", "estimate", "low", "high"]]

    def summary(
        self, alpha: float = 0.05, reference: Mapping[str, Any] | None = None
    ) -> Intervals:
        """Return estimates, standard errors, z, p-values and intervals; it prints as a table.

        Parameters
        ----------
        alpha, reference
            As of :meth:`conf_int`.
        """
        check_fitted(self)
        return intervals_of(self, self._terms(reference), alpha)

    def contrast(self, weights: Mapping[str, float], alpha: float = 0.05) -> Intervals:
        """Return the interval of a weighted sum of terms, such as a difference.

        Parameters
        ----------
        weights : dict
            From terms, as ``summary()`` names them, to weights.
        alpha : float, default=0.05
            One minus the level of the interval.
        """
        check_fitted(self)
        return intervals_of(self, _combined(self._terms(), weights), alpha)


def _combined(terms: Terms, weights: Mapping[str, float]) -> Terms:
    """Return the weighted sum of terms as a term."""
    known = {name: place for place, name in enumerate(terms.names)}
    row = np.zeros(terms.rows.shape[1])
    for name, weight in weights.items():
        if name not in known:
            raise ParameterError(f"there is no term {name!r}; there are {', '.join(known)}.")
        check(f"weights[{name!r}]", weight, Number(-1e100))
        row += float(weight) * terms.rows[known[name]]
    name = " ".join(
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g} '}{name}"
        for name, weight in weights.items()
    )
    return replace(terms, names=[name.removeprefix("+ ")], rows=row[None], reference=())


def intervals_of(model: Any, terms: Terms, alpha: float) -> Intervals:
    """Return estimates and intervals of linear functions of a fitted model's coefficients."""
    import pandas as pd  # not needed to load a model

    model = getattr(model, "estimator_", model)
    level = 1.0 - float(check("alpha", alpha, Number(high=1.0)))
    if not level > 0.0:
        raise ParameterError("{alpha} must lie between 0 and 1.", alpha=alpha)
    found, values = _found(model, terms)
    reach = _NORMAL.inv_cdf(0.5 + level / 2.0)
    good = np.array([reason is None for reason in found.refused])
    with np.errstate(all="ignore"):
        variance = np.where(good, found.sampling + found.privacy, np.nan)
        estimate = np.where(good, values + found.correction, np.nan)
        error = np.sqrt(variance)
        z = estimate / error
        low, high = estimate - reach * error, estimate + reach * error
        columns: dict[str, Any] = {
            "term": list(terms.names),
            "estimate": estimate,
            "std_error": error,
            "z": z,
            "p_value": [math.erfc(abs(x) / math.sqrt(2.0)) for x in z],
            "low": low,
            "high": high,
            "privacy": found.privacy / variance,
        }
        if hasattr(model, "classes_"):
            columns["odds_ratio"] = np.exp(estimate)
            columns |= {"odds_low": np.exp(low), "odds_high": np.exp(high)}
    columns["refused"] = pd.Series(found.refused, dtype=object)
    notes = [f"Levels are compared with {', '.join(terms.reference)}."] * bool(terms.reference)
    return Intervals(pd.DataFrame(columns), level, _heading(model), [*notes, _about(model)])


def _found(model: Any, terms: Terms) -> tuple[Found, Floats]:
    """Return what is known about terms, and their values in the model."""
    fit: Fit = model.fit_
    if not fit.has_intervals:
        raise ParameterError(
            "this model was trained for prediction: its coefficients are shrunk, or inflated, "
            "and have no intervals. Train it with {inference}.",
            inference=True,
        )
    problem = fit.state.problem
    inference = inference_of(fit.state)
    whole = coefficient_map(problem)
    back, width = np.linalg.pinv(whole), len(whole)
    standard = cast("Standard", problem.standard)
    unknown = [np.eye(problem.width)[place] for place in np.flatnonzero(standard.scale == 0.0)]
    if terms.unknown is not None:
        unknown += list(terms.unknown[:, :width] @ back.T)
    doubtful = None if terms.doubtful is None else terms.doubtful[:, :width] @ back.T
    rows = terms.rows[:, :width]
    found = inference.about(rows @ whole, np.array(unknown) if unknown else None, doubtful)
    refused = list(found.refused)
    for reason, features in (
        (CAPPED, _capped(fit, problem, terms)),
        (ABSENT, model.unseen_features()),
    ):
        hit: list[bool] = np.any(rows[:, : problem.d] * features, axis=1).tolist()
        refused = [reason if x else why for x, why in zip(hit, refused, strict=True)]
    values = np.concatenate([np.ravel(fit.numbers.coef), np.ravel(fit.numbers.intercept)])
    return found._replace(refused=refused), terms.rows @ values


def _capped(fit: Fit, problem: Problem, terms: Terms) -> npt.NDArray[np.bool_]:
    """Return which levels only records have whose rows or slopes training cuts.

    Of a classifier: of a regression the label is cut with a long row, so that the same line
    fits.
    """
    if terms.levels is None or not fit.plan.facts.classifies:
        return np.zeros(problem.d, dtype=bool)
    standard = cast("Standard", problem.standard)
    own = np.abs(terms.levels / problem.row_bound - standard.centre) * standard.scale
    length = np.hypot(own, math.hypot(1.0, problem.constant)) / problem.scale
    capped: npt.NDArray[np.bool_] = (_SLOPE * length > fit.plan.training.travel) | (
        length > 1.0
    )
    return capped & (terms.levels > 0.0)


def inference_of(state: State) -> Inference:
    """Return what standard errors are computed from: a plan's facts and released numbers."""
    problem, training = state.problem, state.plan.training
    (listed,) = (x for x in state.plan.releases if isinstance(x, Information))
    measure = measure_of(problem, training.travel, training.averaging, state.facts.robust)
    matrices = measure.matrices(cast("Floats", state.information), listed.noise_multiplier)
    square = (math.hypot(1.0, problem.constant) / problem.scale) ** 2
    curved = float(np.trace(matrices.curvature)) / (listed.n * square)
    path = Path(
        std=training.clip * training.noise_multiplier,
        steps=training.steps,
        average_from=training.average_from,
        rate=training.rate,
        separability=training.lot_size,
        square=square,
        curved=min(measure.curved, max(0.0, curved)),
    )
    theta = cast("Floats", state.shared)[0] / problem.strength
    return Inference(theta, problem.strength, matrices, path)


def _heading(model: Any) -> str:
    card, facts = model.privacy_, model.fit_.plan.facts
    kind = "Logistic" if facts.classifies else "Linear"
    what = f" of {facts.classes[1]}" if facts.classifies else ""
    return (
        f"{kind} regression{what}, ({card.epsilon:g}, {card.delta:.3g})-differentially "
        f"private, {facts.n:,} {card.protected.noun}s"
    )


def _about(model: Any) -> str:
    facts = model.fit_.plan.facts
    errors = (
        "Robust standard errors (sandwich)"
        + (", clustered by person." if facts.persons is not None else ".")
        if facts.robust
        else "Standard errors assume that the model is true."
    )
    return (
        f"{errors} They count sampling and the noise added for privacy; privacy: the share of "
        "that noise in the variance."
    )


def table_terms(schema: Schema, bounds: Bounds, reference: Mapping[str, Any] | None) -> Terms:
    """Return the terms of a model of a table, each a function of the model's coefficients.

    The schema is of lines and levels. A number has its unit, an ordinal its step, a level its
    difference to the one in `reference`, or to the first listed; the intercept is where numbers
    are 0 and levels those of reference.
    """
    chosen = {str(name): str(level) for name, level in (reference or {}).items()}
    categories = {part.name for part in schema.parts if _is_category(part)}
    for name in chosen:
        if name not in categories:
            raise ParameterError(f"reference has a level of {name!r}, which is no category.")
    width, unit, stop = sum(map(width_of, schema.parts)), unit_of(schema), 0
    names: list[str] = []
    against: list[str] = []
    rows: list[Floats] = []
    unknown: list[Floats] = []
    doubtful: list[Floats] = []

    def row_of(places: Any, values: Any, last: float = 0.0) -> Floats:
        row = np.zeros(width + 1)
        row[places], row[-1] = values, last
        return row

    intercept = row_of([], [], 1.0)
    for part in schema.parts:
        if not isinstance(part, Column):
            raise ParameterError(f"intervals are not available for the pair {part.name!r}.")
        own = column_names(part, bounds)
        first, stop = stop, stop + len(own)
        if not _is_category(part):
            step, zero = _step(part, bounds)
            names.append(f"log1p({part.name})" if part.transform else part.name)
            rows.append(row_of(first, unit * step))
            intercept[first] = unit * zero
            if part.missing == "column":
                names.append(own[-1])
                rows.append(row_of(stop - 1, unit))
            continue
        level = chosen.get(part.name, str(part.values[0]))
        if f"{part.name}={level}" not in own:
            raise ParameterError(f"{level!r} is no level of {part.name!r}.")
        against.append(f"{part.name}={level}")
        base = first + own.index(against[-1])
        others = [place for place in range(first, stop) if place != base]
        names += [own[place - first] for place in others]
        rows += [row_of([place, base], [unit, -unit]) for place in others]
        intercept[base] = unit
        exact = not (part.complete and part.missing == "average")
        (unknown if exact else doubtful).append(row_of(slice(first, stop), 1.0, -unit))
    return Terms(
        [*names, "(intercept)"],
        np.array([*rows, intercept]),
        np.array(unknown) if unknown else None,
        np.array(doubtful) if doubtful else None,
        cast("Levels", levels_of(schema)).value,
        against,
    )


def _is_category(part: Any) -> bool:
    return isinstance(part, Column) and part.kind == "category"


def _step(column: Column, bounds: Bounds) -> tuple[float, float]:
    """Return by what a feature grows with its column, and what it is where that is 0."""
    if column.kind != "number":
        top = 1 if column.kind == "boolean" else len(column.values) - 1
        return 2.0 / top, -1.0
    low, high = declared_bounds(column, bounds)
    if column.transform:
        low, high = math.log1p(low), math.log1p(high)
    half = high / 2.0 - low / 2.0
    return 1.0 / half, -(low / 2.0) / half * 2.0 - 1.0
