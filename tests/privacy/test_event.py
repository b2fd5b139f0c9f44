import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.errors import CardError
from dpscd.model.plain import typed
from dpscd.privacy.accounting import SampledGaussian


@given(rate=st.floats(1e-12, 1.0), multiplier=st.floats(0.05, 1e9), steps=st.integers(1, 10**9))
def test_round_trip(rate, multiplier, steps):
    event = SampledGaussian(rate, multiplier, steps)
    assert typed(SampledGaussian, asdict(event)) == event


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        *(("rate", bad) for bad in (0.0, -0.1, 1.1, math.nan, math.inf)),
        *(("noise_multiplier", bad) for bad in (0.0, -1.0, math.nan, math.inf)),
        *(("steps", bad) for bad in (0, -1, 1.0, math.nan)),
    ],
)
def test_values_out_of_range_are_refused(field, bad):
    with pytest.raises(CardError, match=f"{field}="):
        SampledGaussian(**{"rate": 0.5, "noise_multiplier": 2.0, "steps": 3, field: bad})


GOOD = asdict(SampledGaussian(0.5, 2.0, 3))


@pytest.mark.parametrize(
    "values",
    [
        None, 7, "text", [], [1, 2], {},
        *({**GOOD, **other} for other in (
            {"more": 1}, {"rate": "0.5"}, {"rate": None},
            {"noise_multiplier": [2.0]}, {"steps": "3"}, {"rate": 2.0},
        )),
        *({key: GOOD[key] for key in GOOD if key != gone} for gone in ("steps", "rate")),
    ],
    ids=repr,
)  # fmt: skip
def test_malformed_events_are_refused(values):
    with pytest.raises(CardError):
        typed(SampledGaussian, values)
