"""Consequences of another epsilon for this model, planned from public numbers alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpscd.errors import CalibrationError, ParameterError
from dpscd.estimators.shapes import BAND
from dpscd.planning import plan_fit
from dpscd.plans import Plan
from dpscd.privacy.relation import PrivacyTarget
from dpscd.releases.training import Training
from dpscd.report.html import Html, counted, data_table, each, html, joined, number, whole
from dpscd.report.subject import Subject
from dpscd.report.words import best_guess, odds, percent

# In units of the drawing, which is as wide as a phone; text keeps its size there.
_WIDTH, _HEIGHT = 340.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 16.0, 46.0
_MARKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # on the axis of epsilon


@dataclass(frozen=True)
class LineChart:
    """A line over epsilon, on a logarithmic axis."""

    title: str
    points: list[tuple[float, float]]  # epsilon and value
    own: float  # the epsilon to mark
    mark: str  # label of the marked epsilon
    unit: str = ""  # after each number of the axis
    range_: tuple[float, float] | None = None  # of a linear axis; None: it is logarithmic

    def drawn(self) -> Html:
        """Return the chart as a figure; the table beside it has the numbers."""
        at = next(value for epsilon, value in self.points if epsilon == self.own)
        x, y = self._x(self.own), self._y(at)
        left = x > _WIDTH * 0.75
        rises = self.points[-1][1] > self.points[0][1]
        return html(
            '<figure><figcaption>{title}</figcaption><svg viewBox="0 0 {w} {h}" role="img" '
            'aria-label="{text}">{grid}<polyline points="{path}"/>'
            '<line class="own" x1="{x}" x2="{x}" y1="{top}" y2="{floor}"/>'
            '<circle class="own" cx="{x}" cy="{y}" r="5"/>'
            '<text class="own" x="{tx}" y="{ty}" text-anchor="{anchor}">{mark}</text>'
            '<text x="{mid}" y="{end}" text-anchor="middle">epsilon</text></svg></figure>\n',
            title=self.title,
            text=f"{self.title}, over epsilon from {self.points[0][0]:g} to "
            f"{self.points[-1][0]:g}: {self._say(0)} to {self._say(-1)}; {self.mark} at "
            f"epsilon {self.own:g}. The numbers are in the table below.",
            w=f"{_WIDTH:g}",
            h=f"{_HEIGHT:g}",
            grid=self._grid(),
            path=" ".join(f"{self._x(a):.1f},{self._y(b):.1f}" for a, b in self.points),
            x=f"{x:.1f}",
            y=f"{y:.1f}",
            top=f"{_TOP:g}",
            floor=f"{_HEIGHT - _BOTTOM:g}",
            tx=f"{x - 10 if left else x + 10:.1f}",
            # Where the line is not: below it when it rises, above when it falls.
            ty=f"{y + 20 if rises != left else max(_TOP + 12, y - 9):.1f}",
            anchor="end" if left else "start",
            mark=self.mark,
            mid=f"{(_LEFT + _WIDTH - _RIGHT) / 2:g}",
            end=f"{_HEIGHT - 6:g}",
        )

    def _say(self, place: int) -> str:
        return f"{number(self.points[place][1])}{self.unit}"

    def _grid(self) -> Html:
        lines = each(
            f'<line class="grid" x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" '
            'y1="{0}" y2="{0}"/>'
            f'<text x="{_LEFT - 6:g}" y="{{0}}" dy="4" text-anchor="end">{{1}}{{2}}</text>',
            ((f"{self._y(x):.1f}", number(x), self.unit) for x in self._ticks()),
        )
        marks = each(
            f'<text x="{{}}" y="{_HEIGHT - _BOTTOM + 20:g}" text-anchor="middle">{{}}</text>',
            ((f"{self._x(x):.1f}", f"{x:g}") for x in _MARKS),
        )
        return joined([lines, marks])

    def _ends(self) -> tuple[float, float]:
        if self.range_:
            return self.range_
        values = [value for _, value in self.points if value > 0.0] or [1.0]
        low = 10.0 ** math.floor(math.log10(min(values)))
        high = 10.0 ** math.ceil(math.log10(max(values)))
        return low, max(high, 10.0 * low)

    def _ticks(self) -> list[float]:
        low, high = self._ends()
        if self.range_:
            return [low + (high - low) * part / 5.0 for part in range(6)]
        first, last = round(math.log10(low)), round(math.log10(high))
        step = max(1, (last - first) // 4)
        return [10.0**power for power in range(first, last + 1, step)]

    def _x(self, epsilon: float) -> float:
        first, last = (math.log10(end) for end in (self.points[0][0], self.points[-1][0]))
        share = (math.log10(epsilon) - first) / (last - first)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        low, high = self._ends()
        if self.range_:
            share = (value - low) / (high - low)
        else:
            share = math.log10(max(value, low) / low) / math.log10(high / low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


_EPSILONS = _MARKS  # that are planned


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
    numbers = subject.fit.numbers
    coef, noise = np.abs(numbers.coef), BAND * numbers.coef_noise
    typical = math.sqrt(float(np.mean(coef**2))) or math.inf
    band = math.sqrt(float(np.mean(noise**2)))
    found = []
    for epsilon, plan in plans.items():
        main = plan.main
        factor = _relative(main) / _relative(plans[own].main)
        guess = best_guess(epsilon, subject.card.delta)
        stand_out = int((coef > factor * noise).sum())
        hidden = main.noise_multiplier * math.sqrt(main.steps) / main.epochs
        found.append(Point(epsilon, guess, factor * band / typical, stand_out, hidden))
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
    count = subject.fit.numbers.coef.size
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
    marked = Html(f"<strong>{own:g} (this model)</strong>")
    rows = [
        [
            marked if x.epsilon == own else f"{x.epsilon:g}",
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
    more = (
        "A new training would also regularise more when epsilon is small, and its weights "
        "would be smaller."
    )
    if subject.fit.has_intervals:
        more = "Epsilons at which noise would hide all confidence intervals are left out."
    return html(
        "<p>A smaller epsilon protects better and needs more noise. For {n} and {d}, "
        "with all else as in this model:</p>\n"
        '<div class="charts">{charts}</div>\n{table}'
        "<p>“{hidden}”: the noise in each trained number is as large as the largest "
        "joint contribution of this many {nouns}. Computed by planning the same training again "
        "for each epsilon, without records and with the regularisation of this model. {more} "
        "How well a model predicts cannot be known without records.</p>\n",
        more=more,
        hidden=hidden,
        nouns=f"{noun}s",
        n=counted(subject.facts.n, noun),
        d=counted(subject.facts.d, "feature"),
        charts=charts,
        table=data_table("What another epsilon would mean", headings, rows, numeric=5),
    )


def _relative(training: Training) -> float:
    return training.shared_noise / training.clip


def _guesses(every: list[Point], delta: float) -> list[tuple[float, float]]:
    """Return a smooth line of best guesses, in percent, through all points."""
    ends = every[0].epsilon, every[-1].epsilon
    epsilons = {*np.geomspace(*ends, 40).tolist()[1:-1], *(x.epsilon for x in every)}
    return [(x, 100.0 * best_guess(x, delta)) for x in sorted(epsilons)]


def _plan(subject: Subject, epsilon: float) -> Plan:
    card, parameters = subject.card, subject.fit.parameters
    names = ("epochs", "lot_size", "travel")
    given: dict[str, Any] = {x: parameters[x] for x in names if parameters[x] != "auto"}
    target = PrivacyTarget(epsilon, card.delta, card.relation)
    return plan_fit(card.facts, target, lam=card.plan.main.lam, **given)
