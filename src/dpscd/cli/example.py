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
        import lzma
        from importlib.resources import files

        from dpscd.whole import whole_file

        data = files("dpscd.bench").joinpath("data")
        out.mkdir(parents=True, exist_ok=True)
        written = []
        for part in ("data", "test"):
            file = out / f"{name.value}.{part}"
            packed = data.joinpath(f"{file.name}.xz").read_bytes()
            with whole_file(file, binary=True) as target:
                target.write(lzma.decompress(packed))
            written.append(file)
        file = out / f"{name.value}.toml"
        with whole_file(file) as text:
            text.write(data.joinpath(file.name).read_text(encoding="utf-8"))
        written.append(file)
        if as_json:
            print_json({"files": [str(file) for file in written]})
        else:
            typer.echo(", ".join(str(file) for file in written))
