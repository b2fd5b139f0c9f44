"""A card's releases and its public facts agree, or the card is refused."""

import dataclasses
import math

import pytest

from dpscd.cards.statements import agrees, check_facts, check_releases
from dpscd.errors import CardError
from dpscd.planning import Facts, plan_fit
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.release import Release
from dpscd.privacy.unit import RECORD, Unit
from plans import make_plan


def plan(**changes):
    values = {
        "n": 1000, "d": 4, "lam": 0.1, "steps": 10, "rate": 0.1, "clip": 0.5,
        "separability": 100.0, "averaging": 0.4, "noise_multiplier": 3.0,
    }  # fmt: skip
    return make_plan(**{**values, **changes})


FACTS = {
    "n": 1000, "d": 4, "rule": 1, "lam": 0.1, "row_bound": 1.0, "intercept": 0.3, "epochs": 1.0,
    "lot_size": 100.0, "averaging": 0.4, "reaches": 0.99, "standardised": False,
}  # fmt: skip
REGRESSION = {**FACTS, "y_bounds": [0.0, 1.0]}
LABELS = {"moments_noise": 20.0, "label_noise": 10.0}
WHOLE = plan(bounds_noise=9.0, bounded=2, pilot=plan(steps=3), **LABELS)
WHOLE_FACTS = {
    **REGRESSION,
    "standardised": True,
    "released_bounds": {"a": [0, 1], "b": [0, 1]},
}


def good(made, facts):
    check_facts(facts, private=True)
    check_releases(made.releases(), facts)


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        (plan(), FACTS),
        (plan(), REGRESSION),
        (plan(outputs=3), {**FACTS, "classes": ["a", "b", "c"], "class_weight": {"a": 2.0}}),
        (plan(), {**FACTS, "classes": ["a", "b"]}),
        (plan(intercept=False), {**REGRESSION, "intercept": 0.0}),
        (plan(moments_noise=20.0), {**FACTS, "classes": [0, 1], "standardised": True}),
        (plan(**LABELS), {**REGRESSION, "standardised": True}),
        (
            plan(intercept=False, **LABELS),
            {**REGRESSION, "intercept": 0.0, "standardised": True},
        ),
        (WHOLE, WHOLE_FACTS),
    ],
)  # fmt: skip
def test_what_a_plan_releases_agrees_with_its_facts(made, facts):
    good(made, facts)


def swap(place, **changes):
    """Return the releases of the longest plan with one of them changed."""
    releases = list(WHOLE.releases())
    event = {k: changes.pop(k) for k in ("rate", "steps", "noise_multiplier") if k in changes}
    one = releases[place]
    one = dataclasses.replace(one, event=dataclasses.replace(one.event, **event), **changes)
    releases[place] = one
    return releases


def test_the_longest_plan_is_what_the_places_below_mean():
    names = [x.what for x in WHOLE.releases()]
    assert names == [
        "bounds", "moments", "label mean", "label spread", "shared vector", "label spread",
        "shared vector",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("releases", "match"),
    [
        (swap(1, what="means"), "does not know"),
        (WHOLE.releases()[:4], "lists no training"),
        (WHOLE.releases()[:-1], "in another order"),
        ([x for x in WHOLE.releases() if x.what != "moments"], "lists no moments"),
        (WHOLE.releases()[1:], "released bounds"),
        (swap(1, n=999), "another n"),
        (swap(6, n=999), "another n"),
        (swap(4, what="label spread"), "twice or in another order"),
        (swap(3, what="label mean"), "twice or in another order"),
        ([*WHOLE.releases()[:5], WHOLE.releases()[6]], "twice or in another order"),
        (swap(0, clip=0.5), "'bounds' that no fit makes"),
        (swap(0, steps=1), "'bounds' that no fit makes"),
        (swap(1, clip=2.0), "'moments' that no fit makes"),
        (swap(1, rate=0.5), "'moments' that no fit makes"),
        (swap(1, steps=2), "'moments' that no fit makes"),
        (swap(2, rate=0.5), "'label mean' that no fit makes"),
        (swap(4, rate=0.2), "'shared vector' that no fit makes"),
        (swap(4, size=6), "'shared vector' that no fit makes"),
        (swap(5, noise_multiplier=11.0), "unequal noise"),
        ([x for x in WHOLE.releases() if x.what != "label mean"], "does not fit its intercept"),
        (swap(0, size=128), "size of the card's release 'bounds'"),
        (swap(1, size=9), "size of the card's release 'moments'"),
        (swap(2, size=2), "size of the card's release 'label mean'"),
        (swap(3, size=2), "size of the card's release 'label spread'"),
        (swap(6, steps=11), "epochs"),
    ],
)
def test_releases_that_no_fit_makes_are_refused(releases, match):
    with pytest.raises(CardError, match=match):
        check_releases(tuple(releases), WHOLE_FACTS)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"standardised": False}, "lists moments but states no"),
        ({"classes": [0, 1]}, "numeric labels"),
        ({"intercept": 0.0}, "does not fit its intercept"),
        ({"d": 5}, "'moments'"),
        ({"released_bounds": {}}, "'bounds'"),
        ({"n": 999}, "another n"),
        ({"epochs": 1.1}, "epochs"),
        ({"lot_size": 99.0}, "lot_size"),
        ({"averaging": 1.1}, "averaging"),
    ],
)
def test_facts_that_contradict_the_releases_are_refused(changes, match):
    with pytest.raises(CardError, match=match):
        check_releases(WHOLE.releases(), {**WHOLE_FACTS, **changes})


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        (plan(outputs=3), {**FACTS, "classes": [0, 1]}),
        (plan(), {**FACTS, "classes": [0, 1, 2]}),
        (plan(intercept=False), REGRESSION),
        (plan(), {**REGRESSION, "intercept": 0.0}),
    ],
)
def test_a_shared_vector_of_another_width_is_refused(made, facts):
    with pytest.raises(CardError, match="'shared vector' fits no such model"):
        check_releases(made.releases(), facts)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 0), ("n", 1.0), ("n", True), ("n", 10**400), ("n", None), ("d", "4"),
        ("rule", -1), ("lam", 0.0), ("lam", math.nan), ("lam", math.inf), ("lam", 10**400),
        ("lam", "1"), ("lam", True), ("row_bound", -1.0), ("intercept", -0.1),
        ("averaging", -0.1), ("reaches", 0.0), ("epochs", None), ("lot_size", []),
        ("standardised", 0), ("standardised", "yes"), ("class_weight", []),
        ("released_bounds", 3), ("classes", "ab"), ("classes", [1]), ("classes", 7),
        ("y_bounds", [1.0]), ("y_bounds", [1.0, 0.0]), ("y_bounds", [0.0, math.inf]),
        ("y_bounds", "01"), ("y_bounds", [0, 1]), ("y_bounds", None),
    ],
)  # fmt: skip
def test_facts_that_mean_nothing_are_refused(name, value):
    with pytest.raises(CardError, match=name):
        check_facts({**FACTS, name: value}, private=True)


PERSONS = {**FACTS, "max_rows": 1, "person_weight": "sum"}


@pytest.mark.parametrize("unit", [Unit(person="patient"), Unit(groups=True)])
def test_facts_about_persons_are_there_if_they_are_the_unit(unit):
    check_facts(PERSONS, unit, private=True)
    for name in ("max_rows", "person_weight"):
        with pytest.raises(CardError, match="its unit is a person"):
            check_facts({k: v for k, v in PERSONS.items() if k != name}, unit, private=True)
        with pytest.raises(CardError, match="its unit is a person"):
            check_facts({**FACTS, name: PERSONS[name]}, RECORD, private=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_rows", 0), ("max_rows", 2**14 + 1), ("max_rows", -1), ("max_rows", 1.0),
        ("max_rows", True),
        ("max_rows", None), ("max_rows", 10**400), ("max_rows", "1"), ("person_weight", None),
        ("person_weight", ""), ("person_weight", "Share"), ("person_weight", 1),
        ("person_weight", ["share"]),
    ],
)  # fmt: skip
def test_facts_about_persons_that_mean_nothing_are_refused(name, value):
    with pytest.raises(CardError, match=f"{name} of the card"):
        check_facts({**PERSONS, name: value}, Unit(groups=True), private=True)


def test_numbers_agree_but_for_rounding():
    assert agrees(1.0, 1.0 + 1e-12)
    assert not agrees(1.0, 1.0 + 1e-8)
    assert agrees(1.0, 1.0 + 1e-8, within=1e-6)
    assert not agrees(0.0, 1e-300)


def test_a_release_that_is_not_sampled_as_the_training_is_no_pilot():
    other = Release("shared vector", SampledGaussian(0.2, 3.0, 3), 0.5, 5, 1000)
    spread = WHOLE.releases()[5]
    with pytest.raises(CardError, match="no fit makes"):
        check_releases((spread, other, spread, plan().release()), FACTS)


def test_a_label_mean_alone_is_of_counts_that_are_not_standardised():
    facts = Facts(5000, 3, 1, "counts", 1.0, 0.3, means=True)
    listed = plan_fit(facts, PrivacyTarget(1.0, 1e-5)).releases()
    assert [x.what for x in listed] == ["label mean", "shared vector", "level"]
    event = listed[1].event
    own = {"n": 5000, "d": 3, "epochs": event.rate * event.steps, "lot_size": event.rate * 5000}
    counts = {**FACTS, **own, "exposure_bounds": [1.0, 1.0]}
    check_releases(listed, counts)
    for other in ({**counts, "standardised": True}, {**FACTS, **own}):
        with pytest.raises(CardError, match="without a label spread"):
            check_releases(listed[:-1], other)
