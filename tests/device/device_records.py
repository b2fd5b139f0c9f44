"""Records for checks and times: hostile ones, and many that are made where they are trained on.

Rows made on the device skip the door and the way to it: this is for measurements only, where
nobody's records are concerned.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from dpscd.device.backend import compiled
from dpscd.device.contribution import Numbers
from dpscd.device.rows import (
    BLOCK,
    DeviceRows,
    Members,
    empty_rows,
    gather,
    put_block,
    put_rows,
)
from dpscd.privacy.draws import limb_lattice_step

__all__ = ["Teacher", "generated", "hostile_members", "hostile_numbers", "judged"]

_FLIPS = 0.1  # part of the labels that are drawn at random
_SEED = 20


class Teacher(NamedTuple):
    """What labels follow from: rows have normal entries, and classes are linear in them."""

    d: int
    outputs: int

    @property
    def weights(self) -> Any:
        """One row for each class, two if there is one output."""
        return jax.random.normal(jax.random.key(_SEED), (max(self.outputs, 2), self.d))


def _block(teacher: Teacher, number: Any) -> tuple[Any, Any]:
    """Return a block of rows of length one, and their labels as they are inside."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(_SEED + 1), number), 3)
    rows = jax.random.normal(keys[0], (BLOCK, teacher.d), jnp.float32)
    rows = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    weights = teacher.weights.astype(jnp.float32)
    classes = jnp.argmax(jnp.dot(rows, weights.T, precision="default"), axis=1)
    drawn = jax.random.randint(keys[1], (BLOCK,), 0, len(weights))
    classes = jnp.where(jax.random.uniform(keys[2], (BLOCK,)) < _FLIPS, drawn, classes)
    labels = classes.astype(jnp.float64)
    return rows, 2.0 * labels - 1.0 if teacher.outputs == 1 else labels


def generated(teacher: Teacher, count: int, tail: float) -> DeviceRows:
    """Return so many records of a teacher on the device, each of length one with its tail."""
    width = teacher.d + (1 if tail else 0)
    scale = (1.0 - tail * tail) ** 0.5

    def put(rows: DeviceRows, number: Any) -> DeviceRows:
        values, labels = _block(teacher, number)
        lies = jnp.arange(BLOCK) + number * BLOCK < count
        factor = jnp.full(BLOCK, scale)
        norm = jnp.where(lies, 1.0, 0.0)
        return put_block(
            rows, values, factor, norm, tail, labels, jnp.ones(BLOCK), number * BLOCK
        )

    fill = compiled(put, donate_argnums=0)
    rows = empty_rows(count, width)
    for number in range(-(-count // BLOCK)):
        rows = fill(rows, number)
    rows.facts.block_until_ready()
    return rows


def judged(teacher: Teacher, model: npt.NDArray[np.float64]) -> float:
    """Return the share of other records of the teacher that a shared vector gets right."""
    right = []
    for number in range(8):
        rows, labels = (np.asarray(part) for part in _block(teacher, 10**6 + number))
        decisions = rows @ model[:, : teacher.d].T
        if model.shape[1] > teacher.d:
            decisions = decisions + 0.3 * model[:, teacher.d]
        if teacher.outputs == 1:
            right.append(np.sign(decisions[:, 0]) == labels)
        else:
            right.append(decisions.argmax(axis=1) == labels)
    return float(np.mean(right))


def hostile_numbers(clip: float = 0.7, n: int = 1000) -> Numbers:
    """Return the public numbers of some training."""
    cell = limb_lattice_step(n, clip)
    return Numbers(
        count=n, threshold=np.uint32(2**28), strength=np.float64(3.7), clip=np.float64(clip),
        cell=np.float64(cell), grid=np.float64(cell * 2.0**20), spread=np.float64(1500.0),
        bits=20, average_from=0,
    )  # fmt: skip


def hostile_members(count: int, width: int, outputs: int, seed: int) -> Members:
    """Return records with weights, scales and labels of every size, silent ones among them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, width)) * 10.0 ** rng.integers(-12, 12, (count, 1))
    values[rng.random((count, width)) < 0.2] = 0.0
    values[::7] = np.sign(values[::7])
    values[3::11] = 0.0
    factor = 1.0 / np.maximum(np.linalg.norm(values, axis=1), 1e-300)
    norm = np.linalg.norm(values * factor[:, None], axis=1)
    norm[5::13] = np.nan
    labels = rng.integers(0, max(outputs, 2), count).astype(float)
    if outputs == 1:
        labels = 2.0 * labels - 1.0
        labels[4::17] = 1e30
    weights = rng.choice([0.0, 1e-9, 0.3, 1.0, 5.0, 1e12], count)
    rows = empty_rows(count, width + 1)
    for first in range(0, count, BLOCK):
        part = slice(first, first + BLOCK)
        rows = put_rows(
            rows, values[part], factor[part], norm[part], 0.25, labels[part], weights[part],
            first,
        )  # fmt: skip
    return gather(rows, jnp.arange(count, dtype=jnp.int32))
