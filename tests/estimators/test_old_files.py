"""Files that earlier versions wrote are read as docs/policies/versions.md promises.

The files were written by the sources of formats 1 to 3; data/make_format_1.py and
data/make_formats_2_and_3.py say how.
"""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpscd import BudgetExceeded, DPRidge, Ledger, ModelFileError, load, sign_model
from dpscd.cli.app import app
from dpscd.estimators.files import _checksum
from dpscd.privacy.signing import new_key
from dpscd.privacy.unit import RECORD, Unit

FOLDER = Path(__file__).parent / "data" / "format_1"
SHOWN = json.loads((FOLDER / "predictions.json").read_text())
KINDS = sorted(SHOWN)


def test_every_stored_model_has_its_predictions():
    stored = {file.stem for file in FOLDER.glob("*.json")} - {"predictions"}
    assert stored == set(KINDS)
    assert all(json.loads((FOLDER / f"{x}.json").read_text())["format"] == 1 for x in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_model_is_refused_unless_asked_for(kind):
    with pytest.raises(ModelFileError, match=r"format 1.*load\(path, old=True\)"):
        load(FOLDER / f"{kind}.json")


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_model_predicts_what_it_predicted(kind):
    model = load(FOLDER / f"{kind}.json", old=True)
    shown = SHOWN[kind]
    rows = shown["rows"]
    if shown["columns"]:
        rows = pd.DataFrame(rows, columns=shown["columns"])
    found = model.predict(rows)
    if isinstance(shown["predicted"][0], float):
        np.testing.assert_allclose(found, shown["predicted"], rtol=1e-12)
    else:
        assert found.tolist() == shown["predicted"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_card_of_an_old_model_still_holds(kind):
    card = load(FOLDER / f"{kind}.json", old=True).privacy_
    assert card.private == (kind != "open")
    assert card.verify() <= card.epsilon
    assert card.private == math.isfinite(card.epsilon)


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_model_is_saved_as_what_it_is(kind, tmp_path):
    load(FOLDER / f"{kind}.json", old=True).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (FOLDER / f"{kind}.json").read_bytes()


def test_an_old_model_is_neither_signed_nor_verified(tmp_path):
    path = tmp_path / "model.json"
    shutil.copy(FOLDER / "ridge.json", path)
    new_key(tmp_path / "key.pem")
    with pytest.raises(ModelFileError, match="format 1"):
        sign_model(path, tmp_path / "key.pem")
    assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 1


LATER = {number: FOLDER.with_name(f"format_{number}") for number in (2, 3, 4)}
SHOWN_LATER = {
    number: json.loads((folder / "predictions.json").read_text())
    for number, folder in LATER.items()
}
SECOND, SHOWN_BY_SECOND = LATER[2], SHOWN_LATER[2]


@pytest.mark.parametrize(
    ("number", "kind"), [(x, kind) for x in LATER for kind in sorted(SHOWN_LATER[x])]
)
def test_a_later_model_is_checked_and_predicts_what_it_predicted(number, kind, tmp_path):
    path = LATER[number] / f"{kind}.json"
    assert json.loads(path.read_text())["format"] == number
    model, shown = load(path), SHOWN_LATER[number][kind]
    model.save(tmp_path / "again.json")  # in today's format, which can say what was
    for each in (model, load(tmp_path / "again.json")):
        rows = shown["rows"]
        if shown["columns"]:
            rows = pd.DataFrame(rows, columns=shown["columns"])
        found = each.predict(rows)
        if isinstance(shown["predicted"][0], float):
            np.testing.assert_allclose(found, shown["predicted"], rtol=1e-12)
        else:
            assert found.tolist() == shown["predicted"]
        if "chances" in shown:
            np.testing.assert_allclose(each.predict_proba(rows), shown["chances"], rtol=1e-12)
    assert json.loads((tmp_path / "again.json").read_text())["format"] == 5


def test_a_file_of_format_3_has_nothing_of_after_its_training(tmp_path):
    values = json.loads((LATER[3] / "ridge.json").read_text())
    values["training"] |= {"curvature": 0.0, "longest_row": None}
    values["checksum"] = _checksum(values)
    (tmp_path / "model.json").write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="its training is malformed"):
        load(tmp_path / "model.json")


def test_a_regression_of_format_2_can_be_clipped_after_all(tmp_path):
    model, rows = load(SECOND / "ridge.json"), SHOWN_BY_SECOND["ridge"]["rows"]
    assert model.clip_predictions is False
    model.set_params(clip_predictions=True).save(tmp_path / "again.json")
    found = load(tmp_path / "again.json").predict(rows)
    assert found.tolist() == np.clip(SHOWN_BY_SECOND["ridge"]["predicted"], -1, 1).tolist()
    old = load(FOLDER / "ridge.json", old=True).set_params(clip_predictions=True)
    with pytest.raises(ModelFileError, match="clip_predictions=True cannot be saved"):
        old.save(tmp_path / "old.json")


def test_a_file_of_format_2_has_no_later_parameter(tmp_path):
    values = json.loads((SECOND / "ridge.json").read_text())
    values["parameters"]["clip_predictions"] = False
    values["checksum"] = _checksum(values)
    (tmp_path / "model.json").write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="came after its format"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("given", [{"max_rows": 100}, {"person_weight": "share"}])
def test_an_earlier_file_says_nothing_of_persons(tmp_path, number, given):
    values = json.loads((FOLDER.with_name(f"format_{number}") / "ridge.json").read_text())
    values["parameters"] |= given
    values["checksum"] = _checksum(values)
    (tmp_path / "model.json").write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="came after its format"):
        load(tmp_path / "model.json", old=True)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_earlier_file_protects_records(tmp_path, number):
    source = FOLDER.with_name(f"format_{number}") / "ridge.json"
    assert load(source, old=True).privacy_.protected == RECORD
    values = json.loads(source.read_text())
    values["card"]["unit"] = Unit(groups=True).text
    values["card"]["public"] |= {"max_rows": 100, "person_weight": "share"}
    values["checksum"] = _checksum(values)
    (tmp_path / "model.json").write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="one of persons"):
        load(tmp_path / "model.json", old=True)


@pytest.fixture(params=["basic", "renyi"])
def old_ledger(request, tmp_path):
    path = tmp_path / "budget.db"
    shutil.copy(FOLDER / f"{request.param}.db", path)
    return Ledger(path)


def test_an_old_ledger_says_what_was_spent(old_ledger):
    state = old_ledger.show("people")
    assert (state.reserved, state.committed, state.seeded) == (2, 1, 0)
    assert 0.0 < state.spent_epsilon < 3.0
    assert [x.label for x in old_ledger.history("people")] == ["DPRidge", "DPRidge"]
    assert {state.unit, *(x.unit for x in old_ledger.history("people"))} == {RECORD.text}
    assert old_ledger.verify().entries == 5


def test_an_old_ledger_is_spent_from_and_not_overspent(old_ledger):
    before = old_ledger.show("people")
    head = old_ledger.verify().head
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    options = {"y_bounds": (-1, 1), "epochs": 1, "dataset": "people", "delta": 1e-5}
    options["ledger"] = old_ledger.path
    DPRidge(0.5, **options).fit(X, X[:, 0])
    after = old_ledger.show("people")
    assert after.spent_epsilon > before.spent_epsilon
    assert (after.reserved, after.committed) == (3, 2)
    with pytest.raises(BudgetExceeded):
        DPRidge(3.0, **options).fit(X, X[:, 0])
    assert old_ledger.show("people") == after
    assert old_ledger.verify(head=head).entries == 7
