"""Edits of the paper's logistic step are noticed by kernels of the other package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

OBJECTIVES = """
import numpy as np
from dpscd.kernels import dual, rows, sdca
from dpscd_experiments.losses.published_logistic import PublishedLogistic
X = np.eye(2)
X.flags.writeable = False
view = rows.DenseRows(X, np.ones(2), np.ones(2), 0.0)
records = dual.Records(np.ones(2), np.ones(2))
given = view, records, 1.0, 0, np.zeros((2, 1)), np.full((1, 2), 0.5)
found = sdca.objectives(PublishedLogistic(), *given)
print(*found, sum(sdca.objectives.stats.cache_hits.values()))
"""


@pytest.mark.full
@pytest.mark.compiled
def test_an_edited_loss_of_this_package_is_noticed_by_a_kernel_of_the_other(tmp_path):
    for package in (ROOT / "src", ROOT / "experiments" / "src"):
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, tmp_path, ignore=skipped, dirs_exist_ok=True)
    own = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command, env = [sys.executable, "-c", OBJECTIVES], os.environ | own
        return subprocess.check_output(command, env=env, text=True).split()

    *before, hits = run()
    assert (hits, run()) == ("0", [*before, "1"])
    with (tmp_path / "dpscd_experiments/losses/published_logistic.py").open("a") as file:
        for name in ("conjugate(loss, a, y)", "value(loss, u, y)"):
            file.write(f"\n\n@register_jitable\ndef {name}:\n    return 7.0\n")
    *after, hits = run()
    assert hits == "0"
    assert after != before
