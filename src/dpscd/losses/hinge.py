"""The hinge loss, ``max(0, 1 - y u)`` with y in {-1, 1}: linear SVM."""

from typing import NamedTuple

from dpscd.late import register_jitable

TASK = "classification"


class Hinge(NamedTuple):
    """The hinge loss of a support vector machine."""

    margin: float = 1.0  # predictions below it are charged: always 1


@register_jitable
def value(loss: Hinge, u: float, y: float) -> float:
    return max(0.0, loss.margin - y * u)


@register_jitable
def slope(loss: Hinge, u: float, y: float) -> float:
    return -y if y * u < loss.margin else 0.0


@register_jitable
def curvature(loss: Hinge, u: float, y: float) -> float:
    return 0.0


@register_jitable
def conjugate(loss: Hinge, a: float, y: float) -> float:
    return -loss.margin * y * a


@register_jitable(forceinline=True)
def project(loss: Hinge, a: float, y: float) -> float:
    return y * min(max(y * a, 0.0), 1.0)


@register_jitable(forceinline=True)
def dual_step(loss: Hinge, u: float, a: float, y: float, k: float) -> float:
    """Return the exact minimiser z of ``conjugate(a + z) + u z + k z^2 / 2``."""
    b = y * project(loss, a, y)
    ahead = loss.margin - y * u
    if not k > 0.0:  # a flat subproblem: its minimiser is an end of the box
        return (y if ahead > 0.0 else 0.0) - a
    return y * min(max(b + ahead / k, 0.0), 1.0) - a
