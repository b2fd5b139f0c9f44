"""A fit: its plan, its answers, and the numbers that predictions use; all else is a view."""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DpscdError, ModelFileError
from dpscd.link import Link
from dpscd.model.card import PrivacyCard
from dpscd.planning.facts import Facts
from dpscd.planning.plan import Plan
from dpscd.preprocessing.monotone import made_monotone
from dpscd.privacy.random import Source
from dpscd.privacy.search import Search
from dpscd.problem import Floats, Model
from dpscd.releases.base import Observer, RecordStore, Stores
from dpscd.releases.bounds import Bounds
from dpscd.releases.information import Information
from dpscd.releases.probability import link_of
from dpscd.releases.score import Estimate, ScoredRecords

if TYPE_CHECKING:
    from dpscd.model.spread import Spread

# Another machine, or a later version, may fold the answers to other last bits.
_WITHIN = 1e-9


@dataclass(frozen=True, eq=False)
class Numbers:
    """What predictions use, as it was where the model was fitted."""

    coef: Floats  # of shape (outputs, d), in the user's units
    intercept: Floats  # of shape (outputs,)
    # Standard deviation of the noise of training in each: a proved bound where
    # :attr:`Fit.is_bounded`, else a rough one.
    coef_noise: Floats
    intercept_noise: Floats  # the same, and of a shift by a calibration or a level
    longest_row: float = math.inf  # predictions cut rows to this length
    link: Link | None = None  # from decisions to probabilities, of two classes
    means: Floats | None = None  # released means of features, if rows were centred
    unseen: npt.NDArray[np.bool_] | None = None  # features without spread in released moments
    bounds: tuple[tuple[float, float], ...] = ()  # released bounds of columns

    def arrays(self) -> dict[str, Any]:
        """Return all of them as arrays, to be compared."""
        link = () if self.link is None else (self.link.scale, *self.link.caps)
        found = {
            "coefficients": self.coef,
            "intercept": self.intercept,
            "noise of the coefficients": self.coef_noise,
            "noise of the intercept": self.intercept_noise,
            "longest row": self.longest_row,
            "link": link,
            "means": () if self.means is None else self.means,
            "features without spread": () if self.unseen is None else self.unseen,
            "released bounds": self.bounds,
        }
        return {name: np.asarray(value, dtype=np.float64) for name, value in found.items()}


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit is: written to files, and read from them.

    Nothing of it is secret except, where it was seeded, what the seed would reveal.
    """

    plan: Plan  # without releases if epsilon is infinite
    answers: tuple[Floats, ...] = field(repr=False)  # noisy, in the order they were asked for
    numbers: Numbers = field(repr=False)  # of a score its estimate
    estimator: str  # name of its class
    parameters: dict[str, Any]  # of the estimator, but for seed, ledger and dataset
    features: tuple[str, ...] | None  # their names, if they have any
    seeded: bool  # whether the randomness came from a seed
    versions: dict[str, str]
    search: Search | None = None  # how it was chosen, if by a search

    def __repr__(self) -> str:
        return f"Fit({self.estimator}, {len(self.plan.releases)} releases)"

    @cached_property
    def state(self) -> Any:
        """The public state at the end: the fold of what was learnt from the answers."""
        return fold(self.plan, self.answers)

    @cached_property
    def spread(self) -> "Spread":
        """How far the mechanism alone moves the model, estimated."""
        from dpscd.model.spread import spread_of  # not needed to predict

        return spread_of(self)

    @property
    def deviations(self) -> tuple[Floats, Floats, Floats]:
        """What bands of coefficients and intercepts are made of; NaN where there is nothing.

        Estimated, or else proved. The third are those of coefficients with chance in the
        records: what is clear lies outside of them.
        """
        spread = self.spread
        if spread.why is None:
            return spread.coef, spread.intercept, spread.total
        missing = 1.0 if self.is_bounded else math.nan
        coef = missing * self.numbers.coef_noise
        return coef, missing * self.numbers.intercept_noise, coef

    @property
    def is_bounded(self) -> bool:
        """Whether the noise of training that is stated of each number is a proved bound.

        Proof: docs/proofs/noise_band.md.
        """
        facts = self.plan.facts
        columns = () if facts.schema is None else facts.schema.features
        rescaled = self.plan.listed("rescaling") is not None
        bent = any(column.monotone for column in columns)
        return facts.loss == "Squared" and not rescaled and not bent

    @property
    def has_intervals(self) -> bool:
        """Whether coefficients have confidence intervals."""
        return any(isinstance(one, Information) for one in self.plan.releases)

    @property
    def labels(self) -> Any:
        """Encoding of labels, by declared or released bounds."""
        return self.plan.facts.labels_with(self.numbers.bounds)

    @property
    def card(self) -> PrivacyCard:
        """What it guarantees."""
        return PrivacyCard(self.plan, self.seeded, self.versions, self.search)

    def verify(self) -> float:
        """Return the epsilon that is reached, composed again, or raise if anything disagrees.

        The releases must not exceed what is claimed, and what is learnt from the answers of a
        private fit must be, up to rounding, what predictions use.
        """
        sizes = [one.cost.size for one in self.plan.releases for _ in one.at]
        if sizes != [np.size(answer) for answer in self.answers]:
            raise ModelFileError("its answers are not those of its releases.")
        if self.plan.target.private:
            self._check_fold()  # first: to compose a plan that no fit had may take long
        return self.card.verify()

    def _check_fold(self) -> None:
        try:
            with np.errstate(all="ignore"):
                found = numbers_of(self.state).arrays()
        except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError, DpscdError):
            found = {}
        for name, own in self.numbers.arrays().items():
            other = found.get(name)
            good = other is not None and other.shape == own.shape
            if good:
                near = _WITHIN * np.abs(other[np.isfinite(other)]).max(initial=0.0)
                good = np.allclose(own, other, rtol=_WITHIN, atol=near)
            if not good:
                raise ModelFileError(f"its {name} are not what its answers give.")


def run(
    plan: Plan,
    store: RecordStore | ScoredRecords,
    source_of: Callable[[str], Source],
    *,
    progress: Callable[[int], None] | None = None,
    observer: Observer | None = None,
) -> tuple[Any, tuple[Floats, ...]]:
    """Ask every release of the plan, in order; return the last state and all answers.

    `source_of` returns another fresh source of randomness for every text.

    Guarantee: the answers, hence the model, satisfy ``plan.claim()``.
    Proof: docs/proofs/moments.md, docs/proofs/shared_vector.md and docs/proofs/after.md.
    """
    state, answers = plan.main.begins(plan), []
    # One source for each text: a stream of it that is used twice raises StreamError.
    stores = Stores(store, functools.cache(source_of), progress, observer)
    for release in plan.releases:
        for time in release.at:
            answers.append(release.answered(release.query(state), stores, time))
            state = release.learn(state, answers[-1])
        if isinstance(release, Bounds):
            stores.store.bound(state.bounds)
    return state, tuple(answers)


def fold(plan: Plan, answers: Iterable[Floats]) -> Any:
    """Return the state that follows from the answers of a plan."""
    state, left = plan.main.begins(plan), iter(answers)
    for release in plan.releases:
        for _ in release.at:
            state = release.learn(state, next(left))
    return state


def numbers_of(state: Any) -> Any:
    """Return what predictions use; of a score, its estimate."""
    if isinstance(state, Estimate):
        return state
    facts = state.facts
    link = link_of(state) if facts.loss == "Logistic" else None
    return prediction_numbers(facts, state.trained, state.bounds, link)


def prediction_numbers(
    facts: Facts, model: Model, bounds: tuple[tuple[float, float], ...], link: Link | None
) -> Numbers:
    """Return what predictions of a model use, in the units of users."""
    intercept, coef = model.intercept, model.coef
    if facts.task == "counts":  # inside, exposures are in units of the usual one
        shift = math.log(facts.labels.usual)
        intercept = intercept - shift if facts.intercept else np.zeros_like(intercept)
    standard, means, unseen = model.runs[-1].standard, None, None
    if standard is not None:
        unseen = standard.scale == 0.0
        means = standard.centre * facts.row_bound if standard.centre.any() else None
    coef_noise = np.broadcast_to(model.coef_noise, coef.shape)
    if facts.schema is not None:
        named = dict(zip(facts.private, bounds, strict=True))
        projected = made_monotone(facts.schema, named, coef, coef_noise)
        if means is not None:  # the average prediction stays where training put it
            intercept = intercept + (coef - projected) @ means
        coef = projected
    return Numbers(
        coef,
        intercept,
        np.array(coef_noise),
        np.array(np.broadcast_to(model.intercept_noise, intercept.shape)),
        model.longest_row,
        link,
        means,
        unseen,
        bounds,
    )
