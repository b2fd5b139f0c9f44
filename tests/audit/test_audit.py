import json
from dataclasses import replace

import numpy as np
import pytest
from played import check_every_participation, check_what_ships, estimator, fitted

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.audit import Game, LikelihoodRatio, audit
from dpscd.audit.canaries import check_saturated, draw_world
from dpscd.errors import ParameterError
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation

MODELS = [DPRidge, DPLogisticRegression, DPLinearSVC]
GAME = Game(canaries=1000, ordinary=40)


@pytest.mark.full
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_audited_is_what_ships(model, fit_intercept):
    game = Game(canaries=20, ordinary=30)
    subject, mechanism, data = fitted(
        model, game, lot_size=10, fit_intercept=fit_intercept, random_state=7
    )
    check_what_ships(subject, mechanism, data, 20, b"7")
    assert mechanism.training is subject.fit_.plan.training
    assert subject.fit_.plan.claim().epsilon <= subject.privacy_.epsilon


@pytest.mark.full
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("model", MODELS)
def test_canaries_are_saturated_at_every_participation(model, relation, fit_intercept):
    game = Game(canaries=30, ordinary=30)
    _, mechanism, data = fitted(
        model, game, lot_size=20, relation=relation.value, fit_intercept=fit_intercept
    )
    assert check_saturated(mechanism.training, game.records) > 2.0
    check_every_participation(mechanism, data)


def test_a_step_that_is_not_clipped_is_noticed_and_a_mechanism_has_no_model():
    _, mechanism, _ = fitted(DPRidge, Game(canaries=30, ordinary=30), lot_size=20)
    far = replace(mechanism.training, clip=1.0)
    with pytest.raises(ParameterError, match="unclipped"):
        check_saturated(far, 60)
    with pytest.raises(ParameterError, match="needs an estimator"):
        audit(mechanism, kind="black-box")


def test_canaries_have_a_feature_of_their_own():
    data = Game(canaries=5, ordinary=7).dataset(np.ones(5, bool), Relation.ZERO_OUT, 2.0)
    assert np.array_equal(data.X[:5, :5].toarray(), 2.0 * np.eye(5))
    assert data.X[:5, 5:].nnz == data.X[5:, :5].nnz == 0
    assert np.linalg.norm(data.X.toarray(), axis=1).max() <= 2.0


@pytest.mark.parametrize("canaries", [1, 4, 5])
def test_half_of_the_canaries_take_part(canaries):
    worlds = [draw_world(SeededSource(bytes([run])), canaries, run % 2)[0] for run in range(10)]
    assert np.sum(worlds) == 5 * canaries


# The theory of this plan puts mu at 0.263, where the claim puts it at 0.268. With 20,000
# trials the bound is 0.83 on average, with a standard deviation of 0.05: below 0.55 with a
# chance of 1e-8, above the claim with one of 1e-3.


@pytest.mark.parametrize(
    ("model", "options", "least"),
    [
        *(pytest.param(model, {}, 0.55, marks=pytest.mark.full) for model in MODELS),
        *(
            pytest.param(DPRidge, {"relation": x, "n": 1040}, 0.55, marks=pytest.mark.full)
            for x in ("replace-one", "add-remove")
        ),
        # The constant column takes a little power away.
        (DPRidge, {"fit_intercept": True}, 0.5),
    ],
)
def test_white_box_bound_is_close_below_the_claim(model, options, least):
    result = audit(estimator(model, **options), trials=20_000, game=GAME, random_state=1)
    assert (result.kind, result.trials) == ("white-box", 20_000)
    assert result.relation == options.get("relation", "zero-out")
    assert least < result.epsilon_lower <= result.epsilon_claimed == 1.0
    assert 0.2 < result.epsilon_lower_clopper_pearson <= 1.0
    assert not result.exceeded


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
def test_black_box_bound_is_below_the_claim(model):
    game = Game(canaries=4000, ordinary=40)
    subject = estimator(model, lot_size=1010)
    result = audit(subject, kind="black-box", trials=8000, game=game, random_state=1)
    assert result.kind == "black-box"
    assert 0.4 < result.epsilon_lower <= 1.0


def test_an_audit_can_be_repeated_and_is_secure_by_default():
    def bound(seed):
        return audit(estimator(DPRidge), trials=500, game=GAME, random_state=seed).roc

    assert bound(3) == bound(3)
    assert bound(3) != bound(4)
    assert bound(None) != bound(None)


def test_the_subject_is_left_alone_and_no_budget_is_spent(tmp_path):
    file = tmp_path / "budget.db"
    subject = estimator(
        DPRidge, lam=0.1, y_bounds=(0.0, 5.0), ledger=str(file), dataset="people"
    )
    before = subject.get_params()
    audit(subject, trials=100, game=GAME, random_state=0)
    assert subject.get_params() == before
    assert not hasattr(subject, "coef_")
    assert not file.exists()


def test_results_are_plain_json():
    done = []
    result = audit(estimator(DPRidge), trials=100, random_state=0, progress=done.append)
    values = json.loads(json.dumps(result.to_dict()))
    assert values["epsilon_claimed"] == 1.0
    assert values["trials"] == 100
    assert values["canaries"] == 200
    assert sum(done) == values["runs"] * values["canaries"]
    assert "roc" not in repr(result)


def test_likelihood_ratio_matches_densities():
    rate, shift, std = 0.3, 0.7, 1.3
    x = np.linspace(-3.0, 3.0, 7)

    def density(centre):
        return np.exp(-((x - centre) ** 2) / (2.0 * std**2))

    for replaced, other in ((False, 0.0), (True, -shift)):
        attack = LikelihoodRatio(rate, shift, std, replaced=replaced)
        attack.see(x)
        attack.see(x)
        present = (1 - rate) * density(0.0) + rate * density(shift)
        absent = (1 - rate) * density(0.0) + rate * density(other)
        np.testing.assert_allclose(attack.scores, 2.0 * np.log(present / absent))
    certain = LikelihoodRatio(1.0, shift, std, replaced=False)
    certain.see(x)
    np.testing.assert_allclose(certain.scores, np.log(density(shift) / density(0.0)))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "grey-box"}, "kind='grey-box'"),
        ({"trials": 0}, "trials=0"),
        ({"subject": DPRidge(float("inf"))}, "nothing to audit"),
        ({"subject": DPLinearSVC(classes=[0, 1, 2])}, "two classes"),
    ],
)
def test_senseless_requests_are_refused(change, match):
    arguments = {"subject": estimator(DPRidge), "game": GAME, **change}
    with pytest.raises(ParameterError, match=match):
        audit(arguments.pop("subject"), **arguments)
