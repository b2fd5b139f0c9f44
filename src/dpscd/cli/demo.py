"""``dpscd demo`` and ``example``: a packaged table, and the cost of privacy on it."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dpscd.cli.common import AsJson, Own, options, print_json, print_table

_EPSILONS = (0.1, 0.5, 1.0, 2.0, float("inf"))
_HEAD = ("model", "epsilon", "test score", "seconds", "noise")


@options(seed=Own(int, "Make the run repeatable; for demonstrations only."))
def demo(*, seed: int | None) -> None:
    """Train three private models on the packaged Adult census table.

    Each is trained at several epsilons next to its non-private version. Columns are
    prepared from public facts alone (the questionnaire), so the guarantee is complete.

    Example: dpscd demo
    """
    from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
    from dpscd.data.adult import adult_declared
    from dpscd.progress import is_terminal, step_bar

    income, hours = adult_declared("income"), adult_declared("hours-per-week")
    classes = [False, True]
    models: list[tuple[str, Any, Any]] = [
        ("logistic (income)", DPLogisticRegression(classes=classes), income),
        ("SVM (income)", DPLinearSVC(classes=classes), income),
        ("ridge (hours)", DPRidge(y_bounds=(0.0, 100.0)), hours),
    ]
    rows, cards = [], []
    asked = is_terminal(sys.stderr)
    with step_bar(len(models) * len(_EPSILONS), "training models", asked=asked) as advance:
        for name, model, data in models:
            measure = "R2" if name.startswith("ridge") else "accuracy"
            for epsilon in _EPSILONS:
                model.set_params(epsilon=epsilon, random_state=seed)
                start = time.perf_counter()
                card = model.fit(data.X, data.y).privacy_
                seconds = time.perf_counter() - start
                score = f"{measure} {model.score(data.X_test, data.y_test):.3f}"
                shown = ("not private", "none")
                if card.private:
                    shown = (f"{epsilon:g}", f"{card.noise_multiplier:.3g}")
                rows.append((name, shown[0], score, f"{seconds:.1f}", shown[1]))
                cards += [(name, card)] if epsilon == 1.0 else []
                if advance is not None:
                    advance(1)
    counts = f"{len(income.y):,} people to train, {len(income.y_test):,} to test"
    print_table(f"Adult census: {counts}", _HEAD, rows, right=range(1, 5))
    name, card = cards[0]
    typer.echo(f"\nThe privacy card of {name} at epsilon 1:\n{card}")


def example(
    name: Annotated[Literal["adult"], typer.Argument(help="Which table.")] = "adult",
    out: Annotated[Path, typer.Option(help="Folder for the files.", file_okay=False)] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a packaged table (train and test part) and its schema to a folder.

    adult: income of 48,842 people in the census of 1994, as UCI distributes it.

    Example: dpscd example adult
    """
    from dpscd.atomic import atomic_write
    from dpscd.data.adult import FILES, packaged

    out.mkdir(parents=True, exist_ok=True)
    written = []
    for file in (*(out / part for part in FILES), out / f"{name}.toml"):
        with atomic_write(file, binary=True) as target:
            target.write(packaged(file.name))
        written.append(file)
    if as_json:
        print_json({"files": [str(file) for file in written]})
    else:
        typer.echo(", ".join(str(file) for file in written))
