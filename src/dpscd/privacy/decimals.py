"""Numbers of a budget as people write them, added up exactly and shown on the private side."""

import math
from fractions import Fraction

__all__ = ["above", "below", "exact"]


def exact(number: float) -> Fraction:
    """Return the decimal that is written for `number`, not the binary nearest to it.

    People mean 0.1 when they write 0.1: ten fits of it must fill a budget of 1. The
    filters see to it that what is charged is no less than what is spent.
    """
    return Fraction(repr(float(number)))


def above(number: Fraction) -> float:
    """Return a float that is written as `number` or the next above it."""
    nearest = float(number)
    return nearest if exact(nearest) >= number else math.nextafter(nearest, math.inf)


def below(number: Fraction) -> float:
    """Return a float that is written as `number` or the next below it."""
    return 0.0 - above(-number)  # never a negative zero
