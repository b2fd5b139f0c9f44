"""Our models of raw tables, untuned, against what one would use instead."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from dpscd_experiments import report
from dpscd_experiments.comparison import Result, comparison, rows_of
from dpscd_experiments.experiment import Shown, Spec
from dpscd_experiments.experiments.accuracy import draw, settings_in
from dpscd_experiments.opponents.registry import TABLE_METHODS
from dpscd_experiments.opponents.setting import OURS, Stored
from dpscd_experiments.report import ABOVE, BELOW
from dpscd_experiments.style import markdown_table
from dpscd_experiments.tables import load_table

#: By what methods are compared.
MAIN = {"logistic": ("auc", "log_loss"), "squared": ("r2",)}

_METRICS = {
    "logistic": ("accuracy", "auc", "log_loss", "calibration_error", "cpu_seconds"),
    "squared": ("r2", "mse", "cpu_seconds"),
}

_RIVAL = "dp-ebm"


def page(
    results: Sequence[Result], quick: bool, figures: Sequence[str], splits: Mapping[str, str]
) -> str:
    """Return the page in Markdown; `splits` say how each table was split."""
    words = "\n".join(f"* {name}: {split}." for name, split in splits.items())
    parts = ["# Tables", report.opening(results, quick), words, numbers(results, figures)]
    parts += [
        "## Chosen configurations",
        report.chosen_table(report.by_problem(results), TABLE_METHODS),
    ]
    return "\n\n".join([*parts, *report.ending(results, TABLE_METHODS)]) + "\n"


def numbers(results: Sequence[Result], figures: Sequence[str]) -> str:
    """Return the sections that are made of test metrics alone, with the figures."""
    by = report.by_problem(one for one in results if one.rows)
    parts = ["## Against the others", _regrets(by), "## Probabilities", _chances(by)]
    for problem, own in by.items():
        parts += [f"## {problem}", _problem(own)]
        if f"tables-{problem}" in figures:
            parts.append(f"![{problem}](tables-{problem}.png)")
    return "\n\n".join(parts)


def _regrets(by: report.By) -> str:
    body = []
    for problem, results in by.items():
        for epsilon, cell in report.cells_of(results).items():
            ours = cell.get(OURS)
            if ours is None:
                continue
            for metric in MAIN[ours.setting.loss]:
                rival = report.best_rival(cell.values(), TABLE_METHODS, metric)
                best = "-"
                if rival is not None:
                    label = TABLE_METHODS[rival.method].label
                    best = f"{report.regret_text(ours, rival, metric)} ({label})"
                words = [
                    f"{problem} ({len(ours.values(metric))})",
                    f"{epsilon:g}",
                    report.WORDS[metric],
                    report.regret_text(ours, cell.get(_RIVAL), metric),
                    best,
                    report.regret_text(ours, cell.get("plain"), metric),
                    report.regret_text(ours, cell.get("boosting"), metric),
                ]
                body.append(words)
    head = ["table (seeds)", "epsilon", "metric", f"minus {TABLE_METHODS[_RIVAL].label}"]
    head += ["minus the best private opponent"]
    head += [f"minus {TABLE_METHODS[name].label}" for name in ("plain", "boosting")]
    return (
        "Ours, untuned, minus the other, as means over seeds and with the standard error of "
        "the difference; for log-loss the other minus ours, so that positive always means "
        f"that ours is better. {BELOW}: below by more than two standard errors; {ABOVE}: above "
        f"by more than two.\n\n{markdown_table(head, body)}\n\n{_count(by)}"
    )


def _count(by: report.By) -> str:
    """Return in how many cells ours is below, above or level with each private opponent."""
    lines = []
    for name, method in TABLE_METHODS.items():
        found = [
            report.regret(cell[OURS], cell[name], metric)
            for results in by.values()
            for cell in report.cells_of(results).values()
            if method.rival and OURS in cell and name in cell
            for metric in MAIN[cell[OURS].setting.loss]
        ]
        if found:
            lines.append(
                f"* Against {method.label}: above by more than two standard errors in "
                f"{sum(one.above for one in found)} of {len(found)} cells, below by more than "
                f"two in {sum(one.below for one in found)}."
            )
    return "\n".join(lines)


def _chances(by: report.By) -> str:
    """Return how far predicted chances and log-loss are from those without privacy."""
    body = []
    for problem, results in by.items():
        for epsilon, cell in report.cells_of(results).items():
            plain = cell.get("plain")
            if plain is None or plain.setting.loss != "logistic":
                continue
            for name in (OURS, _RIVAL, "dp-sgd"):
                if name in cell:
                    ratios = [
                        f"{_mean(cell[name], metric) / _mean(plain, metric):.3f}"
                        for metric in ("mean_chance", "log_loss")
                    ]
                    body.append([problem, f"{epsilon:g}", TABLE_METHODS[name].label, *ratios])
    head = ["table", "epsilon", "method", "mean predicted chance", "log-loss"]
    return (
        "Means over seeds, over those of our features trained without privacy: 1 is no "
        f"difference.\n\n{markdown_table(head, body)}"
    )


def _mean(result: Result, metric: str) -> float:
    return fmean(result.values(metric))


def _problem(results: Sequence[Result]) -> str:
    setting = results[0].setting
    most = max(len(one.values("cpu_seconds")) for one in results)
    tables = [
        f"{report.WORDS[metric]}:\n\n{report.metric_table(results, metric, TABLE_METHODS)}"
        for metric in _METRICS[setting.loss]
    ]
    plural = "seed" if most == 1 else "seeds"
    return "\n\n".join([f"Loss {setting.loss}, up to {most} {plural}.", *tables])


def _show(results: list[Result], quick: bool, _spec: Spec, _stored: Stored) -> Shown:
    figures, splits = {}, {}
    for problem, own in report.by_problem(results).items():
        if rows_of(own):
            setting = own[0].setting
            splits[problem] = load_table(setting.dataset).split
            figure = draw(own, quick, TABLE_METHODS, MAIN[setting.loss][0])
            figures[f"tables-{problem}"] = figure
    text = page(results, quick, list(figures), splits)
    return Shown(text, {"tables": rows_of(results)}, figures)


EXPERIMENT = comparison(
    TABLE_METHODS, settings_in, lambda one, _: load_table(one.dataset), _show, "problems"
)
