"""The figure of an audit: claimed against measured, and ROC against theory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpscd.audit.audit import AuditResult
from dpscd.audit.bounds import claimed_mu, trade_off

__all__ = ["audit_figure"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")


def audit_figure(results: Mapping[str, Mapping[str, AuditResult]], file: Path) -> None:
    """Draw results, given by model and kind of attack; needs the extra ``plot``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    _draw_bounds(left, results)
    _draw_roc(right, results)
    first = _first(results)
    figure.suptitle(
        f"Audit at epsilon {first.epsilon_claimed:g}, delta {first.delta:g}: "
        f"{first.trials:,} canaries in each world, {first.confidence:.0%} confidence"
    )
    figure.savefig(file, dpi=150)


def _first(results: Mapping[str, Mapping[str, AuditResult]]) -> AuditResult:
    return next(iter(next(iter(results.values())).values()))


def _draw_bounds(axes: Any, results: Mapping[str, Mapping[str, AuditResult]]) -> None:
    claimed = _first(results).epsilon_claimed
    axes.axhline(claimed, color="black", linewidth=1.5, label="claimed")
    kinds = list(next(iter(results.values())))
    bars = [(kind, bound) for kind in kinds for bound in ("Gaussian", "Clopper-Pearson")]
    width = 0.8 / len(bars)
    for number, (kind, bound) in enumerate(bars):
        heights = [
            by_kind[kind].epsilon_lower
            if bound == "Gaussian"
            else by_kind[kind].epsilon_lower_clopper_pearson
            for by_kind in results.values()
        ]
        places = np.arange(len(results)) + (number - (len(bars) - 1) / 2) * width
        drawn = axes.bar(
            places,
            heights,
            0.9 * width,
            color=_COLOURS[kinds.index(kind)],
            alpha=1.0 if bound == "Gaussian" else 0.45,
            label=f"{kind}, {bound}",
        )
        axes.bar_label(drawn, fmt="%.2f", fontsize=8, padding=2)
    axes.set_xticks(range(len(results)), list(results))
    axes.set_ylim(0.0, 1.45 * max(claimed, axes.get_ylim()[1] / 1.1))
    axes.set_ylabel("epsilon: claim and lower bounds")
    axes.set_title("Claimed against measured")
    axes.legend(fontsize=8, ncols=2, loc="upper center")


def _draw_roc(axes: Any, results: Mapping[str, Mapping[str, AuditResult]]) -> None:
    """Draw the advantage TPR - FPR: the ROC itself would be too close to the diagonal."""
    first = _first(results)
    mu = claimed_mu(first.epsilon_claimed, first.delta)
    grid = np.linspace(0.0, 1.0, 400)
    limit = trade_off(grid, mu) - grid
    highest = limit.max()
    for (model, by_kind), colour in zip(results.items(), _COLOURS, strict=False):
        for kind, result in by_kind.items():
            fpr, tpr = np.array(result.roc).T
            style = "-" if kind == "white-box" else "--"
            axes.plot(fpr, tpr - fpr, style, color=colour, lw=1.2, label=f"{model}, {kind}")
            highest = max(highest, (tpr - fpr).max())
    axes.plot(grid, limit, color="black", linewidth=1.5, label=f"the claim, mu = {mu:.3f}")
    # Where the ROC of a mechanism exactly at the limit lies, point by point.
    variance = (grid * (1.0 - grid) + (grid + limit) * (1.0 - grid - limit)) / first.trials
    spread = 1.96 * np.sqrt(np.maximum(variance, 0.0))
    band = {"color": "black", "alpha": 0.12, "linewidth": 0, "label": "... 95 % of samples"}
    axes.fill_between(grid, limit - spread, limit + spread, **band)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.15 * highest)
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate - false positive rate")
    axes.set_title("ROC against the trade-off curve of the claim")
    axes.legend(fontsize=8, ncols=2, loc="lower center")
