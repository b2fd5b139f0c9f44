"""``dpscd verify``: recompute what a model claims, from its card alone."""

from pathlib import Path
from typing import Annotated

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json
from dpscd.cli.models import load_model

__all__ = ["verify"]


def verify(
    model: Annotated[Path, typer.Argument(help="The model's file.")],
    as_json: AsJson = False,
) -> None:
    """Recompute a model's epsilon from its card; exit code 1 if it claims too much.

    The file's checksum, its schema and its shapes are checked too. No data are needed.

    Example: dpscd verify model.json
    """
    with plain_errors():
        card = load_model(model).privacy_
        found = card.verify()
        if as_json:
            print_json(
                {
                    "ok": True,
                    "claimed": card.epsilon if card.private else "inf",
                    "recomputed": found if card.private else "inf",
                    "delta": card.delta,
                    "relation": card.relation.value,
                    "private": card.private,
                }
            )
        elif card.private:
            typer.echo(
                f"{model.name}: claims epsilon {card.epsilon:g} at delta {card.delta:.3g}, "
                f"{card.relation}; its releases come to {found:.6g}: it holds."
            )
        else:
            typer.echo(f"{model.name}: trained with epsilon inf. It claims no privacy.")
