"""The paper's pseudo-code in plain Python, line by line, with randomness given.

X is N x M here, one record a row; `lots` are lists of members, `own` and `shared` the
normals of each step. Step functions are closed forms, nothing of ours.
"""

import math
from dataclasses import replace

import numpy as np
import scipy.sparse

from dpscd.kernels.dual import Records
from dpscd.losses import Logistic
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.solvers.sdca import sdca
from dpscd_experiments.paper import LOSSES, METHODS
from dpscd_experiments.paper.algorithms import chunks


def dual_step(loss, a, u, y, k):
    """Return the minimiser of N G_j over zeta, with u = x.v/(lam N), k = L |x|^2/(lam N)."""
    if loss == "squared":
        return (y - u - a) / (1.0 + k)
    if loss == "hinge":
        a = y * min(max(y * a, 0.0), 1.0)
        return y * min(max(y * a + (1.0 - y * u) / k, 0.0), 1.0) - a
    b = min(max(y * a, 1e-4), 1.0 - 1e-4)
    newton = b - (math.log(b / (1.0 - b)) + y * u) / (1.0 / (b * (1.0 - b)) + k)
    return y * (min(max(newton, 1e-4), 1.0 - 1e-4) - b)


def dual(case, settings, lots, own, shared, *, sequential):
    """Return the duals and the path of the model: Algorithm 3 if sequential, else 1."""
    X, y, lam, L, C = case.X, case.y, case.lam, settings.lot_size, settings.clip
    N, M = X.shape
    factor = 2.0 * math.sqrt(L * (L + 1)) if sequential else math.sqrt(2.0)
    alpha, v, path = np.zeros(N), np.zeros(M), []
    for t, lot in enumerate(lots):
        seen = v.copy()
        for j in lot:
            k = L * (X[j] @ X[j]) / (lam * N)
            u = X[j] @ (v if sequential else seen) / (lam * N)
            zeta = dual_step(case.loss, alpha[j], u, y[j], k)
            zeta /= max(1.0, abs(zeta) / C)
            alpha[j] += zeta
            v = v + zeta * X[j]
        alpha[lot] += factor * settings.sigma * C * own[t]
        v = v + factor * settings.sigma * C * shared[t]
        path.append(v / (lam * N))
    return alpha, path


def algorithm2(case, settings, lots, own, shared):
    """Return the path of the model in the units of X; its features get length 1 first."""
    X, y, lam, L, C = case.X, case.y, case.lam, settings.lot_size, settings.clip
    N, M = X.shape
    lengths = np.linalg.norm(X, axis=0)
    Z = X / lengths
    theta, v, path = np.zeros(M), np.zeros(N), []
    for t, lot in enumerate(lots):
        if case.loss == "squared":
            first, second = v - y, np.ones(N)
        else:
            p = 1.0 / (1.0 + np.exp(y * v))
            first, second = -y * p, p * (1.0 - p)
        d_theta, d_v = np.zeros(M), np.zeros(N)
        for j in lot:
            ridge = lam / lengths[j] ** 2
            gradient = Z[:, j] @ first / N + ridge * theta[j]
            zeta = -gradient / (L * (Z[:, j] ** 2 @ second) / N + ridge)
            zeta /= max(1.0, abs(zeta) / C)
            d_v += zeta * Z[:, j]
            d_theta[j] += zeta
        noise = np.zeros(M)
        noise[lot] = own[t]
        std = settings.sigma * 2.0 * C * math.sqrt(L * (L + 1))
        theta = theta + d_theta + std * noise
        v = v + d_v + std * shared[t]
        path.append(theta / lengths)
    return path


def dp_sgd(case, settings, lots, shared):
    """Return the path of the model."""
    X, y, C = case.X, case.y, settings.clip
    theta, path = np.zeros(X.shape[1]), []
    for t, lot in enumerate(lots):
        total = settings.sigma * C * shared[t]
        for i in lot:
            u = X[i] @ theta
            if case.loss == "squared":
                slope = u - y[i]
            elif case.loss == "hinge":
                slope = -y[i] if y[i] * u < 1.0 else 0.0
            else:
                slope = -y[i] / (1.0 + math.exp(y[i] * u))
            g = slope * X[i]
            total = total + g / max(1.0, np.linalg.norm(g) / C)
        step = total / settings.lot_size + case.lam * theta
        theta = theta - settings.learning_rate * step
        path.append(theta)
    return path


def listed(name, case, settings):
    """Return the model that a listing ends with, and its duals, on what a run draws."""
    lots, own, shared = [], [], []
    units, size = case.X.shape[::-1] if name == "primal-dp-scd" else case.X.shape
    source = SeededSource(b"run")
    for chunk in chunks(settings, source, units, size, own=name != "dp-sgd"):
        lots += members(chunk.lots)
        own += np.split(chunk.own, chunk.lots.starts[1:-1])
        shared += list(chunk.shared)
    if name == "primal-dp-scd":
        return algorithm2(case, settings, lots, own, shared)[-1], None
    if name == "dp-sgd":
        return dp_sgd(case, settings, lots, shared)[-1], None
    sequential = name == "seq-dp-scd"
    alpha, path = dual(case, settings, lots, own, shared, sequential=sequential)
    return path[-1], alpha


def members(lots):
    """Return the members of each lot."""
    return [list(lot) for lot in np.split(lots.ids, lots.starts[1:-1])]


class Case:
    """A small problem with unit rows, dense or sparse, for every test of the paper."""

    def __init__(self, loss, *, lam=0.05, n=60, d=5, sparse=False):
        generator = np.random.default_rng(0)
        X = generator.normal(size=(n, d)) * (generator.random((n, d)) < 0.8)
        X[:, 0] += 0.1
        self.X = X / np.linalg.norm(X, axis=1, keepdims=True)
        score = self.X @ generator.normal(size=d) + 0.3 * generator.normal(size=n)
        self.y = score if loss == "squared" else np.where(score > 0.0, 1.0, -1.0)
        self.loss, self.lam = loss, lam
        self.problem = Problem(LOSSES[loss], lam, n, d)
        self.rows = self.problem.rows(scipy.sparse.csr_matrix(self.X) if sparse else self.X)
        self.records = Records(self.y, np.ones(n))

    def run(self, name, settings, seed=b"run", observer=None):
        """Return the shared vector of a method."""
        given = self.problem, self.rows, self.records, settings, SeededSource(seed)
        return METHODS[name].run(*given, observer=observer)

    @property
    def exact(self):
        """The problem with the logistic loss itself, not the paper's step on it."""
        loss = Logistic() if self.loss == "logistic" else self.problem.loss
        return replace(self.problem, loss=loss)

    def optimum(self):
        """Return the model at the optimum."""
        given = self.exact, self.rows, self.records, SeededSource(b"o")
        return sdca(*given, tolerance=1e-10)[0][0] / self.problem.strength

    def primal(self, w):
        """Return the objective of a model."""
        u = self.X @ w
        losses = {
            "squared": 0.5 * (u - self.y) ** 2,
            "logistic": np.log1p(np.exp(-self.y * u)),
            "hinge": np.maximum(0.0, 1.0 - self.y * u),
        }[self.loss]
        return losses.mean() + 0.5 * self.lam * w @ w
