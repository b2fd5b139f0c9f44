"""Rows as a problem measures them, and their exact lengths."""

from fractions import Fraction

from hypothesis import strategies as st

from dpscd.losses import Squared
from dpscd.problem import Problem

SLACK = Fraction(1) + Fraction(1, 2**40)
entries = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 5e-324, 2.0**-1022, 1e-160, 2.0**-300, 1.0, 1e160, 1.7e308]),
)


def rows_of(X, *, row_bound=1.0, constant=0.0):
    problem = Problem(Squared(), 1.0, 10, X.shape[1], row_bound=row_bound, constant=constant)
    return problem.rows(X)


def exact_square(rows, i, x):
    tail = Fraction(rows.tail)
    return sum((Fraction(rows.factor[i]) * Fraction(float(v))) ** 2 for v in x) + tail * tail
