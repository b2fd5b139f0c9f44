"""The results page of the accuracy bench: everything on it comes from stored rows."""

from collections.abc import Mapping, Sequence

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.experiments.chosen import markdown_table
from dpscd_experiments.opponents.registry import METHODS, OURS
from dpscd_experiments.opponents.setting import measure_of
from dpscd_experiments.pages.parts import (
    ABOVE,
    BELOW,
    WORDS,
    By,
    by_problem,
    cells_of,
    chosen_table,
    digits_of,
    mark_of,
    method_notes,
    metric_table,
    number_text,
    origin_list,
    trouble_list,
)
from dpscd_experiments.pages.regret import best_rival, regret

__all__ = ["page"]

#: Metrics of each loss, the main one first.
_METRICS = {
    "squared": ("mse", "r2"),
    "logistic": ("accuracy", "log_loss", "brier", "auc", "calibration_error"),
    "hinge": ("accuracy", "auc"),
}


def page(results: Sequence[Result], quick: bool, figures: Mapping[str, Sequence[str]]) -> str:
    """Return the page in Markdown."""
    by = by_problem(results)
    parts = ["# Accuracy", _opening(results, quick), "## Regret", _regrets(by)]
    for problem, own in by.items():
        parts += [f"## {problem}", _problem(own)]
        parts += [f"![{problem}]({name})" for name in figures.get(problem, ())]
    parts += ["## Chosen configurations", chosen_table(by, METHODS)]
    parts += ["## Methods", method_notes(results, METHODS)]
    parts += ["## Skipped and failed", trouble_list(results, METHODS)]
    parts += ["## Origin", origin_list(results, METHODS)]
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
        for epsilon, cell in cells_of(results).items():
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
        f"ours is better. {BELOW}: below by more than two standard errors; {ABOVE}: above "
        f"by more than two.\n\n{markdown_table(head, body)}\n\n{_count(by)}"
    )


def _count(by: By) -> str:
    """Return in how many cells ours is below, above or level with each opponent."""
    lines = []
    for name in ("dp-sgd", "published"):
        found = [
            regret(cell[OURS], cell[name])
            for results in by.values()
            for cell in cells_of(results).values()
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


def _shown_regret(ours: Result, other: Result | None) -> str:
    if other is None:
        return "-"
    found = regret(ours, other)
    digits = digits_of(measure_of(ours.setting.loss))
    mark = mark_of(found)
    sign = "+" if found.difference >= 0.0 else "-"
    size, error = number_text(abs(found.difference), digits), number_text(found.error, digits)
    return f"{sign}{size} ± {error}{mark}"


def _problem(results: Sequence[Result]) -> str:
    setting = results[0].setting
    tables = []
    for metric in _METRICS[setting.loss]:
        tables.append(f"Test {WORDS[metric]}:\n\n{metric_table(results, metric, METHODS)}")
    head = f"Data {setting.dataset}, loss {setting.loss}, delta {setting.delta:g}."
    return "\n\n".join([head, *tables])
