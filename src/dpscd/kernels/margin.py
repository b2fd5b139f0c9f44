"""The safety margin by which every contribution is shortened."""

#: Contributions are shortened to this part of what is allowed, so that rounding in norms,
#: scales, squares and products can never lift one above its bound.
MARGIN = 1.0 - 2.0**-20
