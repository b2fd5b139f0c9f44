"""``dpscd predict``: a model's answers for records, piece by piece."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import typer

from dpscd.cli.common import (
    BFLOAT16,
    AsJson,
    Data,
    Model,
    Own,
    are_arrays,
    load_model,
    open_rows,
    options,
    print_json,
)
from dpscd.errors import DataError, ParameterError

# How a cell begins that a spreadsheet may take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WRITTEN = ("", ".csv", ".txt", ".gz", ".parquet", ".pq")


@options(
    out=Own(str, "CSV (.gz too) or Parquet file; - prints CSV.", default="-"),
    keep=Own(list[str], "Column to copy to the output; may be repeated."),
    proba=Own(bool, "Add the probability of each class."),
    bfloat16=BFLOAT16,
)
def predict(
    model: Model,
    data: Data,
    *,
    as_json: AsJson = False,
    out: str,
    keep: list[str] | None,
    proba: bool,
    bfloat16: bool,
) -> None:
    """Predict for every record of a table, or row of .npy files, in order.

    They are read piece by piece, so they may be more than memory holds; a target may be absent.
    A prediction tells nothing about the people the model was trained on beyond the
    guarantee of its card, but it is about the person whose record it is for.

    In CSV, texts that a spreadsheet would take for formulas, which begin with = + - @, a tab or
    a carriage return, get an apostrophe in front; numbers and Parquet stay as they are.

    Example: dpscd predict model.json new.csv --out predictions.csv
    """
    from dpscd.progress import waiting

    _check_suffix(out)
    arrays = are_arrays([data])
    if arrays and keep:
        raise ParameterError("--keep copies columns of a table; .npy files have none.")
    if bfloat16 and not arrays:
        raise ParameterError("--bfloat16 goes with rows in .npy files.")
    found = load_model(model, arrays=arrays)
    if as_json and out == "-":
        raise ParameterError("--json needs --out with a file: both would print.")
    inner = getattr(found, "estimator_", found)
    if proba and not hasattr(inner, "predict_proba"):
        raise ParameterError(f"{type(inner).__name__} has no probabilities.")
    pieces = _row_pieces(data, bfloat16=bfloat16)
    if not arrays:
        pieces = _table_pieces(found, data, keep or [])
    count = 0
    # Predictions that are printed would follow the word in its line.
    word = nullcontext() if out == "-" else waiting("predicting")
    with word, _writer(out) as write:
        for records, kept in pieces:
            write(_answers(found, records, kept, proba))
            count += len(records)
    if as_json:
        print_json({"predictions": out, "records": count})
    elif out != "-":
        typer.echo(f"{count:,} predictions: {out}")


def _check_suffix(out: str) -> None:
    """Refuse a name whose ending is that of another format."""
    suffix = Path(out).suffix.lower()
    if suffix not in _WRITTEN:
        raise ParameterError(
            f"--out {Path(out).name}: predictions are written as CSV or Parquet, not as "
            f"{suffix}; call it {Path(out).stem}.csv, which spreadsheets open, .csv.gz or "
            ".parquet."
        )


def _table_pieces(model: Any, data: str, keep: list[str]) -> Iterator[tuple[Any, Any]]:
    """Yield records of a table, and their columns to copy."""
    from dpscd.records.encoding import used_columns
    from dpscd.records.files import open_table

    wanted = [*used_columns(model.schema_, target=False), *keep]
    for frame in open_table(data, model.schema_.layout).frames(wanted):
        for name in keep:
            if name not in frame.columns:
                raise ParameterError(f"the table has no column {name!r} to keep.")
        yield frame, {name: frame[name].to_numpy() for name in keep}


def _row_pieces(data: str, *, bfloat16: bool) -> Iterator[tuple[Any, Any]]:
    """Yield rows of arrays; at least one piece, maybe without rows."""
    rows = open_rows([data], bfloat16=bfloat16)
    for block in rows.blocks() if len(rows) else [slice(0)]:
        yield rows[block], {}


def _answers(model: Any, records: Any, kept: dict[str, Any], proba: bool) -> Any:
    import pandas as pd

    answers = pd.DataFrame(kept)
    found = model.predict(records) if len(records) else pd.Series(dtype=object)
    answers["prediction"] = found
    if proba:
        names = [f"probability {label}" for label in model.classes_]
        chances = model.predict_proba(records) if len(records) else []
        answers = answers.join(pd.DataFrame(chances, columns=names))
    return answers


@contextmanager
def _writer(out: str) -> Iterator[Any]:
    """Return a function that appends answers to a file, written completely or not at all."""
    from dpscd.atomic import atomic_write

    packed, plain = out.lower().endswith(".gz"), out == "-"
    with ExitStack() as files:
        if out.lower().endswith((".parquet", ".pq")):
            file: Any = files.enter_context(atomic_write(out, binary=True))
            yield files.enter_context(_parquet_appender(file))
            return
        file = sys.stdout if plain else files.enter_context(atomic_write(out, binary=packed))
        if packed:
            import gzip
            import io

            file = files.enter_context(gzip.GzipFile(fileobj=file, mode="wb", mtime=0))
            file = files.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        yield _csv_appender(file)


def _csv_appender(file: IO[str]) -> Any:
    first = True

    def write(answers: Any) -> None:
        nonlocal first
        texts = answers.select_dtypes(exclude=["number", "bool"])
        shown = answers.assign(**{name: texts[name].map(_no_formula) for name in texts})
        shown = shown.rename(columns=_no_formula)
        shown.to_csv(file, index=False, header=first, lineterminator="\n")
        first = False

    return write


def _no_formula(cell: Any) -> Any:
    """Return a CSV cell that no spreadsheet computes, in one row; numbers stay as they are."""
    if not isinstance(cell, str):
        return cell
    plain = cell.replace("\r\n", "\n").replace("\r", "\n")
    if not cell.startswith(_FORMULA):
        return plain
    try:
        float(cell)
    except ValueError:
        return f"'{plain}"
    return plain


@contextmanager
def _parquet_appender(file: IO[bytes]) -> Iterator[Any]:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise DataError(
            "Parquet files need pyarrow; install it with: pip install pyarrow"
        ) from None
    writer = empty = None

    def write(answers: Any) -> None:
        nonlocal writer, empty
        table = pa.Table.from_pandas(answers, preserve_index=False)
        if writer is None and not len(answers):
            empty = table  # its types are not known yet
            return
        writer = writer or ParquetWriter(file, table.schema)
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
        if writer is None and empty is not None:
            writer = ParquetWriter(file, empty.schema)
    finally:
        if writer is not None:
            writer.close()
