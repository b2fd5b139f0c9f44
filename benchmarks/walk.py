"""Count what a first fit walks through: files, functions and depth, and print the deepest path.

Run as ``python benchmarks/walk.py``: a fit of 20,000 records with 3 features in a fresh
process, compiled code being in the cache (run it twice). Only our own Python code counts.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dpscd
from dpscd import DPLogisticRegression

HOME = Path(dpscd.__file__).parent


class Walk:
    """What was entered, and the deepest chain of calls."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.path: list[str] = []
        self._here: list[str] = []

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
        self.functions.add((file, code.co_qualname))
        self._here.append(f"{file}: {code.co_qualname}")
        if len(self._here) > len(self.path):
            self.path = self._here.copy()


def main() -> None:
    """Walk through one fit and print what was seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = X[:, 0] > 0.0
    walk = Walk()
    sys.setprofile(walk)
    DPLogisticRegression(1.0, classes=[False, True]).fit(X, y)
    sys.setprofile(None)
    files = {file for file, _ in walk.functions}
    print(f"{len(files)} files, {len(walk.functions)} functions, depth {len(walk.path)}")  # noqa: T201
    for step in walk.path:
        print(step)  # noqa: T201
    print("\n".join(sorted(files)))  # noqa: T201


if __name__ == "__main__":
    main()
