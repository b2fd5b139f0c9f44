"""The audit of private scores: near the claim, and above it where it is false."""

import json
from dataclasses import replace

import numpy as np
import pytest

from commands import call
from dpscd import DPRidge
from dpscd.audit import EstimatorGame, ScoreGame, audit_door, audit_score
from dpscd.audit.doors import score_doors
from dpscd.errors import ParameterError
from dpscd.estimators.private_score import private_score
from dpscd.releases.base import SumRelease
from dpscd.releases.score import Score

CLAIM = 4.0
CELLS = ScoreGame("cells", "confusion", {"epsilon": CLAIM}, classes=8, canaries=64)
ALONE = ScoreGame("alone", "accuracy", {"epsilon": CLAIM})

# At epsilon 4 the claim has mu 0.96, half the noise 1.92. With 300 canaries in each world the
# lower bound on mu is less by 0.3, with a standard deviation of 0.11.


@pytest.mark.full
@pytest.mark.parametrize("game", score_doors(CLAIM, 1e-5), ids=lambda game: game.name)
def test_no_bound_is_above_its_claim_and_the_sum_tells_much(game):
    result = audit_score(game, trials=1000, random_state=1)
    assert not result.exceeded
    # Neighbours under replace-one are root 2 apart in cells, and the claim is about 2.
    least = 0.2 if result.relation == "replace-one" else 0.4
    assert least * CLAIM < result.epsilon_lower <= CLAIM == result.epsilon_claimed
    assert (result.value_lower is None) == (game.canaries > 1)


@pytest.mark.full
@pytest.mark.parametrize("game", score_doors(CLAIM, 1e-5, 3), ids=lambda game: game.name)
def test_canaries_can_be_persons(game):
    result = audit_score(game, trials=40, random_state=0)
    assert result.person_rows == 3
    assert result.epsilon_lower <= CLAIM


def half_the_noise(score, *asked):
    return SumRelease.answered(
        replace(score, noise_multiplier=score.noise_multiplier / 2.0), *asked
    )


@pytest.mark.full
def test_half_the_noise_is_noticed(monkeypatch):
    assert not audit_score(CELLS, trials=1000, random_state=0).exceeded
    assert not audit_score(ALONE, trials=300, random_state=0).exceeded
    monkeypatch.setattr(Score, "answered", half_the_noise)
    found = audit_score(CELLS, trials=1000, random_state=0)
    assert found.exceeded
    assert found.epsilon_lower > 1.5 * CLAIM
    alone = audit_score(ALONE, trials=300, random_state=0)
    assert min(alone.epsilon_lower, alone.value_lower) > CLAIM


@pytest.mark.full
def test_a_person_that_counts_once_a_row_is_noticed():
    def by_row(*records, **chosen):
        del chosen["groups"]
        return private_score(*records, **chosen)

    game = replace(CELLS, person_rows=5)
    assert not audit_score(game, trials=500, random_state=0).exceeded
    assert audit_score(replace(game, score=by_row), trials=500, random_state=0).exceeded


@pytest.mark.parametrize("relation", ["zero-out", "add-remove", "replace-one"])
def test_worlds_differ_in_the_records_of_a_canary_alone(relation):
    game = replace(CELLS, claim={"relation": relation}, person_rows=2)
    present = np.ones(64, dtype=bool)
    one = {x for x in zip(*game.records(present), strict=True) if x[2] != 5}
    present[5] = False
    label, row, who = game.records(present)
    assert {x for x in zip(label, row, who, strict=True) if x[2] != 5} == one
    assert (who == 5).sum() == {"zero-out": 1, "add-remove": 0, "replace-one": 2}[relation]


@pytest.mark.parametrize(
    ("attack", "game", "count"),
    [
        (audit_score, CELLS, "scores"),
        pytest.param(
            audit_door,
            EstimatorGame("ridge", DPRidge, {"epsilon": CLAIM}, canaries=100),
            "fits",
            marks=pytest.mark.full,
        ),
    ],
)
def test_results_are_plain_json_and_can_be_repeated(attack, game, count):
    done = []
    one = attack(game, trials=60, random_state=0, progress=done.append).to_dict()
    other = attack(game, trials=60, random_state=0).to_dict()
    assert sum(done) == one[count] * game.canaries
    for values in (one, other):
        values.pop("seconds")
        for release in values.get("releases", ()):
            assert release["exceeded"] is False
    assert json.loads(json.dumps(one)) == json.loads(json.dumps(other))
    assert attack(game, trials=60).seed is None
    with pytest.raises(ParameterError, match="trials=0"):
        attack(game, trials=0)


def run(*words, **more):
    return call("audit", "--through", "score", "--trials", 200, *words, **more)


@pytest.mark.full
def test_the_command_prints_scores_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = json.loads(run("--model", "ridge", "--seed", 0, "--json").stdout)
    assert (values["models"], values["doors"], values["figure"]) == ({}, [], None)
    assert {x["metric"] for x in values["scores"]} == {"mae", "mse", "r2"}
    text = run("--model", "ridge", "--seed", 0)
    assert "Private scores: lower bounds on epsilon" in text.stdout
    assert "240 scores in" in text.stdout
    assert not any(tmp_path.iterdir())
    run("--epsilon", -1, code=2)
    refused = run("--model", "svm", code=2)
    assert "--model svm: scores are attacked of logistic and ridge" in refused.stderr


@pytest.mark.full
def test_a_broken_score_ends_in_exit_code_1(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Score, "answered", half_the_noise)
    options = ("--model", "logistic", "--seed", 0, "--epsilon", 20, "--trials", 4000)
    found = run(*options, code=1)
    assert "EXCEEDED" in found.stdout
