"""The privacy card: what it states, that it can be checked, and what is no card."""

import contextlib
import dataclasses
import json
import math

import pytest
from forgery import at, places, put
from hypothesis import given
from hypothesis import strategies as st

from dpscd.errors import CardError
from dpscd.model.card import PrivacyCard
from dpscd.persons import PersonFacts
from dpscd.planning.plan import Plan
from dpscd.privacy.relation import RECORD, PrivacyTarget, Relation, Unit, about_record_count
from dpscd.records.labels import ClassLabels
from plans import make_facts, make_plan

VERSIONS = {"dpscd": "0", "dp-accounting": "0.6"}
CLASSES = {
    "loss": "Logistic",
    "labels": ClassLabels(("no", "yes"), None, "<U3"),
    "constant": 0.3,
}


def plan(**changes):
    own = {"lam": 0.012345678, "averaging": 0.4, "noise_multiplier": 3.9485}
    changes["facts"] = {**CLASSES, **changes.get("facts", {})}
    return make_plan(**{"n": 1000, "d": 4, **own, **changes})


def card(seeded=False, **changes):
    return PrivacyCard(plan(**changes), seeded, VERSIONS)


def open_card(**facts):
    target = PrivacyTarget(math.inf, 1e-5)
    facts = make_facts(n=1000, d=4, **{**CLASSES, **facts})
    return PrivacyCard(Plan(target, facts, ()), False, VERSIONS)


WHOLE = {
    "moments_noise": 50.0, "label_noise": 20.0, "pilot": {"steps": 3}, "bounds_noise": 90.0,
    "epsilon": 2.0,
}  # fmt: skip
CARDS = [card(), open_card(), card(seeded=True), card(**WHOLE)]


@pytest.mark.parametrize("original", CARDS)
def test_round_trip(original):
    found = PrivacyCard.from_json(original.to_json())
    assert found == original
    assert found.to_json() == original.to_json()
    assert str(found) == str(original)


def test_infinity_is_written_as_text_and_the_json_is_strict():
    values = json.loads(open_card().to_json(), parse_constant=pytest.fail)
    assert values["plan"]["target"]["epsilon"] == "inf"
    assert values["card"] == 2


def test_a_card_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        card().plan = None


def test_the_numbers_of_the_training_are_those_of_its_release():
    one = card(**WHOLE)
    assert one.private
    assert one.training == one.plan.training.cost == one.releases[-1]
    assert (one.rate, one.steps, one.clip, one.noise_multiplier) == (0.1, 100, 0.01, 3.9485)
    assert one.travel == pytest.approx(0.1)


# --- verification -----------------------------------------------------------------------


def test_an_honest_card_is_verified_from_its_json():
    assert 0.99 < PrivacyCard.from_json(card().to_json()).verify() <= 1.0
    assert open_card().verify() == open_card().claim.epsilon == math.inf


@pytest.mark.parametrize(
    "lie",
    [
        {"epsilon": 0.99}, {"epsilon": 0.01}, {"delta": 1e-6}, {"rate": 0.102}, {"rate": 1.0},
        {"relation": Relation.REPLACE_ONE}, {"noise_multiplier": 3.9},
        {"noise_multiplier": 0.5}, {"steps": 102}, {"moments_noise": 3.0},
    ],
)  # fmt: skip
def test_a_card_that_claims_too_little_is_refused(lie):
    with pytest.raises(CardError, match="the card claims epsilon="):
        card(**lie).verify()


def test_every_release_is_paid_for_and_told_of():
    whole = card(**WHOLE)
    assert 1.0 < whole.verify() <= 2.0
    for what in ("moments", "label mean", "label spread"):
        assert f"Released before: {what}, noise multiplier" in str(whole)
    assert "Released before" not in str(card())
    with pytest.raises(CardError, match="claims epsilon=2"):
        card(**{**WHOLE, "moments_noise": 2.0}).verify()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (card(noise_multiplier=0.01), "needs releases with noise"),
        (card(epsilon=1e5), "epsilon up to 10000"),
        (PrivacyCard(dataclasses.replace(plan(), releases=()), False, {}), "needs releases"),
        (
            PrivacyCard(plan(epsilon=math.inf, noise_multiplier=3.0), False, {}),
            "parts of a guarantee",
        ),
    ],
)
def test_a_card_that_says_nothing_that_can_be_checked_is_refused(bad, words):
    with pytest.raises(CardError, match=words):
        bad.verify()


# --- malformed cards -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 99])
def test_a_card_of_another_number_is_refused_in_one_sentence(number):
    with pytest.raises(CardError) as caught:
        PrivacyCard.from_json(json.dumps({"card": number, "whatever": "it holds"}))
    assert str(caught.value) == (
        f"the card has number {number!r}, but this version of dpscd reads number 2: use the "
        "version that wrote it."
    )


VALUES = json.loads(card(**WHOLE).to_json())
NO_CARDS = [
    "", "null", "1", '"card"', "[]", "{}", '{"card": 2}', "{", "\x00", "[" * 100_000,
    '{"card": 2, "card": 2}', card().to_json()[:-2], card().to_json() + "x", None, 7,
    *(json.dumps(put(VALUES, ["card"], x)) for x in (1.5, None, True, 10**400)),
    *(json.dumps({k: v for k, v in VALUES.items() if k != name}) for name in VALUES),
    json.dumps({**VALUES, "more": 1}),
]  # fmt: skip


@pytest.mark.parametrize("text", NO_CARDS, ids=lambda text: repr(text)[:20])
def test_what_is_no_card_is_refused(text):
    with pytest.raises(CardError) as caught:
        PrivacyCard.from_json(text)
    assert caught.value.__suppress_context__
    assert len(str(caught.value)) < 400


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
) | st.sampled_from([10**400, 1e308, 5e-324, "inf", "nan", 10**12])


@given(place=st.sampled_from(list(places(VALUES))), value=anything)
def test_reading_a_mutated_card_raises_nothing_but_card_errors(place, value):
    # A card is read by people who did not write it.
    try:
        found = PrivacyCard.from_json(json.dumps(put(VALUES, place, value)))
        assert isinstance(str(found), str)
        assert found.verify() <= found.epsilon
    except CardError:
        return
    assert PrivacyCard.from_json(found.to_json()) == found


@given(position=st.integers(0, 10**6), character=st.characters())
def test_a_changed_character_raises_nothing_but_card_errors(position, character):
    text = card().to_json()
    position %= len(text)
    with contextlib.suppress(CardError):
        PrivacyCard.from_json(text[:position] + character + text[position + 1 :])


@pytest.mark.parametrize("delta", [1.0, 2.0, 0.0, -1e-5, math.nan])
def test_a_delta_that_means_nothing_is_refused(delta):
    place = ("plan", "target", "delta")
    assert at(VALUES, place) == 1e-5
    with pytest.raises(CardError):
        PrivacyCard.from_json(json.dumps(put(VALUES, place, delta)))


# --- text ----------------------------------------------------------------------------------


def test_the_text_says_what_is_guaranteed_and_how():
    text = str(card())
    for part in (
        "(1, 1e-05)-differentially private, relation zero-out",
        "whether a record took part or was replaced by an empty one",
        "Unit: a record",
        "n=1000, d=4, row_bound=1, intercept=0.3, standardised=False, ",
        "classes=['no', 'yes']",
        "lam=0.01235, epochs=10, lot_size=100, averaging=0.4, reaches=0.9986",
        "100 lots at rate 0.1, clip 0.01 (travel 0.1), noise multiplier 3.9485",
        "Accountant: PLD, interval ",
        "dp-accounting 0.6; finite precision",
        "AES-256 keyed by the operating system",
        "Assumes: ",
    ):
        assert part in text
    assert "NOT COVERED" not in text


def test_the_text_says_what_weakens_it():
    assert "privacy holds only while the seed is secret" in str(card(seeded=True))
    assert "operating system" not in str(card(seeded=True))
    undeclared = card(facts={"declared": False})
    assert "NOT COVERED: the set of classes was read off" in str(undeclared)
    on_device = card(facts={"engine": "jax", "device": "a GPU"})
    assert "in training ChaCha20" in str(on_device)


def test_the_text_without_privacy_claims_none():
    text = str(open_card())
    assert text.startswith("Not private")
    assert "differentially private" not in text
    assert "n=1000" in text
    assert open_card(persons=PersonFacts()).statement == (
        "Not private: trained with epsilon=inf."
    )


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    ("column", "unit"),
    [("patient", Unit(person="patient")), (None, Unit(groups=True)), ("it's \\", None)],
)
def test_the_text_of_persons_says_what_is_protected(relation, column, unit):
    one = card(relation=relation, facts={"persons": PersonFacts(column, "share")})
    unit = unit or Unit(person=column)
    assert one.protected == PrivacyCard.from_json(one.to_json()).protected == unit
    first, second, third, fourth, *_ = str(one).splitlines()
    assert first.endswith(f"relation {relation}:")
    assert second.startswith("  the model hardly depends on whether a person")
    assert unit.words(relation) in second
    assert third == f"Unit: {unit.text}."
    assert about_record_count(relation, 1.0, 1e-5) in fourth
    assert "max_rows=100, person_weight=share" in str(one)
    assert "Number of records" not in str(card())


def test_the_statement_has_the_guarantee_and_the_unit_in_a_line():
    before = "(1, 1e-05)-differentially private, relation zero-out. Unit: "
    assert card().statement == f"{before}{RECORD.text}."
    of_persons = card(facts={"persons": PersonFacts("patient")})
    assert of_persons.statement == f"{before}{Unit(person='patient').text}."
