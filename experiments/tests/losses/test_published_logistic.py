"""Edits of the paper's logistic step are noticed by kernels of the other package."""

import shutil
from pathlib import Path

from dpscd.kernels._jit import source_hash
from dpscd_experiments.losses import published_logistic


def test_an_edited_loss_of_this_package_changes_the_cache_of_the_other(tmp_path, monkeypatch):
    losses = tmp_path / "dpscd_experiments" / "losses"
    shutil.copytree(Path(published_logistic.__file__).parent, losses)
    monkeypatch.syspath_prepend(tmp_path)
    before = source_hash()
    with (losses / "published_logistic.py").open("a") as file:
        file.write("\n\ndef edited():\n    return 7.0\n")
    assert source_hash() != before
