"""Verbs that other packages bring: found by entry point, imported when help or a call needs it.

An entry point of the group ``dpscd.verbs`` names a :class:`typer.Typer`: with one command it
is a verb, otherwise a group of verbs. One that is absent or cannot be imported says so when
its verb is called; all other verbs work without it.
"""

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from dpscd.cli.common import plain_errors
from dpscd.errors import DpscdError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Verbs", "outside_verbs"]

GROUP = "dpscd.verbs"

# What dpscd_bench brings; without its entry points a plain "no such command" would mislead.
_EXPECTED = ("bench", "reproduce")


class Verbs(TyperGroup):
    """The verbs of the command line: its own, then those of entry points."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs, in the order of the help."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in outside_verbs() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb by its name; None if there is none."""
        own = super().get_command(ctx, cmd_name)
        return _outside(cmd_name) if own is None else own


def outside_verbs() -> "dict[str, EntryPoint]":
    """Return the entry points that bring verbs, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def _outside(name: str) -> Any:
    point = outside_verbs().get(name)
    if point is None:
        missing = DpscdError("there is no such entry point")
        return _absent(name, missing) if name in _EXPECTED else None
    try:
        return typer.main.get_command(point.load())
    except Exception as error:  # another package's code: whatever it is, other verbs work
        return _absent(name, error)


def _absent(name: str, reason: Exception) -> Any:
    """Return a verb that says why it is not there."""
    verb = typer.Typer(add_completion=False)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @verb.command(name, help="Not available here.", context_settings=anything)
    def refuse() -> None:
        with plain_errors():
            raise DpscdError(
                f"the verb {name!r}, of the entry points {GROUP!r}, is not available "
                f"({type(reason).__name__}: {reason}); install again what brings it."
            ) from reason

    return typer.main.get_command(verb)
