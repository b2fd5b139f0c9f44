"""One fit, from public facts to releases and their card; records are read after the charge."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from dpscd import losses
from dpscd._version import __version__
from dpscd.cards.card import PrivacyCard
from dpscd.errors import BudgetExceeded, ParameterError, WorkerError
from dpscd.estimators.validation import warn_user
from dpscd.kernels.dual import Records
from dpscd.losses import Loss
from dpscd.persons import PersonFacts
from dpscd.plan import Plan
from dpscd.planning import RULE, Facts, plan_fit
from dpscd.privacy.accountants import library_version
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.random import Source, source_for
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.unit import RECORD, Unit
from dpscd.problem import Problem
from dpscd.progress import step_bar
from dpscd.records.redaction import redact_errors
from dpscd.releases.base import State
from dpscd.releases.pipeline import run_plan
from dpscd.solvers.on_device import check_device_plan, device_name
from dpscd.solvers.sdca import sdca
from dpscd.solvers.sharded import check_path
from dpscd.standard import Levels

__all__ = ["Fitting"]

_PLAIN_LAM = 1e-4  # lam="auto" without privacy: there is no noise to follow


@dataclass(frozen=True, repr=False)
class Fitting:
    """Inputs of a fit other than the records. All public except the seed."""

    name: str  # of the estimator, for the ledger
    facts: Facts
    target: PrivacyTarget  # the guarantee to reach
    fixed: Mapping[str, Any]  # lam, epochs, lot_size and travel; None is planned
    # Given the label encoding, the loss for labels in the user's units, and what else was taken
    # as public.
    loss_of: Callable[[Any], Loss]
    public_of: Callable[[Any], dict[str, Any]]
    ledger: str | None = None  # the file of the budget
    dataset: str | None = None  # its name in the ledger
    random_state: Any = None
    shown: bool = False  # whether a bar shows the steps
    levels: Levels | None = None  # which features are levels of categories
    persons: PersonFacts | None = None  # if persons are the unit of privacy
    loss_name: str = ""  # the class of the loss
    engine: str = "numba"  # one of dpscd.solvers.on_device.ENGINES
    dense: bool = True  # whether rows are dense: a public fact of their layout

    def run(self, read: Callable[[], Any]) -> tuple[State, PrivacyCard]:
        """Plan, reserve, and only then `read` the records and train; return what was released.

        Notes
        -----
        Guarantee: nothing of a record is used before the charge is on disk, and what was
        charged is spent whatever happens from then on.
        """
        # Of public inputs only.
        plan = None
        if self.target.private:
            plan = plan_fit(self.facts, self.target, **self.fixed)
            self._check_workers(plan)
        if self.engine == "jax":
            self._check_engine(plan)
        # The budget: spent from here on, whatever happens.
        reservation = self._reserve(plan)
        # From here on values of the data are used.
        seal = self._seal(reservation)
        source = source_for(self.random_state, seal)
        with _spent(reservation):
            store = redact_errors(read)
        if self.engine != "numba":
            store = store.on(self.engine)
        problem = self.problem(plan.lam if plan else self._plain_lam, store.meaning)
        # Training; the duals die with the solver's call.
        if plan is None:
            state = _without_privacy(problem, store, source)
        else:
            pilot = plan.pilot.steps if plan.pilot else 0
            bar = step_bar(plan.steps + pilot) if self.shown else nullcontext()
            with bar as progress, _spent(reservation):
                state = run_plan(
                    problem,
                    plan,
                    store,
                    lambda part: (
                        source_for(self.random_state, f"{seal} {part}") if part else source
                    ),
                    loss_of=self.loss_of,
                    progress=progress,
                )
        card = self._card(problem, plan, state, seeded=source.seeded)
        if self.ledger is not None and reservation is not None:
            Ledger(self.ledger).commit(reservation)
        return state, card

    def planned(self) -> Plan:
        """Return the plan of a private fit: of public inputs only."""
        plan = plan_fit(self.facts, self.target, **self.fixed)
        self._check_workers(plan)
        if self.engine != "numba":
            self._check_engine(plan)
        return plan

    def _check_workers(self, plan: Plan) -> None:
        """Refuse a path that workers could not follow."""
        if self.facts.workers:
            check_path(plan)

    def _check_engine(self, plan: Plan | None) -> None:
        """Refuse what the second engine does not do, from public facts."""
        if plan is None:
            raise ParameterError("epsilon=inf is trained by engine='numba'; leave engine out.")
        for one in filter(None, (plan, plan.pilot)):
            check_device_plan(
                one, self.loss_name, dense=self.dense, persons=self.persons is not None
            )

    @property
    def _plain_lam(self) -> float:
        return float(self.fixed["lam"] or _PLAIN_LAM)

    def problem(self, lam: float, meaning: Any) -> Problem:
        """Return the problem as it is before anything is released."""
        facts = self.facts
        centre, scale = meaning.scaling(centred=facts.constant != 0.0)
        return Problem(
            loss=losses.rescaled(self.loss_of(meaning), scale),
            lam=lam,
            n=facts.n,
            d=facts.d,
            outputs=facts.outputs,
            row_bound=facts.row_bound,
            constant=facts.constant,
            label_centre=centre,
            label_scale=scale,
            levels=self.levels
            and self.levels._replace(value=self.levels.value / facts.row_bound),
        )

    def _reserve(self, plan: Plan | None) -> int | None:
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
            self.target.epsilon,
            self.target.delta,
            self.target.relation.value,
            label=self.name,
            seeded=self.random_state is not None,
            unit=self.unit.text,
        )

    @property
    def unit(self) -> Unit:
        """What is protected: a record, or a person with all its rows."""
        if self.persons is None:
            return RECORD
        return Unit(self.persons.column, groups=self.persons.column is None)

    def _seal(self, reservation: int | None) -> str:
        """Return what keeps the noise of this fit apart from that of others with its seed."""
        if self.ledger is None or reservation is None or self.random_state is None:
            return ""
        return Ledger(self.ledger).seal(reservation)

    def _card(
        self, problem: Problem, plan: Plan | None, state: State, *, seeded: bool
    ) -> PrivacyCard:
        claim = plan.claim() if plan else None
        public = {
            "n": problem.n,
            "d": problem.d,
            "lam": problem.lam,
            "row_bound": problem.row_bound,
            "intercept": problem.constant,
            "standardised": bool(plan and plan.lists("moments")),
            **self.public_of(state.meaning),
            "rule": RULE,
        }
        if self.persons is not None:
            public["max_rows"] = self.persons.most
            public["person_weight"] = self.persons.weight
        if self.engine == "jax":
            public["engine"], public["device"] = self.engine, device_name()
        if self.dataset is not None:
            public["dataset"] = str(self.dataset)
        if plan and claim:
            public["reaches"] = claim.epsilon
            public["epochs"] = plan.epochs
            public["lot_size"] = plan.lot_size
            public["averaging"] = plan.averaging
        return PrivacyCard(
            epsilon=self.target.epsilon,
            delta=self.target.delta,
            relation=self.target.relation,
            releases=plan.releases() if plan else (),
            accountant=claim.accountant if claim else "none",
            interval=claim.interval if claim else 0.0,
            precision_epsilon=claim.precision_epsilon if claim else 0.0,
            precision_delta=claim.precision_delta if claim else 0.0,
            seeded=seeded,
            public=public,
            versions={"dpscd": __version__, "dp-accounting": library_version()},
            unit=self.unit.text,
        )


def _without_privacy(problem: Problem, store: Any, source: Source) -> State:
    """Return the optimum for epsilon=inf."""
    records = Records(problem.labels(store.labels), store.training_weights)
    X = store.X[:] if store.dense else store.X  # all of them: stored ones too
    shared, converged = sdca(problem, problem.rows(X), records, source)
    if not converged:
        warn_user(
            "SDCA did not reach a duality gap of 1e-6 in 1000 epochs; a larger lam helps.",
            ConvergenceWarning,
        )
    return State(store.meaning, problem, problem, model=problem.model(shared))


@contextmanager
def _spent(reservation: int | None) -> Iterator[None]:
    """Let the error of a worker say what becomes of the reservation, if there is one."""
    try:
        yield
    except WorkerError as error:
        if reservation is None:
            raise
        raise WorkerError(f"{error} What this fit reserved is spent.") from None
