"""Totals of expected counts, and the deviance they explain, by epsilon.

``DPSCD_DATA=... python -m dpscd_experiments.experiments.levels [KIND...]`` prints the rows of
docs/guides/counts.md. KIND: made (two minutes), claims (15 minutes) or visits (a minute).
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from dpscd import DPPoissonRegressor, TableEncoder
from dpscd_experiments.sources import find_file

SEEDS = range(5)


class _Case(NamedTuple):
    """Features and counts of both parts; parameters; what fit and predict get besides."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    parameters: dict[str, Any]
    fit: dict[str, Any]
    predict: dict[str, Any]


def _made(mean: float, n: int, high: int) -> _Case:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(2 * n, 8)) / np.sqrt(8.0)
    lines = X @ rng.normal(0.0, 1.5, size=8)
    y = np.minimum(rng.poisson(mean * np.exp(lines - lines.var() / 2.0)), high).astype(float)
    return _Case((X[:n], y[:n]), (X[n:], y[n:]), {"y_bounds": (0, high)}, {}, {})


def _encoded(
    parts: Any, bounds: dict[str, Any], texts: list[str], epsilon: float, n: int
) -> Any:
    columns = {name: {"kind": "number", "bounds": own} for name, own in bounds.items()} | {
        name: {"kind": "category", "values": sorted(set(parts[0][name]) | set(parts[1][name]))}
        for name in texts
    }
    schema = {"target": {"column": "count", "bounds": [0, 1]}, "columns": columns}
    encoder = TableEncoder(schema, epsilon=epsilon, n=n)
    train, test = (part[list(columns)] for part in parts)
    return encoder.fit_transform(train), encoder.transform(test)


def _claims(epsilon: float) -> _Case:
    """Return French motor claims, with exposure."""
    table = pd.read_csv(find_file("fremtpl2", ("freMTPL2freq.csv.gz",)))
    parts = train_test_split(table, test_size=0.25, random_state=0)
    bounds = {
        "VehPower": [4, 15], "VehAge": [0, 100], "DrivAge": [18, 100], "BonusMalus": [50, 350],
        "Density": [1, 27_000],
    }  # fmt: skip
    texts = ["Area", "VehBrand", "VehGas", "Region"]
    X = _encoded(parts, bounds, texts, epsilon, len(parts[0]))
    y = [part.ClaimNb.clip(upper=4).to_numpy(float) for part in parts]
    exposure = [{"exposure": part.Exposure.clip(0.003, 1).to_numpy()} for part in parts]
    more = {"y_bounds": (0, 4), "exposure_bounds": (0.003, 1), "delta": 1e-6}
    return _Case((X[0], y[0]), (X[1], y[1]), more, *exposure)


def _visits(epsilon: float) -> _Case:
    """Return visits to doctors: up to five years of a person, who is protected whole."""
    table = pd.read_csv(find_file("randhie", ("RandHIE.csv.gz",)), dtype={"plan": str})
    table["health"] = "excellent"
    for column, said in {"hlthg": "good", "hlthf": "fair", "hlthp": "poor"}.items():
        table.loc[table[column].astype(float) > 0, "health"] = said
    split = GroupShuffleSplit(1, test_size=0.25, random_state=0)
    parts = [table.iloc[own] for own in next(split.split(table, groups=table.zper))]
    bounds, people = {"xage": [0, 70], "linc": [0, 11], "female": [0, 1]}, parts[0].zper
    X = _encoded(parts, bounds, ["plan", "health"], epsilon, people.nunique())
    y = [part.mdvis.to_numpy(float) for part in parts]
    groups = {"groups": people.to_numpy()}
    return _Case((X[0], y[0]), (X[1], y[1]), {"y_bounds": (0, 80)}, groups, {})


_TABLES = {"claims": (_claims, (0.1, 0.5, 1, 2, 5, 10)), "visits": (_visits, (0.3, 1, 5))}


def _line(name: str, epsilon: float, case: _Case) -> str:
    """Return a row of the table."""
    (X, y), (X_test, y_test), time = case.train, case.test, case.fit.get("exposure")
    time, later = (1.0, 1.0) if time is None else (time, case.predict["exposure"])
    mean = np.broadcast_to(
        later * y.sum() / np.sum(np.broadcast_to(time, y.shape)), y_test.shape
    )
    plain = PoissonRegressor(alpha=1e-4, max_iter=1000)
    plain.fit(X, y / time, sample_weight=np.broadcast_to(time, y.shape))

    def explained(expected: Any) -> float:
        own, least = (mean_poisson_deviance(y_test, x) for x in (expected, mean))
        return float(1.0 - own / least)

    totals, found = [], []
    for seed in SEEDS:
        model = DPPoissonRegressor(epsilon, **case.parameters, random_state=seed)
        expected = model.fit(X, y, **case.fit).predict(X_test, **case.predict)
        totals.append(expected.sum() / y_test.sum())
        found.append(explained(expected))
    return (
        f"| {name} | {epsilon:g} | {np.median(totals):.3f} ({min(totals):.3f} to "
        f"{max(totals):.3f}) | {np.median(found):.4f} ({np.std(found):.4f}) | "
        f"{explained(plain.predict(X_test) * later):.4f} |\n"
    )


if __name__ == "__main__":
    for kind in sys.argv[1:] or ["claims", "visits", "made"]:
        if kind == "made":
            for mean, n, high in ((3.5, 5_000, 60), (0.18, 20_000, 10), (26.0, 20_000, 400)):
                name, case = f"made up, mean {mean:g}, {n:,} records", _made(mean, n, high)
                sys.stdout.writelines(_line(name, x, case) for x in (0.1, 0.5, 1, 5))
        else:
            load, epsilons = _TABLES[kind]
            sys.stdout.writelines(_line(kind, x, load(x)) for x in epsilons)
