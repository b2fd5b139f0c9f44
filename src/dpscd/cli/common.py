"""Shared by all verbs: options, errors in their words, JSON and tables, models and records."""

import inspect
import json
import os
import select
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand

from dpscd.atomic import existing_folder
from dpscd.errors import DpscdError, ModelFileError, ParameterError
from dpscd.estimators.parameters import AUTO, SWITCH, TABLE, Parameter

if TYPE_CHECKING:
    from rich.console import Console

    from dpscd.records.stored_rows import StoredRows

F = TypeVar("F", bound=Callable[..., Any])

#: Environment variable that ``--debug`` sets: failures come with a traceback.
DEBUG = "DPSCD_DEBUG"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Model = Annotated[Path, typer.Argument(help="The model's file.")]
Data = Annotated[str, typer.Argument(help="CSV, Parquet or .npy; - reads CSV from a pipe.")]

_PLANNED = "Planned unless given"
_FOLDED = 24  # signs in which the widest column of a table can still be read
_BUG = 70  # exit code of what is not the user's fault
_INTERRUPTED = 130


class Verb(TyperCommand):
    """A verb: it fails in one line, which names parameters as its own options do."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        global _options
        _options = {one.name: one.opts[0] for one in self.params if one.name}
        with plain_errors():
            return super().invoke(ctx)


# Of the verb that runs, by the names of its parameters.
_options: Mapping[str, str] = {}


def in_options(error: Exception) -> str:
    """Return the message of an error, its parameters as options: ``--epsilon 0``."""
    return error.said(_typed) if isinstance(error, ParameterError) else str(error)


def _typed(name: str, value: Any) -> str:
    option = _options.get(name)
    if option is None:
        return f"{name} {value}"
    if value is ... or value is True:
        return option
    if value is None or value is False or value == AUTO:
        return f"{option} (not given)"
    parts = value if isinstance(value, list | tuple) else [value]
    return " ".join([option, *(str(part).removesuffix(".0") for part in parts)])


class Own(NamedTuple):
    """An option of a verb that is no parameter of an estimator."""

    type: Any  # or the values that there are
    words: str
    usual: str | bool = False  # the default in words
    name: str = ""  # or names, unless it is the parameter's, with dashes
    metavar: str | None = None
    default: Any = None
    least: float | None = None  # allowed

    def annotation(self, name: str) -> Any:
        """Return what Typer needs to know of the option."""
        option = typer.Option(
            *(self.name or f"--{name.replace('_', '-')}").split(),
            help=self.words,
            show_default=self.usual or self.default is not None,
            metavar=self.metavar,
            min=self.least,
        )
        one = _choice(name, self.type) if isinstance(self.type, tuple) else self.type
        given = one is bool or self.default is not None
        return Annotated[one if given else one | None, option]


def options(*names: str, **own: Own) -> Callable[[F], F]:
    """Give a verb options, taken by keyword: its own, then those of the table of parameters."""

    def added(verb: F) -> F:
        signature = inspect.signature(verb, eval_str=True)
        kinds = inspect.Parameter
        made = {
            name: kinds(
                name,
                kinds.KEYWORD_ONLY,
                default=False if one.type is bool else one.default,
                annotation=one.annotation(name),
            )
            for name, one in own.items()
        } | {
            name: kinds(
                name, kinds.KEYWORD_ONLY, default=None, annotation=_annotation(TABLE[name])
            )
            for name in names
        }
        stated = [
            x
            for x in signature.parameters.values()
            if x.name not in made and x.kind is not kinds.VAR_KEYWORD
        ]
        last = [x for x in stated if x.kind is kinds.KEYWORD_ONLY]
        every = [*(x for x in stated if x not in last), *made.values(), *last]
        verb.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
        verb.__annotations__ = {x.name: x.annotation for x in every} | {"return": None}
        return verb

    return added


def given_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; switches may be given as off."""
    switches = {row.name for row in TABLE.values() if row.kind is SWITCH}
    return {
        name: value
        for name, value in options.items()
        if value is not None and (value is not False or name in switches)
    }


def _annotation(row: Parameter) -> Any:
    """Return what Typer needs to know of a parameter."""
    kind, declared = row.kind, row.typed
    one: Any = kind.type
    read: Callable[[str], Any] | None = None
    if kind is SWITCH:
        declared = f"{declared}/--no-{declared[2:]}"
    elif kind.values:
        one = _choice(row.name, kind.values)
    elif row.default == AUTO:
        read = partial(_number_or_auto, kind.type)
    elif kind.type is tuple:
        one = tuple[float, float]
    option = typer.Option(
        declared,
        help=row.words,
        show_default=row.usual or (False if row.default is None else str(row.default)),
        rich_help_panel=_PLANNED if row.planned else None,
        parser=read,
        metavar=kind.python.upper() if read else None,
    )
    return Annotated[one | None, option]


def _number_or_auto(number: type, text: str) -> Any:
    return text if text == AUTO else number(text)


def _choice(name: str, values: Sequence[Any]) -> Any:
    """Return the type of an option that has one of these values."""
    members: Any = {value: value for value in values}
    return StrEnum(name, members)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn failures into one line on stderr; a traceback only with ``--debug``.

    Exit codes: 1 for what the user can mend, 70 for a bug, 130 after Ctrl-C. The text of an
    unexpected error is not shown, because it might hold a value of the data.
    """
    code = 1
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        _say("Interrupted; no file was written. What was charged to a ledger stays charged.")
        code = _INTERRUPTED
    except DpscdError as error:
        _say(f"error: {in_options(error)}")
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
    """Print a table on stdout, or one line of names and cells per row where it is too wide."""
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


def check_writable(path: Path, *, new: bool = False) -> None:
    """Raise an error if a file cannot be written, or is there, if it is to be `new`."""
    if new and path.exists():
        raise ParameterError(f"{path} exists; choose another name or remove it first.")
    if path.is_dir():
        raise IsADirectoryError(21, "is a folder", str(path))
    with tempfile.TemporaryFile(dir=existing_folder(path)) as file:
        file.write(b"0" * 4096)


# --- models and records -----------------------------------------------------------------------

LABELS = Own(list[str], "Labels of .npy files, one file for each of rows.")
BFLOAT16 = Own(bool, "The 16 bits (uint16) of .npy files are bfloat16.")

# What a file holds that has the other kind of model.
_OTHER = {
    True: "a model of tables, which reads CSV or Parquet by its schema, not .npy files.",
    False: "an estimator without schema, which knows arrays only; give it .npy files, or load "
    "it in Python with dpscd.load.",
}


def load_model(path: Path, *, arrays: bool | None = None) -> Any:
    """Return the checked model in a file, which must be one of arrays, or of tables."""
    from dpscd import load

    found = load(path)
    tables = hasattr(found, "schema_")
    if arrays is tables:
        raise ModelFileError(f"{path.name} holds {_OTHER[tables]}")
    return found


def are_arrays(data: Sequence[str]) -> bool:
    """Return whether files hold rows of numbers, by their names: .npy, or a folder of them."""
    found = [name.lower().endswith(".npy") or any(Path(name).glob("*.npy")) for name in data]
    if any(found) and not all(found):
        raise ParameterError("give files of tables or .npy files, not both.")
    return all(found)


def open_rows(data: Sequence[str], *, bfloat16: bool) -> "StoredRows":
    """Return the rows of files; only the headers are read."""
    from dpscd.records.stored_rows import StoredRows

    return StoredRows(list(data), bfloat16=bfloat16)


def open_labels(files: Sequence[str] | None, count: int) -> Any:
    """Return the labels of files; messages show neither a label nor their number."""
    import numpy as np

    from dpscd.records.stored_rows import map_array

    if not files:
        raise ParameterError("rows in .npy files need --labels: a .npy file with one each.")
    parts = [map_array(file) for file in files]
    if any(part.ndim != 1 for part in parts):
        raise ParameterError("--labels must be arrays with one dimension: one label per row.")
    # Texts are as wide as the longest label, which is a record's: only their kind counts.
    if len({"U" if part.dtype.kind == "U" else part.dtype for part in parts}) != 1:
        raise ParameterError("--labels must all be of one type: another would be rounded.")
    if sum(map(len, parts)) != count:
        raise ParameterError("--labels must have as many labels as there are rows.")
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
