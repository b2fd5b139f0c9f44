"""``dpscd plan``: forecasts of a fit, before there are data."""

import math
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dpscd.cli.common import AsJson, duration, plain_errors, print_json, print_table
from dpscd.cli.inputs import Delta, Neighbours
from dpscd.cli.plan_question import PlanQuestion, plain_plan, question_of
from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation, remedies

if TYPE_CHECKING:
    from dpscd.forecast import Forecast
    from dpscd.plan import Plan

# From here on correlated columns, rare levels or a rare class are likely to be below what is
# seen: at 16 % (41,188 records of bank marketing, 75 features, epsilon 1) 63 of 66 terms were
# refused, at 2 % none of those that have records but for 9.
_MUCH = 0.1

# What is printed of a forecast, in the order of JSON.
_EXPECTED = (
    "relative_noise", "coef_noise", "seconds", "lost", "below_inf", "mostly_noise", "verdict",
)  # fmt: skip


class _Answer(NamedTuple):
    """A plan and its forecast, or the reason why there is none."""

    epsilon: float
    plan: Any = None
    forecast: Any = None
    weakest: float = 1.0
    hidden: str | None = None


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
    delta: Delta = None,
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
    relation: Neighbours = Relation.ZERO_OUT,
    as_json: AsJson = False,
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
        question = question_of(schema, n, d, (classes, regression), delta, relation)
        asked = epsilon or [0.1, 0.5, 1.0, 2.0, 4.0]
        if largest_class is not None and question.regression:
            raise ParameterError("--largest-class is for classes, not for --regression.")
        if inference or robust:
            if question.classes != 2:
                raise ParameterError(f"--inference is for two classes, not {question.classes}.")
            answers = [
                _planned_intervals(question, one, largest_class, robust=robust) for one in asked
            ]
            if as_json:
                print_json([_plain_intervals(one) for one in answers])
            else:
                _print_intervals(question, answers, robust=robust)
            return
        found = [_planned(question, one, largest_class) for one in asked]
        if as_json:
            print_json(
                [
                    {**plain_plan(one), "expected": {x: getattr(more, x) for x in _EXPECTED}}
                    for one, more in found
                ]
            )
            return
        _print(question, found)


def _print(question: PlanQuestion, found: "list[tuple[Plan, Forecast]]") -> None:
    head = ["epsilon", "noise", "lots", "lot size", "epochs", "training", "lost"]
    rows = [[*_cells(one, more), _lost(more.lost, question.regression)] for one, more in found]
    if question.schema is not None:  # shapes have more features at a larger epsilon
        head = ["epsilon", "features", "noise", *head[3:], "below inf"]
        for row, (one, more) in zip(rows, found, strict=True):
            row[1:3] = [str(one.facts.d), row[1]]
            row.append(_lost(more.below_inf, question.regression))
    title = f"{question.title}; delta {question.delta:.3g}, {question.relation}"
    print_table(title, head, rows, right=range(len(head)))
    lost = "accuracy, below that"
    if question.regression:
        lost = "mean squared error added, in percent of that"
    typer.echo(
        "noise: its standard deviation over the largest contribution of a record to a lot. "
        f"lost: {lost} of the same features without noise."
    )
    others = "the same features"
    if question.schema is not None:
        others = f"{question.features(math.inf)} features: below inf compares with these"
    typer.echo(f"--epsilon inf fits {others}.")
    typer.echo(question.preparing)
    for verdict, those in groupby(found, key=lambda own: own[1].verdict):
        epsilons = ", ".join(f"{one.target.epsilon:g}" for one, _ in those)
        typer.echo(f"epsilon {epsilons}: {verdict}.")
    for one, more in found:
        if more.mostly_noise:
            typer.echo(
                f"warning: epsilon {one.target.epsilon:g}: the noise is "
                f"{more.relative_noise:.2g} times as long as the longest sum that so many "
                "records could have; the model will be mostly noise.",
                err=True,
            )


def _planned(
    question: PlanQuestion, epsilon: float, largest: float | None
) -> "tuple[Plan, Forecast]":
    from dpscd.forecast import expect
    from dpscd.planning import plan_fit

    target = question.target(epsilon)
    made = plan_fit(question.facts(target), target)
    return made, expect(made, largest_class=largest, finer=question.finer(epsilon))


def _cells(made: "Plan", more: "Forecast") -> list[str]:
    main = made.main
    return [
        f"{made.target.epsilon:g}",
        f"{main.noise_multiplier:.3g}",
        f"{main.steps:,}",
        f"{main.lot_size:,.0f}",
        f"{main.epochs:.0f}",
        duration(more.seconds),
    ]


def _lost(lost: tuple[float, float], regression: bool) -> str:
    low, high = lost
    if regression:
        return f"{100.0 * low:.0f} to {100.0 * high:.0f} %"
    return f"{low:.3f} to {high:.3f}"


# --- intervals --------------------------------------------------------------------------------


def _print_intervals(asked: PlanQuestion, found: list[_Answer], *, robust: bool) -> None:
    """Print expected noise, steps, time and width of intervals, by epsilon."""
    own = ""
    if asked.schema is not None:
        own = f", {asked.features(found[0].epsilon, inference=True)} features"
    print_table(
        f"Intervals{', robust' if robust else ''}: {asked.title}{own}; "
        f"delta {asked.delta:.3g}, {asked.relation}",
        ("epsilon", "noise", "lots", "lot size", "epochs", "training", "width", "weakest"),
        [_interval_row(one) for one in found],
        right=range(8),
    )
    for one in found:
        if one.hidden is not None:
            typer.echo(f"hidden at epsilon {one.epsilon:g}: {one.hidden}")
    classes = ", and classes whose chances are neither even nor extreme"
    typer.echo(
        "width: of the intervals of coefficients, over that without privacy; a forecast for "
        "features with correlations of about 0.3, less where they are unrelated"
        f"{'' if asked.regression else classes}."
    )
    typer.echo(asked.preparing)
    typer.echo(
        "weakest: how well the records must determine an effect for it to have an interval, in "
        "percent of unrelated features."
    )
    for one in found:
        if one.hidden is None and one.weakest >= _MUCH:
            typer.echo(f"warning: epsilon {one.epsilon:g}: {_refusals(asked, one)}", err=True)


def _refusals(asked: PlanQuestion, one: _Answer) -> str:
    """Return a warning that intervals may be refused."""
    from dpscd.preprocessing.column_features import width_of

    lists = [] if asked.schema is None else asked.schema.features
    levels = sum(width_of(x) for x in lists if x.kind == "category")
    about = f" The schema has {levels} levels of categories." if levels else ""
    rare = "" if asked.regression else " and a rare class"
    return (
        f"an effect that the records determine less than {100.0 * one.weakest:.0f} % as well "
        "as unrelated features is refused, after the budget is spent. Correlated columns, rare "
        f"levels{rare} are often below that: most terms may have no interval.{about} "
        f"{remedies(one.epsilon, 'Fewer columns or levels', 'more records')} help."
    )


def _planned_intervals(
    asked: PlanQuestion, epsilon: float, largest: float | None, *, robust: bool
) -> _Answer:
    from dpscd.forecast import expect_intervals, weakest_seen
    from dpscd.information import ROBUST
    from dpscd.planning import plan_fit
    from dpscd.planning_inference import information_noise
    from dpscd.privacy.accounting import gaussian_multiplier

    target = asked.target(epsilon)
    # Rows of a person may be alike, which only robust errors allow for.
    facts = asked.facts(target, ROBUST if robust or asked.persons else "model")
    noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    try:
        information_noise(facts, noise)
    except ParameterError as error:
        return _Answer(epsilon, hidden=str(error))
    plan = plan_fit(facts, target)
    weakest = weakest_seen(plan, largest_class=largest)
    return _Answer(epsilon, plan, expect_intervals(plan), weakest)


def _interval_row(one: _Answer) -> tuple[str, ...]:
    if one.hidden is not None:
        return (f"{one.epsilon:g}", *[""] * 5, "hidden", "")
    cells = _cells(one.plan, one.forecast)
    return (*cells, f"{one.forecast.width:.2f}", f"{100.0 * one.weakest:.2g} %")


def _plain_intervals(one: _Answer) -> dict[str, Any]:
    if one.hidden is not None:
        return {"epsilon": one.epsilon, "expected": None, "hidden": one.hidden}
    expected = {"seconds": one.forecast.seconds, "width": one.forecast.width}
    expected["weakest"] = one.weakest
    return {**plain_plan(one.plan), "expected": expected, "hidden": None}
