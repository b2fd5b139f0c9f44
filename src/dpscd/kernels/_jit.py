"""The decorators of compiled functions, with a cache that notices edits.

Numba's cache is keyed by the file of the compiled function alone. Here the folder of the cache
is named after a hash of every source file that compiled code can come from.
"""

import gc
import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper, wraps
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from dpscd._version import __version__
from dpscd.late import COMPILED, load

F = TypeVar("F", bound=Callable[..., Any])

#: Floating-point licence for inner products only: their terms may be summed in any
#: order and fused. Never for clipping, rounding or the sums that are released.
REORDERED = {"reassoc", "contract"}

_PACKAGE = Path(__file__).resolve().parent.parent


def source_hash() -> str:
    """Return a hash of ``kernels`` and ``losses`` of all importable packages named dpscd*."""
    digest = hashlib.sha256(load().__version__.encode())
    folders = {_PACKAGE.parent, *(Path(entry).resolve() for entry in sys.path if entry)}
    packages = {package for folder in folders for package in folder.glob("dpscd*")}
    rooms = (
        package / room
        for package in sorted(packages, key=lambda package: (package.name, package))
        for room in ("kernels", "losses")
    )
    for room in rooms:
        for file in sorted(room.glob("*.py")):
            digest.update("/".join(file.parts[-3:]).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def compiler() -> dict[str, str]:
    """Return the compiler's versions and target, and options that change the order of sums."""
    import llvmlite
    from numba.core.registry import cpu_target

    numba = load()
    config: Any = numba.config
    target, processor, features = cpu_target.target_context.codegen().magic_tuple()
    options = [config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.DISABLE_JIT]
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "target": target,
        "processor": processor,
        "features": features,
        "options": " ".join(map(str, options)),
    }


def own_build() -> dict[str, str]:
    """Return versions, and Numba's target: public facts that decide how numbers round.

    It is asked for of workers that may be unable to load anything else.
    """
    return {"dpscd": __version__, "numpy": np.__version__, **compiler()}


@cache
def cache_folder() -> Path:
    """Return the folder where compiled functions are kept."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "dpscd" / source_hash()


def jit(function: F) -> F:
    """Compile `function` on first use, strictly (no fastmath) and without the GIL."""
    return _compile(function)


def jit_uncounted(function: F) -> F:
    """Compile without counting references: it must neither create nor keep an array."""
    return _compile(function, _nrt=False)


def jit_inlined(function: F) -> F:
    """Inline a small function into its callers, before their types are known."""
    return _compile(function, inline="always")


@contextmanager
def compiling_said(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` once if something must be compiled in the block, not if it was cached."""
    load()
    from numba.core.event import Listener, install_listener

    class First(Listener):
        said = False

        def on_start(self, event: Any) -> None:
            del event
            if not self.said:
                self.said = True
                say()

        def on_end(self, event: Any) -> None:
            """Do nothing."""

    with install_listener("numba:compile", First()):
        yield


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Delay an interrupt until after the block: LLVM calls Python back and loses exceptions."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


class _GarbageWaits:
    """Suspend garbage collection in the block; the last of several threads restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._collecting = False

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._collecting = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._collecting:
                gc.enable()


_garbage_waits = _GarbageWaits()


def _uninterrupted(function: Any, compile_for: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(compile_for)
    def compile_whole(signature: Any) -> Any:
        wait_for(function.__module__, function.__name__)
        with interrupts_wait(), _garbage_waits:
            return compile_for(signature)

    return compile_whole


class _Late:
    """A function that is compiled when it is first called: it stands for Numba's dispatcher."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._options = options

    def __call__(self, *args: Any) -> Any:
        return self._dispatcher(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._dispatcher, name)

    @cached_property
    def _dispatcher(self) -> Any:
        numba, function = load(), self.__wrapped__
        with _making:
            previous = numba.config.CACHE_DIR
            numba.config.CACHE_DIR = str(cache_folder())
            try:
                # Nobody calls these from C.
                strict = {"error_model": "numpy", "no_cfunc_wrapper": True}
                made = numba.njit(cache=True, nogil=True, **strict, **self._options)(function)
            finally:
                numba.config.CACHE_DIR = previous
        made.compile = _uninterrupted(function, made.compile)
        return made


_making = threading.RLock()


def _compile(function: F, **options: Any) -> F:
    return cast(F, _Late(function, options)) if COMPILED else function


# The other process imports from where this one does, and from nowhere else.
_CHILD = """
import sys
name, outputs, *sys.path[:] = sys.argv[1:]
from dpscd.kernels._jit import compile_training
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
    """Let another process compile the training kernel meanwhile, if `folder` does not hold it.

    `loss` is None if the kernel is not needed. Nothing of it depends on records.
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
