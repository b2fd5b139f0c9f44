"""A model file that was changed is refused, although its checksum matches."""

import copy
import json
import math

import pytest
from forgery import (
    KINDS,
    both,
    bounds_declared,
    fitted,
    put,
    reach,
    repriced,
    sealed,
    times,
    without,
    without_pilot,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import refusal
from dpscd import CardError, ModelFileError, PrivacyCard, load, sign_model
from dpscd.privacy.signing import new_key
from dpscd.privacy.unit import RECORD, Unit

CARD = ("card",)
PUBLIC = ("card", "public")
TRAINING = ("card", "releases", -1)
EVENT = (*TRAINING, "event")
UNIT = "a person with all their records"
GROUPS = Unit(groups=True).text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def content(folder):
    """Return what the file of a kind of model holds; each is trained once."""
    found = {}

    def of(kind):
        if kind not in found:
            path = folder / f"{kind}.json"
            fitted(kind).save(path)
            found[kind] = json.loads(path.read_text())
        return copy.deepcopy(found[kind])

    return of


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_comes_back_and_goes_out_again_as_it_was(content, folder, kind):
    content(kind)
    again = load(folder / f"{kind}.json")
    again.save(folder / "again.json")
    assert (folder / "again.json").read_text() == (folder / f"{kind}.json").read_text()


def test_the_kinds_are_what_their_names_say(content):
    def listed(kind):
        return [x["what"] for x in content(kind)["card"]["releases"]]

    assert listed("standardised") == ["moments", "shared vector", "calibration"]
    assert listed("cut")[-3:] == ["shared vector", "long rows", "rescaling"]
    assert content("cut")["training"]["longest_row"] == 1.0
    assert content("pilot")["training"]["longest_row"] is None
    assert content("stretched")["training"]["slope"] > 1.05
    assert content("pilot")["training"]["slope"] == 1.0
    assert listed("plain") == listed("ridge") == ["shared vector"]
    assert listed("bounds")[0] == "bounds"
    assert [len(content(x)["training"]["runs"]) for x in ("pilot", "unused pilot")] == [2, 1]
    for kind in ("pilot", "unused pilot"):
        assert listed(kind).count("shared vector") == 2
    assert listed("open") == []


LEARNT = [
    ("standardised", ("coef",)), ("standardised", ("intercept",)),
    ("standardised", ("coef_noise",)), ("standardised", ("intercept_noise",)),
    ("standardised", ("training", "standard", "centre")),
    ("standardised", ("training", "standard", "scale")),
    ("standardised", ("training", "standard", "direction")),
    ("standardised", ("training", "standard", "shrink")),
    ("standardised", ("link", "scale")), ("standardised", ("link", "caps")),
    ("pilot", ("training", "runs", 0, "lam")), ("ridge", ("intercept",)),
    ("pilot", ("training", "runs", 0, "label_scale")), ("bounds", ("table", "bounds", "a")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path"), LEARNT)
def test_texts_are_no_numbers(content, folder, kind, path):
    def spelt(value):
        return [spelt(x) for x in value] if isinstance(value, list) else repr(value)

    values = content(kind)
    holder = reach(values, path)
    holder[path[-1]] = spelt(holder[path[-1]])
    (folder / "texts.json").write_text(sealed(values))
    with pytest.raises(ModelFileError):
        load(folder / "texts.json")


@pytest.mark.parametrize("kind", ["standardised", "ridge", "classes"])
def test_truth_values_are_no_coefficients(content, folder, kind):
    values = content(kind)
    holder = values["coef"] if kind == "ridge" else values["coef"][0]
    holder[0] = True
    (folder / "true.json").write_text(sealed(values))
    with pytest.raises(ModelFileError, match="malformed"):
        load(folder / "true.json")


@pytest.mark.parametrize("number", [10**29, 10_001, 0, True])
def test_no_machine_has_so_many_threads(content, folder, number):
    values = content("ridge")
    values["parameters"]["n_jobs"] = number
    (folder / "threads.json").write_text(sealed(values))
    with pytest.raises(ModelFileError, match="None, -1 or an integer from 1 to 10,000"):
        load(folder / "threads.json")


no_moments = both(without("moments"), put(*PUBLIC, "standardised", value=False))
no_bounds = both(without("bounds"), put(*PUBLIC, "released_bounds", value={}))


def no_map(values):
    values["training"]["standard"] = None


def other_n(values, n=4000):
    values["card"]["public"]["n"] = n
    for release in values["card"]["releases"]:
        release["n"] = n


PERSONS = {"max_rows": 100, "person_weight": "share"}


def of_persons(unit=GROUPS):
    """Return a change of the unit and of all that a file says of persons."""
    return both(
        put(*CARD, "unit", value=unit),
        lambda v: v["card"]["public"].update(PERSONS),
        lambda v: v["parameters"].update(PERSONS),
    )


def of_records(values):
    """Say that records were protected, not persons."""
    values["card"]["unit"] = RECORD.text
    for name in PERSONS:
        del values["card"]["public"][name]


def swapped_classes(values):
    values["classes"]["values"].reverse()


def smaller_steps(values):
    event = reach(values, EVENT)["event"]
    event["steps"] -= 7
    values["card"]["public"]["epochs"] = event["steps"] * event["rate"]


def quiet_bounds(values):
    """List bounds with so much noise that they cost next to nothing."""
    bounds = copy.deepcopy(values["card"]["releases"][0])
    bounds.update(what="bounds", clip=1.0, size=128)
    bounds["event"].update(rate=1.0, steps=2, noise_multiplier=1e9)
    values["card"]["releases"].insert(0, bounds)


def stretched_by(factor):
    """Multiply the slope and all that follows from it."""
    return both(*(
        times(factor, *path)
        for path in (("training", "slope"), ("coef_noise",), ("intercept_noise",))
    ))  # fmt: skip


def junk(*path):
    return put(*path, "junk", value=1)


ATTACKS = {
    # Releases dropped with what announces them; also by who makes the prices fit.
    "moments": ("standardised", no_moments),
    "moments, repriced": ("standardised", both(no_moments, repriced)),
    "moments and the map": ("standardised", both(no_moments, no_map, repriced)),
    "moments alone": ("standardised", without("moments")),
    "the flag alone": ("standardised", put(*PUBLIC, "standardised", value=False)),
    "moments of a regression": ("pilot", no_moments),
    "label releases": ("unused pilot", both(without_pilot, without("label spread"), repriced)),
    "label mean": ("pilot", both(without("label mean"), repriced)),
    "a pilot that was used": ("pilot", without_pilot),
    "a pilot that was used, repriced": ("pilot", both(without_pilot, repriced)),
    "a pilot that was not used": ("unused pilot", without_pilot),
    "calibration": ("standardised", both(without("calibration"), repriced)),
    "calibration and its shift": ("standardised", both(
        without("calibration"), put("training", "curvature", value=0.0), repriced)),
    "a calibration twice": ("standardised", lambda v: v["card"]["releases"].append(
        v["card"]["releases"][-1])),
    "a calibration before training": ("standardised", both(
        lambda v: v["card"]["releases"].insert(1, v["card"]["releases"].pop()), repriced)),
    "a calibration of one number": ("standardised", both(
        put(*CARD, "releases", -1, "size", value=1), repriced)),
    "curvature": ("standardised", times(0.5, "training", "curvature")),
    "no curvature": ("standardised", put("training", "curvature", value=0.0)),
    "too much curvature": ("standardised", put("training", "curvature", value=0.3)),
    "next to no curvature": ("standardised", both(
        put("training", "curvature", value=1e-12), put("intercept_noise", value=[1e9]))),
    "curvature as a text": ("standardised", lambda v: v["training"].update(
        curvature=str(v["training"]["curvature"]))),
    "a calibration without chances": ("standardised", both(
        put("type", value="DPLinearSVC"), put("link", value=None))),
    "curvature of nothing": ("plain", put("training", "curvature", value=0.1)),
    "long rows": ("cut", both(without("long rows"), repriced)),
    "long rows of two numbers": ("cut", both(
        put(*CARD, "releases", -2, "size", value=2), repriced)),
    "a longer row": ("cut", put("training", "longest_row", value=2.0)),
    "a row cut for nothing": ("ridge", put("training", "longest_row", value=1.0)),
    "a row cut as a text": ("cut", put("training", "longest_row", value="1")),
    "a row cut as a yes": ("cut", put("training", "longest_row", value=True)),
    "rescaling": ("stretched", both(without("rescaling"), repriced)),
    "rescaling and its slope": ("stretched", both(
        without("rescaling"), put("training", "slope", value=1.0), repriced)),
    "the slope alone": ("stretched", put("training", "slope", value=1.0)),
    "another slope": ("stretched", times(1.1, "training", "slope")),
    "a slope as a text": ("stretched", lambda v: v["training"].update(
        slope=str(v["training"]["slope"]))),
    "no slope": ("stretched", lambda v: v["training"].pop("slope")),
    "a slope of nothing": ("ridge", both(
        put("training", "slope", value=2.0), times(2.0, "coef_noise"),
        times(2.0, "intercept_noise"))),
    "a slope too steep": ("stretched", stretched_by(10.0)),
    "a slope below zero": ("stretched", put("training", "slope", value=-1.0)),
    "rescaling of three numbers": ("stretched", both(
        put(*CARD, "releases", -1, "size", value=3), repriced)),
    "a rescaling of medians": ("stretched", both(
        put("type", value="DPHuberRegressor"),
        put("parameters", "threshold", value=1.0),
        put(*PUBLIC, "threshold", value=1.0))),
    "bounds": ("bounds", no_bounds),
    "bounds, repriced": ("bounds", both(no_bounds, repriced)),
    "bounds said to be declared": ("bounds", bounds_declared),
    "bounds of one column": ("bounds", both(
        put(*CARD, "releases", 0, "size", value=128), repriced)),
    "bounds added": ("ridge", lambda v: v["card"]["releases"].insert(
        0, {**copy.deepcopy(v["card"]["releases"][0]), "what": "bounds"})),
    "bounds of no table": ("plain", both(quiet_bounds, repriced)),
    "a release twice": (
        "plain", lambda v: v["card"]["releases"].append(v["card"]["releases"][0])),
    # The claim.
    "relation": ("plain", put(*CARD, "relation", value="add-remove")),
    "relation, repriced": ("plain", both(put(*CARD, "relation", value="add-remove"), repriced)),
    "relation of the parameters": ("plain", put("parameters", "relation", value="replace-one")),
    "delta": ("plain", put(*CARD, "delta", value=0.2)),
    "delta, repriced": ("plain", both(put(*CARD, "delta", value=0.2), repriced)),
    "a declared delta": ("three", both(put(*CARD, "delta", value=1e-5), repriced)),
    "delta of the parameters": ("plain", put("parameters", "delta", value=1e-7)),
    "epsilon of both": ("plain", both(
        put(*CARD, "epsilon", value=1.2), put("parameters", "epsilon", value=1.2))),
    "infinite epsilon": ("plain", both(
        put(*CARD, "epsilon", value="inf"),
        put("parameters", "epsilon", value={"float": "inf"}))),
    "accountant": ("plain", put(*CARD, "accountant", value="RDP")),
    "unit": ("plain", put(*CARD, "unit", value=UNIT)),
    "unit without privacy": ("open", put(*CARD, "unit", value=UNIT)),
    "a person without facts": ("plain", put(*CARD, "unit", value=GROUPS)),
    "facts without a person": ("plain", put(*PUBLIC, "max_rows", value=100)),
    "a column without a table": ("plain", of_persons(Unit(person="patient").text)),
    "a record with facts": ("persons", put(*CARD, "unit", value=RECORD.text)),
    "another cap of rows": ("persons", put(*PUBLIC, "max_rows", value=7)),
    "another weight of rows": ("persons", put(*PUBLIC, "person_weight", value="share")),
    "asked for another cap": ("persons", put("parameters", "max_rows", value=7)),
    "asked for another weight": ("persons", put("parameters", "person_weight", value="share")),
    "asked for no cap": ("persons", lambda v: v["parameters"].pop("max_rows")),
    "a column that the schema does not name": (
        "classes", of_persons(Unit(person="a").text)),
    "no column of persons": ("persons by column", of_records),
    "another column of persons": (
        "persons by column", put(*CARD, "unit", value=Unit(person="a").text)),
    "groups in place of a column": (
        "persons by column", put(*CARD, "unit", value=GROUPS)),
    "assumptions": ("plain", put(*CARD, "assumptions", value=[])),
    "price of precision": ("plain", put(*CARD, "precision_delta", value=1e-20)),
    "what the releases reach": ("plain", times(0.5, *PUBLIC, "reaches")),
    # The noise.
    "noise times ten": ("plain", times(10.0, "coef_noise")),
    "noise times ten, standardised": ("standardised", times(10.0, "coef_noise")),
    "noise times ten, pilot": ("pilot", times(10.0, "coef_noise")),
    "noise of the intercept": ("plain", times(10.0, "intercept_noise")),
    "noise of one coefficient": ("three", times(0.5, "coef_noise", 1, 2)),
    "noise without privacy": ("open", put("coef_noise", 0, 1, value=1.0)),
    "multiplier": ("plain", both(times(2.0, *EVENT, "noise_multiplier"), repriced)),
    "multiplier and noise": ("plain", both(
        times(2.0, *EVENT, "noise_multiplier"), times(2.0, "coef_noise"),
        times(2.0, "intercept_noise"))),
    "multiplier of the moments": (
        "standardised", times(3.0, *CARD, "releases", 0, "event", "noise_multiplier")),
    "clip": ("plain", times(2.0, *TRAINING, "clip")),
    "clip of the moments": ("standardised", put(*CARD, "releases", 0, "clip", value=0.5)),
    "rate of the moments": ("standardised", both(
        put(*CARD, "releases", 0, "event", "rate", value=0.5), repriced)),
    "averaging": ("plain", put(*PUBLIC, "averaging", value=0.9)),
    "too much averaging": ("plain", put(*PUBLIC, "averaging", value=1.5)),
    "map": ("standardised", times(2.0, "training", "standard", "scale")),
    "map and noise of coefficients": ("standardised", both(
        times(2.0, "training", "standard", "scale"), times(2.0, "coef_noise"))),
    "another centre": ("standardised", put("training", "standard", "centre", value=[1.0] * 3)),
    "a direction beside an intercept": (
        "standardised", put("training", "standard", "direction", value=[1.0, 0.0, 0.0])),
    "a direction without length": ("unused pilot", both(
        put("training", "standard", "direction", value=[0.0] * 3),
        put("training", "standard", "shrink", value=0.5))),
    "a negative scale": ("standardised", times(-1.0, "training", "standard", "scale")),
    "a short map": ("standardised", put("training", "standard", "scale", value=[1.0])),
    "a map too many": ("plain", lambda v: v["training"].update(
        standard={"centre": [0.0] * 3, "scale": [1.0] * 3, "direction": [0.0] * 3,
                  "shrink": 0.0})),
    "label scale": ("pilot", times(0.5, "training", "runs", 1, "label_scale")),
    "label scale beyond the bounds": (
        "pilot", times(2.0, "training", "runs", 0, "label_scale")),
    "label scale of a classifier": ("plain", times(2.0, "training", "runs", 0, "label_scale")),
    "lam of the pilot": ("pilot", times(2.0, "training", "runs", 0, "lam")),
    "no run": ("plain", put("training", "runs", value=[])),
    "a run more": ("plain", lambda v: v["training"]["runs"].append(v["training"]["runs"][0])),
    # The plan.
    "n": ("plain", other_n),
    "n and the lot": ("plain", both(other_n, times(2.0, *PUBLIC, "lot_size"), repriced)),
    "a declared n": ("three", both(other_n, times(4000 / 1900, *PUBLIC, "lot_size"), repriced)),
    "n of the card": ("plain", put(*PUBLIC, "n", value=1)),
    "sizes": ("plain", both(put(*TRAINING, "size", value=1), repriced)),
    "sizes of moments": ("standardised", both(
        put(*CARD, "releases", 0, "size", value=2), repriced)),
    "sizes of a pilot": ("pilot", both(
        put(*CARD, "releases", 3, "size", value=1), repriced)),
    "rate of a pilot": ("unused pilot", both(
        times(0.5, *CARD, "releases", -4, "event", "rate"), repriced)),
    "unequal label noise": ("pilot", both(
        times(2.0, *CARD, "releases", 1, "event", "noise_multiplier"), repriced)),
    "fewer steps": ("plain", smaller_steps),
    "fewer steps, repriced": ("plain", both(smaller_steps, repriced)),
    "rate": ("plain", both(times(0.5, *EVENT, "rate"), repriced)),
    "epochs": ("plain", times(0.5, *PUBLIC, "epochs")),
    "lot size": ("plain", times(0.5, *PUBLIC, "lot_size")),
    "lam": ("plain", times(10.0, *PUBLIC, "lam")),
    "lam of both": ("plain", both(
        times(10.0, *PUBLIC, "lam"), times(10.0, "training", "runs", 0, "lam"))),
    "row bound": ("plain", put(*PUBLIC, "row_bound", value=2.0)),
    "row bound of both": ("plain", both(
        put(*PUBLIC, "row_bound", value=2.0), put("parameters", "row_bound", value=2.0))),
    "intercept": ("plain", times(2.0, *PUBLIC, "intercept")),
    "no intercept": ("unused pilot", put("intercept", value=0.5)),
    "rule": ("plain", put(*PUBLIC, "rule", value=2)),
    "rule as text": ("plain", put(*PUBLIC, "rule", value="1")),
    # The parameters, each against the card.
    "asked for moments": ("plain", put("parameters", "standardise", value=True)),
    "asked for no moments": ("standardised", put("parameters", "standardise", value=False)),
    "moments beside a lam": ("standardised", put("parameters", "lam", value=0.1)),
    "asked for another lam": ("ridge", put("parameters", "lam", value=0.1)),
    "asked for other epochs": ("ridge", put("parameters", "epochs", value=3.0)),
    "asked for another lot": ("ridge", put("parameters", "lot_size", value=21)),
    "asked for another travel": ("ridge", put("parameters", "travel", value=0.6)),
    "asked for another n": ("three", put("parameters", "n", value=1901)),
    "asked for no intercept": ("plain", put("parameters", "fit_intercept", value=False)),
    "asked for another constant": ("ridge", put("parameters", "intercept_scaling", value=0.1)),
    "an impossible parameter": ("plain", put("parameters", "n_jobs", value=-7)),
    "a parameter missing": ("plain", lambda v: v["parameters"].pop("row_bound")),
    # Classes and labels.
    "classes reversed": ("plain", swapped_classes),
    "classes of the card": ("plain", put(*PUBLIC, "classes", value=[0, 2])),
    "classes of the parameters": (
        "plain", put("parameters", "classes", value={"list": [0, 2]})),
    "classes that are not from y": (
        "plain", put(*PUBLIC, "classes_from", value="the labels in y")),
    "undeclared classes": ("plain", put("parameters", "classes", value=None)),
    "class weights": ("plain", put(*PUBLIC, "class_weight", value={"1": 5.0})),
    "class weights of a table": ("classes", put(*PUBLIC, "class_weight", value={"yes": 5.0})),
    "label bounds of the card": ("ridge", put(*PUBLIC, "y_bounds", value=[-2.0, 2.0])),
    "label bounds of both": ("ridge", both(
        put(*PUBLIC, "y_bounds", value=[-2.0, 2.0]),
        put("parameters", "y_bounds", value={"list": [-2, 2]}))),
    "another type": ("plain", put("type", value="DPRidge")),
    "a regression with classes": ("ridge", put("classes", value={
        "kind": "int", "values": [0, 1], "dtype": "<i8"})),
    # Tables.
    "features": ("classes", put("features", value=["other"])),
    "released bounds": ("bounds", put(*PUBLIC, "released_bounds", "a", value=[-9.0, 9.0])),
    "bounds of the table": ("bounds", put("table", "bounds", "a", value=[-9.0, 9.0])),
    "bounds of both": ("bounds", both(
        put(*PUBLIC, "released_bounds", "y", value=[-9.0, 9.0]),
        put("table", "bounds", "y", value=[-9.0, 9.0]))),
    "schema": ("classes", put("table", "schema", "columns", "a", "bounds", value=[-2, 2])),
    "classes of the schema": ("classes", put(
        "table", "schema", "target", "classes", value=["yes", "no"])),
    "bins of the schema": ("classes", put("table", "schema", "columns", "a", "bins", value=9)),
    "no schema": ("classes", put("table", "schema", value={})),
    "bounds that nobody released": ("classes", put("table", "bounds", value={"a": [0, 1]})),
    "an empty table": ("classes", put("table", value={})),
    "a table that is a number": ("classes", put("table", value=3)),
    "schema of the card": ("classes", put(*PUBLIC, "schema", value="0" * 64)),
    "read from data": ("classes", put(*PUBLIC, "read_from_data", value=["a"])),
    "target": ("classes", put(*PUBLIC, "target", value="z")),
    "no table": ("classes", lambda v: v.pop("table")),
    "a table of another": ("plain", put("table", value={"schema": {}, "bounds": {}})),
    # Things that do not belong there.
    "junk": ("plain", junk()),
    "junk on the card": ("plain", junk(*CARD)),
    "junk in the facts": ("plain", junk(*PUBLIC)),
    "junk in a release": ("plain", junk(*TRAINING)),
    "junk in an event": ("plain", junk(*EVENT)),
    "junk in the versions": ("plain", put(*CARD, "versions", "junk", value="1")),
    "junk in the parameters": ("plain", junk("parameters")),
    "junk in the training": ("plain", junk("training")),
    "junk in a run": ("plain", junk("training", "runs", 0)),
    "junk in the map": ("standardised", junk("training", "standard")),
    "junk in the classes": ("plain", junk("classes")),
    "junk in the table": ("classes", junk("table")),
    "a data set that is no name": ("plain", put(*PUBLIC, "dataset", value=[1])),
    "a fact missing": ("plain", lambda v: v["card"]["public"].pop("reaches")),
    "NaN": ("plain", put(*PUBLIC, "reaches", value=math.nan)),
    "a coefficient that is NaN": ("plain", put("coef", 0, 0, value=math.nan)),
    "infinity": ("plain", put(*PUBLIC, "lam", value=math.inf)),
    "a huge number": ("plain", put(*PUBLIC, "n", value=10**400)),
    "a huge d": ("plain", put(*PUBLIC, "d", value=10**12)),
    "a huge lam": ("plain", both(
        put(*PUBLIC, "lam", value=1e299), put("training", "runs", 0, "lam", value=1e299))),
    "a tiny lam": ("plain", both(
        put(*PUBLIC, "lam", value=1e-299), put("training", "runs", 0, "lam", value=1e-299))),
    "true for one": ("plain", put(*PUBLIC, "d", value=True)),
    "one for false": ("plain", put(*PUBLIC, "standardised", value=0)),
    "format as a float": ("plain", put("format", value=1.0)),
    "another format": ("plain", put("format", value=2)),
    # Parts of a guarantee without one.
    "an accountant without privacy": ("open", put(*CARD, "accountant", value="PLD")),
    "standardised without privacy": ("open", put(*PUBLIC, "standardised", value=True)),
}  # fmt: skip


def refused(path):
    """Return whether both doors refuse a file, the command with exit code 1 and one line."""
    with pytest.raises((ModelFileError, CardError)) as caught:
        load(path)
    refusal("verify", path)
    return "checksum" not in str(caught.value)


@pytest.mark.full
@pytest.mark.parametrize("name", ATTACKS)
def test_a_file_that_was_changed_in_one_place_is_refused(content, tmp_path, name):
    kind, change = ATTACKS[name]
    values = content(kind)
    before = json.dumps(values)
    change(values)
    assert json.dumps(values) != before
    path = tmp_path / "model.json"
    path.write_text(sealed(values))
    assert refused(path)


@pytest.mark.parametrize(
    ("kind", "other"),
    [("plain", "standardised"), ("standardised", "plain"), ("ridge", "pilot"),
     ("pilot", "ridge"), ("plain", "three"), ("plain", "open"), ("open", "plain")],
)  # fmt: skip
def test_the_card_of_another_model_is_refused(content, tmp_path, kind, other):
    values = content(kind)
    values["card"] = content(other)["card"]
    values["parameters"]["epsilon"] = content(other)["parameters"]["epsilon"]
    path = tmp_path / "model.json"
    path.write_text(sealed(values))
    assert refused(path)


@pytest.mark.parametrize("key", ["epsilon", "format", "seeded", "lam"])
def test_a_key_that_stands_twice_is_refused(content, tmp_path, key):
    text = sealed(content("plain"))
    values = json.loads(text)
    holders = (values, values["card"], values["card"]["public"])
    value = json.dumps(next(x[key] for x in holders if key in x))
    pair = f'"{key}": {value}'
    assert pair in text
    path = tmp_path / "model.json"
    path.write_text(text.replace(pair, f'"{key}": 0.1, {pair}', 1))
    assert refused(path)
    with pytest.raises(CardError):
        PrivacyCard.from_json('{"card": 1, "card": 1}')


def test_a_missing_minus_is_no_change(content, tmp_path):
    values = content("open")
    put(*CARD, "interval", value=-0.0)(values)
    path = tmp_path / "model.json"
    path.write_text(sealed(values))
    assert load(path).privacy_.verify() == math.inf


# --- any number of a card ------------------------------------------------------------------


def numbers_of(values, path=()):
    """Yield the paths of all numbers below."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in pairs:
            yield from numbers_of(value, (*path, key))
    elif type(values) in (int, float):
        yield path


def same_average(card, value):
    steps = card["releases"][-1]["event"]["steps"]
    return round(value * steps) == round(card["public"]["averaging"] * steps)


def immaterial(card, path, value):
    """Say why a changed number may pass: what the card says remains true and as strong."""
    old = reach(card, path)[path[-1]]
    names = [x["what"] for x in card["releases"]]
    if old == value:
        return "the same number, written in another way"
    if path == ("interval",):
        return "any grid gives a valid bound, and this one the stated epsilon"
    if path == ("public", "averaging") and same_average(card, value):
        return "averages from the same step on"
    within = {"precision_epsilon": 2e-6, "precision_delta": 2e-6, "reaches": 2e-4}
    rounded = {"epochs", "lot_size", "rate", "noise_multiplier", "clip", "intercept", *within}
    name = path[-1]
    if name in rounded and math.isclose(old, value, rel_tol=within.get(name, 2e-9)):
        return "rounding; epsilon is recomputed without it, or with it and within it"
    if path[0] == "releases":
        first = path[1] < len(names) - 1
        if first and name == "noise_multiplier":
            return "the releases come to the stated epsilon within 1e-4 all the same"
        if first and names[path[1]] == "shared vector" and name in ("clip", "steps"):
            return "of a pilot that was not used: epsilon, the same within 1e-4, has no clip"
    return None


FACTORS = [0.0, -1.0, 0.5, 0.9, 1 - 1e-3, 1 - 1e-6, 1 - 1e-12, 1 + 1e-12, 1 + 1e-6, 1 + 1e-3,
           1.1, 2.0, 10.0, 1e9, 1e300, -0.0]  # fmt: skip


@pytest.mark.full
@settings(max_examples=150)
@given(data=st.data())
def test_any_one_number_of_a_card_matters_or_is_immaterial(content, folder, data):
    kind = data.draw(st.sampled_from([kind for kind in KINDS if kind != "open"]))
    values = content(kind)
    card = copy.deepcopy(values["card"])
    path = data.draw(st.sampled_from(sorted(numbers_of(card), key=str)))
    holder = reach(values["card"], path)
    old = holder[path[-1]]
    change = data.draw(st.sampled_from(FACTORS) | st.integers(-3, 3))
    value = old + change if type(change) is int else old * change
    if type(old) is int and math.isfinite(value) and data.draw(st.booleans()):
        value = int(value)
    holder[path[-1]] = value
    changed = folder / "changed.json"
    changed.write_text(sealed(values))
    try:
        found = load(changed)
    except (ModelFileError, CardError):
        return
    assert immaterial(card, path, value), (kind, path, old, value)
    assert found.privacy_.verify() <= card["epsilon"]


# --- what is not found without a key ---------------------------------------------------------

UNSEEN = {
    "coefficients": ("plain", times(-1.0, "coef")),
    "the intercept": ("plain", put("intercept", value=[0.5])),
    "names of features without a schema": ("plain", put("features", value=["x", "y", "z"])),
    "whether there was a seed": ("plain", put(*CARD, "seeded", value=False)),
    "versions": ("plain", put(*CARD, "versions", "dpscd", value="9")),
    "a release, everywhere": ("bounds", both(bounds_declared, repriced)),
    "groups that were not": ("plain", of_persons()),
    "groups that were": ("persons", of_records),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_no_comparison_finds_is_listed(content, tmp_path, name):
    # docs/reference/card.md promises no more than this, and that a signature finds it.
    kind, change = UNSEEN[name]
    values = content(kind)
    path, key = tmp_path / "model.json", tmp_path / "key.pem"
    path.write_text(sealed(values))
    public = new_key(key)
    sign_model(path, key)
    assert load(path, key=public)
    change(values)
    path.write_text(sealed(values))
    assert load(path).privacy_.verify() <= values["card"]["epsilon"]
    with pytest.raises(ModelFileError, match="no signature"):
        load(path, key=public)
