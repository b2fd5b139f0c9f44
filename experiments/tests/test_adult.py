"""The bars of accuracy on Adult as in the paper: medians over ten seeds, nothing tuned."""

import numpy as np
import pytest

from dpscd import DPLinearSVC, DPLogisticRegression
from dpscd_experiments.adult import adult_paper

BARS = [
    (DPLinearSVC, 0.1, 0.815),
    (DPLinearSVC, 0.5, 0.830),
    (DPLinearSVC, 1.0, 0.834),
    (DPLinearSVC, 2.0, 0.834),
    (DPLogisticRegression, 0.1, 0.820),
    (DPLogisticRegression, 0.5, 0.830),
    (DPLogisticRegression, 1.0, 0.833),
    (DPLogisticRegression, 2.0, 0.834),
]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:delta=0.001:dpscd.PrivacyWarning")
@pytest.mark.parametrize(("model", "epsilon", "bar"), BARS)
def test_untuned_accuracy(model, epsilon, bar):
    data = adult_paper()
    scores = [
        model(epsilon, delta=1e-3, fit_intercept=False, classes=[-1, 1], random_state=seed)
        .fit(data.X, data.y)
        .score(data.X_test, data.y_test)
        for seed in range(10)
    ]
    assert np.median(scores) >= bar


def test_paper_preparation():
    data = adult_paper()
    assert data.X.shape == (24420, 81)
    assert data.X_test.shape == (16281, 81)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1.0)
    assert set(data.y) == {-1, 1}
