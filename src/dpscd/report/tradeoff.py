"""Consequences of another epsilon for this model, planned from public numbers alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpscd.audit.mechanism import persons_of
from dpscd.errors import CalibrationError, ParameterError
from dpscd.estimators.purpose import has_intervals
from dpscd.information import ROBUST
from dpscd.plan import Plan
from dpscd.planning import Facts, plan_fit
from dpscd.privacy.relation import PrivacyTarget
from dpscd.report.html import Html, counted, data_table, html, joined, number, whole
from dpscd.report.line_chart import LineChart
from dpscd.report.subject import BAND, Subject
from dpscd.report.words import best_guess, odds, percent

__all__ = ["Point", "points", "tradeoff"]

_PREDICTION = (
    "A new training would also regularise more when epsilon is small, and its weights would be "
    "smaller."
)
_INTERVALS = "Epsilons at which noise would hide all confidence intervals are left out."

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Point:
    """One epsilon and its consequences."""

    epsilon: float
    guess: float  # how often the best guess about one record, or person, is right
    noise: float  # band over the size of a typical coefficient of this model
    stand_out: int  # coefficients of this model that would lie outside that band
    hidden: float  # noise in each trained number, in contributions of one record, or person


def points(subject: Subject) -> list[Point]:
    """Return the consequences of several epsilons, including the model's own.

    All but epsilon stays fixed, the regularisation and the clip too, so that coefficients can
    be compared. Unreachable epsilons are left out.
    """
    own = subject.card.epsilon
    plans = {}
    for epsilon in sorted({*_EPSILONS, own}):
        try:
            plans[epsilon] = _plan(subject, epsilon)
        except (CalibrationError, ParameterError):  # out of reach, or intervals hidden
            continue
    if own not in plans:
        return []
    coef = np.abs(np.atleast_2d(subject.estimator.coef_))
    noise = BAND * np.atleast_2d(subject.estimator.coef_noise_)
    typical = math.sqrt(float(np.mean(coef**2))) or math.inf
    band = math.sqrt(float(np.mean(noise**2)))
    found = []
    for epsilon, plan in plans.items():
        factor = _relative(plan) / _relative(plans[own])
        found.append(
            Point(
                epsilon=epsilon,
                guess=best_guess(epsilon, subject.card.delta),
                noise=factor * band / typical,
                stand_out=int((coef > factor * noise).sum()),
                hidden=plan.noise_multiplier * math.sqrt(plan.steps) / plan.epochs,
            )
        )
    return found


def tradeoff(subject: Subject) -> Html:
    """Return the section on epsilon against noise."""
    if not subject.card.private:
        return html(
            "<p>Without noise there is nothing to trade. Train with a finite epsilon to see "
            "what protection would cost.</p>\n"
        )
    if subject.card.search is not None:
        return html(
            "<p>This model was chosen by a private search, among others that nobody sees: what "
            "another epsilon would have chosen cannot be told from it.</p>\n"
        )
    every = points(subject)
    if not every:
        return html("<p>The plan of this model cannot be repeated by this version.</p>\n")
    own = subject.card.epsilon
    here = next(x for x in every if x.epsilon == own)
    count = int(np.size(subject.estimator.coef_))
    noun = subject.protected.noun
    hidden = f"{noun.capitalize()}s hidden"
    charts = joined(
        [
            LineChart(
                f"Protection: best guess about one {noun}",
                _guesses(every, subject.card.delta),
                own,
                percent(here.guess),
                unit=" %",
                range_=(50.0, 100.0),
            ).drawn(),
            LineChart(
                "Precision: band over a typical weight",
                [(x.epsilon, x.noise) for x in every],
                own,
                f"{number(here.noise, 2)} \u00d7",
                unit=" \u00d7",
            ).drawn(),
        ]
    )
    rows = [
        [
            Html(f"<strong>{x.epsilon:g} (this model)</strong>")
            if x.epsilon == own
            else f"{x.epsilon:g}",
            percent(x.guess),
            f"{odds(x.epsilon)} \u00d7",
            number(x.hidden, 2),
            f"{number(x.noise, 2)} \u00d7",
            f"{x.stand_out} of {whole(count)}",
        ]
        for x in every
    ]
    headings = (
        "Epsilon", "Best guess", "Odds change by", hidden, "Band over typical weight",
        "Outside their band",
    )  # fmt: skip
    return html(
        "<p>A smaller epsilon protects better and needs more noise. For {n} and {d}, "
        "with all else as in this model:</p>\n"
        '<div class="charts">{charts}</div>\n{table}'
        "<p>“{hidden}”: the noise in each trained number is as large as the largest "
        "joint contribution of this many {nouns}. Computed by planning the same training again "
        "for each epsilon, without records and with the regularisation of this model. {more} "
        "How well a model predicts cannot be known without records.</p>\n",
        more=_INTERVALS if has_intervals(subject.estimator) else _PREDICTION,
        hidden=hidden,
        nouns=f"{noun}s",
        n=counted(subject.card.public["n"], noun),
        d=counted(subject.card.public["d"], "feature"),
        charts=charts,
        table=data_table("What another epsilon would mean", headings, rows, numeric=5),
    )


def _relative(plan: Plan) -> float:
    return plan.shared_noise / plan.clip


def _guesses(every: list[Point], delta: float) -> list[tuple[float, float]]:
    """Return a smooth line of best guesses, in percent, through all points."""
    ends = every[0].epsilon, every[-1].epsilon
    epsilons = {*np.geomspace(*ends, 40).tolist()[1:-1], *(x.epsilon for x in every)}
    return [(x, 100.0 * best_guess(x, delta)) for x in sorted(epsilons)]


def _plan(subject: Subject, epsilon: float) -> Plan:
    card = subject.card
    public, persons = card.public, persons_of(card)
    facts = Facts(
        n=public["n"],
        d=public["d"],
        outputs=len(subject.outputs),
        task=subject.kind.task,
        row_bound=public["row_bound"],
        constant=public["intercept"],
        standardised=public["standardised"],
        bounded=len(subject.bounds),
        chances=any(x.what in ("calibration", "steepness") for x in card.releases),
        rows=0 if persons is None else persons.rows,
        any_length=any(x.what == "long rows" for x in card.releases),
        means=any(x.what in ("rescaling", "level") for x in card.releases),
        joint=subject.is_multinomial,
        inference=has_intervals(subject.estimator),
        robust=getattr(subject.estimator, "inference", False) == ROBUST
        or (has_intervals(subject.estimator) and card.protected.is_person),
    )
    return plan_fit(
        facts,
        PrivacyTarget(epsilon, card.delta, card.relation),
        lam=public["lam"],
        **{name: _given(subject, name) for name in ("epochs", "lot_size", "travel")},
    )


def _given(subject: Subject, name: str) -> Any:
    value = getattr(subject.estimator, name)
    return None if value == "auto" else value
