"""The privacy card of a model: what it claims, and all that is needed to check it."""

import json
import math
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from dpscd.cards.searched import check_search, words_of
from dpscd.cards.statements import agrees, check_facts, check_releases, training_place
from dpscd.errors import CardError, ParameterError
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.privacy.release import Claim, Release, claim
from dpscd.privacy.search import Search, search_claim
from dpscd.privacy.strict_json import read_json
from dpscd.privacy.unit import RECORD, Unit, about_record_count

__all__ = ["PrivacyCard"]

_NUMBER = 1  # of the format of cards

# What a card may state; wider than any plan, narrow enough that it can be recomputed.
_LARGEST = 1e4  # epsilon
_LEAST_NOISE = 0.05
_FINEST, _COARSEST = 1e-10, 1.0  # interval

# What is recomputed may differ from what is stated by so much: the prices of finite precision
# are short formulas, an epsilon comes from a grid and from a library of its own.
_SAME_PRICE, _SAME_EPSILON = 1e-6, 1e-4

_ASSUMPTIONS = (
    "the data are finite and well typed: that an error occurs depends on the data",
    "everything listed as public was known without looking at the records",
    "only the model leaves: neither the time taken nor the memory of the process is seen",
)

_SEEDED = "from a seed: privacy holds only while the seed is secret and used for nothing else"
_SECURE = "AES-256 keyed by the operating system"
_DEVICE = "; in training ChaCha20, keyed from there"


@dataclass(frozen=True)
class PrivacyCard:
    """What a fitted model guarantees, re-checkable offline.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee: the model is (epsilon, delta)-differentially private.
    relation : Relation
        Which data sets count as neighbours.
    releases : tuple of Release
        Everything that was computed from the records and made public.
    accountant : str
        The accountant whose bound is claimed.
    interval : float
        Its discretisation of the privacy loss.
    precision_epsilon, precision_delta : float
        The parts of epsilon and delta that pay for floats instead of real numbers.
    seeded : bool
        Whether the randomness came from a seed: privacy then rests on its secrecy.
    public : dict
        What was taken as public: n, d, classes, bounds and the plan.
    versions : dict
        Versions of this library and of the accounting library.
    unit : str
        What is protected: a record, or a person with all their records. The text of a
        ``Unit``.
    assumptions : tuple of str
        What the guarantee assumes.
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

    epsilon: float
    delta: float
    relation: Relation
    releases: tuple[Release, ...]
    accountant: str
    interval: float
    precision_epsilon: float
    precision_delta: float
    seeded: bool
    public: dict[str, Any]
    versions: dict[str, str]
    unit: str = RECORD.text
    assumptions: tuple[str, ...] = field(default=_ASSUMPTIONS)
    search: Search | None = None

    _assumed: ClassVar[tuple[str, ...]] = _ASSUMPTIONS
    _what: ClassVar[str] = "the model"

    def __post_init__(self) -> None:
        numbers = ("epsilon", "delta", "interval", "precision_epsilon", "precision_delta")
        texts = ("accountant", "unit")
        for names, kind in ((numbers, float), (texts, str), (("seeded",), bool)):
            for name in names:
                if type(getattr(self, name)) is not kind:
                    raise CardError(f"{name} of the card must be a {kind.__name__}.")
        for name in ("public", "versions"):
            if not isinstance(getattr(self, name), dict):
                raise CardError(f"{name} of the card must be a dict.")
        try:
            Unit.parse(self.unit)
        except ParameterError:
            raise CardError("the card states another unit than this version knows.") from None
        if not all(isinstance(x, str) for x in (*self.assumptions, *self.versions.values())):
            raise CardError("assumptions and versions of the card must be texts.")
        if not (self.epsilon > 0.0 and 0.0 < self.delta < 1.0):
            raise CardError("a card needs epsilon > 0 and delta strictly between 0 and 1.")
        if self.search is not None and (
            not self.private or self.interval != self.search.far_interval
        ):
            raise CardError("the card's search does not fit its claim.")
        if self.private and not (
            self.releases
            and self.epsilon <= _LARGEST
            and all(x.event.noise_multiplier >= _LEAST_NOISE for x in self.releases)
            and max(_FINEST, 1e-6 * self.epsilon) <= self.interval <= _COARSEST
        ):
            raise CardError(
                f"a private card needs releases with noise, epsilon up to {_LARGEST:g} and an "
                f"interval between {_FINEST:g} and {_COARSEST:g}."
            )

    @property
    def private(self) -> bool:
        """Whether the card claims any privacy: epsilon is finite."""
        return math.isfinite(self.epsilon)

    @property
    def protected(self) -> Unit:
        """What is protected, as a unit."""
        return Unit.parse(self.unit)

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
    def fit_target(self) -> PrivacyTarget:
        """What the training itself was planned for; less than the claim in a search."""
        found = self.search
        if found is None:
            return PrivacyTarget(self.epsilon, self.delta, self.relation)
        return PrivacyTarget(found.far_epsilon, found.far_delta, self.relation)

    @property
    def training(self) -> Release:
        """The release of the training itself; a pilot's comes before it."""
        if not self.releases:
            raise CardError("a model trained with epsilon=inf has no private release.")
        return self.releases[training_place(self.releases)]

    @property
    def rate(self) -> float:
        """Chance of each record, or person, to be in a lot."""
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

        Raises
        ------
        CardError
            If the recomputed epsilon exceeds the one that the card claims, or if two
            statements of the card contradict each other.

        Notes
        -----
        Everything is computed from what the card holds: docs/reference/card.md lists what is
        compared. Whoever changes all of it consistently writes a card of their own; only a
        signature tells that.
        """
        if self.assumptions != self._assumed:
            raise CardError("the card states another unit or other assumptions.")
        self._check_facts()
        if not self.private:
            self._check_nothing_is_claimed()
            return math.inf
        self._check_releases()
        # Last, because it takes longest: a card may come from anybody.
        found = self._found()
        if not found.epsilon <= self.epsilon:
            raise CardError(
                f"the card claims epsilon={self.epsilon!r} but its releases amount to "
                f"{found.epsilon!r} at delta={self.delta!r}."
            )
        self._check_claim(found)
        return found.epsilon

    def _found(self) -> Claim:
        """Return what the releases come to, those of the whole search if there was one."""
        if self.search is None:
            return claim(self.releases, self.epsilon, self.delta, self.relation, self.interval)
        return search_claim(self.search, self.delta, self.relation)

    def _check_facts(self) -> None:
        """Refuse public facts that mean nothing."""
        check_facts(self.public, self.protected, private=self.private)

    def _check_releases(self) -> None:
        """Refuse releases that no fit with these public facts makes."""
        check_releases(self.releases, self.public)
        if self.search is not None:
            check_search(self.search, self.releases)

    def _check_nothing_is_claimed(self) -> None:
        """Refuse a card of a training without privacy that states parts of a guarantee."""
        stated = (self.interval, self.precision_epsilon, self.precision_delta)
        if self.releases or self.accountant != "none" or any(stated):
            raise CardError("the card has epsilon=inf but states parts of a guarantee.")
        if self.public["standardised"]:
            raise CardError("the card states standardised features but lists no moments.")

    def _check_claim(self, found: Claim) -> None:
        """Refuse a card whose parts are not what its releases come to.

        A release that was dropped, or noise that was exaggerated, makes epsilon smaller: this
        tells it where a bound does not.
        """
        if self.accountant != found.accountant:
            raise CardError("the card states another accountant than its releases have.")
        prices = (
            (self.precision_epsilon, found.precision_epsilon),
            (self.precision_delta, found.precision_delta),
        )
        if not all(agrees(*pair, within=_SAME_PRICE) for pair in prices):
            raise CardError("the card's price of finite precision is not that of its releases.")
        reaches = self.public["reaches"]
        if not agrees(reaches, found.epsilon, within=_SAME_EPSILON):
            raise CardError(
                f"the card states that its releases reach epsilon={reaches!r}; they come to "
                f"{found.epsilon!r}."
            )

    def to_json(self) -> str:
        """Return the card as JSON text; an infinite epsilon is written "inf"."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        values["epsilon"] = self.epsilon if self.private else "inf"
        values["relation"] = self.relation.value
        values["releases"] = [release.to_dict() for release in self.releases]
        values["search"] = None if self.search is None else self.search.to_dict()
        return json.dumps({"card": _NUMBER, **values}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "PrivacyCard":
        """Return the card that :meth:`to_json` wrote, or raise CardError."""
        try:
            values = read_json(text)
            number = values.pop("card")
            if type(number) is int and number != _NUMBER:
                raise CardError(
                    f"the card has number {number}, but this version of dpscd reads number "
                    f"{_NUMBER}: use the version that wrote it."
                )
            if number != _NUMBER or set(values) != {f.name for f in fields(cls)}:
                raise CardError("the card has unknown or missing fields.")
            if values["search"] is not None:
                values["search"] = Search.from_dict(values["search"])
            values["epsilon"] = float(values["epsilon"])
            values["relation"] = Relation(values["relation"])
            values["releases"] = tuple(Release.from_dict(x) for x in values["releases"])
            values["assumptions"] = tuple(values["assumptions"])
            return cls(**values)
        except CardError as error:
            problem = error
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ):
            problem = CardError("this is not the JSON of a privacy card.")
        raise problem

    def _read_off(self) -> list[str]:
        """Return what was taken as public although it was read off the records."""
        names = self.public.get("read_from_data") or []
        found = [f"what the schema says of {name!r}" for name in names]
        if self.public.get("classes_from") == "the labels in y":
            found.append("the set of classes")
        return found

    def _record_count(self) -> list[str]:
        """Return what is said of the number of a person's records."""
        if not self.protected.is_person:
            return []
        text = about_record_count(self.relation, self.epsilon, self.delta)
        return [f"Number of records: {text}."]

    def __str__(self) -> str:
        public = ", ".join(
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.public.items()
        )
        if not self.private:
            return f"{self.statement}\nTaken as public: {public}."
        return "\n".join(
            [
                f"{self._claimed}:",
                f"  {self._what} hardly depends on {self.protected.words(self.relation)}.",
                f"Unit: {self.unit}.",
                *self._record_count(),
                f"Taken as public: {public}.",
                *(
                    f"NOT COVERED: {text} was read off the records."
                    for text in self._read_off()
                ),
                *self._released(),
                *([] if self.search is None else [words_of(self.search, self.protected)]),
                f"Accountant: {self.accountant}, interval {self.interval:g}, "
                f"dp-accounting {self.versions.get('dp-accounting')}; finite precision "
                f"{self.precision_epsilon:.1e} of epsilon.",
                f"Randomness: {_SEEDED if self.seeded else _SECURE}{self._on_device}.",
                *(f"Assumes: {line}." for line in self.assumptions),
            ]
        )

    @property
    def _on_device(self) -> str:
        return _DEVICE if "engine" in self.public else ""

    def _released(self) -> list[str]:
        """Return what was released, in words."""
        place = training_place(self.releases)
        return [
            *(f"Released before: {_short(x)}." for x in self.releases[:place]),
            f"Mechanism: {self.steps} lots at rate {self.rate:.6g}, clip {self.clip:.6g} "
            f"(travel {self.travel:.4g}), noise multiplier {self.noise_multiplier:.6g}.",
            *(f"Released after: {_short(x)}." for x in self.releases[place + 1 :]),
        ]


def _short(release: Release) -> str:
    event = release.event
    return (
        f"{release.what}, noise multiplier {event.noise_multiplier:.6g}, {event.steps} at "
        f"rate {event.rate:.6g}"
    )
