"""Linear opponents on the features that ours has: they differ in how they train alone."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents import adassp, boosted_adassp, dp_sgd, peers, plain
from dpscd_experiments.opponents.prepared import Prepared
from dpscd_experiments.opponents.search import search
from dpscd_experiments.opponents.setting import Config, Setting, Stored
from dpscd_experiments.opponents.tabled import judge_features

__all__ = [
    "cells_of_adassp",
    "cells_of_boosted_adassp",
    "cells_of_diffprivlib",
    "cells_of_dp_sgd",
    "cells_of_plain",
    "play",
]

_TRAINERS: dict[str, Callable[[Prepared, Cell], Model]] = {
    "adassp": adassp.train,
    "boosted-adassp": boosted_adassp.train,
    "diffprivlib": peers.train,
    "dp-sgd": dp_sgd.train,
    "plain": plain.train,
}


def play(cell: Cell) -> Metrics:
    """Run a cell of any of them."""
    return judge_features(cell, _TRAINERS[cell.method])


def cells_of_dp_sgd(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of DP-SGD that are known to be needed."""

    def stage(values: Mapping[str, Any]) -> Callable[[Sequence[Config]], Iterable[Config]]:
        return lambda ranked: dp_sgd.proposals(values, ranked)

    stages = [stage(values) for values in spec["dp_sgd"][setting.grid]]
    return search(setting, "dp-sgd", play, stages, stored)


def cells_of_adassp(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of AdaSSP, for regression only; there is nothing to tune."""
    del spec, stored
    return setting.results("adassp", play, {}) if setting.loss == "squared" else []


def cells_of_boosted_adassp(
    setting: Setting, spec: Mapping[str, Any], stored: Stored
) -> list[Cell]:
    """Return the cells of Boosted AdaSSP, for regression only, tuned over a small grid."""
    if setting.loss != "squared":
        return []
    names = ("rounds", "clip")
    tried = product(*(spec["boosted_adassp"][name] for name in names))
    configs = [dict(zip(names, one, strict=True)) for one in tried]
    return search(setting, "boosted-adassp", play, [lambda _: configs], stored)


def cells_of_diffprivlib(
    setting: Setting, spec: Mapping[str, Any], stored: Stored
) -> list[Cell]:
    """Return the cells of diffprivlib, with its defaults."""
    del stored
    config = spec["diffprivlib"] if setting.loss == "logistic" else {}
    return setting.results("diffprivlib", play, config)


def cells_of_plain(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of ours without privacy: the same for all epsilons, with one seed."""
    only = replace(
        setting, epsilon=math.inf, delta=0.0, seeds=1, tuning_seeds=setting.tuning_seeds[:1]
    )
    lams = [{"lam": lam} for lam in spec["plain"]["lams"]]
    return search(only, "plain", play, [lambda _: lams], stored)
