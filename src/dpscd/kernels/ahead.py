"""A second process compiles the training kernel while this one compiles what comes earlier.

The first fit after an installation compiles for seconds, half of them this kernel. Its types
follow from the loss and from whether there are several outputs, so another process can compile
it from the start of the fit; Numba's cache on disk hands it over. If that fails, the kernel is
compiled here.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.spawn import get_executable
from pathlib import Path

import numpy as np

# The other process imports from where this one does, and from nowhere else.
_CHILD = """
import sys
name, outputs, *sys.path[:] = sys.argv[1:]
from dpscd.kernels.ahead import compile_training
compile_training(name, int(outputs))
"""

# The kernel, and its file.
_KERNEL = ("dpscd.kernels.packed", "_advance")

# Seconds after which a process is thought to hang: compiling takes three on a quiet machine.
_LONGEST = 120.0

_lock = threading.Lock()
_beside: subprocess.Popen[bytes] | None = None


def compile_training(loss: str, outputs: int) -> None:
    """Compile the training kernel of dense records, one thread, for 1 or several outputs."""
    from dpscd import losses
    from dpscd.kernels.dual import StepConstants
    from dpscd.kernels.pack import empty_pack
    from dpscd.kernels.packed import advance_packed

    pack = empty_pack(1, 1, 0.0)
    ids, starts = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)  # no step at all
    dual, shared, normals = np.zeros((1, outputs)), np.zeros((outputs, 1)), np.empty((0, 1))
    constants = StepConstants(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    chunk = ids, starts, normals, 0, dual, shared, np.zeros_like(shared)
    advance_packed(losses.called(loss)(), pack, constants, *chunk)


@contextmanager
def compiling_beside(folder: Path, loss: str | None, outputs: int) -> Iterator[None]:
    """Let another process compile the training kernel during the block, if it is not cached.

    `folder` is Numba's cache of this package's functions; `loss` is None if the kernel is not
    needed. Whether there is another process follows from the kind of the model, from earlier
    fits of this user and from the machine, never from records.
    """
    global _beside
    with _lock:
        began = loss is not None and _beside is None and _pays(folder)
        if began:
            _beside = _begin(str(loss), outputs)
    try:
        yield
    finally:
        if began:
            with _lock:
                process, _beside = _beside, None
            if process is not None:
                process.kill()  # almost always it has ended
                process.wait()


def wait_for(module: str, name: str) -> None:
    """Return when this function is in the cache, or will not be put there."""
    process = _beside
    if (module, name) == _KERNEL and process is not None:
        try:
            process.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()


def _pays(folder: Path) -> bool:
    cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    module, name = _KERNEL
    cached = any(folder.glob(f"*/{module.rpartition('.')[2]}.{name}-*.nbi"))
    # A program that was frozen into one file would run itself again instead of Python.
    return len(cores) > 1 and not cached and not getattr(sys, "frozen", False)


def _begin(loss: str, outputs: int) -> subprocess.Popen[bytes] | None:
    quiet = subprocess.DEVNULL
    command = [get_executable(), "-I", "-c", _CHILD, loss, str(outputs), *sys.path]
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)  # noqa: S603 - our own
    except (OSError, TypeError, ValueError):  # no such program, none known, or a strange path
        return None
