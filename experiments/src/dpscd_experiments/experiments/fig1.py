"""Figure 1: utility against epsilon; ridge on MSD, logistic on Phishing, SVM on Adult."""

from collections.abc import Mapping
from typing import Any

from dpscd_experiments.cells import Cell
from dpscd_experiments.experiments.chosen import Chosen, best_by_method, markdown_table, setting
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.experiments.sweeps import grid_cells, ours, sweep
from dpscd_experiments.experiments.training import OURS
from dpscd_experiments.paper.theory import visible_epsilon

__all__ = ["cells", "findings", "text"]


def cells(spec: Mapping[str, Any], quick: bool) -> list[Cell]:
    """Return the cells of fig1a, fig1b, fig1c or fig1a-flights."""
    settings = settings_of(spec, quick)
    target = settings["target"]
    untuned = [
        Cell(
            function=ours,
            experiment=target,
            dataset=settings["dataset"],
            method=OURS,
            epsilon=epsilon,
            delta=settings["delta"],
            parameters={name: settings[name] for name in ("loss", "lam", "seeds")},
        )
        for epsilon in settings["epsilons"]
    ]
    return grid_cells(settings, target, settings["methods"], sweep) + untuned


def text(rows: list[dict[str, Any]], quick: bool) -> str:
    """Return the setting, the table and what agrees with the paper, in Markdown."""
    chosen = best_by_method(rows)
    measure = chosen[0].measure
    digits = 2 if measure == "mse" else 4
    table = markdown_table(
        ["method", "epsilon", f"test {measure}, median", "range", "L", "C", "eta", "tried"],
        [
            [
                one.label,
                f"{one.epsilon:g}",
                f"{one.middle:.{digits}f}",
                f"{min(one.values):.{digits}f} to {max(one.values):.{digits}f}",
                _shown(one.lot_size),
                _shown(one.clip),
                _shown(one.learning_rate),
                str(one.tried),
            ]
            for one in chosen
        ],
    )
    seen = [
        f"{one.epsilon:g} becomes {visible_epsilon(one.sigma, one.epochs, one.delta):.2f}"
        for one in chosen
        if one.method == "dp-scd"
    ]
    notes = [f"* {line}" for line in findings(chosen)]
    if seen:
        notes.append(
            "* What Algorithm 1 claims, and what it is worth towards somebody who sees the "
            f"duals (best configurations): {', '.join(seen)}. Ours claims epsilon itself, "
            "with the duals kept secret."
        )
    return "\n".join([setting(rows, quick), "", table, "", *notes, ""])


def findings(chosen: list[Chosen]) -> list[str]:
    """Return sentences on the paper's findings, as the numbers have them."""
    by = {(one.method, one.epsilon): one for one in chosen}
    epsilons = sorted({one.epsilon for one in chosen if one.private})
    lines = []
    for first, second in (
        ("dp-scd", "dp-sgd"),
        ("dp-scd", "seq-dp-scd"),
        ("dp-scd", "primal-dp-scd"),
        (OURS, "dp-scd"),
        (OURS, "dp-sgd"),
    ):
        pairs = [(e, by.get((first, e)), by.get((second, e))) for e in epsilons]
        known = [(e, a, b) for e, a, b in pairs if a is not None and b is not None]
        if not known:
            continue
        wins = [f"{e:g}" for e, a, b in known if a.worth > b.worth]
        at = f"at epsilon {', '.join(wins)}" if wins else "nowhere"
        lines.append(
            f"{known[0][1].label} is better than {known[0][2].label} {at} "
            f"({len(wins)} of {len(known)})."
        )
    return lines


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
