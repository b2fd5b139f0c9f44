"""Bills of materials are CycloneDX 1.6 by its own schema, and say what the file knows."""

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from exported import MODELS, examined

from dpscd._version import __version__
from dpscd.documents.added import Evaluation, Measure
from dpscd.documents.write import bill_of_materials

SCHEMA = JsonStrictValidator(SchemaVersion.V1_6)
MEASURES = (Measure("accuracy", 0.85, 0.83, 0.87), Measure("log loss", 0.3))
SCORES = Evaluation(MEASURES, "12 records", False, "Status.", "0" * 64)


@pytest.mark.full
@pytest.mark.parametrize("scores", [None, SCORES], ids=["plain", "scored"])
@pytest.mark.parametrize("name", MODELS)
def test_every_bill_is_valid(name, scores, tmp_path):
    text = bill_of_materials(examined(name, tmp_path), scores)
    assert SCHEMA.validate_str(text) is None


def bill(name, tmp_path, scores=None):
    found = examined(name, tmp_path)
    values = json.loads(bill_of_materials(found, scores))
    component = values["metadata"]["component"]
    own = {}
    for x in component["modelCard"]["properties"]:
        own.setdefault(x["name"].removeprefix("dpscd:"), []).append(x["value"])
    return found, values, component, own


def test_the_file_and_what_made_it(tmp_path):
    found, values, component, _ = bill("table", tmp_path)
    assert component["name"] == found.name == "model file.json"
    assert component["hashes"] == [{"alg": "SHA-256", "content": found.digest}]
    assert values["metadata"]["timestamp"] == "2030-01-02T03:04:05Z"
    made = {x["name"]: x["version"] for x in values["components"]}
    assert made == found.card.versions
    assert made["dpscd"] == __version__
    refs = {x["ref"]: x.get("dependsOn", []) for x in values["dependencies"]}
    assert refs[component["bom-ref"]] == [x["bom-ref"] for x in values["components"]]
    assert set(refs) == {component["bom-ref"], *refs[component["bom-ref"]]}


def test_two_bills_have_two_numbers(tmp_path):
    serials = {bill("table", tmp_path)[1]["serialNumber"] for _ in range(2)}
    assert len(serials) == 2


def test_the_card_is_in_its_properties(tmp_path):
    found, _, component, own = bill("table", tmp_path)
    assert own["privacy:statement"] == [found.card.statement]
    assert float(own["privacy:delta"][0]) == found.card.delta
    assert float(own["privacy:recomputed epsilon"][0]) == found.recomputed <= found.card.epsilon
    assert found.recomputed == found.card.verify()
    assert own["privacy:assumption"] == list(found.card.assumptions)
    for release in found.card.releases:
        assert f"privacy:release:{release.what}" in own
    (data,) = component["modelCard"]["modelParameters"]["datasets"]
    names = {x["name"] for x in data["contents"]["properties"]}
    assert {"dpscd:column:age", "dpscd:public:Number of records"} <= names


def test_a_model_without_privacy_claims_none(tmp_path):
    _, _, component, own = bill("not private", tmp_path)
    assert own["privacy:epsilon"] == ["inf"]
    assert "privacy:delta" not in own
    assert "ethicalConsiderations" not in component["modelCard"]["considerations"]


def test_scores_carry_their_status(tmp_path):
    _, _, component, own = bill("table", tmp_path, SCORES)
    metrics = component["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    ends = {"lowerBound": "0.83", "upperBound": "0.87"}
    assert metrics[0].pop("confidenceInterval") == ends
    assert metrics == [
        {"type": "accuracy", "value": "0.85", "slice": "12 records, not private"},
        {"type": "log loss", "value": "0.3", "slice": "12 records, not private"},
    ]
    assert own["evaluation"] == ["Status."]
