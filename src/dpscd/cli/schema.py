"""``dpscd schema``: declared facts about a table, without its records."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from dpscd.cli.common import AsJson, Verb, check_writable, plain_errors, print_json, print_table
from dpscd.errors import ParameterError

schema = typer.Typer(
    name="schema",
    help="Write and check the description of a table's columns.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@schema.command(cls=Verb)
def init(
    out: Annotated[Path, typer.Option(help="The schema's file (TOML).", dir_okay=False)],
    data: Annotated[
        str | None, typer.Argument(help="CSV or Parquet; - reads CSV from a pipe.")
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            help="CSV of what is known: name, kind, low, high, values, label.", dir_okay=False
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column to predict.", show_default="the last")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that identifies persons, who are protected with all their records.",
            show_default="every record by itself",
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(help="Names of the columns, with commas, of a file without header."),
    ] = None,
    delimiter: Annotated[
        str, typer.Option(help="What separates cells: one sign; tab for tabs.")
    ] = ",",
    comment: Annotated[
        str | None, typer.Option(help="Sign after which the rest of a line is ignored.")
    ] = None,
    read_values_from_data_not_private: Annotated[
        bool,
        typer.Option(
            "--read-values-from-data-not-private",
            help="Fill in kinds, bounds and values from the records; models will say so.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a schema to fill in, from the names of the columns alone.

    No record is read: of a CSV file the line of names, of a Parquet file its own schema, which
    has types too. The rest is left for you: it must be known without looking at the records.
    Whether a column identifies persons is asked by the names too, unless --person says it.

    A codebook says the rest. It has one line per column, and values with | between them.
    Columns that are alike share a part. DATA may be left out then, or is compared by its names.

    Example: dpscd schema init patients.csv --target ill --out patients.toml
    """
    with plain_errors():
        from dpscd.atomic import atomic_write
        from dpscd.preprocessing.declarations import Layout
        from dpscd.records.files import open_table

        if codebook is not None and read_values_from_data_not_private:
            raise ParameterError("with a codebook nothing is read off the records.")
        if data is None and codebook is None:
            raise ParameterError("give a file of the table, or --codebook.")
        check_writable(out, new=True)
        listed = tuple(name.strip() for name in names.split(",")) if names else ()
        sign = "\t" if delimiter in ("tab", r"\t") else delimiter
        if len(sign) != 1 or not sign.isascii():
            raise ParameterError(
                f"--delimiter {delimiter!r} must be one sign of ASCII, or tab."
            )
        layout = Layout(header=not listed, names=listed, delimiter=sign, comment=comment)
        from dpscd.preprocessing.template import ReadTemplate, declared_columns, template

        if codebook is not None:
            from dpscd.preprocessing.codebook import schema_of_codebook

            known = None if data is None else open_table(data, layout).names()
            text = schema_of_codebook(
                codebook, layout, target=target, person=person, names=known
            )
        elif data is not None and read_values_from_data_not_private:
            frames = open_table(data, layout).frames()
            first = next(frames)
            found = ReadTemplate([str(name) for name in first.columns], layout)
            for frame in chain((first,), frames):
                found.look(frame)
            text = found.text(target, person)
        elif data is not None:
            columns = declared_columns(data, layout)
            text = template(columns, layout, target=target, person=person)
        with atomic_write(out) as file:
            file.write(text)
        left = 0 if codebook else text.count("FILL IN")
        if as_json:
            print_json({"schema": str(out), "to_fill_in": left})
        elif codebook:
            typer.echo(
                f"{out}: made of {codebook.name}. dpscd schema check shows its features."
            )
        elif left:
            typer.echo(f"{out}: {left} places marked FILL IN are left for you.")
        else:
            typer.echo(
                f"{out}: kinds, bounds and values were read off the records, not private."
            )


@schema.command(cls=Verb)
def check(
    file: Annotated[Path, typer.Argument(help="The schema's file (TOML).")],
    data: Annotated[
        str | None,
        typer.Argument(help="A file of the table (CSV or Parquet), to compare its columns."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(min=0.0, help="Of the fit, for shapes that follow from it.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="Number of records, for the same.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a schema and show the features that it makes.

    Numbers without a declared shape get one by epsilon and n; without these they are lines.
    With a file of the table the names of its columns are compared too, and of a Parquet file
    the types it declares: dates are no numbers. No record is read; for those see dpscd look.

    Example: dpscd schema check patients.toml --epsilon 1 --n 20000
    """
    with plain_errors():
        from dpscd.preprocessing.column_features import width_of
        from dpscd.preprocessing.declarations import Cross
        from dpscd.preprocessing.schema import Schema, shaped_if_known
        from dpscd.preprocessing.template import undeclared_dates
        from dpscd.records.encoding import feature_names, is_sparse
        from dpscd.records.files import open_table

        found = Schema.read(file)
        if data is not None and found.has_patterns:
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
