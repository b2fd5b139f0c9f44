"""The last layer of a classifier of pictures: ours, and DP-SGD with softmax."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from dpscd_experiments import report
from dpscd_experiments.comparison import Result, comparison, rows_of
from dpscd_experiments.experiment import Shown, Spec, load_spec
from dpscd_experiments.features import load_features
from dpscd_experiments.opponents.registry import FEATURE_METHODS, FINALISTS
from dpscd_experiments.opponents.setting import OURS, Setting, Stored
from dpscd_experiments.opponents.softmax import SCORE, TUNING
from dpscd_experiments.store import Row
from dpscd_experiments.style import LOOKS, epsilon_axis, markdown_table, new_figure, quick_stamp

#: What rows are made of, in words.
TITLES = {"scattering": "scattering features (3,969)", "pixels": "pixels (784)"}


#: What others report: label, data set, values by epsilon, note.
PUBLISHED = load_spec("features")["published"]

_MARKS = ("*", "P", "X", "h")

# Side by side: what is multiplied with epsilon to tell points apart.
_ASIDE = {OURS: 1.0, "dp-sgd": 0.975}
_PUBLISHED_ASIDE = (1.03, 1.03, 1.06, 1.03)


def settings_in(chosen: Spec, datasets: Sequence[str]) -> list[Setting]:
    """Return the settings of a run: every kind of rows at every epsilon."""
    return [
        Setting(
            problem=f"fashion-{name}",
            dataset=name,
            loss="softmax",
            grid="",
            epsilon=epsilon,
            delta=chosen["delta"],
            seeds=chosen["seeds"],
            tuning_seeds=(chosen["tuning_seed"],),
            finalists=FINALISTS,
            experiment="features",
        )
        for name in datasets or chosen["datasets"]
        for epsilon in chosen["epsilons"]
    ]


def page(results: Sequence[Result], tuning: Sequence[Row], quick: bool) -> str:
    """Return the page in Markdown; `tuning` are rows of DP-SGD on validation rows."""
    parts = ["# The last layer", report.opening(results, quick), numbers(results, tuning)]
    return "\n\n".join([*parts, *report.ending(results, FEATURE_METHODS)]) + "\n"


def numbers(results: Sequence[Result], tuning: Sequence[Row]) -> str:
    """Return the sections that are made of numbers alone, with the figures."""
    by = report.by_problem(one for one in results if one.rows)
    parts = ["## Against tuned DP-SGD", _verdicts(results)]
    parts.append("![features](features.png)")
    parts += ["## Published numbers", _published()]
    for own in by.values():
        parts += [f"## {TITLES[own[0].setting.dataset].capitalize()}"]
        for metric, words in (
            ("accuracy", "Test accuracy, medians (quartiles) over seeds:"),
            ("log_loss", "Test log loss, likewise:"),
            ("cpu_seconds", "Processor's seconds of one fit, likewise:"),
        ):
            parts += [words, report.metric_table(own, metric, FEATURE_METHODS)]
    parts += ["## Tuning", _tuning(tuning), report.chosen_table(by, FEATURE_METHODS)]
    return "\n\n".join(parts)


def _verdicts(results: Sequence[Result]) -> str:
    body = []
    for own in report.by_problem(results).values():
        for epsilon, cell in report.cells_of(own).items():
            rival = report.best_rival(cell.values(), FEATURE_METHODS)
            ours = cell.get(OURS)
            line = [TITLES[own[0].setting.dataset], f"{epsilon:g}", _mean(ours), _mean(rival)]
            line.append("-" if ours is None else report.regret_text(ours, rival, "accuracy"))
            body.append(line)
    head = ["rows", "epsilon", "ours, untuned", "DP-SGD, best of three", "difference"]
    return f"Mean test accuracy:\n\n{markdown_table(head, body)}"


def _published() -> str:
    body = [
        [
            one["label"],
            f"{epsilon:g}",
            f"{value:.3f}" if round(value, 3) == value else f"{value:.4f}",
        ]
        for one in PUBLISHED
        for epsilon, value in one["values"]
    ]
    notes = "\n".join(f"* {one['label']}: {one['note']}." for one in PUBLISHED)
    return (
        "Test accuracies of Fashion-MNIST that others report at delta 1e-5, none of them run "
        "here. They are of the best of many settings, whose choice is not charged:\n\n"
        f"{markdown_table(['method and source', 'epsilon', 'accuracy'], body)}\n\n{notes}"
    )


def _tuning(rows: Sequence[Row]) -> str:
    """Return the accuracy of every setting that was tried, and what trying took."""
    scores: dict[tuple[str, float, int, int, float], dict[float, float]] = {}
    seconds: dict[tuple[str, float], float] = {}
    for row in rows:
        at = (row["dataset"], row["epsilon"])
        if str(row["metric"]).startswith(SCORE):
            averaging = float(row["metric"].removeprefix(SCORE))
            key = (*at, row["param.epochs"], row["param.lot_size"], averaging)
            scores.setdefault(key, {})[row["at"]] = row["value"]
        elif row["metric"] == "cpu_seconds":
            seconds[at] = seconds.get(at, 0.0) + row["value"]
    steps = sorted({step for own in scores.values() for step in own})
    best = {
        at: max(max(own.values()) for key, own in scores.items() if key[:2] == at)
        for at in seconds
    }
    body = []
    for key, own in sorted(scores.items()):
        words = [report.number_text(own[step], 4) if step in own else "-" for step in steps]
        marked = [
            f"**{word}**" if own.get(step) == best[key[:2]] else word
            for step, word in zip(steps, words, strict=True)
        ]
        body.append([key[0], *(f"{one:g}" for one in key[1:]), *marked])
    head = ["rows", "epsilon", "epochs", "lots of", "averaged", *(f"step {x:g}" for x in steps)]
    took = ", ".join(
        f"{name} at epsilon {epsilon:g}: {spent:.0f}"
        for (name, epsilon), spent in sorted(seconds.items())
    )
    return (
        "Accuracy on validation rows of every setting of DP-SGD that was tried, with one seed; "
        "the best of each epsilon is bold. A step is the learning rate times the clip, of the "
        "mean gradient of rows divided by their longest possible length.\n\n"
        f"{markdown_table(head, body)}\n\n"
        "Processor's seconds of all of them together (all steps and averages share one "
        f"pass over the rows, several times as fast as one by one): {took}."
    )


def _mean(result: Result | None) -> str:
    if result is None:
        return "-"
    mean, error = report.mean_and_error(result.values("accuracy"))
    rank = "" if result.method == OURS else f" ({result.method.removeprefix('dp-sgd-')})"
    return f"{mean:.4f} ± {error:.4f}{rank}"


def draw(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure: means over seeds with two standard errors, and published numbers."""
    names = [name for name in TITLES if any(one.setting.dataset == name for one in results)]
    figure, (panels,) = new_figure(1.5 + 4.7 * len(names), 4.8, 1, len(names))
    for axes, name in zip(panels, names, strict=True):
        own = [one for one in results if one.setting.dataset == name]
        _draw_finalists(axes, own)
        rivals = [
            report.best_rival(cell.values(), FEATURE_METHODS)
            for cell in report.cells_of(own).values()
        ]
        mine = [one for one in own if one.method == OURS]
        for look, label, chosen in (
            ("dp-sgd", "DP-SGD, tuned, the best of three", rivals),
            (OURS, FEATURE_METHODS[OURS].label, mine),
        ):
            points = sorted(
                (
                    one.setting.epsilon * _ASIDE[look],
                    *report.mean_and_error(one.values("accuracy")),
                )
                for one in chosen
                if one is not None
            )
            if points:
                at, middle, error = zip(*points, strict=True)
                axes.errorbar(
                    at,
                    middle,
                    [2.0 * one for one in error],
                    label=label,
                    capsize=3,
                    markersize=5,
                    **LOOKS[look],
                )
        ticks = {one.setting.epsilon for one in own}
        for mark, aside, one in zip(_MARKS, _PUBLISHED_ASIDE, PUBLISHED, strict=True):
            known = one["values"] if one["dataset"] == name else ()
            if known:
                at, value = zip(*known, strict=True)
                axes.plot(
                    [x * aside for x in at], value, mark, color="0.35", label=one["label"], ms=7
                )
                ticks |= set(at)
        epsilon_axis(axes, ticks, "epsilon (delta 1e-5)")
        axes.set_ylabel("test accuracy (bars: two standard errors)")
        axes.set_title(TITLES[name])
        axes.grid(alpha=0.3)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda at: not hasattr(handles[at], "has_yerr"))
        axes.legend(
            [handles[at] for at in order],
            [labels[at] for at in order],
            loc="lower right",
            fontsize=8,
        )
    figure.suptitle("Fashion-MNIST: a linear classifier, ours untuned, DP-SGD tuned")
    quick_stamp(figure, quick)
    return figure


def _draw_finalists(axes: Any, results: Sequence[Result]) -> None:
    """Draw the means of all settings of DP-SGD that were run with all seeds."""
    points = [
        (one.setting.epsilon * _ASIDE["dp-sgd"], fmean(one.values("accuracy")))
        for one in results
        if FEATURE_METHODS[one.method].rival
    ]
    if points:
        look = {"color": LOOKS["dp-sgd"]["color"], "fillstyle": "none", "markersize": 5}
        label = "DP-SGD, all three"
        axes.plot(*zip(*points, strict=True), "s", label=label, **look)


def _show(results: list[Result], quick: bool, spec: Spec, stored: Stored) -> Shown:
    cells = {
        cell.key
        for setting in settings_in(spec, ())
        for method in FEATURE_METHODS.values()
        for cell in method.cells(setting, spec, stored)
        if cell.method == TUNING
    }
    tuning = [row for key, rows in stored.items() if key in cells for row in rows]
    figure = draw([one for one in results if one.rows], quick)
    rows = [*rows_of(results), *tuning]
    return Shown(page(results, tuning, quick), {"features": rows}, {"features": figure})


EXPERIMENT = comparison(
    FEATURE_METHODS,
    settings_in,
    lambda one, spec: load_features(one.dataset, spec.get("records")),
    _show,
    again=[TUNING],
)
