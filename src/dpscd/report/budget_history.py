"""A ledger's facts about the people in the data: budget, spent, and by which fits."""

from typing import Any

from dpscd.cards.card import PrivacyCard
from dpscd.privacy.budget import BudgetState, Reservation
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.unit import Unit
from dpscd.report.html import Html, data_table, html, joined, number
from dpscd.report.words import chance

__all__ = ["budget_history"]


def budget_history(card: PrivacyCard, ledger: Ledger) -> Html:
    """Return the section on the budget of the model's data set, or of all if it has none."""
    named = card.public.get("dataset")
    names = ledger.datasets() if named is None else (str(named),)
    note = html("")
    if named is None:
        note = html(
            '<p class="note">This model was not charged to a ledger: its card names no data '
            "set. If it was trained on the people below, its epsilon comes on top.</p>\n"
        )
    lists = [card.releases] if card.search is None else card.search.lists()
    own = [release.to_dict() for one in lists for release in one]
    parts = [_one(ledger.show(name), ledger.history(name), own) for name in names]
    return joined([note, *parts])


def _one(state: BudgetState, fits: tuple[Reservation, ...], own: list[dict[str, Any]]) -> Html:
    share = min(1.0, state.spent_epsilon / state.epsilon)
    rows = [
        [
            f"{x.id}",
            x.time.replace("T", " ").replace("Z", " UTC"),
            f"{x.label or 'a fit'}{' (this plan)' if list(x.releases) == own else ''}",
            ("finished" if x.committed else "not finished, spent all the same")
            + (", noise from a seed" if x.seeded else ""),
            f"{x.epsilon:g}",
            chance(x.delta),
        ]
        for x in fits
    ]
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
