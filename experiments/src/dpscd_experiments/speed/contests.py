"""The contests of a run, in groups that can be asked for one by one."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dpscd.losses import Hinge
from dpscd_experiments.provenance import provenance
from dpscd_experiments.speed.cases import make_case, make_sparse_case
from dpscd_experiments.speed.contest import Clock, Contest
from dpscd_experiments.speed.others import (
    copy,
    diffprivlib_fit,
    gather,
    lbfgs_fit,
    liblinear_epoch,
    product,
    sgd_epoch,
    snap_ml_epoch,
)
from dpscd_experiments.speed.ours import (
    default_fit,
    drawn_beforehand,
    eager_epoch,
    lazy_beforehand,
    packed_bytes,
    plain_epoch,
    private_epoch,
    private_run,
)
from dpscd_experiments.speed.plain_loop import plain_loop
from dpscd_experiments.speed.startup import fits, importing

__all__ = ["AXES", "GROUPS", "count_turns"]

Sizes = Mapping[str, Any]

#: What the growth contests change, and what the axis of their plot says.
AXES = {
    "growth-n": "rows",
    "growth-d": "columns",
    "growth-lot": "lot size",
    "growth-threads": "threads",
    "growth-entries": "non-zeros a row (sparse)",
    "growth-sparse_d": "columns (sparse)",
}


def _dense(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d", "lot")}
    case = make_case(**facts)
    row_bytes = packed_bytes(case)
    contenders: dict[str, Callable[[], Clock]] = {
        "ours, private": lambda: private_epoch(case),
        "ours, private, 2 threads": lambda: private_epoch(case, threads=2),
        "ours, no noise, lots drawn before": lambda: drawn_beforehand(case),
        "ours, private, hinge": lambda: private_epoch(case, Hinge()),
        "ours, not private": lambda: plain_epoch(case),
        "Snap ML": lambda: snap_ml_epoch(case),
        "Snap ML, 2 threads": lambda: snap_ml_epoch(case, 2),
        "liblinear, hinge": lambda: liblinear_epoch(case),
        "scikit-learn, SGD": lambda: sgd_epoch(case),
        "plain Python loop": lambda: plain_loop(case),
        "product with a vector": lambda: product(case),
        "copy of rows in random order": lambda: gather(case),
        "copy of as many bytes": lambda: copy(case, row_bytes),
    }
    yield Contest("dense", {**facts, "row_bytes": row_bytes}, contenders, sizes["turns"])


def _sparse(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d", "entries", "lot")}
    case = make_sparse_case(**facts)
    contenders: dict[str, Callable[[], Clock]] = {
        "ours, private, lazy noise": lambda: private_epoch(case),
        "ours, private, lazy noise, whole run": lambda: private_run(case),
        "ours, private, eager noise": lambda: eager_epoch(case),
        "ours, no noise, lots drawn before": lambda: lazy_beforehand(case),
        "ours, not private": lambda: plain_epoch(case),
    }
    yield Contest("sparse", facts, contenders, sizes["turns"])


def _fit(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d")}
    case = make_case(**facts, lot=1)  # the fit chooses its own
    contenders: dict[str, Callable[[], Clock]] = {
        "ours, private": lambda: default_fit(case),
        "scikit-learn, lbfgs": lambda: lbfgs_fit(case),
        "diffprivlib": lambda: diffprivlib_fit(case),
    }
    yield Contest("fit", facts, contenders, sizes["turns"])


def _startup(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d")}
    statements = (
        "import dpscd",
        "import sklearn.linear_model",
        "from dpscd import DPLogisticRegression",
    )
    with tempfile.TemporaryDirectory() as folder:
        first, later = fits(**facts, folder=Path(folder))
        contenders: dict[str, Callable[[], Clock]] = {
            "first fit": lambda: first,
            "later fit": lambda: later,
            **{statement: partial(importing, statement) for statement in statements},
        }
        yield Contest("startup", facts, contenders, sizes["turns"], warm=False)


def _growth(sizes: Sizes) -> Iterator[Contest]:
    base, turns = sizes["base"], sizes["turns"]
    for axis in ("n", "d", "lot"):
        for at in sizes[axis]:
            facts = {**base, axis: at}
            case = make_case(**facts)
            contenders: dict[str, Callable[[], Clock]] = {
                "ours, private": partial(private_epoch, case),
                "ours, not private": partial(plain_epoch, case),
                "Snap ML": partial(snap_ml_epoch, case),
            }
            if axis == "lot":  # the others have none
                contenders = {"ours, private": contenders["ours, private"]}
            yield Contest(f"growth-{axis}", facts, contenders, turns, at)
    case = make_case(**base)
    for threads in _threads():
        contenders = {
            "ours, private": partial(private_epoch, case, threads=threads),
            "Snap ML": partial(snap_ml_epoch, case, threads),
        }
        yield Contest("growth-threads", base, contenders, turns, threads)
    for axis, column in (("entries", "entries"), ("sparse_d", "d")):
        for at in sizes[axis]:
            facts = {**sizes["sparse_base"], column: at}
            case = make_sparse_case(**facts)
            contenders = {
                "ours, private, lazy noise": partial(private_epoch, case),
                "ours, not private": partial(plain_epoch, case),
            }
            if axis == "sparse_d":
                contenders["ours, private, eager noise"] = partial(eager_epoch, case)
            yield Contest(f"growth-{axis}", facts, contenders, turns, at)


def _threads() -> list[int]:
    """Return 1, 2, 4 and so on, up to the cores that may be used."""
    cores = int(provenance()["cores"])
    return sorted({2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores})


#: What makes the contests of a group, one at a time: their data are large.
GROUPS: dict[str, Callable[[Sizes], Iterator[Contest]]] = {
    "dense": _dense,
    "sparse": _sparse,
    "fit": _fit,
    "startup": _startup,
    "growth": _growth,
}


def count_turns(group: str, sizes: Sizes) -> int:
    """Return how many turns the contests of a group take, warm-ups included."""
    turns = int(sizes["turns"])
    if group != "growth":
        return turns + (group != "startup")
    axes = sum(len(sizes[axis]) for axis in ("n", "d", "lot", "entries", "sparse_d"))
    return (axes + len(_threads())) * (turns + 1)
