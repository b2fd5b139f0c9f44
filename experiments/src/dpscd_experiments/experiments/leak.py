"""What duals in sight give away: lower bounds on epsilon, and a search about Lemma 1.

Algorithm 1 is attacked twice, by somebody who sees (dual, shared) after every step, as the
paper has it, and by somebody who sees the shared vector only. Our mechanism releases no more
than that. docs/understanding/published_argument.md has the theory.
"""

from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.attacks import LikelihoodRatio
from dpscd.audit.audit import audit
from dpscd.audit.bounds import lower_bounds
from dpscd.audit.canaries import SATURATING_LAM, Dataset, Game
from dpscd.audit.mechanism import Mechanism
from dpscd.kernels.dual import Records
from dpscd.losses import Squared
from dpscd.plan import Plan
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd_experiments.experiments.lemma1 import SEARCHES, sensitivity
from dpscd_experiments.experiments.picking import median_and_range, values
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.kernels.published import PublishedNumbers, advance_published
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper.algorithms import Settings, chunks
from dpscd_experiments.paper.methods import METHODS
from dpscd_experiments.paper.theory import sensitivity_dual, visible_epsilon
from dpscd_experiments.runner import Cell

__all__ = [
    "OURS",
    "VARIANTS",
    "attack_ours",
    "attack_published",
    "cells",
    "text",
]

Floats = npt.NDArray[np.float64]

#: Published variants that are attacked: name, kind of lots, whether the duals are seen.
VARIANTS = (
    ("dp-scd, duals visible, shuffled lots", "shuffled", True),
    ("dp-scd, duals visible, Poisson lots", "poisson", True),
    ("dp-scd, duals secret, Poisson lots", "poisson", False),
)

#: The mechanism that ships.
OURS = "ours, duals secret, Poisson lots"

_CLAIMED, _GAUSSIAN, _COUNTED = "claimed", "epsilon_gaussian", "epsilon_clopper_pearson"

_HEAD = """\
| claim | attacked | epsilon, Gaussian bound | epsilon, counting bound | in theory |
|---|---|---|---|---|
"""
_LIMITS = ("sqrt(2) C", "sqrt(5) C = 2.2361 C", "C")


def cells(spec: dict[str, Any], quick: bool) -> list[Cell]:
    """Return the cells: attacks by variant, epsilon and seed, and the searches by seed."""
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
    parameters: Any = cell.parameters
    game = _game(parameters)
    problem = Problem(Squared(), parameters["lam"], game.records, game.features)
    method = METHODS["dp-scd"]
    settings = method.calibrated(
        problem,
        Settings(
            epochs=parameters["epochs"],
            lot_size=parameters["lot_size"],
            clip=parameters["clip"],
            lots=parameters["lots"],
        ),
        cell.epsilon,
        cell.delta,
    )
    worlds: tuple[list[Floats], list[Floats]] = ([], [])
    clipped = 1.0
    for run in range(parameters["runs"]):
        present, _ = game.worlds(SeededSource(f"leak {cell.key} worlds {run}".encode()), run)
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
        _GAUSSIAN: bounds.epsilon_gaussian,
        _COUNTED: bounds.epsilon_clopper_pearson,
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
    parameters: Any = cell.parameters
    game = _game(parameters)
    steps = Settings(parameters["epochs"], parameters["lot_size"]).steps(game.records)
    plan = Plan(
        epsilon=cell.epsilon,
        delta=cell.delta,
        relation=Relation.ZERO_OUT,
        n=game.records,
        d=game.features,
        outputs=1,
        intercept=False,
        lam=SATURATING_LAM,
        steps=steps,
        rate=parameters["lot_size"] / game.records,
        clip=1.0 / (8.0 * steps),
        separability=float(parameters["lot_size"]),
        averaging=0.0,
    ).calibrated()
    mechanism = Mechanism.planned(Problem(Squared(), plan.lam, plan.n, plan.d), plan)
    result = audit(
        mechanism,
        trials=parameters["runs"] * game.canaries // 2,
        game=game,
        confidence=parameters["confidence"],
        random_state=cell.seed,
    )
    return {
        _CLAIMED: plan.claim().epsilon,
        _GAUSSIAN: result.epsilon_lower,
        _COUNTED: result.epsilon_lower_clopper_pearson,
        "fpr": result.fpr,
        "fnr": result.fnr,
        "sigma": plan.noise_multiplier,
        "trials": result.trials,
    }


def _game(parameters: Any) -> Game:
    canaries = parameters["canaries"]
    return Game(canaries=canaries, ordinary=parameters["records"] - canaries)


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
    hidden = LikelihoodRatio(settings.lot_size / problem.n, clip, std, replaced=False)
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
                hidden.see(moved)
                continue
            # The lot is nobody's secret: it is where the duals have changed.
            change = dual[:canaries] - dual_before[:canaries]
            lot = np.flatnonzero(change)
            scores[lot] += clip * (change[lot] + moved[lot] - clip) / std**2
    return (scores if visible else hidden.scores), clipped / max(1, taken)


def text(rows: list[dict[str, Any]], quick: bool) -> str:
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
    return f"""\
Duals in sight{" (quick)" if quick else ""}. Lower bounds on epsilon, each at
{confidence:.0%} confidence, from {trials} canaries in each of two worlds: median over seeds,
and range. A bound above the claim refutes it. The counting bound (Clopper-Pearson) assumes
nothing and cannot exceed about the logarithm of the number of canaries; the Gaussian one is
exact in theory for shuffled lots and visible duals, and an approximation elsewhere.

{_HEAD}{chr(10).join(lines)}

Largest change of one lot when a record is zeroed out, found by trying random states:

| neighbour | found | limit |
|---|---|---|
{searched}

Lemma 1 states sqrt(2) C = 1.4142 C for a data set that keeps the label.
"""
