"""Base of all estimators: one way to fit, and linear predictions."""

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dpscd.errors import DataError
from dpscd.estimators.fitting import Fitting
from dpscd.estimators.parameters import given, is_auto
from dpscd.estimators.registry import ModelKind, parametrised
from dpscd.estimators.validation import (
    CHOSEN,
    check_fitted,
    check_for_dask,
    check_inference,
    check_rows,
    check_shared,
    delta_of,
    look_at_records,
    refusals_noted,
    threads_of,
    warn_of_split_groups,
    warn_of_target,
)
from dpscd.model.card import PrivacyCard
from dpscd.model.file import LOCAL, write_fit
from dpscd.model.fit import Fit
from dpscd.persons import SHARE, SUM, PersonFacts
from dpscd.planning.facts import ROBUST, Facts, is_robust
from dpscd.planning.plan import Plan
from dpscd.planning.rule import default_constant, worth_standardising
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.records.encoding import schema_facts
from dpscd.records.labels import ClassLabels, CountLabels, NumberLabels
from dpscd.records.opening import Given, open_records
from dpscd.records.refusals import redact_memory_errors
from dpscd.records.rows import Unread, is_dask
from dpscd.releases.base import Observer
from dpscd.solvers.on_device import array_on_host, device_name

Floats = npt.NDArray[np.float64]
#: Numbers that are multiplied together.
BLOCK = 2**20


def _of_fit(numbers: Callable[[Fit], Floats], words: str) -> Any:
    """Return a property: numbers of the fit, in the shape that scikit-learn has."""
    return property(lambda self: self._shaped(numbers(self.fit_)), doc=words)


@parametrised
class DPLinearModel(BaseEstimator, metaclass=ABCMeta):
    """What the estimators share: checks, plan, fit, card and linear predictions."""

    epsilon: float = field(default=1.0, kw_only=False)
    delta: float | str = "auto"
    lam: float | str = "auto"
    epochs: float | str = "auto"
    lot_size: int | str = "auto"
    travel: float | str = "auto"
    relation: str = "zero-out"
    row_bound: float = 1.0
    n: int | None = None
    fit_intercept: bool = True
    intercept_scaling: float | str = "auto"
    standardise: bool | str = "auto"
    max_rows: int = 100
    person_weight: str = "auto"
    ledger: str | None = None
    dataset: str | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    engine = "numba"  # a parameter of some
    kind: ClassVar[ModelKind]  # its row of the registry
    fit_: Fit = field(init=False)

    @property
    def privacy_(self) -> PrivacyCard:
        """What the model guarantees."""
        return self.fit_.card

    coef_ = _of_fit(lambda fit: fit.numbers.coef, "Coefficients, in the user's units.")
    intercept_ = _of_fit(lambda fit: fit.numbers.intercept, "Intercept, or one per class.")
    coef_sd_ = _of_fit(
        lambda fit: fit.spread.coef,
        "Estimated standard deviation of each coefficient over repeated fits.",
    )
    intercept_sd_ = _of_fit(
        lambda fit: fit.spread.intercept,
        "Estimated standard deviation of each intercept over repeated fits.",
    )
    coef_bound_ = _of_fit(
        lambda fit: np.where(fit.is_bounded, fit.numbers.coef_noise, np.nan),
        "Proved bound of what noise adds to each coefficient; NaN where none is proved.",
    )
    intercept_bound_ = _of_fit(
        lambda fit: np.where(fit.is_bounded, fit.numbers.intercept_noise, np.nan),
        "Proved bound of what noise adds to each intercept; NaN where none is proved.",
    )

    def _shaped(self, each: Floats) -> Any:
        """Return numbers of each output in the shape that scikit-learn has."""
        return each

    def _loss(self, _: Any) -> str:
        """Return the name of the loss, given the classes."""
        return self.kind.loss

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Check the parameters that only this kind of model has."""

    @abstractmethod
    def _classes_of(self, y: Any) -> npt.NDArray[Any] | None:
        """Return the classes, declared or taken as public from `y`; None for regression."""

    @abstractmethod
    def _labels(self, classes: Any) -> ClassLabels | NumberLabels | CountLabels:
        """Return the encoding of labels, by public facts."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train the model; only noisy sums of the records influence it.

        Parameters
        ----------
        X : array-like, sparse matrix or StoredRows of shape (n_samples, n_features)
            Rows longer than `row_bound` are scaled down to it. A Dask array or dataframe is
            trained on where its partitions are, on the workers of the current Dask client.
        y : array-like of shape (n_samples,)
            Labels, divided like X if on Dask.
        sample_weight : float or array-like of shape (n_samples,), optional
            Weight of each record's loss. Neither the clip, and so privacy, nor the public n
            changes. With weights nothing is released after training: probabilities are not
            calibrated, predictions neither cut long rows nor are rescaled. With `groups`
            weights are divided by their mean over the person's rows.
        groups : array-like of shape (n_samples,), optional
            Group label of each row: a text, whole number or date; rows with equal labels
            belong to one person. The unit of privacy is then a person with all its rows, and n
            is the number of persons. Rows without a label (None, NaN, an empty text, "nan" or
            "NA") contribute nothing. On Dask all rows of a person must lie in one partition.

        Returns
        -------
        self
        """
        with refusals_noted(self):
            return self._fit(X, y, Given(sample_weight, None, groups))

    @redact_memory_errors
    def _fit(self, X: Any, y: Any, given: Given, observer: Observer | None = None) -> Self:
        """Train on arrays; an audit's `observer` sees the released path."""
        self._check_parameters()
        self.fit_records(self._opened(X, y, given), observer=observer)
        return self

    @redact_memory_errors
    def fit_records(
        self, opened: AbstractContextManager[Unread], *, observer: Observer | None = None
    ) -> Fit:
        """Train on records that :func:`~dpscd.records.opening.open_records` opens.

        `n_features_in_` and the names of features of a table are left to the caller.
        """
        self._check_parameters()
        threads = threads_of(self.n_jobs)
        with opened as records:
            classes = self._classes_of(records.labels)
            fitting, labels = self._fitting(records, classes), self._labels(classes)
            with fitting.compiling(threads):
                self.fit_ = fitting.run(lambda: records.read(labels, threads), observer)
        if records.workers and records.schema is None:
            self._set_features(records.features, records.names)
        return self.fit_

    def planned(self, X: Any, y: Any, groups: Any, count: int) -> Plan:
        """Return the plan of a fit on `count` of these records, from public facts alone."""
        return self.planned_on(self._opened(X, y, Given(groups=groups)), count)

    def planned_on(self, opened: AbstractContextManager[Unread], count: int) -> Plan:
        """Return the same for records that are to be opened."""
        self._check_parameters()
        with opened as records:
            classes = self._classes_of(records.labels)
            return self._fitting(replace(records, count=count), classes).planned()

    def _opened(self, X: Any, y: Any, others: Given) -> AbstractContextManager[Unread]:
        """Return the records of arrays, here or on Dask, to be opened."""
        persons = None if others.groups is None else self.persons_in(None)
        if persons is None:
            warn_of_split_groups()
        if y is None:
            raise DataError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target "
                "y is None."
            )
        if is_dask(X, y, *others):
            check_for_dask(self)
        else:
            if self.engine == "jax":
                X, y = array_on_host(X), array_on_host(y)
            X, y = look_at_records(self, X, y)
        return open_records(X, y, others, persons=persons)

    def persons_in(self, column: str | None) -> PersonFacts:
        """Return what is public about persons: identified by a column, or given to `fit`."""
        weight = given("person_weight", self.person_weight)
        if weight is None:
            weight = SHARE if getattr(self, "inference", False) else SUM
        return PersonFacts(column, weight, int(self.max_rows))

    def _set_features(self, count: int, names: Sequence[str] | None) -> None:
        """Store the number of features, and their names, for scikit-learn."""
        self.n_features_in_ = count
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def plot(self, ax: Any = None) -> Any:
        """Draw the coefficients with bands, or their intervals if any; return the Axes.

        Needs the extra ``dpscd[plot]``. Without `ax` it is a new figure.
        """
        from dpscd.estimators.plots import plot_coefficients

        check_fitted(self)
        return plot_coefficients(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file; read it with :func:`dpscd.load`.

        It holds what was released, the public facts, the parameters (but no `random_state`)
        and the coefficients. A file that exists is replaced.
        """
        check_fitted(self)
        write_fit(self._written(), path)

    def _restored(self, fit: Fit) -> Self:
        """Take a fit as the result."""
        self.fit_ = fit
        self._set_features(fit.plan.facts.d, fit.features)
        return self

    def _kept_parameters(self) -> dict[str, Any]:
        """Return the parameters that a fit keeps: no seed, and no path."""
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if name not in LOCAL}

    def _written(self) -> Fit:
        """Return the fit, with what may be changed after it as it is now."""
        parameters = dict(self.fit_.parameters)
        if "clip_predictions" in parameters:
            parameters["clip_predictions"] = bool(self.clip_predictions)
        names = getattr(self, "feature_names_in_", None)
        features = None if names is None else tuple(str(name) for name in names)
        return replace(self.fit_, parameters=parameters, features=features)

    def __getstate__(self) -> Any:
        # Whoever has the seed of a model's noise can take the noise away again.
        state = super().__getstate__()
        return {**state, "random_state": None} if "fit_" in state else state

    def released_means(self) -> Floats | None:
        """Return the noisy means of the features, or None if none were released and used.

        In the user's units; None without `standardise` or an intercept, and on sparse rows.
        """
        check_fitted(self)
        return self.fit_.numbers.means

    def unseen_features(self) -> npt.NDArray[np.bool_]:
        """Return which features the released moments did not show; their coefficients are 0."""
        check_fitted(self)
        unseen = self.fit_.numbers.unseen
        return np.zeros(self.fit_.plan.facts.d, dtype=bool) if unseen is None else unseen

    def _check_parameters(self) -> None:
        check_shared(self)
        self._check_own_parameters()

    def _fitting(self, records: Unread, classes: npt.NDArray[Any] | None) -> Fitting:
        """Return what is public about a fit."""
        n = records.count if self.n is None else int(self.n)
        if n == 0:
            raise DataError("there are no records: Found array with 0 sample(s), 1 is needed.")
        relation = Relation.parse(self.relation)
        target = PrivacyTarget(float(self.epsilon), delta_of(self.delta, n), relation)
        if target.private:
            warn_of_target(target, n, records.features + int(bool(self.fit_intercept)))
        if getattr(self, "inference", False):
            check_inference(classes, records)
        facts = self.stated(
            classes,
            standardised=self._standardises(n, records.features, target),
            n=n,
            d=records.features,
            weighted=records.weighted,
            dense=not records.sparse,
            persons=records.persons,
            device=device_name() if self.engine == "jax" else "",
            dataset=None if self.dataset is None else str(self.dataset),
            **({} if records.schema is None else schema_facts(records.schema)),
        )
        return Fitting(
            name=type(self).__name__,
            parameters=self._kept_parameters(),
            facts=facts,
            target=target,
            fixed=self._fixed,
            workers=records.workers,
            ledger=self.ledger,
            random_state=self.random_state,
            shown=bool(self.verbose),
        )

    def stated(self, classes: Any, *, standardised: bool, **known: Any) -> Facts:
        """Return the public facts of a fit: those `known` of its records, and parameters."""
        row_bound, constant = float(self.row_bound), 0.0
        if self.fit_intercept:
            scaling = given("intercept_scaling", self.intercept_scaling)
            if scaling is None:
                scaling = default_constant(row_bound, standardised=standardised)
            constant = float(scaling)
        asked = getattr(self, "inference", False)
        width, persons = known["d"] + int(constant != 0.0), known["persons"] is not None
        robust = is_robust(asked, width, logistic=self.kind.loss == "Logistic", persons=persons)
        threshold = given("threshold", getattr(self, "threshold", "auto"))
        return Facts(
            loss=self._loss(classes),
            labels=self._labels(classes),
            row_bound=row_bound,
            constant=constant,
            threshold=threshold,
            standardised=standardised,
            inference=(ROBUST if robust else "model") if asked else "",
            declared=getattr(self, "classes", ()) is not None,
            engine=self.engine,
            **known,
        )

    @property
    def _fixed(self) -> dict[str, Any]:
        """What a plan would choose, where it is given; None is planned."""
        return {name: given(name, getattr(self, name)) for name in CHOSEN}

    def _standardises(self, n: int, d: int, target: PrivacyTarget) -> bool:
        """Return whether moments are released first to standardise with."""
        if not target.private or self.standardise is False:
            return False
        if getattr(self, "inference", False):
            return True
        if is_auto(self.standardise):
            own = is_auto(self.lam) and is_auto(self.intercept_scaling)
            return own and worth_standardising(n, d, target)
        return bool(self.standardise)

    def _linear(self, X: Any) -> Floats:
        """Return ``X coef + intercept``, one column per output."""
        check_fitted(self)
        scores = self._products(check_rows(self, X))
        scores += self.fit_.numbers.intercept
        return scores

    def _products(self, X: Any) -> Floats:
        """Return ``X coef``, one column per output, of rows that were read."""
        coef = self.fit_.numbers.coef
        if hasattr(X, "indptr"):
            sums: Floats = np.asarray(X @ coef.T)
            return sums
        scores = np.empty((X.shape[0], len(coef)))
        size = max(1, BLOCK // max(1, X.shape[1]))
        for first in range(0, X.shape[0], size):
            block, out = X[first : first + size], scores[first : first + size]
            block = np.ascontiguousarray(block, dtype=np.float64)
            # Not by BLAS, whose last bits for a row depend on how many rows there are.
            np.einsum("ij,kj->ik", block, coef, out=out, optimize=False)
        return scores

    def __sklearn_is_fitted__(self) -> bool:
        # Names of features are noted before the budget is asked.
        return hasattr(self, "fit_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
