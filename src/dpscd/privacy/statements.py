"""Whether what a card states agrees: its releases with each other and with its public facts.

Only numbers that the card itself holds are compared, never what today's planning would
choose. A fact that a card does not state is not asked for here.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpscd.errors import CardError
from dpscd.privacy.release import BOUND_CELLS, Release

__all__ = ["agrees", "check_facts", "check_releases"]

# One letter for each thing that this version can release; a page of docs/proofs proves it.
_LETTERS = {
    "bounds": "b", "moments": "m", "label mean": "a", "label spread": "s", "shared vector": "v",
}  # fmt: skip

# In this order and no other: a pilot has a shared vector and a label spread of its own.
_ORDER = re.compile("b?m?(a?s(vs)?)?v")

_INTEGERS = ("n", "d", "rule")
_NUMBERS = ("lam", "row_bound", "intercept", "epochs", "lot_size", "averaging", "reaches")
_MAY_BE_ZERO = ("intercept", "averaging")
_LARGEST = 1e300


def agrees(one: float, other: float, *, within: float = 1e-9) -> bool:
    """Return whether two numbers are the same but for rounding."""
    return math.isclose(one, other, rel_tol=within, abs_tol=0.0)


def check_facts(public: Mapping[str, Any]) -> None:
    """Refuse public facts that are no numbers, or numbers that mean nothing.

    Parameters
    ----------
    public : dict
        Of a card.
    """
    for name in _INTEGERS:
        count = public.get(name, 1)
        if type(count) is not int or not 0 < count <= 2**62:
            raise CardError(f"{name} of the card must be a positive integer.")
    for name in _NUMBERS:
        value = public.get(name, 1.0)
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


def check_releases(releases: Sequence[Release], public: Mapping[str, Any]) -> None:
    """Refuse a list of releases that no fit makes, or not one with these public facts.

    Parameters
    ----------
    releases : sequence of Release
        Of a card that claims privacy; not empty.
    public : dict
        Of the same card.
    """
    if any(x.what not in _LETTERS for x in releases):
        raise CardError("the card has a release that this version does not know.")
    if releases[-1].what != "shared vector":
        raise CardError("the last release of the card is not that of the training.")
    listed = {x.what for x in releases}
    if public.get("standardised") is True and "moments" not in listed:
        raise CardError("the card states standardised features but lists no moments.")
    if public.get("standardised") is False and "moments" in listed:
        raise CardError("the card lists moments but states no standardised features.")
    if public.get("released_bounds") and "bounds" not in listed:
        raise CardError("the card states released bounds but lists no such release.")
    if any(public.get("n", x.n) != x.n for x in releases) or len({x.n for x in releases}) > 1:
        raise CardError("the card states another n than its releases.")
    if not _ORDER.fullmatch("".join(_LETTERS[x.what] for x in releases)):
        raise CardError("the card lists its releases twice or in another order.")
    _check_first(releases)
    _check_labels(releases, public)
    _check_sizes(releases, public)
    _check_training(releases[-1], public)


def _check_first(releases: Sequence[Release]) -> None:
    """Refuse releases before training that are not one of all records, cut to length 1."""
    training = releases[-1]
    for x in releases[:-1]:
        if x.what == "shared vector":
            good = (x.event.rate, x.size) == (training.event.rate, training.size)
        else:
            times = 2 if x.what == "bounds" else 1
            good = (x.clip, x.event.rate, x.event.steps) == (1.0, 1.0, times)
        if not good:
            raise CardError(f"the card states a release {x.what!r} that no fit makes.")


def _check_labels(releases: Sequence[Release], public: Mapping[str, Any]) -> None:
    """Refuse label releases of a classifier, of unequal noise, or a mean without use."""
    labels = [x for x in releases if x.what.startswith("label")]
    if not labels:
        return
    if "classes" in public:
        raise CardError("the card states classes but lists a release of numeric labels.")
    if len({x.event.noise_multiplier for x in labels}) > 1:
        raise CardError("the card states label releases of unequal noise.")
    centred = any(x.what == "label mean" for x in labels)
    if "intercept" in public and centred != (public["intercept"] > 0.0):
        raise CardError("the card's label mean does not fit its intercept.")


def _check_sizes(releases: Sequence[Release], public: Mapping[str, Any]) -> None:
    """Refuse a release of more or fewer numbers than the public facts make it."""
    sizes = {"label mean": 1, "label spread": 1}
    if "released_bounds" in public:
        sizes["bounds"] = BOUND_CELLS * len(public["released_bounds"])
    if "d" in public:
        sizes["moments"] = 2 * public["d"]
        if "intercept" in public and ("classes" in public or "y_bounds" in public):
            classes = len(public.get("classes", ()))
            outputs = classes if classes > 2 else 1
            sizes["shared vector"] = (public["d"] + (public["intercept"] > 0.0)) * outputs
    for x in releases:
        if x.size != sizes.get(x.what, x.size):
            raise CardError(f"the size of the card's release {x.what!r} fits no such model.")


def _check_training(training: Release, public: Mapping[str, Any]) -> None:
    """Refuse epochs or a lot size that are not those of the training's release."""
    rate, steps = training.event.rate, training.event.steps
    for name, found in (("epochs", rate * steps), ("lot_size", rate * training.n)):
        if not agrees(public.get(name, found), found):
            raise CardError(f"the card's {name} is not that of its last release.")
    if public.get("averaging", 0.0) > 1.0:
        raise CardError("the card's averaging must lie in [0, 1].")
