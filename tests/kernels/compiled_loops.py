"""What the compiler made of the hot loops: ``python compiled_loops.py KERNEL...`` as JSON.

Kernels are compiled, not run, for one named processor (see ``PROCESSOR``), so that every
x86-64 machine gives the same answer; it is read from LLVM's optimised code.
"""

import json
import re
import sys

#: The environment that makes Numba compile for AVX2, whatever the machine has.
PROCESSOR = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avx2"}

_LABEL = re.compile(r'^("[^"]+"|[\w.$-]+):')
_TARGET = re.compile(r'label %("[^"]+"|[\w.$-]+)')
_CALL = re.compile(r'\bcall\b[^@]*@("[^"]+"|[\w.$-]+)')
_VECTOR = re.compile(r"<(\d+) x (?:i|f)?(\d+|float|double)>")
_REORDERED = re.compile(r"\b(reassoc|contract|fast)\b")
_BITS = {"float": 32, "double": 64}


def kernels():
    """Return every hot kernel and the arguments that a dense or lazy fit gives it."""
    import numpy as np

    from dpscd.kernels import draws, lazy, packed, packed_threads
    from dpscd.kernels._jit import jit_uncounted
    from dpscd.kernels.dual import (
        BlockBuffer,
        Records,
        StepConstants,
        solve_block,
        step_block,
        step_of,
    )
    from dpscd.kernels.lazy import Law, new_state
    from dpscd.kernels.pack import (
        Pack,
        Workspace,
        _add,
        _add_two,
        _predict_eights,
        fill_pack,
        read_members,
    )  # fmt: skip
    from dpscd.kernels.passes import measure_rows, predictions
    from dpscd.kernels.rows import CsrRows, DenseRows
    from dpscd.losses import Logistic, Poisson, Softmax

    loss, numbers = Logistic(), StepConstants(*[1.0] * len(StepConstants._fields))
    law = Law(1.0, 1, 1, 1.0, 1)
    ints, floats = np.zeros(2, np.int64), np.zeros(2)
    table, words = np.zeros((2, 2)), np.zeros((2, 4), np.uint64)
    pack = Pack(np.zeros((2, 128), np.int16), np.zeros((2, 32)), 90, 96, 24)
    buffer = BlockBuffer(*[floats] * 6, table, table, np.zeros((2, 2), np.int32), table)
    work = Workspace(np.zeros((1, 96), np.float32), floats, buffer)
    records = Records(floats, floats)
    values, columns = np.zeros(2, np.float32), np.zeros(2, np.int32)
    for array in (values, columns, sealed := ints.copy()):
        array.flags.writeable = False
    rows = CsrRows(values, columns, sealed, 2, floats, floats, 0.0)
    dense = DenseRows(np.zeros((2, 2), np.float32), floats, floats, 0.0)
    totals, state = np.zeros((1, 1, 96), np.int64), new_state(2, 1)
    chunk = (ints, ints, table, 0, table, table, table)
    return {
        "measure_rows": (measure_rows, dense, 1.0, 1.0),
        "fill_pack": (fill_pack, dense, records, pack, 0),
        "step_of": (step_of, loss, dense, records, numbers, table, table, 0, floats),
        "predictions": (predictions, rows, floats, 1.0, floats),
        "read_members": (read_members, pack, ints, ints, work, table, None),
        "_predict_eights": (jit_uncounted(_predict_eights), pack, ints, 8, work),
        "step_block": (step_block, loss, numbers, 1, buffer),
        "step_block, counts": (step_block, Poisson(), numbers, 1, buffer),
        "step_block, joint": (step_block, Softmax(), numbers, 1, buffer),
        "solve_block": (solve_block, loss, numbers, 1, buffer),
        "_add": (jit_uncounted(_add), pack, ints, np.zeros(2, np.int32), ints),
        "_add_two": (
            jit_uncounted(_add_two), pack, ints, *[np.zeros(2, np.int32)] * 2, ints,
            ints,
        ),
        "release_cells": (packed.release_cells, ints, floats, numbers, 1, floats),
        "_advance": (packed._advance, loss, pack, numbers, *chunk, totals[0], work, 4,
                     None, None),
        "_advance, many": (
            packed._advance, loss, pack, numbers, *chunk, totals[0], work, 4, True, None,
        ),
        "_advance_part": (
            packed_threads._advance_part, loss, pack, numbers, *chunk, 0, totals, ints, work, 4,
            True, None,
        ),
        "_read_block": (lazy._read_block, rows, records, numbers, law, ints, 0, 1, 0, floats, 0,
                        table, state, buffer),
        "_owe_block": (lazy._owe_block, rows, 1.0, ints, table, state, buffer),
        "advance_lazy": (lazy.advance_lazy, loss, rows, records, numbers, law, ints, ints, 0, 0,
                         floats, table, state, buffer),
        "fill_normals": (draws.fill_normals, words, table),
        "_fill_lots": (draws._fill_lots, words, 1, 1.0, 0, -1, 0.0, ints, ints, floats),
    }  # fmt: skip


def facts_of(name):
    """Return what loops contain, the sizes of vector loops, and whether sums are reordered."""
    from numba import typeof

    kernel, *arguments = kernels()[name]
    signature = tuple(typeof(argument) for argument in arguments)
    kernel.compile(signature)
    code = kernel.inspect_llvm(signature)
    blocks = _blocks(code)
    after = {block: _TARGET.findall(" ".join(lines)) for block, lines in blocks.items()}
    looped = [block for block in blocks if block in _reached(after, block)]
    calls = {call for block in looped for line in blocks[block] for call in _CALL.findall(line)}
    sizes = {block: sum(" phi " not in line for line in blocks[block]) for block in looped}
    vectors = [
        size
        for block, size in sizes.items()
        if block in after[block] and any(map(_wide, blocks[block]))
    ]
    return {
        "calls": sorted(map(_short, calls)),
        "instructions": sum(sizes.values()),
        "vectors": sorted(vectors, reverse=True),
        "reordered": bool(_REORDERED.search(code)),
    }


def _blocks(code):
    """Return the lines of each basic block of the kernel itself, without its wrappers."""
    body = code[code.index("\ndefine ") :].split("\n}", 1)[0]
    blocks, lines = {}, []
    for line in body.splitlines()[2:]:
        label = _LABEL.match(line)
        if label:
            blocks[label[1]] = lines = []
        elif line.strip():
            lines.append(line)
    return blocks


def _reached(after, start):
    """Return all blocks to which some path leads from `start`."""
    seen, waiting = set(), list(after[start])
    while waiting:
        block = waiting.pop()
        if block not in seen and block in after:
            seen.add(block)
            waiting += after[block]
    return seen


def _wide(line):
    """Return whether a line works on a vector of 256 bits or more."""
    return any(
        int(lanes) * _BITS.get(kind, 0 if not kind.isdigit() else int(kind)) >= 256
        for lanes, kind in _VECTOR.findall(line)
    )


def _short(call):
    """Return the name of a compiled function without its mangled types."""
    ours = re.match(r"_ZN5dpscd(?:7kernels|6losses)\d+[a-z_]+?\d+([a-z_]+)B", call)
    return f"dpscd {ours[1]}" if ours else call


if __name__ == "__main__":
    print(json.dumps({name: facts_of(name) for name in sys.argv[1:] or kernels()}))  # noqa: T201
