"""Draw what the README shows: a figure from stored rows, and a picture of a report.

    python docs/make_front.py

The figure is drawn from experiments/rows/tables.csv. The picture is that of `dpscd report` on a
model of Adult at epsilon 1, as headless Chromium shows it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from dpscd_experiments.style import LOOKS

mpl.use("agg")

DOCS = Path(__file__).parent
ROWS = DOCS.parent / "experiments" / "rows"
FRONT = DOCS / "figures" / "front"

# Methods of the rows, in the order of the legend.
PRIVATE = {
    "ours": "dpscd, not tuned",
    "dp-ebm": "DP-EBM",
    "dp-sgd": "DP-SGD, tuned",
    "diffprivlib": "diffprivlib",
}
PLAIN = "the same features, not private"


def areas(rows):
    """Return the area under the curve of every fit on Adult's test records."""
    kept = rows[(rows.dataset == "adult") & (rows.metric == "auc") & (rows.status == "ok")]
    return kept[kept.seed < 1000]  # from 1000 on seeds are those of tuning


def draw(rows):
    """Return the figure: medians over seeds, quartiles as bars."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for method, words in PRIVATE.items():
        found = rows[rows.method == method].groupby("epsilon").value
        middle, low, high = found.median(), found.quantile(0.25), found.quantile(0.75)
        spread = [middle - low, high - middle]
        axes.errorbar(middle.index, middle, spread, label=words, **LOOKS[method])
    level = rows[rows.method == "plain"].value.median()
    axes.axhline(level, color="black", linestyle="--", label=PLAIN)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.5, 1.0, 2.0], ["0.1", "0.5", "1", "2"])
    axes.minorticks_off()
    axes.set_xlabel("epsilon: smaller protects more")
    axes.set_ylabel("area under the curve, test records")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    return figure


def photograph(file):
    """Write a picture of a report's first screen."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("the picture of the report needs chromium")
    with tempfile.TemporaryDirectory() as folder:

        def run(*words):
            subprocess.run(words, cwd=folder, check=True, capture_output=True)  # noqa: S603 - our own

        ours = (sys.executable, "-m", "dpscd")
        run(*ours, "example", "adult")
        run(*ours, "fit", "adult.data", "--schema", "adult.toml", "--epsilon", "1",
            "--delta", "1e-5", "--out", "model.json")  # fmt: skip
        run(*ours, "report", "model.json", "--out", "report.html")
        run(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--window-size=1000,840", f"--screenshot={file.resolve()}",
            "report.html")  # fmt: skip


if __name__ == "__main__":
    FRONT.mkdir(parents=True, exist_ok=True)
    table = pd.read_csv(ROWS / "tables.csv", low_memory=False)
    draw(areas(table)).savefig(FRONT / "adult.png", dpi=150)
    photograph(FRONT / "report.png")
