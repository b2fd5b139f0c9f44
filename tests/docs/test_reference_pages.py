"""The reference names everything there is, and nothing else."""

import dataclasses
import importlib.util
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

import dpscd
from dpscd.model.card import PrivacyCard
from dpscd.preprocessing import schema_keys
from dpscd.preprocessing.declarations import Layout, Target
from dpscd.privacy.cost import Cost

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def _words(page):
    return set(re.findall(r"`\"?([\w .=-]+)\"?`", (REFERENCE / page).read_text()))


def test_the_page_of_the_command_line_is_what_the_verbs_say():
    path = ROOT / "docs" / "make_cli.py"
    spec = importlib.util.spec_from_file_location("make_cli", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "run: python docs/make_cli.py"


def test_the_page_of_the_command_line_has_every_verb_and_its_options():
    text = (REFERENCE / "cli.md").read_text()
    for verb in ("fit", "budget verify", "schema init"):
        assert f"## dpscd {verb}\n" in text
    assert "| `--read-values-from-data-not-private` |" in text
    assert "| `--relation` | `zero-out`, `replace-one`, `add-remove` |" in text


def test_every_public_name_is_in_the_reference_of_python():
    text = (REFERENCE / "api.md").read_text()
    found = set(re.findall(r"auto(?:class|function|exception):: (\w+)", text))
    assert found | {"__version__"} == set(dpscd.__all__)


@pytest.mark.parametrize("kind", schema_keys.KEYS)
def test_every_key_of_a_column_is_in_the_reference(kind):
    assert {kind, *schema_keys.KEYS[kind]} <= _words("schema.md")


def test_every_key_of_table_and_target_is_in_the_reference():
    layout = {field.name for field in dataclasses.fields(Layout)}
    target = {field.name for field in dataclasses.fields(Target)} - {"name"}
    assert layout | target | {"column", "rows", "pairs", "person", "read_from_data"} <= _words(
        "schema.md"
    )


def test_every_field_of_a_card_is_in_the_reference():
    fields = {f.name for kind in (PrivacyCard, Cost) for f in dataclasses.fields(kind)}
    assert fields <= _words("card.md")


def test_every_public_fact_of_a_card_is_in_the_reference():
    import pandas as pd

    table = pd.DataFrame({"a": [0.0, 1.0] * 50, "b": ["x", "y"] * 50, "c": [1.0, 2.0] * 50})
    columns = {"a": {"kind": "number", "bounds": [0, 1]}}
    for target in (
        {"column": "b", "classes": ["x", "y"]},
        {"column": "c", "bounds": [0, 3]},
    ):
        model = dpscd.TableModel({"target": target, "columns": columns}).fit(table)
        assert set(model.privacy_.shown()) <= _words("card.md")


def test_every_error_is_on_the_page_of_errors():
    from dpscd import errors

    kinds = [x for x in vars(errors).values() if isinstance(x, type)]
    found = {x.__name__ for x in kinds if issubclass(x, Exception)}
    assert {"DpscdError", "PrivacyWarning"} <= found <= _words("errors.md")


def test_every_page_is_in_a_table_of_contents():
    listed = ["index", *(ROOT / "docs" / "index.md").read_text().splitlines()]
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert any(fnmatch(name, line) for line in listed if line), name


def test_every_folder_of_the_sources_is_on_the_map():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`(\w+)`", text.partition("## The map")[2].partition("\n## ")[0]))
    files = (ROOT / "src").glob("dpscd/*/__init__.py")
    assert {file.parent.name for file in files} <= named
