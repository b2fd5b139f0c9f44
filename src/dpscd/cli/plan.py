"""``dpscd plan``: forecasts of a fit, before there are data."""

from pathlib import Path
from typing import Any

import typer

from dpscd.cli.common import (
    AsJson,
    Own,
    given_in,
    options,
    plain_errors,
    print_json,
    print_table,
)


@options(
    "delta",
    "relation",
    n=Own(int, "How many; of persons if these are protected.", name="--records --n"),
    d=Own(int, "Number of features, without --schema."),
    schema=Own(Path, "The table's schema (TOML), from which features and target follow."),
    epsilon=Own(list[float], "Privacy to plan for; may be repeated.", "0.1 to 4"),
    classes=Own(int, "Number of classes of the target.", "2"),
    regression=Own(bool, "The target is a number."),
    largest_class=Own(
        float,
        "Share of the largest class, if public: guessing loses no more than the rest.",
        "an even share",
    ),
    inference=Own(bool, "For confidence intervals: how wide they would be."),
    robust=Own(bool, "--inference with robust standard errors."),
)
def plan(*, as_json: AsJson = False, **options: Any) -> None:
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
        from dpscd.estimators.planned import plan as forecasts

        given = given_in(options)
        if given.pop("robust", False):
            given["inference"] = "robust"
        found = forecasts(**{"n": None, **given})
        if as_json:
            print_json(found.values)
            return
        print_table(found.title, found.headings, found.rows, right=range(len(found.headings)))
        for note in found.notes:
            typer.echo(note)
        for warning in found.warnings:
            typer.echo(f"warning: {warning}", err=True)
