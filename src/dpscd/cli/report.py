"""``dpscd report``: one page about a model, to read, keep, print and hand on."""

from pathlib import Path
from typing import Annotated

import typer

from dpscd.cli.common import AsJson, check_writable, plain_errors, print_json

__all__ = ["report"]


def report(
    model: Annotated[str, typer.Argument(help="The model's file.", metavar="MODEL")],
    out: Annotated[str, typer.Option(help="The page to write; replaced if it exists.")],
    ledger: Annotated[
        str | None, typer.Option(help="The ledger's file, to show the budget's history.")
    ] = None,
    evaluation: Annotated[
        str | None,
        typer.Option(help="What dpscd evaluate --json printed for this model, to show it."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(help="TOML with purpose, owner, contact, legal_basis: texts to show."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a page about a model: what is protected, how strongly, and what the noise does.

    The page is one HTML file that fetches nothing and runs nothing. Epsilon is recomputed
    from the card while it is written.

    Example: dpscd report model.json --out report.html --ledger budget.db
    """
    with plain_errors("Interrupted; no page was written."):
        from dpscd.report.model_page import write_report
        from dpscd.report.words import warnings

        check_writable(Path(out))
        subject = write_report(model, out, ledger, evaluation=evaluation, about=about)
    found = [heading for heading, _ in warnings(subject)]
    if as_json:
        print_json({"report": out, "warnings": found})
        return
    typer.echo(f"Wrote {out}")
    for heading in found:
        typer.echo(f"warning: {heading}", err=True)
