"""Shared by all verbs: errors in the words of the command line, JSON and tables."""

import json
import os
import re
import select
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dpscd.errors import DpscdError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

#: Environment variable that ``--debug`` sets: failures come with a traceback.
DEBUG = "DPSCD_DEBUG"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

_SAME = (
    "bound", "class_weight", "classes", "dataset", "delta", "epochs", "epsilon", "filter",
    "inference", "lam", "largest_class", "ledger", "level", "lot_size", "max_rows", "metric",
    "n", "person_rows", "person_weight", "relation", "row_bound", "trials", "travel",
)  # fmt: skip

#: The options of verbs, by the parameters that they are in Python.
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME}
OPTIONS |= {"random_state": "--seed", "y_bounds": "--bounds"}
#: The same where epsilon and delta are of a score.
SCORE_OPTIONS = OPTIONS | {"epsilon": "--private-epsilon", "delta": "--private-delta"}

_VALUE = r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|[^\s,;:()]*?(?=[\s,;:()]|\.(?:\s|$)|$)"
_WORDS = {"float('inf')": "inf", ", or 'auto'": "", "leave it 'auto'": "leave it out"}
_GIVEN = {"None": " (not given)", "False": " (not given)", "True": "", "": ""}

_FOLDED = 24  # signs in which the widest column of a table can still be read
_BUG = 70  # exit code of what is not the user's fault
_INTERRUPTED = 130


def in_options(text: str, options: Mapping[str, str] = OPTIONS) -> str:
    """Return a message with ``--epsilon 0`` instead of ``epsilon=0.0``, and so on.

    Parameters that `options` does not list stay as they are.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name == "n" and value not in _GIVEN and found.start():
            return found[0]  # a number of records that nobody typed
        if value in _GIVEN:
            return options[name] + _GIVEN[value]
        if value[0] in "'\"":
            return f"{options[name]} {value[1:-1]}"
        parts = (part.strip().removesuffix(".0") for part in value.strip("()[]").split(","))
        return f"{options[name]} {' '.join(parts)}"

    names = "|".join(sorted(options, key=len, reverse=True))
    told = re.sub(rf"(?<![\w.\-`])({names})=({_VALUE})", option, text)
    for python, typed in _WORDS.items():
        told = told.replace(python, typed)
    return told


@contextmanager
def plain_errors(
    interrupted: str = "Interrupted.", options: Mapping[str, str] = OPTIONS
) -> Iterator[None]:
    """Turn failures into one line on stderr; a traceback only with ``--debug``.

    `interrupted` is the message after Ctrl-C; `options` are the options of parameters in
    errors. Exit codes: 1 for what the user can mend, 70 for a bug, 130 after Ctrl-C. The text
    of an unexpected error is not shown, because it might hold a value of the data.
    """
    code = 1
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        _say(interrupted)
        code = _INTERRUPTED
    except ParameterError as error:
        _say(f"error: {in_options(str(error), options)}")
    except DpscdError as error:
        _say(f"error: {error}")
    except OSError as error:
        if isinstance(error, BrokenPipeError) and not stdout_is_read():
            raise typer.Exit(1) from None  # quietly, as other programs end before `head`
        file = f" {error.filename}:" if error.filename else ""
        _say(f"error:{file} {error.strerror or 'the file cannot be read or written'}.")
    except MemoryError:
        _say("error: there is not enough memory; see --dask, or sparse columns.")
    except Exception as error:  # whatever it is, its text stays here
        _say(
            f"error: this should not have happened ({type(error).__name__}); run again with "
            "--debug and report it, without your data."
        )
        code = _BUG
    else:
        return
    raise typer.Exit(code)


def stdout_is_read() -> bool:
    """Flush stdout and return whether it is read; if not, redirect it to nowhere."""
    if sys.stdout is None or not hasattr(select, "poll"):
        return True
    try:
        sys.stdout.flush()
        pipe = select.poll()
        pipe.register(sys.stdout, 0)
        if not pipe.poll(0):  # what could not be written is not always kept to be flushed
            return True
    except BrokenPipeError:
        pass
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return False


def _say(text: str) -> None:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    typer.echo(text, err=True)


def print_json(values: Any) -> None:
    """Print values as JSON on stdout."""
    typer.echo(json.dumps(values, indent=2, allow_nan=False))


def console(width: int = 100) -> "Console":
    """Return a console; if it is not a terminal, lines have this width and no colours."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


def print_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
) -> None:
    """Print a table on stdout; where it is too wide, one line of names and cells per row.

    Square brackets in cells are not markup. The columns `right` are aligned on the right.
    """
    from rich.table import Table
    from rich.text import Text

    shown = console()
    shown.print(Text(title))  # not the table's own title, which is as narrow as the table
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    folded = widths.index(max(widths))  # the one column that may have lines of several words
    whole = sum(widths) + 3 * len(widths) + 1
    if whole > shown.width and whole - max(0, max(widths) - _FOLDED) > shown.width:
        for row in rows:
            cells = zip(headings, row, strict=True)
            shown.print(Text("; ".join(f"{name} {cell}" for name, cell in cells)))
        return
    table = Table()
    for place, heading in enumerate(headings):
        side: Literal["right", "left"] = "right" if place in right else "left"
        table.add_column(heading, overflow="fold", no_wrap=place != folded, justify=side)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    shown.print(table)


def duration(seconds: float) -> str:
    """Return a duration for readers."""
    if seconds < 1.0:
        return "under 1 s"
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60:.0f} min"


def check_writable(path: Path, *, new: bool = False) -> None:
    """Raise an error if a file cannot be written, before anything is spent on it.

    One that is to be `new` must not be there.
    """
    if new and path.exists():
        raise ParameterError(f"{path} exists; choose another name or remove it first.")
    if path.is_dir():
        raise IsADirectoryError(21, "is a folder", str(path))
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"0" * 4096)
