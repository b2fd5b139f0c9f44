"""The described model, loaded from a file, in words for its reader."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pandas as pd

from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.intervals import Intervals
from dpscd.estimators.purpose import band_words
from dpscd.estimators.registry import kind_of
from dpscd.estimators.shapes import BAND
from dpscd.estimators.table import TableModel
from dpscd.facts import Facts
from dpscd.model.fit import Fit
from dpscd.preprocessing.column_features import width_of, written
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.schema import Schema
from dpscd.report.html import number


@dataclass(frozen=True)
class Weight:
    """One coefficient and its noise."""

    group: str  # column of a table
    label: str  # the part of the column
    value: float
    band: float  # distance from the coefficient to both ends of its band
    clear: bool  # whether the report calls it clear
    pair: tuple[str, str] | None = None  # values of both columns of a pair

    @property
    def word(self) -> str:
        """Comment on the coefficient."""
        return "clear" if self.clear else "not clear"

    @property
    def clearness(self) -> tuple[bool, float]:
        """Whether it is clear, and the coefficient in units of its band."""
        return self.clear, abs(self.value) / self.band if self.band else abs(self.value)


class Subject:
    """A loaded model, of arrays or of a table."""

    def __init__(self, model: DPLinearModel | TableModel) -> None:
        self._model: Any = model
        self.estimator: Any = getattr(model, "estimator_", model)
        self.kind = kind_of(self.estimator)
        self.fit: Fit = model.fit_
        self.card = self.fit.card
        self.protected = self.card.protected
        self.facts: Facts = self.fit.plan.facts
        self.schema: Schema | None = getattr(model, "schema_", None)  # of a table
        columns = self.schema.features if self.schema else ()
        # Names of the columns whose values are numbers.
        self.numbers = {column.name for column in columns if column.kind == "number"}
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
        self._has_shapes = self.schema is not None and self.schema.rows == "scale"
        self.noun = "effect" if self._has_shapes else "weight"

    @property
    def outputs(self) -> list[str]:
        """Meaning of a positive coefficient, one for each linear model."""
        if self.regression:
            return [f"a higher {self.target or 'prediction'}"]
        return [
            f"“{x}”" for x in (self.classes[1:] if len(self.classes) == 2 else self.classes)
        ]

    @property
    def band(self) -> str:
        """Description of the band of a private model, in a sentence."""
        return band_words(self._model) or ""

    def intervals(self) -> Intervals | None:
        """Return estimates with confidence intervals, if the model was trained for them."""
        return self._model.summary() if self.fit.has_intervals else None

    def pair(self, name: str) -> tuple[str, str]:
        """Return the names of the columns of a pair."""
        parts = self.schema.parts if self.schema else ()
        found = next(part for part in parts if isinstance(part, Cross) and part.name == name)
        return found.first.name, found.second.name

    def weights(self, output: int) -> list[Weight]:
        """Return the contributions of one output's model to a prediction, with their noise.

        For a table the effect of every column at its values, on the scale of the released
        means, the clearest column first; else the coefficients, in the order of the features.
        """
        if self._has_shapes:
            shapes = self._model.shapes()
            shapes = shapes[shapes["seen"]]
            if "class" in shapes:
                shapes = shapes[shapes["class"] == self.estimator.classes_[output]]
            parts = [_effects(own) for _, own in shapes.groupby("column", sort=False)]
            return [weight for part in parts for weight in part]
        values = self.fit.numbers.coef[output].tolist()
        bands = (BAND * self.fit.numbers.coef_noise[output]).tolist()
        return [
            _weight(group, label, value, band)
            for (group, label), value, band in zip(self._places(), values, bands, strict=True)
        ]

    def intercept(self, output: int) -> Weight:
        """Return the intercept of one output."""
        numbers = self.fit.numbers
        value, band = numbers.intercept[output], BAND * numbers.intercept_noise[output]
        return _weight("(intercept)", "(intercept)", float(value), float(band))

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


def _weight(group: str, label: str, value: float, band: float) -> Weight:
    return Weight(group, label, value, band, clear=abs(value) > band)


def _effects(own: pd.DataFrame) -> list[Weight]:
    """Return the effects of a column or a pair, as a page shows them."""
    group = str(own["column"].iloc[0])
    labels = _texts(own["value"].tolist())
    pairs: list[Any] = [None] * len(own)
    if "other" in own and own["other"].notna().any():
        pairs = list(zip(labels, _texts(own["other"].tolist()), strict=True))
        labels = [" x ".join(pair) for pair in pairs]
    columns = (own[key].tolist() for key in ("effect", "band", "clear"))
    return [Weight(group, *row) for row in zip(labels, *columns, pairs, strict=True)]


def _texts(values: list[Any]) -> list[str]:
    """Return values of a column as readable, distinct texts."""
    numbers = written((x for x in values if isinstance(x, float)), 4, number)
    signs = {True: "yes", False: "no"}
    return [
        signs[x] if isinstance(x, bool) else numbers[x] if isinstance(x, float) else str(x)
        for x in values
    ]
