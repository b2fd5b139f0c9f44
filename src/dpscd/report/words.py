"""The meaning of a guarantee, in sentences and numbers for readers who are not experts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpscd.model.card import PrivacyCard
from dpscd.privacy.relation import FORMAL
from dpscd.privacy.unit import about_record_count
from dpscd.report.html import Html, html, whole
from dpscd.report.subject import Subject


def best_guess(epsilon: float, delta: float) -> float:
    """Return how often the best possible guess between two equally likely worlds is right.

    Under (epsilon, delta)-privacy, the two errors of any test of the world of a release sum to
    at least ``2 (1 - delta) / (1 + e^epsilon)``.
    """
    return 1.0 - (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))


def percent(share: float) -> str:
    """Return a share of guesses as a percentage, rounded up: it is a bound."""
    return f"{min(100.0, math.ceil(share * 1000.0 - 1e-9) / 10.0):.1f} %"


def odds(epsilon: float) -> str:
    """Return the factor by which odds can change, rounded up."""
    factor = math.exp(min(epsilon, 700.0))
    if factor >= 1000.0:
        return whole(math.ceil(factor)) if factor < 1e6 else "more than a million"
    return f"{math.ceil(factor * 100.0 - 1e-9) / 100.0:.2f}"


def chance(delta: float) -> str:
    """Return a small probability as "1 in n", rounded up."""
    return f"1 in {whole(math.floor(1.0 / delta * (1.0 + 1e-9)))}"


def strength(epsilon: float) -> str:
    """Return the tier of an epsilon, after Ponomareva et al. (2023), "How to DP-fy ML"."""
    if epsilon <= 1.0:
        return "strong"
    return "reasonable" if epsilon <= FORMAL else "weak"


def warnings(card: PrivacyCard) -> list[tuple[str, str]]:
    """Return what a reader must know first: headings and sentences."""
    if not card.private:
        return [
            (
                "This model is not private",
                "It was trained with epsilon = infinity: no noise was added, and nothing is "
                "promised to the people in the data. Treat it like the records themselves.",
            )
        ]
    noun, read, found = card.protected.noun, card.facts.read_from_data, {}
    if read:
        found["Facts were read from the records"] = (
            f"The schema says that bounds or values of {_listed(read)} were looked up in the "
            "data. The guarantee below does not cover what they give away: it holds as if "
            "these facts had been the same whoever took part."
        )
    if not card.facts.declared:
        found["The classes were read from the records"] = (
            "No classes were declared, so the labels that occur in the data were taken as "
            "public. That a label occurs at all is not protected."
        )
    if card.seeded:
        found["The noise came from a seed"] = (
            "Whoever knows or guesses the seed (random_state) can take the noise away again. "
            "The guarantee holds only while the seed is secret and used for no other fit or "
            "score. Do not publish this model if the seed is a common number such as 0 or 42."
        )
    if card.epsilon > FORMAL:
        formal = f"Above {FORMAL:g} a {noun} is protected only in a formal sense."
        found["Epsilon is large"] = formal
    if card.delta * card.facts.n >= 1.0:
        published = "all records of a random person" if noun == "person" else "a random record"
        found["Delta is large"] = (
            f"At a delta of {chance(card.delta)} publishing {published} would pass. "
            f"With {whole(card.facts.n)} {noun}s it should be far smaller."
        )
    return list(found.items())


def _listed(names: Sequence[str]) -> str:
    shown = [f"“{name}”" for name in names[:8]]
    if len(names) > 8:
        return f"{', '.join(shown)} and {len(names) - 8} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


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
