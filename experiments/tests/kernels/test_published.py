"""Records that count for nothing, in the kernels of the published algorithms."""

import math

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.losses import Hinge, Squared
from dpscd.problem import Problem
from dpscd_experiments.kernels.primal import PrimalNumbers, advance_primal
from dpscd_experiments.kernels.published import combine, project_all


def test_rows_that_are_not_finite_are_left_out_of_the_sum():
    X = np.array([[0.5, 0.0], [math.nan, 1.0]])
    rows = Problem(loss=Squared(), lam=1.0, n=2, d=2).rows(X)
    total = np.zeros(2)
    combine(rows, np.array([2.0, 7.0]), total)
    np.testing.assert_array_equal(total, [1.0, 0.0])


def test_a_record_without_weight_has_dual_zero():
    records = Records(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(
        project_all(Hinge(), records, np.array([5.0, 5.0])), [1.0, 0.0]
    )


def test_a_record_without_weight_does_not_move_a_coordinate():
    features = Problem(loss=Squared(), lam=1.0, n=1, d=2).rows(np.array([[0.6, 0.8]]))
    numbers = PrimalNumbers(n=2.0, separability=1.0, clip=10.0, std=0.0)
    moved = []
    for label in (0.0, 99.0):
        records = Records(np.array([1.0, label]), np.array([1.0, 0.0]))
        coef, predictions = np.zeros(1), np.zeros(2)
        advance_primal(
            Squared(), features, records, numbers, np.ones(1), np.array([0]),
            np.array([0, 1]), np.zeros(1), np.zeros((1, 2)), coef, predictions,
        )  # fmt: skip
        moved.append(coef[0])
    assert moved[0] == moved[1] != 0.0
