"""Estimates with their confidence intervals, in words for the reader of a page."""

import math
from dataclasses import dataclass

from dpscd.estimators.intervals import Intervals
from dpscd.preprocessing.column_features import declared_bounds
from dpscd.report.subject import Subject

__all__ = ["INTERCEPT", "Drawn", "Estimate", "drawn", "estimates", "reach_of"]

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Estimate:
    """One term of a summary."""

    term: str
    group: str  # column of the term
    label: str  # the part of the column
    value: float  # this and the next five as in the summary; NaN if refused
    low: float
    high: float
    error: float
    p_value: float
    privacy: float
    refused: str | None  # why there is no interval
    widest: float  # range of the feature, 0 if its unit cannot be changed

    @property
    def leaves_out_zero(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def extent(self) -> float:
        """Distance from 0 to the far end of the interval."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Drawn:
    """An estimate as drawn: for a step of the feature that suits the axis."""

    estimate: Estimate
    step: float

    @property
    def label(self) -> str:
        """Label beside the chart."""
        per = "" if self.step == 1.0 else f", per {self.step:g}"
        return f"{self.estimate.label}{per}"

    @property
    def ends(self) -> tuple[float, float, float]:
        """Estimate, low and high, for the step."""
        own = self.estimate
        return own.value * self.step, own.low * self.step, own.high * self.step


def estimates(subject: Subject, summary: Intervals) -> list[Estimate]:
    """Return the terms of a summary, the intercept last."""
    known = _places(subject)
    found = []
    for row in summary.frame.to_dict(orient="records"):
        term = str(row["term"])
        group, label, widest = known.get(term, ("", term, 0.0))
        found.append(
            Estimate(
                term=term if subject.schema else label,
                group=group,
                label=label,
                value=float(row["estimate"]),
                low=float(row["low"]),
                high=float(row["high"]),
                error=float(row["std_error"]),
                p_value=float(row["p_value"]),
                privacy=float(row["privacy"]),
                refused=row["refused"],
                widest=widest,
            )
        )
    return found


def _places(subject: Subject) -> dict[str, tuple[str, str, float]]:
    """Return column, label and width of the terms, by their names."""
    if subject.schema is None:
        widest = 2.0 * float(subject.card.public["row_bound"])
        names = getattr(subject.estimator, "feature_names_in_", None)
        count = range(subject.estimator.n_features_in_)
        if names is None:  # as the other sections call them
            return {f"x{k}": ("", f"feature {k}", widest) for k in count}
        return {str(name): ("", str(name), widest) for name in names}
    found: dict[str, tuple[str, str, float]] = {}
    for column in subject.schema.features:
        name = column.name
        found[f"{name}=(missing)"] = name, "(missing)", 0.0
        if column.kind == "category":
            against = f"{name}, against {subject.references[name]}"
            for level in (*column.values, "(other)", "(missing)"):
                found[f"{name}={level}"] = against, str(level), 0.0
        elif column.kind == "number":
            low, high = declared_bounds(column, subject.bounds)
            term = f"log1p({name})" if column.transform else name
            width = high - low if not column.transform else 0.0
            found[term] = name, term, width
        else:
            found[name] = name, name, 0.0
    return found


def reach_of(shown: list[Estimate]) -> float:
    """Return the end of the axis: every estimate fits, but not the widest intervals."""
    fixed = [x for x in shown if not x.widest] or shown
    ends = sorted(x.extent for x in fixed)
    most = ends[int(0.8 * (len(ends) - 1))]
    return max(most, 1.1 * max(abs(x.value) for x in fixed)) or 1.0


def drawn(estimate: Estimate, reach: float) -> Drawn:
    """Return an estimate for the power of ten of its feature that fills the axis best."""
    step = 1.0
    if estimate.widest and estimate.extent:
        power = math.floor(math.log10(reach / estimate.extent))
        step = 10.0 ** min(power, math.floor(math.log10(estimate.widest)))
    return Drawn(estimate, step)
