"""The paper's table of utility bounds in numbers, and whether its conditions hold."""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Spec, load_spec, settings_of, target
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper.algorithms import Settings
from dpscd_experiments.paper.theory import (
    bounds_table,
    lemma3_decrease,
    theorem2_applies,
    theorem2_bound,
)
from dpscd_experiments.store import Row, pick, values
from dpscd_experiments.style import new_figure

#: The rows of the table, other than the last, which depends on L.
OTHERS = ("Zhang et al. 2017", "Chaudhuri et al. 2011", "Wang et al. 2017")
DUAL = "DP-SCD"

_COLOURS = ("#009e73", "#56b4e9", "#0072b2")
_STYLES = ("-", "--", "-")
_DUAL_STYLES = (":", "-.", "-")


def _cells(spec: Spec, quick: bool) -> list[Cell]:
    chosen = settings_of(spec, quick)
    first, last, points = chosen["curve"]
    curve = {"smallest": first, "largest": last, "points": points}
    made = []
    for setting in chosen["settings"]:
        public = {name: at for name, at in setting.items() if name != "dataset"}
        for epsilon in chosen["epsilons"]:
            rows = [(method, 1) for method in OTHERS]
            rows += [(DUAL, lot_size) for lot_size in chosen["lot_sizes"]]
            made += [
                Cell(
                    _bound,
                    "bounds",
                    setting["dataset"],
                    method,
                    epsilon,
                    chosen["delta"],
                    parameters={**public, **curve, "lot_size": lot_size},
                )
                for method, lot_size in rows
            ]
    return made


def _bound(cell: Cell) -> Metrics:
    """Return a row of the table as a number and against N, with what its theorem asks."""
    public = cell.parameters
    n, d, lot_size = public["n"], public["d"], public["lot_size"]
    sizes = np.geomspace(public["smallest"], public["largest"], public["points"])
    metrics: dict[str, Any] = {
        "bound": _row(cell.method, n, d, lot_size, cell.epsilon),
        "against_n": [
            (size, _row(cell.method, round(size), d, lot_size, cell.epsilon))
            for size in sizes
            if lot_size < size
        ],
    }
    if cell.method == DUAL:
        lam, mu = public["lam"], public["mu"]
        steps = Settings(public["epochs"], lot_size).steps(n)
        metrics |= {
            # Signed: it is negative where L exceeds lam N epsilon.
            "theorem2": theorem2_bound(n, lot_size, lam, cell.epsilon, cell.delta),
            # The condition is easiest for the largest lot: all records.
            "applies": float(theorem2_applies(n, n, lam, mu)),
            "smallest_lam": 1.0 / mu if mu > 0.0 else math.inf,
            "kept": (1.0 - lemma3_decrease(n, lot_size, lam, mu)) ** steps,
            "crossover": _crossover(n, d),
        }
    return metrics


def _row(method: str, n: int, d: int, lot_size: int, epsilon: float) -> float:
    table = {row.method: row.value for row in bounds_table(n, d, lot_size, epsilon)}
    return table[method]


def _crossover(n: int, d: int) -> float:
    """Return the lot size from which the row of DP-SCD exceeds M / (N^2 epsilon^2)."""

    def excess(lot_size: float) -> float:
        return math.log(lot_size**3 * math.log(n / lot_size)) - math.log(d * float(n) ** 2)

    # The row grows with L up to exp(-1/3) N.
    return float(brentq(excess, 2.0, math.exp(-1.0 / 3.0) * n))


def _text(rows: list[Row], quick: bool) -> str:
    """Return what the rows say, as Markdown."""
    settings = list(dict.fromkeys(row["dataset"] for row in rows))
    lots = sorted({row["param.lot_size"] for row in rows if row["method"] == DUAL})
    lines = [(method, {"method": method}) for method in OTHERS]
    lines += [(f"{DUAL}, L = {L}", {"method": DUAL, "lot_size": L}) for L in lots]
    parts = [
        f"Utility bounds of DP-ERM methods{' (quick)' if quick else ''}.\n"
        "The four rows of the paper's table at epsilon = 1, hidden constants taken as 1. "
        "Every row is proportional to 1 / epsilon^2.",
        _table("method", settings, lines, lambda name, at: _number(rows, "bound", name, at)),
        "What the row of DP-SCD rests on:",
    ]
    checks = [(f"Theorem 2's bound itself, L = {L}", ("theorem2", L)) for L in lots] + [
        ("Theorem 2's condition at L = N, its easiest case (1: holds)", ("applies", lots[0])),
        ("what lam must exceed there for it to hold", ("smallest_lam", lots[0])),
        *((f"left of the suboptimality by Lemma 3, L = {L}", ("kept", L)) for L in lots),
        ("L from which M / (N^2 epsilon^2) is smaller", ("crossover", lots[0])),
    ]
    parts.append(
        _table(
            "",
            settings,
            checks,
            lambda name, at: _number(rows, at[0], name, {"lot_size": at[1]}),
        )
    )
    return "\n\n".join([*parts, load_spec("bounds")["ending"]]) + "\n"


def _table(corner: str, settings: list[str], lines: Any, number: Any) -> str:
    head = f"| {corner} | {' | '.join(settings)} |\n|{'---|' * (len(settings) + 1)}\n"
    return head + "\n".join(
        f"| {title} | {' | '.join(number(name, at) for name in settings)} |"
        for title, at in lines
    )


def _number(rows: list[Row], metric: str, dataset: str, columns: dict[str, Any]) -> str:
    found = values(rows, metric, dataset=dataset, epsilon=1.0, **columns)
    return f"{found[0]:.3g}" if found else "-"


def _draw(rows: list[Row], quick: bool) -> Any:
    settings = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, (panels,) = new_figure(11, 4.8, 1, len(settings), sharey=True)
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


def _draw_setting(axes: Any, rows: list[Row]) -> None:
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


EXPERIMENT = target(_cells, _text, _draw)
