"""The figure of the utility bounds: each row of the table against N."""

from typing import TYPE_CHECKING, Any

from dpscd_experiments.experiments.bounds import DUAL, OTHERS
from dpscd_experiments.experiments.picking import pick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_COLOURS = ("#009e73", "#56b4e9", "#0072b2")
_STYLES = ("-", "--", "-")
_DUAL_STYLES = (":", "-.", "-")


def draw(rows: list[dict[str, Any]], quick: bool) -> "Figure":
    """Draw the rows of the target 'bounds' at epsilon 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    settings = list(dict.fromkeys(row["dataset"] for row in rows))
    panels = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
    for axes, dataset in zip(panels, settings, strict=True):
        here = [row for row in rows if row["dataset"] == dataset and row["epsilon"] == 1.0]
        _draw_setting(axes, here)
        one = here[0]
        axes.set_title(
            f"{dataset}: N = {one['param.n']}, M = {one['param.d']}, "
            f"lam = {one['param.lam']:g}",
            fontsize=9,
        )
    panels[0].set_ylabel("bound at epsilon 1, hidden constants 1")
    figure.legend(
        *panels[0].get_legend_handles_labels(), fontsize=8, ncols=4, loc="outside lower center"
    )
    note = " (quick: fewer values of epsilon)" if quick else ""
    figure.suptitle(
        f"The paper's table of utility bounds{note}\n"
        "DP-SCD's row needs Theorem 2, whose condition holds at none of these settings",
        fontsize=11,
    )
    return figure


def _draw_setting(axes: Any, rows: list[dict[str, Any]]) -> None:
    lots = sorted({row["param.lot_size"] for row in rows if row["method"] == DUAL})
    lines = [
        (method, {"method": method}, colour, style)
        for method, colour, style in zip(OTHERS, _COLOURS, _STYLES, strict=True)
    ]
    lines += [
        (f"{DUAL}, L = {L}", {"method": DUAL, "lot_size": L}, "#d55e00", style)
        for L, style in zip(lots, _DUAL_STYLES, strict=False)
    ]
    for label, columns, colour, style in lines:
        curve = pick(rows, "against_n", **columns)
        sizes, bounds = zip(*((row["at"], row["value"]) for row in curve), strict=True)
        axes.loglog(sizes, bounds, style, color=colour, lw=1.4, label=label)
        for row in pick(rows, "bound", **columns):
            axes.plot(row["param.n"], row["value"], "o", color=colour, ms=4)
    axes.axvline(rows[0]["param.n"], color="black", lw=0.8, ls=":")
    axes.set_xlabel("N")
