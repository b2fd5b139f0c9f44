"""The results page of the bench of features: everything measured on it is in stored rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean, stdev

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.experiments.chosen import markdown_table
from dpscd_experiments.opponents.feature_registry import FEATURE_METHODS
from dpscd_experiments.opponents.registry import OURS
from dpscd_experiments.opponents.softmax import SCORE
from dpscd_experiments.pages.parts import (
    ABOVE,
    BELOW,
    by_problem,
    cells_of,
    chosen_table,
    mark_of,
    method_notes,
    metric_table,
    number_text,
    origin_list,
    trouble_list,
)
from dpscd_experiments.pages.regret import best_rival, regret
from dpscd_experiments.store import Row

__all__ = ["PUBLISHED", "TITLES", "Published", "numbers", "page"]

#: What rows are made of, in words.
TITLES = {"scattering": "scattering features (3,969)", "pixels": "pixels (784)"}


@dataclass(frozen=True)
class Published:
    """Accuracies that others report."""

    label: str  # method and source
    dataset: str  # in whose figure it belongs
    values: Mapping[float, float]  # test accuracy by epsilon, at delta 1e-5
    note: str  # what it is


_TRAMER = (
    "[Tramèr and Boneh (2021)](https://arxiv.org/abs/2011.11660), as their repository "
    "Handcrafted-DP tabulates it"
)

#: What others report of Fashion-MNIST, with the tuning that they did, which is not charged.
PUBLISHED = (
    Published(
        "linear, Tramèr and Boneh 2021",
        "scattering",
        {3.0: 0.897},
        "a linear model on the same scattering features with the same group normalisation, "
        f"DP-SGD, tuned; {_TRAMER}",
    ),
    Published(
        "CNN on these, Tramèr and Boneh 2021",
        "scattering",
        {3.0: 0.890},
        f"a small convolutional network on scattering features; {_TRAMER}",
    ),
    Published(
        "DPSUR, CNN on these, Fu et al. 2024",
        "scattering",
        {1.0: 0.8838, 2.0: 0.8934, 3.0: 0.8971},
        "DP-SGD that keeps only updates which pass a noisy test, a small convolutional "
        "network on scattering features, means of five runs, the guarantee as its authors "
        "state it; [Fu et al. (2024)](https://arxiv.org/abs/2311.14056), as their repository "
        "DPSUR tabulates it",
    ),
    Published(
        "CNN from pixels, Tramèr and Boneh 2021",
        "pixels",
        {3.0: 0.860},
        f"a convolutional network trained from pixels by DP-SGD: no linear model; {_TRAMER}",
    ),
)


def page(
    results: Sequence[Result], tuning: Sequence[Row], quick: bool, figures: Sequence[str]
) -> str:
    """Return the page in Markdown."""
    parts = ["# The last layer", _opening(results, quick), numbers(results, tuning, figures)]
    parts += ["## Methods", method_notes(results, FEATURE_METHODS)]
    parts += ["## Skipped and failed", trouble_list(results, FEATURE_METHODS)]
    parts += ["## Origin", origin_list(results, FEATURE_METHODS)]
    return "\n\n".join(parts) + "\n"


def numbers(results: Sequence[Result], tuning: Sequence[Row], figures: Sequence[str]) -> str:
    """Return the sections that are made of numbers alone, with the figures."""
    by = {
        problem: own
        for problem, own in by_problem(results).items()
        if any(one.rows for one in own)
    }
    parts = ["## Against tuned DP-SGD", _verdicts(results)]
    parts += [f"![{PurePosixPath(name).stem}]({name})" for name in figures]
    parts += ["## Published numbers", _published()]
    for own in by.values():
        parts += [f"## {TITLES[own[0].setting.dataset].capitalize()}"]
        for metric, words in (
            ("accuracy", "Test accuracy, medians (quartiles) over seeds:"),
            ("log_loss", "Test log loss, likewise:"),
            ("cpu_seconds", "Processor's seconds of one fit, likewise:"),
        ):
            parts += [words, metric_table(own, metric, FEATURE_METHODS)]
    parts += ["## Tuning", _tuning(tuning), chosen_table(by, FEATURE_METHODS)]
    return "\n\n".join(parts)


def _opening(results: Sequence[Result], quick: bool) -> str:
    setting = results[0].setting
    kind = "Quick run: fewer rows, settings and seeds. " if quick else ""
    return (
        f"{kind}Delta is {setting.delta:g} for everybody; seeds are those from 0 up, "
        f"{setting.seeds} of them at most. ± is the standard error of a mean over seeds, and "
        "differences are of means, ours minus that of the best setting of DP-SGD, so that "
        "positive means that ours is better, with the standard error of a difference of two "
        f"independent means. {BELOW}: ours is worse by more than two standard errors; "
        f"{ABOVE}: better by more than two. The best setting has the highest mean of test "
        "accuracies among the three that were best on validation rows: chosen in its favour."
    )


def _verdicts(results: Sequence[Result]) -> str:
    body = []
    for own in by_problem(results).values():
        for epsilon, cell in cells_of(own).items():
            rival = best_rival(cell.values(), FEATURE_METHODS)
            ours = cell.get(OURS)
            line = [TITLES[own[0].setting.dataset], f"{epsilon:g}", _mean(ours), _mean(rival)]
            if ours is None or rival is None:
                line.append("-")
            else:
                found = regret(ours, rival)
                line.append(f"{found.difference:+.4f} ± {found.error:.4f}{mark_of(found)}")
            body.append(line)
    head = ["rows", "epsilon", "ours, untuned", "DP-SGD, best of three", "difference"]
    return f"Mean test accuracy:\n\n{markdown_table(head, body)}"


def _published() -> str:
    body = [
        [
            one.label,
            f"{epsilon:g}",
            f"{value:.3f}" if round(value, 3) == value else f"{value:.4f}",
        ]
        for one in PUBLISHED
        for epsilon, value in one.values.items()
    ]
    notes = "\n".join(f"* {one.label}: {one.note}." for one in PUBLISHED)
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
        words = [number_text(own[step], 4) if step in own else "-" for step in steps]
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
    values = result.values("accuracy")
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    text = f"{fmean(values):.4f} ± {error:.4f}"
    return (
        text if result.method == OURS else f"{text} ({result.method.removeprefix('dp-sgd-')})"
    )
