"""How long calibration takes, cold, and how close it comes to the tightest multiplier.

Run ``python benchmarks/calibration.py``; it takes six minutes on one core. For each setting the
multiplier is calibrated with nothing remembered, in memory or on disk; imports are not
counted. The tightest multiplier is, where all
records are in every lot, that of one Gaussian release, exactly; elsewhere the smallest that
reaches the target on a grid four times as fine, to 0.01 %. Where the answer is the smallest
multiplier that is ever returned, how tight it is means nothing and is left out.
"""

import argparse
import itertools
import math
import sys
import time
from dataclasses import dataclass

from dpscd.privacy import accounting
from dpscd.privacy.accounting import SampledGaussian, estimate, gaussian_multiplier
from dpscd.privacy.calibration import calibrate, interval_for
from dpscd.privacy.relation import PrivacyTarget, Relation

RELATIONS = (Relation.ZERO_OUT, Relation.REPLACE_ONE)  # add-remove is computed as zero-out
EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
RATES = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)
STEPS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
SMALLEST = 0.2
REPETITIONS = 2  # the faster counts: other work may run beside


@dataclass(frozen=True)
class Setting:
    """A question to calibration."""

    relation: Relation
    epsilon: float
    rate: float
    steps: int
    delta: float

    @property
    def region(self) -> str:
        """What is demanded of this setting."""
        if self.steps > 100_000 or self.epsilon > 10.0:
            return "elsewhere: 10 s, 2 %"
        return "epsilon <= 2: 0.3 s, 0.5 %" if self.epsilon <= 2.0 else "<= 10: 1 s, 0.5 %"

    def __str__(self) -> str:
        return f"{self.relation.value}, {self.epsilon:g}, {self.rate:g}, {self.steps}"


def cold(setting: Setting) -> tuple[float, float, float]:
    """Return the seconds of a calibration, its multiplier and its interval."""
    best = math.inf
    for _ in range(REPETITIONS):
        for kept in (
            calibrate,
            interval_for,
            gaussian_multiplier,
            accounting._by_library,
            accounting._losses_together,
            accounting._renyi,
        ):
            kept.cache_clear()
        start = time.perf_counter()
        parts = ((setting.rate, setting.steps),)
        interval = interval_for(setting.epsilon, setting.delta, setting.relation, parts)
        target = PrivacyTarget(setting.epsilon, setting.delta, setting.relation)
        found = calibrate(target, setting.rate, setting.steps, interval)
        best = min(best, time.perf_counter() - start)
    return best, found, interval


def tightest(setting: Setting, found: float, interval: float) -> float:
    """Return the smallest multiplier that reaches the target, to 0.01 %."""
    if setting.rate == 1.0:
        exact = gaussian_multiplier(setting.epsilon, setting.delta, setting.relation)
        return exact * math.sqrt(setting.steps)

    # The rounding of doubles differs from grid to grid, by less than the accountant pays.
    delta = setting.delta + setting.steps * 2.0**-51

    def reaches(multiplier: float) -> bool:
        event = SampledGaussian(setting.rate, multiplier, setting.steps)
        bound = estimate([event], delta, setting.relation, interval / 4.0, enough=math.inf)
        return bound.epsilon <= setting.epsilon

    if not reaches(found):
        raise AssertionError(f"{setting}: {found} is below the tightest multiplier")
    low, high, step = found, found, 0.003
    while reaches(low := high * (1.0 - step)):
        high, step = low, 2.0 * step
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def main() -> None:
    """Measure the whole grid and print the worst of each region."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--delta", type=float, default=1e-5)
    delta = parser.parse_args().delta
    grid = itertools.product(RELATIONS, EPSILONS, RATES, STEPS, [delta])
    cold(Setting(Relation.ZERO_OUT, 1.0, 0.01, 100, delta))  # imports
    slow: dict[str, list[tuple[float, Setting]]] = {}
    loose: dict[str, list[tuple[float, Setting]]] = {}
    for setting in itertools.starmap(Setting, grid):
        seconds, found, interval = cold(setting)
        slow.setdefault(setting.region, []).append((seconds, setting))
        excess = 0.0
        if found > SMALLEST:
            excess = found / tightest(setting, found, interval) - 1.0
            loose.setdefault(setting.region, []).append((excess, setting))
        sys.stderr.write(f"{setting}: {seconds:.3f} s, {found}, {100.0 * excess:+.3f} %\n")
    write = sys.stdout.write
    write("| region | settings | median s | worst s | at | worst above tightest | at |\n")
    write("|---|---|---|---|---|---|---|\n")
    for region, times in slow.items():
        seconds, slowest = max(times, key=lambda pair: pair[0])
        excess, loosest = max(loose[region], key=lambda pair: pair[0])
        median = sorted(pair[0] for pair in times)[len(times) // 2]
        write(
            f"| {region} | {len(times)} | {median:.3f} | {seconds:.3f} | {slowest} | "
            f"{100.0 * excess:.2f} % | {loosest} |\n"
        )


if __name__ == "__main__":
    main()
