"""Rows as a problem measures them, and their exact lengths."""

from fractions import Fraction

from dpscd.losses import Squared
from dpscd.problem import Problem


def rows_of(X, *, row_bound=1.0, constant=0.0):
    problem = Problem(Squared(), 1.0, 10, X.shape[1], row_bound=row_bound, constant=constant)
    return problem.rows(X)


def exact_square(rows, i, x):
    tail = Fraction(rows.tail)
    return sum((Fraction(rows.factor[i]) * Fraction(float(v))) ** 2 for v in x) + tail * tail
