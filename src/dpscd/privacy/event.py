"""Accounting events as plain values, independent of any library."""

from dataclasses import asdict, dataclass
from typing import Any

from dpscd.errors import CardError

__all__ = ["Event", "SampledGaussian", "event_from_dict"]

# Beyond these no accountant computes anything; no plan comes near them.
_SMALLEST, _LARGEST = 1e-12, 1e12


@dataclass(frozen=True)
class SampledGaussian:
    """`steps` Gaussian releases, each of a fresh Poisson sample of the records."""

    rate: float  # probability that a record is in a sample
    noise_multiplier: float  # standard deviation over the clip, in every relation
    steps: int

    def __post_init__(self) -> None:
        if not _SMALLEST <= self.rate <= 1.0:
            raise CardError(f"rate={self.rate!r} must lie in [{_SMALLEST:g}, 1].")
        if not 0.0 < self.noise_multiplier <= _LARGEST:
            raise CardError(
                f"noise_multiplier={self.noise_multiplier!r} must be positive and finite."
            )
        if type(self.steps) is not int or not 0 < self.steps <= _LARGEST:
            raise CardError(f"steps={self.steps!r} must be a positive integer.")

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain JSON values."""
        return {"kind": "sampled-gaussian", **asdict(self)}


Event = SampledGaussian

_KINDS = {"sampled-gaussian": SampledGaussian}


def event_from_dict(values: Any) -> Event:
    """Return the event that `to_dict` wrote, or raise CardError."""
    try:
        fields = dict(values)
        return _KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError, ValueError) as error:
        problem = error if isinstance(error, CardError) else None
    if problem:
        raise problem
    raise CardError("an event of the card is malformed.")
