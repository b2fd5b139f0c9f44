"""Write results/tables.md, its rows and figures from a folder that the bench wrote.

    dpscd bench tables --out results
    python docs/make_tables.py results

Tests compare the page with its rows.
"""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROWS = DOCS.parent / "experiments" / "rows"

_HEAD = """\
# Tables

<!-- Written by docs/make_tables.py from what `dpscd bench tables` wrote. -->

This page is what `dpscd bench tables` writes, from the rows in
`experiments/rows/tables.csv`:

<!-- not run: takes minutes to hours; experiments/tests runs parts of it -->
```sh
export DPSCD_DATA=folder/of/the/data    # Adult is packaged
dpscd bench tables --out results
```

The question: somebody has a table with columns as they are, knows what they mean, and wants a
private model without tuning it. What to pick? The settings and grids are in
`dpscd_experiments/specs/tables.toml`. The schemas are the packaged one of Adult, without its
bins, and those in `dpscd_experiments/schemas`; each says where its bounds and values come from:
the publisher's description of the columns, calendars, maps and public statistics, and never the
records. No shape is declared: a fit decides from epsilon and the number of records. Methods
that are trained on our features have those of the same epsilon; without privacy they have the
finest. A cell that was not run has a dash.

DP-EBM and EBM need the extra `peers`; diffprivlib and synthetic records by MST (dpmm) need
interpreters of their own, named by `DPSCD_DIFFPRIVLIB_PYTHON` and `DPSCD_DPMM_PYTHON`. MST
takes minutes of the processor a fit, so it is for the two small tables, with three seeds; a
method that has no line was not run yet.

Read with care: splits are fixed, so standard errors are over the randomness of training only.
DP-EBM is run with its defaults; tuned opponents are better than their users would have them,
because tuning was not charged.
"""


def main() -> None:
    """Copy rows and figures, and write the page."""
    folder = Path(sys.argv[1])
    figures = DOCS / "figures" / "tables"
    figures.mkdir(exist_ok=True)
    for file in sorted(folder.glob("tables-*.png")):
        shutil.copyfile(file, figures / file.name)
    shutil.copyfile(folder / "tables.csv", ROWS / "tables.csv")
    text = (folder / "tables.md").read_text(encoding="utf-8").removeprefix("# Tables\n")
    text = text.replace("](tables-", "](../figures/tables/tables-")
    (DOCS / "results" / "tables.md").write_text(_HEAD + text, encoding="utf-8")


if __name__ == "__main__":
    main()
