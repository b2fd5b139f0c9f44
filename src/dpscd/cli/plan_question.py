"""Input of ``dpscd plan``: public numbers, or a schema that has them."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpscd.cli.common import duration
from dpscd.errors import ParameterError
from dpscd.privacy.relation import PrivacyTarget, Relation

if TYPE_CHECKING:
    from dpscd.facts import Facts
    from dpscd.forecast import Finer
    from dpscd.plan import Plan
    from dpscd.preprocessing.schema import Schema

# What is printed of a main training, in the order of JSON.
_FACTS = ("n", "d", "outputs", "intercept")
_NUMBERS = (
    "lam", "steps", "rate", "clip", "separability", "averaging", "noise_multiplier",
    "most_separability",
)  # fmt: skip


@dataclass(frozen=True)
class PlanQuestion:
    """Public facts of a fit to be planned."""

    n: int  # records, or persons
    d: int  # features; 0 if they follow from the schema
    classes: int  # 2 for a regression, whose plan does not use it
    regression: bool
    delta: float
    relation: Relation
    schema: "Schema | None" = None

    @property
    def persons(self) -> bool:
        """Whether persons are protected."""
        return self.schema is not None and self.schema.person is not None

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

    def target(self, epsilon: float) -> PrivacyTarget:
        """Return what is to be reached, or raise ParameterError."""
        if not math.isfinite(epsilon):
            raise ParameterError("--epsilon must be a finite number: without noise, no plan.")
        return PrivacyTarget(epsilon, self.delta, self.relation)

    def features(self, epsilon: float, *, inference: bool = False) -> int:
        """Return how many features a fit has; shapes follow from epsilon and n."""
        from dpscd.preprocessing.column_features import width_of

        schema = self._shaped(epsilon, inference=inference)
        return self.d if schema is None else sum(width_of(part) for part in schema.parts)

    def facts(self, target: PrivacyTarget, inference: str = "") -> "Facts":
        """Return the public facts of a fit; `inference` is as in :class:`dpscd.facts.Facts`."""
        from dpscd.facts import Facts
        from dpscd.persons import SHARE, SUM, PersonFacts
        from dpscd.planning import default_constant, worth_standardising
        from dpscd.preprocessing.encoding import schema_facts
        from dpscd.records.labels import ClassLabels, NumberLabels

        d = self.features(target.epsilon, inference=bool(inference))
        standardised = bool(inference) or worth_standardising(self.n, d, target)
        loss = "Logistic" if self.classes == 2 else "Softmax"
        schema, persons = self._shaped(target.epsilon, inference=bool(inference)), None
        if schema is not None and schema.person is not None:
            persons = PersonFacts(schema.person, SHARE if inference else SUM)
        return Facts(
            self.n,
            d,
            "Squared" if self.regression else loss,
            NumberLabels(-1.0, 1.0)
            if self.regression
            else ClassLabels(tuple(range(self.classes))),
            constant=default_constant(1.0, standardised=standardised),
            standardised=standardised,
            inference=inference,
            persons=persons,
            **({} if schema is None else schema_facts(schema)),
        )

    def _shaped(self, epsilon: float, *, inference: bool) -> "Schema | None":
        """Return the schema with the shapes of a fit."""
        from dpscd.preprocessing.schema import lined, shaped

        if self.schema is None:
            return None
        return lined(self.schema) if inference else shaped(self.schema, epsilon, self.n)

    def finer(self, epsilon: float) -> "Finer":
        """Return how much finer the features of a fit without noise are."""
        from dpscd.forecast import Finer
        from dpscd.preprocessing.schema import shaped

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
    found = None
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
    elif d is not None or classes is not None or regression:
        raise ParameterError(
            "--d, --classes and --regression follow from --schema: leave them out."
        )
    else:
        from dpscd.preprocessing.schema import Schema

        found = Schema.read(schema)
        classes, regression = len(found.target.classes), not found.target.classes
    from dpscd.planning import default_delta

    delta = default_delta(n) if delta is None else delta
    return PlanQuestion(n, d or 0, classes or 2, regression, delta, relation, found)


def plain_plan(plan: "Plan") -> dict[str, Any]:
    """Return a plan as plain JSON values."""
    target, main, costs = plan.target, plan.main, [one.to_dict() for one in plan.costs]
    place = plan.releases.index(main)
    return {
        "epsilon": target.epsilon,
        "delta": target.delta,
        "relation": target.relation.value,
        **{name: getattr(plan.facts, name) for name in _FACTS},
        **{name: getattr(main, name) for name in _NUMBERS},
        "first": costs[:place],
        "after": costs[place + 1 :],
    }
