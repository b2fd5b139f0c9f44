"""Settings of JAX that must hold while the engine computes, whatever the user's are."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import jax
import numpy as np

from dpscd.errors import ParameterError

# Where double precision is that of IEEE 754, on which the error of a normal rests.
_PLATFORMS = ("cpu", "gpu", "cuda", "rocm")

# Numbers are computed as they are written: no reordering, nothing taken for zero.
_OPTIONS = {
    "xla_cpu_enable_fast_math": False,
    "xla_cpu_enable_fast_min_max": False,
    "xla_gpu_enable_fast_min_max": False,
    "xla_gpu_ftz": False,
}


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return array code compiled by ``jax.jit``, by rules that no flag of the user changes."""

    @cache
    def built() -> Callable[..., Any]:
        return jax.jit(function, compiler_options=_options(), **options)

    return lambda *given, **named: built()(*given, **named)


@cache
def _options() -> dict[str, bool]:
    """Return the options that this version of XLA has; others cannot be set."""
    return {name: value for name, value in _OPTIONS.items() if _is_known(name, value)}


def _is_known(name: str, value: bool) -> bool:
    try:
        jax.jit(lambda x: x + 1, compiler_options={name: value})(0)
    except RuntimeError:
        return False
    return True


@contextmanager
def exactly() -> Iterator[None]:
    """Let JAX compute in 64 bits and as written while this context lasts, and no longer.

    Guarantee: within, whole numbers and floats have 64 bits where the code says so, products of
    matrices are not rounded, and code is compiled; the user's settings are restored. Flags by
    which XLA may reorder or round arithmetic are refused.
    """
    _refuse_flags(os.environ.get("XLA_FLAGS", ""))
    settings = (
        jax.enable_x64(True),
        jax.default_matmul_precision("highest"),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.debug_nans(False),  # an error would reveal an inactive record
        jax.debug_infs(False),
        jax.disable_jit(False),
        jax.transfer_guard("allow"),
    )
    with ExitStack() as stack:
        for setting in settings:
            stack.enter_context(setting)
        yield


def _refuse_flags(flags: str) -> None:
    """Refuse flags that let XLA change the arithmetic of the code."""
    for flag in flags.split():
        name, _, value = flag.lstrip("-").partition("=")
        loose = ("fast" in name and "honor" not in name) or name.endswith("_ftz")
        if loose and value.lower() not in ("false", "0"):
            raise ParameterError(
                "{engine} does not run with {} in XLA_FLAGS: the noise would not have the "
                "precision that is accounted for. Remove the flag and start again.",
                flag,
                engine="jax",
            )


def device() -> Any:
    """Return the device of the engine: JAX's own choice, if it computes correctly."""
    found: Any = getattr(jax.config, "jax_default_device", None) or jax.devices()[0]
    if isinstance(found, str):
        found = jax.devices(found)[0]
    if found.platform not in _PLATFORMS:
        raise ParameterError(
            "{engine} runs on processors and GPUs; {!r} has no double precision of its own, on "
            "which the noise rests. Use 'numba'.",
            found.platform,
            engine="jax",
        )
    return found


def device_name() -> str:
    """Return the name of the device: a public fact."""
    return str(device().device_kind)


def free_memory() -> int | None:
    """Return the free bytes of the device; None where JAX does not say."""
    found = device().memory_stats()
    return int(found["bytes_limit"] - found["bytes_in_use"]) if found else None


def on_host(X: Any) -> Any:
    """Return an array of any DLPack library, copied from its device, as NumPy's; else `X`."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):
        return X
    if not isinstance(X, jax.Array):
        X = jax.dlpack.from_dlpack(X)
    return np.asarray(X)
