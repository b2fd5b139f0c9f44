"""Section on what a model protects, and how strongly, in sentences and in numbers."""

from dataclasses import dataclass

from dpscd.cards.card import PrivacyCard
from dpscd.privacy.unit import about_record_count
from dpscd.report.html import Html, html
from dpscd.report.subject import Subject
from dpscd.report.words import best_guess, chance, odds, percent, strength

__all__ = ["Check", "protected"]


@dataclass(frozen=True)
class Check:
    """The time and the result of recomputing epsilon."""

    day: str
    epsilon: float

    @property
    def found(self) -> str:
        """The epsilon, with digits to compare."""
        return f"{self.epsilon:.5f}" if self.epsilon >= 1e-3 else f"{self.epsilon:.5g}"


def protected(subject: Subject, check: Check) -> Html:
    """Return the section on what is protected, and how strongly."""
    card = subject.card
    if not card.private:
        return html(
            "<p>Nothing. The model was trained without noise, and whoever sees it may be able "
            "to tell whether a person took part, or read out what their record said.</p>\n"
        )
    unit = card.protected
    return html(
        '<p class="lead">This model hardly depends on any single {noun}. Whoever sees it, and '
        "even knows all other {others}, can hardly tell {secret}.</p>\n"
        "<p><strong>In numbers.</strong> Suppose somebody finds it equally likely, 50 %, that "
        "{doubt}. With the best possible attack on this model they are right in at most "
        "<strong>{guess}</strong> of such cases. Put otherwise: whatever comes out is more "
        "likely in one case than in the other by a factor of at most <strong>{odds}</strong> "
        "(e to the power of epsilon), plus a probability of {delta} (delta).</p>\n"
        "<p>An epsilon of {epsilon} is called {strength} protection: strong up to 1, "
        "reasonable up to 10, weak above (Ponomareva et al., 2023). It is a bound for the "
        "worst case, the most exposed {noun} against the best informed attacker; for most "
        "people the risk is smaller.</p>\n{counts}"
        "<p><strong>Checked on {day}.</strong> From the list of releases at the end of this "
        "page epsilon was computed again: {found}, which is not more than the {epsilon} that "
        "the model claims.</p>\n"
        "<h3>What is not protected</h3>\n<ul>"
        "<li>{group}: they are protected as a group only, with as "
        "many times the epsilon.</li>"
        "<li>What is true of many: if the model shows that a group earns more, it says so "
        "about each of its members, whether or not they took part.</li>"
        "<li>What was assumed public, in the next section.</li>"
        "<li>Other models, scores and tables from the same records: each adds its own "
        "epsilon.</li></ul>\n",
        noun=unit.noun,
        others="persons and their records" if unit.is_person else "records",
        counts=_counts(card),
        group="Persons who belong together, such as a household"
        if unit.is_person
        else "A person with several records",
        secret=unit.words(card.relation),
        doubt=unit.suspicion(card.relation),
        guess=percent(best_guess(card.epsilon, card.delta)),
        odds=odds(card.epsilon),
        delta=chance(card.delta),
        epsilon=f"{card.epsilon:g}",
        strength=strength(card.epsilon),
        day=check.day,
        found=check.found,
    )


def _counts(card: PrivacyCard) -> Html:
    """Return the statement on a person's number of records, where persons are the unit."""
    if not card.protected.is_person:
        return html("")
    text = about_record_count(card.relation, card.epsilon, card.delta)
    return html(
        "<p><strong>Number of records.</strong> {text}.</p>\n", text=text[:1].upper() + text[1:]
    )
