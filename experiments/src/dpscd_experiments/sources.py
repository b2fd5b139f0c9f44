"""Where data files are: in the folder that the user names."""

import os
from collections.abc import Sequence
from pathlib import Path

from dpscd.errors import DpscdError

VARIABLE = "DPSCD_DATA"


class DatasetMissing(DpscdError, FileNotFoundError):  # noqa: N818 - read as what happened
    """The files of a data set are not there; the message says which variable to set."""


def find_file(
    dataset: str,
    names: Sequence[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    subfolder: str | None = None,
) -> Path:
    """Return the first of several files that is there, in the folder or its subfolder."""
    named = folder if folder is not None else os.environ.get(VARIABLE)
    wanted = " or ".join(names)
    if not named:
        raise DatasetMissing(
            f"The data set {dataset!r} needs {wanted}: set the environment variable "
            f"{VARIABLE} to the folder of the data sets."
        )
    base = Path(named)
    for place in (base / (subfolder or dataset), base):
        for name in names:
            if (place / name).is_file():
                return place / name
    raise DatasetMissing(
        f"The data set {dataset!r} needs {wanted}, which is not in {str(base)!r}: set the "
        f"environment variable {VARIABLE} to the folder that holds it."
    )
