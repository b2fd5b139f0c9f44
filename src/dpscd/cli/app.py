"""The command ``dpscd`` and its verbs: its own, and those of entry points of other packages.

An entry point that is absent or cannot be imported says so when its verb is called.
"""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dpscd._version import __version__
from dpscd.cli.audit import audit
from dpscd.cli.before import demo, example, look, plan
from dpscd.cli.budget import budget
from dpscd.cli.common import DEBUG, Verb, stdout_is_read
from dpscd.cli.evaluate import evaluate
from dpscd.cli.fit import fit
from dpscd.cli.handing_over import export, report, sign, verify
from dpscd.cli.inspect import inspect
from dpscd.cli.predict import predict
from dpscd.cli.schema import schema
from dpscd.errors import DpscdError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "dpscd.verbs"

# Verbs of the distribution of experiments: without it "no such command" would mislead.
_RESEARCH = "dpscd-experiments"
_EXPECTED = ("bench", "reproduce")


class Verbs(TyperGroup):
    """The verbs of the command line: its own, then those of entry points."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs, in the order of the help."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in outside_verbs() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb by its name, or None."""
        own = super().get_command(ctx, cmd_name)
        return _outside(cmd_name) if own is None else own


def outside_verbs() -> "dict[str, EntryPoint]":
    """Return the entry points that bring verbs, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def _outside(name: str) -> Any:
    point = outside_verbs().get(name)
    version = getattr(point and point.dist, "version", None)
    if name in _EXPECTED and version != __version__:
        found = "not installed" if version is None else f"version {version}"
        return _absent(
            name,
            f"comes with {_RESEARCH} {__version__}, which is {found} here; "
            f"run: pip install {_RESEARCH}=={__version__}",
        )
    if point is None:
        return None
    try:
        return typer.main.get_command(point.load())
    except Exception as error:  # another package's code: whatever it is, other verbs work
        return _absent(
            name,
            f"of the entry points {GROUP!r} cannot be imported "
            f"({type(error).__name__}: {error}); install again what brings it",
        )


def _absent(name: str, why: str) -> Any:
    """Return a verb that explains why it is absent."""
    verb = typer.Typer(add_completion=False)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @verb.command(name, cls=Verb, help="Not available here.", context_settings=anything)
    def refuse() -> None:
        raise DpscdError(f"the verb {name!r} {why}")

    return typer.main.get_command(verb)


app = typer.Typer(
    name="dpscd",
    cls=Verbs,
    help="Differentially private linear models, without tuning.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # they would show the values of variables
)
for verb in (
    plan, look, fit, predict, evaluate, inspect, verify, sign, report, demo, example, audit,
):  # fmt: skip
    app.command(cls=Verb)(verb)
for group in (schema, export, budget):
    app.add_typer(group)


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
