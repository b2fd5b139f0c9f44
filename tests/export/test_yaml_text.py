"""YAML that any reader understands as what was meant, whatever the texts are."""

import math

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from dpscd.export.yaml_text import yaml_text

TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="ab \n:#-|>'\"`\\{}[]&*!%@?,\t\r"),
    st.sampled_from(["no", "1", "1e3", "null", "~", "2026-01-01", "---", "...", "- a", "a: b"]),
)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none())
VALUES = st.recursive(
    st.one_of(SCALARS, st.lists(SCALARS)),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b_c", "tier"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["name", "other"]), VALUES))
@example({"name": "first\n\n  second\nthird"})
@example({"name": "\u2028\x85\ufeff\ud800\U0001f600\U000e0001"})
@example({"name": {}, "other": []})
def test_what_is_written_is_read_again(values):
    text = yaml_text(values)
    assert yaml.safe_load(text) == (values or None)
    text.encode()  # no half of a character, which no file can hold


def test_texts_of_several_lines_are_blocks_for_people():
    assert yaml_text({"a": {"b": "one\n\ntwo: 2"}}) == "a:\n  b: |-\n    one\n\n    two: 2\n"


def test_small_numbers_stay_numbers_for_readers_that_want_a_point():
    assert yaml_text({"delta": 1e-05}) == "delta: 1.0e-05\n"


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        yaml_text({"epsilon": math.inf})
