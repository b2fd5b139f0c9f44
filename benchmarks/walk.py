"""Count what fitting, saving, loading, verifying, predicting and a report walk through.

Run as ``python benchmarks/walk.py``, or with names of walks: 20,000 records with 3 features,
each walk in a fresh process, compiled code being in the cache (run it twice). `verify` is what
`load` and ``dpscd verify`` do to the fit that was read. Only functions of our own Python code
count. Prints a table of files, functions and depth, then the deepest path and the files.
"""

import sys
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np

import dpscd
from dpscd import DPLogisticRegression, load

HOME = Path(dpscd.__file__).parent
WALKS = ("fit", "save", "load", "verify", "predict", "report")
VERIFY = "model/fit.py: Fit.verify"


class Walk:
    """What was entered, and the deepest chain of calls."""

    def __init__(self, within: str = "") -> None:
        self.functions: set[str] = set()
        self.path: list[str] = []
        self._within, self._here = within, [""]

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take in an event of Python's profiler."""
        del argument
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(str(HOME)):
            return
        if code.co_name.startswith("<"):  # a module's body, a comprehension, a lambda
            return
        if event == "return":
            self._here.pop()
            return
        file = str(Path(code.co_filename).relative_to(HOME))
        self._here.append(f"{file}: {code.co_qualname}")
        if self._within not in self._here:
            return
        self.functions.add(self._here[-1])
        path = self._here[max(1, self._here.index(self._within)) :]
        if len(path) > len(self.path):
            self.path = path

    @property
    def files(self) -> list[str]:
        """The files that were entered."""
        return sorted({step.split(":")[0] for step in self.functions})


def prepared(name: str, file: Path) -> Callable[[], object]:
    """Return what is walked through; what it needs is there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    if name == "predict":
        return partial(load(file).predict, X)
    if name in ("load", "verify"):
        return lambda: load(file)

    if name == "report":
        return partial(dpscd.report, file, file.with_name("report.html"))

    def fit() -> DPLogisticRegression:
        return DPLogisticRegression(1.0, classes=[False, True]).fit(X, X[:, 0] > 0.0)

    return fit if name == "fit" else partial(fit().save, file)


def walked(file: Path, name: str) -> Walk:
    """Return one walk; that of `save` leaves the file that others read."""
    work, walk = prepared(name, file), Walk(VERIFY if name == "verify" else "")
    sys.setprofile(walk)
    work()
    sys.setprofile(None)
    return walk


def main(names: list[str]) -> None:
    """Take the walks that are named, or all, and print them."""
    taken = [name for name in WALKS if not names or name in (*names, "save")]
    with (
        TemporaryDirectory() as folder,
        get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
    ):
        walks = pool.imap(partial(walked, Path(folder) / "model.json"), taken)
        found = dict(zip(taken, walks, strict=True))
    found = {name: walk for name, walk in found.items() if not names or name in names}
    print(f"{'walk':8}{'files':>8}{'functions':>12}{'depth':>8}")  # noqa: T201
    for name, walk in found.items():
        print(f"{name:8}{len(walk.files):8}{len(walk.functions):12}{len(walk.path):8}")  # noqa: T201
    for name, walk in found.items():
        print(f"\n{name}:", *walk.path, "", *walk.files, sep="\n")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
