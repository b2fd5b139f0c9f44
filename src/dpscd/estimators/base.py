"""The one fit template of all estimators."""

import math
import os
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dpscd import losses
from dpscd._version import __version__
from dpscd.cards.card import PrivacyCard
from dpscd.distributed.detection import is_dask
from dpscd.errors import (
    BudgetExceeded,
    DataError,
    ParameterError,
    PrivacyWarning,
    WorkerError,
)
from dpscd.estimators.files import write_model
from dpscd.estimators.redaction import redact_memory_errors
from dpscd.estimators.registry import ModelKind, kind_of
from dpscd.estimators.validation import (
    check_integer,
    check_number,
    check_rows,
    look_at_records,
)
from dpscd.kernels.dual import Records
from dpscd.losses import Loss
from dpscd.plan import Plan
from dpscd.planning import (
    RULE,
    Facts,
    default_constant,
    default_delta,
    plan_fit,
    worth_standardising,
)
from dpscd.privacy.accountants import library_version
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.random import SecretSeed, Source, source_for
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.problem import Model, Problem
from dpscd.progress import step_bar
from dpscd.records.door import ArrayDoor
from dpscd.records.labels import ClassLabels, CountLabels, NumberLabels
from dpscd.records.redaction import redact_errors
from dpscd.releases.base import State
from dpscd.releases.pipeline import run_plan
from dpscd.solvers.local import LocalRecords
from dpscd.solvers.sdca import sdca
from dpscd.solvers.sharded import check_path

__all__ = ["DPLinearModel"]

Floats = npt.NDArray[np.float64]

_LARGE_EPSILON = 10.0
_BLOCK = 2**14  # rows that are multiplied together
_PLAIN_LAM = 1e-4  # lam="auto" without privacy: there is no noise to follow


class DPLinearModel(BaseEstimator, metaclass=ABCMeta):
    """What the estimators share: checks, plan, fit, card and linear predictions."""

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
    ledger: str | None
    dataset: str | None
    n_jobs: int | None
    random_state: Any
    verbose: int

    coef_: Floats
    intercept_: Any
    coef_noise_: Any
    intercept_noise_: Any
    privacy_: PrivacyCard
    _runs: tuple[Problem, ...]

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

    @redact_memory_errors
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the model; only noisy sums of the records influence it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, one per row. Rows longer than `row_bound` are scaled down to it. A Dask
            array or dataframe is trained on where its partitions are, on the workers of
            the current Dask client.
        y : array-like of shape (n_samples,)
            Labels, divided like X if on Dask.
        sample_weight : float or array-like of shape (n_samples,), optional
            How much each record's loss counts. The contribution of a record to the
            model stays bounded by the same clip, so privacy does not change; neither
            does the public n by which the loss is divided.

        Returns
        -------
        self
            The fitted estimator.
        """
        # 1. Public parameters, shapes and types.
        self._check_parameters()
        if is_dask(X, y, sample_weight):
            return self._fit_on_dask(X, y, sample_weight)
        return self._fit_here(X, y, sample_weight)

    def _fit_here(self, X: Any, y: Any, *others: Any) -> Self:
        """Train on arrays in the memory of this process."""
        rows, column = look_at_records(self, X, y)
        classes = self._classes_of(column)
        door = ArrayDoor(self._labels(classes), rows.features, rows.sparse)

        def read() -> LocalRecords:
            triples = door.whole(rows, column, *others)
            return LocalRecords(*triples, door.labels, self._threads())

        self._train((rows.count, rows.features), classes, read)
        return self

    def _fit_on_dask(self, X: Any, y: Any, *others: Any) -> Self:
        """Train where the partitions of Dask collections are."""
        from dpscd.distributed.collections import columns_of, partitions_of
        from dpscd.distributed.workers import workers_with

        parts = partitions_of(X, y, *others)
        names, features, sparse_rows = columns_of(X)
        classes = self._declared_for_dask()
        door = ArrayDoor(self._labels(classes), features, sparse_rows)
        with workers_with(parts, door) as workers:
            self._train(
                (workers.count, features), classes, workers.held, workers=workers.workers
            )
        self.n_features_in_ = features
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        return self

    def _declared_for_dask(self) -> npt.NDArray[Any] | None:
        """Return the classes, which must be declared; None for regression."""
        if math.isinf(self.epsilon):
            raise ParameterError(
                "epsilon=inf is not available on Dask: train without privacy on one machine."
            )
        if self._kind.classifies and getattr(self, "classes", None) is None:
            raise ParameterError(
                "classes=None is not available on Dask, where labels do not leave their "
                "worker; give classes=."
            )
        return self._classes_of(None)

    def _train(
        self,
        shape: tuple[int, int],
        classes: npt.NDArray[Any] | None,
        read: Callable[[], Any],
        bounded: int = 0,
        workers: int = 0,
    ) -> State:
        """Plan, reserve, and only then read the records and train; return what is public.

        Parameters
        ----------
        shape : tuple of int
            Records and features.
        classes : array or None
            The classes, None for regression.
        read : callable
            Returns the record store; cells are read here and not before.
        bounded : int
            Number of columns whose bounds are released first.
        workers : int
            Number of workers of the cluster that holds the records; 0 if they are here.
        """
        facts, target = self._facts(shape, classes, bounded, workers)
        # 2. The plan: public inputs only.
        plan = self._plan(facts, target) if target.private else None
        if plan is not None and workers:
            check_path(plan)
        # 3. The budget: spent from here on, whatever happens.
        reservation = self._reserve(plan, target)
        # 4. From here on values of the data are used.
        fit = self._seal(reservation)
        source = source_for(self.random_state, fit)
        with _spent(reservation):
            store = redact_errors(read)
        lam = plan.lam if plan else self._given("lam") or _PLAIN_LAM
        problem = self._problem(facts, lam, store.meaning)
        # 5. Training; the duals die with the solver's call.
        if plan is None:
            state, converged = _without_privacy(problem, store, source)
            if not converged:
                warnings.warn(
                    "SDCA did not reach a duality gap of 1e-6 in 1000 epochs; a larger lam "
                    "helps.",
                    ConvergenceWarning,
                    stacklevel=5,
                )
        else:
            pilot = plan.pilot.steps if plan.pilot else 0
            shown = bool(self.verbose)
            with step_bar(plan.steps + pilot, shown=shown) as report, _spent(reservation):
                state = run_plan(
                    problem,
                    plan,
                    store,
                    lambda part: (
                        source_for(self.random_state, f"{fit} {part}") if part else source
                    ),
                    loss_of=self._loss_of,
                    progress=report,
                )
        model = cast(Model, state.model)
        # 6. What it guarantees and the model, together: a fit that fails changes neither.
        card = self._card(problem, plan, target, state, classes, seeded=source.seeded)
        if self.ledger is not None and reservation is not None:
            Ledger(self.ledger).commit(reservation)
        self._set_model(model, classes)
        self._runs = model.runs
        self.privacy_ = card
        return state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file; read it with :func:`dpscd.load`.

        Parameters
        ----------
        path : path
            The file, replaced if it exists. It holds coefficients, classes, parameters
            (but no `random_state`) and the privacy card.
        """
        check_is_fitted(self)
        write_model(self, path)

    def __getstate__(self) -> Any:
        # Whoever has the seed of a model's noise can take the noise away again.
        state = super().__getstate__()
        return {**state, "random_state": None} if "privacy_" in state else state

    def _given(self, name: str) -> Any:
        """Return a parameter, or None when it is 'auto'."""
        value = getattr(self, name)
        if _is_auto(value):
            return None
        return value.item() if isinstance(value, np.generic) else value

    def _check_parameters(self) -> None:
        check_number("epsilon", self.epsilon, infinite=True)
        relation = Relation.parse(self.relation)
        check_number("row_bound", self.row_bound, low=1e-100)
        if not _is_auto(self.intercept_scaling):
            check_number("intercept_scaling", self.intercept_scaling, low=1e-100)
        if not (_is_auto(self.standardise) or isinstance(self.standardise, bool | np.bool_)):
            raise ParameterError(
                f"standardise={self.standardise!r} must be True, False or 'auto'."
            )
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ParameterError(f"fit_intercept={self.fit_intercept!r} must be True or False.")
        for name in ("lam", "epochs", "travel"):
            if not _is_auto(getattr(self, name)):
                check_number(name, getattr(self, name))
        if not _is_auto(self.lot_size):
            check_integer("lot_size", self.lot_size)
        if self.n is not None:
            check_integer("n", self.n)
        elif relation.needs_n:
            raise ParameterError(
                f"relation={relation.value!r} needs n=, a declared number of records: the true "
                "one is secret under this relation and must not enter any formula."
            )
        if not isinstance(self.ledger, str | os.PathLike | None):
            raise ParameterError(
                f"ledger={self.ledger!r} must be the path of the budget's file."
            )
        if self.ledger is not None and getattr(self, "classes", ()) is None:
            raise ParameterError(
                "classes=None would read the labels before they are paid for; with a ledger "
                "give classes=."
            )
        if (self.ledger is None) != (self.dataset is None):
            raise ParameterError(
                f"ledger={self.ledger!r} and dataset={self.dataset!r} must be given together: "
                "the file of the budget, and the data set's name in it."
            )
        if self.ledger is not None and not isinstance(self.random_state, SecretSeed | None):
            raise ParameterError(
                "random_state must be None with a ledger: what is charged to it does not hold "
                "for noise that others can draw again. If nobody will ever know the seed, say "
                "so: random_state=SecretSeed(secrets.randbits(128))."
            )
        self._threads()
        self._check_own_parameters()

    def _threads(self) -> int:
        """Return the number of threads that n_jobs asks for."""
        if self.n_jobs is None:
            return 1
        if self.n_jobs == -1:
            return os.cpu_count() or 1
        if not isinstance(self.n_jobs, Integral) or self.n_jobs < 1:
            raise ParameterError(
                f"n_jobs={self.n_jobs!r} must be None, -1 or an integer of at least 1."
            )
        return int(self.n_jobs)

    def _facts(
        self,
        shape: tuple[int, int],
        classes: npt.NDArray[Any] | None,
        bounded: int = 0,
        workers: int = 0,
    ) -> tuple[Facts, PrivacyTarget]:
        """Return what is public about a fit, and the guarantee to reach."""
        count, d = shape
        n = count if self.n is None else int(self.n)
        if n == 0:
            raise DataError("there are no records: Found array with 0 sample(s), 1 is needed.")
        delta = self._given("delta")
        if delta is None:
            delta = default_delta(n)
        target = PrivacyTarget(
            float(self.epsilon),
            check_number("delta", delta, strict=False),
            Relation.parse(self.relation),
        )
        if target.private:
            self._warn(target, n)
        standardised = self._standardises(n, d, target)
        constant = 0.0
        if self.fit_intercept:
            given = self._given("intercept_scaling")
            constant = (
                default_constant(float(self.row_bound), standardised=standardised)
                if given is None
                else float(given)
            )
        facts = Facts(
            n=n,
            d=d,
            outputs=1 if classes is None or len(classes) == 2 else len(classes),
            task=self._kind.task,
            row_bound=float(self.row_bound),
            constant=constant,
            standardised=standardised,
            bounded=bounded,
            workers=workers,
        )
        return facts, target

    def _problem(self, facts: Facts, lam: float, meaning: Any) -> Problem:
        """Return the problem as it is before anything is released."""
        centre, scale = meaning.scaling(centred=facts.constant != 0.0)
        return Problem(
            loss=losses.rescaled(self._loss_of(meaning), scale),
            lam=lam,
            n=facts.n,
            d=facts.d,
            outputs=facts.outputs,
            row_bound=facts.row_bound,
            constant=facts.constant,
            label_centre=centre,
            label_scale=scale,
        )

    def _warn(self, target: PrivacyTarget, n: int) -> None:
        if target.epsilon > _LARGE_EPSILON:
            warnings.warn(
                f"epsilon={target.epsilon:g} is above {_LARGE_EPSILON:g}: this protects a "
                "record only in a formal sense.",
                PrivacyWarning,
                stacklevel=7,
            )
        if target.delta * n >= 1.0:
            warnings.warn(
                f"delta={target.delta:g} is at least 1/n: a mechanism that publishes a "
                "random record would satisfy it.",
                PrivacyWarning,
                stacklevel=7,
            )

    def _reserve(self, plan: Plan | None, target: PrivacyTarget) -> int | None:
        """Charge the fit to its budget, if it has one, before any value is used."""
        if self.ledger is None:
            return None
        if plan is None:
            raise BudgetExceeded(
                "epsilon=inf exceeds every budget; to train without privacy, leave out ledger."
            )
        return Ledger(self.ledger).reserve(
            str(self.dataset),
            plan.releases(),
            target.epsilon,
            target.delta,
            target.relation.value,
            label=type(self).__name__,
            seeded=self.random_state is not None,
        )

    def _seal(self, reservation: int | None) -> str:
        """Return what keeps the noise of this fit apart from that of others with its seed."""
        if self.ledger is None or reservation is None or self.random_state is None:
            return ""
        return Ledger(self.ledger).seal(reservation)

    def _plan(self, facts: Facts, target: PrivacyTarget) -> Plan:
        return plan_fit(
            facts,
            target,
            lam=self._given("lam"),
            epochs=self._given("epochs"),
            lot_size=self._given("lot_size"),
            travel=self._given("travel"),
        )

    def _standardises(self, n: int, d: int, target: PrivacyTarget) -> bool:
        """Return whether moments are released first to standardise with."""
        if not target.private or self.standardise is False:
            return False
        if _is_auto(self.standardise):
            own = _is_auto(self.lam) and _is_auto(self.intercept_scaling)
            return own and worth_standardising(n, d, target)
        return bool(self.standardise)

    def _card(
        self,
        problem: Problem,
        plan: Plan | None,
        target: PrivacyTarget,
        state: State,
        classes: npt.NDArray[Any] | None,
        *,
        seeded: bool,
    ) -> PrivacyCard:
        claim = plan.claim() if plan else None
        public = {
            "n": problem.n,
            "d": problem.d,
            "lam": problem.lam,
            "row_bound": problem.row_bound,
            "intercept": problem.constant,
            "standardised": bool(plan and plan.lists("moments")),
            **self._public(state.meaning, classes),
            "rule": RULE,
        }
        if self.dataset is not None:
            public["dataset"] = str(self.dataset)
        if plan and claim:
            public["reaches"] = claim.epsilon
            public["epochs"] = plan.epochs
            public["lot_size"] = plan.rate * plan.n
            public["averaging"] = plan.averaging
        return PrivacyCard(
            epsilon=target.epsilon,
            delta=target.delta,
            relation=target.relation,
            releases=plan.releases() if plan else (),
            accountant=claim.accountant if claim else "none",
            interval=claim.interval if claim else 0.0,
            precision_epsilon=claim.precision_epsilon if claim else 0.0,
            precision_delta=claim.precision_delta if claim else 0.0,
            seeded=seeded,
            public=public,
            versions={"dpscd": __version__, "dp-accounting": library_version()},
        )

    def _linear(self, X: Any) -> Floats:
        """Return ``X coef + intercept``, one column per output."""
        check_is_fitted(self)
        X = check_rows(self, X)
        scores = _products(X, np.atleast_2d(self.coef_))
        scores += np.atleast_1d(self.intercept_)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _products(X: Any, coef: Floats) -> Floats:
    """Return ``X coef^T``, each number from its row alone.

    Not by BLAS, whose last bits for a row depend on how many rows there are.
    """
    if hasattr(X, "indptr"):
        sums: Floats = np.asarray(X @ coef.T)
        return sums
    scores = np.empty((X.shape[0], len(coef)))
    for first in range(0, X.shape[0], _BLOCK):
        block = np.ascontiguousarray(X[first : first + _BLOCK], dtype=np.float64)
        np.einsum("ij,kj->ik", block, coef, out=scores[first : first + _BLOCK], optimize=False)
    return scores


def _without_privacy(problem: Problem, store: Any, source: Source) -> tuple[State, bool]:
    """Return the optimum for epsilon=inf, and whether it was reached."""
    records = Records(problem.labels(store.labels), store.weights)
    shared, converged = sdca(problem, problem.rows(store.X), records, source)
    return State(store.meaning, problem, problem, model=problem.model(shared)), converged


@contextmanager
def _spent(reservation: int | None) -> Iterator[None]:
    """Let the error of a worker say what becomes of the reservation, if there is one."""
    try:
        yield
    except WorkerError as error:
        if reservation is None:
            raise
        raise WorkerError(f"{error} What this fit reserved is spent.") from None
