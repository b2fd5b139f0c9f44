"""Verbs of other packages: found by entry point, imported when help or a call needs them.

An entry point of the group ``dpscd.verbs`` names a :class:`typer.Typer`: with one command it is
a verb, otherwise a group of verbs. One that is absent or cannot be imported says so when its
verb is called; all other verbs work without it.
"""

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from dpscd._version import __version__
from dpscd.cli.common import plain_errors
from dpscd.errors import DpscdError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Verbs", "outside_verbs"]

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

    @verb.command(name, help="Not available here.", context_settings=anything)
    def refuse() -> None:
        with plain_errors():
            raise DpscdError(f"the verb {name!r} {why}")

    return typer.main.get_command(verb)
