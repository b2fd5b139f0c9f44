"""Templates: what they are given stays text."""

import math
from html.parser import HTMLParser

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpscd import rendering
from dpscd.rendering import cells, code, fixed, html_table, number, plain, quoted, rendered

EVIL = "<script>x</script>{{ 1 + 1 }}\"'&\u202e{% raw %}"


class Parsed(HTMLParser):
    """The tags and the text of a fragment."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - so the parser calls it
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data + " "


@pytest.mark.parametrize("place", ["title", "note", "name", "value", "heading", "cell"])
def test_hostile_names_stay_text_in_a_fragment(place):
    at = {place: EVIL}
    found = Parsed(
        html_table(
            at.get("title", "t"),
            {at.get("name", "n"): at.get("value", "v")},
            [at.get("heading", "h")],
            [[at.get("cell", "c")]],
            at.get("note", "n"),
        )
    )
    assert set(found.tags) <= {
        "div",
        "p",
        "strong",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert EVIL.replace("\u202e", "\ufffd") in found.text


def test_a_fragment_has_facts_and_a_table_with_numbers_in_four_digits():
    text = Parsed(html_table("Card", {"epsilon": 1.0}, ["term", "n"], [["a", 0.123456]]))
    assert text.text.split() == ["Card", "epsilon", "1", "term", "n", "a", "0.1235"]
    assert html_table("Only a title").count("<table>") == 0


def test_numbers_for_people():
    assert [number(x) for x in (0.0, -0.5, 1234.0, 1e-7, 2.5e9)] == [
        "0", "\u22120.5", "1230", "1e\u22127", "2.5e9",
    ]  # fmt: skip
    assert (fixed(-0.04, 1), fixed(-0.06, 1)) == ("0.0", "\u22120.1")
    assert quoted(["a", "b", "c"]) == "“a”, “b” and “c”"
    assert quoted("abc", 2) == "“a”, “b” and 1 more"


def test_a_value_that_is_not_given_is_an_error():
    with pytest.raises(Exception, match="'title' is undefined"):
        rendered("notebook.html.j2")


# --- Markdown -------------------------------------------------------------------------------

NAMES = st.text(alphabet="`|*_<>[]()!\\$& \nab\u202e", min_size=1)


def inline(text):
    """Return the parts of a paragraph of Markdown."""
    (found,) = (x for x in MarkdownIt().parse(text) if x.type == "inline")
    return found.children


def shown(name, end="\ufffd"):
    return "".join(end if x == "\n" else x if x.isprintable() else "\ufffd" for x in name)


@given(NAMES)
def test_a_code_span_holds_the_whole_name_and_nothing_else(name):
    parts = [(x.type, x.content) for x in inline(f"x{code(name)}x")]
    assert [kind for kind, _ in parts] == ["text", "code_inline", "text"]
    assert parts[1][1].strip() == shown(name).strip()


@given(NAMES)
def test_a_plain_text_has_no_markup(name):
    parts = inline(f"x {plain(name)} x")
    assert {x.type for x in parts} <= {"text", "text_special"}
    assert "".join(x.content for x in parts).split() == f"x {shown(name, ' ')} x".split()


def test_a_plain_name_stays_readable():
    assert plain("patient_id of 'a'") == "patient_id of 'a'"


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3))
def test_a_table_has_as_many_cells_as_it_was_given(rows):
    lines = [("one", "two"), ("---", "---"), *((code(a), b) for a, b in rows)]
    kinds = [
        x.type for x in MarkdownIt().enable("table").parse("\n".join(cells(x) for x in lines))
    ]
    assert kinds.count("td_open") == 2 * len(rows)
    assert kinds.count("th_open") == 2


# --- YAML -----------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="ab \n:#-|>'\"`\\{}[]&*!%@?,\t\r"),
    st.sampled_from(["no", "1", "1e3", "null", "~", "2026-01-01", "---", "...", "- a", "a: b"]),
)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.one_of(TEXTS, NUMBERS, st.booleans(), st.none(), st.lists(TEXTS)))
@example("first\n\n  second\nthird")
@example("\u2028\x85\ufeff\ud800\U0001f600\U000e0001")
@example([])
def test_what_is_written_is_read_again(value):
    text = f"a:\n  b: {rendering.yaml(value, 4)}\n  c: 1\n"
    assert yaml.safe_load(text) == {"a": {"b": value, "c": 1}}
    text.encode()  # no half of a character, which no file can hold


def test_texts_of_several_lines_are_blocks_and_small_numbers_keep_a_point():
    assert rendering.yaml("one\n\ntwo: 2", 2) == "|-\n  one\n\n  two: 2"
    assert rendering.yaml(1e-05) == "1.0e-05"
    with pytest.raises(ValueError, match="JSON"):
        rendering.yaml(math.inf)
