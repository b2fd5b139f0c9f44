"""The decorators of compiled functions, with a cache that notices edits.

Numba's on-disk cache is keyed by the file of the compiled function alone: an edited callee in
another file, a loss for instance, would go unnoticed. Here the cache folder is named after a
hash of every source file that compiled code can come from, also those of other packages, whose
losses are compiled into our kernels.
"""

import gc
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from dpscd.kernels.ahead import wait_for
from dpscd.late import COMPILED, load

F = TypeVar("F", bound=Callable[..., Any])

#: Floating-point licence for inner products only: their terms may be summed in any
#: order and fused. Never for clipping, rounding or the sums that are released.
REORDERED = {"reassoc", "contract"}

_PACKAGE = Path(__file__).resolve().parent.parent


def source_hash() -> str:
    """Return a hash of all files whose code is compiled, here and in neighbouring packages.

    Those are the folders ``kernels`` and ``losses`` of every importable package whose name
    begins with dpscd.
    """
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
    """Return the compiler's versions and target, as its caches name them.

    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES count, as do options that change the order of sums.
    """
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
    """Compile like :func:`jit`, but without counting references to arrays.

    Such a function, and those it calls, must neither create nor keep an array; the caller holds
    them. Counting is atomic and can take longer than the work on a small array.
    """
    return _compile(function, _nrt=False)


def jit_inlined(function: F) -> F:
    """Inline a small function into its callers, before their types are known.

    It is then compiled once with each caller, and not by itself too.
    """
    return _compile(function, inline="always")


@contextmanager
def compiling_said(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` once if something must be compiled in the block, not if it was cached.

    Whether that happens follows from types and from this user's earlier runs.
    """
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
    """Delay an interrupt (Ctrl-C) until after the block.

    LLVM calls Python back while it compiles or loads code. An exception there is lost, so the
    program goes on, or ends silently. Only the main thread gets interrupts; nothing is done in
    others.
    """
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
    """Suspend garbage collection in the block: few of a compiler's objects are garbage.

    Threads may be in it at once; the last to leave restores the state that the first found.
    """

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
    """A function that is compiled when it is first called, or called by compiled code.

    It stands for Numba's dispatcher, which is made then: everything else is asked of that.
    """

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
