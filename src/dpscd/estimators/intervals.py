"""Confidence intervals of a model's coefficients: ``conf_int`` and ``summary``."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.estimators.parameters import check, number
from dpscd.estimators.validation import check_fitted
from dpscd.inference import ABSENT, CAPPED, Found, Inference, Path, coefficient_map, measure_of
from dpscd.model.fit import Fit
from dpscd.problem import Problem
from dpscd.releases.base import State
from dpscd.releases.information import Information
from dpscd.standard import Standard

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

_NORMAL = NormalDist()

# Records must be able to have slopes up to this before they are capped, where 1 is the largest.
_SLOPE = 0.7

# Columns of a printed summary, and how they are written.
_SHOWN = ("estimate", "std_error", "z", "p_value", "low", "high")
_FORMS = (".4g", ".4g", ".3f", ".3f", ".4g", ".4g")


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
    """Estimates of a private model with standard errors: what ``summary()`` returns; a table.

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
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 2))
    >>> model = DPRidge(epsilon=1.0, y_bounds=(-2, 2), inference=True, random_state=0)
    >>> model.fit(X, X @ [1.0, -1.0]).summary().frame["term"].tolist()
    ['x0', 'x1', '(intercept)']
    """

    def __init__(
        self, frame: "pd.DataFrame", level: float, heading: str, notes: Sequence[str]
    ) -> None:
        self.frame, self.level, self.heading = frame, level, heading
        refused = frame[frame["refused"].notna()].to_dict(orient="records")
        why = [f"{row['term']}: no interval, {row['refused']}." for row in refused]
        self.notes = [*why, *notes]

    def __repr__(self) -> str:
        return f"Intervals({len(self.frame)} terms at {100.0 * self.level:g} %)"

    def _repr_html_(self) -> str:
        from dpscd.rendering import html_table

        note = "\n".join(self.notes)
        return html_table(self.heading, None, self._headings, self._rows(), note)

    def _rows(self) -> Iterator[list[Any]]:
        """Yield a term with its numbers, empty texts where there is no interval."""
        for row in self.frame.to_dict(orient="records"):
            numbers = [*(row[name] for name in _SHOWN), f"{100.0 * row['privacy']:.0f} %"]
            yield [row["term"], *(numbers if row["refused"] is None else [""] * len(numbers))]

    @property
    def _headings(self) -> list[str]:
        tail = f"{50.0 * (1.0 - self.level):.4g}"
        ends = f"[{tail}%", f"{100 - float(tail):g}%]"
        return ["", "estimate", "std err", "z", "P>|z|", *ends, "privacy"]

    def __str__(self) -> str:
        cells = [self._headings]
        for term, *numbers, share in self._rows():
            pairs = zip(numbers, _FORMS, strict=True)
            texts = [x if x == "" else format(x, form) for x, form in pairs]
            cells.append([term, *texts, share])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        first, *others = (
            row[0].ljust(widths[0])
            + "".join(x.rjust(2 + w) for x, w in zip(row[1:], widths[1:], strict=True))
            for row in cells
        )
        rule = "-" * len(first)
        return "\n".join([self.heading, rule, first, rule, *others, rule, *self.notes])

    def plot(self, ax: Any = None) -> Any:
        """Draw the intervals of all terms but the intercept; return the Axes.

        Needs the extra ``dpscd[plot]``. Without `ax` it is a new figure.
        """
        from dpscd.estimators.plots import plot_intervals

        return plot_intervals(self, ax)


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
            Of a table: from categories to the level that others are compared with, else the
            first listed.

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

        `alpha` and `reference` are as of :meth:`conf_int`.
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
        check(f"weights[{name!r}]", weight, number(-1e100))
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
    level = 1.0 - float(check("alpha", alpha, number(high=1.0)))
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
