"""LLVM intrinsics missing in Numba: prefetch and atomics."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from dpscd.kernels._memory import LINE, count_up, look, prefetch, put, swap

__all__: list[str] = []  # declared to Numba

# Into the second cache: the first is too small to hold what is asked for ahead of time
# (measured: 16 ns a row of 256 bytes instead of 40).
_SECOND_CACHE = 2


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
