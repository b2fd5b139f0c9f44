"""``dpscd verify`` and ``sign``: of models, and of the scores that ``evaluate`` prints."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from commands import answer, call, refusal
from dpscd import DPLogisticRegression, load, private_score
from dpscd.errors import ModelFileError
from dpscd.privacy.signing import new_key

OPENSSL = shutil.which("openssl")
DRAWN = np.random.default_rng(0)
X = DRAWN.uniform(-0.5, 0.5, (2000, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")
SIGN = ("sign", "model.json", "--key", "key.pem")
VERIFY = ("verify", "model.json", "--key", "key.pem.pub")


@pytest.fixture(scope="module")
def model():
    made = DPLogisticRegression(4.0, classes=["no", "yes"], random_state=0, epochs=5)
    return made.fit(X[:1000], Y[:1000])


@pytest.fixture(autouse=True)
def files(folder, model):
    model.save(folder / "model.json")


# --- signatures -----------------------------------------------------------------------------


def run(*words):
    found = call(*words)
    assert "PRIVATE KEY" not in found.output
    return found.stdout


def fails(says, *words):
    said = refusal(*words)
    assert says in said
    assert "PRIVATE KEY" not in said


def test_a_model_is_signed_with_a_new_key_and_verified():
    assert run(*SIGN, "--new-key") == (
        "Wrote key.pem (keep it secret) and key.pem.pub (give it to others).\n"
        "Wrote model.json.sig\n"
    )
    text = run(*VERIFY)
    assert "it holds" in text
    assert "signed with the key that key.pem.pub belongs to" in text
    assert answer("verify", "model.json")["signed"] is False
    assert answer(*VERIFY)["signed"] is True
    assert run(*SIGN) == "Wrote model.json.sig\n"


def test_programs_get_json():
    values = json.loads(run(*SIGN, "--new-key", "--json"))
    assert values == {"signature": "model.json.sig", "public_key": "key.pem.pub"}
    values = json.loads(run(*SIGN, "--json"))
    assert values == {"signature": "model.json.sig", "public_key": None}


def test_what_does_not_match_is_one_line_and_exit_code_1():
    fails("key.pem.pub", *VERIFY)
    run(*SIGN, "--new-key")
    Path("model.json").write_text(Path("model.json").read_text() + "\n")  # the same JSON
    assert "it holds" in run("verify", "model.json")
    fails("changed since it was signed", *VERIFY)
    run(*SIGN[:-1], "other.pem", "--new-key")
    fails("another key was used", *VERIFY)
    Path("model.json.sig").unlink()
    fails("not signed", *VERIFY)
    fails("is a private key", *VERIFY[:-1], "key.pem")
    fails("is a public key", *SIGN[:-1], "key.pem.pub")
    fails("none.pem", *SIGN[:-1], "none.pem")


def test_what_is_no_model_is_not_signed_and_no_key_is_made():
    Path("model.json").write_text("{}")
    for words in ((), ("--new-key",)):
        fails("not a usable model file", *SIGN, *words)
    assert [x.name for x in Path().iterdir()] == ["model.json"]


@pytest.mark.skipif(OPENSSL is None, reason="needs openssl")
def test_openssl_makes_keys_and_checks_signatures():
    def openssl(*words):
        return subprocess.run([OPENSSL, *words], capture_output=True, text=True, check=False)

    assert openssl("genpkey", "-algorithm", "ed25519", "-out", "k.pem").returncode == 0
    assert openssl("pkey", "-in", "k.pem", "-pubout", "-out", "p.pem").returncode == 0
    run("sign", "model.json", "--key", "k.pem")
    run("verify", "model.json", "--key", "p.pem")
    words = ("-pubin", "-inkey", "p.pem", "-rawin", "-in", "model.json")
    found = openssl("pkeyutl", "-verify", *words, "-sigfile", "model.json.sig")
    assert found.returncode == 0, found.stderr
    words = "-sign -inkey k.pem -rawin -in model.json -out model.json.sig"
    assert openssl("pkeyutl", *words.split()).returncode == 0
    run("verify", "model.json", "--key", "p.pem")


# --- scores ---------------------------------------------------------------------------------


@pytest.fixture
def evaluated(files):
    """Write what evaluate prints, and return it as values."""
    del files
    np.save("x.npy", X[1000:])
    np.save("y.npy", Y[1000:])
    words = ("--labels", "y.npy", "--private-epsilon", 0.5, "--json")
    text = call("evaluate", "model.json", "x.npy", *words).stdout
    Path("score.json").write_text(text)
    return json.loads(text)


def test_an_evaluation_is_verified_and_called_a_score(evaluated):
    text = call("verify", "score.json").stdout
    assert text.startswith("score.json: a score, accuracy on 1,000 held-out records. For these")
    assert "claims epsilon 0.5 at delta 1e-05, zero-out" in text
    assert "trained the model are promised is on the model's card" in text
    values = answer("verify", "score.json")
    assert (values["of"], values["ok"], values["signed"]) == ("score", True, False)
    assert values["recomputed"] <= values["claimed"] == 0.5
    assert answer("verify", "model.json")["of"] == "model"
    assert evaluated["plan"]["facts"]["metric"] == "accuracy"
    with pytest.raises(ModelFileError, match="holds a private score"):
        load("score.json")


def test_a_score_is_signed_as_a_model_is(evaluated):
    new_key("key.pem")
    call("sign", "score.json", "--key", "key.pem")
    verify = ("verify", "score.json", "--key", "key.pem.pub")
    assert "signed with the key" in call(*verify).stdout
    Path("score.json").write_text(json.dumps(evaluated))
    assert call(*verify, code=1).stderr


def test_a_changed_score_fails(evaluated):
    evaluated["numbers"]["value"] -= 0.125
    Path("score.json").write_text(json.dumps(evaluated))
    assert "its checksum does not match" in refusal("verify", "score.json")


def test_the_unit_and_a_declared_number_are_said(model):
    groups = np.repeat(np.arange(500), 2)
    asked = {"epsilon": 1.0, "metric": "recall", "groups": groups}
    found = private_score(model, X[1000:], Y[1000:], **asked)
    found.save("score.json")
    text = call("verify", "score.json").stdout
    assert "recall on 500 held-out persons" in text
    assert f"the unit is {found.card.unit}" in text
    declared = private_score(model, X, Y, epsilon=1.0, relation="add-remove", n=1900)
    declared.save("score.json")
    assert "1,900 (declared) held-out records" in call("verify", "score.json").stdout


def test_what_is_no_score_is_refused_in_words(model):
    card, plain = model.privacy_.to_json(), json.dumps({"private": False, "metrics": {}})
    for other in (card, plain, "[1]", "{}", "no JSON", '{"a": 1, "a": 1}'):
        Path("other.json").write_text(other)
        said = refusal("verify", "other.json")
        assert "other.json is not a usable model file" in said
