"""Model files as verbs read them."""

from pathlib import Path
from typing import Any

from dpscd.errors import ModelFileError

__all__ = ["load_model", "load_table_model"]


def load_model(path: Path, key: Path | None = None) -> Any:
    """Return the model in a file, which was checked; its signature too, if a key is given."""
    from dpscd import load

    return load(path, key=key)


def load_table_model(path: Path) -> Any:
    """Return the model in a file, which must have a schema to read tables with."""
    found = load_model(path)
    if not hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds an estimator without schema, which knows arrays only; load it "
            "in Python with dpscd.load."
        )
    return found
