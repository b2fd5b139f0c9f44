"""The hot loops stay what they are: vector instructions, no allocation, no call to Python.

No clock is involved. LLVM's code for a fixed processor is counted instead, which is the
same on every machine and does not depend on what else runs there.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from compiled_loops import PROCESSOR

import dpscd
from dpscd.late import COMPILED

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not COMPILED or platform.machine().lower() not in ("x86_64", "amd64"),
    reason="the counts are those of compiled code for x86-64",
)

# Instructions of LLVM that end as calls of the mathematical library.
LIBRARY = re.compile(r"llvm\.(exp|log|pow|sin|cos|tan)")


class Expected(NamedTuple):
    """What a kernel's loops may contain."""

    instructions: int  # in all loops, at most; a fifth more than there are now
    vector_loops: int  # at least so many
    largest: int  # instructions of the largest of them, at most; the same
    calls: frozenset[str] = frozenset()  # besides single instructions


# Of numbers of a step, and in what a loop of vector instructions leaves over.
LIBRARY_CALLS = {"numba_frexp", "numba_ldexp", "sqrt"}
COUNTING = {"NRT_incref", "NRT_decref"}  # of references: once a lot or row, not a member

EXPECTED = {
    "measure_rows": Expected(
        196, 1, 39,
        frozenset({"dpscd _squares", "numba_frexp", "numba_ldexp", "sqrt", *COUNTING}),
    ),
    "fill_pack": Expected(550, 2, 69),
    "step_of": Expected(357, 1, 31, frozenset({"dpscd _ordered_dot_dense", *COUNTING})),
    "predictions": Expected(28, 0, 0, frozenset({"dpscd _dot_csr"})),
    "read_members": Expected(720, 3, 52),
    "_predict_eights": Expected(440, 1, 55),
    "step_block": Expected(600, 1, 250),
    "step_block, counts": Expected(520, 1, 247),
    "step_block, joint": Expected(1120, 8, 64),
    "solve_block": Expected(1010, 4, 250, frozenset({"sqrt"})),
    "_add": Expected(490, 2, 60),
    "_add_two": Expected(430, 2, 52),
    "release_cells": Expected(98, 1, 34),
    "_advance": Expected(2600, 12, 250, frozenset({"dpscd _add", *LIBRARY_CALLS})),
    "_advance, many": Expected(
        2670, 12, 250,
        frozenset({"dpscd _add", "dpscd _add_two", "dpscd _predict_eights", *LIBRARY_CALLS}),
    ),
    "_advance_part": Expected(
        3330, 12, 250,
        frozenset({"dpscd _add", "dpscd _add_two", "dpscd _predict_eights", *LIBRARY_CALLS}),
    ),
    "_read_block": Expected(810, 0, 60),
    "_owe_block": Expected(630, 0, 40),
    "advance_lazy": Expected(
        1300, 4, 250, frozenset({"dpscd _read_block", "dpscd _owe_block", "sqrt"})
    ),
    "fill_normals": Expected(660, 1, 200, frozenset({"sqrt", *COUNTING})),
    "_fill_lots": Expected(240, 1, 65),
}  # fmt: skip


# Kernels whose every number is a function of the values, to the last bit.
STRICT = (
    "measure_rows", "fill_pack", "step_of", "predictions", "step_block",
    "step_block, counts", "step_block, joint", "solve_block", "advance_lazy",
)  # fmt: skip


def compiled(source, cache, *kernels):
    """Return what the compiler makes of kernels of the package in a folder."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("compiled_loops.py")), *kernels],
        env={
            **os.environ,
            **PROCESSOR,
            "PYTHONPATH": str(source),
            "NUMBA_CACHE_DIR": str(cache),  # an empty one: cached code cannot be inspected
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def complaints(name, facts):
    """Return what is wrong with a kernel."""
    expected = EXPECTED[name]
    found = [
        f"{name} calls {call} in a loop"
        for call in facts["calls"]
        if LIBRARY.match(call) or not (call.startswith("llvm.") or call in expected.calls)
    ]
    if facts["instructions"] > expected.instructions:
        found.append(f"{name} has {facts['instructions']} instructions in its loops")
    loops = facts["vectors"]
    if len(loops) < expected.vector_loops:
        found.append(f"{name} has {len(loops)} vector loops, not {expected.vector_loops}")
    if loops and loops[0] > expected.largest:
        found.append(f"{name} has a vector loop of {loops[0]} instructions")
    return found


@pytest.mark.full
def test_the_hot_loops_stay_lean(tmp_path):
    facts = compiled(ROOT / "src", tmp_path)
    assert facts.keys() == EXPECTED.keys()
    assert [one for name in EXPECTED for one in complaints(name, facts[name])] == []


@pytest.mark.full
def test_what_bounds_a_contribution_is_computed_in_the_order_that_is_written(tmp_path):
    # What the compiler may reorder, it may reorder differently for other types of numbers and
    # in what a loop leaves over: a record's norm or step would depend on what it is kept in
    # or on who else is in the lot. (Packed rows are of one type, multiplied one by one.)
    source = Path(dpscd.__file__).parents[1]
    facts = compiled(source, tmp_path, *STRICT, "read_members")
    assert [name for name in STRICT if facts[name]["reordered"]] == []
    assert facts["read_members"]["reordered"]  # it would be noticed


INJECTED = {
    "an allocation for each member": (
        "kernels/pack.py", "read_members", "calls NRT_",
        "            scale = pack.state[i, pack.place + SCALE]\n",
        "            scale = pack.state[i : i + 1, pack.place + SCALE].copy()[0]\n",
    ),
    "a word with Python": (
        "kernels/pack.py", "_add", "calls Py",
        "        q, m = pack.cells[ids[b]], np.int64(cells[b])\n",
        "        q, m = pack.cells[ids[b]], np.int64(cells[b])\n"
        "        if m == -7:\n"
        "            print(m)\n",
    ),
    "sums in a fixed order": (
        "kernels/pack.py", "read_members", "vector loops, not 3",
        "@register_jitable(fastmath=REORDERED)\ndef _product",
        "@register_jitable\ndef _product",
    ),
    "an exponential of the library": (
        "losses/logistic.py", "step_block", "calls llvm.exp",
        "    e = plain_exp(s)\n    r = e / (1.0 + e)\n",
        "    e = math.exp(s)\n    r = e / (1.0 + e)\n",
    ),
    "one more round of a loop that is full": (
        "losses/logistic.py", "step_block", "instructions",
        "    r, move = _halley(s - move, near, k)\n",
        "    r, more = _halley(s - move, near, k)\n"
        "    r, move = _halley(s - move - more, near, k)\n",
    ),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", INJECTED)
def test_what_slows_a_loop_down_is_noticed(name, tmp_path):
    path, kernel, complaint, lean, slow = INJECTED[name]
    source = tmp_path / "src"
    shutil.copytree(
        ROOT / "src" / "dpscd", source / "dpscd", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = source / "dpscd" / path
    text = file.read_text()
    assert text.count(lean) == 1, f"{path} has changed: {lean}"
    file.write_text(text.replace(lean, slow))
    facts = compiled(source, tmp_path / "cache", kernel)
    found = complaints(kernel, facts[kernel])
    assert any(complaint in one for one in found), (found, facts)
