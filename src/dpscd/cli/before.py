"""What comes before a fit: its forecast, a look at the records, a packaged table and a demo."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dpscd.cli.common import AsJson, Own, given_in, options, print_json, print_table
from dpscd.errors import ParameterError

_EPSILONS = (0.1, 0.5, 1.0, 2.0, float("inf"))
_HEAD = ("model", "epsilon", "test score", "seconds", "noise")


@options(
    "delta",
    "relation",
    n=Own(int, "How many; of persons if these are protected.", name="--records --n"),
    d=Own(int, "Number of features, without --schema."),
    schema=Own(Path, "The table's schema (TOML), from which features and target follow."),
    epsilon=Own(list[float], "Privacy to plan for; may be repeated.", "0.1 to 4"),
    classes=Own(int, "Number of classes of the target.", "2"),
    regression=Own(bool, "The target is a number."),
    largest_class=Own(
        float,
        "Share of the largest class, if public: guessing loses no more than the rest.",
        "an even share",
    ),
    inference=Own(bool, "For confidence intervals: how wide they would be."),
    robust=Own(bool, "--inference with robust standard errors."),
)
def plan(*, as_json: AsJson = False, **options: Any) -> None:
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
    from dpscd.estimators.planned import plan as forecasts

    given = given_in(options)
    if given.pop("robust", False):
        given["inference"] = "robust"
    found = forecasts(**{"n": None, **given})
    if as_json:
        print_json(found.values)
        return
    print_table(found.title, found.headings, found.rows, right=range(len(found.headings)))
    for note in found.notes:
        typer.echo(note)
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)


@options(
    ledger=Own(str, "Ledger with the data set's budget, which may forbid it."),
    dataset=Own(str, "Name of the data set there."),
    fail=Own(bool, "Exit code 1 if there is a likely mistake."),
    not_private=Own(bool, "Needed with --json: say that you know."),
)
def look(
    data: Annotated[
        list[str], typer.Argument(help="CSV or Parquet files of one table; - is a pipe.")
    ],
    schema: Annotated[Path, typer.Option(help="The table's schema (TOML).", dir_okay=False)],
    *,
    as_json: AsJson = False,
    fail: bool,
    not_private: bool,
    **charged: Any,
) -> None:
    """Look for mistakes in a table or its schema before a fit. NOT PRIVATE.

    Shows, without noise, which share of labels and cells is within what the schema declares,
    and likely mistakes: other spellings, another unit, decimal commas. For the eyes of who
    holds the records; nothing of it is kept, and no fit uses it. What you then change of bounds
    or values is read off the records: mark it with read_from_data = true. The exit code is 0
    whatever is found, unless --fail asks for another. A budget made with --forbid-look refuses.

    Example: dpscd look patients.csv --schema patients.toml
    """
    from dpscd.preprocessing.looking import NOT_PRIVATE, REPAIRS, ROWS, ColumnLook
    from dpscd.preprocessing.looking import look as look_at

    if as_json and not not_private:
        raise ParameterError(
            "--json prints facts about the records, without noise, for programs: add "
            "--not-private if they stay with you."
        )
    if not_private and not as_json:
        raise ParameterError("--not-private goes with --json.")
    found = look_at(list(data), schema, **charged)
    if as_json:
        columns = [own._asdict() for own in found.columns]
        values = {"warning": NOT_PRIVATE, "records": found.records, "columns": columns}
        print_json({**values, "hints": list(found.hints)})
    else:
        typer.echo(NOT_PRIVATE)
        title = f"{found.records:,} records"
        print_table(title, ColumnLook._fields, found.rows, right=range(2, 6))
        for hint in found.hints or ("No likely mistake was found.",):
            typer.echo(f"* {hint}")
        for line in (ROWS, REPAIRS, NOT_PRIVATE):
            typer.echo(line)
    if fail and found.hints:
        raise typer.Exit(1)


@options(seed=Own(int, "Make the run repeatable; for demonstrations only."))
def demo(*, seed: int | None) -> None:
    """Train three private models on the packaged Adult census table.

    Each is trained at several epsilons next to its non-private version. Columns are
    prepared from public facts alone (the questionnaire), so the guarantee is complete.

    Example: dpscd demo
    """
    from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
    from dpscd.data import adult_declared
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
    from dpscd.data import FILES, packaged

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
