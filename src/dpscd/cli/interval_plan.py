"""``dpscd plan --inference``: how wide confidence intervals would be, before there are data."""

import math
from typing import Any, NamedTuple

import typer

from dpscd.cli.common import duration, print_json, print_table
from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation

__all__ = ["IntervalQuestion", "plan_intervals"]


class IntervalQuestion(NamedTuple):
    """What is asked: public numbers.

    Attributes
    ----------
    n, d : int
        Records and features.
    epsilons : list of float
        To plan for.
    delta : float or None
        None is the usual one.
    regression, robust : bool
        Whether the target is a number, and whether intervals assume less than that the model
        is true.
    relation : Relation
        Which tables count as neighbours.
    """

    n: int
    d: int
    epsilons: list[float]
    delta: float | None
    regression: bool
    robust: bool
    relation: Relation


class _Answer(NamedTuple):
    """A plan and what to expect of it, or why there is none."""

    epsilon: float
    plan: Any = None
    forecast: Any = None
    hidden: str | None = None


def plan_intervals(asked: IntervalQuestion, *, as_json: bool) -> None:
    """Print noise, steps, time and width of intervals to expect, by epsilon.

    Parameters
    ----------
    asked : IntervalQuestion
        What is asked.
    as_json : bool
        Whether to print JSON.
    """
    from dpscd.planning import default_delta

    delta = default_delta(asked.n) if asked.delta is None else asked.delta
    found = [_planned(asked, epsilon, delta) for epsilon in asked.epsilons]
    if as_json:
        print_json([_plain(one) for one in found])
        return
    kind = "regression" if asked.regression else "2 classes"
    errors = ", robust" if asked.robust else ""
    print_table(
        f"Intervals{errors}: {asked.n:,} records, {asked.d} features, {kind}; delta "
        f"{delta:.3g}, {asked.relation}",
        ("epsilon", "noise", "lots", "lot size", "epochs", "time", "width"),
        [_row(one) for one in found],
        right=range(7),
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


def _planned(asked: IntervalQuestion, epsilon: float, delta: float) -> _Answer:
    from dpscd.forecast import expect_intervals
    from dpscd.planning import Facts, default_constant, plan_fit
    from dpscd.planning_inference import information_noise
    from dpscd.privacy.accounting import gaussian_multiplier
    from dpscd.privacy.relation import PrivacyTarget

    if not math.isfinite(epsilon):
        raise ParameterError("--epsilon must be a finite number: without noise, no plan.")
    n, d, robust = asked.n, asked.d, asked.robust
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
        inference=True,
        robust=robust,
    )
    plan = plan_fit(facts, target)
    return _Answer(epsilon, plan, expect_intervals(plan, regression=asked.regression))


def _row(one: _Answer) -> tuple[str, ...]:
    if one.hidden is not None:
        return (f"{one.epsilon:g}", *[""] * 5, "hidden")
    plan = one.plan
    return (
        f"{one.epsilon:g}",
        f"{plan.noise_multiplier:.3g}",
        f"{plan.steps:,}",
        f"{plan.rate * plan.n:,.0f}",
        f"{plan.epochs:.0f}",
        duration(one.forecast.seconds),
        f"{one.forecast.width:.2f}",
    )


def _plain(one: _Answer) -> dict[str, Any]:
    if one.hidden is not None:
        return {"epsilon": one.epsilon, "expected": None, "hidden": one.hidden}
    expected = {"seconds": one.forecast.seconds, "width": one.forecast.width}
    return {**one.plan.to_dict(), "expected": expected, "hidden": None}
