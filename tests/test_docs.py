"""Proofs name code that exists, and every release has its proof."""

import importlib
import re
from pathlib import Path

import pytest

from dpscd.planning import Facts, plan_fit
from dpscd.privacy import statements
from dpscd.privacy.relation import PrivacyTarget

ROOT = Path(__file__).parents[1]
PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_functions_named_in_a_proof_exist(page):
    names = re.findall(r"`(dpscd(?:\.\w+)+)`", page.read_text())
    assert names
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_release_has_its_proof():
    facts = Facts(
        n=10**5,
        d=2,
        outputs=1,
        task="regression",
        row_bound=1.0,
        constant=0.3,
        standardised=True,
        bounded=1,
    )
    names = {release.what for release in plan_fit(facts, PrivacyTarget(1.0, 1e-5)).releases()}
    assert names == set(statements._LETTERS)
    pages = [page.read_text() for page in PROOFS]
    for name in names:
        assert any(f"`{name}`" in page or f'"{name}"' in page for page in pages), name


def test_proofs_cited_in_the_code_exist():
    for file in (ROOT / "src").rglob("*.py"):
        for path in re.findall(r"docs/[\w/]+\.md", file.read_text()):
            assert (ROOT / path).exists(), f"{file.name} cites {path}"


def test_public_names_are_those_of_all():
    import dpscd

    assert sorted(dpscd.__all__) == dpscd.__all__ or set(dpscd.__all__) == set(dir(dpscd))
    for name in dpscd.__all__:
        assert getattr(dpscd, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        dpscd.nothing  # noqa: B018


def test_the_citation_is_of_this_version():
    import dpscd

    (cited,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == dpscd.__version__
