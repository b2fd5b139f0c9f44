"""``dpscd verify`` of scores: the JSON of an evaluation, and a card alone."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from commands import call
from dpscd import DPLogisticRegression, private_score
from dpscd.cards.score_file import score_card_of
from dpscd.errors import CardError

DRAWN = np.random.default_rng(0)
X = DRAWN.uniform(-0.5, 0.5, (2000, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")


@pytest.fixture(scope="module")
def model():
    made = DPLogisticRegression(4.0, classes=["no", "yes"], random_state=0, epochs=5)
    return made.fit(X[:1000], Y[:1000])


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return call


@pytest.fixture
def evaluated(run, model):
    """Return what evaluate prints, as values."""
    model.save("model.json")
    np.save("x.npy", X[1000:])
    np.save("y.npy", Y[1000:])
    words = ("--labels", "y.npy", "--private-epsilon", 0.5, "--json")
    return json.loads(run("evaluate", "model.json", "x.npy", *words).stdout)


def test_an_evaluation_is_verified_and_called_a_score(run, evaluated):
    Path("score.json").write_text(json.dumps(evaluated))
    text = run("verify", "score.json").stdout
    assert text.startswith("score.json: a score, accuracy on 1,000 held-out records. For these")
    assert "claims epsilon 0.5 at delta 1e-05, zero-out" in text
    assert "trained the model are promised is on the model's card" in text
    values = json.loads(run("verify", "score.json", "--json").stdout)
    assert (values["of"], values["metric"], values["ok"]) == ("score", "accuracy", True)
    assert values["recomputed"] <= values["claimed"] == 0.5
    assert json.loads(run("verify", "model.json", "--json").stdout)["of"] == "model"
    assert "only models are signed" in run("verify", "score.json", "--key", "k", code=1).stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0.1), ("delta", 1e-9), ("relation", "add-remove"), ("unit", "x"),
     ("records", 10**6), ("metric", "auc"), ("classes", ["a"]), ("bound", 1.0)],
)  # fmt: skip
def test_what_stands_around_the_card_agrees_with_it(run, evaluated, name, value):
    Path("score.json").write_text(json.dumps({**evaluated, name: value}))
    found = run("verify", "score.json", code=1).stderr
    assert f"score.json: the file states another {name} than its card" in found


def test_a_card_that_claims_too_much_fails(run, evaluated):
    evaluated["card"]["epsilon"] = evaluated["epsilon"] = 0.4
    Path("score.json").write_text(json.dumps(evaluated))
    assert "amount to" in run("verify", "score.json", code=1).stderr


def test_a_card_alone_is_read_with_its_unit(run, model):
    groups = np.repeat(np.arange(500), 2)
    found = private_score(
        model, X[1000:], Y[1000:], epsilon=1.0, metric="recall", groups=groups
    )
    Path("card.json").write_text(found.card.to_json())
    text = run("verify", "card.json").stdout
    assert "recall on 500 held-out persons" in text
    assert f"the unit is {found.card.unit}" in text
    declared = private_score(model, X, Y, epsilon=1.0, relation="add-remove", n=1900)
    Path("card.json").write_text(declared.card.to_json())
    assert "1,900 (declared) held-out records" in run("verify", "card.json").stdout


def test_what_is_no_score_is_refused_in_words(run, model):
    Path("card.json").write_text(model.privacy_.to_json())
    assert "card of a model without the model" in run("verify", "card.json", code=1).stderr
    Path("exact.json").write_text(json.dumps({"private": False, "metrics": {}}))
    assert "exact numbers, without noise" in run("verify", "exact.json", code=1).stderr
    Path("half.json").write_text(json.dumps({"private": True}))
    assert "not the JSON of a privacy card" in run("verify", "half.json", code=1).stderr
    for other in ("[1]", "{}", "no JSON", '{"a": 1, "a": 1}'):
        assert score_card_of(other.encode()) is None


def test_a_release_that_is_none_is_no_score(model):
    for releases in ([], [1], "x"):
        with pytest.raises(CardError, match="without the model"):
            score_card_of(json.dumps({"card": 1, "releases": releases}).encode())
    card = private_score(model, X, Y, epsilon=1.0).card
    more = dataclasses.replace(card, releases=(*card.releases, *card.releases))
    with pytest.raises(CardError, match="one release"):
        score_card_of(more.to_json().encode()).verify()
    other = json.dumps({**json.loads(card.to_json()), "card": 2})
    with pytest.raises(
        CardError, match="has number 2, but this version of dpscd reads number 1"
    ):
        score_card_of(other.encode())
