"""The privacy card of a fit: what it claims, and all that is needed to check it."""

import json
import math
from dataclasses import dataclass
from typing import Any

from dpscd.errors import CardError
from dpscd.model.plain import plan_from_plain, plan_to_plain, read_json, refused, typed
from dpscd.planning.facts import Facts
from dpscd.planning.plan import Plan
from dpscd.privacy.cost import Claim, Cost
from dpscd.privacy.relation import PrivacyTarget, Relation, Unit, about_record_count
from dpscd.privacy.search import Search, search_claim
from dpscd.releases.score import SCORE

_NUMBER = 2  # of the format of cards

# What a card may state: wider than what people ask for, narrow enough to be recomputed.
_LARGEST = 1e4  # epsilon
_LEAST_NOISE = 0.05
_MOST_FITS = 1000

_SEEDED = "from a seed: privacy holds only while the seed is secret and used for nothing else"
_SECURE = "AES-256 keyed by the operating system"
_DEVICE = "; in training ChaCha20, keyed from there"


@dataclass(frozen=True)
class PrivacyCard:
    """What a fit guarantees, re-checkable offline: its plan, and how it was drawn and chosen.

    Attributes
    ----------
    plan : Plan
        The target, the public facts and the releases.
    seeded : bool
        Whether the randomness came from a seed: privacy then rests on its secrecy.
    versions : dict
        Versions of this library and of the accounting library.
    search : Search or None
        How the model was chosen, if by :class:`~dpscd.DPModelSearch`: then epsilon and delta
        are those of the whole search, and `releases` those of the model that it returned.

    Examples
    --------
    >>> from dpscd import DPRidge, PrivacyCard
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1)).fit([[0.1], [0.2]] * 50, [0, 1] * 50)
    >>> card = PrivacyCard.from_json(model.privacy_.to_json())
    >>> card.verify() <= card.epsilon
    True
    """

    plan: Plan
    seeded: bool
    versions: dict[str, str]
    search: Search | None = None

    @property
    def facts(self) -> Facts:
        """What was taken as public."""
        return self.plan.facts

    @property
    def target(self) -> PrivacyTarget:
        """The guarantee: that of the whole search, if there was one."""
        return self.plan.target if self.search is None else self.search.target

    @property
    def epsilon(self) -> float:
        """Epsilon of the guarantee."""
        return self.target.epsilon

    @property
    def delta(self) -> float:
        """Delta of the guarantee."""
        return self.target.delta

    @property
    def relation(self) -> Relation:
        """Which data sets count as neighbours."""
        return self.target.relation

    @property
    def private(self) -> bool:
        """Whether the card claims any privacy: epsilon is finite."""
        return self.target.private

    @property
    def releases(self) -> tuple[Cost, ...]:
        """Everything that was computed from the records and made public, with its cost."""
        return self.plan.costs

    @property
    def protected(self) -> Unit:
        """What is protected: a record, or a person with all their records."""
        return self.facts.unit

    @property
    def unit(self) -> str:
        """The text of what is protected."""
        return self.protected.text

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee assumes."""
        return self.facts.assumptions

    @property
    def claim(self) -> Claim:
        """What the releases come to, those of the whole search if there was one."""
        if not self.private:
            return Claim(math.inf, "none", 0.0, 0.0, 0.0)
        if self.search is None:
            return self.plan.claim()
        return search_claim(self.search, self.delta, self.relation)

    @property
    def statement(self) -> str:
        """The guarantee and its unit in one line, for what leaves without its card."""
        if not self.private:
            return "Not private: trained with epsilon=inf."
        return f"{self._claimed}. Unit: {self.unit}."

    @property
    def _claimed(self) -> str:
        return (
            f"({self.epsilon:g}, {self.delta:.3g})-differentially private, "
            f"relation {self.relation}"
        )

    @property
    def training(self) -> Cost:
        """The release of the training itself; a pilot's comes before it."""
        found: Cost = self.plan.main.cost
        return found

    @property
    def rate(self) -> float:
        """Probability of each record, or person, to be in a lot."""
        return self.training.event.rate

    @property
    def steps(self) -> int:
        """Number of lots."""
        return self.training.event.steps

    @property
    def clip(self) -> float:
        """Longest contribution of a record, or a person, to a lot."""
        return self.training.clip

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise over the clip, in every relation."""
        return self.training.event.noise_multiplier

    @property
    def travel(self) -> float:
        """How far a dual can move in expectation: clip times epochs."""
        return self.clip * self.rate * self.steps

    def verify(self) -> float:
        """Recompute epsilon from the card alone and return it.

        A card whose plan and claim were both changed is consistent; only a signature
        shows that.

        Raises
        ------
        CardError
            If the recomputed epsilon exceeds the one that the card claims.
        """
        if not self.private:
            if self.plan.releases or self.search is not None:
                raise CardError("the card has epsilon=inf but states parts of a guarantee.")
            return math.inf
        costs = self.releases if self.search is None else sum(self.search.lists(), ())
        if (
            not self.releases
            or self.epsilon > _LARGEST
            or any(x.event.noise_multiplier < _LEAST_NOISE for x in costs)
        ):
            raise CardError(
                f"a private card needs releases with noise, and epsilon up to {_LARGEST:g}."
            )
        if self.facts.searched != (self.search is not None):
            raise CardError("the card of a search must state the search.")
        if self.search is not None:
            self._check_search(self.search)
        found = self.claim.epsilon
        if not found <= self.epsilon:
            raise CardError(
                f"the card claims epsilon={self.epsilon!r} but its releases amount to "
                f"{found!r} at delta={self.delta!r}."
            )
        return found

    def _check_search(self, search: Search) -> None:
        """Refuse a search that is not one for this model."""
        far = PrivacyTarget(search.far_epsilon, search.far_delta, self.relation)
        if self.releases not in search.fits or self.plan.target != far:
            raise CardError("the card's releases are not those of one of its candidates.")
        if len(search.fits) > _MOST_FITS:
            raise CardError("the card states more candidates than a search may have.")
        if {x.n for fit in search.fits for x in fit} != {self.facts.n}:
            raise CardError("the card's candidates were not trained on the same records.")
        score = search.score
        released = score.what, score.clip, score.event.rate, score.event.steps
        if released != (SCORE, 1.0, 1.0, 1):
            raise CardError("the card states a score that is never released so.")

    def to_json(self) -> str:
        """Return the card as JSON text; an infinite epsilon is written "inf"."""
        values = {
            "card": _NUMBER,
            "plan": plan_to_plain(self.plan),
            "seeded": self.seeded,
            "versions": self.versions,
            "search": None if self.search is None else self.search.to_dict(),
        }
        return json.dumps(values, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "PrivacyCard":
        """Return the card that :meth:`to_json` wrote, or raise CardError."""
        with refused(CardError, "this is not the JSON of a privacy card."):
            values = read_json(text)
            number = values.pop("card")
            if type(number) is not int or number != _NUMBER:
                raise CardError(
                    f"the card has number {number!r}, but this version of dpscd reads number "
                    f"{_NUMBER}: use the version that wrote it."
                )
            return cls.from_plain(values)

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> "PrivacyCard":
        """Return the card with these plain JSON values, or raise an error of their kind."""
        if set(values) != {"plan", "seeded", "versions", "search"}:
            raise CardError("the card has unknown or missing fields.")
        versions, seeded, search = (values[x] for x in ("versions", "seeded", "search"))
        texts = isinstance(versions, dict) and all(type(x) is str for x in versions.values())
        if not texts or type(seeded) is not bool:
            raise CardError("the card's versions must be texts, and seeded must be a bool.")
        found = None if search is None else typed(Search, search)
        return cls(plan_from_plain(values["plan"]), seeded, versions, found)

    def shown(self) -> dict[str, Any]:
        """Return what was taken as public and what was planned, to be read by people."""
        found = self.facts.shown()
        if self.private:
            found |= self.plan.main.shown() | {"reaches": self.claim.epsilon}
        return found

    def _read_off(self) -> list[str]:
        """Return what was taken as public although it was read off the records."""
        found = [f"what the schema says of {name!r}" for name in self.facts.read_from_data]
        return found + ([] if self.facts.declared else ["the set of classes"])

    @property
    def record_count(self) -> list[str]:
        """What is protected of a person's number of records, if persons are."""
        if not self.protected.is_person:
            return []
        return [about_record_count(self.relation, self.epsilon, self.delta)]

    @property
    def randomness(self) -> str:
        """Where the noise came from."""
        return f"{_SEEDED if self.seeded else _SECURE}{_DEVICE if self.facts.device else ''}"

    @property
    def chosen(self) -> str | None:
        """How the model was chosen, if by a private search."""
        if self.search is None:
            return None
        search = self.search
        return (
            f"by a private search: the best of a secret number of runs, "
            f"{1.0 / search.stop:.4g} on average, each training one of the candidates with "
            f"({search.far_epsilon:.4g}, {search.far_delta:.3g}) and scoring it, with noise, "
            f"on {search.score.n:,} {self.protected.noun}s kept apart. The guarantee is that "
            "of the whole search"
        )

    def __repr__(self) -> str:
        if not self.private:
            return "PrivacyCard(not private)"
        of = f"epsilon={self.epsilon:g}, delta={self.delta:.3g}, relation={self.relation!s}"
        return f"PrivacyCard({of}, unit={self.protected.noun}, {len(self.releases)} releases)"

    def _repr_html_(self) -> str:
        from dpscd.rendering import html_table

        facts = {"guarantee": self.statement}
        if self.private:
            facts["epsilon, recomputed"] = f"{self.claim.epsilon:.4g}"
        if self.search is not None:
            facts["chosen by"] = "a private search, whose runs the guarantee covers"
        headings = ["release", "numbers", "steps", "rate", "noise multiplier"]
        events = [(one.what, one.size, one.event) for one in self.releases]
        rows = [(what, size, x.steps, x.rate, x.noise_multiplier) for what, size, x in events]
        return html_table("Privacy card", facts, headings, rows)

    def __str__(self) -> str:
        public = ", ".join(
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.shown().items()
        )
        if not self.private:
            return f"{self.statement}\nTaken as public: {public}."
        claim = self.claim
        return "\n".join(
            [
                f"{self._claimed}:",
                f"  {self.facts.thing} hardly depends on "
                f"{self.protected.words(self.relation)}.",
                f"Unit: {self.unit}.",
                *(f"Number of records: {text}." for text in self.record_count),
                f"Taken as public: {public}.",
                *(
                    f"NOT COVERED: {text} was read off the records."
                    for text in self._read_off()
                ),
                *self._released(),
                *([] if self.chosen is None else [f"Chosen {self.chosen}."]),
                f"Accountant: {claim.accountant}, interval {claim.interval:g}, "
                f"dp-accounting {self.versions.get('dp-accounting')}; finite precision "
                f"{claim.precision_epsilon:.1e} of epsilon.",
                f"Randomness: {self.randomness}.",
                *(f"Assumes: {line}." for line in self.assumptions),
            ]
        )

    def _released(self) -> list[str]:
        """Return what was released, in words."""
        place = self.plan.releases.index(self.plan.main)
        costs = self.releases
        return [
            *(f"Released before: {_short(x)}." for x in costs[:place]),
            f"Mechanism: {self.plan.main.mechanism(self.protected)}",
            *(f"Released after: {_short(x)}." for x in costs[place + 1 :]),
        ]


def _short(release: Cost) -> str:
    event = release.event
    return (
        f"{release.what}, noise multiplier {event.noise_multiplier:.6g}, {event.steps} at "
        f"rate {event.rate:.6g}"
    )
