"""A described model: loaded and checked, with its file's digest and its effects."""

import hashlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpscd.errors import ModelFileError
from dpscd.estimators.loading import load
from dpscd.estimators.shapes import BAND
from dpscd.model.file import read_content
from dpscd.model.fit import Fit
from dpscd.planning.facts import Facts
from dpscd.preprocessing.column_features import width_of, written
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.schema import Schema
from dpscd.rendering import number


@dataclass(frozen=True)
class Weight:
    """One effect or coefficient of a model, and its noise."""

    group: str  # column of a table
    label: str  # the part of the column
    value: float
    # Distance from the coefficient to both ends of its band: estimated, or else proved; 0 if
    # there is none.
    band: float
    clear: bool  # whether documents call it clear
    bound: float = math.nan  # the same distance as it is proved, if it is
    at: float | None = None  # the value of a number
    pair: tuple[str, str] | None = None  # values of both columns of a pair
    order: tuple[Any, Any] = (0, 0)  # by which the schema has these values

    @property
    def word(self) -> str:
        """Comment on the coefficient."""
        return "clear" if self.clear else "not clear"

    @property
    def clearness(self) -> tuple[bool, float]:
        """Whether it is clear, and the coefficient in units of its band."""
        return self.clear, abs(self.value) / self.band if self.band else abs(self.value)


class Described:
    """A fitted model and its file; `name` and `digest` are empty for a model in memory."""

    def __init__(
        self, model: Any, name: str = "", digest: str = "", time: datetime | None = None
    ) -> None:
        self.model = model
        self.name, self.digest = name, digest
        self.time = (time or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
        self.estimator: Any = getattr(model, "estimator_", model)
        self.kind = self.estimator.kind
        self.fit: Fit = model.fit_
        self.card = self.fit.card
        self.unit = self.card.protected
        self.facts: Facts = self.fit.plan.facts
        self.schema: Schema | None = getattr(model, "schema_", None)  # of a table
        # Released bounds of columns.
        self.bounds = dict(zip(self.facts.private, self.fit.numbers.bounds, strict=True))
        self.target = self.facts.target
        self.regression = not self.facts.classifies
        self.classes = [str(x) for x in self.facts.classes]
        # Names of the features, if they have any, and names for readers.
        self.features = [str(x) for x in getattr(self.estimator, "feature_names_in_", ())]
        self.names = self.features or [f"feature {x}" for x in range(self.facts.d)]
        # What :meth:`weights` are: the effect of a column of a table whose rows are scaled does
        # not depend on the other columns.
        self.has_shapes = self.schema is not None and self.schema.rows == "scale"
        self.noun = "effect" if self.has_shapes else "coefficient"

    @property
    def day(self) -> str:
        """Day of the check."""
        return self.time.date().isoformat()

    @cached_property
    def recomputed(self) -> float:
        """Epsilon of the releases, computed again."""
        return float(self.card.verify())

    @property
    def outputs(self) -> list[str]:
        """Meaning of a positive coefficient, one for each linear model."""
        if self.regression:
            return [f"a higher {self.target or 'prediction'}"]
        return [
            f"“{x}”" for x in (self.classes[1:] if len(self.classes) == 2 else self.classes)
        ]

    def column(self, name: str) -> Column | Cross | None:
        """Return the declaration of a column, or of a pair, by its name."""
        parts = self.schema.parts if self.schema else ()
        return next((part for part in parts if part.name == name), None)

    @cached_property
    def _shapes(self) -> pd.DataFrame:
        shapes = self.model.shapes()
        return shapes[shapes["seen"]]

    def weights(self, output: int) -> list[Weight]:
        """Return what an output adds up: effects of columns at values, or coefficients."""
        if self.has_shapes:
            shapes = self._shapes
            if "class" in shapes:
                shapes = shapes[shapes["class"] == self.estimator.classes_[output]]
            columns = shapes.groupby("column", sort=False)
            return [x for name, own in columns for x in _effects(own, self.column(str(name)))]
        values = self.fit.numbers.coef[output].tolist()
        bands, _, total = (BAND * x[output] for x in self.fit.deviations)
        bounds = BAND * self.fit.numbers.coef_noise[output]
        numbers = np.stack([values, np.fmax(0.0, bands), bounds], axis=1).tolist()
        clear = (np.abs(values) > total).tolist()
        return [
            Weight(group, label, value, band, own, bound=bound)
            for (group, label), (value, band, bound), own in zip(
                self._places(), numbers, clear, strict=True
            )
        ]

    def intercept(self, output: int) -> Weight:
        """Return the intercept of one output."""
        value, band = self.fit.numbers.intercept[output], BAND * self.fit.deviations[1][output]
        name = "(intercept)"
        return Weight(name, name, float(value), max(0.0, float(band)), bool(abs(value) > band))

    def _places(self) -> Iterator[tuple[str, str]]:
        """Yield the group and the label of every feature."""
        if self.schema is None:
            yield from (("", name) for name in self.names)
            return
        left = iter(self.names)
        for part in self.schema.parts:
            for label in islice(left, width_of(part)):
                if isinstance(part, Column):
                    label = label.removeprefix(part.name).removeprefix("=").strip()
                yield part.name, label or part.name


def described(path: str | os.PathLike[str], time: datetime | None = None) -> Described:
    """Return the model in a file, if what the file says holds, or raise ModelFileError."""
    name, digest = Path(path).name, _digest(path)
    model = load(path)
    if _digest(path) != digest:
        raise ModelFileError(f"{name} was changed while it was read; try again.")
    return Described(model, name, digest, time)


def _digest(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(read_content(path)).hexdigest()


def _effects(own: pd.DataFrame, part: Any) -> list[Weight]:
    """Return the effects of a column or a pair."""
    own = own.assign(band=own["band"].fillna(own["bound"]).fillna(0.0))
    values = own["value"].tolist()
    numbers = [own[name].tolist() for name in ("effect", "band", "clear", "bound")]
    found = [
        Weight(
            part.name, label, effect, band, clear, bound, x if isinstance(x, float) else None
        )
        for x, label, effect, band, clear, bound in zip(
            values, _texts(values), *numbers, strict=True
        )
    ]
    if isinstance(part, Column):
        return found
    others = own["other"].tolist()
    return [
        replace(
            x,
            label=f"{x.label} x {label}",
            at=None,
            pair=(x.label, label),
            order=(_order(part.first, value), _order(part.second, other)),
        )
        for x, value, other, label in zip(found, values, others, _texts(others), strict=True)
    ]


def _order(column: Column, value: Any) -> tuple[int, float]:
    """Return what sorts values as the schema does: numbers rise, what is not listed is last."""
    if not isinstance(value, str):
        return -1, float(value)
    return column.values.index(value) if value in column.values else len(column.values), 0.0


def _texts(values: list[Any]) -> list[str]:
    """Return values of a column as readable, distinct texts."""
    numbers = written((x for x in values if isinstance(x, float)), 4, number)
    signs = {True: "yes", False: "no"}
    return [
        signs[x] if isinstance(x, bool) else numbers[x] if isinstance(x, float) else str(x)
        for x in values
    ]
