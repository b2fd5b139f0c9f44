"""Names of models in verbs, and loading of their files."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpscd.errors import ModelFileError
from dpscd.estimators.registry import MODELS

__all__ = ["ALL", "AUTO", "AuditedModel", "TrainedModel", "load_model", "load_table_model"]

_NAMES = [kind.name for kind in MODELS]
_AUDITED = [kind.name for kind in MODELS if kind.task != "counts"]

if TYPE_CHECKING:
    AuditedModel: TypeAlias = StrEnum
    TrainedModel: TypeAlias = StrEnum
else:
    TrainedModel = StrEnum("TrainedModel", {name.upper(): name for name in ["auto", *_NAMES]})
    AuditedModel = StrEnum("AuditedModel", {name.upper(): name for name in ["all", *_AUDITED]})

#: What is trained, and what is attacked, unless a model is named.
AUTO, ALL = TrainedModel("auto"), AuditedModel("all")


def load_model(path: Path, key: Path | None = None) -> Any:
    """Return the checked model in a file, and check its signature if a key is given."""
    from dpscd import load

    return load(path, key=key)


def load_table_model(path: Path) -> Any:
    """Return the model in a file, which must have a schema."""
    found = load_model(path)
    if not hasattr(found, "schema_"):
        raise ModelFileError(
            f"{path.name} holds an estimator without schema, which knows arrays only; give it "
            ".npy files, or load it in Python with dpscd.load."
        )
    return found
