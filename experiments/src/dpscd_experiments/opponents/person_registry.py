"""All methods of the bench of persons, by name."""

from functools import partial

from dpscd_experiments.opponents import by_person
from dpscd_experiments.opponents.registry import Method

__all__ = ["CAPS", "DEFAULT", "PERSON_METHODS", "WEIGHTS"]

#: What our estimators do if they are not told how rows of a person count.
DEFAULT = "sum"

#: Ways in which rows of a person count.
WEIGHTS = ("sum", "share")

#: Most rows of a person that group privacy is tried with.
CAPS = (1, 3, 10, 30)


def _cap(rows: int, *, own: bool) -> Method:
    kept = "one random row" if rows == 1 else f"{rows} random rows"
    label = f"at most {rows} row{'' if rows == 1 else 's'}"
    note = (
        f"group privacy: {kept} of each person at most, and our estimator for rows with as "
        "much noise as that many rows of one person need"
    )
    if own:
        label += ", each a person"
        note = (
            "the same rows and as much noise, for logistic regression: every row is given as a "
            "person of its own, so that probabilities are made as ours are"
        )
    return Method(label, partial(by_person.cells_of_cap, rows, own), True, note)


PERSON_METHODS = {
    "sum": Method(
        "ours, every row counts",
        partial(by_person.cells_of_weight, "sum"),
        False,
        "`fit(X, y, groups=persons)`: all rows of a person step together, one clip for all of "
        'them; untuned. `person_weight="sum"`, the default: every row counts 1, up to the clip',
    ),
    "share": Method(
        "ours, rows share a weight",
        partial(by_person.cells_of_weight, "share"),
        False,
        'the same with `person_weight="share"`: the rows of a person count 1 together',
    ),
    **{f"cap-{rows}": _cap(rows, own=False) for rows in CAPS},
    **{f"cap-{rows}-own": _cap(rows, own=True) for rows in CAPS},
    "row": Method(
        "privacy of a row",
        by_person.cells_of_rows,
        False,
        "our estimator without `groups` at the same epsilon: a weaker guarantee, for reference",
    ),
}
