"""``dpscd plan --inference``: expected width of confidence intervals, before there are data."""

import math
from typing import Any, NamedTuple

import typer

from dpscd.cli.common import duration, print_json, print_table
from dpscd.cli.plan_question import PlanQuestion
from dpscd.errors import ParameterError

__all__ = ["plan_intervals"]

# From here on correlated columns, rare levels or a rare class are likely to be below what is
# seen: at 16 % (41,188 records of bank marketing, 75 features, epsilon 1) 63 of 66 terms were
# refused, at 2 % none of those that have records but for 9.
_MUCH = 0.1


class _Answer(NamedTuple):
    """A plan and its forecast, or the reason why there is none."""

    epsilon: float
    plan: Any = None
    forecast: Any = None
    weakest: float = 1.0
    hidden: str | None = None


def plan_intervals(
    asked: PlanQuestion,
    epsilons: list[float],
    largest_class: float | None,
    *,
    robust: bool,
    as_json: bool,
) -> None:
    """Print expected noise, steps, time and width of intervals, by epsilon.

    `largest_class` is the public share of the largest class; `robust` intervals do not assume
    that the model is true.
    """
    from dpscd.planning import default_delta

    delta = default_delta(asked.n) if asked.delta is None else asked.delta
    found = [
        _planned(asked, epsilon, delta, largest_class, robust=robust) for epsilon in epsilons
    ]
    if as_json:
        print_json([_plain(one) for one in found])
        return
    errors = ", robust" if robust else ""
    d = asked.features(epsilons[0], inference=True)
    own = "" if asked.schema is None else f", {d} features"
    print_table(
        f"Intervals{errors}: {asked.title}{own}; delta {delta:.3g}, {asked.relation}",
        ("epsilon", "noise", "lots", "lot size", "epochs", "training", "width", "weakest"),
        [_row(one) for one in found],
        right=range(8),
    )
    for one in found:
        if one.hidden is not None:
            typer.echo(f"hidden at epsilon {one.epsilon:g}: {one.hidden}")
    typer.echo(
        "width: of the intervals of coefficients, over that without privacy; a forecast for "
        "features with correlations of about 0.3, less where they are unrelated"
        + (
            "."
            if asked.regression
            else ", and classes whose chances are neither even nor extreme."
        )
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
    levels = 0
    if asked.schema is not None:
        from dpscd.preprocessing.encoding import width_of

        lists = [x for x in asked.schema.features if x.kind == "category"]
        levels = sum(width_of(x) for x in lists)
    from dpscd.privacy.relation import remedies

    about = f" The schema has {levels} levels of categories." if levels else ""
    rare = "" if asked.regression else " and a rare class"
    return (
        f"an effect that the records determine less than {100.0 * one.weakest:.0f} % as well "
        "as unrelated features is refused, after the budget is spent. Correlated columns, rare "
        f"levels{rare} are often below that: most terms may have no interval.{about} "
        f"{remedies(one.epsilon, 'Fewer columns or levels', 'more records')} help."
    )


def _planned(
    asked: PlanQuestion,
    epsilon: float,
    delta: float,
    largest_class: float | None,
    *,
    robust: bool,
) -> _Answer:
    from dpscd.forecast import expect_intervals, weakest_seen
    from dpscd.planning import Facts, default_constant, plan_fit
    from dpscd.planning_inference import information_noise
    from dpscd.privacy.accounting import gaussian_multiplier
    from dpscd.privacy.relation import PrivacyTarget

    if not math.isfinite(epsilon):
        raise ParameterError("--epsilon must be a finite number: without noise, no plan.")
    n, d = asked.n, asked.features(epsilon, inference=True)
    task = "regression" if asked.regression else "classification"
    target = PrivacyTarget(epsilon, delta, asked.relation)
    noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    try:
        information_noise(task, n, d + 1, d, noise, robust=robust)
    except ParameterError as error:
        return _Answer(epsilon, hidden=str(error))
    facts = Facts(
        n=n,
        d=d,
        outputs=1,
        task=task,
        row_bound=1.0,
        constant=default_constant(1.0, standardised=True),
        standardised=True,
        bounded=asked.bounded,
        inference=True,
        robust=robust,
    )
    plan = plan_fit(facts, target)
    forecast = expect_intervals(plan, regression=asked.regression)
    weakest = weakest_seen(plan, task, robust=robust, largest_class=largest_class)
    return _Answer(epsilon, plan, forecast, weakest)


def _row(one: _Answer) -> tuple[str, ...]:
    if one.hidden is not None:
        return (f"{one.epsilon:g}", *[""] * 5, "hidden", "")
    plan = one.plan
    return (
        f"{one.epsilon:g}",
        f"{plan.noise_multiplier:.3g}",
        f"{plan.steps:,}",
        f"{plan.rate * plan.n:,.0f}",
        f"{plan.epochs:.0f}",
        duration(one.forecast.seconds),
        f"{one.forecast.width:.2f}",
        f"{100.0 * one.weakest:.2g} %",
    )


def _plain(one: _Answer) -> dict[str, Any]:
    if one.hidden is not None:
        return {"epsilon": one.epsilon, "expected": None, "hidden": one.hidden}
    expected = {"seconds": one.forecast.seconds, "width": one.forecast.width}
    expected["weakest"] = one.weakest
    return {**one.plan.to_dict(), "expected": expected, "hidden": None}
