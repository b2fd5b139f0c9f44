"""``dpscd bench``: how good and how fast our estimators are, next to others."""

from pathlib import Path
from typing import Annotated

import typer

from dpscd_experiments.cli.intervals import intervals
from dpscd_experiments.cli.needs import need_plots, usable_cores

__all__ = ["bench"]

bench = typer.Typer(
    name="bench",
    help="Compare with other methods.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)


@bench.callback()
def _group() -> None:
    """Compare with other methods."""


@bench.command()
def accuracy(
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool, typer.Option("--quick", help="Three problems, few seeds, thin grids: minutes.")
    ] = False,
    problem: Annotated[
        list[str] | None, typer.Option(help="Run only this one; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Run only this one; may be repeated.")
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(help="Forget the stored rows of this method first; may be repeated."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes [default: all cores].")
    ] = None,
) -> None:
    """Compare our untuned estimators with tuned opponents on test data.

    Writes accuracy.csv, accuracy.md and figures to the folder, from all rows in
    accuracy.jsonl there: an interrupted run goes on from it, and methods can be run one by
    one. All data sets but Adult are read from the folder in the environment variable
    DPSCD_DATA. Peers that are not installed are skipped, and the page says why.

    Example: dpscd bench accuracy --quick --out results
    """
    need_plots()
    from dpscd.errors import DpscdError
    from dpscd_experiments.pages.accuracy import bench_accuracy

    try:
        files = bench_accuracy(
            out,
            quick=quick,
            problems=problem or (),
            methods=method or (),
            again=again or (),
            processes=jobs if jobs is not None else usable_cores(),
        )
    except (DpscdError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"accuracy: {', '.join(str(file) for file in files)}")


@bench.command()
def tables(
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool, typer.Option("--quick", help="Two tables, one epsilon, two seeds: minutes.")
    ] = False,
    table: Annotated[
        list[str] | None, typer.Option(help="Run only this one; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Run only this one; may be repeated.")
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
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes [default: all cores].")
    ] = None,
) -> None:
    """Compare our models of raw tables with what one would use instead.

    Writes tables.csv, tables.md and figures to the folder, from all rows in tables.jsonl
    there: an interrupted run goes on from it, and tables, methods, epsilons and seeds can be
    run piece by piece. All tables but Adult are read from the folder in the environment
    variable DPSCD_DATA. DP-EBM takes part if interpret-core is installed (the extra peers),
    diffprivlib and MST if DPSCD_DIFFPRIVLIB_PYTHON and DPSCD_DPMM_PYTHON name a Python that has
    them; otherwise the page says why not.

    Example: dpscd bench tables --quick --out results
    """
    need_plots()
    from dpscd.errors import DpscdError
    from dpscd_experiments.pages.tables import bench_tables

    try:
        files = bench_tables(
            out,
            quick=quick,
            tables=table or (),
            methods=method or (),
            epsilons=epsilon or (),
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
    typer.echo(f"tables: {', '.join(str(file) for file in files)}")


@bench.command()
def persons(
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Three generated sets, one epsilon, two seeds: a minute."),
    ] = False,
    data: Annotated[
        list[str] | None, typer.Option(help="Run only this data set; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Run only this one; may be repeated.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="At most so many seeds [default: all].")
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(help="Forget the stored rows of this method first; may be repeated."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes [default: all cores].")
    ] = None,
) -> None:
    """Compare privacy of persons with many rows with group privacy.

    Writes persons.csv, persons.md and figures to the folder, from all rows in persons.jsonl
    there: an interrupted run goes on from it, and data sets, methods and seeds can be run
    piece by piece. The flights are read from the folder in the environment variable
    DPSCD_DATA; all other persons are generated.

    Example: dpscd bench persons --quick --out results
    """
    need_plots()
    from dpscd.errors import DpscdError
    from dpscd_experiments.pages.persons import bench_persons

    try:
        files = bench_persons(
            out,
            quick=quick,
            datasets=data or (),
            methods=method or (),
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
    typer.echo(f"persons: {', '.join(str(file) for file in files)}")


bench.command()(intervals)


@bench.command()
def features(
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="12,000 rows of pixels, one epsilon, two seeds: a minute."
        ),
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Run only these rows (scattering, pixels); may be repeated."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Run only this one; may be repeated.")
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
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes; each has 2 GiB of features in memory.")
    ] = 1,
) -> None:
    """Compare classifiers on features of pictures: ours, and DP-SGD with softmax.

    Writes features.csv, features.md and a figure to the folder, from all rows in
    features.jsonl there: an interrupted run goes on from it, and rows, methods, epsilons and
    seeds can be run piece by piece. Fashion-MNIST is read from the folder in the environment
    variable DPSCD_DATA. Scattering features need kymatio (the extra examples) once, and are
    then kept in the cache folder (DPSCD_CACHE).

    Example: dpscd bench features --quick --out results
    """
    need_plots()
    from dpscd.errors import DpscdError
    from dpscd_experiments.pages.features import bench_features

    try:
        files = bench_features(
            out,
            quick=quick,
            datasets=data or (),
            methods=method or (),
            epsilons=epsilon or (),
            seeds=seeds,
            again=again or (),
            processes=jobs,
        )
    except (DpscdError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"features: {', '.join(str(file) for file in files)}")


@bench.command()
def speed(
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes and few turns: two minutes.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this group (dense, sparse, fit, startup, growth); may be repeated."
        ),
    ] = None,
) -> None:
    """Measure what private epochs and fits cost, next to others.

    All measures are of one run on one machine, whose description is part of the page: leave
    it alone meanwhile. Writes speed.csv, speed.md and figures to the folder. Snap ML takes
    part if it is installed, diffprivlib if DPSCD_DIFFPRIVLIB_PYTHON names a Python that has it;
    otherwise the page says why not.

    Example: dpscd bench speed --quick --out results
    """
    need_plots()
    from dpscd.errors import DpscdError
    from dpscd_experiments.pages.speed import bench_speed

    try:
        files = bench_speed(out, quick=quick, only=only or ())
    except (DpscdError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted; speed.csv has what was measured.", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"speed: {', '.join(str(file) for file in files)}")
