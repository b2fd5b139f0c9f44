"""``dpscd audit``: attack the models and compare leaks with claims."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.common import console, in_options
from dpscd.cli.inputs import ALL, AuditedModel
from dpscd.errors import DpscdError, ParameterError
from dpscd.estimators.registry import MODELS, ModelKind, kind_of
from dpscd.privacy.relation import Relation

if TYPE_CHECKING:
    from rich.console import Console

    from dpscd.audit import AuditResult, DoorResult, ScoreResult

    Results = dict[str, dict[str, AuditResult]]

_QUICK = 10_000
_CANARIES = 4000
_LOTS_PER_EPOCH = 10
_FEWER = 0.4  # of the trials go through the door, where a canary takes longer
_FEWEST = 40
_SCORES = 0.05  # of them are scores, most of which have one canary each
_NO_PLOT = "No figure: it needs matplotlib; install it with: pip install matplotlib"


class Through(StrEnum):
    """The entrance of an attack."""

    ALL = "all"
    CORE = "core"
    ESTIMATOR = "estimator"
    TABLE = "table"
    SCORE = "score"


def audit(
    model: Annotated[AuditedModel, typer.Option(help="Which model to attack.")] = ALL,
    through: Annotated[
        Through,
        typer.Option(
            help="What to attack: the core mechanism, fit of the estimators, TableModel.fit, "
            "scores."
        ),
    ] = Through.ALL,
    epsilon: Annotated[float, typer.Option(help="The epsilon that is claimed.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The delta that is claimed.")] = 1e-5,
    relation: Annotated[
        Relation,
        typer.Option(
            help="Neighbouring data sets of the core mechanism; fits have their own ones."
        ),
    ] = Relation.ZERO_OUT,
    person_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Canaries are persons with so many rows each; records if not given, and in "
            "some fits persons with 5 rows.",
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            min=100,
            help="Canaries to observe, with and without them each; two fifths through fit, a "
            "twentieth of them in scores.",
        ),
    ] = 100_000,
    quick: Annotated[bool, typer.Option("--quick", help="10,000 canaries only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the figure; audit.png if not given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Make the audit repeatable.")] = None,
) -> None:
    """Attack the private models and bound from below what they leak.

    White-box: the attack sees the shared vector after every step, and uses the likelihood
    ratio. Black-box: it sees the coefficients. Both look for canaries, the worst records
    that there can be. A lower bound above the claim would be a bug: the exit code is 1.

    Through fit of the estimators and of tables the attack sees everything that is released:
    moments, bounds, a pilot's path and the main one. Each release is also held against its
    own claim.

    Scores are attacked through private_score, by a canary that is or is not among the held-out
    records: by the noisy sum, and by the number that users see.

    A canary that is a person has several rows that all pull the same way, given to fit by
    groups, or by a column of the table.

    Example: dpscd audit --quick --through table
    """
    from dpscd.audit import audit_door, audit_score
    from dpscd.audit.doors import estimator_doors, score_doors, table_doors

    if out is not None and not _can_plot():
        typer.echo(_NO_PLOT, err=True)
        raise typer.Exit(2)
    figure_path = out or Path("audit.png")
    if not figure_path.absolute().parent.is_dir():
        typer.echo(f"Error: there is no folder for --out {figure_path}.", err=True)
        raise typer.Exit(2)
    names = [x.value for x in AuditedModel] if model is ALL else [model.value]
    kinds = [kind for kind in MODELS if kind.name in names]
    wanted = _QUICK if quick else trials
    core = through in (Through.ALL, Through.CORE)
    results: Results = {}
    try:
        if core:
            claim = {"epsilon": epsilon, "delta": delta, "relation": relation.value}
            results = _attack_core(kinds, claim, person_rows, wanted, seed)
        claimed = (epsilon, delta, person_rows)
        games: list[Any] = []
        if through in (Through.ALL, Through.ESTIMATOR):
            games += estimator_doors(*claimed)
        if through in (Through.ALL, Through.TABLE):
            games += table_doors(*claimed)
        doors = _attack(audit_door, games, kinds, int(_FEWER * wanted), seed)
        games = score_doors(*claimed) if through in (Through.ALL, Through.SCORE) else []
        trials = max(_FEWEST, int(_SCORES * wanted))
        scores = _attack(audit_score, games, kinds, trials, seed, what="attacking scores")
        if through is Through.SCORE and not scores:
            raise ParameterError(
                f"--model {model.value}: scores are attacked of logistic and ridge models; "
                "give one of these, or leave --model out."
            )
    except DpscdError as error:
        typer.echo(f"Error: {in_options(error)}", err=True)
        raise typer.Exit(2) from None
    figure = _write_figure(results, figure_path) if core else None
    if as_json:
        typer.echo(_json(results, doors, scores, figure))
    else:
        if core:
            _print_core(results)
        if doors:
            _print_doors(doors)
        if scores:
            _print_scores(scores)
        if figure:
            typer.echo(f"Figure: {figure}")
    found = [r.exceeded for by_kind in results.values() for r in by_kind.values()]
    found += [door.exceeded for door in doors] + [score.exceeded for score in scores]
    if any(found):
        raise typer.Exit(1)


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal; what is done is given to the function that is yielded."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def _attack_core(
    kinds: Sequence[ModelKind],
    claim: dict[str, Any],
    person_rows: int | None,
    trials: int,
    seed: int | None,
) -> "Results":
    from dpscd.audit import Game
    from dpscd.audit import audit as run_audit

    game = Game(canaries=min(_CANARIES, 2 * trials), person_rows=person_rows)
    results: Results = {}
    with _progress("attacking", len(kinds) * 2 * 2 * trials) as progress:
        for each in kinds:
            # The constant column takes a share of a canary's length away from its own
            # feature; without it the attack is as strong as theory allows.
            estimator = each.estimator(
                **claim,
                n=game.records,
                lot_size=game.records // _LOTS_PER_EPOCH,
                fit_intercept=False,
            )
            results[each.name] = {
                kind: run_audit(
                    estimator,
                    kind=kind,
                    trials=trials,
                    game=game,
                    random_state=seed,
                    progress=progress,
                )
                for kind in ("white-box", "black-box")
            }
    return results


def _attack(
    one: Callable[..., Any],
    games: Sequence[Any],
    kinds: Sequence[ModelKind],
    trials: int,
    seed: int | None,
    *,
    what: str = "attacking",
) -> list[Any]:
    """Return the audits of the games with models of some kinds."""
    own = [game for game in games if kind_of(game.model) in kinds]
    with _progress(what, len(own) * 2 * trials) as progress:
        return [one(x, trials=trials, random_state=seed, progress=progress) for x in own]


def _can_plot() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def _write_figure(results: "Results", file: Path) -> str | None:
    if not _can_plot():
        typer.echo(_NO_PLOT, err=True)
        return None
    from dpscd.documents.figures import audit_figure

    audit_figure(results, file)
    return str(file)


def _json(
    results: "Results",
    doors: "list[DoorResult]",
    scores: "list[ScoreResult]",
    figure: str | None,
) -> str:
    """Return the white-box audit of each model, with the black-box one inside, and others."""
    found = {
        "models": {
            name: {
                **by_kind["white-box"].to_dict(),
                "black_box": by_kind["black-box"].to_dict(),
            }
            for name, by_kind in results.items()
        },
        "doors": [door.to_dict() for door in doors],
        "scores": [score.to_dict() for score in scores],
        "figure": figure,
    }
    return json.dumps(found, indent=2)


def _print_table(
    title: str,
    first: Any,
    headings: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    *,
    width: int = 110,
) -> "Console":
    """Print a table of audits, of which `first` is one; return the console for more."""
    from rich.table import Table

    table = Table(
        title=f"{title} on epsilon at delta {first.delta:g}, {first.confidence:.0%} "
        f"confidence, {first.trials:,} canaries in each world"
    )
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row, end_section="black-box" in row)
    shown = console(width)
    shown.print(table)
    return shown


def _cells(result: Any) -> tuple[str, str, str]:
    """Return the claim of a result, and the two bounds."""
    return (
        f"{result.epsilon_claimed:g}",
        f"{result.epsilon_lower:.3f}",
        f"{result.epsilon_lower_clopper_pearson:.3f}",
    )


def _verdict(result: Any) -> str:
    return "EXCEEDED" if result.exceeded else "holds"


def _print_core(results: "Results") -> None:
    audits = [result for by_kind in results.values() for result in by_kind.values()]
    first = audits[0]
    shown = _print_table(
        "Lower bounds",
        first,
        ("model", "attack", "claimed", "Gaussian", "Clopper-Pearson", "verdict"),
        (
            (name if kind == "white-box" else "", kind, *_cells(result), _verdict(result))
            for name, by_kind in results.items()
            for kind, result in by_kind.items()
        ),
        width=100,
    )
    rows = first.person_rows
    shown.print(
        f"Audited: {first.relation}, "
        f"canaries are {'records' if rows is None else f'persons with {rows} rows each'}, "
        f"{first.steps} steps at rate {first.rate:.3g}, noise multiplier "
        f"{first.noise_multiplier:g}. {sum(x.seconds for x in audits):.0f} seconds."
    )


def _print_doors(doors: "list[DoorResult]") -> None:
    """Print one line for each fit, and one for each release that exceeds its own claim."""
    shown = _print_table(
        "Through the front door: lower bounds",
        doors[0],
        ("fit", "relation", "claimed", "Gaussian", "Clopper-P.", "model alone", "verdict"),
        ((x.name, x.relation, *_cells(x), f"{x.model_lower:.3f}", _verdict(x)) for x in doors),
    )
    for door in doors:
        for release in door.releases:
            if release.exceeded:
                shown.print(
                    f"{door.name}: {release.what} {release.part}: claimed "
                    f"{release.epsilon_claimed:.3f} alone, measured "
                    f"{max(release.epsilon_lower, release.epsilon_lower_clopper_pearson):.3f}"
                )
    fits, seconds = sum(door.fits for door in doors), sum(door.seconds for door in doors)
    shown.print(f"{fits} fits in {seconds:.0f} seconds.")


def _print_scores(scores: "list[ScoreResult]") -> None:
    def alone(score: "ScoreResult") -> str:
        return "-" if score.value_lower is None else f"{score.value_lower:.3f}"

    shown = _print_table(
        "Private scores: lower bounds",
        scores[0],
        ("score", "relation", "claimed", "Gaussian", "Clopper-P.", "value alone", "verdict"),
        (
            (x.name.removeprefix("score: "), x.relation, *_cells(x), alone(x), _verdict(x))
            for x in scores
        ),
    )
    drawn, seconds = sum(x.scores for x in scores), sum(x.seconds for x in scores)
    shown.print(f"{drawn} scores in {seconds:.0f} seconds.")
