"""Our untuned models against tuned opponents on test data."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dpscd_experiments import report
from dpscd_experiments.comparison import Known, Result, comparison, rows_of
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.experiment import Shown, Spec
from dpscd_experiments.opponents.registry import METHODS
from dpscd_experiments.opponents.setting import OURS, Setting, Stored, measure_of
from dpscd_experiments.report import ABOVE, BELOW
from dpscd_experiments.style import (
    LOOKS,
    epsilon_axis,
    markdown_table,
    new_figure,
    quartiles,
    quick_stamp,
)

#: Metrics of each loss, the main one first.
_METRICS = {
    "squared": ("mse", "r2"),
    "logistic": ("accuracy", "log_loss", "brier", "auc", "calibration_error"),
    "hinge": ("accuracy", "auc"),
}

_TUNED = ("dp-sgd", "published")
_CALIBRATED_AT = 1.0  # the epsilon whose calibration curves are drawn
_NAMES = {"mse": "test MSE", "accuracy": "test accuracy", "auc": "test AUC", "r2": "test R2"}
_LEVELS = ("plain", "ebm", "boosting")  # not private: the same at every epsilon
_BINS = 10


def settings_in(chosen: Spec, problems: Sequence[str]) -> list[Setting]:
    """Return the settings of these problems, or of those that the file names."""
    known = chosen["problems"]
    common = {
        "experiment": chosen["target"],
        "seeds": chosen["seeds"],
        "tuning_seeds": tuple(chosen["tuning_seeds"]),
        "finalists": chosen["finalists"],
    }
    return [
        Setting(problem=name, epsilon=epsilon, **{**common, **known[name]})
        for name in problems or chosen.get("only", known)
        for epsilon in chosen["epsilons"]
    ]


def page(results: Sequence[Result], quick: bool, figures: Sequence[str]) -> str:
    """Return the page in Markdown."""
    by = report.by_problem(results)
    parts = ["# Accuracy", report.opening(results, quick), "## Regret", _regrets(by)]
    for problem, own in by.items():
        parts += [f"## {problem}", _problem(own)]
        names = [f"{kind}-{problem}" for kind in ("accuracy", "calibration")]
        parts += [f"![{problem}]({name}.png)" for name in names if name in figures]
    parts += ["## Chosen configurations", report.chosen_table(by, METHODS)]
    return "\n\n".join([*parts, *report.ending(results, METHODS)]) + "\n"


def _regrets(by: report.By) -> str:
    body = []
    for problem, results in by.items():
        for epsilon, cell in report.cells_of(results).items():
            ours = cell.get(OURS)
            if ours is None:
                continue
            rival = report.best_rival(cell.values(), METHODS)
            metric = measure_of(ours.setting.loss)
            words = [report.regret_text(ours, cell.get(name), metric) for name in _TUNED]
            best = "-"
            if rival is not None:
                best = (
                    f"{report.regret_text(ours, rival, metric)} ({METHODS[rival.method].label})"
                )
            words += [best, report.regret_text(ours, cell.get("plain"), metric)]
            body.append([problem, f"{epsilon:g}", metric, *words])
    head = ["problem", "epsilon", "metric"]
    head += [f"minus {METHODS[name].label}" for name in _TUNED]
    head += ["minus the best private opponent", f"minus {METHODS['plain'].label}"]
    return (
        "Ours, untuned, minus the other, as means over seeds and with the standard error of "
        "the difference; for MSE the other minus ours, so that positive always means that "
        f"ours is better. {BELOW}: below by more than two standard errors; {ABOVE}: above "
        f"by more than two.\n\n{markdown_table(head, body)}\n\n{_count(by)}"
    )


def _count(by: report.By) -> str:
    """Return in how many cells ours is below, above or level with each opponent."""
    lines = []
    for name in _TUNED:
        found = [
            report.regret(cell[OURS], cell[name])
            for results in by.values()
            for cell in report.cells_of(results).values()
            if OURS in cell and name in cell
        ]
        if found:
            lines.append(
                f"* Against {METHODS[name].label}: better in "
                f"{sum(one.difference > 0.0 for one in found)} of {len(found)} cells, above by "
                f"more than two standard errors in {sum(one.above for one in found)}, below "
                f"by more than two in {sum(one.below for one in found)}."
            )
    return "\n".join(lines)


def _problem(results: Sequence[Result]) -> str:
    setting = results[0].setting
    tables = [
        f"Test {report.WORDS[metric]}:\n\n{report.metric_table(results, metric, METHODS)}"
        for metric in _METRICS[setting.loss]
    ]
    head = f"Data {setting.dataset}, loss {setting.loss}, delta {setting.delta:g}."
    return "\n\n".join([head, *tables])


def draw(results: Sequence[Result], quick: bool, known: Known, measure: str) -> Any:
    """Return the figure of one problem: median and quartiles of all methods."""
    setting = results[0].setting
    figure, axes = new_figure(8.4, 4.8)
    middles: list[tuple[str, float, float]] = []
    for method, own in known.items():
        points = sorted(
            (one.setting.epsilon, *quartiles(one.values(measure)))
            for one in results
            if one.method == method and one.rows
        )
        if not points:
            continue
        if method in _LEVELS:
            points = points[:1]  # a line across the figure counts once
        epsilons, low, middle, high = zip(*points, strict=True)
        middles += [
            (method, epsilon, value)
            for epsilon, value in zip(epsilons, middle, strict=True)
            if math.isfinite(value)
        ]
        if method in _LEVELS:
            axes.axhline(middle[0], label=own.label, **LOOKS[method])
            continue
        axes.plot(epsilons, middle, label=own.label, **LOOKS[method])
        axes.fill_between(epsilons, low, high, color=LOOKS[method]["color"], alpha=0.15, lw=0)
    ticks = (one.setting.epsilon for one in results)
    epsilon_axis(axes, ticks, f"epsilon (delta = {setting.delta:g})")
    _limit(axes, middles, measure)
    axes.set_ylabel(_NAMES[measure])
    seeds = max(len(one.values(measure)) for one in results)
    axes.set_title(f"{setting.problem}\nmedian and quartiles of {seeds} seeds")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


def draw_calibration(results: Sequence[Result], quick: bool) -> Any:
    """Return the calibration curves of a logistic problem at one epsilon."""
    setting = results[0].setting
    figure, axes = new_figure(7.2, 4.8)
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for one in results:
        curve = _mean_curve(one.curve("calibration"))
        if curve:
            at, observed = zip(*curve, strict=True)
            axes.plot(at, observed, label=METHODS[one.method].label, **LOOKS[one.method])
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("part that is positive")
    axes.set_title(
        f"{setting.problem}, epsilon {setting.epsilon:g}: mean of {setting.seeds} seeds"
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


def _mean_curve(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return one point a bin: the means over seeds."""
    bins: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        bins.setdefault(min(_BINS - 1, int(_BINS * at)), []).append((at, value))
    return [
        (sum(at for at, _ in inside) / len(inside), sum(v for _, v in inside) / len(inside))
        for _, inside in sorted(bins.items())
    ]


def _limit(axes: Any, middles: Sequence[tuple[str, float, float]], measure: str) -> None:
    """Leave out medians far worse than the rest; an arrow and their number remain."""
    rises = measure != "mse"
    ordered = sorted((value for _, _, value in middles), reverse=rises)  # best first
    best, usual = ordered[0], ordered[(2 * (len(ordered) - 1)) // 3]
    reach = 2.0 * abs(usual - best) or 1.0
    kept = [value for value in ordered if abs(value - best) <= reach]
    room = 0.08 * (max(kept) - min(kept)) or 0.01
    low, high = min(kept) - room, max(kept) + room
    axes.set_ylim(low, high)
    above: Counter[float] = Counter()  # numbers that stand at an epsilon already
    for method, epsilon, value in middles:
        if not low <= value <= high:
            away = 12 * above[epsilon] + (6 if rises else 12)
            above[epsilon] += 1
            axes.annotate(
                f"{value:.2f} \u2193" if rises else f"{value:.0f} \u2191",
                (epsilon, low if rises else high),
                xytext=(6, away if rises else -away),
                textcoords="offset points",
                fontsize=9,
                color=LOOKS[method]["color"],
            )


def _show(results: list[Result], quick: bool, _spec: Spec, _stored: Stored) -> Shown:
    figures = {}
    for problem, own in report.by_problem(results).items():
        if rows_of(own):
            measure = measure_of(own[0].setting.loss)
            figures[f"accuracy-{problem}"] = draw(own, quick, METHODS, measure)
            at = [one for one in own if one.setting.epsilon == _CALIBRATED_AT]
            if any(one.curve("calibration") for one in at):
                figures[f"calibration-{problem}"] = draw_calibration(at, quick)
    text = page(results, quick, list(figures))
    return Shown(text, {"accuracy": rows_of(results)}, figures)


EXPERIMENT = comparison(
    METHODS, settings_in, lambda one, _: load_dataset(one.dataset), _show, "problems"
)
