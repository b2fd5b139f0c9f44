"""Each mistake of the catalogue, injected into a copy of the source, fails its test."""

import compileall
import hashlib
import json
import os
import py_compile
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import MUTATIONS
from table import PAGE, page

import dpscd
from dpscd.kernels.packed import release_cells

ROOT = Path(__file__).parents[2]
INSTALLED = Path(dpscd.__file__).parent
QUICK = [
    *("-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider"),
    # Hypothesis is imported before pytest could rewrite its assertions.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
]


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Return a copy of the source, one for each worker.

    Compiled code is kept by the path of its file: in one folder all mistakes outside kernels
    and losses share it. A mistake there has a cache of its own, since the cache's key is the
    whole of both. Bytecode is kept by what its file says, so that none outlives an edit.
    """
    copy = tmp_path_factory.mktemp("mutated") / "src"
    assert texts(INSTALLED) == texts(ROOT / "src" / "dpscd")
    shutil.copytree(INSTALLED, copy / "dpscd", ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("kernels", "losses"):
        share_compiled(INSTALLED / room, copy / "dpscd" / room)
    compileall.compile_dir(
        copy, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    )
    return copy


def texts(package):
    return {file.relative_to(package): file.read_text() for file in package.rglob("*.py")}


def share_compiled(room, copy):
    """Let a copy of a room, whose files have the same times, begin with its compiled code."""
    folder = Path(release_cells.stats.cache_path).parent
    kept, new = (
        folder
        / f"{room.name}_{hashlib.sha1(str(one).encode(), usedforsecurity=False).hexdigest()}"
        for one in (room, copy)
    )
    if kept.exists():
        shutil.copytree(kept, new, ignore=shutil.ignore_patterns("*.tmp*"))


@pytest.fixture(scope="session")
def run(source, tmp_path_factory):
    """Return a function that runs a test on the copy: its return code and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["DPSCD_HYPOTHESIS"] = "mutation"
    environment.pop("DPSCD_ENTRANCE_EXAMPLES", None)  # as many as a plain run has
    nursery = [sys.executable, Path(__file__).with_name("nursery.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    folder = tmp_path_factory.mktemp("printed")
    printed = {"output": str(folder / "output"), "errors": str(folder / "errors")}

    def run_one(test):
        request = {"arguments": [*QUICK, test], **printed}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        try:
            code = int(process.stdout.readline())
        except BaseException:  # the time limit of a test, or Ctrl-C
            os.kill(child, signal.SIGKILL)
            process.stdout.readline()
            raise
        return code, *(Path(path).read_text() for path in printed.values())

    with subprocess.Popen(nursery, **pipes, text=True, cwd=ROOT, env=environment) as process:
        yield run_one
        process.stdin.close()


@pytest.mark.full
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda x: x.name.replace(" ", "-"))
def test_a_mistake_is_noticed(mutation, source, run):
    file = source / "dpscd" / mutation.file
    file.write_text(mutation.applied(file.read_text()))
    try:
        code, output, errors = run(mutation.test)
    finally:
        # With its time, by which compiled code knows it.
        shutil.copy2(INSTALLED / mutation.file, file)
    # 1: tests ran and failed; anything else is not the failure that was asked for.
    assert code == 1, output[-2000:] + errors[-2000:]
    assert " failed" in output


@pytest.mark.full
def test_no_mistake_is_no_failure(source, run):
    code, output, _ = run("tests/model/test_typed.py")
    assert code == 0
    assert " passed" in output
    broken = source / "dpscd" / "model" / "plain.py"
    broken.write_text("raise ImportError\n")
    try:
        code, output, _ = run("tests/model/test_typed.py")
    finally:
        shutil.copy2(INSTALLED / "model" / "plain.py", broken)
    assert code == 2  # not even collected


def test_the_table_in_the_docs_lists_every_mistake():
    assert PAGE.read_text() == page(MUTATIONS)
    assert [m.test for m in MUTATIONS if not (ROOT / m.test.partition("::")[0]).is_file()] == []


def test_mistakes_have_no_undefined_names(tmp_path):
    # Such code would fail any test that runs it, whatever the test looks at.
    for number, mutation in enumerate(MUTATIONS):
        text = (INSTALLED / mutation.file).read_text()
        (tmp_path / f"{number}.py").write_text(mutation.applied(text))
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F63,F7,F82"]
    done = subprocess.run([*ruff, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
