"""What pages of comparisons share: everything on them comes from stored rows.

Regret is what our untuned estimators lose, or win, against another method in one cell.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev, variance

from dpscd_experiments.comparison import Known, Result
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.opponents.setting import measure_of
from dpscd_experiments.style import markdown_table, quartiles

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

#: Metrics of which less is better.
_FALLING = ("mse", "log_loss", "brier", "calibration_error", "cpu_seconds")

#: Results by problem.
By = Mapping[str, list[Result]]


@dataclass(frozen=True)
class Regret:
    """Ours minus another method, so that positive means that ours is better."""

    difference: float  # of the means over seeds; of errors and losses, the other's minus ours
    error: float  # standard error of that difference

    @property
    def below(self) -> bool:
        """Whether ours is below by more than two standard errors."""
        return not self.difference >= -2.0 * self.error

    @property
    def above(self) -> bool:
        """Whether ours is above by more than two standard errors."""
        return self.difference > 2.0 * self.error


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


def _notes(results: Sequence[Result], known: Known) -> str:
    """Return what a reader must know of the methods that there are."""
    seen = {one.method for one in results}
    return "\n".join(f"* {m.label}: {m.note}." for name, m in known.items() if name in seen)


def _trouble(results: Sequence[Result], known: Known) -> str:
    """Return what was skipped or failed, and why."""
    lines = dict.fromkeys(
        f"* {known[one.method].label}, {one.setting.problem}: {reason}"
        for one in results
        for reason in one.trouble
    )
    return "\n".join(lines) or "Nothing."


def _origin(results: Sequence[Result], known: Known) -> str:
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


def opening(results: Sequence[Result], quick: bool) -> str:
    """Return how a comparison was made, as the file of its settings says."""
    setting = results[0].setting
    spec, (first, *others) = load_spec(setting.experiment), setting.tuning_seeds or (0,)
    finals = f", the best {setting.finalists} also with {', '.join(map(str, others))}"
    text = spec["opening"].format(
        setting=setting, last=setting.seeds - 1, first=first, finals=finals if others else ""
    )
    return f"{spec['quick_run']} {text}" if quick else str(text)


def ending(results: Sequence[Result], known: Known) -> list[str]:
    """Return the sections that every page of a comparison ends with."""
    return [
        "## Methods", _notes(results, known),
        "## Skipped and failed", _trouble(results, known),
        "## Origin", _origin(results, known),
    ]  # fmt: skip


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean over seeds and its standard error."""
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return fmean(values), error


def mean_worth(result: Result, metric: str | None = None) -> float:
    """Return the mean of a metric so that larger is better; -inf if a run is broken."""
    measure = metric or measure_of(result.setting.loss)
    return fmean(_worth(measure, value) for value in result.values(measure))


def regret(ours: Result, other: Result, metric: str | None = None) -> Regret:
    """Return our regret against another method."""
    measure = metric or measure_of(ours.setting.loss)
    error = math.sqrt(sum(_squared_error(one.values(measure)) for one in (ours, other)))
    mine, theirs = mean_worth(ours, measure), mean_worth(other, measure)
    if mine == theirs == -math.inf:
        return Regret(0.0, 0.0)
    return Regret(mine - theirs, error)


def paired_regret(ours: Result, other: Result, metric: str) -> Regret:
    """Return our regret against another method that met the same data with the same seeds."""
    mine, theirs = (one.by_seed(metric) for one in (ours, other))
    apart = tuple(
        _worth(metric, mine[seed]) - _worth(metric, theirs[seed])
        for seed in sorted(mine.keys() & theirs.keys())
    )
    return Regret(fmean(apart), math.sqrt(_squared_error(apart)))


def regret_text(ours: Result, other: Result | None, metric: str) -> str:
    """Return our regret with its error and its sign; a dash if there is no other."""
    if other is None:
        return "-"
    found, digits = regret(ours, other, metric), digits_of(metric)
    sign = "+" if found.difference >= 0.0 else "-"
    size, error = number_text(abs(found.difference), digits), number_text(found.error, digits)
    return f"{sign}{size} ± {error}{mark_of(found)}"


def best_rival(
    results: Iterable[Result], known: Known, metric: str | None = None
) -> Result | None:
    """Return the best of the methods that ours is measured against, by their means."""
    rivals = [one for one in results if one.rows and known[one.method].rival]
    return max(rivals, key=lambda one: mean_worth(one, metric), default=None)


def _worth(metric: str, value: float) -> float:
    if math.isnan(value):
        return -math.inf
    return -value if metric.removeprefix("person_") in _FALLING else value


def _squared_error(values: tuple[float, ...]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return variance(finite) / len(finite) if len(finite) > 1 else 0.0
