"""Rows that belong to persons: what the bench of persons trains on."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd_experiments.dataset import SPLIT_SEED, Task

__all__ = ["PersonData", "capped_rows", "split_persons"]

_TEST = 0.2


@dataclass(frozen=True)
class PersonData:
    """Rows of persons, those to train on and those for test: no person has rows in both."""

    name: str  # its name in result rows
    task: Task  # kind of label: -1 and 1, or a number
    X: npt.NDArray[Any] = field(repr=False)  # rows no longer than 1
    y: npt.NDArray[Any] = field(repr=False)  # labels
    persons: npt.NDArray[np.int64] = field(repr=False)  # whose row each is
    X_test: npt.NDArray[Any] = field(repr=False)
    y_test: npt.NDArray[Any] = field(repr=False)
    persons_test: npt.NDArray[np.int64] = field(repr=False)
    y_bounds: tuple[float, float] | None = None  # declared range of a regression's labels
    split: str = ""  # how persons were split, in words

    @property
    def classifies(self) -> bool:
        """Whether labels are classes."""
        return self.task == "classification"

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What to pass to an estimator of ours: classes or bounds."""
        return {"classes": (-1, 1)} if self.classifies else {"y_bounds": self.y_bounds}


def split_persons(persons: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which rows are for test: those of a fifth of the persons, always the same."""
    count = int(persons.max()) + 1
    order = np.random.default_rng(SPLIT_SEED).permutation(count)
    held_out = np.zeros(count, dtype=bool)
    held_out[order[: round(_TEST * count)]] = True
    return held_out[persons]


def capped_rows(persons: npt.NDArray[np.int64], most: int, seed: int) -> npt.NDArray[np.int64]:
    """Return which rows to keep so that no person has more than `most`: random ones."""
    shuffled = np.random.default_rng([seed, most]).permutation(len(persons))
    order = shuffled[np.argsort(persons[shuffled], kind="stable")]
    owners = persons[order]
    starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
    sizes = np.diff(np.append(starts, len(owners)))
    place = np.arange(len(owners)) - np.repeat(starts, sizes)
    return np.sort(order[place < most])
