"""What the verbs of benches need of the machine."""

import typer

__all__ = ["need_plots", "usable_cores"]

_NO_PLOT = "Error: figures need matplotlib; install it with: pip install 'dpscd-experiments'"


def usable_cores() -> int:
    """Return what may be used, which under a container or a scheduler is not all there is."""
    import os

    return len(getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0))


def need_plots() -> None:
    """End the command with a message where figures cannot be drawn."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        typer.echo(_NO_PLOT, err=True)
        raise typer.Exit(2)
