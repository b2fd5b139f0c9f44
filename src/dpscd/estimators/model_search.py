"""Choosing among models under one guarantee, however many there are."""

import io
import os
import warnings
from contextlib import redirect_stderr
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, Self, cast

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if

from dpscd.errors import CardError, UtilityWarning
from dpscd.estimators.fitting import Charge
from dpscd.estimators.parameters import check, integer, is_auto, number
from dpscd.estimators.private_score import held_out, public_count
from dpscd.estimators.search_plan import (
    SearchedRecords,
    SearchPlan,
    common_of,
    made_candidates,
    part_sizes,
    plan_search,
    prepared,
    searched_records,
    split_units,
)
from dpscd.estimators.table import TableModel
from dpscd.estimators.validation import (
    check_budget,
    check_fitted,
    delta_of,
    refusals_noted,
    warn_user,
)
from dpscd.model.card import PrivacyCard
from dpscd.model.fit import run
from dpscd.planning.plan import Plan
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.filters import LARGEST_EPSILON
from dpscd.privacy.random import Purpose, SecretSeed, Source, source_for
from dpscd.privacy.relation import RECORD, PrivacyTarget, Relation, Unit
from dpscd.privacy.search import LEAST_STOP, search_points
from dpscd.progress import waiting
from dpscd.records.refusals import redact_memory_errors
from dpscd.scores.registry import METRIC_WORDS

_WORD = 2.0**64
_LARGEST = LARGEST_EPSILON  # of a search; beyond it nobody is protected
# Standard deviation of a score's noise, of its whole range, beyond which runs are hardly told
# apart: candidates that differ by twice as much are rare.
_HIDDEN = 0.01


def _of_chosen(name: str, words: str) -> Any:
    """Return a method of the model that was chosen, there if the model has it."""

    def check(search: Any) -> bool:
        check_fitted(search)
        getattr(search.best_estimator_, name)  # raises AttributeError, in its own words
        return True

    def method(self: Any, X: Any) -> Any:
        return getattr(self.best_estimator_, name)(X)

    method.__name__, method.__doc__ = name, f"Return the {words} of the model that was chosen."
    return available_if(check)(method)


@dataclass(frozen=True)
class SearchPrice:
    """What a search costs, from public numbers; it prints as advice."""

    epsilon_of_run: float  # left to each run, as is delta_of_run
    delta_of_run: float
    mean_runs: float  # runs on average
    seen: float  # probability that a given candidate is drawn at least once
    trained: int  # records, or persons, to train on; `scored`, to score on
    scored: int
    score_noise: float  # standard deviation of a score's noise, over the range of the measure

    @property
    def worth_it(self) -> bool:
        """Whether scores can tell candidates apart that differ by a few hundredths."""
        return self.score_noise <= _HIDDEN

    def __str__(self) -> str:
        text = (
            f"{self.mean_runs:g} runs on average, each with epsilon {self.epsilon_of_run:.4g} "
            f"at delta {self.delta_of_run:.3g} on {self.trained:,} records; a candidate is "
            f"drawn at all in {self.seen:.0%} of searches; scores on {self.scored:,} records "
            f"have noise of {self.score_noise:.2g} of their range."
        )
        if self.worth_it:
            return text
        return (
            f"{text} The noise hides what candidates differ by: do not search, train the one "
            "that seems best beforehand with the whole epsilon."
        )


class _Run(NamedTuple):
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
    epsilon, delta
        What the whole search may cost; as of the estimators.
    param_grid : dict or list of dicts, optional
        As of scikit-learn's GridSearchCV: every combination is tried with each candidate.
    metric : str, default='auto'
        What is compared: 'accuracy', 'auc', 'log_loss' or 'brier' of classifiers; 'mae', 'mse'
        or 'r2' of regressions; or scikit-learn's name of one. 'auto' is the first of them.
    bound : float, optional
        The largest loss of a record, as for :func:`dpscd.private_score`.
    holdout : float, default=0.2
        Which part of the records, or persons, is kept apart for scores.
    mean_runs : float or 'auto'
        Runs on average. More runs see more candidates and leave less epsilon to each. 'auto' is
        twice the number of candidates: two of three searches then draw the best one.
    relation, n, ledger, dataset, random_state
        As of the estimators; the budget is charged once, for the whole search.

    Attributes
    ----------
    best_estimator_ : estimator or TableModel
        The model, with a card of the whole search.
    best_index_, best_score_ : int and float
        Which candidate it is, and its noisy score; biased upwards, as the best of several.
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
    >>> from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch
    >>> X, y = [[0.1], [0.2]] * 10000, [0, 1] * 10000
    >>> candidates = [kind(classes=[0, 1]) for kind in (DPLogisticRegression, DPLinearSVC)]
    >>> DPModelSearch(candidates, epsilon=1.0).fit(X, y).privacy_.verify() <= 1.0
    True
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
            For TableModels whatever they are fitted on, else rows.
        y : array-like, optional
            The labels, where a table does not have them.
        groups : array-like, optional
            Group label of each row: persons are protected then, and stay in one part.

        Returns
        -------
        self
        """
        # Of public facts only.
        check_budget(self.ledger, self.dataset, self.random_state)
        check("epsilon", self.epsilon, number(high=_LARGEST))
        check("holdout", self.holdout, number(0.01, 0.9))
        if self.bound is not None:
            check("bound", self.bound, number())
        candidates = made_candidates(self.candidates, self.param_grid)
        common = common_of(candidates, Relation.parse(self.relation).value)
        unit = common.unit(groups)
        records = searched_records(X, y, groups, candidates)
        target, n = self._target(records.count, self.n, unit)
        sizes = part_sizes(n, float(self.holdout))
        price = self._price(target, len(candidates), sizes)
        if not price.worth_it:
            warn_user(str(price), UtilityWarning)
        plan = plan_search(self, candidates, common, records, target, sizes)
        # The budget: spent from here on, whatever happens.
        charge = Charge(self.ledger, self.dataset, self.random_state)
        costs = sum(plan.search.lists(), ())
        with refusals_noted(self):
            salt = charge.reserve(costs, target, type(self).__name__, unit, plan.search)
        source = source_for(self.random_state, f"{salt} search")
        # From here on values of the data are used.
        # What runs say, or that something is compiled, would tell which there are.
        with waiting("searching"), warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            best = self._search(plan, records, source, target.relation)
        charge.commit()
        self._keep(best, plan, seeded=source.seeded)
        return self

    def _target(self, found: int, declared: Any, unit: Unit) -> tuple[PrivacyTarget, int]:
        """Return the guarantee of the whole search, and the public number of units."""
        relation = Relation.parse(self.relation)
        n = public_count(relation, declared, found, unit)
        return PrivacyTarget(float(self.epsilon), delta_of(self.delta, n), relation), n

    def price(self, n: int) -> SearchPrice:
        """Return what a search of `n` records, or persons, would cost; it prints as advice.

        Only public numbers are used.
        """
        count = len(made_candidates(self.candidates, self.param_grid))
        check("n", n, integer())
        declared = int(n) if Relation.parse(self.relation).needs_n else None
        target, n = self._target(int(n), declared, RECORD)
        return self._price(target, count, part_sizes(n, float(self.holdout)))

    def _price(
        self, target: PrivacyTarget, candidates: int, sizes: tuple[int, int]
    ) -> SearchPrice:
        stop, others = self.stop_of(candidates), 1.0 - 1.0 / candidates
        points = search_points(target, stop)
        own = points["far_epsilon"], points["far_delta"]
        seen = 1.0 - stop * others / (1.0 - (1.0 - stop) * others)
        noise = gaussian_multiplier(*own, target.relation) / sizes[1]
        return SearchPrice(*own, 1.0 / stop, seen, *sizes, noise)

    def stop_of(self, candidates: int) -> float:
        """Return the probability that a run is the last, given the number of candidates."""
        mean = self.mean_runs
        if is_auto(mean):
            mean = min(2.0 * candidates, 1.0 / LEAST_STOP)
        return 1.0 / float(check("mean_runs", mean, number(1.5, 1.0 / LEAST_STOP)))

    def _search(
        self, plan: SearchPlan, records: SearchedRecords, source: Source, relation: Relation
    ) -> _Run:
        """Return the best of all runs.

        Guarantee: what is returned is private as `plan` states; all else is forgotten.
        Proof: docs/proofs/search.md.
        """
        for candidate in plan.candidates:
            records.read(candidate)
        apart = self._apart(source, records.count, relation)
        best: _Run | None = None
        number, ended = 0, False
        while not ended:
            choice, coin = (int(x) for x in source.words(Purpose.RUNS, number, 1, 2)[0])
            which = choice % len(plan.candidates)
            seed = None
            if source.seeded:  # else the operating system's randomness
                seed = SecretSeed(source.words(Purpose.RUN_SEED, number, 1, 4).tobytes())
            run = _one_run(plan, records, apart, which, seed)
            # The first of equals: as good as any of them, for runs are alike.
            if best is None or run.rank > best.rank:
                best = run
            number, ended = number + 1, coin < int(plan.search.stop * _WORD)
        return best  # type: ignore[return-value] # there is at least one run

    def _apart(self, source: Source, count: int, relation: Relation) -> Any:
        """Return which units are scored on; the others are trained on."""
        return split_units(source, count, float(self.holdout), relation)

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

    predict_proba = _of_chosen("predict_proba", "probabilities")
    decision_function = _of_chosen("decision_function", "decisions")

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score of the model that was chosen, on records that are not protected."""
        check_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model that was chosen to a JSON file; read it with :func:`dpscd.load`."""
        check_fitted(self)
        self.best_estimator_.save(path)

    def _repr_html_(self) -> str:
        if not hasattr(self, "best_estimator_"):
            return str(estimator_html_repr(self))
        from dpscd.rendering import html_table

        inner = getattr(self.best_estimator_, "estimator_", self.best_estimator_)
        facts = {
            "chosen": f"candidate {self.best_index_}: {type(inner).__name__}",
            f"{METRIC_WORDS[self.metric_]}, noisy, the best of several": float(
                self.best_score_
            ),
        }
        return html_table("Private search", facts, note=self.privacy_.statement)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

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


def _one_run(
    plan: SearchPlan, records: SearchedRecords, apart: Any, choice: int, seed: Any
) -> _Run:
    """Train a candidate on one part of the records and score it on the other.

    Guarantee: what is returned satisfies both points of ``plan.search``, for a unit of either
    part.
    Requires: `seed` is None or new.
    Proof: docs/proofs/search.md, "One run".
    """
    candidate, score = plan.candidates[choice], plan.score
    train = records.part(candidate, ~apart)
    model = prepared(candidate, {"random_state": seed})
    model.fit(train.X, train.y, groups=train.groups)
    if model.privacy_.releases != plan.fits[choice]:
        raise CardError("a run would release something else than was planned.")
    test = records.scored(candidate, apart)
    found = held_out(model, test.X, test.y, test.groups).read(score.measure.needs_chances)
    source = source_for(seed, "score")
    alone = Plan(score.target, cast("Any", score.facts), (score,))
    estimate, (answer,) = run(alone, found, lambda _: source)
    return _Run(model, choice, estimate.value, score.measure.rank(score.sums(answer)))
