"""Parts that the pages of benches share: everything in them comes from stored rows."""

import math
from collections.abc import Iterable, Mapping, Sequence

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.experiments.chosen import markdown_table
from dpscd_experiments.opponents.registry import Method
from dpscd_experiments.pages.accuracy_figure import quartiles
from dpscd_experiments.pages.regret import Regret

__all__ = [
    "ABOVE",
    "BELOW",
    "WORDS",
    "By",
    "Known",
    "by_problem",
    "cells_of",
    "chosen_table",
    "digits_of",
    "mark_of",
    "method_notes",
    "metric_table",
    "number_text",
    "origin_list",
    "spread_text",
    "trouble_list",
]

#: What metrics are called.
WORDS = {
    "mse": "MSE",
    "r2": "R2",
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "auc": "AUC",
    "calibration_error": "calibration error",
    "mean_chance": "mean predicted chance",
    "cpu_seconds": "processor's seconds of a fit",
}

#: Signs for cells in which ours is below or above by more than two standard errors.
BELOW, ABOVE = "▼", "▲"

_DIGITS = {"mse": 2, "cpu_seconds": 1}
_HUGE = 1e5

#: Results by problem, and methods by name.
By = Mapping[str, list[Result]]
Known = Mapping[str, Method]


def by_problem(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the results of each problem."""
    by: dict[str, list[Result]] = {}
    for one in results:
        by.setdefault(one.setting.problem, []).append(one)
    return by


def cells_of(results: Iterable[Result]) -> dict[float, dict[str, Result]]:
    """Return, for each epsilon, the results of each method that has any."""
    cells: dict[float, dict[str, Result]] = {}
    for one in results:
        if one.rows:
            cells.setdefault(one.setting.epsilon, {})[one.method] = one
    return dict(sorted(cells.items()))


def metric_table(results: Sequence[Result], metric: str, known: Known) -> str:
    """Return the table of a metric: a line for each method, a column for each epsilon."""
    cells = cells_of(results)
    digits = digits_of(metric)
    body = []
    for name, method in known.items():
        own = [cell.get(name) for cell in cells.values()]
        if any(own):
            words = [spread_text(one.values(metric), digits) if one else "-" for one in own]
            body.append([method.label, *words])
    return markdown_table(["method", *(f"epsilon {at:g}" for at in cells)], body)


def digits_of(metric: str) -> int:
    """Return how many digits of a metric are shown."""
    return _DIGITS.get(metric, 4)


def spread_text(values: Sequence[float], digits: int) -> str:
    """Return median and quartiles over seeds."""
    low, middle, high = (number_text(value, digits) for value in quartiles(values))
    return middle if len(values) == 1 else f"{middle} ({low}, {high})"


def number_text(value: float, digits: int) -> str:
    """Return a number; 'broken' for none."""
    if not math.isfinite(value):
        return "broken"
    return f"{value:.{digits}f}" if abs(value) < _HUGE else f"{value:.2g}"


def mark_of(found: Regret) -> str:
    """Return the sign of a cell, with a space before it."""
    if found.below:
        return f" {BELOW}"
    return f" {ABOVE}" if found.above else ""


def chosen_table(by: By, known: Known) -> str:
    """Return the table of the configurations that tuning chose."""
    lines: dict[tuple[str, ...], None] = {}
    for problem, results in by.items():
        for one in results:
            if one.config and one.tried:
                words = ", ".join(
                    f"{name} {value if isinstance(value, str) else format(value, 'g')}"
                    for name, value in one.config.items()
                )
                level = one.rows[0].get("epsilon") == math.inf
                at = "any" if level else f"{one.setting.epsilon:g}"
                lines[problem, known[one.method].label, at, words, str(one.tried)] = None
    head = ["problem", "method", "epsilon", "configuration", "tried"]
    return markdown_table(head, list(lines))


def method_notes(results: Sequence[Result], known: Known) -> str:
    """Return what a reader must know of the methods that there are."""
    seen = {one.method for one in results}
    return "\n".join(f"* {m.label}: {m.note}." for name, m in known.items() if name in seen)


def trouble_list(results: Sequence[Result], known: Known) -> str:
    """Return what was skipped or failed, and why."""
    lines = dict.fromkeys(
        f"* {known[one.method].label}, {one.setting.problem}: {reason}"
        for one in results
        for reason in one.trouble
    )
    return "\n".join(lines) or "Nothing."


def origin_list(results: Sequence[Result], known: Known) -> str:
    """Return which code made the rows of which methods."""
    made: dict[str, dict[str, None]] = {}
    for one in results:
        for row in one.rows[:1]:
            words = ", ".join(
                f"{part} {row[f'prov.{part}']}"
                for part in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
            )
            made.setdefault(words, {})[known[one.method].label] = None
    return "\n".join(f"* {', '.join(labels)}: {words}." for words, labels in made.items())
