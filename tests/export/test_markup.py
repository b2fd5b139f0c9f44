"""Names stay names in Markdown, and YAML is read by anybody as what was meant."""

import math

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpscd.export.markup import bullets, code, plain, table, yaml_text

EVIL = st.text(alphabet="`|*_<>[]()!\\$& \nab\u202e", min_size=1)


@given(EVIL)
def test_a_code_span_holds_the_whole_name_and_nothing_else(name):
    (inline,) = (x for x in MarkdownIt().parse(f"x{code(name)}x") if x.type == "inline")
    kinds = [(x.type, x.content) for x in inline.children]
    shown = "".join(x if x.isprintable() else "\ufffd" for x in name)
    assert [kind for kind, _ in kinds] == ["text", "code_inline", "text"]
    assert kinds[1][1].strip() == shown.strip()


@given(EVIL)
def test_a_plain_text_has_no_markup(name):
    (inline,) = (x for x in MarkdownIt().parse(f"x {plain(name)} x") if x.type == "inline")
    assert {x.type for x in inline.children} <= {"text", "text_special"}
    content = "".join(x.content for x in inline.children)
    shown = "".join(x if x.isprintable() else "\ufffd" for x in name)
    assert content.split() == f"x {shown} x".split()


def test_a_plain_name_stays_readable():
    assert plain("patient_id of 'a'") == "patient_id of 'a'"


@given(st.lists(st.tuples(EVIL, EVIL), min_size=1, max_size=3))
def test_a_table_has_as_many_cells_as_it_was_given(rows):
    text = table(("one", "two"), [[code(x) for x in row] for row in rows])
    kinds = [x.type for x in MarkdownIt().enable("table").parse(text)]
    assert kinds.count("td_open") == 2 * len(rows)
    assert kinds.count("th_open") == 2


@pytest.mark.parametrize(("items", "text"), [([], ""), (["a", "b"], "* a\n* b")])
def test_bullets(items, text):
    assert bullets(items) == text


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
