"""``dpscd example``: a table and its schema to try everything with."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dpscd.cli.common import AsJson, plain_errors, print_json

__all__ = ["example"]


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
