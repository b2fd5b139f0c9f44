"""The results page of the accuracy bench: everything on it comes from stored rows."""

import math
from collections.abc import Iterable, Mapping, Sequence

from dpscd_bench.experiments.accuracy import Result
from dpscd_bench.experiments.chosen import markdown_table
from dpscd_bench.opponents.registry import METHODS, OURS
from dpscd_bench.opponents.setting import measure_of
from dpscd_bench.pages.accuracy_figure import quartiles
from dpscd_bench.pages.regret import Regret, best_rival, regret

__all__ = ["page"]

#: Metrics of each loss, the main one first.
_METRICS = {
    "squared": ("mse", "r2"),
    "logistic": ("accuracy", "log_loss", "brier", "auc", "calibration_error"),
    "hinge": ("accuracy", "auc"),
}
_WORDS = {
    "mse": "MSE",
    "r2": "R2",
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "auc": "AUC",
    "calibration_error": "calibration error",
}
_DIGITS = {"mse": 2}
_HUGE = 1e5
_BELOW, _ABOVE = "▼", "▲"

By = Mapping[str, list[Result]]


def page(results: Sequence[Result], quick: bool, figures: Mapping[str, Sequence[str]]) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    results : sequence of Result
        What is stored, of all problems.
    quick : bool
        Whether they are of a quick run.
    figures : dict
        File names of each problem's figures.
    """
    by: dict[str, list[Result]] = {}
    for one in results:
        by.setdefault(one.setting.problem, []).append(one)
    parts = ["# Accuracy", _opening(results, quick), "## Regret", _regrets(by)]
    for problem, own in by.items():
        parts += [f"## {problem}", _problem(own)]
        parts += [f"![{problem}]({name})" for name in figures.get(problem, ())]
    parts += ["## Chosen configurations", _chosen(by), "## Methods", _notes(results)]
    parts += ["## Skipped and failed", _trouble(results), "## Origin", _origin(results)]
    return "\n\n".join(parts) + "\n"


def _opening(results: Sequence[Result], quick: bool) -> str:
    setting = results[0].setting
    kind = "Quick run: fewer seeds, epsilons and configurations. " if quick else ""
    first, *others = setting.tuning_seeds
    finals = f", the best {setting.finalists} also with {', '.join(map(str, others))}"
    return (
        f"{kind}Test metrics, median (first and third quartile) of {setting.seeds} seeds, 0 to "
        f"{setting.seeds - 1}. Tuned methods choose on validation rows: every configuration "
        f"with the seed {first}{finals if others else ''}. Tuning is not "
        "charged to anybody's privacy; ours is not tuned at all."
    )


def _regrets(by: By) -> str:
    body = []
    for problem, results in by.items():
        for epsilon, cell in _cells(results).items():
            ours = cell.get(OURS)
            if ours is None:
                continue
            rival = best_rival(cell.values())
            words = [_shown_regret(ours, cell.get(name)) for name in ("dp-sgd", "published")]
            best = "-"
            if rival is not None:
                best = f"{_shown_regret(ours, rival)} ({METHODS[rival.method].label})"
            words += [best, _shown_regret(ours, cell.get("plain"))]
            body.append([problem, f"{epsilon:g}", measure_of(ours.setting.loss), *words])
    head = ["problem", "epsilon", "metric"]
    head += [f"minus {METHODS[name].label}" for name in ("dp-sgd", "published")]
    head += ["minus the best private opponent", f"minus {METHODS['plain'].label}"]
    return (
        "Ours, untuned, minus the other, as means over seeds and with the standard error of "
        "the difference; for MSE the other minus ours, so that positive always means that "
        f"ours is better. {_BELOW}: below by more than two standard errors; {_ABOVE}: above "
        f"by more than two.\n\n{markdown_table(head, body)}\n\n{_count(by)}"
    )


def _count(by: By) -> str:
    """Return in how many cells ours is below, above or level with each opponent."""
    lines = []
    for name in ("dp-sgd", "published"):
        found = [
            regret(cell[OURS], cell[name])
            for results in by.values()
            for cell in _cells(results).values()
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


def _cells(results: Iterable[Result]) -> dict[float, dict[str, Result]]:
    """Return, for each epsilon, the results of each method that has any."""
    cells: dict[float, dict[str, Result]] = {}
    for one in results:
        if one.rows:
            cells.setdefault(one.setting.epsilon, {})[one.method] = one
    return dict(sorted(cells.items()))


def _shown_regret(ours: Result, other: Result | None) -> str:
    if other is None:
        return "-"
    found = regret(ours, other)
    digits = _DIGITS.get(measure_of(ours.setting.loss), 4)
    mark = _mark(found)
    sign = "+" if found.difference >= 0.0 else "-"
    size, error = _number(abs(found.difference), digits), _number(found.error, digits)
    return f"{sign}{size} ± {error}{mark}"


def _mark(found: Regret) -> str:
    if found.below:
        return f" {_BELOW}"
    return f" {_ABOVE}" if found.above else ""


def _problem(results: Sequence[Result]) -> str:
    setting = results[0].setting
    tables = []
    for metric in _METRICS[setting.loss]:
        tables.append(f"Test {_WORDS[metric]}:\n\n{_table(results, metric)}")
    head = f"Data {setting.dataset}, loss {setting.loss}, delta {setting.delta:g}."
    return "\n\n".join([head, *tables])


def _table(results: Sequence[Result], metric: str) -> str:
    cells = _cells(results)
    digits = _DIGITS.get(metric, 4)
    body = []
    for name, method in METHODS.items():
        own = [cell.get(name) for cell in cells.values()]
        if any(own):
            words = [_shown(one.values(metric), digits) if one else "-" for one in own]
            body.append([method.label, *words])
    return markdown_table(["method", *(f"epsilon {at:g}" for at in cells)], body)


def _shown(values: Sequence[float], digits: int) -> str:
    low, middle, high = (_number(value, digits) for value in quartiles(values))
    return middle if len(values) == 1 else f"{middle} ({low}, {high})"


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "broken"
    return f"{value:.{digits}f}" if abs(value) < _HUGE else f"{value:.2g}"


def _chosen(by: By) -> str:
    body = []
    for problem, results in by.items():
        for one in results:
            if one.config and one.tried:
                words = ", ".join(f"{name} {value:g}" for name, value in one.config.items())
                label = METHODS[one.method].label
                body.append([problem, label, f"{one.setting.epsilon:g}", words, str(one.tried)])
    head = ["problem", "method", "epsilon", "configuration", "tried"]
    return markdown_table(head, body)


def _notes(results: Sequence[Result]) -> str:
    seen = {one.method for one in results}
    return "\n".join(f"* {m.label}: {m.note}." for name, m in METHODS.items() if name in seen)


def _trouble(results: Sequence[Result]) -> str:
    lines = dict.fromkeys(
        f"* {METHODS[one.method].label}, {one.setting.problem}: {reason}"
        for one in results
        for reason in one.trouble
    )
    return "\n".join(lines) or "Nothing."


def _origin(results: Sequence[Result]) -> str:
    """Return which code made the rows of which methods."""
    made: dict[str, dict[str, None]] = {}
    for one in results:
        for row in one.rows[:1]:
            words = ", ".join(
                f"{part} {row[f'prov.{part}']}"
                for part in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
            )
            made.setdefault(words, {})[METHODS[one.method].label] = None
    return "\n".join(f"* {', '.join(labels)}: {words}." for words, labels in made.items())
