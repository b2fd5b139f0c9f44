"""Choosing among models under one guarantee, however many there are."""

import io
import os
import warnings
from contextlib import redirect_stderr
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self, cast

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if

from dpscd.errors import CardError, ParameterError, UtilityWarning
from dpscd.estimators.charge import Charge
from dpscd.estimators.held_out import held_out
from dpscd.estimators.parameters import check_budget, delta_of, given
from dpscd.estimators.search_parts import (
    ArrayParts,
    DaskParts,
    Parts,
    TableParts,
    part_sizes,
    split_units,
)
from dpscd.estimators.search_plan import (
    Common,
    SearchPlan,
    SearchPrice,
    common_of,
    made_candidates,
    plan_search,
    prepared,
    search_price,
)
from dpscd.estimators.searches import check_fitted, refusals_noted
from dpscd.estimators.table import TableModel
from dpscd.estimators.validation import check_integer, check_number, warn_user
from dpscd.model.card import PrivacyCard
from dpscd.model.fit import run
from dpscd.plan import Plan
from dpscd.preprocessing.containers import is_dask
from dpscd.preprocessing.refusals import redact_memory_errors
from dpscd.preprocessing.schema import schema_of
from dpscd.privacy.filters import LARGEST_EPSILON
from dpscd.privacy.random import Purpose, SecretSeed, Source, source_for
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.privacy.search import LEAST_STOP
from dpscd.privacy.unit import RECORD, Unit

_WORD = 2.0**64
_LARGEST = LARGEST_EPSILON  # of a search; beyond it nobody is protected


def _chosen_has(method: str) -> Any:
    """Return a check for scikit-learn: whether the model that was chosen has this method."""

    def check(search: Any) -> bool:
        check_fitted(search)
        getattr(search.best_estimator_, method)  # raises AttributeError, in its own words
        return True

    return check


@dataclass(frozen=True, repr=False)
class _Run:
    """What one run released; of all but the best nothing leaves."""

    model: Any
    candidate: int
    score: float
    rank: float


@dataclass(eq=False, repr=False)
class DPModelSearch(MetaEstimatorMixin, BaseEstimator):
    """The best of several candidates, under one epsilon however many there are.

    A random number of runs, secret, each train a candidate drawn at random on one part of the
    records and score it, with noise, on the rest; the run with the best score is the result.

    Parameters
    ----------
    candidates : list of estimators, or one estimator
        TableModels, with schemas of their own, or estimators of this library; epsilon, delta,
        relation, n and randomness are set by the search.
    epsilon : float
        What the whole search may cost.
    param_grid : dict or list of dicts, optional
        As of scikit-learn's GridSearchCV: every combination is tried with each candidate.
    delta : float or 'auto'
        Of the whole search. 'auto' is min(1e-5, 1 / (10 n)).
    relation : {'zero-out', 'replace-one', 'add-remove'}
        Which data sets are neighbours.
    metric : str, default='auto'
        What is compared: 'accuracy', 'auc', 'log_loss' or 'brier' of classifiers; 'mae', 'mse'
        or 'r2' of regressions. 'auto' is the first of them.
    bound : float, optional
        The largest loss of a record, as for :func:`dpscd.private_score`.
    holdout : float, default=0.2
        Which part of the records, or persons, is kept apart for scores.
    mean_runs : float or 'auto'
        Runs on average. More runs see more candidates and leave less epsilon to each. 'auto' is
        twice the number of candidates: two of three searches then draw the best one.
    n : int, optional
        Declared number of records, required with 'add-remove' and refused otherwise.
    ledger, dataset : path and str, optional
        The budget that is charged, once for the whole search.
    random_state : int, SecretSeed, RandomState, Generator or None
        As of the estimators.

    Attributes
    ----------
    best_estimator_ : estimator or TableModel
        The model, with a card of the whole search.
    best_index_ : int
        Which candidate it is.
    best_score_ : float
        Its score, with noise. It is the best of several: rather too good.
    metric_ : str
        What was compared.
    privacy_ : PrivacyCard
        What the search guarantees.

    Notes
    -----
    Guarantee: everything that `fit` leaves is (epsilon, delta)-differentially private; the
    charge is on disk before a value is used.
    Requires: the time that `fit` takes is not seen by others, as it tells the number of runs.
    Proof: docs/proofs/search.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X[:, 0] > X[:, 1]
    >>> kinds = DPLogisticRegression, DPLinearSVC
    >>> candidates = [kind(classes=[False, True]) for kind in kinds]
    >>> search = DPModelSearch(candidates, epsilon=1.0, random_state=0).fit(X, y)
    >>> search.privacy_.epsilon, search.privacy_.verify() <= 1.0
    (1.0, True)
    """

    candidates: Any
    epsilon: float = 1.0
    _: KW_ONLY
    param_grid: Any = None
    delta: float | str = "auto"
    relation: str = "zero-out"
    metric: str = "auto"
    bound: float | None = None
    holdout: float = 0.2
    mean_runs: float | str = "auto"
    n: int | None = None
    ledger: str | os.PathLike[str] | None = None
    dataset: str | None = None
    random_state: Any = None

    @redact_memory_errors
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Search, and keep the best model.

        Parameters
        ----------
        X : path, list of paths, table or array
            The records: for TableModels whatever they are fitted on, else rows.
        y : array-like, optional
            Their labels, where a table does not have them.
        groups : array-like, optional
            Whose record each is: persons are protected then, and stay in one part.

        Returns
        -------
        self
        """
        # Of public facts only.
        candidates, common, parts = self._opened(X, y, groups)
        target, n = self._target(parts.count)
        sizes = part_sizes(n, float(self.holdout))
        price = search_price(target, self.stop_of(len(candidates)), len(candidates), sizes)
        if not price.worth_it:
            warn_user(str(price), UtilityWarning)
        plan = plan_search(self, candidates, common, parts, target, sizes)
        unit = _unit(common, groups)
        # The budget: spent from here on, whatever happens.
        charge = Charge(self.ledger, self.dataset, self.random_state)
        costs = sum(plan.search.lists(), ())
        with refusals_noted(self):
            seal = charge.reserve(costs, target, type(self).__name__, unit, plan.search)
        source = source_for(self.random_state, f"{seal} search")
        # From here on values of the data are used.
        # What runs say, or that something is compiled, would tell which there are.
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            best = self._search(plan, parts, source, target.relation)
        charge.commit()
        self._keep(best, plan, seeded=source.seeded)
        return self

    def _opened(self, X: Any, y: Any, groups: Any) -> tuple[list[Any], Common, Any]:
        """Return candidates, what they share, and the records, of which no cell was read."""
        check_budget(self.ledger, self.dataset, self.random_state)
        check_number("epsilon", self.epsilon, high=_LARGEST)
        check_number("holdout", self.holdout, low=0.01, high=0.9)
        if self.bound is not None:
            check_number("bound", self.bound)
        candidates = made_candidates(self.candidates, self.param_grid)
        common = common_of(candidates, Relation.parse(self.relation).value)
        if is_dask(X, y, groups):
            if groups is not None or common.person is not None:
                raise ParameterError(
                    "a search on Dask protects single records: persons are for records in "
                    "memory."
                )
            return candidates, common, DaskParts(X, y)
        if not common.table:
            return candidates, common, ArrayParts(X, y, groups)
        if groups is not None and common.person is not None:
            raise ParameterError(f"groups cannot be given: the person is {common.person!r}.")
        schema = schema_of(candidates[0].schema)
        return candidates, common, TableParts(X, y, groups, schema)

    def _target(self, count: int, declared: int | None = None) -> tuple[PrivacyTarget, int]:
        """Return the guarantee of the whole search, and the public number of units."""
        relation = Relation.parse(self.relation)
        if declared is None and relation.needs_n != (self.n is not None):
            raise ParameterError(
                f"n={self.n!r} does not go with relation={relation.value!r}: 'add-remove' "
                "needs a declared number of records, the others have the true one."
            )
        n = count if self.n is None else check_integer("n", self.n)
        return PrivacyTarget(float(self.epsilon), delta_of(self.delta, n), relation), n

    def price(self, n: int) -> SearchPrice:
        """Return what the search would cost, from public numbers alone; it prints as advice.

        Parameters
        ----------
        n : int
            Public number of records, or of persons.

        Returns
        -------
        SearchPrice
            What is left to each run, and how exact scores are.
        """
        count = len(made_candidates(self.candidates, self.param_grid))
        target, n = self._target(check_integer("n", n), declared=n)
        sizes = part_sizes(n, float(self.holdout))
        return search_price(target, self.stop_of(count), count, sizes)

    def stop_of(self, candidates: int) -> float:
        """Return the chance that a run is the last.

        Parameters
        ----------
        candidates : int
            How many there are.
        """
        mean = given(self.mean_runs)
        if mean is None:
            mean = min(2.0 * candidates, 1.0 / LEAST_STOP)
        return 1.0 / check_number("mean_runs", mean, low=1.5, high=1.0 / LEAST_STOP)

    def _search(self, plan: SearchPlan, parts: Any, source: Source, relation: Relation) -> _Run:
        """Return the best of all runs.

        Guarantee: what is returned is private as `plan` states; all else is forgotten.
        Proof: docs/proofs/search.md.
        """
        for candidate in plan.candidates:
            parts.read(candidate)
        apart = split_units(source, parts.count, float(self.holdout), relation)
        best: _Run | None = None
        number, ended = 0, False
        while not ended:
            choice, coin = (int(x) for x in source.words(Purpose.RUNS, number, 1, 2)[0])
            which = choice % len(plan.candidates)
            run = _one_run(plan, parts, apart, which, _seed(source, number))
            # The first of equals: as good as any of them, for runs are alike.
            if best is None or run.rank > best.rank:
                best = run
            number, ended = number + 1, coin < int(plan.search.stop * _WORD)
        return best  # type: ignore[return-value] # there is at least one run

    def _keep(self, best: _Run, plan: SearchPlan, *, seeded: bool) -> None:
        """Store the model with the card of the whole search."""
        model: Any = best.model.estimator_ if isinstance(best.model, TableModel) else best.model
        dataset = None if self.dataset is None else str(self.dataset)
        noted = model.fit_.plan.noted(dataset=dataset, searched=True)
        model.fit_ = replace(model.fit_, plan=noted, seeded=seeded, search=plan.search)
        model.set_params(random_state=None)  # of this run alone, and a secret
        if isinstance(best.model, TableModel):
            best.model.set_params(estimator__random_state=None)
        self.best_estimator_, self.best_index_ = best.model, best.candidate
        self.best_score_, self.metric_ = best.score, plan.score.facts.metric
        self.privacy_: PrivacyCard = model.fit_.card

    @property
    def classes_(self) -> Any:
        """The classes of the model that was chosen."""
        check_fitted(self)
        return self.best_estimator_.classes_

    def predict(self, X: Any) -> Any:
        """Return the predictions of the model that was chosen."""
        check_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_chosen_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the model that was chosen."""
        return self.best_estimator_.predict_proba(X)

    @available_if(_chosen_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the decisions of the model that was chosen."""
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score of the model that was chosen, on records that are not protected."""
        check_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model that was chosen to a JSON file; read it with :func:`dpscd.load`.

        Parameters
        ----------
        path : path
            The file, replaced if it exists.
        """
        check_fitted(self)
        self.best_estimator_.save(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __getstate__(self) -> Any:
        # As for estimators: whoever has the seed can take the noise away again.
        state = super().__getstate__()
        return {**state, "random_state": None} if "best_estimator_" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        found = made_candidates(self.candidates, self.param_grid)[0]
        inner = found.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        tags.non_deterministic = self.random_state is None
        return tags


def _unit(common: Common, groups: Any) -> Unit:
    """Return what is protected."""
    if common.person is not None:
        return Unit(common.person)
    return RECORD if groups is None else Unit(groups=True)


def _seed(source: Source, number: int) -> Any:
    """Return the randomness of a run: the operating system's, or a seed of its own."""
    if not source.seeded:
        return None
    return SecretSeed(source.words(Purpose.RUN_SEED, number, 1, 4).tobytes())


def _one_run(plan: SearchPlan, parts: Any, apart: Any, choice: int, seed: Any) -> _Run:
    """Train a candidate on one part of the records and score it on the other.

    Guarantee: what is returned satisfies both points of ``plan.search``, for a unit of either
    part.
    Requires: `seed` is None or new.
    Proof: docs/proofs/search.md, "One run".
    """
    candidate, score = plan.candidates[choice], plan.score
    train: Parts = parts.part(candidate, ~apart)
    model = prepared(candidate, {"random_state": seed})
    model.fit(train.X, train.y, groups=train.groups)
    if model.privacy_.releases != plan.fits[choice]:
        raise CardError("a run would release something else than was planned.")
    test: Parts = parts.scored(candidate, apart)
    found = held_out(model, test.X, test.y, test.groups).read(score.measure.needs_chances)
    source = source_for(seed, "score")
    alone = Plan(score.target, cast("Any", score.facts), (score,))
    estimate, (answer,) = run(alone, found, lambda _: source)
    return _Run(model, choice, estimate.value, score.measure.rank(score.sums(answer)))
