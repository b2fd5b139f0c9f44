"""Input of ``dpscd plan``: public numbers, or a schema that has them."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpscd.cli.common import duration
from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation

if TYPE_CHECKING:
    from dpscd.forecast import Finer
    from dpscd.preprocessing.schema import Schema

__all__ = ["PlanQuestion", "question_of"]


@dataclass(frozen=True)
class PlanQuestion:
    """Public facts of a fit to be planned."""

    n: int  # records, or persons
    d: int  # features; 0 if they follow from the schema
    classes: int  # 2 for a regression, whose plan does not use it
    regression: bool
    delta: float | None  # None for the default
    relation: Relation
    schema: "Schema | None" = None

    @property
    def persons(self) -> bool:
        """Whether persons are protected."""
        return self.schema is not None and self.schema.person is not None

    @property
    def bounded(self) -> int:
        """Number of columns whose bounds take a part of the budget."""
        return 0 if self.schema is None else len(self.schema.private)

    @property
    def title(self) -> str:
        """Title of the plan, in words."""
        count = f"{self.n:,} {'persons' if self.persons else 'records'}"
        kind = "regression" if self.regression else f"{self.classes} classes"
        if self.schema is None:
            return f"{count}, {self.d} features, {kind}"
        return (
            f"{self.schema.target.name!r} by {len(self.schema.parts)} columns: {count}, {kind}"
        )

    def features(self, epsilon: float, *, inference: bool = False) -> int:
        """Return how many features a fit has; shapes follow from epsilon and n."""
        if self.schema is None:
            return self.d
        from dpscd.preprocessing.encoding import width_of
        from dpscd.preprocessing.resolution import lined, shaped

        schema = lined(self.schema) if inference else shaped(self.schema, epsilon, self.n)
        return sum(width_of(part) for part in schema.parts)

    def finer(self, epsilon: float) -> "Finer":
        """Return how much finer the features of a fit without noise are."""
        from dpscd.forecast import Finer
        from dpscd.preprocessing.resolution import shaped

        if self.schema is None:
            return Finer()
        own, other = (_bins(shaped(self.schema, x, self.n)) for x in (epsilon, math.inf))
        both = zip(own, other, strict=True)
        widths = [1.0 / (few or 1) - 1.0 / many for few, many in both if many]
        return Finer(self.features(math.inf) - self.features(epsilon), max(widths, default=0.0))

    @property
    def preparing(self) -> str:
        """Longest time of reading and compiling, in words."""
        from dpscd.forecast import preparing_seconds

        columns = 0 if self.schema is None else len(self.schema.features)
        return (
            "training: its time on one core. Reading and first-time compiling: up to "
            f"{duration(preparing_seconds(self.n, columns))} more."
        )


def _bins(schema: "Schema") -> list[int | None]:
    return [*(x.bins for x in schema.columns), *(x.bins for x in schema.pairs)]


def question_of(
    schema: Path | None,
    n: int | None,
    d: int | None,
    target: tuple[int | None, bool],
    delta: float | None,
    relation: Relation,
) -> PlanQuestion:
    """Return the question, or raise ParameterError.

    `target` is the given number of classes, and whether the target is a number.
    """
    classes, regression = target
    if n is None:
        raise ParameterError(
            "--records is missing: how many records, or persons, there will be, about."
        )
    if schema is None:
        if d is None:
            raise ParameterError(
                "--d or --schema is missing: the number of features, or the file that they "
                "follow from."
            )
        return PlanQuestion(n, d, classes or 2, regression, delta, relation)
    if d is not None or classes is not None or regression:
        raise ParameterError(
            "--d, --classes and --regression follow from --schema: leave them out."
        )
    from dpscd.preprocessing.schema import Schema

    found = Schema.read(schema)
    count = len(found.target.classes)
    return PlanQuestion(n, 0, count or 2, not count, delta, relation, found)
