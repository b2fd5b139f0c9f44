"""``dpscd audit``: attack the models and compare leaks with claims."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from dpscd.cli.common import AsJson, Own, in_options, options, print_json, print_table
from dpscd.errors import DpscdError, ParameterError
from dpscd.estimators.registry import MODELS
from dpscd.privacy.relation import Relation
from dpscd.progress import is_terminal, step_bar

if TYPE_CHECKING:
    from dpscd.audit import AuditResult

_QUICK = 10_000
_FEWEST = 40
#: Share of the trials that each entrance gets: a canary takes longer where it is small.
_SHARES = {"core": 1.0, "estimator": 0.4, "table": 0.4, "score": 0.05, "search": 0.01}
_AUDITED = (kind.name for kind in MODELS if kind.task != "counts")


@options(
    model=Own(("all", *_AUDITED), "Which model to attack.", default="all"),
    through=Own(
        ("all", *_SHARES),
        "What to attack: long trainings, fit of the estimators, TableModel.fit, scores, "
        "searches.",
        default="all",
    ),
    epsilon=Own(float, "The epsilon that is claimed.", default=1.0),
    delta=Own(float, "The delta that is claimed.", default=1e-5),
    relation=Own(
        tuple(Relation),
        "Neighbouring data sets of long trainings; others have their own.",
        default="zero-out",
    ),
    person_rows=Own(
        int,
        "Canaries are persons with so many rows each; records if not given, and in some cases "
        "persons with 5 rows.",
        least=1,
    ),
    trials=Own(
        int,
        "Canaries to observe in long trainings, with and without them each; two fifths of them "
        "in fits, a twentieth in scores, a hundredth in searches.",
        default=100_000,
        least=100,
    ),
    quick=Own(bool, "10,000 canaries only."),
    seed=Own(int, "Make the audit repeatable."),
)
def audit(
    *,
    model: str,
    through: str,
    trials: int,
    quick: bool,
    seed: int | None,
    as_json: AsJson = False,
    **claim: Any,
) -> None:
    """Attack the private models and bound from below what they leak.

    All attacks look for canaries, the worst records that there can be, and see everything
    that is released: of a fit the moments, bounds, a pilot's path and the main one, by the
    shared vector after every step; of a score its noisy sum; of a search the best model or
    score. What a user gets is attacked alone too, and each release is held against its own
    claim. A lower bound above a claim would be a bug: the exit code is 1.

    A canary that is a person has several rows that all pull the same way, given to fit by
    groups, or by a column of the table.

    Example: dpscd audit --quick --through table
    """
    from dpscd.audit.cases import cases

    wanted = _QUICK if quick else trials
    own = {name: max(_FEWEST, int(share * wanted)) for name, share in _SHARES.items()}
    try:
        chosen = [
            (case, own[entrance])
            for entrance in (own if through == "all" else [through])
            for case in cases(entrance, **claim)
            if model in ("all", case.estimator.kind.name)
        ]
        if not chosen:
            raise ParameterError(
                f"--model {model}: nothing of it is attacked through {through}."
            )
        results = list(_results(chosen, seed))
    except DpscdError as error:
        typer.echo(f"Error: {in_options(error)}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        print_json({"audits": [result.to_dict() for result in results]})
    else:
        _print(results)
    if any(result.exceeded for result in results):
        raise typer.Exit(1)


def _results(chosen: list[tuple[Any, int]], seed: int | None) -> "Iterator[AuditResult]":
    from dpscd.audit import audit

    total = 2 * sum(trials for _, trials in chosen)
    with step_bar(total, "attacking", asked=is_terminal(sys.stderr)) as progress:
        for case, trials in chosen:
            yield audit(case, trials=trials, random_state=seed, progress=progress)


def _print(results: "list[AuditResult]") -> None:
    """Print a line for each case, and one for each release that exceeds its own claim."""
    rows = []
    for result in results:
        whole, *others = result.bounds
        alone = [bound for bound in others if bound.statistic.endswith(" alone")]
        rows.append(
            (
                result.name,
                result.relation,
                f"{result.trials:,}",
                f"{whole.gaussian:.3f}",
                f"{whole.clopper_pearson:.3f}",
                f"{alone[0].gaussian:.3f}" if alone else "-",
                "EXCEEDED" if result.exceeded else "holds",
            )
        )
    first = results[0]
    print_table(
        f"Claimed: epsilon {first.epsilon_claimed:g} at delta {first.delta:g}. Lower bounds on "
        f"epsilon at {first.bounds[0].confidence:.0%} confidence:",
        ("case", "relation", "trials", "Gaussian", "Clopper-P.", "alone", "verdict"),
        rows,
        right=range(2, 6),
    )
    for result in results:
        for bound in result.bounds:
            if bound.exceeded:
                typer.echo(
                    f"{result.name}: {bound.statistic}: claimed {bound.epsilon_claimed:.3f}, "
                    f"measured {bound.measured:.3f}"
                )
    runs, seconds = sum(x.runs for x in results), sum(x.seconds for x in results)
    typer.echo(f"{runs:,} runs in {seconds:.0f} seconds.")
