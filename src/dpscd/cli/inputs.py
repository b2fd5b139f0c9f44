"""What verbs are given: models, and records of tables or of ``.npy`` files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.common import Own
from dpscd.errors import ModelFileError, ParameterError

if TYPE_CHECKING:
    from dpscd.records.stored_rows import StoredRows

Model = Annotated[Path, typer.Argument(help="The model's file.")]
Data = Annotated[str, typer.Argument(help="CSV, Parquet or .npy; - reads CSV from a pipe.")]

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
