"""Which measures a model has."""

import pytest

from dpscd.errors import ParameterError
from dpscd.privacy.relation import PrivacyTarget
from dpscd.scores.registry import Scored, measure_for, usual_metric

TARGET = PrivacyTarget(1.0, 1e-5)


@pytest.mark.parametrize(
    ("classes", "chances", "metric", "bound", "says"),
    [
        (2, True, "mse", None, "'accuracy', 'auc'"),
        (0, False, "auc", None, "measures of regressions"),
        (3, True, "auc", None, "two classes, this model has 3"),
        (2, False, "auc", None, "needs probabilities"),
        (2, False, "brier", None, "needs probabilities"),
        (65, True, "confusion", None, "up to 64 classes"),
        (2, True, "accuracy", 1.0, "bound=1.0 goes with 'log_loss'"),
        (0, False, "r2", 1.0, "not with metric='r2'"),
    ],
)
def test_what_a_model_does_not_have_is_refused(classes, chances, metric, bound, says):
    bounds = None if classes else (0.0, 2.0)
    with pytest.raises(ParameterError, match=says):
        measure_for(Scored(classes, bounds, chances, 100, TARGET), metric, bound)


def test_numbers_need_bounds():
    with pytest.raises(ParameterError, match="no y_bounds"):
        measure_for(Scored(0, None, False, 100, TARGET), "mse")


def test_bounds_of_losses():
    numbers = Scored(0, (0.0, 2.0), False, 100, TARGET)
    assert measure_for(numbers, "mae").bound == 2.0
    assert measure_for(numbers, "mse").bound == 4.0
    assert measure_for(numbers, "mse", 0.5).bound == 0.5
    assert measure_for(numbers, "mae", 50.0).bound == 2.0
    two = Scored(2, None, True, 100, TARGET)
    assert measure_for(two, "log_loss", 2.0).facts() == {"bound": 2.0}
    assert measure_for(two, "brier").bound == 1.0
    assert (usual_metric(two), usual_metric(numbers)) == ("accuracy", "mae")
