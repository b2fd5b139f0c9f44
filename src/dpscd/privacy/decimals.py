"""Budget numbers as exact decimals, rounded to the private side when shown."""

import math
from fractions import Fraction

__all__ = ["above", "below", "exact"]


def exact(number: float) -> Fraction:
    """Return the decimal that is written for `number`, not the nearest binary.

    Ten fits of 0.1 must fill a budget of 1. The filters ensure that no less is charged than is
    spent.
    """
    return Fraction(repr(float(number)))


def above(number: Fraction) -> float:
    """Return a float that is written as `number` or the next above it."""
    nearest = float(number)
    return nearest if exact(nearest) >= number else math.nextafter(nearest, math.inf)


def below(number: Fraction) -> float:
    """Return a float that is written as `number` or the next below it."""
    return 0.0 - above(-number)  # never a negative zero
