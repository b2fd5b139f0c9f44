"""The described model, loaded from a file, in words for its reader."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpscd.cards.card import PrivacyCard
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.intervals import Intervals
from dpscd.estimators.purpose import band_words, has_intervals
from dpscd.estimators.registry import ModelKind, kind_of
from dpscd.estimators.shapes import BAND
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.encoding import width_of
from dpscd.preprocessing.knots import written
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.unit import Unit
from dpscd.report.html import number

__all__ = ["BAND", "Subject", "Weight"]


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
    """A loaded model and its schema, if it has one."""

    def __init__(self, model: DPLinearModel | TableModel) -> None:
        table = isinstance(model, TableModel)
        self._table: TableModel | None = model if table else None
        self.estimator: Any = model.estimator_ if table else model
        self.schema: Schema | None = model.schema_ if table else None
        self.bounds: dict[str, tuple[float, float]] = model.bounds_ if table else {}

    @property
    def card(self) -> PrivacyCard:
        """The guarantee."""
        card: PrivacyCard = self.estimator.privacy_
        return card

    @property
    def protected(self) -> Unit:
        """The unit of the guarantee: a record or a person."""
        return self.card.protected

    @property
    def kind(self) -> ModelKind:
        """The registry's entry of this sort of model."""
        return kind_of(self.estimator)

    @property
    def regression(self) -> bool:
        """Whether numbers are predicted, not classes."""
        return not self.kind.classifies

    @property
    def classes(self) -> list[str]:
        """The classes as text; none for a regression."""
        return [] if self.regression else [str(x) for x in self.estimator.classes_]

    @property
    def is_multinomial(self) -> bool:
        """Whether several outputs have one loss together, that of probabilities."""
        return self.kind.gives_chances and len(self.outputs) > 1

    @property
    def target(self) -> str | None:
        """Name of what is predicted, when it is known."""
        return None if self.schema is None else self.schema.target.name

    @property
    def trained_on(self) -> str | None:
        """The scale of effects, when it is known: the target, or a function of it."""
        return None if self.schema is None else self.schema.target.trained_on

    @property
    def outputs(self) -> list[str]:
        """Meaning of a positive coefficient, one for each linear model."""
        if self.regression:
            return [f"a higher {self.target or 'prediction'}"]
        return [
            f"“{x}”" for x in (self.classes[1:] if len(self.classes) == 2 else self.classes)
        ]

    @property
    def numbers(self) -> set[str]:
        """Names of the columns whose values are numbers."""
        columns = self.schema.features if self.schema else ()
        return {column.name for column in columns if column.kind == "number"}

    @property
    def references(self) -> dict[str, str]:
        """The reference level of each category: the first listed."""
        columns = self.schema.features if self.schema else ()
        return {x.name: str(x.values[0]) for x in columns if x.kind == "category"}

    def intervals(self) -> Intervals | None:
        """Return estimates with confidence intervals, if the model was trained for them."""
        if not has_intervals(self.estimator):
            return None
        found: Intervals = (self._table or self.estimator).summary()
        return found

    def pair(self, name: str) -> tuple[str, str]:
        """Return the names of the columns of a pair."""
        parts = self.schema.parts if self.schema else ()
        found = next(part for part in parts if isinstance(part, Cross) and part.name == name)
        return found.first.name, found.second.name

    @property
    def band(self) -> str:
        """Description of the band of a private model, in a sentence."""
        return band_words(self._table or self.estimator) or ""

    @property
    def noun(self) -> str:
        """Name of the numbers of :meth:`weights`."""
        return "weight" if self._plain is None else "effect"

    @property
    def _plain(self) -> TableModel | None:
        """The table model, if the effect of a column does not depend on the other columns."""
        return self._table if self._table and self._table.schema_.rows == "scale" else None

    def weights(self, output: int) -> list[Weight]:
        """Return the contributions of one output's model to a prediction, with their noise.

        For a table the effect of every column at its values, on the scale of the released
        means, the clearest column first; else the coefficients, in the order of the features.
        """
        if self._plain is not None:
            shapes = self._plain.shapes()
            shapes = shapes[shapes["seen"]]
            if "class" in shapes:
                shapes = shapes[shapes["class"] == self.estimator.classes_[output]]
            parts = [_effects(own) for _, own in shapes.groupby("column", sort=False)]
            return [weight for part in parts for weight in part]
        values = np.atleast_2d(self.estimator.coef_)[output]
        bands = BAND * np.atleast_2d(self.estimator.coef_noise_)[output]
        return [
            _weight(group, label, float(value), float(band))
            for (group, label), value, band in zip(self._names(), values, bands, strict=True)
        ]

    def intercept(self, output: int) -> Weight:
        """Return the intercept of one output."""
        value = np.atleast_1d(self.estimator.intercept_)[output]
        band = BAND * np.atleast_1d(self.estimator.intercept_noise_)[output]
        return _weight("(intercept)", "(intercept)", float(value), float(band))

    def _names(self) -> Iterator[tuple[str, str]]:
        """Yield the group and the label of every feature."""
        count = self.estimator.n_features_in_
        given = getattr(self.estimator, "feature_names_in_", None)
        names = [f"feature {x}" for x in range(count)] if given is None else list(given)
        if self.schema is None:
            yield from (("", str(name)) for name in names)
            return
        first = 0
        for part in self.schema.parts:
            for name in names[first : first + width_of(part)]:
                label = str(name)
                if isinstance(part, Column):
                    label = label.removeprefix(part.name).removeprefix("=").strip()
                yield part.name, label or part.name
            first += width_of(part)


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
