"""Templates: what they are given stays text."""

from html.parser import HTMLParser

import pytest

from dpscd.rendering import html_table, rendered

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


def test_a_value_that_is_not_given_is_an_error():
    with pytest.raises(Exception, match="'title' is undefined"):
        rendered("notebook.html.j2")
