"""How good a model is on held-out records, released with noise and an interval."""

import os
from dataclasses import dataclass
from typing import Any, cast

from dpscd._version import __version__
from dpscd.errors import DataError, ParameterError
from dpscd.estimators.charge import Charge
from dpscd.estimators.held_out import HeldOut, held_out
from dpscd.estimators.parameters import check_budget, delta_of
from dpscd.estimators.validation import check_integer, check_number
from dpscd.model.card import PrivacyCard
from dpscd.model.file import write_fit
from dpscd.model.fit import Fit, numbers_of, run
from dpscd.plan import Plan
from dpscd.preprocessing.refusals import NO_RECORDS, redact_memory_errors
from dpscd.privacy.accounting import library_version
from dpscd.privacy.random import source_for
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.releases.score import SCORE, Estimate, Score
from dpscd.scores.registry import ScoreFacts, usual_metric

_LARGEST = 1e4  # epsilon that a card holds


@dataclass(frozen=True)
class PrivateScore:
    """A measure of a model on held-out records, with noise.

    Attributes
    ----------
    fit_ : Fit
        All that was released: of it everything else is a view.

    Examples
    --------
    >>> from dpscd import DPRidge, private_score
    >>> X, y = [[0.1], [0.2]] * 50, [0, 1] * 50
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1)).fit(X, y)
    >>> found = private_score(model, X, y, epsilon=0.5, metric="mse")
    >>> found.metric, found.bound, found.card.epsilon
    ('mse', 1.0, 0.5)
    """

    fit_: Fit

    @property
    def _estimate(self) -> Estimate:
        return cast("Estimate", self.fit_.numbers)

    @property
    def _facts(self) -> ScoreFacts:
        return cast("ScoreFacts", self.fit_.plan.facts)

    @property
    def metric(self) -> str:
        """Which measure it is."""
        return self._facts.metric

    @property
    def value(self) -> Any:
        """The estimate.

        Of 'recall' a list with a number per class, of 'confusion' one per pair of classes (rows
        are true, columns predicted ones), as shares of all records.
        """
        return self._estimate.value

    @property
    def low(self) -> Any:
        """Lower end of the interval for the population that the records are drawn from.

        This interval holds noise and sampling error.
        """
        return self._estimate.low

    @property
    def high(self) -> Any:
        """Upper end of the interval for the population."""
        return self._estimate.high

    @property
    def noise_low(self) -> Any:
        """Lower end of the interval for the value on these records: the noise alone."""
        return self._estimate.noise_low

    @property
    def noise_high(self) -> Any:
        """Upper end of the interval for the value on these records."""
        return self._estimate.noise_high

    @property
    def level(self) -> float:
        """Level of both intervals, each number by itself."""
        return self._facts.level

    @property
    def bound(self) -> float | None:
        """The largest loss of a record, where the measure has one."""
        found: float | None = self.fit_.plan.main.measure.facts().get("bound")
        return found

    @property
    def classes(self) -> list[Any] | None:
        """Names of the classes, in the order of lists."""
        return list(self._facts.classes) or None

    @property
    def card(self) -> PrivacyCard:
        """What is guaranteed to the held-out records."""
        return self.fit_.card

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the score to a JSON file, which ``dpscd verify`` and ``dpscd report`` read.

        Parameters
        ----------
        path : path
            The file, replaced if it exists.
        """
        write_fit(self.fit_, path)


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
    check_budget(ledger, dataset, random_state)
    check_number("level", level, low=0.5, high=0.9999)
    if bound is not None:
        bound = check_number("bound", bound)
    records = held_out(model, X, y, groups)
    epsilon = check_number("epsilon", epsilon, high=_LARGEST)
    target, count = _asked(records, epsilon, delta, relation, n)
    classes = records.model.fit_.plan.facts.classes
    low, high = records.bounds or (None, None)
    facts = ScoreFacts(
        count,
        usual_metric(classifies=bool(classes)) if metric == "auto" else metric,
        classes,
        low,
        high,
        hasattr(records.model, "predict_proba"),
        bound,
        float(level),
        records.unit.person,
        records.unit.groups,
        None if dataset is None else str(dataset),
    )
    score = Score.planned(facts, target)
    plan = Plan(target, cast("Any", facts), (score,))
    # The budget: spent from here on, whatever happens.
    charge = Charge(ledger, dataset, random_state)
    seal = charge.reserve(plan.costs, target, SCORE, records.unit)
    source = source_for(random_state, seal)
    # From here on values of the data are used.
    found = records.read(score.measure.needs_chances)
    state, answers = run(plan, found, lambda _: source)
    charge.commit()
    versions = {"dpscd": __version__, "dp-accounting": library_version()}
    return PrivateScore(
        Fit(plan, answers, numbers_of(state), "PrivateScore", {}, None, source.seeded, versions)
    )


def _asked(
    records: HeldOut, epsilon: float, delta: float | str, relation: str, n: int | None
) -> tuple[PrivacyTarget, int]:
    """Return the guarantee to reach, and the public number of records or persons."""
    parsed = Relation.parse(relation)
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
    if getattr(records.model, "exposure_bounds", None) is not None:
        raise ParameterError("private scores of counts over exposures are not available.")
    return PrivacyTarget(epsilon, delta_of(delta, count), parsed), count
