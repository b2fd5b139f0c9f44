"""Losses: each a small file with a named tuple and six functions.

An operation here (``value``, ``slope``, ``curvature``, ``conjugate``, ``project``,
``dual_step``) takes a loss first and calls the function of that name in the loss's file, from
Python and from compiled code alike: one kernel body serves every loss. The file is the module
that the loss's class is defined in, of this package or of another: nothing is registered. A
loss with a scale of its own, in the unit of the labels, has a function :func:`rescaled` too.

Arguments are plain numbers: a prediction ``u``, a label ``y``, a dual ``a`` and the
curvature ``k = s |x|^2 / (lam n)`` of the local subproblem.
"""

import sys
from typing import Any, TypeGuard

from numba.extending import overload

from dpscd.losses.hinge import Hinge
from dpscd.losses.huber import Huber
from dpscd.losses.logistic import Logistic
from dpscd.losses.poisson import Poisson
from dpscd.losses.squared import Squared

__all__ = [
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Squared",
    "conjugate",
    "curvature",
    "dual_step",
    "has_log_link",
    "in_inner_unit",
    "is_of_errors",
    "project",
    "rescaled",
    "slope",
    "unit",
    "value",
]

Loss = Squared | Logistic | Hinge | Huber | Poisson

# Losses that do not grow with the square of their labels' unit: they keep it as `unit`.
_WITH_UNIT = (Poisson,)
# Losses whose predictions are logarithms of means, over a `rate` of their own.
_WITH_LOG_LINK = (Poisson,)
# Losses of the difference of prediction and label.
_OF_ERRORS = (Squared, Huber)


def value(loss: Loss, u: float, y: float) -> float:
    """Return the loss of prediction `u` for label `y`."""
    return _of(loss, "value")(loss, u, y)


def slope(loss: Loss, u: float, y: float) -> float:
    """Return a (sub)derivative of the loss in the prediction `u`."""
    return _of(loss, "slope")(loss, u, y)


def curvature(loss: Loss, u: float, y: float) -> float:
    """Return the second derivative of the loss in the prediction `u`, 0 at a kink."""
    return _of(loss, "curvature")(loss, u, y)


def conjugate(loss: Loss, a: float, y: float) -> float:
    """Return the convex conjugate of the loss at ``-a``, for a feasible dual `a`."""
    return _of(loss, "conjugate")(loss, a, y)


def project(loss: Loss, a: float, y: float) -> float:
    """Return the feasible dual nearest to `a`."""
    return _of(loss, "project")(loss, a, y)


def dual_step(loss: Loss, u: float, a: float, y: float, k: float) -> float:
    """Return the z that minimises ``conjugate(a + z) + u z + k z^2 / 2``."""
    return _of(loss, "dual_step")(loss, u, a, y, k)


def rescaled(loss: Loss, label_scale: float) -> Loss:
    """Return the loss of labels that were divided by `label_scale`, and predictions with them.

    It is the same up to a positive factor: a loss that has no scale of its own is itself.
    Predictions under a log link stay as they are.
    """
    own = getattr(sys.modules[type(loss).__module__], "rescaled", None)
    return loss if own is None else own(loss, label_scale)


def unit(loss: Loss) -> float:
    """Return what the user's loss was divided by: 1 unless the loss says otherwise."""
    return loss.unit if isinstance(loss, _WITH_UNIT) else 1.0


def in_inner_unit(loss: Loss) -> Loss:
    """Return the loss as it is for labels divided by their scale: a lam for it has no unit."""
    return loss._replace(unit=1.0) if isinstance(loss, _WITH_UNIT) else loss


def is_of_errors(loss: Loss) -> bool:
    """Return whether the loss depends on the difference of prediction and label alone."""
    return isinstance(loss, _OF_ERRORS)


def has_log_link(loss: Loss) -> TypeGuard[Poisson]:
    """Return whether predictions are logarithms of means, over the loss's own `rate`."""
    return isinstance(loss, _WITH_LOG_LINK)


def _of(loss: Loss, name: str) -> Any:
    return getattr(sys.modules[type(loss).__module__], name)


def _compiled(loss: Any, name: str) -> Any:
    # loss is Numba's type of a named tuple; instance_class is our class.
    return getattr(sys.modules[loss.instance_class.__module__], name)


@overload(value)
def _value(loss, u, y):
    call = _compiled(loss, "value")
    return lambda loss, u, y: call(loss, u, y)


@overload(slope)
def _slope(loss, u, y):
    call = _compiled(loss, "slope")
    return lambda loss, u, y: call(loss, u, y)


@overload(curvature)
def _curvature(loss, u, y):
    call = _compiled(loss, "curvature")
    return lambda loss, u, y: call(loss, u, y)


@overload(conjugate)
def _conjugate(loss, a, y):
    call = _compiled(loss, "conjugate")
    return lambda loss, a, y: call(loss, a, y)


@overload(project)
def _project(loss, a, y):
    call = _compiled(loss, "project")
    return lambda loss, a, y: call(loss, a, y)


@overload(dual_step, jit_options={"forceinline": True})
def _dual_step(loss, u, a, y, k):
    call = _compiled(loss, "dual_step")
    return lambda loss, u, a, y, k: call(loss, u, a, y, k)
