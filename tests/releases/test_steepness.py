"""The release "steepness": which plans can list it."""

import pytest

from dpscd import ParameterError
from dpscd.plan import Plan
from dpscd.privacy.relation import Relation
from dpscd.releases.moments import Moments
from dpscd.releases.steepness import Steepness


def plan(**changes):
    values = {
        "epsilon": 1.0, "delta": 1e-5, "relation": Relation.ZERO_OUT, "n": 100, "d": 2,
        "outputs": 1, "intercept": True, "lam": 0.1, "steps": 10, "rate": 0.1, "clip": 0.1,
        "separability": 1.0, "averaging": 0.5, "noise_multiplier": 1.0,
        "first": (Moments(100, 5.0, 2),), "after": (Steepness(100, 3.0),),
    }  # fmt: skip
    return Plan(**{**values, **changes})


def test_plans_that_cannot_list_it():
    assert plan().lists("steepness")
    for changes in ({"outputs": 3}, {"first": ()}):
        with pytest.raises(ParameterError, match="two classes and released moments"):
            plan(**changes)
