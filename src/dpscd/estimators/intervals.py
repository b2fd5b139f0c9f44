"""Confidence intervals of a model's coefficients, as statisticians are used to read them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.cards.card import PrivacyCard
from dpscd.errors import ParameterError
from dpscd.estimators.searches import check_fitted
from dpscd.estimators.validation import check_number
from dpscd.inference import (
    ABSENT,
    CAPPED,
    Found,
    Inference,
    Path,
    coefficient_map,
)
from dpscd.information import measure_of, released_size
from dpscd.plan import average_from
from dpscd.privacy.release import Release
from dpscd.problem import Problem
from dpscd.releases.base import State
from dpscd.standard import Standard

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Intervals",
    "Terms",
    "WithIntervals",
    "combined",
    "inference_of",
    "intervals_of",
    "model_numbers",
]

Floats = npt.NDArray[np.float64]

_NORMAL = NormalDist()

# Records must be able to have slopes up to this before they are capped, where 1 is the largest.
_SLOPE = 0.7


@dataclass(frozen=True, eq=False)
class Terms:
    """Linear functions of coefficients and intercept for which intervals are asked."""

    names: Sequence[str]
    rows: Floats  # of shape (terms, features + 1); the intercept comes last
    # Of shape (directions, features + 1): changes of coefficients that change no prediction, by
    # public facts.
    unknown: Floats | None = None
    # as above: these change only predictions of records with a missing value
    doubtful: Floats | None = None
    # of shape (features,): the value of a category's level in its records; else 0
    levels: Floats | None = None


class Intervals:
    """Estimates of a private model with their standard errors: what ``summary()`` returns.

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
    about : str
        What the intervals are about.

    Notes
    -----
    Printed, it is a table; `frame` is for programs.

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

    def __init__(self, frame: "pd.DataFrame", level: float, heading: str, about: str) -> None:
        self.frame, self.level = frame, level
        self.heading, self.about = heading, about

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        tail = f"{50.0 * (1.0 - self.level):.4g}"
        names = [
            "",
            "estimate",
            "std err",
            "z",
            "P>|z|",
            f"[{tail}%",
            f"{100 - float(tail):g}%]",
        ]
        names.append("privacy")
        cells = [names]
        for row in self.frame.to_dict(orient="records"):
            if row["refused"] is not None:
                cells.append([row["term"], *[""] * 7])
                continue
            numbers = [f"{row[x]:.4g}" for x in ("estimate", "std_error")]
            numbers += [f"{row['z']:.3f}", f"{row['p_value']:.3f}"]
            numbers += [f"{row[x]:.4g}" for x in ("low", "high")]
            cells.append([row["term"], *numbers, f"{100.0 * row['privacy']:.0f} %"])
        widths = [max(len(row[k]) for row in cells) for k in range(len(names))]
        lines = [
            row[0].ljust(widths[0])
            + "".join(x.rjust(2 + w) for x, w in zip(row[1:], widths[1:], strict=True))
            for row in cells
        ]
        rule = "-" * len(lines[0])
        refused = self.frame[self.frame["refused"].notna()]
        notes = [
            f"{row['term']}: no interval, {row['refused']}." for _, row in refused.iterrows()
        ]
        parts = [self.heading, rule, lines[0], rule, *lines[1:], rule, *notes, self.about]
        return "\n".join(parts)


class WithIntervals:
    """What a model trained with `inference` says about its coefficients."""

    inference: bool | str
    coef_: Any
    intercept_: Any
    privacy_: PrivacyCard
    _runs: tuple[Problem, ...]
    _theta: Floats
    _start: Floats
    _information: Floats

    def conf_int(self, level: float = 0.95) -> "pd.DataFrame":
        """Return confidence intervals of the coefficients and the intercept.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        DataFrame
            `term`, `estimate`, `low` and `high`. Where noise or the penalty rules, there is no
            interval, and all three are NaN; ``summary()`` says why. The estimate differs from
            `coef_` by what the penalty took away. Computed from released numbers: asking costs
            nothing.
        """
        return self.summary(level).frame[["term", "estimate", "low", "high"]]

    def summary(self, level: float = 0.95) -> Intervals:
        """Return estimates, standard errors, z, p-values and intervals; it prints as a table.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.
        """
        check_fitted(self)
        return intervals_of(self, _own_terms(self), level)

    def contrast(self, weights: Mapping[str, float], level: float = 0.95) -> Intervals:
        """Return the interval of a weighted sum of coefficients, such as a difference.

        Parameters
        ----------
        weights : dict
            From names of features (or ``"(intercept)"``) to weights.
        level : float, default=0.95
            Of the interval.
        """
        check_fitted(self)
        return intervals_of(self, combined(_own_terms(self), weights), level)

    def _set_inference(self, state: State) -> None:
        """Keep what intervals are computed from, all of it released."""
        if state.information is not None and state.shared is not None:
            self._information = state.information
            self._theta = state.shared[0] / state.problem.strength
            moved = coefficient_map(state.problem) @ self._theta
            self._start = model_numbers(self)[: len(moved)] - moved
        elif hasattr(self, "_information"):
            del self._information, self._theta, self._start  # of an earlier fit


def combined(terms: Terms, weights: Mapping[str, float]) -> Terms:
    """Return the weighted sum of terms as a term."""
    known = {name: place for place, name in enumerate(terms.names)}
    row = np.zeros(terms.rows.shape[1])
    for name, weight in weights.items():
        if name not in known:
            raise ParameterError(f"there is no term {name!r}; there are {', '.join(known)}.")
        row += (
            check_number(f"weights[{name!r}]", weight, low=-math.inf) * terms.rows[known[name]]
        )
    name = " ".join(
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g} '}{name}"
        for name, weight in weights.items()
    )
    return replace(terms, names=[name.removeprefix("+ ")], rows=row[None])


def _own_terms(model: Any) -> Terms:
    """Return every coefficient, and the intercept if there is one."""
    d = int(model.n_features_in_)
    names = [str(x) for x in getattr(model, "feature_names_in_", [f"x{k}" for k in range(d)])]
    rows = np.eye(d + 1)
    if model.privacy_.public["intercept"]:
        return Terms([*names, "(intercept)"], rows)
    return Terms(names, rows[:d])


def intervals_of(model: Any, terms: Terms, level: float) -> Intervals:
    """Return estimates and intervals of linear functions of a fitted model's coefficients."""
    import pandas as pd  # not needed to load a model

    level = check_number("level", level)
    if not level < 1.0:
        raise ParameterError(f"level={level!r} must lie between 0 and 1.")
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
    return Intervals(pd.DataFrame(columns), level, _heading(model), _about(model))


def model_numbers(model: Any) -> Floats:
    """Return the coefficients and the intercept of a model of one output."""
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])


def _found(model: Any, terms: Terms) -> tuple[Found, Floats]:
    """Return what is known about terms, and their values in the model."""
    if not hasattr(model, "_information"):
        raise ParameterError(
            "this model was trained for prediction: its coefficients are shrunk, or inflated, "
            "and have no intervals. Train it with inference=True."
        )
    problem = model._runs[-1]
    inference = inference_of(problem, model.privacy_, model._theta, model._information)
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
        (CAPPED, _capped(model, problem, terms)),
        (ABSENT, model.unseen_features()),
    ):
        hit: list[bool] = np.any(rows[:, : problem.d] * features, axis=1).tolist()
        refused = [reason if x else why for x, why in zip(hit, refused, strict=True)]
    return found._replace(refused=refused), terms.rows @ model_numbers(model)


def _capped(model: Any, problem: Problem, terms: Terms) -> npt.NDArray[np.bool_]:
    """Return which levels only records have whose rows or slopes training cuts.

    Of a classifier: of a regression the label is cut with a long row, so that the same line
    fits.
    """
    if terms.levels is None or not hasattr(model, "classes_"):
        return np.zeros(problem.d, dtype=bool)
    standard = cast("Standard", problem.standard)
    own = np.abs(terms.levels / problem.row_bound - standard.centre) * standard.scale
    length = np.hypot(own, math.hypot(1.0, problem.constant)) / problem.scale
    training = model.privacy_.training
    reach = training.clip * training.event.rate * training.event.steps
    capped: npt.NDArray[np.bool_] = (_SLOPE * length > reach) | (length > 1.0)
    return capped & (terms.levels > 0.0)


def inference_of(
    problem: Problem, card: PrivacyCard, theta: Floats, information: Floats
) -> Inference:
    """Return what standard errors are computed from, by a card and released numbers.

    The problem is the main training's. The card lists an information; `theta` is the trained
    model inside, `information` the noisy sums.
    """
    listed, robust = _listed(problem, card)
    public, training = card.public, card.training
    contribution = training.clip * training.event.rate * training.event.steps
    averaging = public["averaging"]
    measure = measure_of(problem, contribution, averaging, robust)
    noise = listed.event.noise_multiplier
    matrices = measure.matrices(information, noise)
    square = (math.hypot(1.0, problem.constant) / problem.scale) ** 2
    curved = float(np.trace(matrices.curvature)) / (listed.n * square)
    path = Path(
        std=training.clip * training.event.noise_multiplier,
        steps=training.event.steps,
        average_from=average_from(training.event.steps, averaging),
        rate=training.event.rate,
        separability=public["lot_size"],
        square=square,
        curved=min(measure.curved, max(0.0, curved)),
    )
    return Inference(theta, problem.strength, matrices, path)


def _listed(problem: Problem, card: PrivacyCard) -> tuple[Release, bool]:
    """Return the release of the information, and whether it has all of the variance."""
    (listed,) = (x for x in card.releases if x.what == "information")
    logistic = "classes" in card.public
    return listed, listed.size == released_size(problem.width, logistic=logistic, robust=True)


def _heading(model: Any) -> str:
    card = model.privacy_
    kind = "Logistic" if hasattr(model, "classes_") else "Linear"
    what = f" of {model.classes_[1]}" if hasattr(model, "classes_") else ""
    unit = card.protected.noun
    return (
        f"{kind} regression{what}, ({card.epsilon:g}, {card.delta:.3g})-differentially "
        f"private, {card.public['n']:,} {unit}s"
    )


def _about(model: Any) -> str:
    card = model.privacy_
    robust = _listed(model._runs[-1], card)[1]
    errors = (
        "Robust standard errors (sandwich)"
        + (", clustered by person." if card.protected.is_person else ".")
        if robust
        else "Standard errors assume that the model is true."
    )
    return (
        f"{errors} Each counts the records' chance and the noise added for privacy; privacy: "
        "the noise's part of the variance."
    )
