"""Cards of private scores: what they state is checked."""

import dataclasses
import math

import pytest

from dpscd.cards.score_card import ScoreCard
from dpscd.errors import CardError
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.privacy.score import plan_score
from dpscd.privacy.unit import RECORD, Unit
from dpscd.scores.registry import measure_of_facts

FACTS = {"n": 1000, "metric": "log_loss", "bound": 3.0, "classes": ["a", "b"]}


def card(facts=FACTS, relation=Relation.ZERO_OUT, unit=RECORD):
    target = PrivacyTarget(0.5, 1e-5, relation)
    release = plan_score(target, facts["n"], measure_of_facts(facts, target).size)
    return ScoreCard.of(target, release, unit, dict(facts), seeded=False)


@pytest.mark.parametrize("unit", [RECORD, Unit("patient")])
@pytest.mark.parametrize("relation", list(Relation))
def test_a_card_is_verified_and_read_again(relation, unit):
    one = card(relation=relation, unit=unit)
    assert 0.97 * 0.5 < one.verify() <= 0.5
    assert ScoreCard.from_json(one.to_json()) == one
    assert "the score hardly depends on" in str(one)
    assert f"2 numbers per {unit.noun}" in str(one) or relation.needs_n
    assert one.training == one.releases[0]


def test_numbers_have_bounds():
    facts = {"n": 100, "metric": "r2", "bound": 4.0, "y_bounds": [0.0, 2.0]}
    assert card(facts).verify() <= 0.5
    auc = {"n": 1000, "metric": "auc", "bins": 0, "classes": ["a", "b"]}
    with pytest.raises(CardError, match="not that of its metric"):
        card(auc).verify()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"metric": "accuracy"}, "not that of its metric"),
        ({"metric": "no such"}, "of no score"),
        ({"bound": "3"}, "of no score"),
        ({"classes": ["a", "b", "c"], "metric": "recall"}, "not that of its metric"),
        ({"n": 999}, "another n"),
        ({"classes": "ab"}, "classes of the card"),
        ({"reaches": 0.4}, "reach epsilon"),
        ({"reaches": None}, "reaches of the card"),
    ],
)
def test_public_facts_that_contradict_are_refused(change, says):
    one = card()
    left = {name: value for name, value in one.public.items() if name != "reaches"}
    with pytest.raises(CardError, match="must state reaches"):
        dataclasses.replace(one, public=left).verify()
    with pytest.raises(CardError, match=says):
        dataclasses.replace(one, public={**one.public, **change}).verify()


def test_releases_that_are_not_the_score_are_refused():
    one = card()
    release = one.releases[0]
    steps = SampledGaussian(1.0, release.event.noise_multiplier, 2)
    for wrong, says in (
        ((release, release), "one release"),
        ((dataclasses.replace(release, what="moments"),), "one release"),
        ((dataclasses.replace(release, clip=0.5),), "never released so"),
        ((dataclasses.replace(release, event=steps),), "never released so"),
        ((dataclasses.replace(release, size=9),), "not that of its metric"),
    ):
        with pytest.raises(CardError, match=says):
            dataclasses.replace(one, releases=wrong).verify()
    little = SampledGaussian(1.0, 1.0, 1)
    changed = dataclasses.replace(release, event=little)
    with pytest.raises(CardError, match="amount to"):
        dataclasses.replace(one, releases=(changed,)).verify()
    with pytest.raises(CardError, match="finite epsilon"):
        dataclasses.replace(one, epsilon=math.inf, releases=()).verify()
    with pytest.raises(CardError, match="assumptions"):
        dataclasses.replace(one, assumptions=()).verify()
