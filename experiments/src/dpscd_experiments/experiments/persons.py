"""Privacy of persons with many rows, against group privacy: what runs, and the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.ticker import FuncFormatter

from dpscd_experiments import report
from dpscd_experiments.comparison import Result, comparison, rows_of
from dpscd_experiments.experiment import Shown, Spec
from dpscd_experiments.opponents.registry import DEFAULT, PERSON_METHODS, WEIGHTS
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.persons import FLIGHTS, LAWS, load_persons
from dpscd_experiments.style import LOOKS, epsilon_axis, markdown_table, new_figure, quick_stamp

#: By what methods are compared, in each loss.
MEASURES = {"squared": "mse", "logistic": "log_loss"}

_TITLES = {"squared": "ridge", "logistic": "logistic"}
_WORDS = {"mse": "MSE", "log_loss": "log loss"}
_LARGE = 10.0
_PANELS = {"squared": "ridge, arrival delay", "logistic": "logistic, late by 15 minutes"}
_AXES = {"squared": "test MSE (minutes$^2$)", "logistic": "test log loss"}
_COLOURS = ("#d55e00", "#0072b2", "#009e73")


def settings_in(chosen: Spec, datasets: Sequence[str]) -> list[Setting]:
    """Return the settings of a run: every data set with both losses at every epsilon."""
    return [
        Setting(
            problem=f"{name}-{loss}",
            dataset=name,
            loss=loss,
            grid="",
            epsilon=epsilon,
            delta=chosen["delta"],
            seeds=chosen["generated_seeds" if name in LAWS else "seeds"],
            tuning_seeds=(),
            finalists=0,
            experiment="persons",
        )
        for name in datasets or chosen["datasets"]
        for loss in MEASURES
        for epsilon in chosen["epsilons"]
    ]


def _load(one: Setting, _spec: Spec) -> None:
    if one.dataset == FLIGHTS:  # the others are generated
        load_persons(FLIGHTS, "regression")


@dataclass(frozen=True)
class Verdict:
    """One of our ways against the best cap in one cell."""

    result: Result  # ours, and group privacy with the cap that is best by this very metric
    rival: Result
    metric: str  # the metric, of test rows or of persons' means
    found: report.Regret  # positive where ours is better

    @property
    def part(self) -> float:
        """The difference as a part of the rival's mean."""
        return self.found.difference / fmean(self.rival.values(self.metric))

    @property
    def part_error(self) -> float:
        """Its standard error."""
        return self.found.error / fmean(self.rival.values(self.metric))


def verdicts(results: Sequence[Result], weight: str, *, person: bool = False) -> list[Verdict]:
    """Return all verdicts on one of our ways."""
    found = []
    for own in report.by_problem(results).values():
        for cell in report.cells_of(own).values():
            metric = ("person_" if person else "") + MEASURES[own[0].setting.loss]
            rival = report.best_rival(cell.values(), PERSON_METHODS, metric)
            if rival is not None and weight in cell:
                ours = cell[weight]
                found.append(
                    Verdict(ours, rival, metric, report.paired_regret(ours, rival, metric))
                )
    return found


def page(
    results: Sequence[Result], quick: bool, figures: Sequence[str], splits: Mapping[str, str]
) -> str:
    """Return the page in Markdown; `splits` say how the persons of each data set were split."""
    words = "\n".join(f"* {name}: {split}." for name, split in splits.items())
    parts = ["# Persons", report.opening(results, quick), words, numbers(results, figures)]
    return "\n\n".join([*parts, *report.ending(results, PERSON_METHODS)]) + "\n"


def numbers(results: Sequence[Result], figures: Sequence[str]) -> str:
    """Return the sections that are made of test metrics alone, with the figures."""
    by = report.by_problem(one for one in results if one.rows)
    parts = ["## Against group privacy", _counts(results)]
    parts += [f"![{name}]({name}.png)" for name in figures]
    real = {p: own for p, own in by.items() if own[0].setting.dataset == FLIGHTS}
    for own in real.values():
        parts += [f"## {FLIGHTS}, {_TITLES[own[0].setting.loss]}", _flights(own)]
    made = {p: own for p, own in by.items() if own[0].setting.dataset in LAWS}
    for loss, title in _TITLES.items():
        own_loss = {p: own for p, own in made.items() if own[0].setting.loss == loss}
        if own_loss:
            parts += [f"## Generated persons, {title}", _generated(own_loss)]
    parts += ["## Every row or a shared weight", _weights(by)]
    return "\n\n".join(parts)


def _counts(results: Sequence[Result]) -> str:
    body = []
    for weight in WEIGHTS:
        for person in (False, True):
            found = verdicts(results, weight, person=person)
            for real in (True, False):
                own = [x for x in found if (x.result.setting.dataset == FLIGHTS) == real]
                if own:
                    body.append(
                        [
                            PERSON_METHODS[weight].label,
                            FLIGHTS if real else "generated",
                            "persons" if person else "rows",
                            str(len(own)),
                            str(sum(one.found.above for one in own)),
                            str(sum(one.found.difference < 0.0 for one in own)),
                            str(sum(one.found.below for one in own)),
                        ]
                    )
    head = ["method", "data", "mean over", "cells", "better by two errors", "behind"]
    head += ["behind by two errors"]
    return (
        "Cells (data, loss and epsilon) in which ours is better or worse than group privacy "
        f'with the best cap. The default is "{PERSON_METHODS[DEFAULT].label}".\n\n'
        + markdown_table(head, body)
    )


def _flights(results: Sequence[Result]) -> str:
    cells = report.cells_of(results)
    measure = MEASURES[results[0].setting.loss]
    parts = []
    for person, words in ((False, "test row"), (True, "plane, then over planes")):
        metric = ("person_" if person else "") + measure
        body = [
            [method.label, *(_mean(cell.get(name), metric) for cell in cells.values())]
            for name, method in PERSON_METHODS.items()
            if any(name in cell for cell in cells.values())
        ]
        for weight in WEIGHTS:
            found = verdicts(results, weight, person=person)
            if found:
                body.append(
                    [
                        f"best cap minus {PERSON_METHODS[weight].label}",
                        *(f"{_difference(x)} ({_cap(x.rival)})" for x in found),
                    ]
                )
        head = ["method", *(f"epsilon {at:g}" for at in cells)]
        seeds = f"{_seeds(results)} seeds"
        parts += [f"Mean {_WORDS[measure]} per {words}; {seeds}:", markdown_table(head, body)]
    return "\n\n".join(parts)


def _generated(by: report.By) -> str:
    measure = MEASURES[next(iter(by.values()))[0].setting.loss]
    body = []
    for own in by.values():
        lines = {
            (weight, person): {
                x.result.setting.epsilon: x for x in verdicts(own, weight, person=person)
            }
            for weight in WEIGHTS
            for person in (False, True)
        }
        for epsilon, cell in report.cells_of(own).items():
            line = [LAWS[own[0].setting.dataset].words, f"{epsilon:g}"]
            line += [_mean(cell.get(weight), measure) for weight in WEIGHTS]
            best = next((x[epsilon] for x in lines.values() if epsilon in x), None)
            if best is None:
                line.append("-")
            else:
                line.append(f"{_mean(best.rival, measure)} ({_cap(best.rival)})")
            for way in lines.values():
                line.append(_difference(way[epsilon]) if epsilon in way else "-")
            body.append(line)
    head = ["rows of a person", "epsilon", *(PERSON_METHODS[x].label for x in WEIGHTS)]
    head += ["best cap"]
    head += [
        f"best cap minus {weight}, {words}"
        for weight in WEIGHTS
        for words in ("rows", "persons")
    ]
    words = (
        f'Mean {_WORDS[measure]} per test row, and differences of it ("rows") and of the '
        'mean over persons of their means ("persons", whose best cap may be another); '
        f"{_seeds(next(iter(by.values())))} seeds. After the best cap, in brackets, its rows; "
        '"own": every row given as a person of its own.'
    )
    return f"{words}\n\n{markdown_table(head, body)}"


def _weights(by: report.By) -> str:
    """Return by how much one of our ways is better than the other, where it is."""
    body = []
    for own in by.values():
        setting = own[0].setting
        name = LAWS[setting.dataset].words if setting.dataset in LAWS else setting.dataset
        for epsilon, cell in report.cells_of(own).items():
            if any(weight not in cell for weight in WEIGHTS):
                continue
            line = [name, _TITLES[setting.loss], f"{epsilon:g}"]
            for prefix in ("", "person_"):
                metric = prefix + MEASURES[setting.loss]
                one, other = (cell[weight] for weight in WEIGHTS)
                found = report.paired_regret(one, other, metric)
                part = 100.0 / fmean(other.values(metric))
                words = f"{part * found.difference:+.1f} ± {part * found.error:.1f}"
                line.append(words + report.mark_of(found))
            body.append(line)
    first, second = (PERSON_METHODS[weight].label for weight in WEIGHTS)
    head = ["data", "loss", "epsilon", "per row", "per person"]
    return (
        f'By how many percent the loss of "{first}" is below that of "{second}": positive '
        f"where the former is better.\n\n{markdown_table(head, body)}"
    )


def _seeds(results: Sequence[Result]) -> int:
    """Return of how many seeds the results are, at most."""
    return max(len(one.by_seed("cpu_seconds")) for one in results)


def _mean(result: Result | None, metric: str) -> str:
    if result is None:
        return "-"
    mean, error = report.mean_and_error(result.values(metric))
    digits = _digits(mean)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _difference(verdict: Verdict) -> str:
    digits = _digits(fmean(verdict.rival.values(verdict.metric)))
    found = verdict.found
    return f"{found.difference:+.{digits}f} ± {found.error:.{digits}f}{report.mark_of(found)}"


def _digits(mean: float) -> int:
    """Return how many digits of a loss are shown: fewer of squared minutes."""
    return 2 if mean > _LARGE else 4


def _cap(result: Result) -> str:
    """Return the cap of group privacy, marked where every row is a person of its own."""
    return result.method.removeprefix("cap-").replace("-own", ", own")


def draw_flights(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure of the planes: mean and standard error of all methods."""
    figure, (panels,) = new_figure(10.5, 4.8, 1, 2)
    for axes, (loss, measure) in zip(panels, MEASURES.items(), strict=True):
        own = [one for one in results if one.setting.loss == loss]
        for name, method in PERSON_METHODS.items():
            points = sorted(
                (one.setting.epsilon, *report.mean_and_error(one.values(measure)))
                for one in own
                if one.method == name and one.rows
            )
            if points:
                at, middle, error = zip(*points, strict=True)
                axes.errorbar(at, middle, error, label=method.label, **LOOKS[name])
        axes.set_yscale("log")
        ticks = (one.setting.epsilon for one in own)
        epsilon_axis(axes, ticks, "epsilon of a plane (of a flight, for the dashed line)")
        for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            which(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylabel(_AXES[loss])
        axes.set_title(_PANELS[loss])
        axes.grid(alpha=0.3, which="both")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{FLIGHTS}: a plane with all flights is what is protected")
    quick_stamp(figure, quick)
    return figure


def draw_laws(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure of generated persons: by how much ours is below the best cap."""
    there = {one.setting.dataset for one in results}
    laws = [law for law in LAWS if law in there]
    epsilons = sorted({one.setting.epsilon for one in results})
    figure, grid = new_figure(11.0, 2.2 + 0.95 * len(laws), 2, 2, sharey=True)
    for line, person in zip(grid, (False, True), strict=True):
        for axes, loss in zip(line, MEASURES, strict=True):
            own = [one for one in results if one.setting.loss == loss]
            _draw_verdicts(axes, own, person, laws, epsilons)
            kind = "persons' means" if person else "test rows"
            axes.set_title(f"{_PANELS[loss].split(',')[0]}, mean over {kind}", fontsize=10)
    for axes in grid[1]:
        axes.set_xlabel("loss below that of the best cap, percent (two standard errors)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(epsilons), fontsize=8)
    figure.suptitle("Generated persons: right of the line ours is better than group privacy")
    quick_stamp(figure, quick)
    return figure


def _draw_verdicts(
    axes: Any,
    results: Sequence[Result],
    person: bool,
    laws: Sequence[str],
    epsilons: Sequence[float],
) -> None:
    ways = [(weight, epsilon) for weight in WEIGHTS for epsilon in epsilons]
    for number, (weight, epsilon) in enumerate(ways):
        found = [
            one
            for one in verdicts(results, weight, person=person)
            if one.result.setting.epsilon == epsilon
        ]
        if not found:
            continue
        shift = 0.8 * ((number + 0.5) / len(ways) - 0.5)
        colour = _COLOURS[epsilons.index(epsilon) % len(_COLOURS)]
        axes.errorbar(
            [100.0 * one.part for one in found],
            [laws.index(one.result.setting.dataset) + shift for one in found],
            xerr=[200.0 * one.part_error for one in found],
            fmt="D" if weight == WEIGHTS[0] else "o",
            color=colour,
            markerfacecolor=colour if weight == WEIGHTS[0] else "white",
            markersize=5,
            linewidth=1.0,
            label=f"{PERSON_METHODS[weight].label}, epsilon {epsilon:g}",
        )
    axes.axvline(0.0, color="black", lw=1.0)
    axes.set_yticks(range(len(laws)), laws)
    axes.set_ylim(len(laws) - 0.5, -0.5)
    for edge in range(1, len(laws)):
        axes.axhline(edge - 0.5, color="0.9", lw=0.8)
    axes.grid(axis="x", alpha=0.3)


def _show(results: list[Result], quick: bool, _spec: Spec, _stored: Stored) -> Shown:
    found = [one for one in results if one.rows]
    real = [one for one in found if one.setting.dataset == FLIGHTS]
    made = [one for one in found if one.setting.dataset != FLIGHTS]
    figures = {}
    if real:
        figures["persons-flights"] = draw_flights(real, quick)
    if made:
        figures["persons-laws"] = draw_laws(made, quick)
    names = dict.fromkeys(one.setting.dataset for one in found)
    splits = {name: load_persons(name, "regression").split for name in names}
    text = page(results, quick, list(figures), splits)
    return Shown(text, {"persons": rows_of(results)}, figures)


EXPERIMENT = comparison(PERSON_METHODS, settings_in, _load, _show)
