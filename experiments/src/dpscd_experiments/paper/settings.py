"""What is chosen to run a method of the paper, and the paper's own choices."""

import math
from dataclasses import dataclass
from typing import cast

from dpscd.errors import ParameterError
from dpscd.losses import Hinge, Loss, Squared
from dpscd_experiments.losses.published_logistic import PublishedLogistic

__all__ = ["LOSSES", "LOTS", "Settings"]

#: The losses as the paper trains them.
LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    # The type names the losses of the estimators; operations serve any loss.
    "logistic": cast(Loss, PublishedLogistic()),
    "hinge": Hinge(),
}

#: How lots may be drawn: cut from a permutation, as in the authors' experiments, or with
#: independent bits, as the accounting assumes.
LOTS = ("shuffled", "poisson")


@dataclass(frozen=True)
class Settings:
    """The settings of one run; each method uses those it has."""

    epochs: int  # passes over the records (or, in Algorithm 2, over the coordinates)
    lot_size: int = 1  # the paper's L
    clip: float = math.inf  # the paper's C; infinite for none, which needs ``sigma=0``
    # The paper's sigma: standard deviation of the noise over the *published* sensitivity. 0
    # runs the same loop without noise.
    sigma: float = 0.0
    lots: str = "shuffled"  # how lots are drawn
    learning_rate: float = 1.0  # the paper's eta, for SGD and DP-SGD

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.lot_size < 1:
            raise ParameterError(
                f"epochs={self.epochs!r} and lot_size={self.lot_size!r} must be at least 1."
            )
        if self.lots not in LOTS:
            raise ParameterError(f"lots={self.lots!r} must be one of {', '.join(LOTS)}.")
        if not (math.isfinite(self.sigma) and self.sigma >= 0.0):
            raise ParameterError(f"sigma={self.sigma!r} must be at least 0 and finite.")
        # A clip of 0 would mean noise of 0, and an epsilon computed from sigma alone.
        if not self.clip > 0.0:
            raise ParameterError(f"clip={self.clip!r} must be greater than 0.")
        if self.sigma > 0.0 and math.isinf(self.clip):
            raise ParameterError(f"sigma={self.sigma!r} needs a finite clip.")

    def steps_per_epoch(self, units: int) -> int:
        """Return the number of lots that make an epoch of `units` records or coordinates."""
        if self.lot_size > units:
            raise ParameterError(
                f"lot_size={self.lot_size!r} must be at most {units}, the number of records "
                "(of coordinates in Algorithm 2)."
            )
        return math.ceil(units / self.lot_size)

    def steps(self, units: int) -> int:
        """Return the number of steps, the paper's T."""
        return self.epochs * self.steps_per_epoch(units)

    def noise(self, sensitivity: float) -> float:
        """Return the standard deviation of noise for `sensitivity`, which may be infinite."""
        return self.sigma * sensitivity if self.sigma > 0.0 else 0.0
