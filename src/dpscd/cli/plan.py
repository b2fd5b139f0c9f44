"""``dpscd plan``: forecasts of a fit, before there are data."""

import math
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, duration, plain_errors, print_json, print_table
from dpscd.cli.interval_plan import plan_intervals
from dpscd.cli.plan_question import PlanQuestion, question_of
from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation

__all__ = ["plan"]


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
    delta: Annotated[
        float | None,
        typer.Option(
            help="Small extra probability in the bound; keep it far below 1/n.",
            show_default="min(1e-5, 1/(10 n))",
        ),
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
    relation: Annotated[
        Relation, typer.Option(help="Which tables count as neighbours.")
    ] = Relation.ZERO_OUT,
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
            plan_intervals(question, asked, largest_class, robust=robust, as_json=as_json)
            return
        found = [_planned(question, one, largest_class) for one in asked]
        if as_json:
            print_json([{**one.to_dict(), "expected": _plain(more)} for one, more in found])
            return
        first = found[0][0]
        head = ["epsilon", "noise", "lots", "lot size", "epochs", "training", "lost"]
        rows = [_row(one, more, question.regression) for one, more in found]
        if question.schema is not None:  # shapes have more features at a larger epsilon
            head = ["epsilon", "features", "noise", *head[3:], "below inf"]
            for row, (one, more) in zip(rows, found, strict=True):
                row[1:3] = [str(one.d), row[1]]
                row.append(_lost(more.below_inf, question.regression))
        title = f"{question.title}; delta {first.delta:.3g}, {first.relation}"
        print_table(title, head, rows, right=range(len(head)))
        typer.echo(
            "noise: its standard deviation over the largest contribution of a record to a lot. "
            + (
                "lost: mean squared error added, in percent of that of the same features "
                "without noise."
                if question.regression
                else "lost: accuracy, below that of the same features without noise."
            )
        )
        others = "the same features"
        if question.schema is not None:
            others = f"{question.features(math.inf)} features: below inf compares with these"
        typer.echo(f"--epsilon inf fits {others}.")
        typer.echo(question.preparing)
        for verdict, those in groupby(found, key=lambda own: own[1].verdict):
            typer.echo(
                f"epsilon {', '.join(f'{one.epsilon:g}' for one, _ in those)}: {verdict}."
            )
        for one, more in found:
            if more.mostly_noise:
                typer.echo(
                    f"warning: epsilon {one.epsilon:g}: the noise is {more.relative_noise:.2g} "
                    "times as long as the longest sum that so many records could have; the "
                    "model will be mostly noise.",
                    err=True,
                )


def _planned(question: PlanQuestion, epsilon: float, largest: float | None) -> Any:
    from dpscd.forecast import expect
    from dpscd.persons import PersonFacts
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
    n, regression, classes = question.n, question.regression, question.classes
    own = default_delta(n) if question.delta is None else question.delta
    target = PrivacyTarget(epsilon, own, question.relation)
    d = question.features(epsilon)
    standardised = worth_standardising(n, d, target)
    facts = Facts(
        n=n,
        d=d,
        outputs=1 if regression or classes == 2 else classes,
        task="regression" if regression else "classification",
        row_bound=1.0,
        constant=default_constant(1.0, standardised=standardised),
        standardised=standardised,
        bounded=question.bounded,
        chances=not regression,
        any_length=regression and question.schema is None,
        means=regression,
        rows=PersonFacts().rows if question.persons else 0,
        joint=not regression and classes > 2,
    )
    made = plan_fit(facts, target)
    finer = question.finer(epsilon)
    return made, expect(made, regression=regression, largest_class=largest, finer=finer)


def _row(made: Any, more: Any, regression: bool) -> list[str]:
    return [
        f"{made.epsilon:g}",
        f"{made.noise_multiplier:.3g}",
        f"{made.steps:,}",
        f"{made.rate * made.n:,.0f}",
        f"{made.epochs:.0f}",
        duration(more.seconds),
        _lost(more.lost, regression),
    ]


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
        "below_inf": more.below_inf,
        "mostly_noise": more.mostly_noise,
        "verdict": more.verdict,
    }
