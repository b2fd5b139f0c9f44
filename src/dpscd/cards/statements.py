"""Whether what a card states agrees: its releases with each other and with its public facts.

Only numbers that the card itself holds are compared, never what today's planning would
choose.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpscd.errors import CardError
from dpscd.persons import MOST_ROWS, SHARE, SUM
from dpscd.privacy.release import Release
from dpscd.privacy.unit import RECORD, Unit
from dpscd.releases.base import (
    TRAINING,
    TRAINING_PLACE,
    PlannedRelease,
    SumRelease,
    in_order,
)
from dpscd.releases.kinds import all_kinds

__all__ = [
    "ENGINE_FACTS",
    "FACTS",
    "PERSON_FACTS",
    "PRIVATE_FACTS",
    "agrees",
    "check_facts",
    "check_releases",
    "check_values",
    "training_place",
]

Kind = type[PlannedRelease]

_INTEGERS = ("n", "d", "rule", "max_rows")
_NUMBERS = ("lam", "row_bound", "intercept", "epochs", "lot_size", "averaging", "reaches")
_MAY_BE_ZERO = ("intercept", "averaging")
_LARGEST = 1e300
_LONGEST_NAME = 200

#: What the card of every model states, and what that of a private one states besides.
FACTS = frozenset({"n", "d", "lam", "row_bound", "intercept", "standardised", "rule"})
PRIVATE_FACTS = frozenset({"epochs", "lot_size", "averaging", "reaches"})

#: What a card states if, and only if, its unit is a person.
PERSON_FACTS = frozenset({"max_rows", "person_weight"})
_WEIGHTS = (SHARE, SUM)

#: What a card states if, and only if, the training was not computed by the usual engine.
ENGINE_FACTS = frozenset({"engine", "device"})


def agrees(one: float, other: float, *, within: float = 1e-9) -> bool:
    """Return whether two numbers are the same but for rounding."""
    return math.isclose(one, other, rel_tol=within, abs_tol=0.0)


def check_facts(public: Mapping[str, Any], unit: Unit = RECORD, *, private: bool) -> None:
    """Refuse public facts of a model that are missing, are no numbers, or mean nothing."""
    missing = (FACTS | PRIVATE_FACTS if private else FACTS) - set(public)
    if missing:
        raise CardError(f"the card must state {', '.join(sorted(missing))}.")
    _check_persons(public, unit)
    _check_engine(public)
    check_values(public)


def check_values(public: Mapping[str, Any]) -> None:
    """Refuse stated facts that are no numbers, or numbers that mean nothing."""
    for name in public.keys() & set(_INTEGERS):
        count = public[name]
        if type(count) is not int or not 0 < count <= 2**62:
            raise CardError(f"{name} of the card must be a positive integer.")
    for name in public.keys() & set(_NUMBERS):
        value = public[name]
        low = 0.0 if name in _MAY_BE_ZERO else 1.0 / _LARGEST
        if type(value) not in (int, float) or not low <= value <= _LARGEST:
            raise CardError(f"{name} of the card must be a positive, finite number.")
    if type(public.get("standardised", False)) is not bool:
        raise CardError("standardised of the card must be true or false.")
    for name in ("class_weight", "released_bounds"):
        if not isinstance(public.get(name, {}), dict):
            raise CardError(f"{name} of the card must be a dict.")
    classes = public.get("classes", ["no", "yes"])
    if not isinstance(classes, list) or len(classes) < 2:
        raise CardError("classes of the card must be a list of at least two.")
    bounds = public.get("y_bounds", [0.0, 1.0])
    if not (
        isinstance(bounds, list)
        and [type(x) for x in bounds] == [float, float]
        and -_LARGEST < bounds[0] < bounds[1] < _LARGEST
    ):
        raise CardError("y_bounds of the card must be two finite numbers, the lower one first.")


def _check_persons(public: Mapping[str, Any], unit: Unit) -> None:
    """Refuse facts about persons where the unit is a record, and their absence elsewhere."""
    if set(public) & PERSON_FACTS != (PERSON_FACTS if unit.is_person else frozenset()):
        names = " and ".join(sorted(PERSON_FACTS))
        raise CardError(f"the card must state {names} if, and only if, its unit is a person.")
    if public.get("person_weight", "share") not in _WEIGHTS:
        raise CardError("person_weight of the card must be 'share' or 'sum'.")
    rows = public.get("max_rows", 1)
    if type(rows) is int and rows > MOST_ROWS:  # what is no whole number is refused as such
        raise CardError(f"max_rows of the card must be at most {MOST_ROWS}.")


def _check_engine(public: Mapping[str, Any]) -> None:
    """Refuse an engine that there is not, or one without the name of its device."""
    stated = set(public) & ENGINE_FACTS
    if not stated:
        return
    device = public.get("device")
    named = isinstance(device, str) and 0 < len(device) <= _LONGEST_NAME
    if public.get("engine") != "jax" or not named:
        raise CardError("the card must state the engine 'jax' with its device, or neither.")


def check_releases(releases: Sequence[Release], public: Mapping[str, Any]) -> None:
    """Refuse a list of releases that no fit makes, or not one with these public facts.

    Both are of one card that claims privacy; the list is not empty.
    """
    kinds = all_kinds()
    if any(x.what not in {kind.what for kind in kinds} for x in releases):
        raise CardError("the card has a release that this version does not know.")
    training = releases[training_place(releases)]
    if any(x.n != public["n"] for x in releases):
        raise CardError("the card states another n than its releases.")
    listed = _placed(releases, kinds)
    _check_sizes(listed, training)
    _check_labels(releases, public)
    for kind in kinds:
        kind.check_listed(listed.get(kind), public)
    _check_training(training, public)


def training_place(releases: Sequence[Release]) -> int:
    """Return where among releases the training itself stands: the last shared vector."""
    places = [place for place, x in enumerate(releases) if x.what == TRAINING]
    if not places:
        raise CardError("the card lists no training.")
    return places[-1]


def _placed(releases: Sequence[Release], kinds: Sequence[Kind]) -> dict[Kind, Release]:
    """Return which kind each release is: each once, in their order and no other."""
    place = training_place(releases)
    training = next(kind for kind in kinds if kind.place == TRAINING_PLACE)
    before = iter([kind for kind in kinds if kind.place < TRAINING_PLACE])
    behind = iter([kind for kind in kinds if kind.place > TRAINING_PLACE])
    first = [next((k for k in before if k.what == x.what), None) for x in releases[:place]]
    after = [next((k for k in behind if k.what == x.what), None) for x in releases[place + 1 :]]
    known = [kind for kind in first if kind], [kind for kind in after if kind]
    if None in (*first, *after) or not in_order(*known):
        raise CardError("the card lists its releases twice or in another order.")
    return dict(zip([*known[0], training, *known[1]], releases, strict=True))


def _check_sizes(listed: Mapping[Kind, Release], training: Release) -> None:
    """Refuse releases besides training that are not one of all records, cut to length 1."""
    for kind, x in listed.items():
        if issubclass(kind, SumRelease):
            good = (x.clip, x.event.rate, x.event.steps) == (1.0, 1.0, kind.times)
        else:
            good = (x.event.rate, x.size) == (training.event.rate, training.size)
        if not good:
            raise CardError(f"the card states a release {x.what!r} that no fit makes.")


def _check_labels(releases: Sequence[Release], public: Mapping[str, Any]) -> None:
    """Refuse label releases of unequal noise, or a mean without use."""
    labels = [x for x in releases if x.what.startswith("label")]
    if len({x.event.noise_multiplier for x in labels}) > 1:
        raise CardError("the card states label releases of unequal noise.")
    centred = any(x.what == "label mean" for x in labels)
    if labels and centred != (public["intercept"] > 0.0):
        raise CardError("the card's label mean does not fit its intercept.")
    scaled = any(x.what == "label spread" for x in labels)
    if centred and not scaled and ("exposure_bounds" not in public or public["standardised"]):
        raise CardError("the card lists a label mean without a label spread.")


def _check_training(training: Release, public: Mapping[str, Any]) -> None:
    """Refuse epochs or a lot size that are not those of the training's release."""
    rate, steps = training.event.rate, training.event.steps
    for name, found in (("epochs", rate * steps), ("lot_size", rate * training.n)):
        if not agrees(public[name], found):
            raise CardError(f"the card's {name} is not that of its training.")
    if public["averaging"] > 1.0:
        raise CardError("the card's averaging must lie in [0, 1].")
