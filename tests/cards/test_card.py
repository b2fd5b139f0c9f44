import contextlib
import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.cards.card import PrivacyCard
from dpscd.errors import CardError
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.relation import Relation
from dpscd.privacy.release import Release, claim
from dpscd.privacy.unit import RECORD, Unit, about_record_count

RELEASE = Release("shared vector", SampledGaussian(0.1, 3.9485, 100), 0.01, 5, 1000)
CLAIM = claim([RELEASE], 1.0, 1e-5, Relation.ZERO_OUT, 1e-3)

FACTS = {
    "n": 1000, "d": 4, "lam": 0.012345678, "row_bound": 1.0, "intercept": 0.3,
    "standardised": False, "rule": 1, "epochs": 10.0, "lot_size": 100.0, "averaging": 0.4,
    "reaches": CLAIM.epsilon,
}  # fmt: skip


def card(**changes):
    values = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "relation": Relation.ZERO_OUT,
        "releases": (RELEASE,),
        "accountant": CLAIM.accountant,
        "interval": CLAIM.interval,
        "precision_epsilon": CLAIM.precision_epsilon,
        "precision_delta": CLAIM.precision_delta,
        "seeded": False,
        "public": {**FACTS, "classes": ["no", "yes"]},
        "versions": {"dpscd": "0", "dp-accounting": "0.6"},
    }
    return PrivacyCard(**{**values, **changes})


def open_card():
    return card(
        epsilon=math.inf,
        releases=(),
        accountant="none",
        interval=0.0,
        precision_epsilon=0.0,
        precision_delta=0.0,
    )


def changed(path, value):
    """Return the JSON of a good card with one value replaced."""
    values = json.loads(card().to_json())
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(values)


@pytest.mark.parametrize("original", [card(), open_card(), card(seeded=True)])
def test_round_trip(original):
    assert PrivacyCard.from_json(original.to_json()) == original


def test_infinity_is_written_as_text_and_the_json_is_strict():
    values = json.loads(open_card().to_json(), parse_constant=pytest.fail)
    assert values["epsilon"] == "inf"
    assert values["card"] == 1


def test_a_card_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        card().epsilon = 0.1


def test_the_numbers_of_the_training_are_those_of_its_release():
    one = card()
    assert one.private
    assert one.training is RELEASE
    assert (one.rate, one.steps, one.clip, one.noise_multiplier) == (0.1, 100, 0.01, 3.9485)
    assert one.travel == pytest.approx(0.1)


def test_without_privacy_there_is_no_release():
    assert not open_card().private
    with pytest.raises(CardError, match="no private release"):
        open_card().training  # noqa: B018 (the property is what is tested)


# --- verification -----------------------------------------------------------------------


def test_an_honest_card_is_verified_from_its_json():
    found = PrivacyCard.from_json(card().to_json()).verify()
    assert 0.99 < found <= 1.0


def test_without_privacy_infinity_is_verified():
    assert open_card().verify() == math.inf


def with_event(**changes):
    event = dataclasses.replace(RELEASE.event, **changes)
    facts = {"epochs": event.rate * event.steps, "lot_size": event.rate * RELEASE.n}
    release = dataclasses.replace(RELEASE, event=event)
    return card(releases=(release,), public={**FACTS, **facts})


@pytest.mark.parametrize(
    "lie",
    [
        card(epsilon=0.99),
        card(epsilon=0.01),
        card(delta=1e-6),
        card(relation=Relation.REPLACE_ONE),
        with_event(noise_multiplier=3.9),
        with_event(noise_multiplier=0.5),
        with_event(steps=102),
        with_event(rate=0.102),
        with_event(rate=1.0),
    ],
)
def test_a_card_that_claims_too_little_is_refused(lie):
    with pytest.raises(CardError, match="the card claims epsilon="):
        lie.verify()


@pytest.mark.parametrize("delta", [1.0, 2.0, 0.0, -1e-5, math.nan])
def test_a_delta_that_means_nothing_is_refused(delta):
    with pytest.raises(CardError):
        PrivacyCard.from_json(changed(["delta"], delta)).verify()


# --- malformed cards -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 2, 99])
def test_a_card_of_another_number_is_refused_in_one_sentence(number):
    with pytest.raises(CardError) as caught:
        PrivacyCard.from_json(changed(["card"], number))
    assert str(caught.value) == (
        f"the card has number {number}, but this version of dpscd reads number 1: use the "
        "version that wrote it."
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "1",
        '"card"',
        "[]",
        "{}",
        '{"card": 1}',
        "{",
        "\x00",
        card().to_json()[:-2],
        card().to_json() + "x",
        changed(["card"], 1.5),
        changed(["card"], None),
        changed(["more"], 1),
        pytest.param("[" * 100_000, id="deeply nested"),
        None,
        7,
    ],
)
def test_what_is_no_card_is_refused(text):
    with pytest.raises(CardError):
        PrivacyCard.from_json(text)


@pytest.mark.parametrize("field", [*json.loads(card().to_json())])
def test_a_missing_field_is_refused(field):
    values = json.loads(card().to_json())
    del values[field]
    with pytest.raises(CardError):
        PrivacyCard.from_json(json.dumps(values))


HUGE = 10**400
EVENT = ["releases", 0, "event"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["epsilon"], "one"),
        (["epsilon"], None),
        (["epsilon"], []),
        (["epsilon"], HUGE),
        (["epsilon"], 1000.0),
        (["epsilon"], math.nan),
        (["delta"], "small"),
        (["delta"], None),
        (["relation"], "none"),
        (["relation"], []),
        (["releases"], None),
        (["releases"], "ab"),
        (["releases"], [[]]),
        (["releases"], {}),
        (["releases", 0, "clip"], "long"),
        (["releases", 0, "clip"], HUGE),
        (["releases", 0, "clip"], 1e308),
        (["releases", 0, "size"], HUGE),
        (["releases", 0, "n"], HUGE),
        (["releases", 0, "what"], None),
        (EVENT, None),
        (EVENT, []),
        ([*EVENT, "kind"], "laplace"),
        ([*EVENT, "noise_multiplier"], math.inf),
        ([*EVENT, "noise_multiplier"], HUGE),
        ([*EVENT, "noise_multiplier"], 1e308),
        ([*EVENT, "rate"], 5e-324),
        ([*EVENT, "rate"], "0.1"),
        ([*EVENT, "steps"], 1.0),
        ([*EVENT, "steps"], 10**30),
        (["interval"], 0.0),
        (["interval"], -1e-3),
        (["interval"], 1e9),
        (["interval"], math.nan),
        (["interval"], math.inf),
        (["interval"], "fine"),
        (["precision_epsilon"], "none"),
        (["precision_delta"], None),
        (["public"], []),
        (["public"], None),
        (["versions"], None),
        (["assumptions"], None),
    ],
    ids=lambda part: str(part)[:40],
)
def test_a_spoilt_card_is_refused_or_works(path, value):
    # A card is read by people who did not write it: whatever it holds, only CardError
    # may come out of it.
    try:
        spoilt = PrivacyCard.from_json(changed(path, value))
        assert str(spoilt)
        assert spoilt.to_json()
        assert spoilt.verify() >= 0.0
    except CardError:
        pass


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
paths = st.sampled_from(
    [
        *([name] for name in json.loads(card().to_json())),
        *(["releases", 0, name] for name in RELEASE.to_dict()),
        *([*EVENT, name] for name in RELEASE.event.to_dict()),
    ]
)


@given(path=paths, value=anything)
def test_reading_a_mutated_card_raises_nothing_but_card_errors(path, value):
    try:
        found = PrivacyCard.from_json(changed(path, value))
        assert isinstance(str(found), str)
        again = PrivacyCard.from_json(found.to_json())
    except CardError:
        return
    assert again.to_json() == found.to_json()


@given(at=st.integers(0, 10**6), character=st.characters())
def test_a_changed_character_raises_nothing_but_card_errors(at, character):
    text = card().to_json()
    at %= len(text)
    with contextlib.suppress(CardError):
        PrivacyCard.from_json(text[:at] + character + text[at + 1 :])


# --- text ----------------------------------------------------------------------------------


def test_the_text_says_what_is_guaranteed_and_how():
    text = str(card())
    for part in (
        "(1, 1e-05)-differentially private, relation zero-out",
        "whether a record took part or was replaced by an empty one",
        "Unit: a record",
        "n=1000, d=4, lam=0.01235, row_bound=1, intercept=0.3, standardised=False, rule=1, ",
        "classes=['no', 'yes']",
        "100 lots at rate 0.1, clip 0.01 (travel 0.1), noise multiplier 3.9485",
        "Accountant: PLD, interval 0.001, dp-accounting 0.6; finite precision",
        "AES-256 keyed by the operating system",
        "Assumes: ",
    ):
        assert part in text


def test_the_text_of_a_seeded_fit_warns():
    assert "privacy holds only while the seed is secret" in str(card(seeded=True))
    assert "operating system" not in str(card(seeded=True))


def test_the_text_without_privacy_claims_none():
    text = str(open_card())
    assert text.startswith("Not private")
    assert "differentially private" not in text
    assert "n=1000" in text


def parts(releases, epsilon):
    """Return what a card must say of its releases besides epsilon."""
    found = claim(releases, epsilon, 1e-5, Relation.ZERO_OUT, CLAIM.interval)
    names = ("accountant", "precision_epsilon", "precision_delta")
    return {name: getattr(found, name) for name in names}


MOMENTS = Release("moments", SampledGaussian(1.0, 100.0, 1), 1.0, 8, 1000)
LABELS = tuple(
    Release(what, SampledGaussian(1.0, 100.0, 1), 1.0, 1, 1000)
    for what in ("label mean", "label spread")
)


def test_a_card_with_all_known_releases_is_verified_and_tells_of_them():
    releases = (MOMENTS, *LABELS, RELEASE)
    reaches = claim(releases, 1.1, 1e-5, Relation.ZERO_OUT, CLAIM.interval).epsilon
    public = {**FACTS, "standardised": True, "reaches": reaches}
    whole = card(epsilon=1.1, releases=releases, public=public, **parts(releases, 1.1))
    assert 1.0 < PrivacyCard.from_json(whole.to_json()).verify() <= 1.1
    assert whole.noise_multiplier == RELEASE.event.noise_multiplier
    assert whole.steps == 100
    for what in ("moments", "label mean", "label spread"):
        assert f"Released before: {what}, noise multiplier 100, 1 at rate 1." in str(whole)
    assert "Released before" not in str(card())
    # They are paid for: with less noise the same claim is a lie.
    loud = dataclasses.replace(MOMENTS, event=SampledGaussian(1.0, 3.0, 1))
    with pytest.raises(CardError, match=r"claims epsilon=1\.1"):
        dataclasses.replace(whole, releases=(loud, *LABELS, RELEASE)).verify()


def test_an_n_that_contradicts_the_releases_is_refused():
    with pytest.raises(CardError, match="another n"):
        card(public={**FACTS, "n": RELEASE.n + 1}).verify()


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_that_every_card_states_cannot_be_left_out(name):
    public = {key: value for key, value in FACTS.items() if key != name}
    with pytest.raises(CardError, match=f"the card must state {name}"):
        card(public=public).verify()


@pytest.mark.parametrize("changes", [{"versions": {"dpscd": 1}}, {"assumptions": (1,)}])
def test_texts_must_be_texts(changes):
    with pytest.raises(CardError, match="must be texts"):
        card(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": "a person with all of their records"},
        {"assumptions": ()},
        {"releases": (dataclasses.replace(RELEASE, what="nothing at all"),)},
    ],
)
def test_a_card_with_other_words_is_refused(changes):
    with pytest.raises(CardError, match=r"unit|release that this version"):
        card(**changes).verify()


# --- persons -------------------------------------------------------------------------------

PERSONS = {**FACTS, "max_rows": 100, "person_weight": "share"}
PATIENT = Unit(person="patient")


def person_card(unit=PATIENT, **changes):
    return card(**{"unit": unit.text, "public": PERSONS, **changes})


@pytest.mark.parametrize("unit", [PATIENT, Unit(groups=True), Unit(person="it's \\")])
def test_a_card_of_persons_comes_back_and_is_verified(unit):
    found = PrivacyCard.from_json(person_card(unit).to_json())
    assert found == person_card(unit)
    assert found.protected == unit
    assert 0.99 < found.verify() <= 1.0


def test_the_unit_of_a_card_is_a_record_by_default():
    assert card().protected == RECORD
    assert json.loads(card().to_json())["unit"] == RECORD.text


@pytest.mark.parametrize("unit", ["", "a record", "a person: everybody", PATIENT.text + " "])
def test_a_unit_that_nobody_knows_is_refused_when_the_card_is_read(unit):
    with pytest.raises(CardError, match="another unit"):
        PrivacyCard.from_json(changed(["unit"], unit))


def test_a_card_of_persons_without_privacy_says_how_they_were_counted():
    closed = dataclasses.replace(open_card(), unit=PATIENT.text, public=PERSONS)
    assert closed.verify() == math.inf
    assert str(closed).startswith("Not private")
    assert closed.statement == "Not private: trained with epsilon=inf."


@pytest.mark.parametrize("relation", list(Relation))
def test_the_text_of_persons_says_what_is_protected(relation):
    text = str(person_card(relation=relation))
    first, second, third, fourth, *_ = text.splitlines()
    assert first.endswith(f"relation {relation}:")
    assert second.startswith("  the model hardly depends on whether a person")
    assert PATIENT.words(relation) in second
    assert third == "Unit: a person: all records with the same value of 'patient'."
    assert about_record_count(relation, 1.0, 1e-5) in fourth
    assert "max_rows=100, person_weight=share" in text
    assert "Number of records" not in str(card())


def test_the_statement_has_the_guarantee_and_the_unit_in_a_line():
    before = "(1, 1e-05)-differentially private, relation zero-out. Unit: "
    assert card().statement == f"{before}{RECORD.text}."
    assert person_card().statement == f"{before}{PATIENT.text}."


def test_a_card_with_its_releases_twice_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr("dpscd.cards.card.claim", lambda *_: pytest.fail("was computed"))
    for releases in ((RELEASE,) * 2, (RELEASE,) * 3, (RELEASE,) * 10_000):
        with pytest.raises(CardError, match="twice or in another order"):
            card(releases=releases).verify()


def test_classes_read_off_the_records_are_named():
    public = {**FACTS, "classes_from": "the labels in y"}
    assert "NOT COVERED: the set of classes was read off" in str(card(public=public))
