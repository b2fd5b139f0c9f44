"""Consequences of another epsilon for a model, planned from public numbers alone."""

import math
from typing import Any, NamedTuple

import numpy as np

from dpscd.documents.charts import Axis, Chart
from dpscd.documents.described import Described
from dpscd.documents.facts import best_guess, odds, percent
from dpscd.errors import CalibrationError, ParameterError
from dpscd.estimators.shapes import BAND
from dpscd.planning.plan import Plan
from dpscd.planning.rule import plan_fit
from dpscd.privacy.relation import PrivacyTarget
from dpscd.releases.training import Training
from dpscd.rendering import number

_EPSILONS = _MARKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # planned, and on the axis


class Point(NamedTuple):
    """One epsilon and its consequences."""

    epsilon: float
    guess: float  # how often the best guess about one record, or person, is right
    noise: float  # band over the size of a typical coefficient of this model; NaN without one
    hidden: float  # noise in each trained number, in contributions of one record, or person


def points(model: Described) -> list[Point]:
    """Return the consequences of several epsilons that can be reached; all else stays fixed."""
    own = model.card.epsilon
    plans = {}
    for epsilon in sorted({*_EPSILONS, own}):
        try:
            plans[epsilon] = _plan(model, epsilon)
        except (CalibrationError, ParameterError):  # out of reach, or intervals hidden
            continue
    if own not in plans:
        return []
    typical = math.sqrt(float(np.mean(model.fit.numbers.coef**2))) or math.inf
    band = BAND * math.sqrt(float(np.mean(model.fit.deviations[0] ** 2)))
    found = []
    for epsilon, plan in plans.items():
        main = plan.main
        factor = _relative(main) / _relative(plans[own].main)
        guess = best_guess(epsilon, model.card.delta)
        hidden = main.noise_multiplier * math.sqrt(main.steps) / main.epochs
        found.append(Point(epsilon, guess, factor * band / typical, hidden))
    return found


def trade_off(model: Described) -> dict[str, Any] | None:
    """Return charts over epsilon and a table of the same, or None if it cannot be planned."""
    every = points(model)
    if not every:
        return None
    own, noun, delta = model.card.epsilon, model.unit.noun, model.card.delta
    here = next(x for x in every if x.epsilon == own)
    banded = not math.isnan(here.noise)
    hidden = f"{noun.capitalize()}s hidden"
    columns = ["Epsilon", "Best guess", "Odds change by", hidden]
    charts = [
        _over_epsilon(
            f"Protection: best guess about one {noun}",
            _guesses(every, delta),
            (own, 100.0 * here.guess, percent(here.guess)),
            Axis(50.0, 100.0, unit=" %"),
        )
    ]
    rows = [
        [
            f"{x.epsilon:g}{' (this model)' if x is here else ''}",
            percent(x.guess),
            f"{odds(x.epsilon)} \u00d7",
            number(x.hidden, 2),
        ]
        for x in every
    ]
    if banded:
        columns.append("Band over typical coefficient")
        texts = [f"{number(x.noise, 2)} \u00d7" for x in every]
        rows = [[*row, text] for row, text in zip(rows, texts, strict=True)]
        charts.append(
            _over_epsilon(
                "Precision: band over a typical coefficient",
                [(x.epsilon, x.noise) for x in every],
                (own, here.noise, texts[every.index(here)]),
                _powers([x.noise for x in every]),
            )
        )
    return {"charts": charts, "columns": columns, "rows": rows, "hidden": hidden}


def _over_epsilon(
    title: str, line: list[tuple[float, float]], own: tuple[float, float, str], y: Axis
) -> Chart:
    ends = f"{number(line[0][1])}{y.unit} to {number(line[-1][1])}{y.unit}"
    text = (
        f"{title}, over epsilon from {line[0][0]:g} to {line[-1][0]:g}: {ends}; {own[2]} at "
        f"epsilon {own[0]:g}. The numbers are in the table below."
    )
    x = Axis(line[0][0], line[-1][0], "epsilon", scale="log", marks=_MARKS)
    return Chart(title, text, x, y, line, own=own)


def _powers(values: list[float]) -> Axis:
    """Return a logarithmic axis between powers of ten."""
    found = [value for value in values if value > 0.0] or [1.0]
    low = 10.0 ** math.floor(math.log10(min(found)))
    high = 10.0 ** math.ceil(math.log10(max(found)))
    return Axis(low, max(high, 10.0 * low), unit=" \u00d7", scale="log")


def _relative(training: Training) -> float:
    return training.shared_noise / training.clip


def _guesses(every: list[Point], delta: float) -> list[tuple[float, float]]:
    """Return a smooth line of best guesses, in percent, through all points."""
    ends = every[0].epsilon, every[-1].epsilon
    epsilons = {*np.geomspace(*ends, 40).tolist()[1:-1], *(x.epsilon for x in every)}
    return [(x, 100.0 * best_guess(x, delta)) for x in sorted(epsilons)]


def _plan(model: Described, epsilon: float) -> Plan:
    card, parameters = model.card, model.fit.parameters
    names = ("epochs", "lot_size", "travel")
    given: dict[str, Any] = {x: parameters[x] for x in names if parameters[x] != "auto"}
    target = PrivacyTarget(epsilon, card.delta, card.relation)
    return plan_fit(card.facts, target, lam=card.plan.main.lam, **given)
