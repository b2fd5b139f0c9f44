"""All methods of the four benches, by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents import (
    by_person,
    linear,
    one_shot,
    peers,
    published,
    softmax,
    tabled,
    trees,
)
from dpscd_experiments.opponents.prepared import judge
from dpscd_experiments.opponents.setting import OURS, Method, Play, Setting, Stored, search
from dpscd_experiments.persons import FLIGHTS

Spec = Mapping[str, Any]

_TRAINERS = linear.TRAINERS | {
    "one-shot": one_shot.train,
    "one-shot-tuned": one_shot.train,
    "published": published.train,
    "diffprivlib": peers.train,
    "opacus": peers.train,
}


def play(cell: Cell) -> Metrics:
    """Run a cell of the bench of accuracy; that of tuning the published method has its own."""
    return judge(cell, _TRAINERS[cell.method])


def _untuned(
    method: str,
    run: Play,
    config: Callable[[Spec], Spec] = lambda _: {},
    *,
    private: bool = True,
) -> Callable[[Setting, Spec, Stored], list[Cell]]:
    """Return the cells of a method with nothing to tune; without privacy there is only one."""

    def cells(setting: Setting, spec: Spec, _stored: Stored) -> list[Cell]:
        return (setting if private else setting.not_private).results(method, run, config(spec))

    return cells


def _diffprivlib(run: Play, setting: Setting, spec: Spec, _stored: Stored) -> list[Cell]:
    """Return the cells of diffprivlib's results, with its defaults; it has no SVM."""
    if setting.loss == "hinge":
        return []
    config = spec["diffprivlib"] if setting.loss == "logistic" else {}
    return setting.results("diffprivlib", run, config)


def _one_shot_tuned(setting: Setting, spec: Spec, stored: Stored) -> list[Cell]:
    """Return the cells of the one-shot limit with lam tuned."""
    factors = [{"lam_factor": factor} for factor in spec["one_shot"]["lam_factors"]]
    return search(setting, "one-shot-tuned", play, [lambda _: factors], stored)


def _mst(setting: Setting, spec: Spec, _stored: Stored) -> list[Cell]:
    """Return the cells of the problems that are small enough for MST, with few seeds."""
    own = spec["mst"]
    if setting.problem not in own["problems"]:
        return []
    cells = setting.results("mst", trees.play, {"bins": own["bins"]})
    return cells[: own["seeds"]]


def _row(setting: Setting, _spec: Spec, _stored: Stored) -> list[Cell]:
    """Return the cells of ours with privacy of a row: of the real table."""
    return setting.results("row", by_person.play, {}) if setting.dataset == FLIGHTS else []


METHODS = {
    OURS: Method(
        "ours, untuned",
        _untuned(OURS, play),
        False,
        "our estimators, given epsilon, delta and what is public; nothing is tuned",
    ),
    "dp-sgd": Method(
        "DP-SGD, tuned",
        partial(linear.dp_sgd_cells, play),
        True,
        "Poisson lots, PLD accounting, averaging; tuned on validation rows free of charge. "
        "For ridge its clip is in units of the standard deviation of the training labels, "
        "which it is given without noise",
    ),
    "published": Method(
        "DP-SCD as published, tuned",
        partial(published.cells, play),
        True,
        "the paper's Algorithm 1 with its own accountant, tuned over the paper's grid free "
        "of charge; lam and epochs are the paper's for the loss; no intercept. What it "
        "claims does not hold for somebody who sees the duals",
    ),
    "adassp": Method(
        "AdaSSP",
        partial(linear.adassp_cells, play),
        True,
        "ridge only; Wang (2018), a third of epsilon and delta for each of its three "
        "releases, each with the least Gaussian noise",
    ),
    "one-shot": Method(
        "one-shot limit of ours",
        _untuned("one-shot", play, lambda _: {"lam_factor": 1.0}),
        False,
        "limit of ours, needs exact arithmetic, not released as private: the objective plus "
        "a random linear term, minimised exactly, at the lam of our plan and with the noise "
        "of its travel, which the minimiser does not keep to",
    ),
    "one-shot-tuned": Method(
        "one-shot limit, lam tuned",
        _one_shot_tuned,
        False,
        "the same with lam tuned on validation rows free of charge: limit of ours, needs "
        "exact arithmetic, not released as private",
    ),
    "snapml": Method(
        "Snap ML, tuned",
        partial(linear.snapml_cells, play),
        False,
        "logistic and ridge; `privacy=True`, whose delta is fixed at 0.01 and which refuses "
        "an intercept; tuned over a small grid free of charge. Its seeds hardly change its "
        "noise, so that its quartiles say nothing",
    ),
    "diffprivlib": Method(
        "diffprivlib",
        partial(_diffprivlib, play),
        True,
        "logistic and ridge; pure epsilon (delta 0); with its defaults",
    ),
    "opacus": Method(
        "Opacus",
        _untuned("opacus", play, lambda spec: spec["opacus"]),
        True,
        "a linear layer at fixed settings, with its default accountant",
    ),
    "plain": Method(
        "not private",
        partial(linear.plain_cells, play),
        False,
        "our estimators at an infinite epsilon, lam tuned on validation rows",
    ),
}

TABLE_METHODS = {
    OURS: Method(
        "ours, untuned",
        _untuned(OURS, tabled.play),
        False,
        "`TableModel` with the schema, epsilon and delta; nothing is tuned",
    ),
    "dp-ebm": Method(
        "DP-EBM",
        _untuned("dp-ebm", trees.play),
        True,
        "interpret-core's private boosting of one column at a time, with its defaults (300 "
        "rounds, a tenth of epsilon for bins); given the same bounds and transforms; a "
        "number that is missing stands in the middle, or beyond the highest where the schema "
        "tells missing ones apart, because it takes none. It reads the values of categories "
        "off the records, which it does not charge",
    ),
    "dp-sgd": Method(
        "DP-SGD, tuned",
        partial(linear.dp_sgd_cells, tabled.play),
        True,
        "on our features; Poisson lots, PLD accounting, averaging; tuned on a quarter of the "
        "training rows free of charge. For regression its clip is in units of the standard "
        "deviation of the training labels, which it is given without noise",
    ),
    "diffprivlib": Method(
        "diffprivlib",
        partial(_diffprivlib, tabled.play),
        True,
        "its logistic or linear regression on our features; pure epsilon (delta 0); with its "
        "defaults",
    ),
    "adassp": Method(
        "AdaSSP",
        partial(linear.adassp_cells, tabled.play),
        True,
        "regression only, on our features; Wang (2018), a third of epsilon and delta for each "
        "of its three releases, each with the least Gaussian noise",
    ),
    "boosted-adassp": Method(
        "Boosted AdaSSP, tuned",
        partial(linear.boosted_cells, tabled.play),
        True,
        "regression only, on our features; Tang et al. (2023), its Gaussian releases composed "
        "exactly; rounds and clip of residuals (over half the declared range) tuned on a "
        "quarter of the training rows free of charge",
    ),
    "mst": Method(
        "MST, then boosting",
        _mst,
        True,
        "as many synthetic records as there are, by dpmm's MST on intervals of equal width "
        "between declared bounds, then scikit-learn's gradient boosting; on the small tables "
        "and with few seeds, for its time",
    ),
    "plain": Method(
        "our features, not private",
        partial(linear.plain_cells, tabled.play),
        False,
        "our estimators at an infinite epsilon, lam tuned on a quarter of the training rows",
    ),
    "ebm": Method(
        "EBM, not private",
        _untuned("ebm", trees.play, lambda spec: spec["ebm"], private=False),
        False,
        "interpret-core's boosting, which has pairs of columns too, with its defaults but for "
        "fewer bags, for its time",
    ),
    "boosting": Method(
        "gradient boosting, not private",
        _untuned("boosting", trees.play, private=False),
        False,
        "scikit-learn's HistGradientBoosting with its defaults",
    ),
}

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
        _untuned("sum", by_person.play, lambda _: {"person_weight": "sum"}),
        False,
        "`fit(X, y, groups=persons)`: all rows of a person step together, one clip for all of "
        'them; untuned. `person_weight="sum"`, the default: every row counts 1, up to the clip',
    ),
    "share": Method(
        "ours, rows share a weight",
        _untuned("share", by_person.play, lambda _: {"person_weight": "share"}),
        False,
        'the same with `person_weight="share"`: the rows of a person count 1 together',
    ),
    **{f"cap-{rows}": _cap(rows, own=False) for rows in CAPS},
    **{f"cap-{rows}-own": _cap(rows, own=True) for rows in CAPS},
    "row": Method(
        "privacy of a row",
        _row,
        False,
        "our estimator without `groups` at the same epsilon: a weaker guarantee, for reference",
    ),
}

#: How many settings of DP-SGD, the best on validation rows, are run with all seeds.
FINALISTS = 3

_WORDS = ("best", "second", "third")

FEATURE_METHODS = {
    OURS: Method(
        "ours, untuned",
        softmax.cells_of_ours,
        False,
        "`DPLogisticRegression(epsilon, delta=1e-5, classes=range(10), row_bound=...)`, "
        "multinomial; the bound is that which no row can exceed, whatever the picture; "
        "nothing is tuned",
    ),
    **{
        f"{softmax.TUNING}-{rank}": Method(
            f"DP-SGD, {words} in tuning",
            partial(softmax.cells_of_sgd, rank),
            True,
            f"DP-SGD of softmax regression with the setting that was {words} on validation "
            "rows: Poisson lots, whole gradients clipped, the accounting of ours, momentum. "
            "Its tuning is free of charge",
        )
        for rank, words in enumerate(_WORDS, 1)
    },
}
