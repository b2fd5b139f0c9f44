"""What tests of both kinds of canaries play with: a short plan, and a path that is kept."""

from dataclasses import replace

import numpy as np
import pytest

from dpscd.audit import Mechanism
from dpscd.audit.audit import fit_to, saturated
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation


def estimator(model, **parameters):
    """A model whose plan is short: 100 lots of a quarter of the records or persons."""
    chosen = {"delta": 1e-5, "lot_size": 260, "epochs": 25, "fit_intercept": False}
    return model(1.0, **{**chosen, **parameters})


def fitted(model, game, **parameters):
    """Return a saturated model, fitted to half of the canaries, its mechanism and the data."""
    subject = saturated(estimator(model, **parameters), game)
    present = np.arange(game.canaries) % 2 == 0
    fit_to(subject, game, present)
    mechanism = Mechanism.of_fit(subject)
    relation = mechanism.training.relation
    return subject, mechanism, game.dataset(present, relation, subject.row_bound)


class Recorder:
    """Keeps the path of the canaries' coordinates."""

    def __init__(self):
        self.increments = []

    def see(self, increments):
        self.increments.append(increments)

    @property
    def path(self):
        return np.cumsum(self.increments, axis=0)


class NoNoise:
    def draw(self, _source, _first, steps, size):
        return np.zeros((steps, size))


def check_every_participation(mechanism, data):
    """Without noise the increments are the contributions, and every one is a whole clip.

    Up to the margin of the clip and the grid of the shared vector.
    """
    recorder = Recorder()
    replace(mechanism, noise=NoNoise()).play(data, SeededSource(b"0"), recorder)
    moves, training = np.array(recorder.increments), mechanism.training
    absent = -mechanism.shift if training.relation is Relation.REPLACE_ONE else 0.0
    for world, size in ((data.present, mechanism.shift), (~data.present, absent)):
        drawn = moves[:, world] != 0.0
        assert np.abs(moves[:, world][drawn] - size).max(initial=0.0) < training.noise.grid
        assert drawn.mean() == pytest.approx(0.0 if size == 0.0 else 1 / 3, abs=0.05)


def check_what_ships(subject, mechanism, data, canaries, seed):
    """The mechanism that is audited gives the model that the fit of this seed gave."""
    recorder = Recorder()
    mechanism.play(data, SeededSource(seed), recorder)
    training, problem = mechanism.training, mechanism.problem
    average = recorder.path[training.average_from :].mean(axis=0)
    coef = average / (problem.strength * problem.scale)
    np.testing.assert_allclose(np.ravel(subject.coef_)[:canaries], coef, rtol=1e-9)
