"""What tests of the audit share: parts that are wrong on purpose, and what a case plays."""

from dataclasses import fields, replace

import numpy as np

from dpscd.audit import fits
from dpscd.audit.audit import World
from dpscd.kernels.lots import advance
from dpscd.kernels.persons import Persons
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.releases.base import SumRelease
from dpscd.releases.training import Training


def quick(model, epsilon=1.0, **parameters):
    """A model whose plan is short: 100 lots of a quarter of 1040 records or persons."""
    plain = {"delta": 1e-5, "lot_size": 260, "epochs": 25, "fit_intercept": False}
    return model(epsilon, **{**plain, "standardise": False, **parameters})


def world(present, seed=7):
    return World(np.asarray(present), SeededSource(b"%d" % seed), seed)


def played(case, present, monkeypatch, seed=7):
    """Play a fit; return it, its path and the canaries as they are attacked."""
    with monkeypatch.context() as patch:
        patch.setattr(fits, "evidence", lambda *given: given)
        _, (fit, path, suspects, _) = case.trial(world(present, seed))
    return fit, path.walks, suspects


def with_parts(training, **parts):
    """The same training, its claim with it, with another sampler or other noise."""
    wrong = {name: property(lambda _, part=part: part) for name, part in parts.items()}
    given = {field.name: getattr(training, field.name) for field in fields(training)}
    return type("Wrong", (Training,), wrong)(**given)


class Wrong:
    """Something that does one thing wrong; all else it leaves to the right one."""

    def __init__(self, right):
        self.right = right

    def __getattr__(self, name):
        return getattr(self.right, name)


class Silent(Wrong):
    """A source whose normals are constant in the coordinates for which `chosen` says so."""

    def __init__(self, right, chosen, purpose=Purpose.NOISE):
        super().__init__(right)
        self.chosen, self.purpose = chosen, purpose

    def words(self, purpose, first, steps, width):
        words = self.right.words(purpose, first, steps, width).copy()
        if purpose is self.purpose:
            words[:, self.chosen(width)] = np.uint64(2**63 + 2**62)
        return words


def less_noise(share):
    """An answer of a score with a share of its noise."""

    def answered(score, *asked):
        less = replace(score, noise_multiplier=share * score.noise_multiplier)
        return SumRelease.answered(less, *asked)

    return answered


def clip_per_row(loss, rows, records, numbers, ids, starts, *rest):
    """All rows of a person step, each with a clip of its own."""
    *rest, persons = rest
    sizes = np.diff(persons.starts)[ids]
    ends = np.append(0, np.cumsum(sizes))
    members = np.repeat(persons.starts[ids] - ends[:-1], sizes) + np.arange(ends[-1])
    advance(loss, rows, records, numbers, members, ends[starts], *rest)


def two_persons_of_one(loss, rows, records, numbers, ids, starts, *rest):
    """A person's first row belongs to somebody else: two spellings of an identifier."""
    *rest, persons = rest
    first = persons.starts[:-1]
    halves = np.append(np.stack([first, np.minimum(first + 1, persons.starts[1:])], 1),
                       persons.starts[-1])  # fmt: skip
    both = Persons(halves, np.zeros(2 * len(first), np.int64), persons.most)
    drawn = np.stack([2 * ids, 2 * ids + 1], 1).ravel()
    advance(loss, rows, records, numbers, drawn, 2 * starts, *rest, both)


def noise_on_touched_coordinates(
    loss, rows, records, numbers, ids, starts, normals, average_from, dual, shared, *rest
):
    touched = np.zeros(shared.shape[1], dtype=bool)
    for i in ids[records.weights[ids] > 0.0]:
        touched[rows.indices[rows.indptr[i] : rows.indptr[i + 1]]] = True
    advance(
        loss, rows, records, numbers, ids, starts, normals * touched, average_from, dual,
        shared, *rest,
    )  # fmt: skip


def no_clip(loss, rows, records, numbers, *rest):
    advance(loss, rows, records, numbers._replace(clip=1e9), *rest)
