"""The paper's lemmas, theorems and table as functions, as published and as they hold.

Where they do not apply: docs/understanding/paper_theory.md. Big-O statements take their
hidden constant as an argument, 1 by default: they are for scaling laws, not for noise.
"""

import math
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from dpscd.errors import ParameterError

#: The grids of appendix D: C and eta by decades, and L. The paper counts L = 0 as a value.
CLIPS = tuple(10.0**k for k in range(-8, 5))
LEARNING_RATES = CLIPS
LOT_SIZES = (0, 5, 10, 50, 100, 200, 500, 1000, 1250, 1500, 1750, 2000)

_GRIDS = {"clip": CLIPS, "learning_rate": LEARNING_RATES, "lot_size": LOT_SIZES}


def sensitivity_dual(clip: float, *, label_kept: bool = False) -> float:
    """Return the sensitivity of (dual, shared) in one step of Algorithm 1."""
    # Lemma 1's sqrt(2) C holds if the record that is zeroed out takes no step at all. The
    # lemma's own data set keeps its label: the step on the zeroed column is then clipped to C
    # too and may have the opposite sign, 2 C in the dual and C in the shared vector.
    return math.sqrt(5.0 if label_kept else 2.0) * clip


def sensitivity_primal(clip: float, lot_size: int) -> float:
    """Return the sensitivity of one step of Algorithm 2: all L steps may change sign."""
    return 2.0 * clip * math.sqrt(lot_size * (lot_size + 1.0))


def sensitivity_sequential(clip: float, lot_size: int) -> float:
    """Return the sensitivity of one step of Algorithm 3: as in the primal."""
    return sensitivity_primal(clip, lot_size)


def theorem1_sigma(
    epsilon: float, delta: float, q: float, steps: int, constant: float = 1.0
) -> float:
    """Return Theorem 1's noise, ``constant q sqrt(T log(1/delta)) / epsilon``."""
    return constant * q * math.sqrt(steps * math.log(1.0 / delta)) / epsilon


def visible_epsilon(
    sigma: float, participations: int, delta: float, *, label_kept: bool = False
) -> float:
    """Return the epsilon of Algorithm 1 towards somebody who sees the duals change."""
    # Lots are then known, and what is left is a Gaussian release each time that the record is
    # drawn (once an epoch, for shuffled lots), without amplification.
    ratio = sensitivity_dual(1.0, label_kept=label_kept) / sensitivity_dual(1.0)
    mu = ratio * math.sqrt(participations) / sigma

    def excess(epsilon: float) -> float:
        beyond = math.exp(epsilon + float(log_ndtr(-epsilon / mu - mu / 2.0)))
        return float(ndtr(-epsilon / mu + mu / 2.0)) - beyond - delta

    if excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, mu * (mu / 2.0 + math.sqrt(2.0 * math.log(2.0 / delta)))))


def lemma3_decrease(n: int, lot_size: int, lam: float, mu: float) -> float:
    """Return the share of the dual suboptimality that a step removes, at least."""
    # For 1/mu-smooth losses, records of length 1, exact unclipped steps of a uniform lot.
    return mu * lam * lot_size / (mu * lam * n + lot_size)


def lemma4_increase(
    n: int, lot_size: int, lam: float, std: float, *, conjugate_curvature: float = 0.0
) -> float:
    """Return how much noise of `std` on the duals of a lot raises the dual objective."""
    # Lemma 4 as published is the part of the quadratic term alone. The conjugates add the
    # second part, where their second derivative is bounded: 1 for the squared loss, unbounded
    # for the logistic, and for the hinge noise leaves the feasible set.
    return lot_size * std**2 / 2.0 * (1.0 / (lam * n**2) + conjugate_curvature / n)


def theorem2_applies(
    n: int, lot_size: int, lam: float, mu: float, *, kappa: float = 0.0
) -> bool:
    """Return whether Theorem 2's condition on L holds."""
    # With L <= N it needs lam > 1 / mu at the least: no regularisation anybody uses.
    return lot_size * (2.0 * (1.0 - kappa) * mu * lam - 1.0) > mu * lam * n


def suboptimality_recursion(
    start: float, steps: int, decrease: float, increase: float
) -> float:
    """Return the bound on the suboptimality after `steps` steps, constants included."""
    # The proof of Theorem 2: a step removes a share `decrease` and adds `increase`.
    kept = 1.0 - decrease
    return kept**steps * start + increase * (1.0 - kept**steps) / decrease


def theorem2_bound(
    n: int, lot_size: int, lam: float, epsilon: float, delta: float, constant: float = 1.0
) -> float:
    """Return Theorem 2's bound on the expected dual suboptimality, up to its constant."""
    scale = lot_size**3 / (lam * n**4 * epsilon**2)
    return constant * scale * math.log(lam * n * epsilon / lot_size) * math.log(1.0 / delta)


@dataclass(frozen=True)
class Bound:
    """One row of the paper's table of utility bounds."""

    method: str
    perturbation: str
    formula: str
    value: float


def bounds_table(n: int, d: int, lot_size: int, epsilon: float) -> tuple[Bound, ...]:
    """Return the four rows of the table, hidden constants taken as 1."""
    square = n**2 * epsilon**2
    dual = lot_size**3 * math.log(n / lot_size) / (n**4 * epsilon**2)
    return (
        Bound("Zhang et al. 2017", "output", "M / (N^2 eps^2)", d / square),
        Bound("Chaudhuri et al. 2011", "objective", "M / (N^2 eps^2)", d / square),
        Bound("Wang et al. 2017", "update", "M log N / (N^2 eps^2)", d * math.log(n) / square),
        Bound("DP-SCD", "update", "L^3 log(N / L) / (N^4 eps^2)", dual),
    )


def tuning_cost(*parameters: str) -> int:
    """Return the number of configurations of the paper's grids over `parameters`."""
    unknown = set(parameters) - set(_GRIDS)
    if unknown:
        raise ParameterError(f"parameters={parameters!r} must be among {', '.join(_GRIDS)}.")
    return math.prod(len(_GRIDS[name]) for name in parameters)
