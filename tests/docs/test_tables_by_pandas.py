"""Where a page reads a table with pandas, every cell stays the text that it is.

Left to itself pandas gives columns types that depend on all of their cells, and takes texts
such as "NA" and "None" for missing: then one record could change what another one means.
"""

import ast
from pathlib import Path

import pytest
from blocks import blocks_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
READERS = {"read_csv", "read_table", "read_fwf"}


def calls_in(code):
    """Return the calls of pandas's or Dask's readers of text in a piece of code."""
    return [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in READERS
    ]


def keeps_texts(call):
    options = {word.arg: ast.unparse(word.value) for word in call.keywords}
    return options.get("dtype") == "str" and options.get("keep_default_na") == "False"


def offenders_in(code, where):
    return [f"{where}: {ast.unparse(c)}" for c in calls_in(code) if not keeps_texts(c)]


def test_pages_and_examples_leave_cells_as_they_are():
    found = []
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "python":
                found += offenders_in(block.text, block.where)
    for example in sorted((ROOT / "examples").glob("*.py")):
        found += offenders_in(example.read_text(encoding="utf-8"), example.name)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "right"),
    [
        ("pd.read_csv('t.csv', dtype=str, keep_default_na=False)", True),
        ("pd.read_csv('t.csv')", False),
        ("pd.read_csv('t.csv', dtype=str)", False),
        ("dd.read_csv('t.csv', keep_default_na=False)", False),
    ],
)
def test_the_check_sees_what_it_must(code, right):
    assert bool(offenders_in(code, "here")) != right
