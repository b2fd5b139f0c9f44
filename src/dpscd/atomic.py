"""Files that are written completely or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_BINARY = getattr(os, "O_BINARY", 0)  # of Windows


def existing_folder(path: Path) -> Path:
    """Return the folder that a file is to be in, or raise FileNotFoundError."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    return folder


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing, UTF-8 or binary, that replaces `path` when the block succeeds.

    Until then the content is in a file beside it, which is removed if the block fails.
    """
    target = Path(path)
    existing_folder(target)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    # With the permissions of any new file, and never one, or a link, that is there already.
    handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        options: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
        with os.fdopen(handle, "wb" if binary else "w", **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
