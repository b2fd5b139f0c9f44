"""``dpscd schema``: declared facts about a table, without its records."""

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from dpscd.cli.common import (
    AsJson,
    Own,
    Verb,
    check_writable,
    options,
    print_json,
    print_table,
)
from dpscd.errors import ParameterError

schema = typer.Typer(
    name="schema",
    help="Write and check the description of a table's columns.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@schema.command(cls=Verb)
@options(
    codebook=Own(Path, "CSV of what is known: name, kind, low, high, values, label."),
    target=Own(str, "Column to predict.", "the last"),
    person=Own(
        str,
        "Column that identifies persons, who are protected with all their records.",
        "every record by itself",
    ),
    names=Own(str, "Names of the columns, with commas, of a file without header."),
    delimiter=Own(str, "What separates cells: one sign; tab for tabs.", default=","),
    comment=Own(str, "Sign after which the rest of a line is ignored."),
    read_values_from_data_not_private=Own(
        bool, "Fill in kinds, bounds and values from the records; models will say so."
    ),
)
def init(
    out: Annotated[Path, typer.Option(help="The schema's file (TOML).", dir_okay=False)],
    data: Annotated[
        str | None, typer.Argument(help="CSV or Parquet; - reads CSV from a pipe.")
    ] = None,
    *,
    as_json: AsJson = False,
    codebook: Path | None,
    target: str | None,
    person: str | None,
    read_values_from_data_not_private: bool,
    **look: Any,
) -> None:
    """Write a schema to fill in, from the names of the columns alone.

    No record is read: of a CSV file the line of names, of a Parquet file its own schema, which
    has types too. The rest is left for you: it must be known without looking at the records.
    Whether a column identifies persons is asked by the names too, unless --person says it.

    A codebook says the rest. It has one line per column, and values with | between them.
    Columns that are alike share a part. DATA may be left out then, or is compared by its names.

    Example: dpscd schema init patients.csv --target ill --out patients.toml
    """
    from dpscd.atomic import atomic_write
    from dpscd.preprocessing.codebook import schema_of_codebook
    from dpscd.preprocessing.template import ReadTemplate, declared_columns, template
    from dpscd.records.files import open_table

    read = read_values_from_data_not_private
    if codebook is not None and read:
        raise ParameterError("with a codebook nothing is read off the records.")
    if data is None and codebook is None:
        raise ParameterError("give a file of the table, or --codebook.")
    check_writable(out, new=True)
    layout = _layout(**look)
    if codebook is not None:
        known = None if data is None else open_table(data, layout).names()
        text = schema_of_codebook(codebook, layout, target=target, person=person, names=known)
    elif data is not None and read:
        frames = open_table(data, layout).frames()
        first = next(frames)
        found = ReadTemplate([str(name) for name in first.columns], layout)
        for frame in chain((first,), frames):
            found.look(frame)
        text = found.text(target, person)
    elif data is not None:
        text = template(declared_columns(data, layout), layout, target=target, person=person)
    with atomic_write(out) as file:
        file.write(text)
    left = 0 if codebook else text.count("FILL IN")
    if as_json:
        print_json({"schema": str(out), "to_fill_in": left})
    elif codebook:
        typer.echo(f"{out}: made of {codebook.name}. dpscd schema check shows its features.")
    elif left:
        typer.echo(f"{out}: {left} places marked FILL IN are left for you.")
    else:
        typer.echo(f"{out}: kinds, bounds and values were read off the records, not private.")


def _layout(delimiter: str, names: str | None, comment: str | None) -> Any:
    """Return how a file is written."""
    from dpscd.preprocessing.declarations import Layout

    listed = tuple(name.strip() for name in names.split(",")) if names else ()
    sign = "\t" if delimiter in ("tab", r"\t") else delimiter
    if len(sign) != 1 or not sign.isascii():
        raise ParameterError(f"--delimiter {delimiter!r} must be one sign of ASCII, or tab.")
    return Layout(header=not listed, names=listed, delimiter=sign, comment=comment)


@schema.command(cls=Verb)
@options(
    epsilon=Own(float, "Of the fit, for shapes that follow from it.", least=0.0),
    n=Own(int, "Number of records, for the same.", least=1),
)
def check(
    file: Annotated[Path, typer.Argument(help="The schema's file (TOML).")],
    data: Annotated[
        str | None,
        typer.Argument(help="A file of the table (CSV or Parquet), to compare its columns."),
    ] = None,
    *,
    as_json: AsJson = False,
    epsilon: float | None,
    n: int | None,
) -> None:
    """Check a schema and show the features that it makes.

    Numbers without a declared shape get one by epsilon and n; without these they are lines.
    With a file of the table the names of its columns are compared too, and of a Parquet file
    the types it declares: dates are no numbers. No record is read; for those see dpscd look.

    Example: dpscd schema check patients.toml --epsilon 1 --n 20000
    """
    from dpscd.preprocessing.column_features import width_of
    from dpscd.preprocessing.declarations import Cross
    from dpscd.preprocessing.schema import Schema, shaped_if_known
    from dpscd.preprocessing.template import undeclared_dates
    from dpscd.records.encoding import feature_names, is_sparse
    from dpscd.records.files import open_table

    found = Schema.read(file)
    if data is not None and found.patterns:
        found = found.resolved(open_table(data, found.layout).names())
    if epsilon is not None or n is not None:
        found = shaped_if_known(found, epsilon, n)
    warnings = [] if data is None else undeclared_dates(found, data)
    features = feature_names(found)
    pairs = {x.name: width_of(x) for x in found.parts if isinstance(x, Cross)}
    if as_json:
        print_json(
            {
                "ok": True,
                "features": features,
                "pairs": pairs,
                "sparse": is_sparse(found),
                "read_from_data": list(found.read_from_data),
                "private_bounds": [column.name for column in found.private],
                "person": found.person,
                "warnings": warnings,
            }
        )
        return
    rows = [
        (
            column.name,
            column.kind,
            str(width_of(column)) if column.kind != "ignore" else "-",
            "read from data" if column.read_from_data else "declared",
        )
        for column in found.columns
    ]
    rows += [(name, "pair", str(width), "declared") for name, width in pairs.items()]
    print_table(
        f"{file.name}: {len(features)} features for {found.target.name!r}",
        ("column", "kind", "features", "known from"),
        rows,
        right=(2,),
    )
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    if found.person is not None:
        typer.echo(
            "Protected is a person: all records with the same value of "
            f"{found.person!r}, which is no feature."
        )
    if any(column.undecided for column in found.columns):
        typer.echo(
            "Numbers get more features in a fit, by epsilon and n: give --epsilon and --n."
        )
