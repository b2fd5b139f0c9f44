"""Numba, loaded when compiled code is first needed: models are read and verified without it."""

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: Whether functions are compiled at all: not if NUMBA_DISABLE_JIT is set.
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "") in ("", "0")

_lock = threading.RLock()
_loaded: Any = None
_waiting: list[Callable[[Any], Any]] = []


def load() -> Any:
    """Return Numba, which then knows everything that was declared here."""
    global _loaded
    with _lock:
        if _loaded is None:
            import numba.extending

            _loaded = numba
        while _waiting:
            _waiting.pop(0)(_loaded.extending)
        return _loaded


def when_loaded(declare: Callable[[Any], Any]) -> None:
    """Call a function with ``numba.extending`` when Numba is loaded, at once if it is."""
    with _lock:
        _waiting.append(declare)
        if _loaded is not None:
            load()


def register_jitable(*function: Any, **options: Any) -> Any:
    """Let compiled code call a function of Python; as Numba's decorator."""

    def keep(own: F) -> F:
        words = options or {"inline": "never"}  # which is the default
        when_loaded(lambda extending: extending.register_jitable(**words)(own))
        return own

    return keep(*function) if function else keep


def overload(function: Callable[..., Any], **options: Any) -> Callable[[F], F]:
    """Declare what compiled code does in the place of a function; as Numba's decorator."""

    def keep(own: F) -> F:
        when_loaded(lambda extending: extending.overload(function, **options)(own))
        return own

    return keep
