import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.errors import ParameterError
from dpscd.privacy.cost import claim
from dpscd.privacy.relation import RECORD, Relation, Unit, about_record_count
from plans import make_plan

PATIENT = Unit(person="patient")
GROUPS = Unit(groups=True)
TOLD_APART = "a person: all records with the same value of "


def test_the_texts_of_the_units():
    assert (
        RECORD.text
        == "a record; a person with several records is protected only as a group of them"
    )
    assert PATIENT.text == f"{TOLD_APART}'patient'"
    assert GROUPS.text == f"{TOLD_APART}the groups given to fit"
    assert [x.noun for x in (RECORD, PATIENT, GROUPS)] == ["record", "person", "person"]
    assert [x.is_person for x in (RECORD, PATIENT, GROUPS)] == [False, True, True]


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=200))
def test_a_unit_is_read_from_its_text(name):
    unit = Unit(person=name)
    assert unit.text == TOLD_APART + repr(name)
    assert Unit.parse(unit.text) == unit


@pytest.mark.parametrize(
    "name",
    ["it's", 'a "b"', "it's \"b\"", "a\\b", "\\", "'", '"', " patient ", "Größe",
     "the groups given to fit"],
)  # fmt: skip
def test_names_with_quotes_are_read_back(name):
    assert Unit.parse(Unit(person=name).text) == Unit(person=name)


def test_a_record_and_groups_are_read_from_their_texts():
    assert Unit.parse(RECORD.text) == RECORD == Unit()
    assert Unit.parse(GROUPS.text) == GROUPS
    named = Unit(person="the groups given to fit")
    assert named != GROUPS
    assert named.text != GROUPS.text


@pytest.mark.parametrize(
    "text",
    [
        "", "a record", "a person", RECORD.text + ".", "a person with all their records",
        *(TOLD_APART + end for end in (
            "", "patient", "'patient", "''", "'", '"patient"', "'p\\atient'", "'patient' ",
            "'patient' or 'doctor'", "'a\\nb'", "'a\nb'", f"'{'x' * 201}'",
            "the Groups given to fit",
        )),
        None, 7, ["a record"],
    ],
)  # fmt: skip
def test_other_texts_are_refused(text):
    with pytest.raises(ParameterError):
        Unit.parse(text)


@pytest.mark.parametrize("name", ["", "a\nb", "a\u202eb", "x" * 201, 7, b"patient"])
def test_a_person_is_told_by_a_name_that_can_be_read(name):
    with pytest.raises(ParameterError, match="name of a column"):
        Unit(person=name)


@pytest.mark.parametrize("options", [{"groups": 1}, {"person": "patient", "groups": True}])
def test_persons_are_told_apart_in_one_way(options):
    with pytest.raises(ParameterError, match="groups must be"):
        Unit(**options)


@pytest.mark.parametrize("relation", list(Relation))
def test_the_words_are_those_of_the_unit(relation):
    assert RECORD.words(relation) == relation.words
    assert RECORD.suspicion(relation) == relation.suspicion
    for unit in (PATIENT, GROUPS):
        assert unit.words(relation).startswith("whether a person")
        assert "with all their records" in unit.words(relation)
        assert unit.suspicion(relation).startswith("a certain person")


def test_the_words_of_persons_differ_by_relation():
    assert len({PATIENT.words(x) for x in Relation}) == 3
    assert len({PATIENT.suspicion(x) for x in Relation}) == 3


# --- the number of records of a person -----------------------------------------------------


@pytest.mark.parametrize("relation", [Relation.ZERO_OUT, Relation.ADD_REMOVE])
def test_taking_part_is_what_is_protected_at_epsilon(relation):
    text = about_record_count(relation, 1.0, 1e-6)
    assert text.startswith("epsilon protects whether a person took part")
    assert text.endswith("protected less, at epsilon 2 and delta 3.72e-06")


def test_replacing_protects_the_number_of_records_too():
    text = about_record_count(Relation.REPLACE_ONE, 1.0, 1e-6)
    assert "protected as all else" in text
    assert "1 or more" in text
    assert "epsilon" not in text


@pytest.mark.parametrize("epsilon", [14.0, 1e4])
def test_a_bound_that_means_nothing_is_not_stated(epsilon):
    assert about_record_count(Relation.ZERO_OUT, epsilon, 1e-6).endswith("not protected")


@pytest.mark.parametrize("delta", [1e-5, 3e-7, 1.2345e-9, 0.01])
def test_the_bound_on_delta_is_rounded_up(delta):
    stated = float(about_record_count(Relation.ZERO_OUT, 0.5, delta).split()[-1])
    exact = (1.0 + math.exp(0.5)) * delta
    assert exact <= stated <= 1.011 * exact


@pytest.mark.parametrize(("steps", "rate"), [(200, 0.1), (5000, 0.004), (1, 1.0)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_what_is_stated_covers_one_person_in_place_of_another(epsilon, steps, rate):
    """1 record or 5: two contributions, up to twice the clip apart, as under replace-one."""
    plan = make_plan(
        epsilon=epsilon, delta=1e-6, n=1000, d=3, intercept=False, steps=steps, rate=rate,
        clip=0.1,
    ).calibrated()  # fmt: skip
    stated = (2.0 * epsilon, (1.0 + math.exp(epsilon)) * 1e-6)
    interval = plan.claim().interval
    found = claim(plan.costs, *stated, Relation.REPLACE_ONE, interval)
    assert 1.35 * epsilon < found.epsilon <= stated[0]
    # At the card's own delta it can even exceed twice the epsilon.
    same = claim(plan.costs, 3.0 * epsilon, 1e-6, Relation.REPLACE_ONE, interval)
    assert 1.5 * epsilon < same.epsilon < 2.2 * epsilon
