"""The paper's logistic step, and that its edits are noticed by kernels of the other package."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.losses import dual_step, project
from dpscd_experiments.losses.published_logistic import PublishedLogistic

ROOT = Path(__file__).parents[3]
LOSS = PublishedLogistic()


@given(
    u=st.floats(-20.0, 20.0),
    y=st.sampled_from([-1.0, 1.0]),
    a=st.floats(-3.0, 3.0),
    k=st.floats(1e-6, 1e6),
)
def test_one_newton_step_from_inside_the_box_to_inside_the_box(u, y, a, k):
    start = project(LOSS, a, y)
    b = y * start
    assert 1e-4 <= b <= 1.0 - 1e-4
    end = b - (math.log(b / (1 - b)) + y * u) / (1 / (b * (1 - b)) + k)
    z = dual_step(LOSS, u, a, y, k)
    assert y * z == pytest.approx(min(max(end, 1e-4), 1.0 - 1e-4) - b, abs=1e-12)
    # The step does not depend on how far outside the stored dual is.
    assert z == dual_step(LOSS, u, start, y, k)


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
