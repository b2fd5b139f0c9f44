"""Data whose speed is measured: Gaussian directions, labels that are noisy signs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.kernels.dual import Records
from dpscd.losses import Loss
from dpscd.plan import Plan
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem

__all__ = ["Case", "make_case", "make_sparse_case"]


@dataclass(frozen=True)
class Case:
    """Data, and a plan whose noise is that of epsilon 1 or so."""

    X: Any
    y: npt.NDArray[np.float32]
    lot: int
    lam: float = 1e-4

    def problem(self, loss: Loss) -> Problem:
        """Return the problem without intercept."""
        n, d = self.X.shape
        return Problem(loss, self.lam, n, d)

    def plan(self, epochs: int) -> Plan:
        """Return a plan of so many epochs."""
        n, d = self.X.shape
        return Plan(
            epsilon=1.0,
            delta=1e-6,
            relation=Relation.ZERO_OUT,
            n=n,
            d=d,
            outputs=1,
            intercept=False,
            lam=self.lam,
            steps=max(1, round(epochs * n / self.lot)),
            rate=self.lot / n,
            clip=0.005,
            separability=float(self.lot),
            averaging=0.5,
            noise_multiplier=1.2,
        )

    def records(self) -> Records:
        """Return labels and weights."""
        return Records(self.y.astype(float), np.ones(len(self.y)))


def make_case(n: int, d: int, lot: int) -> Case:
    """Return dense rows of length 1 in single precision."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.05 * generator.normal(size=n) > 0.0, 1.0, -1.0)
    return Case(X, y.astype(np.float32), lot)


def make_sparse_case(n: int, d: int, entries: int, lot: int) -> Case:
    """Return sparse rows with so many entries each, spread evenly over the columns."""
    generator = np.random.default_rng(0)
    room = d // entries  # an entry in each part of the columns: none twice in a row
    columns = generator.integers(0, room, (n, entries)) + room * np.arange(entries)
    values = generator.standard_normal((n, entries), dtype=np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    pointers = np.arange(0, n * entries + 1, entries)
    flat = (values.ravel(), columns.ravel().astype(np.int32), pointers)
    y = np.where(values[:, 0] > 0.0, 1.0, -1.0).astype(np.float32)
    return Case(sparse.csr_matrix(flat, shape=(n, d)), y, lot)
