"""Every document says every fact that is about its model, in the words of one file."""

import json
import re

import pytest
import yaml
from exported import DETAILS, MODELS, examined
from markdown_it import MarkdownIt

from dpscd.documents.added import read_details
from dpscd.documents.facts import best_guess, chance, describe, odds, percent, strength
from dpscd.documents.write import bill_of_materials, model_card, page, registry_entry

#: Groups of facts that each document has; a registry has no entry without privacy.
GROUPS = {
    "page": ("open", "release", "assumption", "public"),
    "card": ("limit", "open", "release", "assumption", "public"),
    "entry": ("release", "public"),
    "bill": ("limit", "open", "release", "assumption", "public"),
}
COMMON = ("lead", "meaning", "checked", "adjacent", "precision", "known")
KEYS = {
    "page": (*COMMON, "strength"),
    "card": (*COMMON, "strength", "task"),
    "entry": (*COMMON, "task", "size"),
    "bill": ("task", "size"),
}


def words_of(text):
    """Return letters and digits alone: escapes and markup of the formats differ."""
    return re.sub(r"[\W_]+", "", re.sub(r"<[^>]*>|&#?\w+;", "", text))


def said(value):
    """Return the texts of nested values."""
    if isinstance(value, dict):
        return " ".join(map(said, value.values()))
    return " ".join(map(said, value)) if isinstance(value, list) else str(value)


@pytest.fixture(scope="module")
def details(tmp_path_factory):
    path = tmp_path_factory.mktemp("details") / "details.toml"
    path.write_text(DETAILS)
    return path


def documents(model, details):
    found = {"page": page(model), "bill": said(json.loads(bill_of_materials(model)))}
    tokens = MarkdownIt().enable("table").parse(model_card(model, None, read_details(details)))
    inline = [x for x in tokens if x.type == "inline"]
    found["card"] = " ".join("".join(y.content for y in x.children) for x in inline)
    if model.card.private:
        found["entry"] = said(yaml.safe_load(registry_entry(model, details)))
    return {name: words_of(text) for name, text in found.items()}


@pytest.mark.parametrize("name", [x for x in MODELS if "evil" not in x])
def test_every_document_says_every_fact(name, tmp_path, details):
    model = examined(name, tmp_path)
    facts = describe(model)
    for document, text in documents(model, details).items():
        own = facts.group("warning")
        if model.card.private:
            own += [fact for group in GROUPS[document] for fact in facts.group(group)]
            own += [facts[key] for key in KEYS[document]]
        for fact in own:
            parts = [fact.sentence or fact.value]
            if fact.group == "release" and document == "page":
                parts = fact.numbers
            for part in parts:
                assert words_of(part) in text, (document, fact.key)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("not private", ["not private"]),
        ("careless", ["classes", "seed", "large epsilon", "large delta"]),
        ("evil", ["read"]),
        ("table", []),
    ],
)
def test_warnings_are_those_of_the_model(name, keys, tmp_path):
    facts = describe(examined(name, tmp_path))
    assert [fact.key for fact in facts.group("warning")] == keys


def test_units_have_words_of_their_own(tmp_path):
    of_persons, of_records = (describe(examined(x, tmp_path)) for x in ("persons", "table"))
    assert of_persons.group("open")[0].key == "household"
    assert of_records.group("open")[0].key == "several"
    assert "all records of one person by empty ones" in of_persons["adjacent"].sentence
    assert "protected less, at epsilon 2" in of_persons["adjacent"].sentence
    assert "Number of records:" not in of_records["adjacent"].sentence
    relations = {
        "add-remove": "adding or removing one record. The true number of records is not public",
        "replace-one": "one record by any other. The number of records is the same in both",
    }
    for name, words in relations.items():
        assert words in describe(examined(name, tmp_path))["adjacent"].sentence


def test_the_best_guess_is_that_of_randomised_response():
    assert best_guess(1.0986122886681098, 0.0) == pytest.approx(0.75)
    assert best_guess(1e-9, 0.1) == pytest.approx(0.55)
    assert best_guess(1e6, 1e-5) == 1.0
    assert percent(0.731001) == "73.2 %"
    assert percent(0.731) == "73.1 %"


def test_numbers_in_words_are_bounds():
    assert (odds(1.0), odds(7.5), odds(50.0)) == ("2.72", "1,809", "more than a million")
    assert (chance(1e-5), chance(3e-6)) == ("1 in 100,000", "1 in 333,333")
    tiers = ["strong", "strong", "reasonable", "weak"]
    assert [strength(x) for x in (0.5, 1.0, 8.0, 11.0)] == tiers
