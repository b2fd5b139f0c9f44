"""Names stay names in Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpscd.export.markdown import bullets, code, plain, table

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
