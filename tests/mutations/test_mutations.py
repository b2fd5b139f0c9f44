"""Each mistake of the catalogue, injected into a copy of the source, fails its test."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import MUTATIONS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_mistake_is_noticed(mutation, tmp_path):
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    file = source / "dpscd" / mutation.file
    text = file.read_text()
    for right, wrong in mutation.replace:
        assert text.count(right) == 1, f"{mutation.file} has changed: {right}"
        text = text.replace(right, wrong)
    file.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment["DPSCD_HYPOTHESIS"] = "mutation"
    quick = ["-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *quick, mutation.test],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # 1: tests ran and failed; anything else is not the failure that was asked for.
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert " failed" in done.stdout


def test_the_table_in_the_docs_lists_every_mistake():
    page = (ROOT / "docs" / "understanding" / "mutations.md").read_text()
    for mutation in MUTATIONS:
        file, _, name = mutation.test.partition("::")
        row = f"| {mutation.name} | `{mutation.file}` | `{name or file}` |"
        assert row in page
