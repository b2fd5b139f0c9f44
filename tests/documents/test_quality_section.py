"""What owners add to the page: how good the model is, and what it is for.

Evaluations are read as they were printed, and nothing else is taken for one.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from model_files import EVIL, features, ridge

from commands import call, refusal
from dpscd import DPLogisticRegression, DPRidge, evaluate, load, private_score, report
from dpscd.documents.added import Measure, read_about, read_evaluation
from dpscd.errors import ParameterError
from dpscd.model.file import fit_to_text

PLAIN = {"private": False, "records": 16281, "metrics": {"R2": 0.85125, EVIL: 1.0}}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ridge().save("model.json")
    return "model.json"


def digest(file):
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def evaluated(file, values):
    """Write an evaluation of the model in a file."""
    Path("e.json").write_text(json.dumps({**values, "model_sha256": digest(file)}))


def page(file, **more):
    report(file, "page.html", **more)
    return Path("page.html").read_text()


def test_without_them_nothing_is_said(file):
    found = page(file)
    assert 'id="quality"' not in found
    assert 'id="about"' not in found


@pytest.mark.full
def test_an_evaluation_comes_with_its_privacy(file):
    evaluated(file, PLAIN)
    found = page(file, evaluation="e.json")
    assert 'href="#quality"' in found
    assert "0.8512" in found or "0.8513" in found
    assert "On 16,281 records" in found
    assert "These numbers are not private" in found
    assert "Hand the page only to those who may know them" in found
    assert EVIL not in found
    X = features(1)
    score = private_score(load(file), X, X[:, 0], epsilon=0.5, delta=1e-5)
    plan = score.fit_.plan.noted(model=digest(file))
    Path("e.json").write_text(fit_to_text(replace(score.fit_, plan=plan)))
    found = page(file, evaluation="e.json")
    assert "(0.5, 1e-05)-differentially private for the test records" in found
    assert f"{score.low:.4f} to {score.high:.4f}" in found
    assert "not private" not in found.partition('id="quality"')[2].partition("</section>")[0]


def test_probabilities_of_two_classes_are_drawn(file):
    bins = [{"mean probability": x, "share": x / 2} for x in (0.1, 0.9)]
    gains = [{"records": x / 4, "found": 1.0 - (1.0 - x / 4) ** 2} for x in range(1, 5)]
    classes = [{"class": name, "recall": 0.5, "precision": None} for name in ("no", EVIL)]
    found = {"by class": classes, "reliability": bins, "gain": gains}
    evaluated(file, {**PLAIN, **found})
    text = (
        page(file, evaluation="e.json").partition('id="quality"')[2].partition("</section>")[0]
    )
    assert text.count("<figure>") == 2
    assert "45 % at 90 %" in text
    assert text.count('<polyline class="other"') == 2
    assert EVIL not in text
    evaluated(file, {**PLAIN, **found, "gain": [{"records": 0.5}]})
    with pytest.raises(ParameterError, match="is not what dpscd evaluate --json writes"):
        page(file, evaluation="e.json")


def test_a_model_in_memory_has_a_page_and_no_evaluation(file):
    report(load(file), "page.html")
    assert "m.json" not in Path("page.html").read_text()
    with pytest.raises(ParameterError, match="save the model, and give its file"):
        report(load(file), "page.html", evaluation="e.json")


def test_an_evaluation_is_what_was_returned_or_a_file(file):
    X = features(1)
    y = X[:, 0]
    for model in (file, load(file)):
        found = evaluate(load(file), X, y)
        text = page(model, evaluation=found)
        assert f"{found.metrics['mean squared error']:.4f}" in text
        assert "These numbers are not private" in text
        score = private_score(load(file), X, y, epsilon=1.0, metric="mse", random_state=0)
        text = page(model, evaluation=score)
        assert f"{score.value:.4f}" in text
        assert "-differentially private for the test records" in text
    with pytest.raises(ParameterError, match=r"evaluation=.* must be what evaluate or"):
        page(file, evaluation={"metrics": {}})


def test_an_evaluation_of_another_model_is_refused(file):
    Path("e.json").write_text(json.dumps({**PLAIN, "model_sha256": "0" * 64}))
    with pytest.raises(ParameterError, match=r"not of model\.json, but of another model"):
        page(file, evaluation="e.json")
    for words in (["model-card"], ["cyclonedx"]):
        command = ["export", *words, file, "--out", "x.out", "--evaluation", "e.json"]
        assert "another model" in call(*command, code=1).stderr
    Path("e.json").write_text(json.dumps(PLAIN))
    with pytest.raises(ParameterError, match="is not what dpscd evaluate --json writes"):
        page(file, evaluation="e.json")
    evaluated(file, PLAIN)
    assert 'id="quality"' in page(file, evaluation="e.json")


def test_what_the_owner_says_is_shown_as_the_owners(file):
    Path("a.toml").write_text(f"owner = {json.dumps(EVIL)}\npurpose = 'To plan buses.'\n")
    found = page(file, about="a.toml")
    assert found.index("<dt>Purpose</dt><dd>To plan buses.</dd>") < found.index(
        "<dt>Owner</dt>"
    )
    assert EVIL not in found
    assert "it does not follow from the model" in found
    assert "<dt>Contact" not in found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("owner = ", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        ("", "is empty"),
        ("bos = 'x'", "has 'bos', which is none of purpose, owner, contact, legal_basis"),
        ("owner = 3", "owner in a.toml must be a text"),
        ("owner = ' '", "owner in a.toml must be a text"),
        (f"owner = '{'x' * 2001}'", "1 to 2,000 signs"),
    ],
)
def test_other_files_are_refused(tmp_path, text, says):
    (tmp_path / "a.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ParameterError, match=says):
        read_about(tmp_path / "a.toml")


def test_the_command_takes_both(file):
    evaluated(file, PLAIN)
    Path("a.toml").write_text("contact = 'us@example.org'")
    words = ["report", file, "--out", "p.html", "--evaluation", "e.json", "--about", "a.toml"]
    call(*words)
    shown = Path("p.html").read_text()
    assert "us@example.org" in shown
    assert 'id="quality"' in shown
    Path("e.json").write_text("{}")
    assert "is not what dpscd evaluate --json writes" in refusal(*words)


# --- files of evaluations --------------------------------------------------------------------

OF = {"model_sha256": "0" * 64}
METRICS = {"accuracy": 0.85, "log loss": 1}
SAID = {"private": False, "records": 16281, "metrics": METRICS, **OF}
X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
LABELS = np.where(X[:, 0] > 0.0, "b", "a")


@pytest.fixture(scope="module")
def noisy():
    """Return a function that gives a score of 200 persons as the text of its file."""
    made = DPLogisticRegression(5.0, classes=["a", "b"], random_state=0, epochs=5)
    model = made.fit(X, LABELS)

    def scored(metric):
        asked = {"groups": np.arange(400) // 2, "level": 0.9, "random_state": 1}
        found = private_score(model, X, LABELS, epsilon=1.0, metric=metric, **asked)
        return found, fit_to_text(
            replace(found.fit_, plan=found.fit_.plan.noted(model="0" * 64))
        )

    return scored


def read(tmp_path, values):
    path = tmp_path / "scores.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return read_evaluation(path)


def test_a_plain_one_says_that_it_is_not_private(tmp_path):
    found = read(tmp_path, SAID)
    assert found.measures == (Measure("accuracy", 0.85), Measure("log loss", 1.0))
    assert (found.on, found.private) == ("16,281 records", False)
    assert "not private" in found.status


def test_a_noisy_one_says_for_whom_and_how_noisy(tmp_path, noisy):
    score, text = noisy("accuracy")
    found = read(tmp_path, text)
    assert found.measures == (Measure("accuracy", score.value, score.low, score.high),)
    assert Measure("R2", 0.5, 0.25).interval == "0.2500 to inf"
    assert Measure("R2", 0.5, None, 0.7).interval == "-inf to 0.7000"
    assert Measure("R2", 0.5).interval is None
    assert "Intervals of 90 %" in found.status
    assert (found.on, found.private, found.model) == ("200 persons", True, "0" * 64)
    assert "(1, 1e-05)-differentially private for the test persons" in found.status


def test_an_end_without_bound_is_none(tmp_path):
    model = DPRidge(5.0, y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0])
    score = private_score(model, X[:3], X[:3, 0], epsilon=0.1, metric="r2", random_state=0)
    assert read(tmp_path, fit_to_text(score.fit_)).measures[0].low is None


def test_numbers_of_classes_and_of_pairs_have_their_names(tmp_path, noisy):
    score, text = noisy("recall")
    one = Measure("recall of b", score.value[1], score.low[1], score.high[1])
    assert read(tmp_path, text).measures[1] == one
    score, text = noisy("confusion")
    found = read(tmp_path, text).measures
    assert [x.value for x in found] == np.ravel(score.value).tolist()
    assert found[1].name == "share of a predicted as b"


@pytest.mark.parametrize(
    "values",
    [
        "",
        "[]",
        '{"private": false, "private": true}',
        '{"private": false}',
        {**SAID, "metrics": {"accuracy": "good"}},
        {**SAID, "metrics": {"accuracy": True}},
        {**SAID, "metrics": [1]},
        '{"private": false, "records": 3, "metrics": {"accuracy": NaN}}',
        '{"private": false, "records": 3, "metrics": {"accuracy": 1e999}}',
        '{"format": 2}',
    ],
)
def test_anything_else_is_refused(tmp_path, values):
    with pytest.raises(ParameterError, match=r"scores\.json is not what dpscd evaluate --json"):
        read(tmp_path, values)
