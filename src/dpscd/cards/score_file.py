"""Files with the card of a score: what ``dpscd evaluate --json`` prints, or a card alone."""

import json
from typing import Any, cast

from dpscd.cards.score_card import ScoreCard
from dpscd.errors import CardError
from dpscd.privacy.score import SCORE
from dpscd.privacy.strict_json import read_json

__all__ = ["score_card_of"]


def score_card_of(content: bytes) -> ScoreCard | None:
    """Return the card of the score that a file is about; None if it may be a model's file.

    `content` is untrusted. CardError is raised if the file says of its score what the card does
    not, has exact numbers in the place of a score, or holds the card of a model without the
    model. The card is not verified: :meth:`ScoreCard.verify` does it.
    """
    try:
        values = read_json(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    if type(values.get("card")) is int:
        return _alone(values)
    return _evaluation(values) if "private" in values else None


def _alone(values: dict[str, Any]) -> ScoreCard:
    releases = values.get("releases")
    if isinstance(releases, list) and releases:
        first = releases[0]
        if isinstance(first, dict) and first.get("what") == SCORE:
            return _card(values)
    raise CardError(
        "this is the card of a model without the model; give the file that model.save or "
        "dpscd fit wrote."
    )


def _evaluation(values: dict[str, Any]) -> ScoreCard:
    """Return the card inside, if what stands around it is what it says."""
    if values["private"] is not True:
        raise CardError(
            "these are exact numbers, without noise: there is no claim to recompute. "
            "dpscd evaluate --private-epsilon --json writes a score with a card."
        )
    card = _card(values.get("card"))
    stated = {
        "epsilon": card.epsilon,
        "delta": card.delta,
        "relation": card.relation.value,
        "unit": card.unit,
        f"{card.protected.noun}s": card.public.get("n"),
        "metric": card.public.get("metric"),
        "classes": card.public.get("classes"),
        "bound": card.public.get("bound"),
    }
    for name, value in stated.items():
        if values.get(name) != value:
            raise CardError(f"the file states another {name} than its card.")
    return card


def _card(values: Any) -> ScoreCard:
    return cast("ScoreCard", ScoreCard.from_json(json.dumps(values)))
