"""``dpscd report``: one page about one model, for its reader and for its examiner."""

import base64
import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from dpscd._version import __version__
from dpscd.atomic import atomic_write
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.loading import load
from dpscd.estimators.table import TableModel
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.unit import Unit
from dpscd.report.about import about_section, read_about
from dpscd.report.budget_history import budget_history
from dpscd.report.card_details import card_details
from dpscd.report.coefficients import coefficients
from dpscd.report.evaluation import Evaluation, read_evaluation
from dpscd.report.html import Html, counted, html, joined, number
from dpscd.report.interval_section import interval_section
from dpscd.report.protection import Check, protected
from dpscd.report.public_facts import public_facts
from dpscd.report.quality import quality
from dpscd.report.subject import Subject
from dpscd.report.tradeoff import tradeoff
from dpscd.report.words import best_guess, chance, percent, strength, warnings

__all__ = ["model_page", "write_report"]

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


@dataclass(frozen=True)
class _Section:
    anchor: str
    short: str
    title: str
    content: Html


def write_report(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None = None,
    *,
    evaluation: str | os.PathLike[str] | None = None,
    about: str | os.PathLike[str] | None = None,
) -> Subject:
    """Write the page about a model file; it appears whole or not at all.

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
    return Subject(loaded)


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
    `about` maps keys of :data:`dpscd.report.about.FIELDS` to the owner's texts.
    """
    subject = Subject(model)
    day = (today or datetime.now(UTC).date()).isoformat()
    check = Check(day, subject.card.verify())
    said = [] if not about else [_Section("about", "About", "About", about_section(about))]
    sections = said + _sections(subject, ledger, check, evaluation)
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
        links=joined(
            html('<li><a href="#{a}">{t}</a></li>', a=x.anchor, t=x.short) for x in sections
        ),
        warnings=_warnings(subject),
        facts=_facts(subject, check),
        sections=joined(
            html(
                '<section id="{a}" aria-labelledby="{a}-title"><h2 id="{a}-title">{t}</h2>\n'
                "{content}</section>\n",
                a=x.anchor,
                t=x.title,
                content=x.content,
            )
            for x in sections
        ),
        footer=f"{name}. Written on {day} by dpscd {__version__}; the model was trained by "
        f"dpscd {subject.card.versions['dpscd']}.",
    )


def _subtitle(subject: Subject) -> str:
    public = subject.card.public
    units = counted(public["n"], subject.protected.noun)
    what = f"Trained on {units} with {counted(public['d'], 'feature')}"
    if subject.classes:
        shown = ", ".join(f"“{x}”" for x in subject.classes[:6])
        more = f" and {len(subject.classes) - 6} more" if len(subject.classes) > 6 else ""
        return f"{what}, to tell apart {shown}{more}."
    return f"{what}, to predict a number."


def _sections(
    subject: Subject, ledger: Ledger | None, check: Check, evaluation: Evaluation | None
) -> list[_Section]:
    judged = []
    if evaluation is not None:
        judged.append(_Section("quality", "Quality", "How good it is", quality(evaluation)))
    found = [
        _Section("protected", "Protection", "What is protected", protected(subject, check)),
        _Section("public", "Public facts", "What was assumed public", public_facts(subject)),
        *judged,
        *_effects(subject),
        _Section(
            "weights", "Model and noise", "The model and its noise", coefficients(subject)
        ),
        _Section("tradeoff", "Trade-off", "Protection against precision", tradeoff(subject)),
    ]
    if ledger is not None:
        content = budget_history(subject.card, ledger)
        found.append(_Section("budget", "Budget", "Budget of these people", content))
    return [
        *found,
        _Section("card", "For examiners", "For examiners", card_details(subject.card)),
    ]


def _effects(subject: Subject) -> list[_Section]:
    """Return the section on estimates and intervals, where a model has them."""
    summary = subject.intervals()
    if summary is None:
        return []
    content = interval_section(subject, summary)
    return [_Section("effects", "Effects", "Effects and how sure they are", content)]


def _warnings(subject: Subject) -> Html:
    found = warnings(subject)
    if not found:
        return html("")
    items = joined(
        html('<div class="warning"><h3>⚠ {head}</h3><p>{text}</p></div>\n', head=a, text=b)
        for a, b in found
    )
    return html(
        '<section aria-labelledby="first"><h2 id="first">Read this first</h2>\n{x}</section>\n',
        x=items,
    )


def _facts(subject: Subject, check: Check) -> Html:
    card = subject.card
    if card.private:
        facts = [
            *_unit(card.protected),
            ("Epsilon", number(card.epsilon, 4), f"{strength(card.epsilon)} protection"),
            (
                f"Best guess about a {card.protected.noun}",
                percent(best_guess(card.epsilon, card.delta)),
                "where 50 % is a coin toss",
            ),
            ("Delta", chance(card.delta), "a small extra probability in the bound by epsilon"),
            ("Checked", check.day, f"recomputed: {check.found} ≤ {card.epsilon:g}"),
        ]
    else:
        facts = [
            ("Epsilon", "∞", "no protection"),
            ("Noise", "none", "the model may give records away"),
        ]
    items = joined(
        html(
            "<div><dt>{name}</dt><dd>{value}<span>{note}</span></dd></div>\n",
            name=name,
            value=value,
            note=note,
        )
        for name, value, note in facts
    )
    return html('<dl class="facts" aria-label="Key facts">{x}</dl>\n', x=items)


def _unit(unit: Unit) -> list[tuple[str, str, str]]:
    """Return the key fact about what is protected, where it is not a record."""
    if not unit.is_person:
        return []
    name, _, records = unit.text.partition(": ")
    return [("Protected", name, records)]
