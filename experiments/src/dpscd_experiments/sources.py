"""Where data files come from: a folder the user names, or their publisher."""

import hashlib
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpscd.errors import DpscdError

__all__ = [
    "CHECKSUMS",
    "VARIABLE",
    "ChecksumError",
    "DatasetMissing",
    "OfficialFile",
    "download",
    "find_file",
    "notes_on",
    "sha256_of",
]

VARIABLE = "DPSCD_DATA"

#: Beside downloaded files whose published checksum is not known: what was seen first, in
#: the format of the command sha256sum.
CHECKSUMS = "SHA256SUMS"

_TIMEOUT = 60.0


class DatasetMissing(DpscdError, FileNotFoundError):  # noqa: N818 - read as what happened
    """The files of a data set are not there; the message says which variable to set."""


class ChecksumError(DpscdError, OSError):
    """A downloaded file is not the one that was expected."""


@dataclass(frozen=True)
class OfficialFile:
    """A file as its publisher distributes it."""

    name: str  # file name in the user's folder
    url: str  # where its publisher offers it
    # Its checksum. None: not known to us; the one of the first download is recorded beside it
    # and compared from then on.
    sha256: str | None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_file(
    dataset: str,
    names: Sequence[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    subfolder: str | None = None,
    official: OfficialFile | None = None,
    fetch: bool = False,
) -> Path:
    """Return the first of several files that is there."""
    named = folder if folder is not None else os.environ.get(VARIABLE)
    wanted = " or ".join(names)
    if not named:
        raise DatasetMissing(
            f"The data set {dataset!r} needs {wanted}: set the environment variable "
            f"{VARIABLE} to the folder of the data sets, or pass folder=."
        )
    base = Path(named)
    for place in (base / (subfolder or dataset), base):
        for name in names:
            if (place / name).is_file():
                return place / name
    if fetch and official is not None:
        return download(official, base)
    hint = " or pass download=True" if official is not None else ""
    raise DatasetMissing(
        f"The data set {dataset!r} needs {wanted}, which is not in {str(base)!r}: set the "
        f"environment variable {VARIABLE} (or folder=) to the folder that holds it{hint}."
    )


def download(file: OfficialFile, folder: Path) -> Path:
    """Fetch a file from its publisher, check it, and only then put it in place."""
    folder.mkdir(parents=True, exist_ok=True)
    target, part = folder / file.name, folder / f"{file.name}.part"
    digest = hashlib.sha256()
    try:
        # The addresses are constants of this package (S310 warns of user-given ones).
        with (
            urllib.request.urlopen(file.url, timeout=_TIMEOUT) as response,  # noqa: S310
            part.open("wb") as stream,
        ):
            while block := response.read(1 << 20):
                digest.update(block)
                stream.write(block)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DatasetMissing(
            f"{file.url} could not be downloaded ({error}): fetch it by other means and set "
            f"{VARIABLE} to the folder that holds it."
        ) from error
    seen = digest.hexdigest()
    expected = file.sha256 or _recorded(folder).get(file.name)
    if expected is not None and seen != expected:
        part.unlink()
        raise ChecksumError(
            f"{file.url} has the SHA-256 {seen} instead of {expected}: it was damaged on "
            "the way or changed by its publisher. Nothing was kept."
        )
    part.replace(target)
    if expected is None:
        with (folder / CHECKSUMS).open("a", encoding="utf-8") as sums:
            sums.write(f"{seen}  {file.name}\n")
    return target


def notes_on(path: Path, official: OfficialFile | None = None) -> tuple[str, ...]:
    """Return what to say about a local file next to its publisher's."""
    if official is None or path.name != official.name:
        return ()
    if official.sha256 is None:
        return (f"{path.name}: its publisher's checksum is not known to us",)
    if sha256_of(path) != official.sha256:
        return (f"{path.name}: not the published file, its checksum differs",)
    return (f"{path.name}: the published file, by its checksum",)


def _recorded(folder: Path) -> dict[str, str]:
    """Return the checksums recorded in a folder, by file name."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split(maxsplit=1) for line in lines if line.strip())
    return {name: digest for digest, name in pairs}
