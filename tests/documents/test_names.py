"""Names are text in every document, whatever format they would be in."""

import json

import pytest
import yaml
from exported import DETAILS
from markdown_it import MarkdownIt
from model_files import NOW, SCHEMA, page_of, people, table_model
from test_model_report import Checker

from dpscd.documents.added import read_details
from dpscd.documents.described import described
from dpscd.documents.write import bill_of_materials, model_card, registry_entry

#: Text of each format that would do harm, or be lost, if it were not escaped.
NAMES = {
    "template": "{{ 7 * 7 }}{% for x in facts %}{# x #}",
    "HTML": "</p><script>x</script><img src=x onerror=alert(1)>\"'&amp;",
    "Markdown": "](x) ![a](b) `c` **d** | e | <b>f</b> $x$ # g",
    "YAML": "a: b # c - d: [e, f] & *g !h 'i' \"j\" | > %",
}


@pytest.fixture(params=NAMES)
def name(request):
    return NAMES[request.param]


@pytest.fixture
def model(name, tmp_path):
    """Return a described model of a table whose columns, classes and values have the name."""
    table = people().rename(columns={"town": name, "retired": f"target {name}"})
    target = f"target {name}"
    table[target] = table[target].map({"no": f"no {name}", "yes": f"yes {name}"})
    columns = {
        "age": {**SCHEMA["columns"]["age"], "read_from_data": True},
        name: {"kind": "category", "values": ["north", name], "missing_values": [name + "?"]},
    }
    classes = [f"no {name}", f"yes {name}"]
    schema = {"target": {"column": target, "classes": classes}, "columns": columns}
    table_model(schema, table=table).save(tmp_path / "model.json")
    return described(tmp_path / "model.json", NOW)


@pytest.fixture
def details(tmp_path):
    path = tmp_path / "details.toml"
    path.write_text(DETAILS)
    return path


def test_a_name_is_text_in_the_page(model, name):
    found = Checker(page_of(model.model))
    text = "".join(found.text)
    assert name in text
    assert f"target {name}" in text
    assert not {"script", "img", "b"} & set(found.tags)
    assert "49" not in text.split("What was assumed public")[0]


def test_a_name_is_text_in_the_model_card(model, name):
    text = model_card(model)
    front, body = text.split("---\n", 2)[1:]
    assert yaml.safe_load(front)["library_name"] == "dpscd"
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(body)
    parts = [y for x in tokens for y in (x, *(x.children or ()))]
    markup = {"html_block", "html_inline", "link_open", "image"}
    assert {x.type for x in parts} & markup == set()
    assert any(name in x.content for x in parts if x.type == "code_inline" or "|" in name)


def test_a_name_is_text_in_the_registry_entry(model, name, details):
    values = yaml.safe_load(registry_entry(model, details))
    assert name in values["deployment"]["dp_variant"]["data_domain"]
    assert set(values) == {"url_slug", "status", "tier", "deployment"}
    assert read_details(details)["url_slug",] == values["url_slug"]


def test_a_name_is_text_in_the_bill_of_materials(model, name):
    values = json.loads(bill_of_materials(model))
    card = values["metadata"]["component"]["modelCard"]
    (data,) = card["modelParameters"]["datasets"]
    assert f"dpscd:column:{name}" in {x["name"] for x in data["contents"]["properties"]}
