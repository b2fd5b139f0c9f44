"""Figure 1: utility against epsilon; ridge on MSD, logistic on Phishing, SVM on Adult."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Spec, settings_of, target
from dpscd_experiments.paper.theory import visible_epsilon
from dpscd_experiments.store import Row
from dpscd_experiments.style import LOOKS, epsilon_axis, markdown_table, new_figure, quick_stamp
from dpscd_experiments.sweeps import OURS, grid_cells, ours, sweep, worth_of

_TITLES = {
    "msd": "Ridge regression, YearPredictionMSD",
    "nycflights13": "Ridge regression, nycflights13",
    "phishing": "Logistic regression, Phishing",
    "adult": "Support vector machine, Adult",
}
_NAMES = {"mse": "test MSE", "accuracy": "test accuracy"}
#: The methods as figures and tables name them, in their order.
LABELS = {
    "scd": "SCD, not private",
    "sgd": "SGD, not private",
    "dp-scd": "DP-SCD as published",
    "seq-dp-scd": "seqDP-SCD as published",
    "primal-dp-scd": "primalDP-SCD as published",
    "dp-sgd": "DP-SGD as published",
    "ours-tuned": "ours, tuned like the paper",
    "ours": "ours, untuned estimator",
}


@dataclass(frozen=True)
class Chosen:
    """The configuration of a method at an epsilon, with its test scores."""

    method: str
    epsilon: float
    delta: float
    measure: str
    values: tuple[float, ...]
    validation: float
    lot_size: float | None
    clip: float | None
    learning_rate: float | None
    sigma: float
    epochs: int
    tried: int
    cell: str

    @property
    def label(self) -> str:
        """The method's name in figures."""
        return LABELS[self.method]

    @property
    def private(self) -> bool:
        """Whether there is an epsilon at all."""
        return math.isfinite(self.epsilon)

    @property
    def middle(self) -> float:
        """The median test score; infinite if it is that of a broken model."""
        return median(math.inf if math.isnan(value) else value for value in self.values)

    @property
    def worth(self) -> float:
        """The median test score so that larger is better."""
        return worth_of(self.middle, self.measure)


def best_by_method(rows: Sequence[Mapping[str, Any]]) -> list[Chosen]:
    """Return, for each method and epsilon, the lot size with the best validation score."""
    by_cell: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["method"] in LABELS and row["status"] == "ok":
            by_cell.setdefault(row["cell"], []).append(row)
    groups: dict[tuple[str, float], list[Chosen]] = {}
    for cell in by_cell.values():
        one = _read(cell)
        groups.setdefault((one.method, one.epsilon), []).append(one)
    order = list(LABELS)
    best = []
    for _, group in sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0])):
        first = max(group, key=lambda one: worth_of(one.validation, one.measure))
        best.append(replace(first, tried=sum(one.tried for one in group)))
    return best


def setting(rows: Sequence[Mapping[str, Any]], quick: bool) -> str:
    """Return the line that says what was run."""
    swept = [row for row in rows if row.get("param.clips")]
    first = swept[0] if swept else rows[0]
    seeds, epochs = first.get("param.seeds"), first.get("param.epochs")
    kind = (
        "Quick run: fewer seeds and thinner grids than the paper's." if quick else "Full run."
    )
    return (
        f"{kind} Data {first['dataset']}, loss {first.get('param.loss')}, lam "
        f"{first.get('param.lam'):g}, {epochs} epochs, delta {first['delta']:g}. One seed "
        f"for tuning on the validation part, median of {seeds} seeds on the test part."
    )


def _read(cell: Sequence[Mapping[str, Any]]) -> Chosen:
    single = {row["metric"]: row["value"] for row in cell if row["at"] is None}
    first = cell[0]
    measure = next(row["metric"] for row in cell if row["metric"] in ("mse", "accuracy"))
    scores = sorted((row["at"], row["value"]) for row in cell if row["metric"] == measure)
    clip = single.get("clip", math.inf)
    rated = first.get("param.learning_rates")
    return Chosen(
        method=first["method"],
        epsilon=first["epsilon"],
        delta=first["delta"],
        measure=measure,
        values=tuple(value for _, value in scores),
        validation=single["validation"],
        lot_size=first.get("param.lot_size"),
        clip=clip if math.isfinite(clip) else None,
        learning_rate=single["learning_rate"] if rated else None,
        sigma=single["sigma"],
        epochs=int(first.get("param.epochs") or 0),
        tried=int(single["tried"]),
        cell=first["cell"],
    )


def _cells(spec: Spec, quick: bool) -> list[Cell]:
    settings = settings_of(spec, quick)
    name = settings["target"]
    parameters = {name: settings[name] for name in ("loss", "lam", "seeds")}
    untuned = [
        Cell(ours, name, settings["dataset"], OURS, epsilon, settings["delta"], 0, parameters)
        for epsilon in settings["epsilons"]
    ]
    return grid_cells(settings, name, settings["methods"], sweep) + untuned


def _text(rows: list[Row], quick: bool) -> str:
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
    notes = [f"* {line}" for line in _findings(chosen)]
    if seen:
        notes.append(
            "* What Algorithm 1 claims, and what it is worth towards somebody who sees the "
            f"duals (best configurations): {', '.join(seen)}. Ours claims epsilon itself, "
            "with the duals kept secret."
        )
    return "\n".join([setting(rows, quick), "", table, "", *notes, ""])


def _findings(chosen: list[Chosen]) -> list[str]:
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


def _draw(rows: list[Row], quick: bool) -> Any:
    chosen = best_by_method(rows)
    by: dict[str, list[Chosen]] = {}
    for one in chosen:
        by.setdefault(one.method, []).append(one)
    figure, axes = new_figure(7.6, 4.8)
    for method, points in by.items():
        middles = [one.middle for one in points]
        if not points[0].private:
            axes.axhline(middles[0], label=points[0].label, **LOOKS[method])
            continue
        at = [one.epsilon for one in points]
        axes.plot(at, middles, label=points[0].label, **LOOKS[method])
        low = [min(one.values) for one in points]
        high = [max(one.values) for one in points]
        axes.fill_between(at, low, high, color=LOOKS[method]["color"], alpha=0.12, lw=0)
    epsilons = (one.epsilon for one in chosen if one.private)
    epsilon_axis(axes, epsilons, "epsilon that is claimed (delta = 0.001)")
    _limit(axes, chosen)
    axes.set_ylabel(_NAMES[chosen[0].measure])
    dataset = str(rows[0]["dataset"])
    seeds = len(chosen[-1].values)
    axes.set_title(f"{_TITLES.get(dataset, dataset)}\nmedian and range of {seeds} seeds")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


def _limit(axes: Any, chosen: list[Chosen]) -> None:
    """Show all medians but those far above the rest, which get an arrow and their number.

    A band that leaves the picture is cut.
    """
    finite = [one.middle for one in chosen if math.isfinite(one.middle)]
    low, high = min(finite), max(finite)
    if chosen[0].measure == "mse":  # has no largest value, unlike accuracy
        high = _top(finite)
    room = 0.08 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)
    for one in chosen:
        if one.middle > high:
            axes.annotate(
                f"{one.middle:.0f} \u2191",
                (one.epsilon, high + room),
                xytext=(6, -12),
                textcoords="offset points",
                fontsize=9,
                color=LOOKS[one.method]["color"],
            )


def _top(values: list[float]) -> float:
    """Return the largest value that does not take more than half of the height alone."""
    kept = sorted(values)
    while len(kept) > 2 and kept[-1] - kept[-2] > 0.5 * (kept[-1] - kept[0]):
        kept.pop()
    return kept[-1]


EXPERIMENT = target(_cells, _text, _draw)
