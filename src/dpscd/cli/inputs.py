"""What verbs are given: models, records of tables or of ``.npy`` files, shared options."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpscd.cli.common import Own
from dpscd.errors import ModelFileError, ParameterError
from dpscd.estimators.registry import MODELS

if TYPE_CHECKING:
    from dpscd.records.stored_rows import StoredRows

LABELS = Own(list[str], "Labels of .npy files, one file for each of rows.")
BFLOAT16 = Own(bool, "The 16 bits (uint16) of .npy files are bfloat16.")

_AUDITED = [kind.name for kind in MODELS if kind.task != "counts"]

if TYPE_CHECKING:
    AuditedModel: TypeAlias = StrEnum
else:
    AuditedModel = StrEnum("AuditedModel", {name.upper(): name for name in ["all", *_AUDITED]})

#: What is attacked, unless a model is named.
ALL = AuditedModel("all")


def load_model(path: Path) -> Any:
    """Return the checked model in a file."""
    from dpscd import load

    return load(path)


def load_table_model(path: Path) -> Any:
    """Return the model in a file, which must have a schema."""
    found = load_model(path)
    if not hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds an estimator without schema, which knows arrays only; give it "
            ".npy files, or load it in Python with dpscd.load."
        )
    return found


def load_array_model(path: Path) -> Any:
    """Return the model in a file, which must be a model of rows of numbers."""
    found = load_model(path)
    if hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds a model of tables, which reads CSV or Parquet by its schema, "
            "not .npy files."
        )
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
    """Return the concatenated labels of files, or raise ParameterError.

    The message shows neither a label nor their number.
    """
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
