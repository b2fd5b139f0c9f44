"""What an epoch with lazy noise is made of: 200,000 sparse rows, a million columns.

Run ``python benchmarks/lazy.py``; it takes half a minute and prints milliseconds, the median
of interleaved turns with the first and third quartile. Touching is a loop that does nothing
but change a number in the line of memory of every coordinate that the epoch's rows meet, asked
for ahead as the kernel does: no kernel that keeps a state for each coordinate is faster.
"""

import statistics
import sys
import time
from typing import Any

import numba
import numpy as np

from dpscd.kernels._memory import LINE, prefetch
from dpscd.kernels.draws import PAIR_WORDS, fill_normals
from dpscd.kernels.lazy_state import new_state
from dpscd.privacy.random import Purpose, SecureSource
from dpscd_experiments.speed.cases import make_sparse_case
from dpscd_experiments.speed.ours import lazy_beforehand, private_epoch

ROWS, COLUMNS, ENTRIES, LOT = 200_000, 1_000_000, 20, 200
TURNS = 9
PAIRS = 2**15  # drawn at a time


@numba.njit(nogil=True)
def _touch(ids: Any, indices: Any, state: Any) -> None:
    count = ids.shape[0]
    for p in range(count):
        if p + 8 < count:
            prefetch(indices, ids[p + 8], 2 * LINE)
        if p + 3 < count:
            for j in indices[ids[p + 3]]:
                prefetch(state, j, LINE)
        for j in indices[ids[p]]:
            state[j, 0] += 1


def main() -> None:
    """Measure the parts in turns and print them."""
    case = make_sparse_case(ROWS, COLUMNS, ENTRIES, LOT)
    plan = case.plan(4)
    steps = round(1.0 / plan.rate)
    ids, _ = plan.lots.draw(SecureSource(), 0, steps, ROWS)
    indices = case.X.indices.reshape(ROWS, ENTRIES)
    state, normals = new_state(COLUMNS, 1), np.empty((1, 2 * PAIRS))

    def touch() -> float:
        start = time.perf_counter()
        _touch(ids, indices, state)
        return time.perf_counter() - start

    def draw_normals() -> float:
        source, start = SecureSource(), time.perf_counter()
        for first in range(0, ROWS * ENTRIES // 2, PAIRS):
            words = source.words(Purpose.LAZY_NOISE, first, PAIRS, PAIR_WORDS)
            fill_normals(words.reshape(1, -1), normals)
        return time.perf_counter() - start

    def draw_lots() -> float:
        source, start = SecureSource(), time.perf_counter()
        plan.lots.draw(source, 0, steps, ROWS)
        return time.perf_counter() - start

    parts = {
        "touching": touch,
        "drawing a normal an entry": draw_normals,
        "drawing lots": draw_lots,
        "kernel without noise": lazy_beforehand(case),
        "epoch with lazy noise": private_epoch(case),
    }
    found: dict[str, list[float]] = {name: [] for name in parts}
    for turn in range(TURNS + 1):
        for name, part in parts.items():
            seconds = part()
            if turn:  # the first compiles
                found[name].append(1e3 * seconds)
    for name, times in found.items():
        low, middle, high = statistics.quantiles(times, n=4)
        sys.stdout.write(f"{name}: {middle:.1f} ms ({low:.1f} to {high:.1f})\n")


if __name__ == "__main__":
    main()
