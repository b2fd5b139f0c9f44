"""Kinds of values that a parameter takes: checks, and words for what is allowed."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from dpscd.errors import ParameterError


@dataclass(frozen=True)
class Number:
    """Numbers above `low`, or from it on if it is `reached`, up to `high`."""

    low: float = 0.0
    high: float = 1e100
    reached: bool = False

    python: ClassVar[str] = "float"
    type: ClassVar[type] = float

    def holds(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        x = float(value)
        return (self.low <= x if self.reached else self.low < x) and x <= self.high

    @property
    def words(self) -> str:
        """What is allowed."""
        low = f"a number {'of at least' if self.reached else 'greater than'} {self.low:g}"
        if math.isinf(self.high):
            return f"{low} (the float inf trains without privacy)"
        return f"{low}, up to {self.high:g}"


@dataclass(frozen=True)
class Integer:
    """Whole numbers from `low` on, up to `high`, and `others`."""

    low: int = 1
    high: float = math.inf
    others: tuple[int, ...] = ()

    python: ClassVar[str] = "int"
    type: ClassVar[type] = int

    def holds(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return self.low <= int(value) <= self.high or value in self.others

    @property
    def words(self) -> str:
        """What is allowed."""
        found = f"an integer of at least {self.low}"
        if self.high < math.inf:
            found = f"an integer from {self.low} to {self.high:,}"
        return " or ".join([found, *map(str, self.others)])


@dataclass(frozen=True)
class Choice:
    """One of a few values: texts, True and False."""

    values: tuple[str | bool, ...]

    @property
    def type(self) -> type:
        """The type of an option."""
        return type(self.values[0])

    @property
    def python(self) -> str:
        """The type in a docstring."""
        texts = [repr(value) for value in self.values if isinstance(value, str)]
        if len(texts) == len(self.values):
            return f"{{{', '.join(texts)}}}"
        return " or ".join(["bool", *texts])

    def holds(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        import numpy as np

        return isinstance(value, str | bool | np.bool_) and value in self.values

    @property
    def words(self) -> str:
        """What is allowed."""
        *first, last = map(repr, self.values)
        return f"{', '.join(first)} or {last}"


SWITCH = Choice((True, False))


@dataclass(frozen=True)
class Other:
    """What is checked where it is used."""

    python: str
    type: type = str
    needed: bool = False

    words: ClassVar[str] = ""

    def holds(self, value: Any) -> bool:
        """Return whether a value is allowed."""
        del value
        return True


Kind = Number | Integer | Choice | Other


def check(name: str, value: Any, kind: Kind, words: str = "") -> Any:
    """Return a plain value, or raise ParameterError with `words` for what is allowed."""
    if kind.holds(value):
        if isinstance(kind, Choice):
            return kind.values[kind.values.index(value)]
        return value if isinstance(kind, Other) else kind.type(value)
    words = words or kind.words
    if name.isidentifier():
        raise ParameterError(f"{{{name}}} must be {{}}.", words, **{name: value})
    raise ParameterError(f"{name}={value!r} must be {words}.")
