"""Losses: each one file, with a named tuple, six functions, and what else is said of it.

An operation here (``value``, ``slope``, ``curvature``, ``conjugate``, ``project``,
``dual_step``) takes a loss first and calls the function of that name in the loss's file, from
Python and from compiled code alike: one kernel body serves every loss. The file is the module
that the loss's class is defined in, of this package or of another.

Arguments are plain numbers: a prediction ``u``, a label ``y``, a dual ``a`` and the
curvature ``k = s |x|^2 / (lam n)`` of the local subproblem.

A joint loss, of all outputs of a record together, has other functions: ``fill_steps``,
``joint_value`` and ``joint_conjugate``, of arrays with a number for each output.

A file may say more, where the usual is not what it is:

=============== ==========================================================================
``TASK``        "classification" or "counts"; the usual is "regression"
``LOG_LINK``    predictions are logarithms of means over the loss's own ``rate``
``OF_ERRORS``   the loss depends on the difference of prediction and label alone
``OF_MEANS``    predictions are meant as means of numeric labels
field ``unit``  the user's loss is divided by it: not of the square of the labels' unit
``made``        function that returns the loss for an encoding of labels
``rescaled``    function that returns the loss of labels divided by a scale
=============== ==========================================================================
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.late import overload, register_jitable
from dpscd.losses.hinge import Hinge
from dpscd.losses.huber import Huber
from dpscd.losses.logistic import Logistic
from dpscd.losses.poisson import Poisson
from dpscd.losses.softmax import Softmax
from dpscd.losses.squared import Squared

__all__ = ["Hinge", "Huber", "Logistic", "Poisson", "Softmax", "Squared"]

Floats = npt.NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])
Loss = Squared | Logistic | Hinge | Huber | Poisson | Softmax

#: The registry: all losses of this library.
LOSSES: tuple[type[Loss], ...] = (Squared, Logistic, Hinge, Huber, Poisson, Softmax)


def _of_file(usual: Any = None, **options: Any) -> Callable[[F], F]:
    """Return a decorator: call the loss's own function of this name, or `usual`."""

    def declare(function: F) -> F:
        name = function.__name__

        @wraps(function)
        def call(loss: Any, *numbers: Any) -> Any:
            return (_said(loss, name) or usual)(loss, *numbers)

        @overload(call, strict=False, jit_options=options)
        def choose(loss: Any, *numbers: Any) -> Any:  # pragma: no cover - runs in the compiler
            # Numba's type of a named tuple has our class as instance_class.
            return _said(loss.instance_class, name) or usual

        return cast(F, call)

    return declare


@_of_file()
def value(loss: Loss, u: float, y: float) -> float:
    """Return the loss of prediction `u` for label `y`."""


@_of_file()
def slope(loss: Loss, u: float, y: float) -> float:
    """Return a (sub)derivative of the loss in the prediction `u`."""


@_of_file()
def curvature(loss: Loss, u: float, y: float) -> float:
    """Return the second derivative of the loss in the prediction `u`, 0 at a kink."""


@_of_file()
def conjugate(loss: Loss, a: float, y: float) -> float:
    """Return the convex conjugate of the loss at ``-a``, for a feasible dual `a`."""


@_of_file()
def project(loss: Loss, a: float, y: float) -> float:
    """Return the feasible dual nearest to `a`."""


@_of_file(forceinline=True)
def dual_step(loss: Loss, u: float, a: float, y: float, k: float) -> float:
    """Return the z that minimises ``conjugate(a + z) + u z + k z^2 / 2``."""


@_of_file()
def fill_steps(
    loss: Loss, count: int, y: Floats, weight: Floats, k: Floats, duals: Floats, steps: Floats,
    workspace: Floats,
) -> None:  # fmt: skip
    """Replace predictions of records by a joint loss, in `steps`, by steps of their duals.

    The numbers are those of :func:`record_steps`, to the last bit, where weights are positive:
    a loss of weight w has w times the conjugate, at the dual over w. `duals` and `steps` have
    shape (outputs, records); `workspace`, of shape (3, records), is overwritten.
    """


@_of_file()
def joint_value(loss: Loss, margins: Floats, y: float) -> float:
    """Return the joint loss of predictions for all outputs."""


@_of_file()
def joint_conjugate(loss: Loss, duals: Floats, y: float) -> float:
    """Return the convex conjugate of the joint loss at ``-duals``."""


@register_jitable
def _record_separately(
    loss: Loss, y: float, weight: float, k: float, duals: Floats, steps: Floats
) -> None:
    for j in range(steps.shape[0]):
        label = y
        if steps.shape[0] > 1:
            label = 1.0 if y == j else -1.0
        steps[j] = weight * dual_step(loss, steps[j], duals[j] / weight, label, k)


@_of_file(_record_separately)
def record_steps(
    loss: Loss, y: float, weight: float, k: float, duals: Floats, steps: Floats
) -> None:
    """Replace the predictions of one record for all outputs, in `steps`, by steps of its duals.

    A loss that is not joint has labels 1 for the output `y` and -1 for others of several.
    """


def is_joint(loss: Loss | type[Loss]) -> bool:
    """Return whether a loss, or a class of losses, is one loss of all outputs together."""
    return bool(_said(loss, "fill_steps"))


def rescaled(loss: Loss, label_scale: float) -> Loss:
    """Return the loss for labels divided by `label_scale`, up to a positive factor."""
    own = _said(loss, "rescaled")
    return loss if own is None else own(loss, label_scale)


def made(
    family: type[Loss], labels: Any, centred: bool, threshold: float | None = None
) -> Loss:
    """Return the loss for labels in the user's units; `centred`: with an intercept."""
    own = _said(family, "made")
    return family() if own is None else own(labels, centred, threshold)


def called(name: str) -> type[Loss]:
    """Return the loss of this name, or raise ParameterError."""
    for family in LOSSES:
        if family.__name__ == name:
            return family
    raise ParameterError(f"loss={name!r} is not known.")


def task_of(family: type[Loss]) -> str:
    """Return what is done with a loss: classification, regression or counts."""
    return _said(family, "TASK") or "regression"


def predicts_means(family: type[Loss]) -> bool:
    """Return whether predictions are meant as means of numeric labels."""
    return bool(_said(family, "OF_MEANS"))


def unit(loss: Loss) -> float:
    """Return the divisor of the user's loss: 1 unless the loss says otherwise."""
    return float(getattr(loss, "unit", 1.0))


def in_inner_unit(loss: Loss) -> Loss:
    """Return the loss for labels divided by their scale, so that its lam has no unit."""
    return loss._replace(unit=1.0) if "unit" in loss._fields else loss  # type: ignore[call-arg]


def is_of_errors(loss: Loss) -> bool:
    """Return whether the loss depends on the difference of prediction and label alone."""
    return bool(_said(loss, "OF_ERRORS"))


def has_log_link(loss: Loss | type[Loss]) -> TypeGuard[Poisson]:
    """Return whether predictions are logarithms of means, over the loss's own `rate`."""
    return bool(_said(loss, "LOG_LINK"))


def _said(loss: Loss | type[Loss], name: str) -> Any:
    """Return what a loss's file has under a name, or None."""
    family = loss if isinstance(loss, type) else type(loss)
    return getattr(sys.modules[family.__module__], name, None)
