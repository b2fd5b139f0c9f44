"""Facts about a model, each said once: what every document is made of.

The words stand in ``templates/facts.toml``; here are the values that they are about.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpscd.documents.described import Described
from dpscd.documents.public import other_facts
from dpscd.estimators.shapes import band_words, clear_words, prediction_note
from dpscd.model.card import PrivacyCard
from dpscd.privacy.relation import FORMAL
from dpscd.releases.base import Release
from dpscd.rendering import capital, counted, number, quoted, whole

_WORDS = Path(__file__).parents[1] / "templates" / "facts.toml"
_PARTS = ("key", "label", "value", "sentence", "group")


@dataclass(frozen=True)
class Fact:
    """One fact: what it is called, its value, a sentence that says it, and its group."""

    key: str
    label: str
    value: str = ""
    sentence: str = ""
    group: str = ""
    numbers: tuple[str, ...] = ()  # of a release, as they stand in tables

    @property
    def row(self) -> tuple[str, ...]:
        """Label, value and numbers, as a row of a table."""
        return self.label, self.value, *self.numbers


class Facts:
    """All facts about a model, by key, and in groups."""

    def __init__(self, facts: list[Fact]) -> None:
        self._facts = facts
        self._keys = {fact.key: fact for fact in facts}

    def __getitem__(self, key: str) -> Fact:
        return self._keys[key]

    def group(self, name: str) -> list[Fact]:
        """Return the facts of a group, in their order."""
        return [fact for fact in self._facts if fact.group == name]


def describe(model: Described) -> Facts:
    """Return the facts about a model that documents say."""
    card = model.card
    found = list(_said(_of_card(card) | _of_model(model)))
    found += [Fact(f"public: {x}", x, value, "", "public") for x, value in other_facts(model)]
    if card.private:
        many = f"{card.protected.noun}s"
        found += [_release(release, many) for release in card.plan.releases]
        found += [Fact(text, "Assumption", text, "", "assumption") for text in card.assumptions]
    return Facts(found)


def warnings(card: PrivacyCard) -> list[Fact]:
    """Return what a reader must know before anything else."""
    return list(_said(_of_card(card), "warning"))


def _said(values: Mapping[str, Any], group: str | None = None) -> Iterator[Fact]:
    """Yield the facts that hold, of a group or all."""
    for words in _words():
        if group in (None, words.get("group")) and all(
            values[x] for x in words.get("when", ())
        ):
            yield Fact(*(words.get(part, "").format_map(values) for part in _PARTS))


@cache
def _words() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(_WORDS.read_text(encoding="utf-8"))["fact"]
    return found


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


# --- values of the words --------------------------------------------------------------------

# By what data sets are adjacent to: of records, and of persons.
_CHANGES = {
    "empty": (
        "replacing one record by an empty one, which contributes nothing",
        "replacing all records of one person by empty ones, which contribute nothing",
    ),
    "other": (
        "replacing one record by any other",
        "replacing all records of one person by those of any other, who may have more or fewer",
    ),
    "nothing": (
        "adding or removing one record",
        "adding or removing all records of one person",
    ),
}
_ACCOUNTANTS = {"PLD": "privacy loss distributions", "RDP": "Rényi differential privacy"}


def _of_card(card: PrivacyCard) -> dict[str, Any]:
    """Return the values of a guarantee."""
    unit, relation, noun, n = card.protected, card.relation, card.protected.noun, card.facts.n
    size = f" The number of {noun}s is the same in both and public."
    if relation.needs_n:
        size = f" The true number of {noun}s is not public; the declared one, {whole(n)}, is."
    factor = odds(card.epsilon)
    count = card.record_count[0] if card.record_count else ""
    return {
        "private": card.private,
        "open": not card.private,
        "persons": unit.is_person,
        "records": not unit.is_person,
        "read": quoted(card.facts.read_from_data) if card.facts.read_from_data else "",
        "undeclared": not card.facts.declared,
        "seeded": card.seeded,
        "formal": card.epsilon > FORMAL,
        "loose": card.delta * n >= 1.0,
        "published": "all records of a random person" if unit.is_person else "a random record",
        "noun": noun,
        "n": whole(n),
        "unit": card.unit,
        "others": "persons and their records" if unit.is_person else "records",
        "secret": unit.words(relation),
        "suspicion": unit.suspicion(relation),
        "relation": str(relation),
        "change": _CHANGES[relation.absent][unit.is_person],
        "size": size,
        "count": f" Number of records: {count}." if count else "",
        "epsilon": f"{card.epsilon:g}",
        "delta": f"{card.delta:.3g}",
        "chance": chance(card.delta),
        "guess": percent(best_guess(card.epsilon, card.delta)),
        "factor": factor if factor.startswith("more") else f"at most {factor}",
        "strength": strength(card.epsilon),
        "randomness": card.randomness,
        "accounting": card.versions.get("dp-accounting"),
    }


def _of_model(model: Described) -> dict[str, Any]:
    """Return the values of a model, and of the check of its guarantee."""
    target, claim = model.target, model.card.claim
    units = counted(model.facts.n, model.unit.noun)
    if model.card.relation.needs_n:
        units = f"about {units} (declared; the true number is secret)"
    found = model.recomputed
    label = model.schema.target.trained_on if model.schema else None
    weight = model.kind.weight.format(target=label or "the prediction")
    terms = "a sum of one term for each column, and of pairs where they were declared"
    return {
        "Kind": capital(model.kind.words),
        "units": units,
        "features": counted(model.facts.d, "feature"),
        "predicted": f"“{target}”" if target else "a number" if model.regression else "a class",
        "ways": f" (one of {quoted(model.classes, 6)})" if model.classes else "",
        "source": "the columns of a table" if model.schema else "a row of numbers",
        "effect": model.noun,
        "weight": weight.replace("coefficient", model.noun),
        "joint": model.facts.joint,
        "arrays": model.schema is None,
        "shapes": model.has_shapes,
        "normalised": model.schema is not None and not model.has_shapes,
        "inference": model.fit.has_intervals,
        "purpose": prediction_note(model.estimator, model.noun) or "",
        "band": band_words(model.model) or "",
        "clear": clear_words(model.noun),
        "form": terms if model.schema else "linear in the features",
        "day": model.day,
        "recomputed": f"{found:.5f}" if found >= 1e-3 else f"{found:.5g}",
        "accountant": _ACCOUNTANTS.get(claim.accountant),
        "precision_epsilon": f"{claim.precision_epsilon:.1e}",
        "precision_delta": f"{claim.precision_delta:.1e}",
    }


def _release(release: Release, many: str) -> Fact:
    cost, event = release.cost, release.cost.event
    lots = f"of all {many}" if event.rate == 1.0 else f"of lots at rate {event.rate:.4g}"
    times = "once" if event.steps == 1 else f"{whole(event.steps)} times"
    return Fact(
        f"release: {release.what}",
        release.what,
        release.words,
        f"{counted(cost.size, 'number')}, {times}, {lots}; Gaussian noise of "
        f"{event.noise_multiplier:.5g} clips (clip {number(cost.clip, 4)})",
        "release",
        (
            whole(event.steps),
            whole(cost.size),
            f"{event.rate:.4g}",
            f"{cost.clip:.4g}",
            f"{event.noise_multiplier:.5g}",
            number(cost.clip * event.noise_multiplier),
        ),
    )
