"""One call of a method: what it depends on, and what comes of it."""

import hashlib
import json
import math
import operator
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from dpscd.errors import DpscdError, ParameterError
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.sources import DatasetMissing
from dpscd_experiments.store import Row

Scalar = str | int | float | bool | None

# Metric, place on its curve and value; all None for a cell without numbers.
_Point = tuple[str | None, float | None, float | None]


class Skip(DpscdError):  # noqa: N818 - read as what to do
    """Raised by a cell's function, with the reason, when it cannot run here."""


@dataclass(frozen=True)
class Cell:
    """One call of a method, with all that its result depends on."""

    # Takes the cell and returns its metrics: a number each, or a curve as pairs (at, value).
    # A function of a module, so that other processes can import it. It draws randomness from
    # `seed` only, and may raise :class:`Skip`.
    function: Callable[["Cell"], Metrics] = field(compare=False, repr=False)
    experiment: str  # what the row is for, on which data, by which method
    dataset: str
    method: str
    epsilon: float = math.inf  # privacy to ask for
    delta: float = 0.0
    seed: int = 0
    # What else the method needs: texts, numbers, booleans or None.
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "seed", operator.index(self.seed))
        own = dict(self.parameters)
        object.__setattr__(self, "parameters", own)
        for name, value in own.items():
            if not isinstance(value, Scalar):
                raise ParameterError(
                    f"parameters[{name!r}]={value!r} must be a text, a plain number, a "
                    "boolean or None: it becomes a column of the results."
                )

    @property
    def key(self) -> str:
        """What tells this cell from others, whatever function computes it."""
        text = json.dumps(self.columns(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def columns(self) -> Row:
        """Return the columns of results that the cell itself determines."""
        return {
            "experiment": self.experiment,
            "dataset": self.dataset,
            "method": self.method,
            **{f"param.{name}": value for name, value in self.parameters.items()},
            "epsilon": self.epsilon,
            "delta": self.delta,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Outcome:
    """How a cell ended."""

    status: str
    message: str
    seconds: float
    points: tuple[_Point, ...] = ((None, None, None),)


def execute(cell: Cell) -> Outcome:
    """Call the cell's function; whatever happens becomes an outcome."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            points = tuple(_points(cell.function(cell)))
        except (Skip, DatasetMissing) as reason:
            return Outcome("skipped", str(reason), time.perf_counter() - start)
        except Exception as error:
            return Outcome("failed", described(error), time.perf_counter() - start)
    message = "; ".join(dict.fromkeys(str(warning.message) for warning in caught))
    seconds = time.perf_counter() - start
    return Outcome("ok", message, seconds, points or Outcome.points)


def _points(metrics: Metrics) -> Iterator[_Point]:
    if not metrics:
        raise ValueError("the function returned no metrics")
    for metric, value in metrics.items():
        if isinstance(value, Sequence):
            for at, number in value:
                yield metric, float(at), float(number)
        else:
            yield metric, None, float(value)


def described(error: Exception) -> str:
    """Return an error in one line, with the place it came from."""
    text = f"{type(error).__name__}: {error}"
    trace = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(trace[-1].filename).name}:{trace[-1].lineno})" if trace else text
