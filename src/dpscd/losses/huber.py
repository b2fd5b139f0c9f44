"""The Huber loss: squared for small residuals, linear beyond a threshold."""

from typing import Any, NamedTuple

from dpscd.late import register_jitable

OF_ERRORS = True

_SHARE = 0.1  # of the labels' range: the usual threshold


class Huber(NamedTuple):
    """The Huber loss, ``r^2 / 2`` of a residual up to the threshold, linear beyond."""

    # the residual at which the loss becomes linear, in the unit of the labels; it bounds every
    # dual
    threshold: float = 1.0


def rescaled(loss: Huber, label_scale: float) -> Huber:
    """Return the loss of labels that were divided by `label_scale`, up to a factor."""
    return Huber(loss.threshold / label_scale)


def made(labels: Any, centred: bool, threshold: float | None) -> Huber:
    """Return the loss with a threshold, or with one that follows the labels' range."""
    del centred
    return Huber(_SHARE * (labels.high - labels.low) if threshold is None else threshold)


@register_jitable
def value(loss: Huber, u: float, y: float) -> float:
    size = abs(u - y)
    if size <= loss.threshold:
        return 0.5 * size * size
    return loss.threshold * (size - 0.5 * loss.threshold)


@register_jitable
def slope(loss: Huber, u: float, y: float) -> float:
    return min(max(u - y, -loss.threshold), loss.threshold)


@register_jitable
def curvature(loss: Huber, u: float, y: float) -> float:
    return 1.0 if abs(u - y) < loss.threshold else 0.0


@register_jitable
def conjugate(loss: Huber, a: float, y: float) -> float:
    return 0.5 * a * a - a * y


@register_jitable(forceinline=True)
def project(loss: Huber, a: float, y: float) -> float:
    return min(max(a, -loss.threshold), loss.threshold)


@register_jitable(forceinline=True)
def dual_step(loss: Huber, u: float, a: float, y: float, k: float) -> float:
    """Return that of the squared loss, cut to the box: a parabola in ``a + z``."""
    b = project(loss, a, y)
    return project(loss, b + (y - u - b) / (1.0 + k), y) - a
