"""``dpscd plan``: what a fit would be like, before there are data."""

import math
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, duration, plain_errors, print_json, print_table
from dpscd.cli.interval_plan import IntervalQuestion, plan_intervals
from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation

__all__ = ["plan"]


def plan(
    n: Annotated[
        int,
        typer.Option("--n", min=1, help="Number of records; of persons if they are protected."),
    ],
    d: Annotated[int, typer.Option("--d", min=1, help="Number of features.")],
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="Privacy to plan for; may be repeated.", show_default="0.1 to 4"),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Small extra probability in the bound; keep it far below 1/n.",
            show_default="min(1e-5, 1/(10 n))",
        ),
    ] = None,
    classes: Annotated[int, typer.Option(min=2, help="Number of classes of the target.")] = 2,
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
    relation: Annotated[
        Relation, typer.Option(help="Which tables count as neighbours.")
    ] = Relation.ZERO_OUT,
    as_json: AsJson = False,
) -> None:
    """Show noise, steps, time and lost accuracy to expect; no data are needed.

    "Lost" is the accuracy that privacy costs, of a regression the mean squared error that it
    adds, in percent: a band in which nine of ten measurements lay, on data sets other than
    those it was made of (docs/understanding/planning.md). Time is that of one core, once the
    code is compiled. With --inference, "width" takes the place of "lost": how many times wider
    than without privacy the intervals of coefficients would be.

    Example: dpscd plan --n 30000 --d 100 --epsilon 1
    """
    with plain_errors():
        asked = epsilon or [0.1, 0.5, 1.0, 2.0, 4.0]
        if largest_class is not None and regression:
            raise ParameterError("--largest-class is for classes, not for --regression.")
        if inference or robust:
            if largest_class is not None:
                raise ParameterError("--largest-class is for lost accuracy: not --inference.")
            if classes != 2:
                raise ParameterError(f"--inference is for two classes, not {classes}.")
            question = IntervalQuestion(n, d, asked, delta, regression, robust, relation)
            plan_intervals(question, as_json=as_json)
            return
        target = (classes, regression, largest_class)
        found = [_planned(n, d, one, delta, target, relation) for one in asked]
        if as_json:
            print_json([{**one.to_dict(), "expected": _plain(more)} for one, more in found])
            return
        kind = "regression" if regression else f"{classes} classes"
        first = found[0][0]
        print_table(
            f"{n:,} records, {d} features, {kind}; delta {first.delta:.3g}, {first.relation}",
            ("epsilon", "noise", "lots", "lot size", "epochs", "time", "lost"),
            [_row(one, more, regression) for one, more in found],
            right=range(7),
        )
        typer.echo(
            "noise: its standard deviation over the largest contribution of a record to a lot. "
            + (
                "lost: mean squared error added, in percent of that without privacy."
                if regression
                else "lost: accuracy, below that without privacy."
            )
        )
        for one, more in found:
            if more.mostly_noise:
                typer.echo(
                    f"warning: epsilon {one.epsilon:g}: the noise is {more.relative_noise:.2g} "
                    "times as long as the longest sum that so many records could have; the "
                    "model will be mostly noise.",
                    err=True,
                )


def _planned(
    n: int,
    d: int,
    epsilon: float,
    delta: float | None,
    predicted: tuple[int, bool, float | None],
    relation: Relation,
) -> Any:
    from dpscd.forecast import expect
    from dpscd.planning import (
        Facts,
        default_constant,
        default_delta,
        plan_fit,
        worth_standardising,
    )
    from dpscd.privacy.relation import PrivacyTarget

    if not math.isfinite(epsilon):
        raise ParameterError("--epsilon must be a finite number: without noise, no plan.")
    classes, regression, largest = predicted
    own = default_delta(n) if delta is None else delta
    target = PrivacyTarget(epsilon, own, relation)
    standardised = worth_standardising(n, d, target)
    facts = Facts(
        n=n,
        d=d,
        outputs=1 if regression or classes == 2 else classes,
        task="regression" if regression else "classification",
        row_bound=1.0,
        constant=default_constant(1.0, standardised=standardised),
        standardised=standardised,
        chances=not regression,
        any_length=regression,
        means=regression,
        joint=not regression and classes > 2,
    )
    made = plan_fit(facts, target)
    return made, expect(made, regression=regression, largest_class=largest)


def _row(made: Any, more: Any, regression: bool) -> tuple[str, ...]:
    return (
        f"{made.epsilon:g}",
        f"{made.noise_multiplier:.3g}",
        f"{made.steps:,}",
        f"{made.rate * made.n:,.0f}",
        f"{made.epochs:.0f}",
        duration(more.seconds),
        _lost(more.lost, regression),
    )


def _lost(lost: tuple[float, float], regression: bool) -> str:
    low, high = lost
    if regression:
        return f"{100.0 * low:.0f} to {100.0 * high:.0f} %"
    return f"{low:.3f} to {high:.3f}"


def _plain(more: Any) -> dict[str, Any]:
    return {
        "relative_noise": more.relative_noise,
        "coef_noise": more.coef_noise,
        "seconds": more.seconds,
        "lost": more.lost,
        "mostly_noise": more.mostly_noise,
    }
