import json
import math
import pickle

import pytest

from dpscd.errors import ParameterError
from dpscd.privacy.accounting import SampledGaussian, epsilon_of, gaussian_multiplier, renyi_of
from dpscd.privacy.draws import PoissonLots
from dpscd.privacy.filters import new_filter
from dpscd.privacy.relation import PrivacyTarget, Relation, RelationFacts


@pytest.mark.parametrize("relation", list(Relation))
def test_a_relation_is_parsed_from_its_name_and_has_words(relation):
    assert Relation.parse(relation.value) is relation
    assert Relation.parse(relation) is relation
    assert str(relation) == relation.value
    assert relation.words.startswith("whether a record")


def test_the_words_differ():
    assert len({relation.words for relation in Relation}) == 3
    assert len({relation.suspicion for relation in Relation}) == 3


@pytest.mark.parametrize("name", ["zero-out", "replace-one", "add-remove"])
def test_a_relation_is_stored_by_its_name_alone(name):
    relation = Relation(name)
    assert json.dumps(relation) == f'"{name}"'
    assert pickle.loads(pickle.dumps(relation)) is relation
    assert relation == name
    assert hash(relation) == hash(name)


@pytest.mark.parametrize("relation", list(Relation))
def test_a_relation_has_all_facts_and_no_others(relation):
    facts = {name for name in vars(relation) if not name.startswith("_")}
    assert facts == set(RelationFacts.__annotations__)


def test_the_facts_of_the_relations():
    """Docs/proofs/shared_vector.md, "Relations"."""
    facts = {x.value: (x.absent, x.reach, x.directions, x.accountants) for x in Relation}
    assert facts == {
        "zero-out": ("empty", 1, ("remove", "add"), ("PLD", "RDP")),
        "replace-one": ("other", 2, ("replace",), ("PLD",)),
        "add-remove": ("nothing", 1, ("remove", "add"), ("PLD", "RDP")),
    }
    assert [x.value for x in Relation if x.needs_n] == ["add-remove"]


class Toy(RelationFacts):
    """What accounting and sampling would make of a relation with other facts."""

    SECRET_COUNT = (
        "secret-count",
        {
            "words": "whether a record was this one or any other, and how many there are",
            "suspicion": "a certain record was in the data or another in its place",
            "absent": "other",
            "reach": 2,
            "directions": ("replace",),
            "accountants": ("PLD",),
            "library": "REPLACE_ONE",
            "needs_n": True,
        },
    )


def test_a_relation_is_one_object():
    """No code asks which relation it is: accounting, sampling and filters read its facts."""
    toy, like = Toy.SECRET_COUNT, Relation.REPLACE_ONE
    event = SampledGaussian(0.01, 2.0, 100)
    assert epsilon_of([event], 1e-6, toy, 1e-3) == epsilon_of([event], 1e-6, like, 1e-3)
    assert gaussian_multiplier(1.0, 1e-6, toy) == gaussian_multiplier(1.0, 1e-6, like)
    assert [PoissonLots.of(0.1, x).exact for x in (toy, like)] == [True, False]
    with pytest.raises(ParameterError, match="'secret-count' has no Rényi accounting"):
        renyi_of([event], [8], toy)
    with pytest.raises(ParameterError, match="not valid for relation='secret-count'"):
        new_filter("renyi", 1.0, 1e-6, toy)
    assert Toy.parse("secret-count") is toy
    with pytest.raises(ParameterError, match="must be one of 'zero-out'"):
        Relation.parse("secret-count")


@pytest.mark.parametrize("name", ["", "zero_out", "ZERO-OUT", None, 1])
def test_other_names_are_refused_and_the_allowed_ones_listed(name):
    with pytest.raises(ParameterError, match=r"'zero-out', 'replace-one', 'add-remove'") as e:
        Relation.parse(name)
    assert f"relation={name!r}" in str(e.value)


def test_zero_out_is_the_default():
    assert PrivacyTarget(1.0, 1e-5).relation is Relation.ZERO_OUT


def test_infinite_epsilon_is_a_target_without_privacy():
    assert not PrivacyTarget(math.inf, 1e-5).private
    assert PrivacyTarget(1e-9, 1e-5).private


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("epsilon", bad) for bad in (0.0, -1.0, math.nan, -math.inf)),
        *(("delta", bad) for bad in (0.0, 1.0, -1e-5, 2.0, math.nan, math.inf)),
    ],
)
def test_a_target_out_of_range_is_refused(name, bad):
    with pytest.raises(ParameterError, match=f"{name}="):
        PrivacyTarget(**{"epsilon": 1.0, "delta": 1e-5, name: bad})
