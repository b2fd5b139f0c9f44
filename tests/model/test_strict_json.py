import json

import pytest

from dpscd.model.plain import read_json


@pytest.mark.parametrize("value", [{}, [], {"a": {"b": [1, 2.5, None, True, "x"]}}, -0.0])
def test_ordinary_json_is_read_as_it_is(value):
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '[{"x": {"a": 1, "b": 2, "a": 3}}]', "NaN", "[Infinity]", "-Infinity"],
)
def test_what_readers_could_take_differently_is_refused(text):
    with pytest.raises(ValueError, match=r"stands twice|not a number"):
        read_json(text)
