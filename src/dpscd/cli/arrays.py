"""Rows and labels in ``.npy`` files, which verbs accept instead of a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpscd.cli.models import load_model
from dpscd.errors import ModelFileError, ParameterError

if TYPE_CHECKING:
    from dpscd.preprocessing.stored_rows import StoredRows

__all__ = [
    "BFloat16",
    "LabelFiles",
    "are_arrays",
    "declared_classes",
    "load_array_model",
    "open_labels",
    "open_rows",
]

LabelFiles = Annotated[
    list[str] | None,
    typer.Option("--labels", help="Labels of .npy files, one file for each of rows."),
]

BFloat16 = Annotated[
    bool, typer.Option("--bfloat16", help="The 16 bits (uint16) of .npy files are bfloat16.")
]


def are_arrays(data: Sequence[str]) -> bool:
    """Return whether files hold rows of numbers, by their names: .npy, or a folder of them."""
    found = [name.lower().endswith(".npy") or any(Path(name).glob("*.npy")) for name in data]
    if any(found) and not all(found):
        raise ParameterError("give files of tables or .npy files, not both.")
    return all(found)


def open_rows(data: Sequence[str], *, bfloat16: bool) -> "StoredRows":
    """Return the rows of files; only the headers are read."""
    from dpscd.preprocessing.stored_rows import StoredRows

    return StoredRows(list(data), bfloat16=bfloat16)


def open_labels(files: Sequence[str] | None, count: int) -> Any:
    """Return the concatenated labels of files, or raise ParameterError.

    The message shows neither a label nor their number.
    """
    import numpy as np

    from dpscd.preprocessing.stored_rows import map_array

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


def declared_classes(text: str) -> list[Any]:
    """Return the classes of a list of labels, or of their number: "3" is 0, 1 and 2."""
    labels = [label.strip() for label in text.split(",")]
    whole = all(label.removeprefix("-").isdecimal() for label in labels)
    if len(labels) == 1:
        if not whole or not 2 <= int(text) <= _MOST_CLASSES:
            raise ParameterError(
                f"--classes {text} must be a number from 2 to {_MOST_CLASSES}, which means the "
                "labels 0, 1, 2 and so on, or the labels with commas between."
            )
        return list(range(int(text)))
    return [int(label) for label in labels] if whole else list(labels)


_MOST_CLASSES = 100_000  # beyond, it is rather a label than a number of them


def load_array_model(path: Path) -> Any:
    """Return the model in a file, which must be a model of rows of numbers."""
    found = load_model(path)
    if hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds a model of tables, which reads CSV or Parquet by its schema, "
            "not .npy files."
        )
    return found
