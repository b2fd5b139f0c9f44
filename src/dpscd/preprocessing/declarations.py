"""What is declared about columns, target and file: the parts of a schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

PRIVATE = "private"
"""In place of bounds: they are estimated with a part of the budget."""

#: Hats that a column which goes round has at least, where their number is not declared.
QUARTERS = 4


@dataclass(frozen=True)
class Column:
    """What is declared about one column."""

    name: str  # as in the table's header
    kind: str  # number, category, ordinal, boolean or ignore
    # Of a number: lowest and highest value, to which others are moved; or 'private'.
    bounds: tuple[float, float] | str | None = None
    # of a number: 'log1p', applied to value and bounds before scaling
    transform: str | None = None
    # of a number: intervals of equal width, one feature each; the intervals of its shape if any
    bins: int | None = None
    # with a feature each (category); from lowest to highest (ordinal)
    values: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)  # other spellings of values
    # Replacement of a missing value: 'middle' of the bounds, 'column' for a feature of its own,
    # 'other' (category), 'average' (complete category, cyclic number), or a value.
    missing: str | float = "middle"
    # kind, bounds or values were read off the records: not covered by a proof
    read_from_data: bool = False
    # Effect of a number: 'line' (one feature), 'steps' (one more per interval), 'smooth' (one
    # more per knot: piecewise linear) or 'auto': smooth, as fine as epsilon and n allow. A fit
    # takes None for 'auto' where there are no bins; a fitted model's schema has the result.
    shape: str | None = None
    knots: tuple[float, ...] = ()  # where intervals of a shape end, inside the bounds
    complete: bool = False  # of a category: no feature for other values, which count as missing
    # of a number: its effect may only rise ('up') or only fall ('down')
    monotone: str | None = None
    missing_values: tuple[str, ...] = ()  # cells that count as missing, besides the layout's
    # Of a category: the 'prefix' (number of signs) of a cell that is compared with the values,
    # or a 'mapping' from beginnings to values; empty if cells are compared as they are.
    group: Mapping[str, Any] = field(default_factory=dict)
    # Of a number: it counts, so knots are whole numbers and steps are between them.
    integer: bool = False
    # Of a number: its bounds are the same point, as of hours; of integers the first comes
    # after the last, as of months. Hats around the circle are then its only features.
    cyclic: bool = False
    # Whether the name is a pattern, which stands for columns of a table that is not known yet.
    pattern: bool = False

    @property
    def private_bounds(self) -> bool:
        """Whether bounds are to be estimated with budget."""
        return self.bounds == PRIVATE

    @property
    def usual_missing(self) -> str:
        """What stands in for a missing value where nothing is said about it."""
        if self.complete or self.cyclic:
            return "average"
        return "other" if self.kind == "category" else "middle"

    @property
    def undecided(self) -> bool:
        """Whether its shape follows from epsilon and n."""
        plain = self.shape is None and self.bins is None
        return self.kind == "number" and (plain or self.shape == "auto")

    @property
    def bent(self) -> bool:
        """Whether a number has features besides the one that grows with it."""
        return self.shape in ("steps", "smooth") and not self.cyclic

    def decided(self, shape: str, bins: int | None = None) -> "Column":
        """Return the column, of this shape if its own is undecided; a circle has no line."""
        if self.cyclic:
            shape, bins = "smooth", max(bins or 0, QUARTERS)
        return replace(self, shape=shape, bins=bins) if self.undecided else self


@dataclass(frozen=True)
class Pair:
    """Two columns whose effect together is learnt, besides that of each."""

    columns: tuple[str, str]
    # Intervals of numbers and ordinals within the pair; None if they follow from epsilon and n.
    # Declared knots and lines stay.
    bins: int | None = None


@dataclass(frozen=True)
class Cross:
    """A pair with what is declared about its columns."""

    first: Column
    second: Column
    bins: int | None = None

    @property
    def name(self) -> str:
        """What the pair is called."""
        return f"{self.first.name} x {self.second.name}"


@dataclass(frozen=True)
class Target:
    """What is declared about the column to predict; a record without a label counts nothing."""

    name: str  # as in the table's header
    classes: tuple[str, ...] = ()  # empty for a regression
    # of a regression; labels beyond are moved to the nearest
    bounds: tuple[float, float] | str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)  # other spellings of classes
    read_from_data: bool = False  # whether bounds or classes were read off the records
    missing_values: tuple[str, ...] = ()  # cells that count as missing, besides the layout's
    # of a regression: 'log1p', applied after the bounds; predictions are mapped back
    transform: str | None = None
    # of counts: the column of what each was taken over, and the range to which it is moved
    exposure: str | None = None
    exposure_bounds: tuple[float, float] | None = None

    @property
    def private_bounds(self) -> bool:
        """Whether bounds are to be estimated with budget."""
        return self.bounds == PRIVATE

    @property
    def trained_on(self) -> str:
        """What effects are changes of, for people."""
        return f"log(1 + {self.name})" if self.transform else self.name


@dataclass(frozen=True)
class Layout:
    """How the file is written."""

    header: bool = True  # whether the first line names the columns
    names: tuple[str, ...] = ()  # of the columns of a file without header, in order
    delimiter: str = ","
    comment: str | None = None  # a sign with which lines begin that are not records
    # how missing values are written, besides empty cells
    missing: tuple[str, ...] = ("?", "NA", "N/A", "NaN", "nan", "null", "None")
    # Whether a quoted cell may go on in the next line. Then a stray quote of one record can
    # swallow others, which no guarantee covers.
    multiline: bool = False
