"""The command ``dpscd`` and its verbs."""

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from dpscd._version import __version__
from dpscd.cli.audit import audit
from dpscd.cli.budget import budget
from dpscd.cli.common import DEBUG, stdout_is_read
from dpscd.cli.demo import demo
from dpscd.cli.evaluate import evaluate
from dpscd.cli.example import example
from dpscd.cli.export import export
from dpscd.cli.fit import fit
from dpscd.cli.inspect import inspect
from dpscd.cli.look import look
from dpscd.cli.outside import Verbs
from dpscd.cli.plan import plan
from dpscd.cli.predict import predict
from dpscd.cli.report import report
from dpscd.cli.schema import schema
from dpscd.cli.sign import sign
from dpscd.cli.verify import verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="dpscd",
    cls=Verbs,
    help="Differentially private linear models, without tuning.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # they would show the values of variables
)
app.command()(plan)
app.add_typer(schema)
app.command()(look)
app.command()(fit)
app.command()(predict)
app.command()(evaluate)
app.command()(inspect)
app.command()(verify)
app.command()(sign)
app.command()(report)
app.add_typer(export)
app.add_typer(budget)
app.command()(demo)
app.command()(example)
app.command()(audit)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dpscd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show tracebacks, which may hold values of the data; for any verb."
        ),
    ] = False,
) -> None:
    """Differentially private ridge, logistic regression and linear SVM."""
    if debug:
        os.environ[DEBUG] = "1"


def main() -> None:
    """Run the command line; ``--debug`` may stand anywhere."""
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    if "--debug" in words[:end]:
        words.remove("--debug")
        words.insert(0, "--debug")
    try:
        app(args=words, prog_name="dpscd")
    finally:
        with suppress(OSError):  # of a full disk Python says at its end
            stdout_is_read()
