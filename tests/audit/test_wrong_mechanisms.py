"""Mistakes put in on purpose: the auditor finds each, and passes the right mechanism."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from wrong import (
    Silent,
    Wrong,
    clip_per_row,
    less_noise,
    no_clip,
    noise_on_touched_coordinates,
    quick,
    two_persons_of_one,
    with_parts,
)

from dpscd import DPLogisticRegression, DPRidge, TableModel
from dpscd.audit import (
    FitCase,
    Population,
    ScoreCase,
    SearchCase,
    TableCase,
    TrainingCase,
    audit,
)
from dpscd.estimators import fitting
from dpscd.estimators.private_score import private_score
from dpscd.privacy.draws import Lots, PoissonLots
from dpscd.privacy.random import Purpose, source_for
from dpscd.releases.moments import MomentsQuery
from dpscd.releases.score import Score
from dpscd.releases.training import Pilot
from dpscd.solvers import threads
from plans import make_plan

CLAIM = 4.0


def training_for(population, *, rate, steps):
    return make_plan(
        n=population.records, d=population.features, intercept=False, lam=1e9, steps=steps,
        rate=rate, clip=1.0 / (8 * steps), separability=rate * population.records,
        averaging=0.5,
    ).calibrated().training  # fmt: skip


# The training itself.

MANY = Population(canaries=1000, ordinary=40)
RIGHT = training_for(MANY, rate=0.25, steps=100)


class HalfTheNoise(Wrong):
    def draw(self, *given):
        return 0.5 * self.right.draw(*given)


class EveryMemberTwice(Wrong):
    def draw(self, *given):
        lots = self.right.draw(*given)
        return Lots(np.repeat(lots.ids, 2), 2 * lots.starts)


def test_the_right_mechanism_passes():
    assert not audit(TrainingCase(RIGHT, MANY), trials=5000, random_state=0).exceeded


@pytest.mark.full
@pytest.mark.parametrize(
    "parts",
    [
        {"noise": HalfTheNoise(RIGHT.noise)},
        {"lots": EveryMemberTwice(RIGHT.lots)},
        {"lots": PoissonLots(2.0 * RIGHT.rate)},
        {"step": noise_on_touched_coordinates},
        {"step": no_clip},
    ],
    ids=["half the noise", "twice in a lot", "twice the rate", "noise on touched", "no clip"],
)
def test_a_mistake_in_training_is_found(parts, monkeypatch):
    parts = dict(parts)
    if "step" in parts:
        monkeypatch.setattr(threads, "advance", parts.pop("step"))
    wrong = TrainingCase(with_parts(RIGHT, **parts), MANY)
    result = audit(wrong, trials=5000, random_state=0)
    assert result.exceeded
    assert result.epsilon_lower > 1.3


# With lots of a fixed size every lot has the same number of members, so the lot of an
# empty canary is one short, which its companions show. Its place is as good as known, and
# nothing is left of amplification by sampling.

LOTS = 100


def largest_increment(walk):
    """Return how far the lot that was moved furthest against the companions was moved."""
    canaries = walk.problem.d
    return np.max([moved[0, :canaries] for _, moved in walk.increments()], axis=0)


class ShuffledLots:
    """Cuts the shuffled records of each canary's block into lots, once an epoch."""

    skips = PoissonLots(1.0 / LOTS).skips

    def __init__(self, block):
        self.block = block

    def draw(self, source, first, steps, rows):
        if first == 0:
            words = source.words(Purpose.LOTS, 0, 1, rows)[0].reshape(-1, self.block)
            ids = np.argsort(words, axis=1) + self.block * np.arange(len(words))[:, None]
            members = ids.reshape(len(words), LOTS, -1).swapaxes(0, 1)
            self.members = members.reshape(LOTS, -1)
        chosen = self.members[first : first + steps]
        return Lots(chosen.ravel(), chosen.shape[1] * np.arange(steps + 1))


@dataclass(frozen=True)
class TruncatedLots:
    """Draws Poisson lots and keeps the first few members of each canary's block."""

    honest: PoissonLots
    block: int
    capacity: int

    @property
    def skips(self):
        return self.honest.skips

    def draw(self, source, first, steps, rows):
        lots = self.honest.draw(source, first, steps, rows)
        place = np.arange(len(lots.ids))
        step = np.searchsorted(lots.starts, place, side="right") - 1
        owner = step * rows + lots.ids // self.block
        new = np.r_[True, owner[1:] != owner[:-1]]
        kept = place - np.maximum.accumulate(place * new) < self.capacity
        starts = np.r_[0, np.cumsum(kept)][lots.starts]
        return Lots(lots.ids[kept], starts)


@pytest.mark.full
@pytest.mark.parametrize(
    ("canaries", "block", "lots", "found"),
    [
        (200, 2 * LOTS, lambda right: right, False),
        (200, 2 * LOTS, lambda _: ShuffledLots(2 * LOTS), True),
        (100, 500, lambda right: TruncatedLots(right, block=500, capacity=1), True),
    ],
    ids=["Poisson", "shuffled lots accounted as Poisson", "a truncated lot buffer"],
)
def test_lots_of_fixed_size_are_found(canaries, block, lots, found):
    population = Population(canaries, companions=block - 1, ordinary=0)
    training = training_for(population, rate=1.0 / LOTS, steps=LOTS)
    wrong = with_parts(training, lots=lots(training.lots))
    case = TrainingCase(wrong, population, statistic=largest_increment)
    (bound,) = audit(case, trials=20_000, random_state=0).bounds
    # This curve is not Gaussian: only the bound that assumes nothing counts.
    assert (bound.clopper_pearson > 1.0) == found


# The step of a person.


@pytest.mark.parametrize(
    ("step", "rows", "weight", "least"),
    [
        pytest.param(clip_per_row, 5, "sum", 2.5, marks=pytest.mark.full),
        pytest.param(clip_per_row, 5, "share", 2.5, marks=pytest.mark.full),
        (clip_per_row, 20, "sum", 10.0),
        (clip_per_row, 1, "sum", None),  # right for one row
        (two_persons_of_one, 5, "sum", 1.3),
    ],
)
def test_a_wrong_step_of_persons_is_found(step, rows, weight, least, monkeypatch):
    monkeypatch.setattr(threads, "advance", step)
    estimator = quick(DPRidge, person_weight=weight)
    case = FitCase(estimator, ordinary=40, person_rows=rows)
    result = audit(case, trials=5000, random_state=0)
    assert result.exceeded == (least is not None)
    assert least is None or result.epsilon_lower > least


# Behind the entrance of fits.


class TwiceInMoments(Wrong):
    """Sums twice as large as their noise is made for: half the noise."""

    def total(self, query):
        return (2.0 if isinstance(query, MomentsQuery) else 1.0) * self.right.total(query)


class SilentPilot(Wrong):
    """A pilot without noise."""

    def train(self, problem, plan, source, *others):
        if isinstance(plan, Pilot):
            source = Silent(source, lambda width: slice(width))
        return self.right.train(problem, plan, source, *others)


class SilentOutput(Wrong):
    """The last of three classes trained without noise."""

    def train(self, problem, plan, source, *others):
        source = Silent(source, lambda width: slice(2 * width // 3, width))
        return self.right.train(problem, plan, source, *others)


class Mistake(Wrong):
    """A source of the same records, in a holder that does something wrong."""

    def __init__(self, right, wrong):
        super().__init__(right)
        self.wrong = wrong

    def __enter__(self):
        records = self.right.__enter__()
        return replace(records, read=lambda *given: self.wrong(records.read(*given)))

    def __exit__(self, *error):
        return self.right.__exit__(*error)


def with_holder(model, wrong):
    """A model that is fitted as users do, by a holder that does one thing wrong."""

    class Mistaken(model):
        def fit_records(self, opened, **more):
            return super().fit_records(Mistake(opened, wrong), **more)

    return Mistaken


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "wrong", "where", "options"),
    [
        (DPRidge, TwiceInMoments, "moments", {"standardise": True}),
        (DPRidge, SilentPilot, "pilot", {"standardise": True}),
        (DPLogisticRegression, SilentOutput, "shared vector output 3", {"classes": [0, 1, 2]}),
    ],
)
def test_mistakes_behind_the_door_are_noticed(model, wrong, where, options):
    def found(kind):
        case = FitCase(quick(kind, CLAIM, lot_size=275, epochs=5, **options), "mistaken")
        return audit(case, trials=4000, random_state=0)

    right = found(model)
    assert not any(bound.exceeded for bound in right.bounds[2:])
    assert found(with_holder(model, wrong))[where].exceeded


class FillsForward(TableModel):
    """A door that mends records it cannot read from the one before: one cell, two records."""

    def _fit(self, table, *others):
        listed = {str(value) for value in self.schema.columns[0].values}
        known = table["level"].map(lambda cell: str(cell).removesuffix(".0") in listed)
        return super()._fit(table.where(known).ffill(), *others)


@pytest.mark.full
@pytest.mark.parametrize("door", [TableModel, FillsForward])
def test_a_cell_that_changes_another_record_is_noticed(door):
    case = TableCase(quick(DPLogisticRegression, CLAIM, lot_size=250), door=door)
    assert audit(case, trials=2000, random_state=0).exceeded == (door is FillsForward)


@pytest.mark.full
@pytest.mark.parametrize("silent", [False, True])
def test_a_histogram_without_noise_is_noticed_and_keeps_its_own_claim_with_it(
    silent, monkeypatch
):
    def quiet(*asked):
        return Silent(source_for(*asked), slice, Purpose.BOUNDS)

    if silent:
        monkeypatch.setattr(fitting, "source_for", quiet)
    estimator = quick(DPLogisticRegression, CLAIM, lot_size=47, epochs=5)
    case = TableCase(estimator, canaries=94, private=True)
    assert audit(case, trials=500, random_state=0)["bounds"].exceeded == silent


# Scores and searches. At epsilon 4 the claim has mu 0.96, half the noise 1.92. With 300 trials
# in each world the lower bound on mu is less by 0.3, with a standard deviation of 0.11.

CELLS = ScoreCase("cells", "confusion", {"epsilon": CLAIM}, classes=8, canaries=64)
ALONE = ScoreCase("alone", "accuracy", {"epsilon": CLAIM})


@pytest.mark.full
def test_half_the_noise_of_a_score_is_noticed(monkeypatch):
    assert not audit(CELLS, trials=1000, random_state=0).exceeded
    assert not audit(ALONE, trials=300, random_state=0).exceeded
    monkeypatch.setattr(Score, "answered", less_noise(0.5))
    assert audit(CELLS, trials=1000, random_state=0).epsilon_lower > 1.5 * CLAIM
    found = audit(ALONE, trials=300, random_state=0)
    assert min(found.epsilon_lower, found["value alone"].gaussian) > CLAIM


def by_row(*records, **chosen):
    del chosen["groups"]
    return private_score(*records, **chosen)


@pytest.mark.full
@pytest.mark.parametrize("score", [private_score, by_row])
def test_a_person_that_counts_once_a_row_is_noticed(score):
    case = replace(CELLS, person_rows=5, score=score)
    assert audit(case, trials=500, random_state=0).exceeded == (score is by_row)


@pytest.mark.full
def test_scores_of_a_search_with_a_fifth_of_the_noise_are_noticed(monkeypatch):
    case = SearchCase("search", {"epsilon": CLAIM, "delta": 1e-5}, trained=False)
    monkeypatch.setattr(Score, "answered", less_noise(0.2))
    assert audit(case, trials=120, random_state=0).epsilon_lower > CLAIM
