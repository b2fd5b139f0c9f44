"""Each mistake of the catalogue, injected into a copy of the source, fails its test."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import MUTATIONS

ROOT = Path(__file__).parents[2]


def mutated(mutation, text):
    """Return the source with the mistake in it."""
    for right, wrong in mutation.replace:
        assert text.count(right) == 1, f"{mutation.file} has changed: {right}"
        text = text.replace(right, wrong)
    return text


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Return a copy of the source, one for each worker.

    Compiled code is kept by the path of its file: in one folder all mistakes outside kernels
    and losses share it. A mistake there has a cache of its own, since the cache's key is the
    whole of both.
    """
    copy = tmp_path_factory.mktemp("mutated") / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.full
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_mistake_is_noticed(mutation, source):
    file = source / "dpscd" / mutation.file
    text = mutated(mutation, file.read_text())
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["DPSCD_HYPOTHESIS"] = "mutation"
    environment.pop("DPSCD_DOOR_EXAMPLES", None)  # as many as a plain run has
    quick = ["-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    file.write_text(text)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *quick, mutation.test],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        # With its time, by which compiled code knows it.
        shutil.copy2(ROOT / "src" / "dpscd" / mutation.file, file)
    # 1: tests ran and failed; anything else is not the failure that was asked for.
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert " failed" in done.stdout


def test_the_table_in_the_docs_lists_every_mistake():
    page = (ROOT / "docs" / "understanding" / "mutations.md").read_text()
    for mutation in MUTATIONS:
        file, _, name = mutation.test.partition("::")
        row = f"| {mutation.name} | `{mutation.file}` | `{name or file}` |"
        assert row in page


def test_mistakes_have_no_undefined_names(tmp_path):
    # Such code would fail any test that runs it, whatever the test looks at.
    for number, mutation in enumerate(MUTATIONS):
        text = (ROOT / "src" / "dpscd" / mutation.file).read_text()
        (tmp_path / f"{number}.py").write_text(mutated(mutation, text))
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F63,F7,F82"]
    done = subprocess.run([*ruff, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
