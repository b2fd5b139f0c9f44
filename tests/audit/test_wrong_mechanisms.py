"""Mistakes put in on purpose: the auditor finds each, and passes the right mechanism."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpscd.audit import Game, Mechanism, audit
from dpscd.kernels.lots import advance
from dpscd.privacy.random import Purpose
from dpscd.privacy.sampling import Lots, PoissonLots
from plans import make_plan


def mechanism_for(game, *, rate, steps):
    plan = make_plan(
        n=game.records, d=game.features, intercept=False, lam=1e9, steps=steps, rate=rate,
        clip=1.0 / (8 * steps), separability=rate * game.records, averaging=0.5,
    ).calibrated()  # fmt: skip
    return Mechanism.planned(plan.training)


@dataclass(frozen=True)
class HalfTheNoise:
    honest: object

    def draw(self, source, first, steps, size):
        return 0.5 * self.honest.draw(source, first, steps, size)


@dataclass(frozen=True)
class EveryMemberTwice:
    honest: object

    def draw(self, source, first, steps, rows):
        lots = self.honest.draw(source, first, steps, rows)
        return Lots(np.repeat(lots.ids, 2), 2 * lots.starts)


def noise_on_touched_coordinates(
    loss, rows, records, numbers, ids, starts, normals, average_from, dual, shared, average
):
    touched = np.zeros(shared.shape[1], dtype=bool)
    for i in ids[records.weights[ids] > 0.0]:
        touched[rows.indices[rows.indptr[i] : rows.indptr[i + 1]]] = True
    advance(
        loss, rows, records, numbers, ids, starts, normals * touched, average_from, dual,
        shared, average,
    )  # fmt: skip


def no_clip(loss, rows, records, numbers, *rest):
    advance(loss, rows, records, numbers._replace(clip=1e9), *rest)


def few_steps_of_many_canaries():
    game = Game(canaries=1000, ordinary=40)
    return game, mechanism_for(game, rate=0.25, steps=100)


def test_the_right_mechanism_passes():
    game, right = few_steps_of_many_canaries()
    assert not audit(right, trials=5000, game=game, random_state=0).exceeded


@pytest.mark.full
@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(lambda m: replace(m, noise=HalfTheNoise(m.noise)), id="half the noise"),
        pytest.param(lambda m: replace(m, lots=EveryMemberTwice(m.lots)), id="twice in a lot"),
        pytest.param(
            lambda m: replace(m, step=noise_on_touched_coordinates),
            id="noise on touched coordinates",
        ),
        pytest.param(lambda m: replace(m, step=no_clip), id="clip skipped"),
        pytest.param(
            lambda m: replace(m, lots=PoissonLots(2.0 * m.training.rate)), id="twice the rate"
        ),
    ],
)
def test_a_mistake_is_found(mistake):
    game, right = few_steps_of_many_canaries()
    result = audit(mistake(right), trials=5000, game=game, random_state=0)
    assert result.exceeded
    assert result.epsilon_lower > 1.3


# With lots of a fixed size every lot has the same number of members, so the lot of an
# empty canary is one short, which its companions show. Its place is as good as known, and
# nothing is left of amplification by sampling.

LOTS = 100


class LargestIncrement:
    """Looks for the lot that was moved furthest against the companions."""

    def __init__(self):
        self.scores = -np.inf

    def see(self, increments):
        self.scores = np.maximum(self.scores, increments)


@dataclass(frozen=True)
class ShuffledLots:
    """Cuts the shuffled records of each canary's block into lots, once an epoch."""

    block: int

    def draw(self, source, first, steps, rows):
        assert first == 0
        assert steps == LOTS
        words = source.words(Purpose.LOTS, 0, 1, rows)[0].reshape(-1, self.block)
        ids = np.argsort(words, axis=1) + self.block * np.arange(len(words))[:, None]
        members = ids.reshape(len(words), steps, -1).swapaxes(0, 1).reshape(steps, -1)
        return Lots(members.ravel(), members.shape[1] * np.arange(steps + 1))


@dataclass(frozen=True)
class TruncatedLots:
    """Draws Poisson lots and keeps the first few members of each canary's block."""

    honest: PoissonLots
    block: int
    capacity: int

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
def test_shuffled_lots_accounted_as_poisson_are_found():
    game = Game(canaries=200, companions=2 * LOTS - 1, ordinary=0)
    right = mechanism_for(game, rate=1.0 / LOTS, steps=LOTS)
    wrong = replace(right, lots=ShuffledLots(2 * LOTS))
    for mechanism, found in ((right, False), (wrong, True)):
        result = audit(
            mechanism, trials=20_000, game=game, attack=LargestIncrement, random_state=0
        )
        # This curve is not Gaussian: only the bound that assumes nothing counts.
        assert (result.epsilon_lower_clopper_pearson > 1.0) == found


@pytest.mark.full
def test_a_truncated_lot_buffer_is_found():
    game = Game(canaries=100, companions=499, ordinary=0)
    right = mechanism_for(game, rate=1.0 / LOTS, steps=LOTS)
    wrong = replace(right, lots=TruncatedLots(right.lots, block=500, capacity=1))
    result = audit(wrong, trials=20_000, game=game, attack=LargestIncrement, random_state=0)
    assert result.epsilon_lower_clopper_pearson > 1.0
