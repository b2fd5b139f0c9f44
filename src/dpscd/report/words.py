"""The meaning of a guarantee, in sentences for readers who are not experts."""

import math

from dpscd.cards.card import PrivacyCard
from dpscd.privacy.relation import FORMAL
from dpscd.report.html import whole
from dpscd.report.subject import Subject

__all__ = ["best_guess", "chance", "odds", "percent", "strength", "warnings"]


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


def warnings(subject: Subject) -> list[tuple[str, str]]:
    """Return what a reader must know first: headings and sentences."""
    card = subject.card
    if not card.private:
        return [
            (
                "This model is not private",
                "It was trained with epsilon = infinity: no noise was added, and nothing is "
                "promised to the people in the data. Treat it like the records themselves.",
            )
        ]
    return [*_about_data(subject, card), *_about_randomness(card), *_about_numbers(card)]


def _about_data(subject: Subject, card: PrivacyCard) -> list[tuple[str, str]]:
    found = []
    read = list(subject.schema.read_from_data) if subject.schema else []
    if read:
        found.append(
            (
                "Facts were read from the records",
                f"The schema says that bounds or values of {_listed(read)} were looked up in "
                "the data. The guarantee below does not cover what they give away: it holds as "
                "if these facts had been the same whoever took part.",
            )
        )
    if card.public.get("classes_from", "declared") != "declared":
        found.append(
            (
                "The classes were read from the records",
                "No classes were declared, so the labels that occur in the data were taken as "
                "public. That a label occurs at all is not protected.",
            )
        )
    return found


def _about_randomness(card: PrivacyCard) -> list[tuple[str, str]]:
    if not card.seeded:
        return []
    return [
        (
            "The noise came from a seed",
            "Whoever knows or guesses the seed (random_state) can take the noise away again. "
            "The guarantee holds only while the seed is secret and used for no other fit or "
            "score. Do not publish this model if the seed is a common number such as 0 or 42.",
        )
    ]


def _about_numbers(card: PrivacyCard) -> list[tuple[str, str]]:
    found = []
    noun = card.protected.noun
    if card.epsilon > FORMAL:
        found.append(
            (
                "Epsilon is large",
                f"Above {FORMAL:g} a {noun} is protected only in a formal sense.",
            )
        )
    if card.delta * card.public["n"] >= 1.0:
        published = "all records of a random person" if noun == "person" else "a random record"
        found.append(
            (
                "Delta is large",
                f"At a delta of {chance(card.delta)} publishing {published} would pass. "
                f"With {whole(card.public['n'])} {noun}s it should be far smaller.",
            )
        )
    return found


def _listed(names: list[str]) -> str:
    shown = [f"“{name}”" for name in names[:8]]
    if len(names) > 8:
        return f"{', '.join(shown)} and {len(names) - 8} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
