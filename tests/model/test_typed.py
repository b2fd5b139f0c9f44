"""Untrusted values become dataclasses of exactly the stated types, or nothing."""

import json
import math
from dataclasses import asdict, dataclass

import pytest

from dpscd.errors import CardError
from dpscd.model.plain import read_json, typed


class Own:
    """A kind that reads itself."""

    @classmethod
    def from_dict(cls, values):
        return ("own", values)


@dataclass(frozen=True)
class Inner:
    size: float


@dataclass(frozen=True)
class Outer:
    count: int
    name: str
    pair: tuple[float, float]
    parts: tuple[Inner, ...]
    maybe: float | None
    own: Own
    given: int = 0


GOOD = {
    "count": 1, "name": "x", "pair": [1.0, 2.0], "parts": [{"size": 3.0}], "maybe": None,
    "own": 7,
}  # fmt: skip


def test_values_are_read_to_any_depth():
    found = typed(Outer, json.loads(json.dumps(GOOD)), given=5)
    assert found == Outer(1, "x", (1.0, 2.0), (Inner(3.0),), None, ("own", 7), 5)
    assert typed(Outer, {**GOOD, "maybe": 2.0, "parts": []}, given=5).maybe == 2.0
    assert typed(Inner, asdict(Inner(1.0))) == Inner(1.0)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("count", True), ("count", 1.0), ("count", "1"), ("count", None), ("name", 1),
        ("pair", [1.0]), ("pair", [1.0, 2.0, 3.0]), ("pair", [1.0, 2]), ("pair", 1.0),
        ("pair", [1.0, math.nan]), ("parts", {}), ("parts", [1.0]), ("parts", [{"size": 1}]),
        ("parts", [{"size": 1.0, "more": 1}]), ("parts", [{}]), ("maybe", 1),
        ("maybe", math.inf),
    ],
)  # fmt: skip
def test_other_values_are_refused(name, bad):
    with pytest.raises(CardError):
        typed(Outer, {**GOOD, name: bad}, given=5)


@pytest.mark.parametrize("bad", [None, [], "x", {}, {**GOOD, "given": 1}, {"count": 1}])
def test_fields_are_those_of_the_kind(bad):
    with pytest.raises(CardError, match="unknown or missing"):
        typed(Outer, bad, given=5)


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
