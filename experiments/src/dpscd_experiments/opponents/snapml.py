"""Snap ML's private models (the extra ``peers``), tuned over a small grid."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from dpscd.problem import Model
from dpscd_experiments.cells import Cell, Skip
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.prepared import Prepared, judge, number
from dpscd_experiments.opponents.search import search
from dpscd_experiments.opponents.setting import Setting, Stored

__all__ = ["ABSENT", "cells", "play"]

#: Why Snap ML takes no part.
ABSENT = "Snap ML is not installed: pip install 'dpscd-experiments[peers]'"
_NAMES = ("epochs", "batch_size", "grad_clip", "eta")


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells that are known to be needed; it has no private SVM."""
    if setting.loss == "hinge":
        return []
    values = [spec["snapml"][name] for name in _NAMES]
    grid = [dict(zip(_NAMES, chosen, strict=True)) for chosen in product(*values)]
    return search(setting, "snapml", play, [lambda _: grid], stored)


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge(cell, _train)


def _train(ready: Prepared, cell: Cell) -> Model:
    """Train without an intercept, which it refuses; labels of ridge divided by their spread."""
    try:
        import snapml
    except ImportError:
        raise Skip(ABSENT) from None
    kind = snapml.LinearRegression if ready.loss == "squared" else snapml.LogisticRegression
    scale = float(ready.labels.std()) if ready.loss == "squared" else 1.0
    problem = ready.problem(1.0, scale)
    model = kind(
        privacy=True,
        dual=False,
        privacy_epsilon=cell.epsilon,
        max_iter=int(number(cell, "epochs")),
        batch_size=int(number(cell, "batch_size")),
        grad_clip=number(cell, "grad_clip"),
        eta=number(cell, "eta"),
        random_state=cell.seed,
    )
    with _silent():
        model.fit(ready.data.X, problem.labels(ready.labels))
    coef = scale * np.asarray(model.coef_, dtype=np.float64).reshape(1, -1)
    return Model(coef, np.full(1, problem.label_centre))


@contextmanager
def _silent() -> Iterator[None]:
    """Drop what compiled code prints: Snap ML shows its noise at every fit."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)
