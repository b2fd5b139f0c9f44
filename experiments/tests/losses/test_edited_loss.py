"""A loss of this package is compiled into kernels of the other: its cache must notice edits."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PROJECTED = """
import json
import numpy as np
from dpscd.kernels import dual, rows, sdca
from dpscd_experiments.losses.published_logistic import PublishedLogistic
X = np.eye(2)
X.flags.writeable = False
view = rows.DenseRows(X, np.ones(2), np.ones(2), 0.0)
records = dual.Records(np.ones(2), np.ones(2))
found = sdca.objectives(
    PublishedLogistic(), view, records, 1.0, 0, np.zeros((2, 1)), np.full((1, 2), 0.5)
)
print(json.dumps([list(map(float, found)), sum(sdca.objectives.stats.cache_hits.values())]))
"""


def run(source, cache):
    done = subprocess.run(
        [sys.executable, "-c", PROJECTED],
        env={**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
@pytest.mark.compiled
def test_an_edited_loss_of_this_package_is_noticed_by_a_kernel_of_the_other(tmp_path):
    source, cache = tmp_path / "src", tmp_path / "cache"
    for package in (ROOT / "src", ROOT / "experiments" / "src"):
        shutil.copytree(
            package, source, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )
    before, hits = run(source, cache)
    assert hits == 0
    assert run(source, cache) == [before, 1]
    file = source / "dpscd_experiments" / "losses" / "published_logistic.py"
    file.write_text(
        file.read_text()
        + "\n\n@register_jitable\ndef conjugate(loss, a, y):\n    return 7.0\n"
        + "\n\n@register_jitable\ndef value(loss, u, y):\n    return 7.0\n"
    )
    after, hits = run(source, cache)
    assert hits == 0
    assert after != before
