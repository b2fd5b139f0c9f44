"""How good a model is on held-out records, released with noise and an interval."""

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpscd.cards.score_card import ScoreCard
from dpscd.errors import DataError, ParameterError
from dpscd.estimators.held_out import HeldOut, held_out
from dpscd.estimators.parameters import check_budget, given
from dpscd.estimators.validation import check_integer, check_number
from dpscd.planning import default_delta
from dpscd.preprocessing.refusals import NO_RECORDS
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.random import source_for
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.privacy.release import Release
from dpscd.privacy.score import noisy_score, plan_score
from dpscd.privacy.sums import check_capacity
from dpscd.records.redaction import redact_memory_errors
from dpscd.scores.measure import Measure
from dpscd.scores.registry import Scored, measure_for, usual_metric
from dpscd.scores.totals import total_of

__all__ = ["PrivateScore", "private_score"]

_LARGEST = 1e4  # epsilon that a card holds


@dataclass(frozen=True)
class PrivateScore:
    """A measure of a model on held-out records, with noise.

    Attributes
    ----------
    metric : str
        Which measure it is.
    value : float or list
        The estimate: of 'recall' one per class, of 'confusion' one per pair of classes (rows
        are true, columns predicted ones), as shares of all records.
    low, high : float or list
        Ends of the interval for the value in the population that the records are drawn from:
        it holds noise and sampling error.
    noise_low, noise_high : float or list
        Ends of the interval for the value on these records: it holds the noise alone.
    level : float
        Of both intervals, each number by itself.
    bound : float or None
        The largest loss of a record, where the measure has one.
    classes : list or None
        Names of the classes, in the order of lists.
    card : ScoreCard
        What is guaranteed to the held-out records.

    Examples
    --------
    >>> from dpscd import DPRidge, private_score
    >>> X, y = [[0.1], [0.2]] * 50, [0, 1] * 50
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1)).fit(X, y)
    >>> found = private_score(model, X, y, epsilon=0.5, metric="mse")
    >>> found.metric, found.bound, found.card.epsilon
    ('mse', 1.0, 0.5)
    """

    metric: str
    value: Any
    low: Any
    high: Any
    noise_low: Any
    noise_high: Any
    level: float
    bound: float | None
    classes: list[Any] | None
    card: ScoreCard

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON values, an end without bound as None."""
        names = ("value", "low", "high", "noise_low", "noise_high")
        return {
            "metric": self.metric,
            **{name: _written(getattr(self, name)) for name in names},
            "level": self.level,
            "bound": self.bound,
            "classes": self.classes,
        }


@redact_memory_errors
def private_score(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    metric: str = "auto",
    delta: float | str = "auto",
    relation: str = "zero-out",
    level: float = 0.95,
    bound: float | None = None,
    n: int | None = None,
    groups: Any = None,
    ledger: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    random_state: Any = None,
) -> PrivateScore:
    """Return how good a model is on held-out records, private for these records.

    Parameters
    ----------
    model : TableModel or one of the estimators
        Fitted, on other records.
    X : path, list of paths, table or array
        The held-out records: for a TableModel whatever it predicts for, else rows.
    y : array-like, optional
        Their labels, where a table does not have them. A record whose label is missing, not one
        of the classes or no number counts as the worst; in a confusion matrix, recalls and the
        AUC it is left out.
    epsilon : float
        What the score may cost the held-out records.
    metric : str, default='auto'
        'accuracy', 'auc', 'log_loss', 'brier', 'confusion' or 'recall' of a classifier; 'mae',
        'mse' or 'r2' of a regression. 'auto' is the first of them.
    delta : float or 'auto'
        'auto' is min(1e-5, 1 / (10 n)).
    relation : {'zero-out', 'replace-one', 'add-remove'}
        Which data sets are neighbours.
    level : float, default=0.95
        Of the intervals.
    bound : float, optional
        The largest loss of a record, a public number: of 'log_loss' log 100 unless given, of
        'mae' and 'mse' what `y_bounds` allow. The smaller, the less noise.
    n : int, optional
        Declared number of records, required with 'add-remove' and refused otherwise.
    groups : array-like, optional
        Whose record each is: persons are protected then, each counting once.
    ledger, dataset : path and str, optional
        The budget that is charged: that of the held-out records, not of those in training.
    random_state : int, SecretSeed, RandomState, Generator or None
        As of the estimators.

    Returns
    -------
    PrivateScore
        The value, its intervals and its card.

    Notes
    -----
    Guarantee: what is returned is (epsilon, delta)-differentially private under the relation,
    for a record or, where the unit is a person, for a person with all its records; the charge
    is on disk before a value is used.
    Requires: the facts on the card were known without looking at the held-out records.
    Proof: docs/proofs/score.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPLogisticRegression, private_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = DPLogisticRegression(epsilon=1.0, classes=[False, True], random_state=0)
    >>> model = model.fit(X[:15000], y[:15000])
    >>> found = private_score(model, X[15000:], y[15000:], epsilon=0.5)
    >>> found.low <= found.value <= found.high
    True
    """
    # Of public facts only.
    budget = (ledger, dataset, random_state)
    check_budget(*budget)
    check_number("level", level, low=0.5, high=0.9999)
    if bound is not None:
        bound = check_number("bound", bound)
    records = held_out(model, X, y, groups)
    scored = _scored(
        records, check_number("epsilon", epsilon, high=_LARGEST), given(delta), relation, n
    )
    metric = usual_metric(scored) if metric == "auto" else metric
    measure = measure_for(scored, metric, bound)
    release = plan_score(scored.target, scored.n, measure.size)
    facts = _public(records.model, scored, metric, measure)
    # The budget: spent from here on, whatever happens.
    reservation = _reserve(budget, records, scored.target, release)
    seal = ""
    if ledger is not None and reservation is not None and random_state is not None:
        seal = Ledger(ledger).seal(reservation)
    source = source_for(random_state, seal)
    # From here on values of the data are used.
    found = records.read(measure.needs_chances)
    check_capacity(scored.n, found.count)
    total = total_of(measure, found.answers, found.persons, scored.n)
    noisy = noisy_score(release, total, source)
    if ledger is not None and reservation is not None:
        Ledger(ledger).commit(reservation)
        facts["dataset"] = str(dataset)
    # Of released numbers only.
    sums = measure.sums(noisy, release.event.noise_multiplier, scored.n)
    value, whole, noise = measure.found(sums, float(level))
    return PrivateScore(
        metric=metric,
        value=_plain(value),
        low=_plain(whole.low),
        high=_plain(whole.high),
        noise_low=_plain(noise.low),
        noise_high=_plain(noise.high),
        level=float(level),
        bound=facts.get("bound"),
        classes=facts.get("classes"),
        card=ScoreCard.of(scored.target, release, records.unit, facts, seeded=source.seeded),
    )


def _scored(
    records: HeldOut, epsilon: float, delta: float | None, relation: str, n: int | None
) -> Scored:
    """Return what is public about a model and its held-out records."""
    model, parsed = records.model, Relation.parse(relation)
    if parsed.needs_n:
        if n is None:
            raise ParameterError(
                f"relation={parsed.value!r} needs n=, a declared number of "
                f"{records.unit.noun}s: the true one is secret under this relation and must "
                "not enter any formula."
            )
        count = check_integer("n", n)
    else:
        if n is not None:
            raise ParameterError(
                f"n={n!r} goes with relation='add-remove': the number of held-out records is "
                f"public under {parsed.value!r}."
            )
        count = records.count
        if not count:
            raise DataError(NO_RECORDS)
    if getattr(model, "exposure_bounds", None) is not None:
        raise ParameterError("private scores of counts over exposures are not available.")
    target = PrivacyTarget(
        epsilon,
        default_delta(count) if delta is None else check_number("delta", delta, strict=False),
        parsed,
    )
    return Scored(
        classes=len(getattr(model, "classes_", ())),
        bounds=records.bounds,
        chances=hasattr(model, "predict_proba"),
        n=count,
        target=target,
    )


def _public(model: Any, scored: Scored, metric: str, measure: Measure) -> dict[str, Any]:
    """Return what was taken as public, for the card."""
    facts: dict[str, Any] = {"n": scored.n, "metric": metric, **measure.facts()}
    if scored.classes:
        facts["classes"] = model.privacy_.public["classes"]
    return facts


def _reserve(
    budget: tuple[Any, Any, Any], records: HeldOut, target: PrivacyTarget, release: Release
) -> int | None:
    """Charge the score to the budget of the held-out records, if it has one."""
    ledger, dataset, random_state = budget
    if ledger is None:
        return None
    return Ledger(ledger).reserve(
        str(dataset),
        (release,),
        target.epsilon,
        target.delta,
        target.relation.value,
        "score",
        seeded=random_state is not None,
        unit=records.unit.text,
    )


def _plain(numbers: Any) -> Any:
    """Return a number, or lists of numbers."""
    return np.asarray(numbers, dtype=np.float64).tolist()


def _written(value: Any) -> Any:
    """Return numbers as JSON has them."""
    if isinstance(value, list):
        return [_written(part) for part in value]
    return value if math.isfinite(value) else None
