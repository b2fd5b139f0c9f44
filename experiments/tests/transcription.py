"""The paper's pseudo-code in plain Python, line by line, with randomness given.

X is N x M here, one record a row; `lots` are lists of members, `own` and `shared` the
normals of each step. Step functions are closed forms, nothing of ours.
"""

import math
from dataclasses import replace
from functools import partial

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


def dual(case, settings, lots, own, shared, *, sequential=False):
    """Return the path of the model, and the duals: Algorithm 3 if sequential, else 1."""
    X, y, L, C, sigma = case.X, case.y, settings.lot_size, settings.clip, settings.sigma
    strength = case.lam * len(X)
    factor = 2.0 * math.sqrt(L * (L + 1)) if sequential else math.sqrt(2.0)
    alpha, v, path = np.zeros(len(X)), np.zeros(X.shape[1]), []
    for lot, own_noise, noise in zip(lots, own, shared, strict=True):
        seen = v.copy()
        for j in lot:
            u = X[j] @ (v if sequential else seen) / strength
            zeta = dual_step(case.loss, alpha[j], u, y[j], L * (X[j] @ X[j]) / strength)
            zeta /= max(1.0, abs(zeta) / C)
            alpha[j] += zeta
            v = v + zeta * X[j]
        alpha[lot] += factor * sigma * C * own_noise
        v = v + factor * sigma * C * noise
        path.append(v / strength)
    return path, alpha


def algorithm2(case, settings, lots, own, shared):
    """Return the path of the model in the units of X; its features get length 1 first."""
    N, L, C = len(case.X), settings.lot_size, settings.clip
    lengths = np.linalg.norm(case.X, axis=0)
    Z = case.X / lengths
    theta, v, path = np.zeros(len(lengths)), np.zeros(N), []
    std = settings.sigma * 2.0 * C * math.sqrt(L * (L + 1))
    for lot, own_noise, noise in zip(lots, own, shared, strict=True):
        first, second = slopes(case.loss, v, case.y)
        start, before = theta.copy(), v + std * noise
        for j in lot:
            ridge = case.lam / lengths[j] ** 2
            gradient = Z[:, j] @ first / N + ridge * start[j]
            zeta = -gradient / (L * (Z[:, j] ** 2 @ second) / N + ridge)
            zeta /= max(1.0, abs(zeta) / C)
            before += zeta * Z[:, j]
            theta[j] += zeta
        theta[lot] += std * own_noise
        v = before
        path.append(theta / lengths)
    return path, None


def dp_sgd(case, settings, lots, _own, shared):
    """Return the path of the model."""
    theta, path = np.zeros(case.X.shape[1]), []
    for lot, noise in zip(lots, shared, strict=True):
        X, C = case.X[lot], settings.clip
        g = slopes(case.loss, X @ theta, case.y[lot])[0][:, None] * X
        g /= np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True) / C)
        total = g.sum(axis=0) + settings.sigma * C * noise
        step = total / settings.lot_size + case.lam * theta
        theta = theta - settings.learning_rate * step
        path.append(theta)
    return path, None


def slopes(loss, u, y):
    """Return first and second derivatives of the loss at predictions."""
    if loss == "squared":
        return u - y, np.ones(len(y))
    if loss == "hinge":
        return np.where(y * u < 1.0, -y, 0.0), None
    p = 1.0 / (1.0 + np.exp(y * u))
    return -y * p, p * (1.0 - p)


LISTINGS = {
    "dp-scd": dual,
    "seq-dp-scd": partial(dual, sequential=True),
    "primal-dp-scd": algorithm2,
    "dp-sgd": dp_sgd,
}


def listed(name, case, settings):
    """Return the model that a listing ends with, and its duals, on what a run draws."""
    units, size = case.X.shape[::-1] if name == "primal-dp-scd" else case.X.shape
    lots, own, shared = [], [], []
    for part in chunks(settings, SeededSource(b"run"), units, size, own=name != "dp-sgd"):
        lots += members(part.lots)
        own += np.split(part.own, part.lots.starts[1:-1])
        shared += list(part.shared)
    path, duals = LISTINGS[name](case, settings, lots, own, shared)
    return path[-1], duals


def members(lots):
    """Return the members of each lot."""
    return np.split(lots.ids.copy(), lots.starts[1:-1])


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
