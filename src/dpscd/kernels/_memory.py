"""What Numba has no words for: fetching rows ahead, and threads that wait for each other."""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

__all__ = ["CALLED_OFF", "GATE", "LINE", "barrier", "prefetch"]

#: Bytes that memory hands out at once.
LINE = 64

# Into the second cache: the first is too small to hold what is asked for ahead of time
# (measured: 16 ns a row of 256 bytes instead of 40).
_SECOND_CACHE = 2


def prefetch(matrix: npt.NDArray[Any], row: int, size: int) -> None:
    """Ask for the first `size` bytes of a row; nothing but time depends on it."""


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


#: Length of a gate: the number of arrivals is its first entry; another than zero at
#: CALLED_OFF sends everybody away. They stand on lines of their own.
GATE = 16
CALLED_OFF = 8

# Looks at the gate before the processor is offered to others: some microseconds.
_PATIENCE = 1000


def barrier(gate: npt.NDArray[np.int64], turn: int, parts: int) -> bool:
    """Wait until all of `parts` threads are here for the `turn`-th time, counted from 1.

    What a thread wrote before is seen by all others afterwards. Returns whether to go on:
    not if the gate was called off. The interpreter has but one thread.
    """
    return gate[CALLED_OFF] == 0


@intrinsic
def _arrive(typing, gate):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        one = context.get_constant(types.int64, 1)
        builder.atomic_rmw("add", array.data, one, "seq_cst")
        return context.get_dummy_value()

    return types.void(gate), generate


@intrinsic
def _look(typing, gate, place):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        entry = builder.gep(array.data, [args[1]])
        return builder.load_atomic(entry, "seq_cst", 8)

    return types.int64(gate, types.intp), generate


@intrinsic
def _offer_processor(typing):  # pragma: no cover - runs in the compiler
    def generate(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(32), [])
        name = "sched_yield"  # of the C library, which every Python has loaded
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), generate


@overload(barrier)
def _barrier(gate, turn, parts):
    def wait(gate, turn, parts):  # pragma: no cover - runs compiled only
        if parts == 1:
            return True
        _arrive(gate)  # type: ignore[call-arg]
        looks = 0
        while _look(gate, 0) < turn * parts:
            if _look(gate, CALLED_OFF) != 0:
                return False
            looks += 1
            if looks > _PATIENCE:
                _offer_processor()
        return True

    return wait
