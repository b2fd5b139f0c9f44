"""Exports begin with a file that was accepted, and with that file only."""

import pytest
from exported import NOW, examined, model_files

from dpscd.errors import ModelFileError
from dpscd.export import examined as module
from dpscd.export.examined import examine


def test_what_was_examined(tmp_path):
    found = examined("table", tmp_path)
    assert found.name == "model file.json"
    assert found.day == "2030-01-02"
    assert found.found == found.card.verify() <= found.card.epsilon


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    model_files.ridge().save(path)

    def load_and_change(name):
        found = module_load(name)
        path.write_text(path.read_text() + "\n")
        return found

    module_load = module.load
    monkeypatch.setattr(module, "load", load_and_change)
    with pytest.raises(ModelFileError, match="changed while it was read"):
        examine(path, NOW)
