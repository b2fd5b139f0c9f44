"""Training on JAX: its limits, and the transfer to the device and back."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from dpscd.errors import DataError, ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.draws import limb_lattice_step
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import DeferredRows, Floats, Problem
from dpscd.releases.base import Observer
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import DampingRule, check_plan, epoch_of

#: What a training may be computed by; the first is the usual one.
ENGINES = ("numba", "jax")

# Losses that the engine has array code for.
_LOSSES = ("Squared", "Logistic", "Hinge", "Softmax")
_KEY_WORDS = 4

# Beyond these, squares of a record's steps or numbers of records would not fit their integers.
_MOST_OUTPUTS, _MOST_RECORDS = 2**19, 2**29

# Steps between two moments at which Ctrl-C is heard and a bar moves.
_CHUNK = {"cpu": 8}
_LONG_CHUNK = 32

# Bytes on the device: of a record besides its row and duals, of each output of a member that
# is worked on, and of each number of the shared vector, all its copies together.
_RECORD_BYTES, _OUTPUT_BYTES, _SHARED_BYTES = 96, 48, 128


def device_name() -> str:
    """Return the name of the device: a public fact."""
    backend = _backend()
    with backend.exactly():
        return str(backend.device_name())


def _backend() -> Any:
    """Return the module that imports JAX, an optional dependency."""
    try:
        from dpscd.device import backend
    except ImportError:
        raise ParameterError(
            "{engine} needs JAX, which is not installed: pip install 'dpscd[jax]' for "
            "processors; for GPUs see the guide docs/guides/large_data.md.",
            engine="jax",
        ) from None
    return backend


def array_on_host(X: Any) -> Any:
    """Return an array of any DLPack library, copied from its device, as NumPy's; else `X`."""
    backend = _backend()
    with backend.exactly():
        return backend.on_host(X)


def check_device_plan(plan: Training, loss: str, *, dense: bool, persons: bool) -> None:
    """Refuse, from public facts alone, what JAX training does not support."""
    from dpscd.device.rows import MOST

    width = plan.size // plan.outputs
    refusals = {
        "sparse rows": not dense,
        "persons as the unit of privacy (groups)": persons,
        f"the loss {loss}": loss not in _LOSSES,
        f"more than {MOST} columns": width > MOST,
        # The compiler knows the shapes of all arrays, which must therefore be public.
        "'add-remove', where the number of records is secret": plan.relation.needs_n,
        "2^32 steps or more": plan.steps >= 2**32,
        f"more than {_MOST_OUTPUTS} outputs": plan.outputs > _MOST_OUTPUTS,
        f"more than {_MOST_RECORDS} records": plan.n > _MOST_RECORDS,
        "so little noise that rows of 16 bits would show": not plan.fixed_point,
    }
    for what, refused in refusals.items():
        if refused:
            raise ParameterError(
                "{engine} does not train with {}; use 'numba'.", what, engine="jax"
            )
    _check_memory(plan)


def device_scd(
    problem: Problem,
    plan: Training,
    rows: Rows | DeferredRows,
    records: Records,
    source: Source,
    *,
    progress: Callable[[int], None] | None = None,
    observer: Observer | None = None,
) -> Floats:
    """Run the plan on the device and return the shared vector, averaged as the plan says.

    Guarantee: the path of the shared vector, hence what is returned, satisfies
    ``plan.claim()``. The duals live on the device and are deleted. Its stream's key is drawn
    from `source`.
    Requires: `source` was not used for a training before, which it refuses itself.
    Proof: docs/proofs/shared_vector.md, docs/proofs/tensor_cores.md.
    """
    check_plan(problem, plan, rows, records)
    loss = type(problem.loss).__name__
    check_device_plan(plan, loss, dense=isinstance(rows, DeferredRows), persons=False)
    backend = _backend()
    from dpscd.device.training import Job, block_for, train

    if observer is not None:
        observer.begins(problem, plan)
    done = 0

    def seen(step: int, shared: Callable[[], Floats]) -> None:
        nonlocal done
        if progress is not None:
            progress(step - done)
        if observer is not None:
            observer.moved(step, shared())
        done = step

    with backend.exactly(), _memory_said():
        block = block_for(plan.lot_size, plan.outputs)
        job = Job(loss.lower(), plan.outputs, problem.width, block)
        key = source.words(Purpose.DEVICE_KEY, 0, 1, _KEY_WORDS).tobytes()
        chunk = _CHUNK.get(backend.device().platform, _LONG_CHUNK)
        if observer is not None:
            chunk = observer.pause or epoch_of(plan)
        stops = [*range(chunk, plan.steps, chunk), plan.steps]
        numbers = device_numbers(problem, plan, len(records.labels))
        held = _rows_on_device(cast("DeferredRows", rows), records)
        total = train(job, held, numbers, DampingRule.of(plan), key, stops, seen)
    return total / (plan.steps - plan.average_from)


def device_numbers(problem: Problem, plan: Training, count: int) -> Any:
    """Return the public numbers of a training on the device, n among them."""
    from dpscd.device.contribution import Numbers
    from dpscd.device.random import threshold_of

    cell, grid = limb_lattice_step(plan.n, plan.clip), plan.noise.grid
    return Numbers(
        count=np.int64(count),
        threshold=np.uint32(threshold_of(plan.rate)),
        strength=np.float64(problem.strength),
        clip=np.float64(plan.clip),
        cell=np.float64(cell),
        grid=np.float64(grid),
        spread=np.float64(plan.noise.spread),
        bits=np.int64(math.frexp(grid / cell)[1] - 1),
        average_from=np.int64(plan.average_from),
    )


def _rows_on_device(rows: DeferredRows, records: Records) -> Any:
    """Copy rows to the device, block by block as they are read."""
    from dpscd.device.rows import BLOCK, empty_rows, put_rows

    found = empty_rows(rows.count, rows.problem.width)
    for first in range(0, rows.count, BLOCK):
        part = slice(first, first + BLOCK)
        block = rows.problem.block(rows.X[part])
        found = put_rows(
            found, block.values, block.factor, block.norm, block.tail,
            records.labels[part], records.weights[part], first,
        )  # fmt: skip
    return found


def _check_memory(plan: Training) -> None:
    """Refuse a fit larger than the device, with sizes that follow from the public n."""
    backend = _backend()
    from dpscd.device.rows import room_for
    from dpscd.device.training import block_for

    with backend.exactly():
        free = backend.free_memory()
    if free is None:
        return
    width = plan.size // plan.outputs
    room, padded = room_for(plan.n, width)
    held = room * (2 * padded + _RECORD_BYTES + 8 * plan.outputs)
    block = block_for(plan.lot_size, plan.outputs)
    worked = block * (_OUTPUT_BYTES * plan.outputs + 8 * padded)
    needed = held + worked + _SHARED_BYTES * plan.outputs * padded
    if needed > free:
        raise DataError(
            f"the device {backend.device_name()} has {free / 2**30:.1f} GiB free and this fit "
            f"needs about {needed / 2**30:.1f}: {held / 2**30:.1f} for records and duals, "
            f"{worked / 2**30:.1f} for a block of a lot. Use engine='numba', or a smaller "
            "lot_size if it is the block that is large."
        )


@contextmanager
def _memory_said() -> Iterator[None]:
    """Turn the device's out-of-memory error into a MemoryError, which callers redact."""
    try:
        yield
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
    else:
        return
    raise MemoryError
