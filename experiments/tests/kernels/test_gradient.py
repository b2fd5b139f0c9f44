"""The contribution of one record to a gradient step."""

import numpy as np
import pytest

from dpscd.kernels.dual import Records, StepConstants
from dpscd.losses import Hinge, Logistic, Squared
from dpscd.problem import Problem
from dpscd_experiments.kernels.gradient import descend_private


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_record_changes_a_released_sum_by_at_most_the_clip(loss, outputs):
    count, d, clip, cell = 40, 5, 0.4, 2.0**-31
    generator = np.random.default_rng(5)
    rows = Problem(loss, 0.1, count, d, outputs=outputs, constant=0.4).rows(
        generator.normal(size=(count, d)) * (generator.random((count, d)) < 0.7)
    )
    labels = generator.integers(0, max(2, outputs), count).astype(float)
    labels = 2.0 * labels - 1.0 if outputs == 1 else labels
    records = Records(labels, generator.uniform(0.0, 2.0, count))
    model = generator.normal(size=(outputs, d + 1))
    # With no decay, rate 1, grid = cell and no noise the model moves by the exact sum.
    constants = StepConstants(1.0, 1.0, clip, cell, cell, 0.0)

    def moved(members):
        found, ends = model.copy(), np.array([0, len(members)])
        descend_private(
            loss, rows, records, constants, 1.0, 1.0,
            members, ends, np.zeros((1, model.size)), 1, found, np.zeros_like(model),
        )  # fmt: skip
        return found - model

    everybody = np.arange(count)
    whole = moved(everybody)
    changes = [np.linalg.norm(whole - moved(np.delete(everybody, k))) for k in everybody]
    assert 0.9 * clip < max(changes) <= clip + 1e-14
