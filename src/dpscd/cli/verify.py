"""``dpscd verify``: recompute the claim of a model, or of a score, from its file alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json
from dpscd.cli.models import load_model

if TYPE_CHECKING:
    from dpscd import PrivacyCard, ScoreCard

__all__ = ["verify"]


def verify(
    model: Annotated[
        Path,
        typer.Argument(help="A model's file, or a score: evaluate --private-epsilon --json."),
    ],
    key: Annotated[
        Path | None,
        typer.Option(help="Public key of whoever signed the model's file: Ed25519, PEM."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute epsilon from a card, of a model or a score; exit code 1 if it claims too much.

    Everything in the file that says something about another part of it is compared: releases,
    parameters, schema, shapes, noise. A file that was changed consistently is found only with
    --key, by its signature (dpscd sign). No data are needed.

    The card of a score is about the held-out records, and says nothing of those that trained
    the model.

    Example: dpscd verify model.json --key signing.pem.pub
    """
    with plain_errors():
        score = _score(model, key)
        if score is not None:
            _verify_score(model.name, score, as_json=as_json)
            return
        card = load_model(model, key).privacy_
        found = card.verify()
        if as_json:
            print_json({**_facts(card, found), "signed": key is not None})
        elif card.private:
            typer.echo(
                f"{model.name}: claims epsilon {card.epsilon:g} at delta {card.delta:.3g}, "
                f"{card.relation}; its releases come to {found:.6g}: it holds."
            )
            if card.protected.is_person:
                typer.echo(f"{model.name}: the unit is {card.unit}.")
        else:
            typer.echo(f"{model.name}: trained with epsilon inf. It claims no privacy.")
        if key is not None and not as_json:
            typer.echo(f"{model.name}: signed with the key that {key.name} belongs to.")


def _score(path: Path, key: Path | None) -> "ScoreCard | None":
    """Return the card of a score, if the file holds one."""
    from dpscd.cards.score_file import score_card_of
    from dpscd.errors import CardError, ParameterError
    from dpscd.estimators.files import read_content

    problem = ""
    try:
        score = score_card_of(read_content(path))
    except CardError as error:
        problem = str(error)
    if problem:
        raise CardError(f"{path.name}: {problem}")
    if score is not None and key is not None:
        raise ParameterError(
            f"--key {key.name}: {path.name} is a score; only models are signed."
        )
    return score


def _verify_score(name: str, card: "ScoreCard", *, as_json: bool) -> None:
    from dpscd.scores.registry import METRIC_WORDS

    found = card.verify()
    metric = card.public["metric"]
    if as_json:
        print_json({**_facts(card, found), "signed": False, "metric": metric})
        return
    noun = card.protected.noun
    count = f"{card.public['n']:,}{' (declared)' if card.relation.needs_n else ''}"
    typer.echo(
        f"{name}: a score, {METRIC_WORDS[metric]} on {count} held-out {noun}s. For these it "
        f"claims epsilon {card.epsilon:g} at delta {card.delta:.3g}, {card.relation}; its "
        f"release comes to {found:.6g}: it holds."
    )
    typer.echo(
        f"{name}: what the {noun}s that trained the model are promised is on the model's card."
    )
    if card.protected.is_person:
        typer.echo(f"{name}: the unit is {card.unit}.")


def _facts(card: "PrivacyCard", found: float) -> dict[str, Any]:
    from dpscd import ScoreCard

    return {
        "ok": True,
        "of": "score" if isinstance(card, ScoreCard) else "model",
        "claimed": card.epsilon if card.private else "inf",
        "recomputed": found if card.private else "inf",
        "delta": card.delta,
        "relation": card.relation.value,
        "unit": card.unit,
        "private": card.private,
    }
