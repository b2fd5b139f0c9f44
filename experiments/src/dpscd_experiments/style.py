"""What pages and figures of experiments share: looks, axes, tables, one way out."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

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


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the first quartile, the median and the third; infinite where a run broke."""
    whole = [math.inf if math.isnan(value) else value for value in values]
    if len(whole) == 1 or not all(map(math.isfinite, whole)):
        ordered = sorted(whole)
        last = len(ordered) - 1
        return ordered[last // 4], ordered[last // 2], ordered[math.ceil(0.75 * last)]
    low, middle, high = quantiles(whole, n=4, method="inclusive")
    return low, middle, high


def median_and_range(numbers: Sequence[float], digits: int = 2) -> str:
    """Return 'median (smallest to largest)', or a dash without numbers."""
    if not numbers:
        return "-"
    middle, low, high = (
        f"{at:.{digits}f}" for at in (median(numbers), min(numbers), max(numbers))
    )
    return f"{middle} ({low} to {high})"


def new_figure(width: float, height: float, *shape: int, **more: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, an array of them if a shape is given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(*shape, squeeze=not shape, **more)


def epsilon_axis(axes: Any, epsilons: Iterable[float], label: str) -> None:
    """Make the horizontal axis one of epsilon, with these ticks."""
    from matplotlib.ticker import NullLocator

    ticks = sorted(set(epsilons))
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def quick_stamp(figure: Any, quick: bool) -> None:
    """Say on the figure that it comes from a quick run."""
    if quick:
        words = "quick run: fewer seeds or a thinner grid"
        figure.text(0.995, 0.005, words, ha="right", va="bottom", fontsize=8, color="#b00020")


def save_figure(figure: Any, out: Path, name: str) -> list[Path]:
    """Write a figure to ``NAME.png`` and ``NAME.svg`` in a folder and return both files."""
    from matplotlib import rc_context

    files = [out / f"{name}.png", out / f"{name}.svg"]
    figure.savefig(files[0], dpi=150)
    # Without a date and with names from a fixed salt the same rows give the same bytes.
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(files[1], metadata={"Date": None})
    return files
