"""``dpscd plan``: forecasts of a fit, before there are data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, options, plain_errors, print_json, print_table


@options("delta", "relation")
def plan(
    n: Annotated[
        int | None,
        typer.Option(
            "--records", "--n", min=1, help="How many; of persons if these are protected."
        ),
    ] = None,
    d: Annotated[
        int | None, typer.Option("--d", min=1, help="Number of features, without --schema.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            help="The table's schema (TOML), from which features and target follow.",
            dir_okay=False,
        ),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="Privacy to plan for; may be repeated.", show_default="0.1 to 4"),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(min=2, help="Number of classes of the target.", show_default="2"),
    ] = None,
    regression: Annotated[
        bool, typer.Option("--regression", help="The target is a number.")
    ] = False,
    largest_class: Annotated[
        float | None,
        typer.Option(
            help="Share of the largest class, if public: guessing loses no more than the rest.",
            show_default="an even share",
        ),
    ] = None,
    inference: Annotated[
        bool,
        typer.Option("--inference", help="For confidence intervals: how wide they would be."),
    ] = False,
    robust: Annotated[
        bool, typer.Option("--robust", help="--inference with robust standard errors.")
    ] = False,
    *,
    as_json: AsJson = False,
    **parameters: Any,
) -> None:
    """Show noise, steps, time and lost accuracy to expect; no data are needed.

    "Lost" is the accuracy that privacy costs, of a regression the mean squared error that it
    adds, in percent, against the same features without noise: a band in which nine of ten
    measurements lay, on data sets other than those it was made of
    (docs/understanding/planning.md). "Below inf" is the same against what --epsilon inf fits,
    which has more features of a table. "Training" is its time on one core; reading and
    compiling come on top. With --inference, "width" takes the place of "lost": how many times
    wider than without privacy the intervals of coefficients would be.

    With --inference, "weakest" says how well, in percent of unrelated features, the records
    must determine an effect for it to have an interval: correlated columns, rare levels of
    categories and rare classes have less than others.

    Example: dpscd plan --schema patients.toml --records 30000 --epsilon 1
    """
    with plain_errors():
        from dpscd.estimators.planned import USUAL
        from dpscd.estimators.planned import plan as forecasts

        given = {name: value for name, value in parameters.items() if value is not None}
        found = forecasts(
            n,  # type: ignore[arg-type] # which refuses None
            d,
            schema=schema,
            epsilon=epsilon or USUAL,
            classes=classes,
            regression=regression,
            largest_class=largest_class,
            inference="robust" if robust else inference,
            **given,
        )
        if as_json:
            print_json(found.values)
            return
        print_table(found.title, found.headings, found.rows, right=range(len(found.headings)))
        for note in found.notes:
            typer.echo(note)
        for warning in found.warnings:
            typer.echo(f"warning: {warning}", err=True)
