"""The squared loss, ``(u - y)^2 / 2``: ridge regression."""

from typing import NamedTuple

from dpscd.late import register_jitable

OF_ERRORS, OF_MEANS = True, True


class Squared(NamedTuple):
    """The squared loss, half the square of the residual."""

    scale: float = 1.0  # always 1: Numba cannot pass a tuple without fields


@register_jitable
def value(loss: Squared, u: float, y: float) -> float:
    return 0.5 * (u - y) * (u - y)


@register_jitable
def slope(loss: Squared, u: float, y: float) -> float:
    return u - y


@register_jitable
def curvature(loss: Squared, u: float, y: float) -> float:
    return 1.0


@register_jitable
def conjugate(loss: Squared, a: float, y: float) -> float:
    return 0.5 * a * a - a * y


@register_jitable(forceinline=True)
def project(loss: Squared, a: float, y: float) -> float:
    return a


@register_jitable(forceinline=True)
def dual_step(loss: Squared, u: float, a: float, y: float, k: float) -> float:
    """Return the exact minimiser z of ``conjugate(a + z) + u z + k z^2 / 2``."""
    return (y - u - a) / (1.0 + k)
