"""Proofs name code that exists, and every release has its proof."""

import ast
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import dpscd
from dpscd.model.plain import KINDS
from dpscd.releases.score import Score

ROOT = Path(__file__).parents[1]
PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_functions_named_in_a_proof_exist(page):
    names = re.findall(r"`(dpscd(?:\.\w+)+)`", page.read_text())
    assert names
    for name in names:
        assert pkgutil.resolve_name(name) is not None, name


def test_every_release_has_its_proof():
    for kind in (*KINDS, Score):
        page = (ROOT / "docs" / "proofs" / f"{kind.proof}.md").read_text()
        assert f"`{kind.what}`" in page or f'"{kind.what}"' in page, kind


def test_proofs_cited_in_the_code_exist():
    for file in (ROOT / "src").rglob("*.py"):
        for path in re.findall(r"docs/[\w/]+\.md", file.read_text()):
            assert (ROOT / path).exists(), f"{file.name} cites {path}"


# What users may import from `dpscd`. A name more is a promise, a name less breaks programs:
# docs/policies/versions.md.
PUBLIC = [
    "__version__", "DPHuberRegressor", "DPLinearSVC", "DPLogisticRegression", "DPModelSearch",
    "DPPoissonRegressor", "DPRidge", "Intervals",
    "TableModel", "evaluate", "load",
    "plan", "private_score", "report", "sign_model", "to_onnx", "to_sklearn", "RowScaler",
    "Schema", "TableEncoder", "Ledger", "PrivacyCard", "SecretSeed", "StoredRows",
    "BudgetExceeded",
    "CalibrationError", "CardError", "DataError", "DataTypeError", "DpscdError", "LedgerError",
    "ModelFileError", "ParameterError", "PrivacyWarning", "PrivateScore", "SchemaError",
    "StreamError", "UtilityWarning", "WorkerError", "Look", "look",
]  # fmt: skip


def test_public_names_are_those_that_are_promised():
    assert sorted(dpscd.__all__) == dir(dpscd) == sorted(PUBLIC)
    with pytest.raises(AttributeError, match="nothing"):
        dpscd.nothing  # noqa: B018


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_a_public_name_is_what_it_says_and_documented(name):
    thing = getattr(dpscd, name)
    assert thing.__name__ == name
    assert thing.__module__.startswith("dpscd.")
    first = inspect.getdoc(thing).splitlines()[0]
    assert first.endswith("."), "the first line of its documentation is no sentence"


def test_type_checkers_see_every_public_name():
    tree = ast.parse(Path(dpscd.__file__).read_text())
    (checked,) = (x for x in tree.body if isinstance(x, ast.If))
    seen = {alias.name for line in checked.body for alias in line.names}
    assert seen | {"__version__"} == set(PUBLIC)


def test_the_citation_is_of_this_version():
    (cited,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == dpscd.__version__
