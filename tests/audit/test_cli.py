import json
from dataclasses import replace

import pytest

import dpscd.audit
from commands import call
from dpscd.audit import audit as plain
from dpscd.estimators.registry import MODELS


def run(*words, **more):
    return call("audit", "--trials", 200, "--seed", 0, *words, **more)


@pytest.mark.full
@pytest.mark.parametrize("entrance", ["core", "estimator", "table", "score"])
def test_every_entrance_has_one_format(entrance):
    chosen = ("--through", entrance, "--model", "ridge")
    found = json.loads(run(*chosen, "--json").stdout)
    assert list(found) == ["audits"]
    text = run(*chosen).stdout
    assert (
        "Claimed: epsilon 1 at delta 1e-05. Lower bounds on epsilon at 95% confidence:" in text
    )
    runs = sum(values["runs"] for values in found["audits"])
    assert f"{runs:,} runs in" in text
    trials = {"core": 200, "estimator": 80, "table": 80, "score": 40}[entrance]
    for values in found["audits"]:
        assert values["trials"] == trials
        assert values["epsilon_claimed"] == 1.0
        first = values["bounds"][0]
        assert first["confidence"] == 0.95
        assert first["gaussian"] <= 1.0
        assert values["name"].split(",")[0] in text  # long names take two lines
    names = [values["name"] for values in found["audits"]]
    if entrance == "estimator":
        assert names == [
            "ridge, sparse",
            "ridge, standardised, pilot, intercept",
            "ridge, replace-one",
            "ridge, replace-one, sparse, persons of 5",
        ]
    if entrance == "score":
        assert names == [
            "score: absolute error", "score: squared error, add-remove", "score: R2"
        ]  # fmt: skip


@pytest.mark.full
def test_all_of_one_model():
    text = run("--model", "svm", "--epsilon", 2).stdout
    assert "core: svm" in text
    assert "SVM, add-remove" in text
    assert "table: SVM, private bounds" in text
    assert "ridge" not in text


@pytest.mark.full
def test_every_model_but_counts_has_a_long_training():
    found = json.loads(run("--through", "core", "--json").stdout)["audits"]
    kinds = [kind.name for kind in MODELS if kind.task != "counts"]
    assert [values["name"] for values in found] == [f"core: {name}" for name in kinds]


@pytest.mark.full
def test_canaries_can_be_persons_in_any_relation():
    chosen = ("--through", "core", "--model", "logistic", "--person-rows", 3)
    (values,) = json.loads(run(*chosen, "--relation", "add-remove", "--json").stdout)["audits"]
    assert (values["person_rows"], values["relation"]) == (3, "add-remove")
    assert values["name"] == "core: logistic, persons of 3"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--person-rows", 0), "--person-rows"),
        (("--epsilon", -1), "Error: --epsilon -1 must be"),
        (("--model", "svm", "--through", "score"),
         "Error: --model svm: nothing of it is attacked through score."),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(words, message):
    assert message in run(*words, code=2).stderr


def test_a_release_above_its_claim_is_named_and_ends_in_exit_code_1(monkeypatch):
    def exaggerated(*arguments, **options):
        result = plain(*arguments, **options)
        wrong = [
            replace(x, gaussian=9.0) if x.statistic == "moments" else x for x in result.bounds
        ]
        return replace(result, bounds=tuple(wrong))

    monkeypatch.setattr(dpscd.audit, "audit", exaggerated)
    found = run("--through", "table", "--model", "ridge", code=1)
    assert "EXCEEDED" in found.stdout
    assert (
        "table: ridge, standardised, pilot: moments: claimed 0.288, measured 9.000"
        in found.stdout
    )
