"""All methods of the accuracy bench, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpscd_experiments.cells import Cell
from dpscd_experiments.opponents import (
    adassp,
    dp_sgd,
    one_shot,
    ours,
    peers,
    plain,
    published,
    snapml,
)
from dpscd_experiments.opponents.setting import Setting, Stored

__all__ = ["METHODS", "OURS", "Method"]


@dataclass(frozen=True)
class Method:
    """A method of the bench."""

    label: str  # its name in tables and figures
    # Takes the setting, the spec and what is stored; returns the cells that are known to be
    # needed, none if the method does not apply.
    cells: Callable[[Setting, Mapping[str, Any], Stored], list[Cell]]
    # Whether it is a private method at the epsilon and delta that were asked for, or claims to
    # be one: ours is measured against the best of these.
    rival: bool
    note: str  # what a reader must know of it


OURS = "ours"

METHODS = {
    OURS: Method(
        "ours, untuned",
        ours.cells,
        False,
        "our estimators, given epsilon, delta and what is public; nothing is tuned",
    ),
    "dp-sgd": Method(
        "DP-SGD, tuned",
        dp_sgd.cells,
        True,
        "Poisson lots, PLD accounting, averaging; tuned on validation rows free of charge. "
        "For ridge its clip is in units of the standard deviation of the training labels, "
        "which it is given without noise",
    ),
    "published": Method(
        "DP-SCD as published, tuned",
        published.cells,
        True,
        "the paper's Algorithm 1 with its own accountant, tuned over the paper's grid free "
        "of charge; lam and epochs are the paper's for the loss; no intercept. What it "
        "claims does not hold for somebody who sees the duals",
    ),
    "adassp": Method(
        "AdaSSP",
        adassp.cells,
        True,
        "ridge only; Wang (2018), a third of epsilon and delta for each of its three "
        "releases, each with the least Gaussian noise",
    ),
    "one-shot": Method(
        "one-shot limit of ours",
        one_shot.cells,
        False,
        "limit of ours, needs exact arithmetic, not released as private: the objective plus "
        "a random linear term, minimised exactly, at the lam of our plan and with the noise "
        "of its travel, which the minimiser does not keep to",
    ),
    "one-shot-tuned": Method(
        "one-shot limit, lam tuned",
        one_shot.tuned_cells,
        False,
        "the same with lam tuned on validation rows free of charge: limit of ours, needs "
        "exact arithmetic, not released as private",
    ),
    "snapml": Method(
        "Snap ML, tuned",
        snapml.cells,
        False,
        "logistic and ridge; `privacy=True`, whose delta is fixed at 0.01 and which refuses "
        "an intercept; tuned over a small grid free of charge. Its seeds hardly change its "
        "noise, so that its quartiles say nothing",
    ),
    "diffprivlib": Method(
        "diffprivlib",
        peers.cells_of_diffprivlib,
        True,
        "logistic and ridge; pure epsilon (delta 0); with its defaults",
    ),
    "opacus": Method(
        "Opacus",
        peers.cells_of_opacus,
        True,
        "a linear layer at fixed settings, with its default accountant",
    ),
    "plain": Method(
        "not private",
        plain.cells,
        False,
        "our estimators at an infinite epsilon, lam tuned on validation rows",
    ),
}
