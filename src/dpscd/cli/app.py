"""The command ``dpscd`` and its verbs."""

from typing import Annotated

import typer

from dpscd._version import __version__
from dpscd.cli.audit import audit
from dpscd.cli.bench import bench
from dpscd.cli.budget import budget
from dpscd.cli.demo import demo
from dpscd.cli.report import report
from dpscd.cli.reproduce import reproduce

__all__ = ["app", "main"]

app = typer.Typer(
    name="dpscd",
    help="Differentially private linear models, without tuning.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command()(demo)
app.add_typer(budget)
app.command()(report)
app.command()(audit)
app.command()(reproduce)
app.add_typer(bench)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dpscd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Differentially private ridge, logistic regression and linear SVM."""


def main() -> None:
    """Run the command line."""
    app(prog_name="dpscd")
