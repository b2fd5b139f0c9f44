"""``dpscd look``: the records before a fit, for their holder; not private."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json, print_table
from dpscd.errors import ParameterError


def look(
    data: Annotated[
        list[str], typer.Argument(help="CSV or Parquet files of one table; - is a pipe.")
    ],
    schema: Annotated[Path, typer.Option(help="The table's schema (TOML).", dir_okay=False)],
    ledger: Annotated[
        str | None, typer.Option(help="Ledger with the data set's budget, which may forbid it.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the data set there.")] = None,
    fail: Annotated[
        bool, typer.Option("--fail", help="Exit code 1 if there is a likely mistake.")
    ] = False,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Needed with --json: say that you know.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look for mistakes in a table or its schema before a fit. NOT PRIVATE.

    Shows, without noise, which share of labels and cells is within what the schema declares,
    and likely mistakes: other spellings, another unit, decimal commas. For the eyes of who
    holds the records; nothing of it is kept, and no fit uses it. What you then change of bounds
    or values is read off the records: mark it with read_from_data = true. The exit code is 0
    whatever is found, unless --fail asks for another. A budget made with --forbid-look refuses.

    Example: dpscd look patients.csv --schema patients.toml
    """
    with plain_errors():
        from dpscd.preprocessing.looking import look as look_at

        if as_json and not not_private:
            raise ParameterError(
                "--json prints facts about the records, without noise, for programs: add "
                "--not-private if they stay with you."
            )
        if not_private and not as_json:
            raise ParameterError("--not-private goes with --json.")
        found = look_at(list(data), schema, ledger=ledger, dataset=dataset)
        _print(found, as_json=as_json)
    if fail and found.hints:
        raise typer.Exit(1)


def _print(found: Any, *, as_json: bool) -> None:
    from dpscd.preprocessing.looking import NOT_PRIVATE, REPAIRS, ROWS, ColumnLook

    if as_json:
        print_json(
            {
                "warning": NOT_PRIVATE,
                "records": found.records,
                "columns": [own._asdict() for own in found.columns],
                "hints": list(found.hints),
            }
        )
        return
    typer.echo(NOT_PRIVATE)
    print_table(f"{found.records:,} records", ColumnLook._fields, found.rows, right=range(2, 6))
    for hint in found.hints or ("No likely mistake was found.",):
        typer.echo(f"* {hint}")
    for line in (ROWS, REPAIRS, NOT_PRIVATE):
        typer.echo(line)
