"""Audits of private scores, and their table."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpscd.estimators.registry import ModelKind, kind_of

if TYPE_CHECKING:
    from dpscd.audit import ScoreResult

__all__ = ["audit_scores", "print_scores"]

_HEADINGS = ("score", "relation", "claimed", "Gaussian", "Clopper-P.", "value alone", "verdict")


def audit_scores(
    kinds: Sequence[ModelKind],
    claim: tuple[float, float, int | None],
    trials: int,
    seed: int | None,
) -> "list[ScoreResult]":
    """Attack the scores of some models.

    `claim` is epsilon, delta, and rows of a canary that is a person. `trials` counts canaries
    in each world.
    """
    from rich.console import Console
    from rich.progress import Progress

    from dpscd.audit import audit_score
    from dpscd.audit.doors import score_doors

    games = [game for game in score_doors(*claim) if kind_of(game.model) in kinds]
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("attacking scores", total=len(games) * 2 * trials)
        return [
            audit_score(
                game,
                trials=trials,
                random_state=seed,
                progress=lambda done: bar.advance(task, done),
            )
            for game in games
        ]


def print_scores(scores: "list[ScoreResult]") -> None:
    """Print one line for each score."""
    from rich.console import Console
    from rich.table import Table

    first = scores[0]
    table = Table(
        title=f"Private scores: lower bounds on epsilon at delta {first.delta:g}, "
        f"{first.confidence:.0%} confidence, {first.trials:,} canaries in each world"
    )
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "score" else "right")
    for score in scores:
        table.add_row(
            score.name.removeprefix("score: "),
            score.relation,
            f"{score.epsilon_claimed:g}",
            f"{score.epsilon_lower:.3f}",
            f"{score.epsilon_lower_clopper_pearson:.3f}",
            "-" if score.value_lower is None else f"{score.value_lower:.3f}",
            "EXCEEDED" if score.exceeded else "holds",
        )
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table)
    drawn, seconds = (sum(getattr(x, name) for x in scores) for name in ("scores", "seconds"))
    console.print(f"{drawn} scores in {seconds:.0f} seconds.", highlight=False)
