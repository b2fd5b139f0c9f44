"""``dpscd sign``: a signature that detects every later change of a model's file."""

from pathlib import Path
from typing import Annotated

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json

__all__ = ["sign"]


def sign(
    model: Annotated[Path, typer.Argument(help="The model's file.")],
    key: Annotated[Path, typer.Option(help="Your private key: Ed25519, PEM.")],
    new_key: Annotated[
        bool,
        typer.Option("--new-key", help="Make the key first, and the public one: KEY.pub."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sign a model's file; the signature is written beside it, as MODEL.sig.

    The file is checked first. Keep the private key to yourself and give the public one to
    whoever uses your models: dpscd verify --key.

    Example: dpscd sign model.json --key signing.pem --new-key
    """
    with plain_errors():
        from dpscd import load, sign_model

        public = None
        if new_key:
            from dpscd.privacy.signing import new_key as make_key

            load(model)  # no key for what cannot be signed
            public = make_key(key)
        signature = sign_model(model, key)
        if as_json:
            print_json(
                {
                    "signature": str(signature),
                    "public_key": None if public is None else str(public),
                }
            )
            return
        if public is not None:
            typer.echo(f"Wrote {key} (keep it secret) and {public} (give it to others).")
        typer.echo(f"Wrote {signature}")
