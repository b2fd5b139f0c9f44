"""The table of mistakes in docs/understanding/mutations.md; run this file to write it."""

import re
from pathlib import Path

from catalogue import MUTATIONS

PAGE = Path(__file__).parents[2] / "docs" / "understanding" / "mutations.md"
HEAD = "| mistake | injected into | noticed by |\n|---|---|---|\n"


def rows(mutations):
    """Return the rows of a table; a test is named by its function, several by their file."""
    return HEAD + "".join(
        f"| {mutation.name} | `{mutation.at}` | `{mutation.test.rpartition('::')[2]}` |\n"
        for mutation in mutations
    )


def page(mutations):
    """Return the page with its table anew."""
    first, last = PAGE.read_text().split(HEAD)
    return first + rows(mutations) + re.sub(r"\A(\|.*\n)*", "", last)


if __name__ == "__main__":
    PAGE.write_text(page(MUTATIONS))
