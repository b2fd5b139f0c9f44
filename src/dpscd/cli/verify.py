"""``dpscd verify``: recompute what a model claims, from its file alone."""

from pathlib import Path
from typing import Annotated

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json
from dpscd.cli.models import load_model

__all__ = ["verify"]


def verify(
    model: Annotated[Path, typer.Argument(help="The model's file.")],
    key: Annotated[
        Path | None,
        typer.Option(help="Public key of whoever signed the file: Ed25519, PEM."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute a model's epsilon from its card; exit code 1 if it claims too much.

    Everything in the file that says something about another part of it is compared: releases,
    parameters, schema, shapes, noise. A file that was changed consistently is found only with
    --key, by its signature (dpscd sign). No data are needed.

    Example: dpscd verify model.json --key signing.pem.pub
    """
    with plain_errors():
        card = load_model(model, key).privacy_
        found = card.verify()
        if as_json:
            print_json(
                {
                    "ok": True,
                    "claimed": card.epsilon if card.private else "inf",
                    "recomputed": found if card.private else "inf",
                    "delta": card.delta,
                    "relation": card.relation.value,
                    "unit": card.unit,
                    "private": card.private,
                    "signed": key is not None,
                }
            )
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
