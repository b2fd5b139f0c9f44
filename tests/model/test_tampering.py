"""A file that was changed is refused, or states nothing false but what a signature tells."""

import json
import time
from itertools import islice

import numpy as np
import pytest
from forgery import MODELS, at, content, fitted, mutations, put, sealed

from commands import refusal
from dpscd import ModelFileError, load, sign_model
from dpscd.privacy.signing import new_key

SECONDS = 60.0  # far more than any of them takes: to compose another plan is the slowest
_SAMPLE, _QUICK = 13, 199  # one of so many changes is tried
FEW = ["link", "pilot", "bounds"]

# Where a changed file may say something else: said once, and nothing in the file depends on
# it. docs/reference/card.md promises no more, and that a signature finds it.
UNSEEN = {
    ("seeded",): "whether there was a seed",
    ("versions",): "versions",
    ("plan", "target"): "another claim that the releases keep",
    ("plan", "facts", "persons"): "whether rows were grouped",
    ("plan", "facts", "dataset"): "name of the budget",
    ("plan", "facts", "schema"): "names and meaning of columns and classes",
    ("plan", "facts", "labels", "classes"): "classes that were not declared",
    ("search",): "how the runs of a search were scored, and a claim that they keep",
    ("plan", "releases"): "rates, steps and noise that nothing was computed from",
}
#: What in a file without privacy nothing depends on.
OPEN = {("plan", "facts", "n"): "n", ("plan", "facts", "labels"): "bounds of labels"}
#: Where a changed file may claim more: the releases keep it, if data were as it says.
STRONGER = {("plan", "target"), ("search",), ("plan", "facts", "persons")}
#: Releases of which a model may have learnt nothing.
USELESS = {"LongRows", "Rescaling", "Pilot", "ResidualSpread"}


def claims_more(card, before):
    """Return whether a card claims anything that another does not imply."""
    if not card.private:
        return False
    kept = card.epsilon >= before.epsilon and card.delta >= before.delta
    return not kept or card.relation != before.relation or card.unit != before.unit


def among(path, places):
    return any(path[: len(place)] == place for place in places)


def check(model, before, path):
    """Check that a changed file that was loaded states nothing false."""
    card, old = model.privacy_, before.privacy_
    assert card.verify() <= card.epsilon
    model.fit_.verify()
    if claims_more(card, old):
        assert among(path, STRONGER)
    if str(card) != str(old) or card.statement != old.statement:
        assert among(path, UNSEEN if old.private else UNSEEN | OPEN)
    if card.private:
        for name, own in model.fit_.numbers.arrays().items():
            wanted = before.fit_.numbers.arrays()[name]
            largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
            np.testing.assert_allclose(own, wanted, rtol=1e-8, atol=1e-8 * largest)


def attack(kind, others, tmp_path, step):
    """Try one of `step` changes of a file, to what others have too; return how many."""
    values, before, path = content(kind), fitted(kind), tmp_path / "model.json"
    strangers = [content(name) for name in others if name != kind]
    refused = count = 0
    changes = islice(mutations(values, strangers), sum(map(ord, kind)) % step, None, step)
    for place, other in changes:
        count += 1
        path.write_text(sealed(put(values, place, other)))
        began = time.monotonic()
        try:
            model = load(path)
        except ModelFileError as error:
            text = str(error)
            assert text.startswith("model.json is not a usable model file: ")
            assert len(text) < 400
            assert "\n" not in text
            assert "checksum" not in text
            assert error.__suppress_context__
            refused += 1
        else:
            check(model, before, place)
        assert time.monotonic() - began < SECONDS, (place, other)
    assert refused > 0.6 * count
    return count


@pytest.mark.full
@pytest.mark.parametrize("kind", MODELS)
def test_one_place_that_was_changed_makes_no_false_claim(kind, tmp_path):
    assert attack(kind, MODELS, tmp_path, _SAMPLE) > 200


@pytest.mark.parametrize("kind", FEW)
def test_few_places_that_were_changed_make_no_false_claim(kind, tmp_path):
    attack(kind, FEW, tmp_path, _QUICK)


def test_without_a_new_checksum_every_change_is_refused_by_it(tmp_path):
    path = tmp_path / "model.json"
    for place, other in islice(mutations(content("bounds")), 0, None, _QUICK):
        path.write_text(json.dumps(put(content("bounds"), place, other)))
        with pytest.raises(ModelFileError) as caught:
            load(path)
        if place != ("format",):
            assert any(x in str(caught.value) for x in ("its checksum does not", "malformed"))


@pytest.mark.full
@pytest.mark.parametrize("kind", [kind for kind in MODELS if not kind.startswith("open")])
def test_a_release_that_a_model_learnt_from_cannot_be_left_out(kind, tmp_path):
    place, path = 0, tmp_path / "model.json"
    for index, release in enumerate(fitted(kind).fit_.plan.releases):
        values = json.loads(json.dumps(content(kind)))
        del values["plan"]["releases"][index]
        del values["answers"][place : place + len(release.at)]
        place += len(release.at)
        path.write_text(sealed(values))
        try:
            found = load(path)
        except ModelFileError:
            continue
        assert type(release).__name__ in USELESS
        check(found, fitted(kind), ("plan", "releases"))


LIES = {
    "a smaller epsilon": ("plain", ("plan", "target", "epsilon"), 0.1, "the card claims"),
    "less noise": ("link", ("plan", "releases", -1, "noise_multiplier"), 0.1, "not what its"),
    "a smaller delta": ("plain", ("plan", "target", "delta"), 1e-7, "the card claims"),
    "another relation": ("table", ("plan", "target", "relation"), "add-remove", "needs n="),
    "no privacy": ("plain", ("plan", "target", "epsilon"), "inf", "parts of a guarantee"),
    "coefficients": ("pilot", ("numbers", "coef", 0, 0), 1.5, "its coefficients are not what"),
    "the intercept": ("pilot", ("numbers", "intercept", 0), 0.5, "its intercept are not what"),
    "the noise": ("pilot", ("numbers", "coef_noise", 0, 0), 1.5, "its noise of the coeff"),
    "the link": ("link", ("numbers", "link", "scale"), 0.7, "its link are not what"),
    "released bounds": ("bounds", ("numbers", "bounds", 0), [-9.0, 9.0], "not what its"),
    "the longest row": ("cut", ("numbers", "longest_row"), 2.0, "longest row are not what"),
    "an answer": ("softmax", ("answers", 1, 0, 0), 1.5, "not what its answers"),
    "n": ("link", ("plan", "facts", "n"), 4000, "not what its answers"),
    "lam": ("plain", ("plan", "releases", 0, "lam"), 10.0, "not what its answers"),
    "the constant": ("plain", ("plan", "facts", "constant"), 0.9, "not what its answers"),
    "that classes were declared": (
        "undeclared", ("plan", "facts", "declared"), True, "its parameters are not those"),
    "the order of classes": (
        "link", ("plan", "facts", "labels", "classes"), [1, 0], "its classes are not those"),
    "moments": ("plain", ("plan", "facts", "standardised"), True, "its releases are not"),
    "a rate": ("given", ("plan", "releases", 0, "rate"), 0.009, "its parameters are not those"),
    "a device": ("plain", ("plan", "facts", "device"), "gpu", "its parameters are not those"),
    "the column of persons": (
        "table", ("plan", "facts", "persons", "column"), "a", "its parameters are not those"),
    "no persons": ("table", ("plan", "facts", "persons"), None, "its parameters are not"),
    "rows of a person": (
        "persons", ("plan", "facts", "persons", "most"), 7, "its parameters are not those"),
    "asked for other rows": ("persons", ("parameters", "max_rows"), 7, "its parameters are"),
    "asked for other bounds": (
        "pilot", ("parameters", "y_bounds"), {"list": [-2, 2]}, "its parameters are not"),
    "asked for other weights": (
        "weights", ("parameters", "class_weight"), None, "its parameters are not those"),
    "asked for intervals": ("link", ("parameters", "inference"), True, "does not go with"),
    "not asked for any": (
        "inference", ("parameters", "inference"), False, "its parameters are not those"),
    "a threshold": ("huber", ("plan", "facts", "threshold"), 2.0, "its parameters are not"),
    "exposures": ("poisson", ("plan", "facts", "labels", "most"), 9.0, "not what its answers"),
    "a monotone shape": ("bounds", ("numbers", "coef", 0, 2), -9.0, "its coefficients are not"),
    "an unseen level": ("table", ("numbers", "unseen"), [0], "features without spread are"),
    "answers without privacy": ("open", ("answers",), [[1.0]], "its answers are not those"),
    "another type": ("link", ("estimator",), "DPRidge", "it is not one of"),
    "threads": ("link", ("parameters", "n_jobs"), 10**29, "integer from 1 to 10,000"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused_with_its_reason(name, tmp_path):
    kind, place, value, words = LIES[name]
    path = tmp_path / "model.json"
    assert at(content(kind), place) != value
    path.write_text(sealed(put(content(kind), place, value)))
    with pytest.raises(ModelFileError, match=words):
        load(path)
    refusal("verify", path)


REWRITTEN = {
    "whether there was a seed": ("plain", ("seeded",), False),
    "versions": ("plain", ("versions", "dpscd"), "9"),
    "a claim within what is reached": ("plain", ("plan", "target", "epsilon"), 0.999999),
    "a weaker claim": ("plain", ("plan", "target", "delta"), 2e-5),
    "a rate that was not asked for": ("robust", ("plan", "releases", 1, "rate"), 0.007),
    "names of features": ("link", ("features",), ["x", "y", "z"]),
    "groups that were not": (
        "given", ("plan", "facts", "persons"), {"column": None, "weight": "sum", "most": 100}),
    "groups that were": ("persons", ("plan", "facts", "persons"), None),
    "names of classes": (
        "table", ("plan", "facts", "schema", "target", "classes"), ["no", "yes"]),
    "a relation with a declared n": ("softmax", ("plan", "target", "relation"), "add-remove"),
}  # fmt: skip


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_only_a_signature_tells_is_listed(name, tmp_path):
    kind, place, value = REWRITTEN[name]
    path, key = tmp_path / "model.json", tmp_path / "key.pem"
    path.write_text(sealed(content(kind)))
    public = new_key(key)
    sign_model(path, key)
    assert load(path, key=public)
    path.write_text(sealed(put(content(kind), place, value)))
    found = load(path)
    assert found.privacy_.verify() <= found.privacy_.epsilon
    with pytest.raises(ModelFileError, match="no signature"):
        load(path, key=public)


@pytest.mark.parametrize("key", ["format", "epsilon", "seeded", "lam"])
def test_a_key_that_stands_twice_is_refused(key, tmp_path):
    text = sealed(content("given"))
    start = text.index(f'"{key}": ')
    path = tmp_path / "model.json"
    path.write_text(f'{text[:start]}"{key}": 0.1, {text[start:]}')
    with pytest.raises(ModelFileError, match="malformed"):
        load(path)
