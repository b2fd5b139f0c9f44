"""Facts about a model, each said once: what every document is made of."""

import math
from dataclasses import dataclass

from dpscd.documents.described import Described
from dpscd.documents.public import other_facts
from dpscd.estimators.purpose import band_words, clear_words, prediction_note
from dpscd.model.card import PrivacyCard
from dpscd.privacy.relation import FORMAL
from dpscd.releases.base import Release
from dpscd.rendering import capital, counted, number, quoted, whole


@dataclass(frozen=True)
class Fact:
    """One fact: where it belongs, what it is called, its value, and a sentence that says it."""

    group: str
    key: str
    label: str
    value: str = ""
    sentence: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Label and value, as a row of a table."""
        return self.label, self.value


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
    found = [*warnings(model.card), *_model(model), *_effects(model), *_limits(model)]
    found += [
        Fact("public", f"public: {what}", what, value) for what, value in other_facts(model)
    ]
    if model.card.private:
        found += [*_guarantee(model), *_releases(model.card)]
    return Facts(found)


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


# --- what must be known first ---------------------------------------------------------------


def warnings(card: PrivacyCard) -> list[Fact]:
    """Return what a reader must know before anything else."""
    if not card.private:
        return [
            _warning(
                "This model is not private",
                "It was trained with epsilon = infinity: no noise was added, and nothing is "
                "promised to the people in the data. Treat it like the records themselves.",
            )
        ]
    noun, read, found = card.protected.noun, card.facts.read_from_data, []
    if read:
        found.append(
            _warning(
                "Facts were read from the records",
                f"The schema says that bounds or values of {quoted(read)} were looked up in "
                "the data. The guarantee does not cover what they give away: it holds as if "
                "these facts had been the same whoever took part.",
            )
        )
    if not card.facts.declared:
        found.append(
            _warning(
                "The classes were read from the records",
                "No classes were declared, so the labels that occur in the data were taken as "
                "public. That a label occurs at all is not protected.",
            )
        )
    if card.seeded:
        found.append(
            _warning(
                "The noise came from a seed",
                "Whoever knows or guesses the seed (random_state) can take the noise away "
                "again: it must stay secret, and be used for no other fit or score. Do not "
                "publish this model if the seed is a common number such as 0 or 42.",
            )
        )
    if card.epsilon > FORMAL:
        formal = f"Above {FORMAL:g} a {noun} is protected only in a formal sense."
        found.append(_warning("Epsilon is large", formal))
    if card.delta * card.facts.n >= 1.0:
        published = "all records of a random person" if noun == "person" else "a random record"
        found.append(
            _warning(
                "Delta is large",
                f"At a delta of {chance(card.delta)} publishing {published} would pass. "
                f"With {whole(card.facts.n)} {noun}s it should be far smaller.",
            )
        )
    return found


def _warning(heading: str, sentence: str) -> Fact:
    return Fact("warning", heading, heading, "", sentence)


# --- the model ------------------------------------------------------------------------------


def _model(model: Described) -> list[Fact]:
    units = counted(model.facts.n, model.unit.noun)
    if model.card.relation.needs_n:
        units = f"about {units} (declared; the true number is secret)"
    size = f"{units} with {counted(model.facts.d, 'feature')}"
    kind = model.kind.words
    what = (
        f"“{model.target}”" if model.target else "a number" if model.regression else "a class"
    )
    ways = f" (one of {quoted(model.classes, 6)})" if model.classes else ""
    source = "the columns of a table" if model.schema else "a row of numbers"
    return [
        Fact("model", "kind", "Kind", kind),
        Fact("model", "size", "Trained on", size, f"{capital(kind)}, trained on {size}."),
        Fact("model", "task", "Task", what, f"Predicts {what}{ways} from {source}."),
    ]


def _effects(model: Described) -> list[Fact]:
    """Return what the effects, or weights, of a model mean, and how far noise moves them."""
    words = model.kind.weight
    if model.facts.joint:
        words = (
            "Each coefficient is a change of the score of its class. Differences count: 0.7 "
            "more than in another class doubles the odds against that one, and what is the "
            "same in all changes nothing."
        )
    target = model.schema.target.trained_on if model.schema else None
    words = words.format(target=target or "the prediction").replace("coefficient", model.noun)
    scale = "It belongs to one unit of the feature as it was given to the training."
    if model.has_shapes:
        scale = (
            "It is what a record with the value named has more, or less, than the average of "
            "the column; between two values of a number it changes evenly. Values that the "
            "released means cannot tell from ones that no record has are left out."
        )
    elif model.schema is not None:
        scale = "It belongs to a feature of a row that is divided by its own length."
    purpose = prediction_note(model.estimator, model.noun) or ""
    if model.fit.has_intervals:
        purpose = (
            f"These are the {model.noun}s that predictions are made with; estimates have "
            "confidence intervals of their own."
        )
    return [
        Fact("effects", "unit", "Unit", "", words),
        Fact("effects", "scale", "Scale", "", scale),
        Fact("effects", "purpose", "Purpose", "", purpose),
        Fact("effects", "band", "Band", "", band_words(model.model) or ""),
        Fact("effects", "clear", "Clear", "", clear_words(model.noun)),
    ]


def _limits(model: Described) -> list[Fact]:
    """Return what the model does not do, and what its guarantee does not cover."""
    terms = "a sum of one term for each column, and of pairs where they were declared"
    form = terms if model.schema else "linear in the features"
    found = {
        "form": f"The model is {form}: what else there is to find, it does not find.",
        "groups": "The noise is the same for everybody, but it costs most where there are few "
        "records: predictions about small groups are the least reliable. Compare errors "
        "between groups before decisions about people rest on the model.",
    }
    limits = [Fact("limit", key, key, "", text) for key, text in found.items()]
    if not model.card.private:
        return limits
    who, what = ("A person with several records", " of records")
    if model.unit.is_person:
        who, what = ("Persons who belong together, such as a household,", "")
    verb = "are" if model.unit.is_person else "is"
    open_ = {
        "together": f"{who} {verb} protected as a group{what} only, with as many times the "
        "epsilon.",
        "many": "What is true of many is not hidden: what the model shows about a group, it "
        "says of each of its members, whether or not they took part.",
        "others": "Other models, scores and tables from the same records add their own "
        "epsilon.",
        "trust": "That what was declared public was public, and that the model was trained as "
        "its file says, is the word of whoever trained it; a signature tells who that is.",
    }
    return limits + [Fact("open", key, key, "", text) for key, text in open_.items()]


# --- the guarantee --------------------------------------------------------------------------

_SAME = "The number of {many} is the same in both and public."
_ADJACENT = {
    "empty": f"replacing {{one}} by {{empty}}. {_SAME}",
    "other": f"replacing {{one}} by {{other}}. {_SAME}",
    "nothing": "adding or removing {one}. The true number of {many} is not public; the "
    "declared one, {n}, is.",
}
_RECORD = {
    "one": "one record",
    "empty": "an empty one, which contributes nothing",
    "other": "any other",
    "many": "records",
}
_PERSON = {
    "one": "all records of one person",
    "empty": "empty ones, which contribute nothing",
    "other": "those of any other, who may have more or fewer",
    "many": "persons",
}
_ACCOUNTANTS = {"PLD": "privacy loss distributions", "RDP": "Rényi differential privacy"}


def _guarantee(model: Described) -> list[Fact]:
    card, unit = model.card, model.unit
    claim, noun = card.claim, unit.noun
    guess, tier = percent(best_guess(card.epsilon, card.delta)), strength(card.epsilon)
    factor = odds(card.epsilon)
    most = factor if factor.startswith("more") else f"at most {factor}"
    found = f"{model.recomputed:.5f}" if model.recomputed >= 1e-3 else f"{model.recomputed:.5g}"
    others = "persons and their records" if unit.is_person else "records"
    words, suspicion = unit.words(card.relation), unit.suspicion(card.relation)
    return [
        Fact("claim", "statement", "Claim", card.statement, card.statement),
        Fact(
            "claim",
            "lead",
            "Relation",
            f"{card.relation}: it protects {words}",
            f"This model hardly depends on any single {noun}. Whoever sees it, and even knows "
            f"all other {others}, can hardly tell {words}.",
        ),
        Fact("claim", "protected", "Unit", card.unit),
        Fact(
            "claim",
            "meaning",
            f"Best guess about a {noun}",
            guess,
            f"Suppose somebody finds it equally likely, 50 %, that {suspicion}: with the best "
            f"possible attack on this model they are right in at most {guess} of such cases. "
            f"Whatever comes out can be more likely in one case than in the other by a factor "
            f"of {most} (e to the power of epsilon), plus a probability of "
            f"{chance(card.delta)} (delta).",
        ),
        Fact(
            "claim",
            "strength",
            "Strength",
            f"{tier} protection",
            f"An epsilon of {card.epsilon:g} is called {tier} protection: strong up to 1, "
            "reasonable up to 10, weak above (Ponomareva et al., 2023). It is a bound for the "
            f"worst case, the most exposed {noun} against the best informed attacker; for "
            "most people the risk is smaller.",
        ),
        Fact(
            "claim",
            "known",
            "Public",
            "known without looking at the records",
            "The guarantee holds if nobody looked at the records to find what is listed as "
            "public. Only the people who trained the model can know whether that is so.",
        ),
        Fact(
            "claim",
            "released",
            "Releases",
            f"{len(card.releases)}",
            "All that was computed from the records and left, with the noise that was added "
            "each time.",
        ),
        Fact("claim", "epsilon", "Epsilon", f"{card.epsilon:g}"),
        Fact("claim", "delta", "Delta", chance(card.delta)),
        Fact(
            "claim",
            "checked",
            "Checked",
            model.day,
            f"Epsilon was computed again from the list of releases on {model.day}: they come "
            f"to {found}, which is not more than the {card.epsilon:g} that the model claims, "
            f"at delta {card.delta:.3g}, by {_ACCOUNTANTS[claim.accountant]} (dp-accounting "
            f"{card.versions['dp-accounting']}).",
        ),
        Fact("claim", "recomputed", "Recomputed", f"{found} ≤ {card.epsilon:g}"),
        Fact("claim", "adjacent", "Adjacent data sets", str(card.relation), _adjacent(card)),
        Fact(
            "claim",
            "precision",
            "Finite precision",
            f"{claim.precision_epsilon:.1e}",
            "Sums over records are exact whole numbers and the noise is rounded to the same "
            "lattice, so that neither the order of records nor low-order bits of a sum show "
            "through. What remains of finite precision is paid for: "
            f"{claim.precision_epsilon:.1e} of epsilon and {claim.precision_delta:.1e} of "
            "delta.",
        ),
        Fact("claim", "randomness", "Randomness", card.randomness),
        *(Fact("assumption", text, "Assumption", text) for text in card.assumptions),
        *(Fact("count", x, "Number of records", x) for x in card.record_count),
    ]


def _adjacent(card: PrivacyCard) -> str:
    words = _PERSON if card.protected.is_person else _RECORD
    text = _ADJACENT[card.relation.absent].format(n=whole(card.facts.n), **words)
    return f"Two data sets are adjacent ({card.relation}) if one comes from the other by {text}"


@dataclass(frozen=True)
class Released(Fact):
    """A release: its numbers, as they stand in tables."""

    numbers: tuple[str, ...] = ()

    @property
    def row(self) -> tuple[str, ...]:
        """What it is and its numbers, as a row of a table."""
        return self.label, self.value, *self.numbers


def _releases(card: PrivacyCard) -> list[Fact]:
    many = f"{card.protected.noun}s"
    return [_release(release, many) for release in card.plan.releases]


def _release(release: Release, many: str) -> Released:
    cost, event = release.cost, release.cost.event
    lots = f"of all {many}" if event.rate == 1.0 else f"of lots at rate {event.rate:.4g}"
    times = "once" if event.steps == 1 else f"{whole(event.steps)} times"
    return Released(
        "release",
        f"release: {release.what}",
        release.what,
        release.words,
        f"{counted(cost.size, 'number')}, {times}, {lots}; Gaussian noise of "
        f"{event.noise_multiplier:.5g} clips (clip {number(cost.clip, 4)})",
        (
            whole(event.steps),
            whole(cost.size),
            f"{event.rate:.4g}",
            f"{cost.clip:.4g}",
            f"{event.noise_multiplier:.5g}",
            number(cost.clip * event.noise_multiplier),
        ),
    )
