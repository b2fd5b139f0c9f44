"""Records that are divided give the model of one machine, whatever is lost on the way."""

import dataclasses
import os
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from one_machine import OneMachine

from dpscd.errors import DataError, ParameterError, WorkerError
from dpscd.model.fit import run
from dpscd.privacy import draws
from dpscd.privacy.draws import capacity_of
from dpscd.privacy.random import LotsSource, Purpose, SeededSource
from dpscd.records.labels import NumberLabels
from dpscd.releases.base import Residuals
from dpscd.releases.bounds import HistogramQuery, bin_counts
from dpscd.releases.moments import DistanceQuery, LabelQuery, MomentsQuery, ResidualQuery
from dpscd.solvers import shard as shards
from dpscd.solvers import sharded
from dpscd.solvers.shard import Shard
from dpscd.solvers.sharded import LOST, Sharded, ShardPool
from drawn import RecordingSource
from plans import make_plan

N, D = 400, 3


def planned(*, loss="Squared", pilot=False, **changes):
    values = {
        "n": N, "d": D, "lam": 0.03, "steps": 60, "rate": 0.1, "clip": 0.05,
        "separability": 40.0, "averaging": 0.4, "noise_multiplier": 0.5,
    }  # fmt: skip
    labels = {"labels": NumberLabels(5.0, 15.0)} if loss == "Squared" else {}
    first = {"facts": {"loss": loss, **labels}}
    if pilot:
        first |= {"moments_noise": 0.5, "label_noise": 0.5}
        first["pilot"] = {"lam": 0.02, "steps": 20, "clip": 0.15}
    return make_plan(**{**values, **first, **changes})


def problem_of(plan):
    return plan.facts.problem(plan.training.lam)


def data(loss="Squared", outputs=1):
    rng = np.random.default_rng(0)
    X = 0.2 + 0.2 * rng.normal(size=(N, D))
    y = 9.0 + 3.0 * (X[:, 0] - X[:, 1]) + 0.1 * rng.normal(size=N)
    if loss != "Squared":
        y = np.sign(y - 9.0) if outputs == 1 else np.arange(N) % outputs * 1.0
    return X, y, rng.choice([0.0, 1.0, 2.0], size=N)


class Piece:
    """A part of records that are in memory."""

    count = None

    def __init__(self, *arrays):
        self.arrays = arrays
        self.loads = 0

    def load(self):
        self.loads += 1
        return self.arrays


@dataclasses.dataclass(frozen=True)
class Plain:
    """A reader of such parts."""

    sparse: bool = False
    features: int = D
    bounds: tuple = ()
    persons = None

    def count(self, part):
        return part[0].shape[0]

    def columns(self, part):
        return [part[0][:, 0]], None

    def with_bounds(self, pairs):
        return dataclasses.replace(self, bounds=tuple(pairs))

    def records(self, part):
        X, y, weights = part
        return (scipy.sparse.csr_array(X) if self.sparse else X), y, weights


class Near:
    """Shards in this process, some of which are lost at some calls."""

    def __init__(self, arrays, cuts, *, reader=None, room=None, losses=()):
        bounds = [0, *cuts, len(arrays[1])]
        self.reader, self.room = reader or Plain(), room
        self.pieces = [
            # Two parts a shard, the first of them empty now and then.
            [Piece(*(a[low:middle] for a in arrays)), Piece(*(a[middle:high] for a in arrays))]
            for low, high in pairwise(bounds)
            for middle in [low + (high - low) // 3]
        ]
        self.shards = [Shard(piece, self.reader, room) for piece in self.pieces]
        self.losses, self.calls, self.refills = list(losses), [], 0
        self.changes = {}  # what parts of a shard have when one is made anew

    def __len__(self):
        return len(self.shards)

    def call(self, asked, method, args):
        replies = []
        for number, own in zip(asked, args, strict=True):
            self.calls.append((number, method, own))
            if self.shards[number] is not None and self.losses:
                where, what, when = self.losses[0]
                if (number, method) == (where, what) and when in (None, own[0], type(own[0])):
                    self.losses.pop(0)
                    self.shards[number] = None
            shard = self.shards[number]
            replies.append(LOST if shard is None else getattr(shard, method)(*own))
        return replies

    def refill(self, number):
        self.refills += 1
        for (shard, part), arrays in self.changes.items():
            self.pieces[shard][part].arrays = arrays
        self.shards[number] = Shard(self.pieces[number], self.reader, self.room)

    def read_with(self, reader):
        self.reader = reader


def begin(shard, plan, count):
    lots = LotsSource.of(SeededSource(b""))
    shard.begin(problem_of(plan), plan.training, lots, 0, count, None)


def sources(part):
    return SeededSource(b"seed", part)


def held_by(transport):
    pool = ShardPool(transport)
    return Sharded(pool, pool.ask("count"), transport.reader)


def divided(plan, arrays, cuts, near=Near, **options):
    transport = near(arrays, cuts, **options)
    return run(plan, held_by(transport), sources)[0].model, transport


def whole(plan, arrays, sparse=False, **options):
    X, y, weights = arrays
    X = scipy.sparse.csr_array(X) if sparse else X
    return run(plan, OneMachine(X, y, weights, **options), sources)[0].model


def same(found, expected):
    np.testing.assert_array_equal(found.coef, expected.coef)
    np.testing.assert_array_equal(found.intercept, expected.intercept)
    assert np.abs(found.coef).max() > 0.0


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Bits for 400 records, not for 16384: the interpreter takes its time."""
    monkeypatch.setattr(draws, "_BLOCK", 64)


CUTS = [[], [130], [1, 1, 90, 399]]


@pytest.mark.full
@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize(
    ("loss", "outputs"), [("Squared", 1), ("Logistic", 3), ("Hinge", 1), ("Softmax", 3)]
)
@pytest.mark.parametrize("kind", ["packed", "floats", "sparse"])
def test_divided_records_give_the_model_of_one_machine(kind, loss, outputs, cuts):
    noise = 1e-4 if kind == "floats" else 0.5
    plan = planned(loss=loss, outputs=outputs, noise_multiplier=noise)
    assert plan.training.fixed_point == (kind != "floats")
    arrays, sparse = data(loss, outputs), kind == "sparse"
    found, _ = divided(plan, arrays, cuts, reader=Plain(sparse=sparse))
    same(found, whole(plan, arrays, sparse))


@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_moments_and_a_pilot_are_those_of_one_machine_too(intercept, sparse, cuts):
    plan = planned(pilot=True, intercept=intercept)
    arrays = data()
    found, _ = divided(plan, arrays, cuts, reader=Plain(sparse=sparse))
    same(found, whole(plan, arrays, sparse=sparse))


@pytest.mark.parametrize(
    "losses",
    [
        [(0, "step", 0)],
        [(1, "step", 7)],
        [(1, "step", 7), (1, "begin", None)],
        [(2, "step", 7), (2, "replay", 0), (2, "replay", 4), (2, "step", 7)],
        [(2, "total", MomentsQuery), (0, "total", LabelQuery), (1, "total", ResidualQuery)],
        [(1, "begin", None), (0, "step", 3), (1, "step", 3), (2, "step", 19)],
    ],
    ids=lambda losses: "-".join(what for _, what, _ in losses),
)
def test_whatever_is_lost_the_model_is_the_same(losses, monkeypatch):
    monkeypatch.setattr(sharded, "_PATH", 16)  # four vectors of four numbers at once
    plan, arrays = planned(pilot=True), data()
    expected = whole(plan, arrays)
    found, transport = divided(plan, arrays, [100, 250], losses=losses)
    same(found, expected)
    assert not transport.losses
    assert transport.refills == len(losses)


@pytest.mark.full
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("kind", ["packed", "floats", "sparse"])
def test_every_shard_has_the_damping_of_the_path(kind, lost, monkeypatch):
    monkeypatch.setattr(sharded, "_PATH", 16)
    noise = 1e-4 if kind == "floats" else 0.5
    plan = planned(
        lam=1e-4, steps=240, noise_multiplier=noise, separability=1.0, most_separability=40.0
    )
    losses = [(1, "step", 25), (0, "step", 55)] if lost else []
    arrays, sparse = data(), kind == "sparse"
    found, transport = divided(
        plan, arrays, [100, 250], reader=Plain(sparse=sparse), losses=losses
    )
    same(found, whole(plan, arrays, sparse=sparse))
    assert transport.refills == len(losses)
    never = planned(lam=1e-4, steps=240, noise_multiplier=noise, separability=1.0)
    assert (whole(never, arrays, sparse=sparse).coef != found.coef).all()  # it does rise


def test_a_new_shard_repeats_every_step_once_and_in_order():
    plan, arrays = planned(), data()
    _, transport = divided(plan, arrays, [200], losses=[(1, "step", 30)])
    calls = [(method, own[0]) for number, method, own in transport.calls if number == 1 and own]
    lost = calls.index(("step", 30))
    methods = [method for method, _ in calls[lost : lost + 4]]
    assert methods == ["step", "begin", "replay", "step"]
    assert calls[lost + 3] == ("step", 30)


def test_records_that_changed_meanwhile_end_the_fit():
    plan, arrays = planned(), data()
    transport = Near(arrays, [200], losses=[(1, "step", 30)])
    held = held_by(transport)
    other = [a.copy() for a in transport.pieces[1][1].arrays]
    other[0][:] *= -1.0
    transport.changes[1, 1] = other
    with pytest.raises(WorkerError, match="not what it was"):
        run(plan, held, sources)


@pytest.mark.parametrize("more", [1, -1])
@pytest.mark.parametrize(
    "loss", [(0, "total", LabelQuery), (0, "begin", None), (0, "step", 0), (0, "step", 30)],
    ids=str,
)  # fmt: skip
def test_a_new_shard_with_another_number_of_records_ends_the_fit(loss, more):
    """Its last record would have the bits of the first record of the next shard."""
    plan, arrays = planned(pilot=True), data()
    transport = Near(arrays, [200], losses=[loss])
    held = held_by(transport)
    transport.changes[0, 1] = [a[66 : 200 + more] for a in arrays]
    with pytest.raises(WorkerError, match="another number of records"):
        run(plan, held, sources)
    assert transport.refills == 1


@pytest.mark.parametrize("kind", ["packed", "floats", "sparse"])
def test_a_change_that_the_last_lot_does_not_show_ends_the_fit_too(kind):
    """A record that was in an early lot, but not in the one before the loss."""
    plan = planned(noise_multiplier=1e-4 if kind == "floats" else 0.5)
    arrays, sparse = data(), kind == "sparse"
    arrays[2][:] = 1.0
    transport = Near(arrays, [200], reader=Plain(sparse=sparse), losses=[(1, "step", 30)])
    held = held_by(transport)
    lots = LotsSource.of(sources(""))
    main = plan.training
    last = main.lots.members(lots, 29, 200, N)
    # Records from 266 on are in the second part of the second shard.
    early = [i for t in range(29) for i in main.lots.members(lots, t, 266, N) if i not in last]
    other = [a.copy() for a in transport.pieces[1][1].arrays]
    other[1][early[0] - 266] -= 2.0
    transport.changes[1, 1] = other
    with pytest.raises(WorkerError, match="not what it was"):
        held.train(problem_of(plan), main, sources(""), None, None, None)


@pytest.mark.parametrize("more", [1, -1])
def test_records_that_became_more_or_fewer_are_refused(more):
    plan, arrays = planned(), data()
    piece = Piece(*(a[:200] for a in arrays))
    shard = Shard([piece], Plain())
    shard.count()
    piece.arrays = [a[: 200 + more] for a in arrays]
    with pytest.raises(WorkerError, match="another number of records"):
        begin(shard, plan, 200)


def test_a_place_where_everybody_is_lost_ends_the_fit():
    plan, arrays = planned(), data()
    with pytest.raises(WorkerError, match="10 times"):
        divided(plan, arrays, [200], losses=[(0, "step", 5)] * 100)


def test_steps_out_of_turn_are_refused():
    plan, arrays = planned(), data()
    shard = Shard([Piece(*arrays)], Plain())
    shared = np.zeros((1, 4))
    with pytest.raises(WorkerError, match="out of turn"):
        shard.step(0, shared)
    begin(shard, plan, N)
    shard.step(0, shared)
    for number in (0, 2):
        with pytest.raises(WorkerError, match="out of turn"):
            shard.step(number, shared)


def test_noise_is_drawn_once_for_all_shards_and_never_leaves():
    log, plan, arrays = [], planned(), data()
    transport = Near(arrays, [100, 250])
    held = held_by(transport)
    run(plan, held, lambda part: RecordingSource(b"seed", part, calls=log))
    assert [call[:3] for call in log] == [
        (Purpose.LOTS_KEY, 0, 1),
        (Purpose.NOISE, 0, plan.training.steps),
    ]
    sent = [value for _, _, own in transport.calls for value in own]
    assert not any(isinstance(value, SeededSource) for value in sent)


def test_without_signal_the_model_is_the_noise_of_one_source():
    """Noise added by every shard would be larger, and none of it would be missed."""
    plan = planned(averaging=0.0, noise_multiplier=3.0)
    X, y, _ = data()
    arrays = X, y, np.zeros(N)
    transport = Near(arrays, [100, 250])
    problem, held, main = problem_of(plan), held_by(transport), plan.training
    found = held.train(problem, main, SeededSource(b"noise"), None, None, None)
    normals = main.noise.draw(SeededSource(b"noise"), 0, main.steps, main.size)
    moved = np.floor(main.noise.spread * normals + 0.5).sum(axis=0)
    np.testing.assert_array_equal(found[0], main.noise.grid * moved)


@pytest.mark.full
@pytest.mark.parametrize("room", [1, 3000, 10**9])
def test_little_memory_does_not_change_the_model(room):
    plan, arrays = planned(pilot=True), data()
    expected = whole(plan, arrays)
    found, transport = divided(plan, arrays, [130], room=room)
    same(found, expected)
    loads = [piece.loads for pieces in transport.pieces for piece in pieces]
    # Counted, then read for moments, labels, distances, pilot, what it left, training.
    assert set(loads) == ({2} if room == 10**9 else {7})


def test_a_shard_without_records_adds_nothing():
    plan = planned(pilot=True)
    empty = np.empty((0, D)), np.empty(0), np.empty(0)
    for sparse in (False, True):
        shard = Shard([Piece(*empty)], Plain(sparse=sparse))
        problem = problem_of(plan)
        assert shard.count() == 0
        for query in (LabelQuery(N, problem), MomentsQuery(N, problem)):
            assert not shard.total(query).any()
        begin(shard, plan, 0)
        assert not shard.step(0, np.zeros((1, 4))).any()


def test_cells_are_counted_over_all_shards():
    arrays = data()
    pool = ShardPool(Near(arrays, [130]))
    query = HistogramQuery(N, (np.linspace(-1.0, 2.0, 129),))
    total = np.sum(pool.ask("total", query), axis=0)
    expected = bin_counts(Plain().columns(arrays)[0], query.limits)
    np.testing.assert_array_equal(total / total.max(), expected / expected.max())
    assert expected.max() > 1


def test_another_reader_is_used_from_then_on_and_by_new_shards():
    arrays = data()
    transport = Near(arrays, [130], losses=[(1, "total", MomentsQuery)])
    pool = ShardPool(transport)
    problem = problem_of(planned())
    labels, moments = LabelQuery(N, problem), MomentsQuery(N, problem)
    before = pool.ask("total", labels)

    @dataclasses.dataclass(frozen=True)
    class Shifted(Plain):
        def records(self, part):
            X, y, weights = super().records(part)
            return X, y + 1.0, weights

    pool.read_with(Shifted())
    pool.ask("total", moments)
    assert all(np.greater(pool.ask("total", labels), before))


def test_a_total_of_another_shape_is_refused():
    held = Sharded(ShardPool(Near(data(), [130])), [130, 270], Plain())
    held._pool.ask = lambda *_: [np.zeros((2, D)), np.zeros(D)]
    with pytest.raises(WorkerError, match="shape of its query"):
        held.total(MomentsQuery(N, problem_of(planned())))


def test_released_bounds_reach_all_shards():
    transport = Near(data(), [130])
    held = held_by(transport)
    held.bound([(0.0, 1.0)])
    assert transport.reader.bounds == ((0.0, 1.0),)
    assert all(shard._reader is transport.reader for shard in transport.shards)


def test_plans_for_others_and_too_many_records_are_refused():
    plan, arrays = planned(pilot=True), data()
    pool = ShardPool(Near(arrays, []))
    held = Sharded(pool, [capacity_of(plan.training.n) + 1], Plain())
    problem, rest = problem_of(plan), (plan.training, SeededSource(b""), None, None, None)
    for call in (
        lambda: held.total(LabelQuery(N, problem)),
        lambda: held.total(DistanceQuery(N, problem, 0.0)),
        lambda: held.total(MomentsQuery(N, problem)),
        lambda: held.total(ResidualQuery(N, Residuals(problem, np.zeros((1, 4)), 1.0))),
        lambda: held.train(problem, *rest),
    ):
        with pytest.raises(DataError, match="far more records"):
            call()
    with pytest.raises(ParameterError, match="another problem"):
        held.train(dataclasses.replace(problem, lam=1.0), *rest)


def test_the_path_of_a_training_on_workers_is_not_observed():
    plan, held = planned(), held_by(Near(data(), [130]))
    with pytest.raises(ParameterError, match="not observed"):
        held.train(problem_of(plan), plan.training, sources(""), None, None, object())


def test_progress_counts_every_step():
    plan, arrays, done = planned(), data(), []
    held = held_by(Near(arrays, [130]))
    run(plan, held, sources, progress=done.append)
    assert sum(done) == plan.training.steps


def test_a_system_that_cannot_reserve_disk_is_fine(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    area = shards._OnDisk(None).bytes(5000)
    assert len(area) == 5000
    assert not area.any()
    area[4999] = 1


def test_pieces_on_disk_are_the_whole_lot():
    plan, arrays = planned(), data()
    shard = Shard([Piece(*arrays)], Plain(), room=4000)
    begin(shard, plan, N)
    pack = shard._training.rows
    for ids in (np.arange(N), np.array([3, 399]), np.empty(0, np.int64)):
        pieces = list(shard._pieces(ids, pack))
        np.testing.assert_array_equal(np.concatenate(pieces), ids)
        span = int(shards._PIECE * 4000) // pack.cells.strides[0]
        assert all(np.ptp(piece) < span for piece in pieces if len(piece))
