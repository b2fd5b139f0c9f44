"""One fit: plan, charge to the budget, and only then the records."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from dpscd._version import __version__
from dpscd.errors import BudgetExceeded, ParameterError, WorkerError
from dpscd.estimators.validation import warn_user
from dpscd.kernels._jit import cache_folder, compiling_beside, compiling_said
from dpscd.late import COMPILED
from dpscd.link import Link
from dpscd.model.fit import Fit, Numbers, numbers_of, prediction_numbers, run
from dpscd.planning.facts import Facts
from dpscd.planning.forecast import fit_seconds
from dpscd.planning.plan import Plan
from dpscd.planning.rule import plan_fit
from dpscd.privacy.accounting import library_version
from dpscd.privacy.cost import Cost
from dpscd.privacy.random import Source, source_for
from dpscd.privacy.relation import PrivacyTarget, Unit
from dpscd.privacy.search import Search
from dpscd.problem import Model, Problem
from dpscd.progress import say_compiling, step_bar, waiting
from dpscd.records.refusals import redact_errors
from dpscd.releases.base import Observer
from dpscd.solvers.on_device import check_device_plan
from dpscd.solvers.sdca import sdca
from dpscd.solvers.sharded import check_path

Floats = npt.NDArray[np.float64]

_PLAIN_LAM = 1e-4  # lam="auto" without privacy: there is no noise to follow


class Charge:
    """One charge: reserved before a value of the data is used, committed at the end."""

    def __init__(
        self, ledger: str | os.PathLike[str] | None, dataset: str | None, random_state: Any
    ) -> None:
        self._ledger = None
        if ledger is not None:
            from dpscd.privacy.ledger import Ledger  # no fit without a ledger needs a database

            self._ledger = Ledger(ledger)
        self._dataset, self._seeded = str(dataset), random_state is not None
        self.reservation: int | None = None

    def reserve(
        self,
        costs: Sequence[Cost],
        target: PrivacyTarget,
        label: str,
        unit: Unit,
        search: Search | None = None,
    ) -> str:
        """Charge what will be released; return a text that no other fit with the seed has.

        The text keeps the noise of these fits apart; it is empty without a seed or a ledger.

        Guarantee: when it returns, the charge is on disk, and spent whatever happens.
        """
        if self._ledger is None:
            return ""
        if not target.private:
            raise BudgetExceeded(
                "epsilon=inf exceeds every budget; to train without privacy, leave out ledger."
            )
        self.reservation = self._ledger.reserve(
            self._dataset,
            costs,
            target.epsilon,
            target.delta,
            target.relation.value,
            label,
            seeded=self._seeded,
            unit=unit.text,
            search=search,
        )
        return self._ledger.stream_salt(self.reservation) if self._seeded else ""

    def commit(self) -> None:
        """Record that what was reserved has ended."""
        if self._ledger is not None and self.reservation is not None:
            self._ledger.commit(self.reservation)


@dataclass(frozen=True, repr=False)
class Fitting:
    """Inputs of a fit other than the records. All public except the seed."""

    name: str  # of the estimator's class
    parameters: Mapping[str, Any]  # of the estimator; no seed, and no path
    facts: Facts
    target: PrivacyTarget  # the guarantee to reach
    fixed: Mapping[str, Any]  # lam, epochs, lot_size and travel; None is planned
    workers: int = 0  # of the cluster that holds the records; 0 if they are here
    ledger: str | None = None  # the file of the budget
    random_state: Any = None
    shown: bool = False  # whether a bar shows the steps

    def run(self, read: Callable[[], Any], observer: Observer | None = None) -> Fit:
        """Plan, reserve, and only then `read` the records and train; return what was released.

        Guarantee: nothing of a record is used before the charge is on disk, and what was
        charged is spent whatever happens from then on.
        """
        # Of public inputs only.
        plan = self.planned()
        # The budget: spent from here on, whatever happens.
        charge = Charge(self.ledger, self.facts.dataset, self.random_state)
        salt = charge.reserve(plan.costs, self.target, self.name, self.facts.unit)
        # From here on values of the data are used.
        source = source_for(self.random_state, salt)
        with _spent(charge.reservation), waiting("reading"):
            store = redact_errors(read)
        if self.facts.engine != "numba":
            store = store.on(self.facts.engine)
        if not self.target.private:
            return self._without_privacy(plan, store, source)
        # Training; the duals die with the solver's call.
        steps = sum(one.steps for one in plan.trainings)
        bar = step_bar(steps, asked=self.shown, seconds=fit_seconds(plan))
        with bar as progress, _spent(charge.reservation):
            state, answers = run(
                plan,
                store,
                lambda part: (
                    source_for(self.random_state, f"{salt} {part}") if part else source
                ),
                progress=progress,
                observer=observer,
            )
        fit = self._fit(plan, answers, numbers_of(state), source)
        charge.commit()
        return fit

    def _fit(
        self, plan: Plan, answers: tuple[Floats, ...], numbers: Numbers, source: Source
    ) -> Fit:
        return Fit(
            plan,
            answers,
            numbers,
            estimator=self.name,
            parameters=dict(self.parameters),
            features=None,
            seeded=source.seeded,
            versions={"dpscd": __version__, "dp-accounting": library_version()},
        )

    def planned(self) -> Plan:
        """Return the plan of a fit: of public inputs only."""
        facts = self.facts
        if not self.target.private:
            if facts.engine != "numba":
                raise ParameterError(
                    "{epsilon} does not go with {engine}: leave the engine out.",
                    epsilon=self.target.epsilon,
                    engine=facts.engine,
                )
            return Plan(self.target, facts, ())
        plan = plan_fit(facts, self.target, workers=self.workers, **self.fixed)
        if self.workers:
            check_path(plan.training)
        if facts.engine != "numba":
            for one in plan.trainings:
                check_device_plan(
                    one, facts.loss, dense=facts.dense, persons=facts.persons is not None
                )
        return plan

    @contextmanager
    def compiling(self, threads: int) -> Iterator[None]:
        """Say what is compiled in the block, and compile the kernel of packed records ahead."""
        facts = self.facts
        packed = facts.dense and not self.workers and facts.persons is None
        packed = packed and facts.engine == "numba" and self.target.private
        loss = facts.loss if COMPILED and packed and threads == 1 else None
        with (
            compiling_said(lambda: say_compiling(sys.stderr, shown=self.shown)),
            compiling_beside(cache_folder(), loss, facts.outputs),
        ):
            yield

    def _without_privacy(self, plan: Plan, store: Any, source: Source) -> Fit:
        """Return the optimum for epsilon=inf: coefficients, and no answers."""
        bounds = tuple(getattr(store, "bounds", ()))
        problem = self.facts.problem(float(self.fixed["lam"] or _PLAIN_LAM), bounds)
        numbers = prediction_numbers(
            self.facts, _optimum(problem, store, source), bounds, Link()
        )
        return self._fit(plan, (), numbers, source)


def _optimum(problem: Problem, store: Any, source: Source) -> Model:
    """Return the model that minimises the objective."""
    from dpscd.kernels.dual import Records

    records = Records(problem.labels(store.labels), store.training_weights)
    X = store.X[:] if store.dense else store.X  # all of them: stored ones too
    shared, converged = sdca(problem, problem.rows(X), records, source)
    if not converged:
        warn_user(
            "SDCA did not reach a duality gap of 1e-6 in 1000 epochs; a larger lam helps.",
            ConvergenceWarning,
        )
    return problem.model(shared)


@contextmanager
def _spent(reservation: int | None) -> Iterator[None]:
    """Let the error of a worker say what becomes of the reservation, if there is one."""
    try:
        yield
    except WorkerError as error:
        if reservation is None:
            raise
        raise WorkerError(f"{error} What this fit reserved is spent.") from None
