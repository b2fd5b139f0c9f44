"""``dpscd report``: one page about one model, for its reader and for its examiner."""

import base64
import hashlib
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dpscd._version import __version__
from dpscd.atomic import atomic_write
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.loading import load
from dpscd.estimators.table import TableModel
from dpscd.model.card import PrivacyCard
from dpscd.privacy.budget import BudgetState, Reservation
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.unit import Unit
from dpscd.releases.base import Release
from dpscd.report.coefficients import coefficients
from dpscd.report.evaluation import (
    Evaluation,
    about_section,
    quality,
    read_about,
    read_evaluation,
)
from dpscd.report.html import Html, counted, data_table, each, html, joined, number, whole
from dpscd.report.interval_section import interval_section
from dpscd.report.public_facts import public_facts
from dpscd.report.subject import Subject
from dpscd.report.tradeoff import tradeoff
from dpscd.report.words import Check, best_guess, chance, percent, protected, strength, warnings

_STYLE = Path(__file__).with_name("model_page.css")

# Nothing may run and nothing may be fetched, whatever a name in the page contains.
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{digest}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="kicker">Privacy report</p>
<h1>{heading}</h1>
<p>{subtitle}</p>
</header>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main id="main">
{warnings}{facts}{sections}</main>
<footer><p>{footer}</p></footer>
</body>
</html>
"""


class _Section(NamedTuple):
    anchor: str
    short: str
    title: str
    content: Html | None  # None if there is no such section


def write_report(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None = None,
    *,
    evaluation: str | os.PathLike[str] | None = None,
    about: str | os.PathLike[str] | None = None,
) -> PrivacyCard:
    """Write the page about a model file, and return its card; it appears whole or not at all.

    `evaluation` is a file of ``dpscd evaluate --json`` for this model, `about` TOML with
    purpose, owner, contact and legal_basis, as far as they are to be shown.
    """
    loaded = load(model)
    digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    name = f"{Path(model).name}, SHA-256 {digest}"
    judged = None if evaluation is None else read_evaluation(evaluation)
    if judged is not None:
        judged.check_model(digest, Path(model).name)
    page = model_page(
        loaded,
        name,
        None if ledger is None else Ledger(ledger),
        evaluation=judged,
        about=None if about is None else read_about(about),
    )
    with atomic_write(out) as file:
        file.write(page)
    return loaded.privacy_


def model_page(
    model: DPLinearModel | TableModel,
    name: str,
    ledger: Ledger | None = None,
    today: date | None = None,
    *,
    evaluation: Evaluation | None = None,
    about: dict[str, str] | None = None,
) -> str:
    """Return the page about a fitted model: one self-contained text.

    `name` is shown in the footer; `today` is the day of the check, by default today's in UTC.
    `about` maps keys of :data:`dpscd.report.evaluation.ABOUT` to the owner's texts.
    """
    subject = Subject(model)
    day = (today or datetime.now(UTC).date()).isoformat()
    check = Check(day, subject.card.verify())
    sections = [
        _Section("about", "About", "About", about_section(about) if about else None),
        *_sections(subject, ledger, check, evaluation),
    ]
    shown = [section for section in sections if section.content is not None]
    target = f" of {subject.target}" if subject.target else ""
    style = _STYLE.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return html(
        _PAGE,
        digest=f"sha256-{digest}",
        title=f"Privacy report: {subject.kind.words}{target}",
        style=Html(style),
        heading=f"{subject.kind.words.capitalize()}{target}",
        subtitle=_subtitle(subject),
        links=each('<li><a href="#{0}">{1}</a></li>', shown),
        warnings=_warnings(subject.card),
        facts=_facts(subject, check),
        sections=each(
            '<section id="{0}" aria-labelledby="{0}-title"><h2 id="{0}-title">{2}</h2>\n'
            "{3}</section>\n",
            shown,
        ),
        footer=f"{name}. Written on {day} by dpscd {__version__}; the model was trained by "
        f"dpscd {subject.card.versions['dpscd']}.",
    )


def _subtitle(subject: Subject) -> str:
    units = counted(subject.facts.n, subject.protected.noun)
    what = f"Trained on {units} with {counted(subject.facts.d, 'feature')}"
    if subject.classes:
        shown = ", ".join(f"“{x}”" for x in subject.classes[:6])
        more = f" and {len(subject.classes) - 6} more" if len(subject.classes) > 6 else ""
        return f"{what}, to tell apart {shown}{more}."
    return f"{what}, to predict a number."


def _sections(
    subject: Subject, ledger: Ledger | None, check: Check, evaluation: Evaluation | None
) -> list[_Section]:
    summary = subject.intervals()
    effects = None if summary is None else interval_section(subject, summary)
    judged = None if evaluation is None else quality(evaluation)
    budget = None if ledger is None else _budget(subject.card, ledger)
    return [
        _Section("protected", "Protection", "What is protected", protected(subject, check)),
        _Section("public", "Public facts", "What was assumed public", public_facts(subject)),
        _Section("quality", "Quality", "How good it is", judged),
        _Section("effects", "Effects", "Effects and how sure they are", effects),
        _Section(
            "weights", "Model and noise", "The model and its noise", coefficients(subject)
        ),
        _Section("tradeoff", "Trade-off", "Protection against precision", tradeoff(subject)),
        _Section("budget", "Budget", "Budget of these people", budget),
        _Section("card", "For examiners", "For examiners", _examiners(subject.card)),
    ]


def _warnings(card: PrivacyCard) -> Html:
    found = warnings(card)
    if not found:
        return html("")
    return html(
        '<section aria-labelledby="first"><h2 id="first">Read this first</h2>\n{}</section>\n',
        each('<div class="warning"><h3>⚠ {}</h3><p>{}</p></div>\n', found),
    )


def _facts(subject: Subject, check: Check) -> Html:
    card, unit = subject.card, subject.protected
    facts = [
        ("Epsilon", "∞", "no protection"),
        ("Noise", "none", "the model may give records away"),
    ]
    if card.private:
        guess = percent(best_guess(card.epsilon, card.delta))
        facts = [
            ("Epsilon", number(card.epsilon, 4), f"{strength(card.epsilon)} protection"),
            (f"Best guess about a {unit.noun}", guess, "where 50 % is a coin toss"),
            ("Delta", chance(card.delta), "a small extra probability in the bound by epsilon"),
            ("Checked", check.day, f"recomputed: {check.found} ≤ {card.epsilon:g}"),
        ]
        if unit.is_person:
            name, _, records = unit.text.partition(": ")
            facts.insert(0, ("Protected", name, records))
    items = each("<div><dt>{}</dt><dd>{}<span>{}</span></dd></div>\n", facts)
    return html('<dl class="facts" aria-label="Key facts">{}</dl>\n', items)


def _budget(card: PrivacyCard, ledger: Ledger) -> Html:
    """Return the section on the budget of the model's data set, or of all if it has none."""
    named = card.facts.dataset
    names = ledger.datasets() if named is None else (named,)
    note = html("")
    if named is None:
        note = html(
            '<p class="note">This model was not charged to a ledger: its card names no data '
            "set. If it was trained on the people below, its epsilon comes on top.</p>\n"
        )
    lists = [card.releases] if card.search is None else card.search.lists()
    own = [release.to_dict() for one in lists for release in one]
    parts = [_spent(ledger.show(name), ledger.history(name), own) for name in names]
    return joined([note, *parts])


def _spent(
    state: BudgetState, fits: tuple[Reservation, ...], own: list[dict[str, Any]]
) -> Html:
    share = min(1.0, state.spent_epsilon / state.epsilon)
    rows = []
    for x in fits:
        fit = f"{x.label or 'a fit'}{' (this plan)' if list(x.releases) == own else ''}"
        stands = "finished" if x.committed else "not finished, spent all the same"
        stands += ", noise from a seed" if x.seeded else ""
        time = x.time.replace("T", " ").replace("Z", " UTC")
        rows.append([f"{x.id}", time, fit, stands, f"{x.epsilon:g}", chance(x.delta)])
    headings = ("Entry", "Charged", "Fit", "State", "Epsilon", "Delta")
    return html(
        "<h3>Data set “{name}”</h3>\n"
        '<p class="lead">Spent: epsilon {spent} of {budget}. Left: {left}.</p>\n'
        '<svg class="meter" width="100%" height="20" role="img" aria-label="{label}">'
        '<rect class="whole" width="100%" height="20" rx="4"/>'
        '<rect class="spent" width="{share}" height="20" rx="4"/></svg>\n'
        "<p>The budget is epsilon {budget} at a delta of {delta} for all models of these "
        "people together; a fit that would exceed it is refused. {unit}{note}</p>\n"
        "{seeds}{table}",
        name=state.dataset,
        spent=number(state.spent_epsilon, 4),
        budget=f"{state.epsilon:g}",
        left=number(state.left_epsilon, 4),
        label=f"{100.0 * share:.0f} % of the budget is spent",
        share=f"{100.0 * share:.2f}%",
        delta=chance(state.delta),
        unit=f"The unit is {state.unit}. " if Unit.parse(state.unit).is_person else "",
        note=state.note[:1].upper() + state.note[1:],
        seeds=html(
            '<p class="note">Some fits drew their noise from a seed ({count}): the total holds '
            "only while nobody knows it.</p>\n",
            count=f"{state.seeded}",
        )
        if state.seeded
        else html(""),
        table=data_table(f"Fits charged to {state.dataset}", headings, rows, numeric=2)
        if rows
        else html("<p>Nothing was charged yet.</p>\n"),
    )


def _examiners(card: PrivacyCard) -> Html:
    """Return the section for experts."""
    text = joined((html("{}", line) for line in card.to_json().split("\n")), "\n")
    return html(
        "{releases}<details><summary>The whole card, as in the model file</summary>"
        '<pre class="scroll" role="region" tabindex="0" aria-label="Privacy card">{text}</pre>'
        "</details>\n",
        releases=_releases(card) if card.private else html(""),
        text=text,
    )


def _releases(card: PrivacyCard) -> Html:
    rows, claim = [_release(release) for release in card.plan.releases], card.claim
    headings = (
        "Release", "What it is", "Times", "Numbers", "Chance to be used", "Clip",
        "Noise multiplier", "Noise (std)",
    )  # fmt: skip
    return html(
        "<p>All that was computed from the records and left, with the noise that was added "
        "each time. The noise multiplier is the standard deviation over the clip, the most "
        "that one {noun} can contribute.</p>\n{table}"
        "<p>Accountant: {accountant}, interval {interval}, dp-accounting {version}. Of "
        "epsilon, {precision} pays for computing with floats instead of real numbers. "
        "Randomness: {source}.</p>\n"
        "<p>The guarantee rests on this:</p>\n<ul><li>the unit is {unit}</li>{assumed}</ul>\n",
        noun=card.protected.noun,
        table=data_table("Releases", headings, rows, numeric=6),
        accountant=claim.accountant,
        interval=f"{claim.interval:.3g}",
        version=card.versions["dp-accounting"],
        precision=f"{claim.precision_epsilon:.1e}",
        source="from a seed" if card.seeded else "AES-256 keyed by the operating system",
        unit=card.unit,
        assumed=each("<li>{}</li>", ([x] for x in card.assumptions)),
    )


def _release(release: Release) -> list[str]:
    cost, event = release.cost, release.cost.event
    return [
        release.what,
        release.words,
        whole(event.steps),
        whole(cost.size),
        f"{event.rate:.4g}",
        f"{cost.clip:.4g}",
        f"{event.noise_multiplier:.5g}",
        number(cost.clip * event.noise_multiplier),
    ]
