"""Section for experts: every release with its noise, the accountant, and the whole card."""

from dpscd.cards.card import PrivacyCard
from dpscd.privacy.release import Release
from dpscd.releases.kinds import all_kinds
from dpscd.report.html import Html, data_table, html, joined, number, whole

__all__ = ["card_details"]


def card_details(card: PrivacyCard) -> Html:
    """Return the section for experts."""
    parts = [_releases(card), _assumptions(card)] if card.private else []
    return joined([*parts, _whole_card(card)])


def _releases(card: PrivacyCard) -> Html:
    words = {kind.what: kind.words for kind in reversed(all_kinds())}
    rows = [_row(release, words.get(release.what, "")) for release in card.releases]
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
        "Randomness: {source}.</p>\n",
        noun=card.protected.noun,
        table=data_table("Releases", headings, rows, numeric=6),
        accountant=card.accountant,
        interval=f"{card.interval:.3g}",
        version=card.versions["dp-accounting"],
        precision=f"{card.precision_epsilon:.1e}",
        source="from a seed" if card.seeded else "AES-256 keyed by the operating system",
    )


def _row(release: Release, words: str) -> list[str]:
    event = release.event
    return [
        release.what,
        words,
        whole(event.steps),
        whole(release.size),
        f"{event.rate:.4g}",
        f"{release.clip:.4g}",
        f"{event.noise_multiplier:.5g}",
        number(release.clip * event.noise_multiplier),
    ]


def _assumptions(card: PrivacyCard) -> Html:
    items = joined(
        html("<li>{x}</li>", x=x) for x in (f"the unit is {card.unit}", *card.assumptions)
    )
    return html("<p>The guarantee rests on this:</p>\n<ul>{items}</ul>\n", items=items)


def _whole_card(card: PrivacyCard) -> Html:
    text = joined((html("{x}", x=line) for line in card.to_json().split("\n")), "\n")
    return html(
        "<details><summary>The whole card, as in the model file</summary>"
        '<pre class="scroll" role="region" tabindex="0" aria-label="Privacy card">{text}</pre>'
        "</details>\n",
        text=text,
    )
