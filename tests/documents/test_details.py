"""The details file: what it asks, what it takes, and how it says what is wrong."""

import tomllib

import pytest
from exported import DETAILS

from dpscd.documents.added import fields, missing_everything, read_details, template
from dpscd.errors import ParameterError


def refused(tmp_path, text):
    path = tmp_path / "d.toml"
    path.write_text(text)
    with pytest.raises(ParameterError) as error:
        read_details(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("d.toml ")
    return str(error.value)


def test_a_template_is_toml_that_asks_for_all_that_is_needed_and_offers_the_rest():
    text = template("mine.toml")
    assert "--details mine.toml" in text
    values = tomllib.loads(text)
    for field in fields():
        place = values
        for name in field.path[:-1]:
            place = place[name]
        assert (field.path[-1] in place) == field.needed
        assert f"{field.path[-1]} = " in text
    everything = "\n".join(x.removeprefix("# ") if " = " in x else x for x in text.split("\n"))
    assert "notes" in tomllib.loads(everything)["deployment"]["administrative"]


def test_an_empty_template_is_refused_with_everything_it_lacks(tmp_path):
    found = refused(tmp_path, template())
    assert f"missing: {missing_everything()}." in found
    assert missing_everything().count(",") == sum(x.needed for x in fields()) - 1


def test_what_is_filled_in_is_found_under_the_names_of_the_registry(tmp_path):
    path = tmp_path / "d.toml"
    path.write_text(DETAILS)
    found = read_details(path)
    assert found["url_slug",] == "retired"
    basic = ("deployment", "basic")
    assert found[*basic, "data_curators"] == ["Office", "Other: office"]
    assert found[*basic, "publication_date"] == "2026-11-02"
    assert found["deployment", "deployment_model", "actors"].startswith(
        "The office: trusted.\n"
    )
    assert ("deployment", "administrative", "notes") not in found


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('url_slug = "retired"', 'url_slug = "a b"', "url_slug must be letters, digits"),
        ('name = "Who is retired"', "", "missing: deployment.basic.name."),
        ('name = "Who is retired"', 'name = " "', "missing: deployment.basic.name."),
        ('name = "Who is retired"', "name = 3", "deployment.basic.name must be a text"),
        ("2026-11-02", '"2 November 2026"', "publication_date must be a date, YYYY-MM-DD"),
        ("2026-11-02", '"20261102"', "publication_date must be a date, YYYY-MM-DD"),
        ("2026-11-02", "2026-11-02T01:00:00", "publication_date must be a text"),
        ('["A. Author"]', '"A. Author"', "registry_authors must be a list of texts"),
        ('["A. Author"]', "[1]", "registry_authors must be a list of texts"),
        ('["A. Author"]', '[""]', "missing: deployment.administrative.registry_authors"),
        ('"Government"', '"Sports"', "data_product_sector must be one of 'Technology', "),
        ("[deployment.basic]", "[deployment.basic]\nage = 3", "basic.age is not asked"),
        (
            "[deployment.accounting]",
            "[deployment.privacy_loss]\nprivacy_unit = 'user'\n[deployment.accounting]",
            "deployment.privacy_loss.privacy_unit is not asked for; what the model's",
        ),
        ("[deployment.basic]", "[deployment.basic", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, says):
    assert old in DETAILS
    assert says in refused(tmp_path, DETAILS.replace(old, new))


def test_everything_wrong_is_said_at_once(tmp_path):
    found = refused(tmp_path, "deployment.basic.name = 3\ntier = 1")
    assert "missing: url_slug" in found
    assert "; tier is not asked for" in found
    assert "; deployment.basic.name must be a text" in found


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "d.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="not TOML"):
        read_details(path)
