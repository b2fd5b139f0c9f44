"""Facts about a model, each said once: what every document is made of.

The words stand in ``templates/facts.toml``; here are the values that they are about.
"""

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpscd import losses
from dpscd.documents.described import Described
from dpscd.estimators.shapes import band_words, clear_words, prediction_note
from dpscd.losses import Huber
from dpscd.model.card import PrivacyCard
from dpscd.preprocessing.column_features import intervals_of, width_of
from dpscd.preprocessing.declarations import Column, Cross, Target
from dpscd.privacy.relation import FORMAL
from dpscd.releases.base import Release
from dpscd.rendering import counted, filled, number, whole

_WORDS = Path(__file__).parents[1] / "templates" / "facts.toml"
_PARTS = ("key", "label", "value", "sentence", "group")
_SHOWN = 12  # values of a category

#: What is said of columns about which the records were asked, without noise.
READ = "read from the records"


@dataclass(frozen=True)
class Fact:
    """One fact: what it is called, its value, a sentence that says it, and its group."""

    key: str = ""  # of those that documents name
    label: str = ""
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
    found = list(_said(card, model))
    if card.private:
        many = f"{card.protected.noun}s"
        found += [_release(release, many) for release in card.plan.releases]
        found += [Fact(text, "Assumption", text, "", "assumption") for text in card.assumptions]
    return Facts(found)


def warnings(card: PrivacyCard) -> list[Fact]:
    """Return what a reader must know before anything else."""
    return list(_said(card))


def _said(card: PrivacyCard, model: Described | None = None) -> Iterator[Fact]:
    """Yield the facts that hold of a model, or the warnings about a card."""
    given: dict[str, Any] = {**_FUNCTIONS, "card": card, "unit": card.protected}
    if model is not None:
        given |= {"model": model, "labels": model.fit.labels}
    for words in _words()["fact"]:
        if model is None and words.get("group") != "warning":
            continue
        if filled(f"{{% if {words.get('when', 'true')} %}}yes{{% endif %}}", **given):
            key, label, value, sentence, own = (
                filled(words.get(part, ""), **given) for part in _PARTS
            )
            yield Fact(key, label, value, sentence, own)


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(_WORDS.read_text(encoding="utf-8"))


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


def _change(card: PrivacyCard) -> str:
    """Return how an adjacent data set comes about."""
    return _CHANGES[card.relation.absent][card.protected.is_person]


def _recomputed(model: Described) -> str:
    found = model.recomputed
    return f"{found:.5f}" if found >= 1e-3 else f"{found:.5g}"


def _weight(model: Described) -> str:
    """Return what a coefficient, or an effect, is a change of."""
    label = model.schema.target.trained_on if model.schema else None
    words: str = model.kind.weight.format(target=label or "the prediction")
    return words.replace("coefficient", model.noun)


def _threshold(model: Described) -> float | None:
    facts = model.facts
    loss = losses.made(facts.loss_class, model.fit.labels, facts.intercept, facts.threshold)
    return loss.threshold if isinstance(loss, Huber) else None


_FUNCTIONS = {
    "FORMAL": FORMAL,
    "ACCOUNTANTS": {"PLD": "privacy loss distributions", "RDP": "Rényi differential privacy"},
    "band": lambda model: band_words(model.model) or "",
    "best_guess": best_guess,
    "chance": chance,
    "change": _change,
    "clear": lambda model: clear_words(model.noun),
    "odds": odds,
    "percent": percent,
    "purpose": lambda model: prediction_note(model.estimator, model.noun) or "",
    "recomputed": _recomputed,
    "strength": strength,
    "threshold": _threshold,
    "weight": _weight,
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


# --- columns ----------------------------------------------------------------------------------


def column_facts(model: Described) -> list[tuple[str, str, str, str]]:
    """Return name, use, origin and declared facts of the target, every column and pair."""
    if model.schema is None:
        return []
    parts: list[Column | Target] = [model.schema.target, *model.schema.columns]
    rows = [_column(model, part) for part in parts]
    crossed = (part for part in model.schema.parts if isinstance(part, Cross))
    return rows + [(x.name, f"pair, {width_of(x)} features", "declared", "") for x in crossed]


def _column(model: Described, part: Column | Target) -> tuple[str, str, str, str]:
    kind = part.kind if isinstance(part, Column) else "target"
    bounds = model.bounds.get(part.name, part.bounds)
    given = {
        "card": model.card,
        "part": part,
        "kind": kind,
        "used": kind not in ("target", "ignore"),
        "bounds": None if isinstance(bounds, str) else bounds,
        "renamed": [f"{a} = {b}" for a, b in part.rename.items()],
        "intervals_of": intervals_of,
        "listed": _listed,
        "READ": READ,
    }

    def said(name: str, between: str) -> str:
        texts = (filled(text, **given) for text in _words()["column"][name])
        return between.join(text for text in texts if text)

    return part.name, said("use", ", "), said("origin", ""), said("known", "; ")


def _listed(values: Sequence[Any]) -> str:
    """Return some values, and how many there are more."""
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(map(str, values[:_SHOWN])) + more
