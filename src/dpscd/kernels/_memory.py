"""LLVM intrinsics missing in Numba: prefetch and atomics."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

__all__ = ["LINE", "count_up", "look", "on_lines", "prefetch", "put", "swap"]

#: Bytes that memory hands out at once.
LINE = 64

# Into the second cache: the first is too small to hold what is asked for ahead of time
# (measured: 16 ns a row of 256 bytes instead of 40).
_SECOND_CACHE = 2


def on_lines(shape: tuple[int, ...], kind: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return an uninitialised array that is aligned to a line of memory.

    Vectors that do not cross lines are read faster (measured: a tenth of an epoch of 100
    classes).
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.empty(size + LINE, np.uint8)
    skipped = -memory.ctypes.data % LINE
    return memory[skipped : skipped + size].view(kind).reshape(shape)


def prefetch(matrix: npt.NDArray[Any], row: int, size: int) -> None:
    """Prefetch the first `size` bytes of a row; only time depends on it."""


@intrinsic
def _fetch_line(typing, matrix, row, offset):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        stride = builder.extract_value(array.strides, 0)
        distance = builder.add(builder.mul(args[1], stride), args[2])
        place = builder.gep(builder.bitcast(array.data, byte), [distance])
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # To be read, to be kept in the second cache, data.
        builder.call(hint, [place, number(0), number(_SECOND_CACHE), number(1)])
        return context.get_dummy_value()

    return types.void(matrix, types.intp, types.intp), generate


@overload(prefetch, jit_options={"forceinline": True})
def _prefetch(matrix, row, size):
    def fetch(matrix, row, size):  # pragma: no cover - runs compiled only
        for offset in range(0, size, LINE):
            _fetch_line(matrix, row, offset)  # type: ignore[call-arg]

    return fetch


def look(shared: npt.NDArray[np.int64], place: int) -> int:
    """Load an entry that other threads change, with acquire order."""
    return int(shared[place])


def put(shared: npt.NDArray[np.int64], place: int, value: int) -> None:
    """Store an entry with release order: a thread that reads it sees all earlier writes."""
    shared[place] = value


def count_up(shared: npt.NDArray[np.int64], place: int, more: int) -> None:
    """Add to an entry atomically."""
    shared[place] += more


def swap(shared: npt.NDArray[np.int64], place: int, before: int, after: int) -> bool:
    """Set an entry from `before` to `after` atomically; return whether it was `before`."""
    if shared[place] != before:
        return False
    shared[place] = after
    return True


def _entry(context, builder, signature, args):  # pragma: no cover - runs in the compiler
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def _load(typing, shared, place):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        return builder.load_atomic(_entry(context, builder, signature, args), "seq_cst", 8)

    return types.int64(shared, types.intp), generate


@intrinsic
def _store(typing, shared, place, value):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        entry = _entry(context, builder, signature, args)
        builder.store_atomic(args[2], entry, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(shared, types.intp, types.int64), generate


@intrinsic
def _add(typing, shared, place, more):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        entry = _entry(context, builder, signature, args)
        builder.atomic_rmw("add", entry, args[2], "seq_cst")
        return context.get_dummy_value()

    return types.void(shared, types.intp, types.int64), generate


@intrinsic
def _exchange(typing, shared, place, before, after):  # pragma: no cover - in the compiler
    def generate(context, builder, signature, args):
        entry = _entry(context, builder, signature, args)
        found = builder.cmpxchg(entry, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(shared, types.intp, types.int64, types.int64), generate


@overload(look)
def _look(shared, place):
    return lambda shared, place: _load(shared, place)  # type: ignore[call-arg]


@overload(put)
def _put(shared, place, value):
    return lambda shared, place, value: _store(shared, place, value)  # type: ignore[call-arg]


@overload(count_up)
def _count_up(shared, place, more):
    return lambda shared, place, more: _add(shared, place, more)  # type: ignore[call-arg]


@overload(swap)
def _swap(shared, place, before, after):
    return lambda shared, place, before, after: _exchange(shared, place, before, after)  # type: ignore[call-arg]
