"""What the figures of experiments share: one look for each method, one stamp, one way out."""

from pathlib import Path
from typing import Any

__all__ = ["LOOKS", "quick_stamp", "save_figure"]

#: Colour, marker and line of each method.
LOOKS: dict[str, dict[str, Any]] = {
    "scd": {"color": "black", "linestyle": "-"},
    "sgd": {"color": "0.5", "linestyle": "--"},
    "dp-scd": {"color": "#d55e00", "marker": "o"},
    "seq-dp-scd": {"color": "#cc79a7", "marker": "v"},
    "primal-dp-scd": {"color": "#e69f00", "marker": "^"},
    "dp-sgd": {"color": "#0072b2", "marker": "s"},
    "ours-tuned": {"color": "#56b4e9", "marker": "d"},
    "ours": {"color": "#009e73", "marker": "D", "linewidth": 2.2},
    "plain": {"color": "black", "linestyle": "-"},
    "published": {"color": "#d55e00", "marker": "o"},
    "adassp": {"color": "#cc79a7", "marker": "v"},
    "one-shot": {"color": "#56b4e9", "marker": "d", "linestyle": "--"},
    "one-shot-tuned": {"color": "#56b4e9", "marker": "d", "linestyle": ":"},
    "snapml": {"color": "#e69f00", "marker": "^"},
    "diffprivlib": {"color": "0.5", "marker": "x"},
    "opacus": {"color": "#f0e442", "marker": "P"},
    "dp-ebm": {"color": "#d55e00", "marker": "o"},
    "boosted-adassp": {"color": "#cc79a7", "marker": "^", "linestyle": "--"},
    "mst": {"color": "#e69f00", "marker": "P"},
    "ebm": {"color": "black", "linestyle": "--"},
    "boosting": {"color": "black", "linestyle": ":"},
    "sum": {"color": "#009e73", "marker": "D", "linewidth": 2.2},
    "share": {"color": "#56b4e9", "marker": "d", "linewidth": 2.2},
    "cap-1": {"color": "#d55e00", "marker": "o"},
    "cap-3": {"color": "#e69f00", "marker": "^"},
    "cap-10": {"color": "#cc79a7", "marker": "v"},
    "cap-30": {"color": "#0072b2", "marker": "s"},
    "cap-1-own": {"color": "#d55e00", "marker": "o", "linestyle": ":"},
    "cap-3-own": {"color": "#e69f00", "marker": "^", "linestyle": ":"},
    "cap-10-own": {"color": "#cc79a7", "marker": "v", "linestyle": ":"},
    "cap-30-own": {"color": "#0072b2", "marker": "s", "linestyle": ":"},
    "row": {"color": "black", "linestyle": "--"},
}


def quick_stamp(figure: Any, quick: bool) -> None:
    """Say on the figure that it comes from a quick run."""
    if quick:
        figure.text(
            0.995,
            0.005,
            "quick run: fewer seeds or a thinner grid",
            ha="right",
            va="bottom",
            fontsize=8,
            color="#b00020",
        )


def save_figure(figure: Any, out: Path, name: str) -> list[Path]:
    """Write a figure to ``NAME.png`` and ``NAME.svg`` in a folder and return both files."""
    from matplotlib import rc_context

    files = [out / f"{name}.png", out / f"{name}.svg"]
    figure.savefig(files[0], dpi=150)
    # Without a date and with names from a fixed salt the same rows give the same bytes.
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(files[1], metadata={"Date": None})
    return files
