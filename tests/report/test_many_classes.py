"""What a report says of a model of more than two classes."""

import numpy as np
import pandas as pd
import pytest

from dpscd import DPLinearSVC, DPLogisticRegression, TableModel
from dpscd.report.model_page import model_page

SCHEMA = {
    "target": {"column": "y", "classes": ["a", "b", "c"]},
    "columns": {"x": {"kind": "number", "bounds": [-1, 1]}},
}


def page_of(estimator):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(-1, 1, 600), "y": rng.choice(list("abc"), 600)})
    return model_page(TableModel(SCHEMA, estimator).fit(table), "model")


@pytest.mark.full
def test_weights_of_a_multinomial_model_are_compared_between_classes():
    text = page_of(DPLogisticRegression(random_state=0))
    assert "what is the same in all changes nothing" in text
    assert "log-odds" not in text.split("Differences count")[1][:400]
    assert "Differences count" not in page_of(DPLinearSVC(random_state=0))
