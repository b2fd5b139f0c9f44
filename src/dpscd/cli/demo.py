"""``dpscd demo`` and ``example``: a packaged table, and the cost of privacy on it."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json

_EPSILONS = (0.1, 0.5, 1.0, 2.0, float("inf"))


def demo(
    seed: Annotated[
        int | None, typer.Option(help="Make the run repeatable; for demonstrations only.")
    ] = None,
) -> None:
    """Train three private models on the packaged Adult census table.

    Each is trained at several epsilons next to its non-private version. Columns are
    prepared from public facts alone (the questionnaire), so the guarantee is complete.

    Example: dpscd demo
    """
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
    from dpscd.data.adult import adult_declared

    income, hours = adult_declared("income"), adult_declared("hours-per-week")
    classes = [False, True]
    models: list[tuple[str, Any, Any]] = [
        ("logistic (income)", DPLogisticRegression(classes=classes), income),
        ("SVM (income)", DPLinearSVC(classes=classes), income),
        ("ridge (hours)", DPRidge(y_bounds=(0.0, 100.0)), hours),
    ]
    console = Console()
    table = Table(
        title=f"Adult census: {len(income.y):,} people to train, {len(income.y_test):,} to test"
    )
    for heading in ("model", "epsilon", "test score", "seconds", "noise"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    shown = None
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("training", total=len(models) * len(_EPSILONS))
        for name, model, data in models:
            measure = "R2" if name.startswith("ridge") else "accuracy"
            for epsilon in _EPSILONS:
                model.set_params(epsilon=epsilon, random_state=seed)
                start = time.perf_counter()
                model.fit(data.X, data.y)
                seconds = time.perf_counter() - start
                card = model.privacy_
                score = model.score(data.X_test, data.y_test)
                noise = f"{card.noise_multiplier:.3g}" if card.private else "none"
                table.add_row(
                    name if epsilon == _EPSILONS[0] else "",
                    f"{epsilon:g}" if card.private else "not private",
                    f"{measure} {score:.3f}",
                    f"{seconds:.1f}",
                    noise,
                    end_section=not card.private,
                )
                if shown is None and epsilon == 1.0:
                    shown = (name, card)
                bar.advance(task)
    console.print(table)
    if shown:
        console.print(f"\nThe privacy card of [bold]{shown[0]}[/bold] at epsilon 1:")
        console.print(str(shown[1]), markup=False, highlight=False)


class ExampleName(StrEnum):
    """The examples."""

    ADULT = "adult"


def example(
    name: Annotated[ExampleName, typer.Argument(help="Which table.")] = ExampleName.ADULT,
    out: Annotated[Path, typer.Option(help="Folder for the files.", file_okay=False)] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a packaged table (train and test part) and its schema to a folder.

    adult: income of 48,842 people in the census of 1994, as UCI distributes it.

    Example: dpscd example adult
    """
    with plain_errors():
        from dpscd.atomic import atomic_write
        from dpscd.data.adult import FILES, packaged

        out.mkdir(parents=True, exist_ok=True)
        written = []
        for file in (*(out / part for part in FILES), out / f"{name.value}.toml"):
            with atomic_write(file, binary=True) as target:
                target.write(packaged(file.name))
            written.append(file)
        if as_json:
            print_json({"files": [str(file) for file in written]})
        else:
            typer.echo(", ".join(str(file) for file in written))
