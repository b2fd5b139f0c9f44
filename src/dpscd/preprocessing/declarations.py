"""What is declared about columns, target and file: the parts of a schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KINDS", "PRIVATE", "Column", "Cross", "Layout", "Pair", "Target", "default_missing"]

PRIVATE = "private"
"""In place of bounds: they are estimated with a part of the budget."""

KINDS = ("number", "category", "ordinal", "boolean", "ignore")


@dataclass(frozen=True)
class Column:
    """What is declared about one column.

    Attributes
    ----------
    name : str
        As in the table's header.
    kind : {'number', 'category', 'ordinal', 'boolean', 'ignore'}
        How it becomes features.
    bounds : tuple of two floats, 'private' or None
        Of a number: lowest and highest value; others are moved to the nearest.
    transform : {'log1p'} or None
        Of a number: what is done to value and bounds before scaling.
    bins : int or None
        Of a number: how many intervals of equal width, a feature each; with a shape, how many
        it has.
    values : tuple of str
        Of a category, the values that have a feature of their own; of an ordinal, the
        values from lowest to highest.
    rename : dict
        Other spellings of values.
    missing : str, float or None
        What stands in for a missing value: 'middle' of the bounds, 'column' for a feature
        of its own, 'other' (category), 'average' (complete category), or a value.
    read_from_data : bool
        Whether kind, bounds or values were read off the records, which no proof covers.
    shape : {'auto', 'line', 'steps', 'smooth'} or None
        Of a number: what its effect may look like. A line has one feature, 'steps' one more
        per interval, 'smooth' one more per knot, so that its effect is piecewise linear. 'auto'
        is smooth, as fine as epsilon and n allow. A fit takes None for 'auto' where there are
        no bins; a fitted model's schema says what it came to.
    knots : tuple of float
        Of a number with steps or a smooth shape: where intervals end, inside the bounds.
    complete : bool
        Of a category: whether no other values than those listed exist. Then there is no
        feature for others, and a cell with another value counts as missing.
    monotone : {'up', 'down'} or None
        Of a number: whether its effect may only rise, or only fall.
    missing_values : tuple of str
        Cells that count as missing in this column, besides those of the layout.
    group : dict
        Of a category: 'prefix', the number of signs at the beginning of a cell that are
        compared with the values, or 'mapping', from beginnings to values; empty if cells are
        compared as they are.
    """

    name: str
    kind: str
    bounds: tuple[float, float] | str | None = None
    transform: str | None = None
    bins: int | None = None
    values: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    missing: str | float = "middle"
    read_from_data: bool = False
    shape: str | None = None
    knots: tuple[float, ...] = ()
    complete: bool = False
    monotone: str | None = None
    missing_values: tuple[str, ...] = ()
    group: Mapping[str, Any] = field(default_factory=dict)

    @property
    def private_bounds(self) -> bool:
        """Whether bounds are to be estimated with budget."""
        return self.bounds == PRIVATE

    @property
    def undecided(self) -> bool:
        """Whether its shape follows from epsilon and n."""
        plain = self.shape is None and self.bins is None
        return self.kind == "number" and (plain or self.shape == "auto")

    @property
    def bent(self) -> bool:
        """Whether a number has features besides the one that grows with it."""
        return self.shape in ("steps", "smooth")


@dataclass(frozen=True)
class Pair:
    """Two columns whose effect together is learnt, besides that of each.

    Attributes
    ----------
    columns : tuple of two str
        Their names.
    bins : int or None
        How many intervals numbers and ordinals have within the pair; None if that follows from
        epsilon and n. Declared knots and lines stay what they are.
    """

    columns: tuple[str, str]
    bins: int | None = None


@dataclass(frozen=True)
class Cross:
    """A pair with what is declared about its columns.

    Attributes
    ----------
    first, second : Column
        The columns.
    bins : int or None
        As :class:`Pair` has it.
    """

    first: Column
    second: Column
    bins: int | None = None

    @property
    def name(self) -> str:
        """What the pair is called."""
        return f"{self.first.name} x {self.second.name}"


@dataclass(frozen=True)
class Target:
    """What is declared about the column to predict.

    Attributes
    ----------
    name : str
        As in the table's header.
    classes : tuple of str
        The labels of a classification; empty for a regression. A record with another
        label contributes nothing.
    bounds : tuple of two floats, 'private' or None
        Of a regression: lowest and highest value; others are moved to the nearest. A
        record without a value contributes nothing.
    rename : dict
        Other spellings of classes.
    read_from_data : bool
        Whether bounds or classes were read off the records.
    missing_values : tuple of str
        Cells that count as missing, besides those of the layout.
    transform : {'log1p'} or None
        Of a regression: what is done to the label, moved to its bounds, before training;
        predictions are mapped back.
    """

    name: str
    classes: tuple[str, ...] = ()
    bounds: tuple[float, float] | str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    read_from_data: bool = False
    missing_values: tuple[str, ...] = ()
    transform: str | None = None

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
    """How the file is written.

    Attributes
    ----------
    header : bool
        Whether the first line names the columns; without it `names` does.
    names : tuple of str
        Names of the columns of a file without header, in order.
    delimiter : str
        What separates cells.
    comment : str or None
        A sign with which lines begin that are no records.
    missing : tuple of str
        How missing values are written, besides empty cells.
    multiline : bool
        Whether a quoted cell may go on in the next line. Then a stray quote of one record can
        swallow others, which no guarantee covers.
    """

    header: bool = True
    names: tuple[str, ...] = ()
    delimiter: str = ","
    comment: str | None = None
    missing: tuple[str, ...] = ("?", "NA", "N/A", "NaN", "nan", "null", "None")
    multiline: bool = False


def default_missing(kind: str, *, complete: bool = False) -> str:
    """Return what stands in for a missing value of a column that says nothing about it."""
    if kind != "category":
        return "middle"
    return "average" if complete else "other"
