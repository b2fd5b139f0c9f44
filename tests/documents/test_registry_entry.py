"""Entries are what the registry's schema demands, and say what the card says."""

import math
from pathlib import Path

import pytest
import yaml
from exported import DETAILS, MODELS, examined
from jsonschema import Draft202012Validator

from dpscd.documents.added import fields
from dpscd.documents.write import registry_entry
from dpscd.errors import ParameterError

SCHEMA = yaml.safe_load(
    Path(__file__).with_name("registry_schema").joinpath("deployments-schema.yaml").read_text()
)
PARTS = SCHEMA["properties"]["deployment"]["properties"]
VALID = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
PRIVATE = [name for name in MODELS if name != "not private"]


@pytest.fixture
def details(tmp_path):
    path = tmp_path / "details.toml"
    path.write_text(DETAILS)
    return path


def entry(name, tmp_path, details):
    found = examined(name, tmp_path)
    values = yaml.safe_load(registry_entry(found, details))
    return found, values, values["deployment"]


@pytest.mark.parametrize("name", PRIVATE)
def test_an_entry_is_valid_and_complete(name, tmp_path, details):
    found, values, own = entry(name, tmp_path, details)
    VALID.validate(values)
    assert (values["tier"], values["status"], values["url_slug"]) == (3, "Draft", "retired")
    promised = {"epsilon": found.card.epsilon, "delta": found.card.delta}
    assert own["privacy_loss"]["privacy_parameters"] == promised
    if name != "evil persons":  # whose unit is escaped
        assert own["privacy_loss"]["privacy_unit"] == found.card.unit
    assert found.card.relation.value in own["privacy_loss"]["privacy_unit_details"]
    assert found.digest in own["implementation"]["mechanisms"]


def test_every_field_of_tier_3_is_filled(tmp_path, details):
    _, _, own = entry("table", tmp_path, details)
    optional = {field.path[1:] for field in fields() if not field.needed}
    for part, schema in PARTS.items():
        for name in schema["properties"]:
            if (part, name) not in optional or (part, name) == ("accounting", "composition"):
                assert own[part][name], (part, name)


@pytest.mark.parametrize("field", fields(), ids=lambda field: field.name)
def test_fields_are_the_registrys_with_its_choices(field):
    schema = SCHEMA
    for name in field.path:
        schema = schema["properties"][name]
    assert tuple(schema.get("enum", ())) == field.choices
    wanted = {"list": "array"}.get(field.kind, "string")
    assert schema.get("type", "string") == wanted


def test_what_the_registry_requires_is_asked_for_or_known():
    required = {("url_slug",)}
    for part, schema in PARTS.items():
        required |= {("deployment", part, name) for name in schema.get("required", ())}
    needed = {field.path for field in fields() if field.needed}
    assert required - needed == {("deployment", "basic", "data_product_type")}


def test_texts_of_both_stand_together(tmp_path, details):
    _, _, own = entry("table", tmp_path, details)
    assert own["accounting"]["composition"].endswith(
        "\n\nThe curator adds: Nothing else was published."
    )
    tuned = own["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert tuned.startswith("Cells become features")
    assert tuned.endswith("The curator adds: None: no.")
    assert own["implementation"]["justification"] == "yes"


def test_a_table_wider_than_the_list_says_how_much_is_left_out(tmp_path, details, monkeypatch):
    monkeypatch.setattr("dpscd.documents.write._MOST_COLUMNS", 2)
    _, _, own = entry("table", tmp_path, details)
    assert "2 more columns" in own["dp_variant"]["unprotected_quantities"]


def test_a_model_without_privacy_has_no_entry(tmp_path, details):
    found = examined("not private", tmp_path)
    assert math.isinf(found.recomputed)
    with pytest.raises(ParameterError, match="no deployment of differential privacy"):
        registry_entry(found, details)


def test_without_details_it_says_what_it_needs(tmp_path):
    with pytest.raises(ParameterError, match="--template") as error:
        registry_entry(examined("table", tmp_path), None)
    for field in fields():
        assert (field.name in str(error.value)) == field.needed
