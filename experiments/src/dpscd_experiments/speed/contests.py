"""Contests of a run, in groups that can be asked for one by one.

Contenders of a contest take turns, because machines are noisy.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpscd.losses import Hinge
from dpscd_experiments.cells import Skip, described
from dpscd_experiments.provenance import usable_cores
from dpscd_experiments.speed import others, ours

Sizes = Mapping[str, Any]

#: One time: contest, contender, at, turn, status, message, seconds and the sizes.
Row = dict[str, Any]

#: What the growth contests change, and what the axis of their plot says.
AXES = {
    "growth-n": "rows",
    "growth-d": "columns",
    "growth-lot": "lot size",
    "growth-threads": "threads",
    "growth-entries": "non-zeros a row (sparse)",
    "growth-sparse_d": "columns (sparse)",
}


@dataclass(frozen=True)
class Contest:
    """Contenders on the same data."""

    name: str  # what the rows call it
    facts: Mapping[str, int]  # sizes that every row states
    # By name, what makes the contender ready and returns its clock. It may raise
    # :class:`~dpscd_experiments.cells.Skip`.
    contenders: Mapping[str, Callable[[], ours.Clock]]
    turns: int  # how often each is measured
    at: float | None = None  # where on the axis of a growth plot this is
    warm: bool = True  # whether there is a turn before, which compiles and is not counted


def take_turns(contest: Contest) -> Iterator[list[Row]]:
    """Run a contest and yield the rows of each turn; that of a warm-up has none.

    A contender that is skipped or fails gets one row that says why; the others go on.
    """

    def row(
        name: str, turn: int, status: str, message: str, seconds: float | None = None
    ) -> Row:
        own = {"contender": name, "at": contest.at, "turn": turn, "status": status}
        more = {"message": message, "seconds": seconds, **contest.facts}
        return {"contest": contest.name, **own, **more}

    clocks: dict[str, ours.Clock] = {}
    trouble: list[Row] = []
    for name, ready in contest.contenders.items():
        try:
            clocks[name] = ready()
        except Skip as reason:
            trouble.append(row(name, 0, "skipped", str(reason)))
    for turn in range(0 if contest.warm else 1, 1 + contest.turns):
        rows, trouble = trouble, []
        for name in list(clocks):
            try:
                seconds = clocks[name]()
            except Skip as reason:
                del clocks[name]
                rows.append(row(name, turn, "skipped", str(reason)))
            except Exception as error:
                del clocks[name]
                rows.append(row(name, turn, "failed", described(error)))
            else:
                if turn > 0:
                    rows.append(row(name, turn, "ok", "", seconds))
        yield rows


def _dense(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d", "lot")}
    case = ours.make_case(**facts)
    row_bytes = ours.packed_bytes(case)
    contenders: dict[str, Callable[[], ours.Clock]] = {
        "ours, private": lambda: ours.private_epoch(case),
        "ours, private, 2 threads": lambda: ours.private_epoch(case, threads=2),
        "ours, no noise, lots drawn before": lambda: ours.drawn_beforehand(case),
        "ours, private, hinge": lambda: ours.private_epoch(case, Hinge()),
        "ours, not private": lambda: ours.plain_epoch(case),
        "Snap ML": lambda: others.snap_ml_epoch(case),
        "Snap ML, 2 threads": lambda: others.snap_ml_epoch(case, 2),
        "liblinear, hinge": lambda: others.liblinear_epoch(case),
        "scikit-learn, SGD": lambda: others.sgd_epoch(case),
        "plain Python loop": lambda: ours.plain_loop(case),
        "product with a vector": lambda: others.product(case),
        "copy of rows in random order": lambda: others.gather(case),
        "copy of as many bytes": lambda: others.copy(case, row_bytes),
    }
    yield Contest("dense", {**facts, "row_bytes": row_bytes}, contenders, sizes["turns"])


def _sparse(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d", "entries", "lot")}
    case = ours.make_sparse_case(**facts)
    contenders: dict[str, Callable[[], ours.Clock]] = {
        "ours, private, lazy noise": lambda: ours.private_epoch(case),
        "ours, private, lazy noise, whole run": lambda: ours.private_run(case),
        "ours, private, eager noise": lambda: ours.eager_epoch(case),
        "ours, no noise, lots drawn before": lambda: ours.lazy_beforehand(case),
        "ours, not private": lambda: ours.plain_epoch(case),
    }
    yield Contest("sparse", facts, contenders, sizes["turns"])


def _fit(sizes: Sizes) -> Iterator[Contest]:
    facts = {name: sizes[name] for name in ("n", "d")}
    case = ours.make_case(**facts, lot=1)  # the fit chooses its own
    contenders: dict[str, Callable[[], ours.Clock]] = {
        "ours, private": lambda: ours.default_fit(case),
        "scikit-learn, lbfgs": lambda: others.lbfgs_fit(case),
        "diffprivlib": lambda: others.diffprivlib_fit(case),
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
        first, later = others.fits(**facts, folder=Path(folder))
        contenders: dict[str, Callable[[], ours.Clock]] = {
            "first fit": lambda: first,
            "later fit": lambda: later,
            **{statement: partial(others.importing, statement) for statement in statements},
        }
        yield Contest("startup", facts, contenders, sizes["turns"], warm=False)


def _growth(sizes: Sizes) -> Iterator[Contest]:
    base, turns = sizes["base"], sizes["turns"]
    for axis in ("n", "d", "lot"):
        for at in sizes[axis]:
            facts = {**base, axis: at}
            case = ours.make_case(**facts)
            contenders: dict[str, Callable[[], ours.Clock]] = {
                "ours, private": partial(ours.private_epoch, case),
                "ours, not private": partial(ours.plain_epoch, case),
                "Snap ML": partial(others.snap_ml_epoch, case),
            }
            if axis == "lot":  # the others have none
                contenders = {"ours, private": contenders["ours, private"]}
            yield Contest(f"growth-{axis}", facts, contenders, turns, at)
    case = ours.make_case(**base)
    for threads in _threads():
        contenders = {
            "ours, private": partial(ours.private_epoch, case, threads=threads),
            "Snap ML": partial(others.snap_ml_epoch, case, threads),
        }
        yield Contest("growth-threads", base, contenders, turns, threads)
    for axis, column in (("entries", "entries"), ("sparse_d", "d")):
        for at in sizes[axis]:
            facts = {**sizes["sparse_base"], column: at}
            case = ours.make_sparse_case(**facts)
            contenders = {
                "ours, private, lazy noise": partial(ours.private_epoch, case),
                "ours, not private": partial(ours.plain_epoch, case),
            }
            if axis == "sparse_d":
                contenders["ours, private, eager noise"] = partial(ours.eager_epoch, case)
            yield Contest(f"growth-{axis}", facts, contenders, turns, at)


def _threads() -> list[int]:
    """Return 1, 2, 4 and so on, up to the cores that may be used."""
    cores = usable_cores()
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
