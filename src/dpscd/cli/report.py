"""``dpscd report``: one page about a model, to read, keep, print and hand on."""

import json
from typing import Annotated

import typer

from dpscd.errors import DpscdError

__all__ = ["report"]


def report(
    model: Annotated[str, typer.Argument(help="The model's file.", metavar="MODEL")],
    out: Annotated[str, typer.Option(help="The page to write; replaced if it exists.")],
    ledger: Annotated[
        str | None, typer.Option(help="The ledger's file, to show the budget's history.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Write a page about a model: what is protected, how strongly, and what the noise does.

    The page is one HTML file that fetches nothing and runs nothing. Epsilon is recomputed
    from the card while it is written.

    Example: dpscd report model.json --out report.html --ledger budget.db
    """
    from dpscd.report.model_page import write_report
    from dpscd.report.words import warnings

    try:
        subject = write_report(model, out, ledger)
    except (DpscdError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    found = [heading for heading, _ in warnings(subject)]
    if as_json:
        typer.echo(json.dumps({"report": out, "warnings": found}, indent=2))
        return
    typer.echo(f"{out}: written.")
    for heading in found:
        typer.echo(f"warning: {heading}", err=True)
