"""How often intervals of private scores cover what they are about.

Fixed models, of Adult (trained on its training half; the population is the other half, from
which hold-outs are drawn with replacement) and of generated records. Only drawing and
scoring repeat.

    python benchmarks/score_coverage.py
"""

import argparse
import math
import time

import numpy as np

from dpscd import DPLogisticRegression, DPRidge
from dpscd.data import adult_declared
from dpscd.estimators.private_score import held_out
from dpscd.planning.rule import default_delta
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import PrivacyTarget
from dpscd.releases.base import Stores
from dpscd.releases.score import Score, ScoredRecords
from dpscd.scores.registry import CLASS_METRICS, NUMBER_METRICS, ScoreFacts
from dpscd_experiments.metrics import decision_metrics, regression_metrics

EPSILONS = (0.1, 1.0)


def exact(metric, measure, answers, classes):
    """Return a measure without noise, computed from its definition."""
    labels, guess, chances = answers
    if metric == "accuracy":
        return np.mean(labels == guess)
    if metric == "auc":
        return decision_metrics(labels == 1, chances[:, 1] - 0.5)["auc"]
    if metric == "log_loss":
        own = chances[np.arange(len(labels)), labels]
        return np.minimum(-np.log(np.maximum(own, 1e-300)), measure.bound).mean()
    if metric == "brier":
        return np.square(chances[:, 1] - labels).mean()
    if metric == "confusion":
        cells = np.bincount(labels * classes + guess, minlength=classes**2)
        return cells.reshape(classes, classes) / len(labels)
    if metric == "recall":
        return np.array([np.mean(guess[labels == k] == k) for k in range(classes)])
    labels, guess = np.clip(labels, *measure.bounds), np.clip(guess, *measure.bounds)
    if metric == "mae":
        return np.abs(labels - guess).mean()
    return regression_metrics(labels, guess)[metric]


def coverage(answers, metric, epsilon, *, classes, bounds, scores, records):
    """Return shares of intervals that cover, over all numbers of a score, and their widths."""
    own_stream = f"{metric} {epsilon} {len(answers.labels)}"
    rng = np.random.default_rng(list(own_stream.encode()))
    target = PrivacyTarget(epsilon, default_delta(records))
    facts = ScoreFacts(records, metric, tuple(range(classes)), *(bounds or ()))
    release = Score.planned(facts, target)
    measure, query = release.measure, release.query(None)
    whole = exact(metric, measure, answers, classes)
    by_noise, by_all, wide, noise_wide = [], [], [], []
    for number in range(scores):
        drawn = answers.at(rng.integers(0, len(answers.labels), records))
        own = exact(metric, measure, drawn, classes)
        source = SeededSource(f"{own_stream} {number}".encode())
        stores = Stores(ScoredRecords(drawn, None, records), lambda _, found=source: found)
        noisy = release.answered(query, stores, 0)
        _, both, noise = measure.found(release.sums(noisy), facts.level)
        by_noise.append((noise.low <= own) & (own <= noise.high))
        by_all.append((both.low <= whole) & (whole <= both.high))
        wide.append(0.5 * (both.high - both.low))
        noise_wide.append(0.5 * (noise.high - noise.low))
    return (
        np.mean(by_noise, axis=0), np.mean(by_all, axis=0),
        np.median(noise_wide), np.median(wide), np.mean(whole),
    )  # fmt: skip


def adult():
    """Return answers of two models on the half of Adult that trained neither."""
    split = adult_declared()
    model = DPLogisticRegression(1.0, classes=[False, True], random_state=0)
    model.fit(split.X, split.y)
    yield "Adult", held_out(model, split.X_test, split.y_test, None).read(True).answers, 2, None
    split = adult_declared("hours-per-week")
    ridge = DPRidge(1.0, y_bounds=(0, 100), random_state=0).fit(split.X, split.y)
    found = held_out(ridge, split.X_test, split.y_test, None).read(False).answers
    yield "Adult, hours", found, 0, (0.0, 100.0)


def generated():
    """Return answers of two models on generated records."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (60_000, 3))
    score = 4.0 * X[:, 0] - 3.0 * X[:, 1] - 1.0
    y = rng.random(len(X)) < 1.0 / (1.0 + np.exp(-score))
    model = DPLogisticRegression(1.0, classes=[False, True], random_state=0)
    model.fit(X[:20_000], y[:20_000])
    yield "generated", held_out(model, X[20_000:], y[20_000:], None).read(True).answers, 2, None
    y = np.clip(X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(len(X)), -1.0, 1.0)
    ridge = DPRidge(1.0, y_bounds=(-1, 1), random_state=0).fit(X[:20_000], y[:20_000])
    found = held_out(ridge, X[20_000:], y[20_000:], None).read(False).answers
    yield "generated numbers", found, 0, (-1.0, 1.0)


def main():
    """Print a table of coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", type=int, default=1000)
    parser.add_argument("--metrics", nargs="*", help="those of these names alone")
    parser.add_argument("--records", type=int, default=3000)
    asked = parser.parse_args()
    spread = 200.0 * math.sqrt(0.95 * 0.05 / asked.scores)
    print(f"95 % intervals, {asked.scores} scores each; two standard errors: {spread:.1f} %")  # noqa: T201
    print("| population | metric | epsilon | value | noise covers | +- | whole covers | +- |")  # noqa: T201
    print("|---|---|---|---|---|---|---|---|")  # noqa: T201
    started = time.perf_counter()
    for sources in (adult(), generated()):
        for name, answers, classes, bounds in sources:
            names = CLASS_METRICS if classes else NUMBER_METRICS
            for metric in [x for x in names if x in (asked.metrics or names)]:
                for epsilon in EPSILONS:
                    noise, both, narrow, wide, value = coverage(
                        answers, metric, epsilon, classes=classes, bounds=bounds,
                        scores=asked.scores, records=asked.records,
                    )  # fmt: skip
                    shares = [
                        " to ".join(f"{100 * x:.1f}" for x in sorted({x.min(), x.max()}))
                        for x in (noise, both)
                    ]
                    print(  # noqa: T201
                        f"| {name} | {metric} | {epsilon:g} | {value:.3f} | {shares[0]} % | "
                        f"{narrow:.3f} | {shares[1]} % | {wide:.3f} |",
                        flush=True,
                    )
    print(f"{time.perf_counter() - started:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
