"""What to expect of a fit before there are data: its plan, and the forecast that follows."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpscd.errors import ParameterError
from dpscd.estimators.parameters import check, given, integer
from dpscd.persons import SHARE, SUM, PersonFacts
from dpscd.planning.facts import ROBUST, Facts
from dpscd.planning.forecast import (
    Finer,
    Forecast,
    duration,
    expect,
    expect_intervals,
    lost_words,
    preparing_seconds,
    weakest_seen,
)
from dpscd.planning.inference import information_noise
from dpscd.planning.plan import Plan
from dpscd.planning.rule import default_constant, default_delta, plan_fit, worth_standardising
from dpscd.preprocessing.column_features import width_of
from dpscd.preprocessing.schema import Schema, lined, schema_of, shaped
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget, Relation, remedies
from dpscd.records.encoding import schema_facts
from dpscd.records.labels import ClassLabels, NumberLabels

if TYPE_CHECKING:
    import pandas as pd

USUAL = (0.1, 0.5, 1.0, 2.0, 4.0)

# From here on correlated columns, rare levels or a rare class are likely to be below what is
# seen: at 16 % (bank marketing) 63 of 66 terms were refused, at 2 % 9 of those with records.
_MUCH = 0.1

# Of a plan's facts, of its main training and of a forecast, in the order of `values`.
_FACTS = ("n", "d", "outputs", "intercept")
_NUMBERS = (
    "lam", "steps", "rate", "clip", "separability", "averaging", "noise_multiplier",
    "most_separability",
)  # fmt: skip
_EXPECTED = (
    "relative_noise", "coef_noise", "seconds", "lost", "below_inf", "mostly_noise", "verdict",
)  # fmt: skip

_HEADINGS = ("epsilon", "noise", "lots", "lot size", "epochs", "training")


@dataclass(frozen=True)
class Forecasts:
    """What to expect of a fit, one row for each epsilon; it prints as a table."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]  # what the columns are
    warnings: tuple[str, ...]
    values: tuple[dict[str, Any], ...]  # all numbers of a row

    @property
    def frame(self) -> "pd.DataFrame":
        """The rows as a table of pandas."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.headings))

    def __str__(self) -> str:
        warnings = (f"warning: {one}" for one in self.warnings)
        return "\n".join(
            [self.title, self.frame.to_string(index=False), *self.notes, *warnings]
        )

    __repr__ = __str__


def plan(
    n: int,
    d: int | None = None,
    *,
    schema: Schema | str | os.PathLike[str] | dict[str, Any] | None = None,
    epsilon: float | Iterable[float] = USUAL,
    delta: float | str = "auto",
    classes: int | None = None,
    regression: bool = False,
    largest_class: float | None = None,
    inference: bool | str = False,
    relation: str = "zero-out",
) -> Forecasts:
    """Return noise, steps, time and lost accuracy to expect of a fit; no data are needed.

    Parameters
    ----------
    n : int
        How many records there will be; of persons if these are protected.
    d : int, optional
        Number of features, without a schema.
    schema : Schema, path or dict, optional
        The table's schema, from which features and target follow.
    epsilon : float or sequence of floats
        Privacy to plan for.
    classes : int, optional
        Number of classes of the target; 2 unless given.
    regression : bool, default=False
        Whether the target is a number.
    largest_class : float, optional
        Share of the largest class, if public: guessing loses no more than the rest.
    inference : bool or 'robust', default=False
        Whether coefficients are to have confidence intervals: how wide they would be.
    delta, relation
        As of the estimators.

    Returns
    -------
    Forecasts
        It prints as a table. `frame` is this table, `values` has all numbers as plain dicts,
        `notes` says what they are, and `warnings` what is likely to disappoint.

    Examples
    --------
    >>> from dpscd import plan
    >>> found = plan(30_000, 20, epsilon=[0.5, 2.0])
    >>> [one["expected"]["verdict"] for one in found.values]
    ['next to nothing is lost', 'next to nothing is lost']
    """
    question = _question(n, d, schema, classes, regression, delta, relation)
    asked = [float(one) for one in (epsilon if isinstance(epsilon, Iterable) else [epsilon])]
    if largest_class is not None and question.regression:
        raise ParameterError(
            "{largest_class} is for classes, not for {regression}.",
            largest_class=largest_class,
            regression=True,
        )
    if inference:
        if question.classes != 2:
            raise ParameterError(
                "{inference} is for two classes, not {}.", question.classes, inference=inference
            )
        return _of_intervals(question, asked, largest_class, robust=inference == ROBUST)
    return _of_predictions(question, asked, largest_class)


# --- the question -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Question:
    """Public facts of a fit to be planned."""

    n: int  # records, or persons
    d: int  # features; 0 if they follow from the schema
    classes: int  # 2 for a regression, whose plan does not use it
    regression: bool
    delta: float
    relation: Relation
    schema: Schema | None = None

    @property
    def person(self) -> str | None:
        """The column of persons, if these are protected."""
        return None if self.schema is None else self.schema.person

    @property
    def title(self) -> str:
        """Title of the plan, in words."""
        count = f"{self.n:,} {'records' if self.person is None else 'persons'}"
        kind = "regression" if self.regression else f"{self.classes} classes"
        if self.schema is None:
            return f"{count}, {self.d} features, {kind}"
        return (
            f"{self.schema.target.name!r} by {len(self.schema.parts)} columns: {count}, {kind}"
        )

    @property
    def preparing(self) -> str:
        """What the time of training leaves out."""
        columns = 0 if self.schema is None else len(self.schema.features)
        return (
            "training: its time on one core. Reading and first-time compiling: up to "
            f"{duration(preparing_seconds(self.n, columns))} more."
        )

    def target(self, epsilon: float) -> PrivacyTarget:
        """Return what is to be reached, or raise ParameterError."""
        if not math.isfinite(epsilon):
            raise ParameterError(
                "{epsilon} must be a finite number: without noise, no plan.", epsilon=epsilon
            )
        return PrivacyTarget(epsilon, self.delta, self.relation)

    def shaped(self, epsilon: float, *, inference: bool) -> Schema | None:
        """Return the schema with the shapes of a fit; they follow from epsilon and n."""
        if self.schema is None:
            return None
        return lined(self.schema) if inference else shaped(self.schema, epsilon, self.n)

    def features(self, epsilon: float, *, inference: bool = False) -> int:
        """Return the number of features of a fit."""
        schema = self.shaped(epsilon, inference=inference)
        return self.d if schema is None else sum(width_of(part) for part in schema.parts)

    def facts(self, target: PrivacyTarget, inference: str = "") -> Facts:
        """Return the public facts of a fit; `inference` is as in `Facts`."""
        asked = bool(inference)
        d = self.features(target.epsilon, inference=asked)
        standardised = asked or worth_standardising(self.n, d, target)
        loss = "Logistic" if self.classes == 2 else "Softmax"
        labels: Any = ClassLabels(tuple(range(self.classes)))
        if self.regression:
            loss, labels = "Squared", NumberLabels(-1.0, 1.0)
        schema, persons = self.shaped(target.epsilon, inference=asked), None
        if self.person is not None:
            persons = PersonFacts(self.person, SHARE if asked else SUM)
        return Facts(
            self.n,
            d,
            loss,
            labels,
            constant=default_constant(1.0, standardised=standardised),
            standardised=standardised,
            inference=inference,
            persons=persons,
            **({} if schema is None else schema_facts(schema)),
        )

    def finer(self, epsilon: float) -> Finer:
        """Return how much finer the features of a fit without noise are."""
        if self.schema is None:
            return Finer()
        two: Any = (shaped(self.schema, x, self.n) for x in (epsilon, math.inf))
        few, many = ([x.bins for x in (*one.columns, *one.pairs)] for one in two)
        widths = [1.0 / (x or 1) - 1.0 / y for x, y in zip(few, many, strict=True) if y]
        return Finer(self.features(math.inf) - self.features(epsilon), max(widths, default=0.0))


def _question(
    n: Any, d: Any, schema: Any, classes: Any, regression: bool, delta: Any, relation: Any
) -> _Question:
    """Return the question, or raise ParameterError."""
    if n is None:
        raise ParameterError(
            "{n} is missing: how many records, or persons, there will be, about.", n=...
        )
    check("n", n, integer())
    own = given("delta", delta)
    own = default_delta(n) if own is None else own
    parsed = Relation.parse(relation)
    if schema is None:
        if d is None:
            raise ParameterError(
                "{d} or {schema} is missing: the number of features, or what they follow from.",
                d=...,
                schema=...,
            )
        check("d", d, integer())
        count = check("classes", 2 if classes is None else classes, integer(2))
        return _Question(n, d, count, regression, own, parsed)
    if d is not None or classes is not None or regression:
        raise ParameterError(
            "{d}, {classes} and {regression} follow from {schema}: leave them out.",
            **dict.fromkeys(("d", "classes", "regression", "schema"), ...),
        )
    found = schema_of(schema)
    count = len(found.target.classes)
    return _Question(n, 0, count or 2, not count, own, parsed, found)


# --- answers ----------------------------------------------------------------------------------


def _of_predictions(
    question: _Question, epsilons: Sequence[float], largest: float | None
) -> Forecasts:
    found: list[tuple[Plan, Forecast]] = []
    rows: list[list[str]] = []
    headings = [*_HEADINGS, "lost"]
    if question.schema is not None:  # shapes have more features at a larger epsilon
        headings = ["epsilon", "features", "noise", *_HEADINGS[3:], "lost", "below inf"]
    for target in [question.target(epsilon) for epsilon in epsilons]:
        made = plan_fit(question.facts(target), target)
        more = expect(made, largest_class=largest, finer=question.finer(target.epsilon))
        row = [*_cells(made, more.seconds), lost_words(more.lost, question.regression)]
        if question.schema is not None:
            row[1:3] = [str(made.facts.d), row[1]]
            row.append(lost_words(more.below_inf, question.regression))
        found.append((made, more))
        rows.append(row)
    return Forecasts(
        f"{question.title}; delta {question.delta:.3g}, {question.relation}",
        tuple(headings),
        tuple(map(tuple, rows)),
        _prediction_notes(question, found),
        tuple(
            f"epsilon {one.target.epsilon:g}: the noise is {more.relative_noise:.2g} times as "
            "long as the longest sum that so many records could have; the model will be mostly "
            "noise."
            for one, more in found
            if more.mostly_noise
        ),
        tuple(
            {**_plain(one), "expected": {x: getattr(more, x) for x in _EXPECTED}}
            for one, more in found
        ),
    )


def _prediction_notes(
    question: _Question, found: list[tuple[Plan, Forecast]]
) -> tuple[str, ...]:
    lost = "accuracy, below that"
    if question.regression:
        lost = "mean squared error added, in percent of that"
    others = "the same features"
    if question.schema is not None:
        others = f"{question.features(math.inf)} features: below inf compares with these"
    verdicts = [
        f"epsilon {', '.join(f'{one.target.epsilon:g}' for one, _ in those)}: {verdict}."
        for verdict, those in groupby(found, key=lambda own: own[1].verdict)
    ]
    return (
        "noise: its standard deviation over the largest contribution of a record to a lot. "
        f"lost: {lost} of the same features without noise.",
        f"epsilon inf fits {others}.",
        question.preparing,
        *verdicts,
    )


def _of_intervals(
    question: _Question, epsilons: Sequence[float], largest: float | None, *, robust: bool
) -> Forecasts:
    rows: list[tuple[str, ...]] = []
    hidden, warnings = [], []
    values: list[dict[str, Any]] = []
    for epsilon in epsilons:
        target = question.target(epsilon)
        # Rows of a person may be alike, which only robust errors allow for.
        facts = question.facts(target, ROBUST if robust or question.person else "model")
        noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
        try:
            information_noise(facts, noise)
        except ParameterError as error:
            rows.append((f"{epsilon:g}", *[""] * 5, "hidden", ""))
            hidden.append(f"hidden at epsilon {epsilon:g}: {error}")
            values.append({"epsilon": epsilon, "expected": None, "hidden": str(error)})
            continue
        made = plan_fit(facts, target)
        more, weakest = expect_intervals(made), weakest_seen(made, largest_class=largest)
        width = f"{more.width:.2f}"
        rows.append((*_cells(made, more.seconds), width, f"{100.0 * weakest:.2g} %"))
        expected = {"seconds": more.seconds, "width": more.width, "weakest": weakest}
        values.append({**_plain(made), "expected": expected, "hidden": None})
        if weakest >= _MUCH:
            warnings.append(f"epsilon {epsilon:g}: {_refusals(question, epsilon, weakest)}")
    own = ""
    if question.schema is not None:
        own = f", {question.features(epsilons[0], inference=True)} features"
    classes = ", and classes whose chances are neither even nor extreme"
    return Forecasts(
        f"Intervals{', robust' if robust else ''}: {question.title}{own}; "
        f"delta {question.delta:.3g}, {question.relation}",
        (*_HEADINGS, "width", "weakest"),
        tuple(rows),
        (
            *hidden,
            "width: of the intervals of coefficients, over that without privacy; a forecast "
            "for features with correlations of about 0.3, less where they are unrelated"
            f"{'' if question.regression else classes}.",
            question.preparing,
            "weakest: how well the records must determine an effect for it to have an "
            "interval, in percent of unrelated features.",
        ),
        tuple(warnings),
        tuple(values),
    )


def _refusals(question: _Question, epsilon: float, weakest: float) -> str:
    """Return a warning that intervals may be refused."""
    lists = [] if question.schema is None else question.schema.features
    levels = sum(width_of(x) for x in lists if x.kind == "category")
    about = f" The schema has {levels} levels of categories." if levels else ""
    rare = "" if question.regression else " and a rare class"
    return (
        f"an effect that the records determine less than {100.0 * weakest:.0f} % as well as "
        "unrelated features is refused, after the budget is spent. Correlated columns, rare "
        f"levels{rare} are often below that: most terms may have no interval.{about} "
        f"{remedies(epsilon, 'Fewer columns or levels', 'more records')} help."
    )


def _cells(made: Plan, seconds: float) -> list[str]:
    main = made.main
    return [
        f"{made.target.epsilon:g}",
        f"{main.noise_multiplier:.3g}",
        f"{main.steps:,}",
        f"{main.lot_size:,.0f}",
        f"{main.epochs:.0f}",
        duration(seconds),
    ]


def _plain(made: Plan) -> dict[str, Any]:
    """Return a plan as plain JSON values."""
    target, main, costs = made.target, made.main, [asdict(one) for one in made.costs]
    place = made.releases.index(main)
    return {
        "epsilon": target.epsilon,
        "delta": target.delta,
        "relation": target.relation.value,
        **{name: getattr(made.facts, name) for name in _FACTS},
        **{name: getattr(main, name) for name in _NUMBERS},
        "first": costs[:place],
        "after": costs[place + 1 :],
    }
