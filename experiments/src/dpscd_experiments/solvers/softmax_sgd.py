"""DP-SGD for softmax regression, several learning rates at once."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.problem import Model
from dpscd.releases.training import Training

Floats = npt.NDArray[np.float32]


def softmax_sgd(
    plan: Training,
    X: Floats,
    y: npt.NDArray[np.int64],
    random: np.random.Generator,
    *,
    rates: Sequence[float],
    averaging: Sequence[float] = (0.0,),
    momentum: float,
    scale: float,
    constant: float,
) -> list[Model]:
    """Run DP-SGD with momentum on the softmax loss; return a model a rate and average."""
    if not rates or not all(math.isfinite(rate) and rate > 0.0 for rate in rates):
        raise ParameterError(f"rates={rates!r} must be positive and finite.")
    many, classes, d = len(rates), plan.outputs, X.shape[1]
    inverse, column = np.float32(1.0 / scale), np.float32(constant)
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X) * inverse**2 + column**2)
    clip, std = np.float32(plan.clip), np.float32(plan.noise_multiplier * plan.clip)
    size = np.repeat(np.asarray(rates, dtype=np.float32), classes) / np.float32(
        plan.rate * plan.n
    )
    weights = np.zeros((d + 1, many * classes), dtype=np.float32)
    speed = np.zeros_like(weights)
    sums = [np.zeros_like(weights) for _ in averaging]
    counts = [max(1, round(share * plan.steps)) for share in averaging]
    space = np.empty((0, d), dtype=np.float32)
    for step in range(plan.steps):
        members = np.flatnonzero(random.random(len(y)) < plan.rate)
        if len(members) > len(space):
            space = np.empty((len(members) + len(members) // 16, d), dtype=np.float32)
        # Into the same memory every time: fresh pages would take longer than all the rest.
        rows = np.take(X, members, axis=0, out=space[: len(members)], mode="clip")
        margins = (rows @ (weights[:-1] * inverse) + column * weights[-1]).reshape(
            -1, many, classes
        )
        margins -= margins.max(axis=2, keepdims=True)
        slopes = np.exp(margins, out=margins)
        slopes /= slopes.sum(axis=2, keepdims=True)
        slopes[np.arange(len(members)), :, y[members]] -= np.float32(1.0)
        longest = np.sqrt(np.einsum("imk,imk->im", slopes, slopes)) * lengths[members, None]
        slopes *= (clip / np.maximum(longest, clip))[:, :, None]
        flat = slopes.reshape(-1, many * classes)
        noise = std * random.standard_normal((d + 1, 1, classes), dtype=np.float32)
        speed *= np.float32(momentum)
        speed[:-1] += (flat.T @ rows).T * inverse
        speed[-1] += column * flat.sum(axis=0)
        speed.reshape(d + 1, many, classes)[...] += noise
        weights -= size * speed
        for total, count in zip(sums, counts, strict=True):
            if step >= plan.steps - count:
                total += weights
    return [
        Model(one[:-1].T / scale, one[-1] * constant)
        for total, count in zip(sums, counts, strict=True)
        for one in np.moveaxis(
            (total.astype(np.float64) / count).reshape(d + 1, many, -1), 1, 0
        )
    ]
