"""A small problem with unit rows, dense or sparse, for every test of the paper."""

import numpy as np
import scipy.sparse

from dpscd.kernels.dual import Records
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd_experiments.paper.settings import LOSSES

N, D = 60, 5


class Case:
    def __init__(self, loss, *, lam=0.05, n=N, d=D, sparse=False, seed=0):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(n, d)) * (generator.random((n, d)) < 0.8)
        X[:, 0] += 0.1
        self.X = X / np.linalg.norm(X, axis=1, keepdims=True)
        score = self.X @ generator.normal(size=d) + 0.3 * generator.normal(size=n)
        self.y = score if loss == "squared" else np.where(score > 0.0, 1.0, -1.0)
        self.loss, self.lam = loss, lam
        self.problem = Problem(LOSSES[loss] if isinstance(loss, str) else loss, lam, n, d)
        X = scipy.sparse.csr_matrix(self.X) if sparse else self.X
        self.rows = self.problem.rows(X)
        self.records = Records(self.y, np.ones(n))

    def run(self, method, settings, seed=b"run", observer=None):
        source = SeededSource(seed)
        return method(
            self.problem, self.rows, self.records, settings, source, observer=observer
        )
