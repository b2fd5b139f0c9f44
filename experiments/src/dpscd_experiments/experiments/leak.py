"""What duals in sight give away: lower bounds on epsilon, and a search about Lemma 1.

Algorithm 1 is attacked twice, by somebody who sees (dual, shared) after every step, as the
paper has it, and by somebody who sees the shared vector only. Our mechanism releases no more
than that. docs/understanding/published_argument.md has the theory.
"""

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.audit import audit, draw_world, lower_bounds
from dpscd.audit.canaries import SATURATING_LAM, Dataset, Population, step_ratios
from dpscd.audit.fits import TrainingCase
from dpscd.kernels.dual import Records
from dpscd.losses import Squared
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Spec, load_spec, settings_of, target
from dpscd_experiments.kernels.published import PublishedNumbers, advance_published
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper.algorithms import Settings, chunks
from dpscd_experiments.paper.methods import METHODS
from dpscd_experiments.paper.theory import sensitivity_dual, visible_epsilon
from dpscd_experiments.solvers.lots import alone, lots_training
from dpscd_experiments.store import Row, pick, values
from dpscd_experiments.style import median_and_range, new_figure

Floats = npt.NDArray[np.float64]

#: Published variants that are attacked: name, kind of lots, whether the duals are seen.
VARIANTS = (
    ("dp-scd, duals visible, shuffled lots", "shuffled", True),
    ("dp-scd, duals visible, Poisson lots", "poisson", True),
    ("dp-scd, duals secret, Poisson lots", "poisson", False),
)

#: The mechanism that ships.
OURS = "ours, duals secret, Poisson lots"

#: Neighbours of the search for the sensitivity, and what is looked at.
SEARCHES = ("no step", "label kept", "label kept, shared alone")

# Names of metrics that are stored.
_CLAIMED, _GAUSSIAN, _COUNTED = "claimed", "epsilon_gaussian", "epsilon_clopper_pearson"

_LIMITS = ("sqrt(2) C", "sqrt(5) C = 2.2361 C", "C")
_COLOURS = ("#d55e00", "#e69f00", "#56b4e9", "#0072b2")
_SEARCH_COLOURS = ("#009e73", "#d55e00", "#0072b2")


def _cells(spec: Spec, quick: bool) -> list[Cell]:
    chosen = settings_of(spec, quick)
    names = ("records", "lot_size", "epochs", "lam", "clip", "canaries", "runs", "confidence")
    setting = {name: chosen[name] for name in names}
    made = []
    for seed in chosen["seeds"]:
        for epsilon in chosen["epsilons"]:
            privacy = {"epsilon": epsilon, "delta": chosen["delta"], "seed": seed}
            for name, lots, visible in VARIANTS:
                parameters = {**setting, "lots": lots, "visible": visible}
                made.append(_cell(attack_published, name, parameters, **privacy))
            made.append(_cell(attack_ours, OURS, setting, **privacy))
        for search in SEARCHES:
            made.append(_cell(sensitivity, search, {"states": chosen["states"]}, seed=seed))
    return made


def _cell(function: Any, method: str, parameters: dict[str, Any], **privacy: Any) -> Cell:
    return Cell(function, "leak", "canaries", method, parameters=parameters, **privacy)


def attack_published(cell: Cell) -> Metrics:
    """Attack Algorithm 1 and return the claim and lower bounds on the truth."""
    parameters = cell.parameters
    game = _game(parameters)
    problem = Problem(Squared(), parameters["lam"], game.records, game.features)
    method = METHODS["dp-scd"]
    settings = method.calibrated(
        problem,
        Settings(**{name: parameters[name] for name in ("epochs", "lot_size", "clip", "lots")}),
        cell.epsilon,
        cell.delta,
    )
    worlds: tuple[list[Floats], list[Floats]] = ([], [])
    clipped = 1.0
    for run in range(parameters["runs"]):
        drawn = SeededSource(f"leak {cell.key} worlds {run}".encode())
        present, _ = draw_world(drawn, game.canaries, run % 2)
        source = SeededSource(f"leak {cell.key} run {run}".encode())
        data = game.dataset(present, Relation.ZERO_OUT, 1.0)
        scores, share = _play(problem, data, settings, source, parameters["visible"])
        clipped = min(clipped, share)
        worlds[0].append(scores[~present])
        worlds[1].append(scores[present])
    absent, there = (np.concatenate(scores) for scores in worlds)
    bounds = lower_bounds(absent, there, delta=cell.delta, confidence=parameters["confidence"])
    metrics: dict[str, Any] = {
        _CLAIMED: method.claimed_epsilon(problem, settings, cell.delta),
        _GAUSSIAN: bounds.gaussian,
        _COUNTED: bounds.clopper_pearson,
        "fpr": bounds.fpr,
        "fnr": bounds.fnr,
        "sigma": settings.sigma,
        "trials": min(len(absent), len(there)),
        "clipped": clipped,
    }
    if parameters["visible"] and parameters["lots"] == "shuffled":
        # Each record once an epoch: the Gaussian mechanism, exactly.
        metrics["theory"] = visible_epsilon(settings.sigma, settings.epochs, cell.delta)
    return metrics


def attack_ours(cell: Cell) -> Metrics:
    """Attack the mechanism that ships at the same rate, steps and claim.

    `lam` and clip are those of an audit: they do not enter the claim, and with them every
    step of a canary is clipped whatever happens.
    """
    parameters = cell.parameters
    game = _game(parameters)
    steps = Settings(parameters["epochs"], parameters["lot_size"]).steps(game.records)
    plan = alone(lots_training(
        game.records, game.features, parameters["lot_size"], cell.epsilon, cell.delta,
        lam=SATURATING_LAM, steps=steps, clip=1.0 / (8.0 * steps), averaging=0.0,
    )).calibrated()  # fmt: skip
    result = audit(
        TrainingCase(plan.training, game, "Mechanism, white-box"),
        trials=parameters["runs"] * game.canaries // 2,
        confidence=parameters["confidence"],
        random_state=cell.seed,
    )
    (bound,) = result.bounds
    return {
        _CLAIMED: plan.claim().epsilon,
        _GAUSSIAN: bound.gaussian,
        _COUNTED: bound.clopper_pearson,
        "fpr": bound.fpr,
        "fnr": bound.fnr,
        "sigma": plan.training.noise_multiplier,
        "trials": result.trials,
    }


def _game(parameters: Any) -> Population:
    canaries = parameters["canaries"]
    return Population(canaries=canaries, ordinary=parameters["records"] - canaries)


def _play(
    problem: Problem,
    data: Dataset,
    settings: Settings,
    source: SeededSource,
    visible: bool,
) -> tuple[Floats, float]:
    """Run Algorithm 1 once; return the canaries' scores and the share of clipped steps."""
    clip = settings.clip
    std = settings.noise(sensitivity_dual(clip))
    numbers = PublishedNumbers(problem.strength, float(settings.lot_size), clip, std)
    rows, records = problem.rows(data.X), Records(data.targets, data.weights)
    count, canaries = len(data.targets), len(data.present)
    dual, shared = np.zeros(count), np.zeros(problem.width)
    rate = settings.lot_size / problem.n
    scores = np.zeros(canaries)
    clipped = taken = 0
    for chunk in chunks(settings, source, count, problem.width):
        starts = chunk.lots.starts
        for t, (first, last) in enumerate(pairwise(starts)):
            ids = chunk.lots.ids[first:last]
            dual_before, before = dual.copy(), shared[:canaries].copy()
            clipped += advance_published(
                problem.loss, rows, records, numbers, False, ids, np.array([0, len(ids)]),
                chunk.own[first:last], chunk.shared[t : t + 1], dual, shared,
            )  # fmt: skip
            taken += int(np.sum(data.weights[ids] > 0.0))
            moved = shared[:canaries] - before
            if not visible:
                scores += step_ratios(moved[None], np.full((1, canaries), clip), rate, std)
                continue
            # The lot is nobody's secret: it is where the duals have changed.
            change = dual[:canaries] - dual_before[:canaries]
            lot = np.flatnonzero(change)
            scores[lot] += clip * (change[lot] + moved[lot] - clip) / std**2
    return scores, clipped / max(1, taken)


def sensitivity(cell: Cell) -> Metrics:
    """Search random states for the largest change of one lot when a record is zeroed."""
    parameters = cell.parameters
    generator = np.random.default_rng([cell.seed, SEARCHES.index(cell.method)])
    best, curve = 0.0, []
    for number, change in enumerate(_changes(cell.method, parameters["states"], generator), 1):
        if change > best or number == parameters["states"]:
            best = max(best, change)
            curve.append((float(number), best))
    return {"largest": best, "search": curve}


def _changes(search: str, states: int, generator: np.random.Generator) -> Iterator[float]:
    """Yield the change of (dual, shared), or of shared alone, over C for random states."""
    size, width, clip = 4, 3, 0.1
    problem = Problem(Squared(), 0.05, 60, width)
    numbers = PublishedNumbers(problem.strength, float(size), clip, 0.0)
    lot, ends = np.arange(size), np.array([0, size])
    own, noise = np.zeros(size), np.zeros((1, width))
    for _ in range(states):
        X = generator.normal(size=(size, width))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        zeroed = X.copy()
        zeroed[0] = 0.0
        labels, dual = generator.normal(size=(2, size))
        shared = 3.0 * generator.normal(size=width)
        weights = np.ones(size)
        silent = weights.copy()
        silent[0] = 0.0 if search == "no step" else 1.0
        ends_of = []
        for matrix, weight in ((X, weights), (zeroed, silent)):
            a, v = dual.copy(), shared.copy()
            advance_published(
                problem.loss, problem.rows(matrix), Records(labels, weight), numbers, False,
                lot, ends, own, noise, a, v,
            )  # fmt: skip
            ends_of.append(v if search.endswith("alone") else np.concatenate([a, v]))
        yield float(np.linalg.norm(ends_of[0] - ends_of[1])) / clip


def _text(rows: list[Row], quick: bool) -> str:
    """Return what the rows say, as Markdown."""
    lines = []
    for epsilon in sorted({row["epsilon"] for row in rows if row["metric"] == _CLAIMED}):
        for method in (*(name for name, _, _ in VARIANTS), OURS):
            found = {"method": method, "epsilon": epsilon}
            theory = values(rows, "theory", **found)
            lines.append(
                f"| {epsilon:g} | {method} "
                f"| {median_and_range(values(rows, _GAUSSIAN, **found))} "
                f"| {median_and_range(values(rows, _COUNTED, **found))} "
                f"| {f'{median(theory):.2f}' if theory else '-'} |"
            )
    trials = f"{min(values(rows, 'trials'), default=0.0):.0f}"
    confidence = max(row.get("param.confidence") or 0.0 for row in rows)
    searched = "\n".join(
        f"| {search} | {max(values(rows, 'largest', method=search)):.4f} C | {limit} |"
        for search, limit in zip(SEARCHES, _LIMITS, strict=True)
        if values(rows, "largest", method=search)
    )
    return str(load_spec("leak")["page"]).format(
        quick=" (quick)" if quick else "", confidence=confidence, trials=trials,
        lines="\n".join(lines), searched=searched,
    )  # fmt: skip


def _draw(rows: list[Row], quick: bool) -> Any:
    figure, ((left, right),) = new_figure(11, 4.8, 1, 2, width_ratios=(1.6, 1.0))
    _draw_bounds(left, rows)
    _draw_search(right, rows)
    note = " (quick: fewer canaries and values of epsilon)" if quick else ""
    figure.suptitle(f"Algorithm 1 with duals in sight, and Lemma 1{note}")
    return figure


def _draw_bounds(axes: Any, rows: list[Row]) -> None:
    epsilons = sorted({row["epsilon"] for row in rows if row["metric"] == "claimed"})
    methods = [name for name, _, _ in VARIANTS] + [OURS]
    kinds = (_GAUSSIAN, _COUNTED)
    width = 0.8 / (len(methods) * len(kinds))
    floor = 0.5 * min(epsilons, default=1.0)
    for number, method in enumerate(methods):
        for side, kind in enumerate(kinds):
            found = [values(rows, kind, method=method, epsilon=epsilon) for epsilon in epsilons]
            middle = np.array([median(numbers) for numbers in found])
            spread = np.array([(min(numbers), max(numbers)) for numbers in found]).T
            place = (2 * number + side - (2 * len(methods) - 1) / 2) * width
            axes.bar(
                np.arange(len(epsilons)) + place,
                np.maximum(middle, floor),
                0.92 * width,
                color=_COLOURS[number],
                alpha=1.0 if side == 0 else 0.5,
                yerr=np.abs(np.maximum(spread, floor) - np.maximum(middle, floor)),
                error_kw={"lw": 0.8},
                label=method if side == 0 else None,
            )
    for place, epsilon in enumerate(epsilons):
        ends = (place - 0.45, place + 0.45)
        label = {"label": "the claim"} if place == 0 else {}
        axes.plot(ends, (epsilon, epsilon), color="black", lw=1.8, **label)
        theory = values(rows, "theory", epsilon=epsilon)
        if theory:
            label = {"label": "visible duals, in theory"} if place == 0 else {}
            axes.plot(ends, (theory[0], theory[0]), color="black", lw=1.2, ls=":", **label)
    axes.set_yscale("log")
    axes.set_ylim(floor, 1.0e3)
    axes.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_xlabel("claimed epsilon")
    axes.set_ylabel("lower bound on epsilon, 95 %")
    axes.set_title(
        "Full: Gaussian bound; pale: counting bound; no bar: none above the axis", fontsize=9
    )
    axes.legend(fontsize=8, ncols=2, loc="upper center")


def _draw_search(axes: Any, rows: list[Row]) -> None:
    for search, colour in zip(SEARCHES, _SEARCH_COLOURS, strict=True):
        for seed in sorted({row["seed"] for row in pick(rows, "search", method=search)}):
            curve = pick(rows, "search", method=search, seed=seed)
            tried, best = np.array([(row["at"], row["value"]) for row in curve]).T
            label = {"label": search} if seed == 0 else {}
            axes.step(tried, best, where="post", color=colour, lw=1.4, **label)
    limits = ((1.0, "C"), (np.sqrt(2.0), "sqrt(2) C, Lemma 1"), (np.sqrt(5.0), "sqrt(5) C"))
    place = axes.get_yaxis_transform()
    for height, name in limits:
        axes.axhline(height, color="black", lw=1.0, ls=":")
        axes.text(0.98, height + 0.02, name, fontsize=8, ha="right", transform=place)
    axes.set_xscale("log")
    axes.set_ylim(0.0, 2.5)
    axes.set_xlabel("random states tried")
    axes.set_ylabel("largest change of one lot, in units of C")
    axes.set_title("Sensitivity when a record is zeroed out", fontsize=9)
    axes.legend(fontsize=8, loc="lower right")


EXPERIMENT = target(_cells, _text, _draw)
