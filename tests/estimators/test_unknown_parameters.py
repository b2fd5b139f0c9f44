"""Parameters that there are not: named for the class used, with what was meant."""

import pytest

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, TableModel


@pytest.mark.parametrize(
    ("model", "given", "says"),
    [
        (DPLogisticRegression, {"C": 1.0}, r"DPLogisticRegression has no parameter 'C': the "
         r"strength of the penalty is lam = 1 / \(C n\)\."),
        (DPLinearSVC, {"eps": 1.0}, "DPLinearSVC has no parameter 'eps': it is called epsilon"),
        (DPRidge, {"alpha": 1.0}, "DPRidge has no parameter 'alpha': .* is lam"),
        (DPRidge, {"epsilom": 1.0}, "perhaps epsilon is meant"),
        (DPRidge, {"zzz": 1.0}, "it has epsilon, "),
        (TableModel, {"schema": {}, "C": 1.0}, "TableModel has no parameter 'C': parameters of "
         "the model are those of its estimator"),
        (TableModel, {"shema": {}}, "perhaps schema is meant"),
    ],
)  # fmt: skip
def test_the_right_one_is_suggested(model, given, says):
    with pytest.raises(TypeError, match=says):
        model(**given)


def test_too_many_are_pythons_own_error():
    with pytest.raises(TypeError, match="positional"):
        TableModel({}, None, 1.0)
