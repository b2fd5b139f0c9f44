"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that replaces `path` when the block ends well.

    Parameters
    ----------
    path : path
        The file, replaced if it exists.
    binary : bool, default=False
        Whether bytes are written, instead of text in UTF-8.

    Notes
    -----
    Until then everything is in a file beside it, which is removed if the block fails for
    whatever reason: an error, a full disk, Ctrl-C.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        options: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
        with os.fdopen(handle, "wb" if binary else "w", **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # as if it had been opened in the ordinary way
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
