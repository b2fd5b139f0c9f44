"""Figure 3: MSE of DP-SCD as published against the lot size, for several clips."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from matplotlib import colormaps

from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Spec, settings_of, target
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.store import Row
from dpscd_experiments.style import markdown_table, new_figure, quick_stamp
from dpscd_experiments.sweeps import Config, prepared, trainer

_NEAR = 1.05  # what counts as close to the least MSE of all
_MARKERS = "ovs^Dd<>ph"
_TOP = 1.35  # of the least MSE; beyond it there is nothing to choose


def _cells(spec: Spec, quick: bool) -> list[Cell]:
    """Return the cells: one for each clip and seed, over all lot sizes."""
    settings = settings_of(spec, quick)
    sizes = ",".join(map(str, settings["lot_sizes"]))
    privacy = settings["epsilon"], settings["delta"]
    common = {name: settings[name] for name in ("loss", "lam", "epochs")} | {"lot_sizes": sizes}
    return [
        Cell(
            curve,
            "fig3",
            settings["dataset"],
            "dp-scd",
            *privacy,
            seed,
            common | {"clip": clip},
        )
        for seed in range(settings["seeds"])
        for clip in settings["clips"]
    ]


def curve(cell: Cell) -> Metrics:
    """Return the MSE on test rows at each lot size."""
    given, points = cell.parameters, []
    task = prepared(cell.dataset, given["loss"], given["lam"])
    for size in map(int, given["lot_sizes"].split(",")):
        config = Config(size, given["clip"])
        train, _ = trainer(task, cell.method, config, given["epochs"], cell.epsilon, cell.delta)
        points.append((float(size), task.score(train(cell.seed, None), "test")))
    return {task.measure: points}


def valleys(rows: Sequence[Row]) -> dict[float, list[tuple[float, list[float]]]]:
    """Return, for each clip, the scores of all seeds at each lot size."""
    found: dict[float, dict[float, list[float]]] = {}
    for row in rows:
        if row["status"] == "ok":
            by_size = found.setdefault(row["param.clip"], {})
            by_size.setdefault(row["at"], []).append(row["value"])
    return {clip: sorted(by_size.items()) for clip, by_size in sorted(found.items())}


def valley(points: Sequence[tuple[float, Sequence[float]]]) -> tuple[float, float]:
    """Return the least median MSE of a curve, and the lot size where it is."""
    middles = [(median(values), size) for size, values in points]
    return min(middles)


def near(points: Sequence[tuple[float, Sequence[float]]], least: float) -> list[float]:
    """Return the lot sizes whose median MSE is within 5 % of `least`."""
    return [size for size, values in points if median(values) <= _NEAR * least]


def _text(rows: list[Row], quick: bool) -> str:
    """Return the setting, the table and what agrees with the paper, in Markdown."""
    first = rows[0]
    seeds = len({row["seed"] for row in rows})
    by_clip = valleys(rows)
    found = {clip: valley(points) for clip, points in by_clip.items()}
    best = min(found, key=lambda clip: found[clip][0])
    body = []
    for clip, points in by_clip.items():
        least, place = found[clip]
        spread = dict(points)[place]
        flat = near(points, found[best][0])
        body.append(
            [
                f"{clip:g}{' (best)' if clip == best else ''}",
                f"{least:.2f}",
                f"{min(spread):.2f} to {max(spread):.2f}",
                f"{place:g}",
                f"{min(flat):g} to {max(flat):g}" if flat else "nowhere",
            ]
        )
    head = ["C", "least MSE", "range over seeds", "at L", "within 5 % of the best MSE at L"]
    kind = "Quick run: fewer seeds than the paper's." if quick else "Full run."
    smaller = [found[clip][1] for clip in found if clip <= best]
    shift = all(a >= b for a, b in pairwise(smaller))
    larger = [found[clip][0] for clip in found if clip >= best]
    notes = [
        f"* With C below the best the minimum {'moves' if shift else 'does not always move'} "
        "to larger lots, or stays at the largest.",
        "* With C above the best the least MSE "
        f"{'rises' if larger == sorted(larger) else 'does not always rise'}.",
    ]
    setting = (
        f"{kind} DP-SCD as published, data {first['dataset']}, lam {first['param.lam']:g}, "
        f"{first['param.epochs']} epochs, epsilon {first['epsilon']:g}, delta "
        f"{first['delta']:g}; median test MSE of {seeds} seeds."
    )
    return "\n".join([setting, "", markdown_table(head, body), "", *notes, ""])


def _draw(rows: list[Row], quick: bool) -> Any:
    found = valleys(rows)
    least = min(valley(points)[0] for points in found.values())
    figure, axes = new_figure(7.6, 4.8)
    for number, (clip, points) in enumerate(found.items()):
        colour = colormaps["viridis"](0.92 * number / max(1, len(found) - 1))
        sizes = [size for size, _ in points]
        middles = [median(values) for _, values in points]
        marker = _MARKERS[number % len(_MARKERS)]
        axes.plot(sizes, middles, marker=marker, color=colour, label=f"C = {clip:g}")
        low = [min(values) for _, values in points]
        high = [max(values) for _, values in points]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.1, lw=0)
        height, place = valley(points)
        axes.plot([place], [height], marker="o", ms=13, mfc="none", mec=colour, lw=0)
    axes.set_xscale("log")
    axes.set_ylim(0.98 * least, _TOP * least)
    axes.set_xlabel("lot size L")
    axes.set_ylabel("test MSE")
    axes.set_title(
        f"DP-SCD as published, {rows[0]['dataset']}, epsilon = {rows[0]['epsilon']:g}\n"
        "median and range; a ring marks the least MSE of each C"
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


EXPERIMENT = target(_cells, _text, _draw)
