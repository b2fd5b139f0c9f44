"""The one fit template of all estimators, and their linear predictions."""

import math
import os
import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dpscd import losses
from dpscd.cards.card import PrivacyCard
from dpscd.errors import DataError, ParameterError, PrivacyWarning, UtilityWarning
from dpscd.estimators.files import write_model
from dpscd.estimators.fitting import Fitting
from dpscd.estimators.inference_checks import check_inference
from dpscd.estimators.parameters import check_shared, given, is_auto, threads_of
from dpscd.estimators.registry import ModelKind, kind_of
from dpscd.estimators.searches import check_fitted, refusals_noted, warn_of_split_groups
from dpscd.estimators.sources import Arrays, DaskArrays, Given, Opened, RecordSource
from dpscd.estimators.unknown import refuse_unknown
from dpscd.estimators.validation import (
    check_number,
    check_rows,
    look_at_records,
    warn_user,
)
from dpscd.forecast import noise_warning
from dpscd.information import is_robust
from dpscd.kernels._jit import CACHE_FOLDER, COMPILED, compiling_said
from dpscd.kernels.ahead import compiling_beside
from dpscd.losses import Loss
from dpscd.persons import PersonFacts
from dpscd.planning import Facts, default_constant, default_delta, worth_standardising
from dpscd.preprocessing.containers import is_dask
from dpscd.privacy.relation import FORMAL, PrivacyTarget, Relation
from dpscd.privacy.release import Release
from dpscd.problem import Model, Problem
from dpscd.progress import say_compiling
from dpscd.records.labels import ClassLabels, CountLabels, NumberLabels
from dpscd.records.redaction import redact_memory_errors
from dpscd.releases.base import State
from dpscd.solvers.on_device import array_on_host

__all__ = ["BLOCK", "DPLinearModel"]

Floats = npt.NDArray[np.float64]
#: Numbers that are multiplied together.
BLOCK = 2**20


class DPLinearModel(BaseEstimator, metaclass=ABCMeta):
    """What the estimators share: checks, plan, fit, card and linear predictions."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Return an instance; of parameters that it does not have, say which was meant."""
        del args
        refuse_unknown(cls, given)
        new: Self = super().__new__(cls)
        return new

    # Parameters, set by the constructors of the estimators.
    epsilon: float
    delta: float | str
    lam: float | str
    epochs: float | str
    lot_size: int | str
    travel: float | str
    relation: str
    row_bound: float
    n: int | None
    fit_intercept: bool
    intercept_scaling: float | str
    standardise: bool | str
    max_rows: int
    person_weight: str
    ledger: str | None
    dataset: str | None
    n_jobs: int | None
    engine: str
    random_state: Any
    verbose: int

    coef_: Floats
    intercept_: Any
    coef_noise_: Any
    intercept_noise_: Any
    privacy_: PrivacyCard
    _runs: tuple[Problem, ...]
    _curvature: float
    _slope: float

    @property
    def _kind(self) -> ModelKind:
        """What the registry says of this kind of model."""
        return kind_of(self)

    def _loss_of(self, meaning: Any) -> Loss:
        """Return the loss, for labels of this meaning in the user's units."""
        del meaning
        loss: Loss = getattr(losses, self._kind.loss)()
        return loss

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Check the parameters that only this kind of model has."""

    @abstractmethod
    def _classes_of(self, y: Any) -> npt.NDArray[Any] | None:
        """Return the classes, declared or taken as public from `y`; None for regression."""

    @abstractmethod
    def _labels(self, classes: Any) -> ClassLabels | NumberLabels | CountLabels:
        """Return what labels mean: public facts."""

    @abstractmethod
    def _public(self, meaning: Any, classes: Any) -> dict[str, Any]:
        """Return what else was taken as public, labels having this meaning."""

    @abstractmethod
    def _set_model(self, model: Model, classes: Any) -> None:
        """Store the coefficients in the shape of this kind of model."""

    def _set_released(self, state: State) -> None:
        """Store what else follows from what was released, where a model has it."""
        del state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train the model; only noisy sums of the records influence it.

        Parameters
        ----------
        X : array-like, sparse matrix or StoredRows of shape (n_samples, n_features)
            Records, one per row. Rows longer than `row_bound` are scaled down to it. A Dask
            array or dataframe is trained on where its partitions are, on the workers of
            the current Dask client.
        y : array-like of shape (n_samples,)
            Labels, divided like X if on Dask.
        sample_weight : float or array-like of shape (n_samples,), optional
            How much each record's loss counts. The contribution of a record to the
            model stays bounded by the same clip, so privacy does not change; neither
            does the public n by which the loss is divided. With weights nothing is released
            after training: chances are not calibrated, and predictions neither cut long rows
            nor are stretched. With `groups` they say how the rows of one person compare: they
            are divided by their mean over the person's rows.
        groups : array-like of shape (n_samples,), optional
            Whose row each is: any hashable values, equal for the rows of one person. Then a
            person with all its rows is what is protected, and n is the number of persons.
            Rows without an identifier (None, NaN, an empty text, or one such as "nan" or "NA"
            that tables count as missing) contribute nothing. None protects each row by
            itself. On Dask all rows of a person must lie in one partition.

        Returns
        -------
        self
            The fitted estimator.
        """
        with redact_memory_errors, refusals_noted(self):
            self._check_parameters()
            self._fit_source(*self._source_of(X, y, Given(sample_weight, None, groups)))
        return self

    def fit_source(self, source: RecordSource, classes: Any = None) -> State:
        """Train on records that come from elsewhere than arrays, as models of tables do.

        Parameters
        ----------
        source : RecordSource
            Where the records come from; see :mod:`dpscd.estimators.sources`.
        classes : array, optional
            The classes, in the order of their codes; None for regression.

        Returns
        -------
        State
            All that was released. The estimator is fitted, but for `n_features_in_` and names
            of features where only the caller knows them.
        """
        with redact_memory_errors:
            return self._fit_source(source, classes)

    def _fit_source(self, source: RecordSource, classes: Any) -> State:
        self._check_parameters()
        if source.on_dask:
            self._check_for_dask()
        threads = threads_of(self.n_jobs)
        with source.opened(self._labels(classes), threads) as records:
            fitting = self._fitting(records, classes, source)
            with (
                compiling_said(lambda: say_compiling(sys.stderr, shown=fitting.shown)),
                compiling_beside(
                    CACHE_FOLDER,
                    self._packed_loss(fitting, records, classes) if threads == 1 else None,
                    fitting.facts.outputs,
                ),
            ):
                state, card = fitting.run(records.read)
        # The model and what it guarantees, together: a fit that fails changes neither.
        model = cast(Model, state.model)
        self._set_model(model, classes)
        self._runs, self._curvature = model.runs, model.curvature
        self._slope = model.slope
        self.privacy_ = card
        self._set_released(state)
        if isinstance(source, DaskArrays):
            self._set_features(source.features, source.names)
        return state

    def planned_releases(
        self, source: RecordSource, classes: Any, count: int
    ) -> tuple[Release, ...]:
        """Return what a fit on some of these records would release, from public facts alone.

        Parameters
        ----------
        source : RecordSource
            Where the records come from.
        classes : array or None
            As for :meth:`fit_source`.
        count : int
            Public number of the records, or persons, that would be trained on.
        """
        self._check_parameters()
        with source.opened(self._labels(classes), 1) as records:
            fitting = self._fitting(replace(records, count=count), classes, source)
            return fitting.planned().releases()

    def _packed_loss(self, fitting: Fitting, records: Opened, classes: Any) -> str | None:
        """Return the loss's name if the kernel of packed records is going to train with it."""
        loss = type(fitting.loss_of(self._labels(classes)))
        ours = loss.__module__.startswith(f"{losses.__name__}.")
        packed = records.dense and not records.workers and fitting.persons is None
        packed = packed and self.engine == "numba"
        wanted = COMPILED and fitting.target.private and packed and ours
        return loss.__name__ if wanted else None

    def _source_of(self, X: Any, y: Any, others: Given) -> tuple[RecordSource, Any]:
        """Return the records of arrays, here or on Dask, and their classes."""
        persons = None
        if others.groups is None:
            warn_of_split_groups()
        else:
            persons = self.persons_in(None)
        if is_dask(X, y, *others):
            self._check_for_dask()
            return DaskArrays(X, y, others, persons), self._classes_of(None)
        if self.engine == "jax":
            X, y = array_on_host(X), array_on_host(y)
        rows, column = look_at_records(self, X, y)
        return Arrays(rows, column, others, persons), self._classes_of(column)

    def persons_in(self, column: str | None) -> PersonFacts:
        """Return what is public about persons, if those are the unit of privacy.

        Parameters
        ----------
        column : str or None
            That identifies them; None if identifiers are given to `fit`.
        """
        return PersonFacts(column, str(self.person_weight), int(self.max_rows))

    def _set_features(self, count: int, names: Sequence[str] | None) -> None:
        """Store what scikit-learn wants to know of the columns."""
        self.n_features_in_ = count
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def _check_for_dask(self) -> None:
        """Refuse what is not available on Dask."""
        if self.engine == "jax":
            raise ParameterError(
                "engine='jax' is not available on Dask: it trains on one device."
            )
        if math.isinf(self.epsilon):
            raise ParameterError(
                "epsilon=inf is not available on Dask: train without privacy on one machine."
            )
        if self._kind.classifies and getattr(self, "classes", None) is None:
            raise ParameterError(
                "classes=None is not available on Dask, where labels do not leave their "
                "worker; give classes=."
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file; read it with :func:`dpscd.load`.

        Parameters
        ----------
        path : path
            The file, replaced if it exists. It holds coefficients, classes, parameters
            (but no `random_state`) and the privacy card.
        """
        check_fitted(self)
        write_model(self, path)

    def __getstate__(self) -> Any:
        # Whoever has the seed of a model's noise can take the noise away again.
        state = super().__getstate__()
        return {**state, "random_state": None} if "privacy_" in state else state

    def released_means(self) -> Floats | None:
        """Return the means of the features that were released to standardise with.

        Returns
        -------
        array of shape (n_features,) or None
            In the user's units, noisy; None where none were released or used: without
            `standardise`, without an intercept, on sparse rows.
        """
        check_fitted(self)
        standard = self._runs[-1].standard
        if standard is None or not standard.centre.any():
            return None
        means: Floats = standard.centre * self._runs[-1].row_bound
        return means

    def unseen_features(self) -> npt.NDArray[np.bool_]:
        """Return which features the released moments did not show.

        Returns
        -------
        array of bool, of shape (n_features,)
            Of a model of tables, levels of categories that may not occur: their coefficients,
            and the noise of these, are 0.
        """
        check_fitted(self)
        standard = self._runs[-1].standard
        if standard is None:
            return np.zeros(np.shape(self.coef_)[-1], dtype=bool)
        unseen: npt.NDArray[np.bool_] = standard.scale == 0.0
        return unseen

    def _check_parameters(self) -> None:
        check_shared(self)
        self._check_own_parameters()

    def _fitting(
        self, records: Opened, classes: npt.NDArray[Any] | None, source: RecordSource
    ) -> Fitting:
        """Return what is public about a fit."""
        n = records.count if self.n is None else int(self.n)
        if n == 0:
            raise DataError("there are no records: Found array with 0 sample(s), 1 is needed.")
        delta = given(self.delta)
        if delta is None:
            delta = default_delta(n)
        target = PrivacyTarget(
            float(self.epsilon),
            check_number("delta", delta, strict=False),
            Relation.parse(self.relation),
        )
        if target.private:
            self._warn(target, n, records.features + int(bool(self.fit_intercept)))
        standardised = self._standardises(n, records.features, target)
        constant = 0.0
        if self.fit_intercept:
            scaling = given(self.intercept_scaling)
            constant = (
                default_constant(float(self.row_bound), standardised=standardised)
                if scaling is None
                else float(scaling)
            )
        asked = getattr(self, "inference", False)
        if asked:
            check_inference(self, classes, records, source)
        meaning = self._labels(classes)
        scale = meaning.scaling(centred=constant != 0.0)[1]
        loss = self._loss_of(meaning)
        facts = Facts(
            n=n,
            d=records.features,
            outputs=1 if classes is None or len(classes) == 2 else len(classes),
            task=self._kind.task,
            row_bound=float(self.row_bound),
            constant=constant,
            standardised=standardised,
            bounded=source.bounded,
            workers=records.workers,
            lam_unit=losses.unit(losses.rescaled(loss, scale)),
            chances=self._kind.gives_chances and not source.weighted,
            any_length=source.any_length and not source.weighted,
            means=self._kind.predicts_means and not source.weighted,
            rows=0 if source.persons is None else source.persons.rows,
            joint=losses.is_joint(loss),
            inference=bool(asked),
            robust=is_robust(
                asked,
                records.features + int(constant != 0.0),
                logistic=self._kind.classifies,
                persons=source.persons is not None,
            ),
        )
        return Fitting(
            name=type(self).__name__,
            facts=facts,
            target=target,
            fixed={x: given(getattr(self, x)) for x in ("lam", "epochs", "lot_size", "travel")},
            loss_of=self._loss_of,
            public_of=lambda meaning: self._public(meaning, classes),
            ledger=self.ledger,
            dataset=self.dataset,
            random_state=self.random_state,
            shown=bool(self.verbose),
            levels=records.levels,
            persons=source.persons,
            loss_name=type(loss).__name__,
            engine=self.engine,
            dense=records.dense,
        )

    def _warn(self, target: PrivacyTarget, n: int, width: int) -> None:
        if target.epsilon > FORMAL:
            warn_user(
                f"epsilon={target.epsilon:g} is above {FORMAL:g}: this protects a "
                "record only in a formal sense.",
                PrivacyWarning,
            )
        if target.delta * n >= 1.0:
            warn_user(
                f"delta={target.delta:g} is at least 1/n: a mechanism that publishes a "
                "random record would satisfy it.",
                PrivacyWarning,
            )
        if words := noise_warning(n, width, target):
            warn_user(words, UtilityWarning)

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
        scores += np.atleast_1d(self.intercept_)
        return scores

    def _products(self, X: Any) -> Floats:
        """Return ``X coef``, one column per output, of rows that were read."""
        coef = np.atleast_2d(self.coef_)
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
        return hasattr(self, "privacy_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
