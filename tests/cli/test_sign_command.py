"""Signing a model and checking the signature, by the command line."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from commands import call
from dpscd import DPLogisticRegression

OPENSSL = shutil.which("openssl")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    path = tmp_path_factory.mktemp("model") / "model.json"
    DPLogisticRegression(classes=[0, 1], epochs=1, random_state=0).fit(X, X[:, 0] > 0).save(
        path
    )
    return path


@pytest.fixture
def run(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "model.json")

    def silently(*words, code=0):
        found = call(*words, code=code)
        assert "PRIVATE KEY" not in found.output
        return found

    return silently


def test_a_model_is_signed_with_a_new_key_and_verified(run):
    found = run("sign", "model.json", "--key", "key.pem", "--new-key").stdout
    assert found == (
        "Wrote key.pem (keep it secret) and key.pem.pub (give it to others).\n"
        "Wrote model.json.sig\n"
    )
    text = run("verify", "model.json", "--key", "key.pem.pub").stdout
    assert "it holds" in text
    assert "signed with the key that key.pem.pub belongs to" in text
    assert json.loads(run("verify", "model.json", "--json").stdout)["signed"] is False
    values = json.loads(run("verify", "model.json", "--key", "key.pem.pub", "--json").stdout)
    assert values["signed"] is True
    assert run("sign", "model.json", "--key", "key.pem").stdout == "Wrote model.json.sig\n"


def test_programs_get_json(run):
    values = json.loads(
        run("sign", "model.json", "--key", "key.pem", "--new-key", "--json").stdout
    )
    assert values == {"signature": "model.json.sig", "public_key": "key.pem.pub"}
    values = json.loads(run("sign", "model.json", "--key", "key.pem", "--json").stdout)
    assert values == {"signature": "model.json.sig", "public_key": None}


def one_line(found, says):
    assert says in found.stderr
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


def test_what_does_not_match_is_one_line_and_exit_code_1(run):
    verify = ("verify", "model.json", "--key", "key.pem.pub")
    one_line(run(*verify, code=1), "key.pem.pub")
    run("sign", "model.json", "--key", "key.pem", "--new-key")
    Path("model.json").write_text(Path("model.json").read_text() + "\n")  # the same JSON
    assert "it holds" in run("verify", "model.json").stdout
    one_line(run(*verify, code=1), "changed since it was signed")
    run("sign", "model.json", "--key", "other.pem", "--new-key")
    one_line(run(*verify, code=1), "another key was used")
    Path("model.json.sig").unlink()
    one_line(run(*verify, code=1), "not signed")
    one_line(run("verify", "model.json", "--key", "key.pem", code=1), "is a private key")
    one_line(run("sign", "model.json", "--key", "key.pem.pub", code=1), "is a public key")
    one_line(run("sign", "model.json", "--key", "none.pem", code=1), "none.pem")


def test_what_is_no_model_is_not_signed_and_no_key_is_made(run):
    Path("model.json").write_text("{}")
    for words in ((), ("--new-key",)):
        found = run("sign", "model.json", "--key", "key.pem", *words, code=1)
        one_line(found, "not a usable model file")
    assert [x.name for x in Path().iterdir()] == ["model.json"]


@pytest.mark.skipif(OPENSSL is None, reason="needs openssl")
def test_openssl_makes_keys_and_checks_signatures(run):
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
