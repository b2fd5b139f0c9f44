"""Canaries that are persons: one clip for all their rows, near the claim and never above it."""

from dataclasses import replace

import numpy as np
import pytest
from played import check_every_participation, check_what_ships, estimator
from played import fitted as played_fit

from dpscd import DPHuberRegressor, DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.audit import (
    PERSON_ROWS,
    EstimatorGame,
    Game,
    Mechanism,
    TableGame,
    audit,
    audit_door,
)
from dpscd.audit.audit import fit_to, saturated
from dpscd.audit.canaries import check_saturated, row_weights
from dpscd.audit.doors import estimator_doors, table_doors
from dpscd.errors import ParameterError
from dpscd.kernels.lots import advance
from dpscd.kernels.persons import Persons
from dpscd.persons import SHARE, SUM, PersonFacts
from dpscd.privacy.relation import Relation
from dpscd.solvers import threads

MODELS = [DPRidge, DPHuberRegressor, DPLogisticRegression, DPLinearSVC]
PRESENT = np.array([True, False, True, True, False])


def game(rows):
    return Game(canaries=1000, ordinary=40, person_rows=rows)


def fitted(model, rows, **parameters):
    small = Game(canaries=30, ordinary=30, person_rows=rows)
    return played_fit(model, small, lot_size=20, **parameters)


# Games.


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("relation", "sizes", "weights"),
    [
        # An absent person has one empty row, none, or as many rows as somebody else has.
        ("zero-out", [3, 1, 3, 3, 1], [1.0, 0.0, 1.0, 1.0, 0.0]),
        ("add-remove", [3, 3, 3], [1.0, 1.0, 1.0]),
        ("replace-one", [3, 2, 3, 3, 2], [1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_worlds_are_neighbours(relation, sizes, weights, rows):
    small = Game(canaries=5, ordinary=4, person_rows=rows)
    data = small.dataset(PRESENT, Relation(relation), 2.0)
    sizes = np.minimum(sizes, rows)
    assert np.diff(data.starts).tolist() == [*sizes, *np.minimum([1, 2, 3, 1], rows)]
    assert data.X.shape == (data.starts[-1], small.features) == (len(data.groups), 9)
    first = data.starts[: len(sizes)]
    assert data.weights[first].tolist() == weights
    for person, (begin, size) in enumerate(zip(first, sizes, strict=True)):
        rows = data.X[begin : begin + size].toarray()
        assert (data.groups[begin : begin + size] == person).all()
        assert (rows == rows[0]).all()
        assert np.abs(rows[0]).max() == 2.0
    if relation == "replace-one":
        assert data.X[first].diagonal()[:5].tolist() == [2.0, -2.0, 2.0, 2.0, -2.0]


def test_rows_of_a_person_are_scattered_before_they_are_given_to_fit():
    data = Game(canaries=5, ordinary=2, person_rows=3).dataset(PRESENT, Relation.ZERO_OUT, 1.0)
    groups = data.groups[data.scattered]
    assert groups[:7].tolist() == list(range(7))
    assert sorted(groups) == data.groups.tolist()


def test_persons_of_one_row_are_the_records_of_the_other_game():
    for relation in Relation:
        one, other = (
            Game(canaries=5, ordinary=4, companions=1, person_rows=rows).dataset(
                PRESENT, relation, 1.0
            )
            for rows in (None, 1)
        )
        assert (one.X != other.X).nnz == 0
        assert np.array_equal(one.starts, other.starts)
        assert np.array_equal(one.weights, other.weights)
        assert np.array_equal(one.targets, other.targets)


def test_a_person_has_a_row():
    with pytest.raises(ParameterError, match="person_rows=0"):
        Game(person_rows=0)


# Saturation.


@pytest.mark.full
@pytest.mark.parametrize("weight", [SUM, SHARE])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("rows", "most"), [(1, 100), (5, 100), (5, 2)])
def test_a_person_contributes_the_clip_at_every_participation(
    model, relation, weight, rows, most
):
    _, mechanism, data = fitted(
        model, rows, relation=relation.value, person_weight=weight, max_rows=most
    )
    assert mechanism.persons == PersonFacts(None, weight, most)
    check_every_participation(mechanism, data)


@pytest.mark.full
@pytest.mark.parametrize("weight", [SUM, SHARE])
def test_every_row_of_a_person_would_be_clipped_by_itself(weight):
    _, mechanism, _ = fitted(DPLogisticRegression, 20, person_weight=weight)
    assert check_saturated(mechanism.training, 60, 20) > 2.0
    # A travel that is short enough for rows of weight 1 is not for those of weight 1/20.
    longer = replace(mechanism.training, clip=400 * mechanism.training.clip)
    assert check_saturated(longer, 60) > 2.0
    if weight == SHARE:
        with pytest.raises(ParameterError, match="unclipped"):
            check_saturated(longer, 60, 20)


def test_weights_of_rows():
    assert row_weights(None, 1) == (1.0, 1.0)
    assert row_weights(PersonFacts(None, SUM, 3), 5) == (1.0, 3.0)
    assert row_weights(PersonFacts(None, SHARE, 100), 5) == pytest.approx((0.2, 1.0))


# What is audited.


@pytest.mark.full
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weight", [SUM, SHARE])
def test_what_is_audited_is_what_ships(weight, fit_intercept):
    subject, mechanism, data = fitted(
        DPRidge, 5, person_weight=weight, max_rows=3, fit_intercept=fit_intercept,
        random_state=7,
    )  # fmt: skip
    check_what_ships(subject, mechanism, data, 30, b"7")
    assert subject.privacy_.protected.is_person
    assert mechanism.training.n == subject.privacy_.facts.n == 60


def test_a_card_of_persons_is_audited_with_persons():
    subject, mechanism, _ = fitted(DPRidge, 2)
    # The card says what is protected: neither the game nor the caller has to.
    for one, played, rows in (
        (subject, None, PERSON_ROWS),
        (subject, Game(canaries=50), PERSON_ROWS),
        (subject, Game(canaries=50, person_rows=2), 2),
        (mechanism, Game(canaries=30, ordinary=30), 5),
    ):
        assert audit(one, game=played, trials=100, random_state=0).person_rows == rows


def test_a_card_of_records_is_not_audited_with_persons():
    records = Game(canaries=50, ordinary=30)
    persons = replace(records, person_rows=2)
    subject = estimator(DPRidge, lot_size=20)
    assert audit(subject, game=persons, trials=100, random_state=0).person_rows == 2
    ready = saturated(subject, records)
    fit_to(ready, records, np.ones(50, bool))
    assert audit(ready, game=records, trials=100, random_state=0).person_rows is None
    for one in (ready, Mechanism.of_fit(ready)):
        with pytest.raises(ParameterError, match="protects records"):
            audit(one, game=persons, trials=100, random_state=0)


# Bounds: with 20,000 trials 0.83 of 1 on average, as of records (test_audit.py).


@pytest.mark.parametrize(
    ("relation", "rows"),
    [
        *((relation, 5) for relation in ("zero-out", "add-remove", "replace-one")),
        ("zero-out", 1),
        ("zero-out", 20),
        *(
            pytest.param(relation, rows, marks=pytest.mark.full)
            for relation in ("add-remove", "replace-one")
            for rows in (1, 20)
        ),
    ],
)
def test_white_box_bound_is_close_below_the_claim(relation, rows):
    subject = estimator(DPLogisticRegression, relation=relation, n=1040)
    result = audit(subject, trials=20_000, game=game(rows), random_state=1)
    assert result.person_rows == rows
    assert 0.55 < result.epsilon_lower <= result.epsilon_claimed == 1.0
    assert result.epsilon_lower_clopper_pearson <= 1.0
    assert not result.exceeded


@pytest.mark.full
@pytest.mark.parametrize("options", [{"person_weight": SHARE}, {"max_rows": 3}])
@pytest.mark.parametrize("model", MODELS)
def test_other_models_weights_and_caps(model, options):
    result = audit(estimator(model, **options), trials=20_000, game=game(20), random_state=1)
    assert 0.55 < result.epsilon_lower <= 1.0
    assert not result.exceeded


def test_black_box_bound_is_below_the_claim():
    result = audit(
        estimator(DPRidge), kind="black-box", trials=8000, game=game(5), random_state=1
    )
    assert 0.4 < result.epsilon_lower <= 1.0
    assert result.person_rows == 5


# Mistakes put in on purpose.


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


def with_step(rows, step, weight=SUM):
    """The mechanism of a fit, its claim left as it is, with another step."""
    large = game(rows)
    subject = saturated(estimator(DPRidge, person_weight=weight), large)
    fit_to(subject, large, np.ones(large.canaries, bool))
    return replace(Mechanism.of_fit(subject), step=step)


@pytest.mark.full
@pytest.mark.parametrize("weight", [SUM, SHARE])
@pytest.mark.parametrize("rows", [5, 20])
def test_a_clip_per_row_is_found(rows, weight):
    wrong = with_step(rows, clip_per_row, weight)
    result = audit(wrong, trials=5000, game=game(rows), random_state=0)
    assert result.exceeded
    assert result.epsilon_lower > rows / 2.0


def test_a_clip_per_row_is_right_for_one_row():
    result = audit(with_step(1, clip_per_row), trials=5000, game=game(1), random_state=0)
    assert not result.exceeded


def test_one_person_taken_for_two_is_found():
    wrong = with_step(5, two_persons_of_one)
    result = audit(wrong, trials=5000, game=game(5), random_state=0)
    assert result.exceeded
    assert result.epsilon_lower > 1.3


# Through the front door, at epsilon 4 as in test_front_door.py, which plays the games with
# persons that the command line has.


@pytest.mark.full
def test_a_clip_per_row_behind_the_door_is_found(monkeypatch):
    sparse = EstimatorGame("ridge", DPRidge, {"epsilon": 4.0}, person_rows=3)
    right = audit_door(sparse, trials=1000, random_state=0)
    assert right.person_rows == 3
    assert 1.6 < right.epsilon_lower <= 4.0
    assert not right.exceeded
    monkeypatch.setattr(threads, "advance", clip_per_row)
    wrong = audit_door(sparse, trials=1000, random_state=0)
    assert wrong.exceeded
    assert wrong.epsilon_lower > 6.0


@pytest.mark.full
@pytest.mark.parametrize("rows", [1, 4])
def test_all_games_can_be_played_with_persons(rows):
    games = [*estimator_doors(4.0, 1e-5, rows), *table_doors(4.0, 1e-5, rows)]
    assert {one.person_rows for one in games} == {rows}
    assert not any("lazy" in one.name for one in games)
    for one in games:
        result = audit_door(one, trials=500, random_state=0)
        assert not result.exceeded
        assert result.epsilon_lower > 1.0


@pytest.mark.parametrize("relation", ["zero-out", "add-remove", "replace-one"])
def test_worlds_of_tables_differ_in_the_rows_of_one_person(relation):
    played = TableGame(
        "table", DPLogisticRegression, {"relation": relation}, canaries=6, person_rows=3
    )
    assert played.schema.person == "who"
    one = played.table(np.array([True] * 6))
    other = played.table(np.array([True, False] + [True] * 4))
    absent = {"zero-out": 1, "add-remove": 0, "replace-one": 2}[relation]

    def who(table):
        return table["who"].astype(float).astype(int)

    assert (who(one) == 10_001).sum() == 3
    assert (who(other) == 10_001).sum() == absent
    rest = [table[who(table) != 10_001].reset_index(drop=True) for table in (one, other)]
    assert rest[0].equals(rest[1])
    # The rows of a person do not follow each other, and their identifiers differ in type.
    places = np.flatnonzero(who(one) == 10_000)
    assert places[1] > places[0] + 1
    assert {type(cell) for cell in one["who"][places]} == {str, int, float}
