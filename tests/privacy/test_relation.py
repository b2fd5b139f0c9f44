import math

import pytest

from dpscd.errors import ParameterError
from dpscd.privacy.relation import PrivacyTarget, Relation


@pytest.mark.parametrize("relation", list(Relation))
def test_a_relation_is_parsed_from_its_name_and_has_words(relation):
    assert Relation.parse(relation.value) is relation
    assert Relation.parse(relation) is relation
    assert str(relation) == relation.value
    assert relation.words.startswith("whether a record")


def test_the_words_differ():
    assert len({relation.words for relation in Relation}) == 3


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


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, -math.inf])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(ParameterError, match="epsilon="):
        PrivacyTarget(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, 2.0, math.nan, math.inf])
def test_delta_must_lie_strictly_between_0_and_1(delta):
    with pytest.raises(ParameterError, match="delta="):
        PrivacyTarget(1.0, delta)
