"""Whether predictions are right on average: totals of counts, mean probabilities of persons.

Run ``DPSCD_DATA=... python benchmarks/levels.py made`` for generated counts (two minutes),
``... claims`` for motor claims (French policies, 15 minutes), ``... visits`` for visits of
persons to doctors (a minute) and ``... persons`` for probabilities (ten minutes). Medians over
seeds 0 to 4; of counts the smallest and largest total, too, and the deviance explained of test
records.
"""

import math
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from dpscd import DPLogisticRegression, DPPoissonRegressor, TableEncoder
from dpscd.data.adult import adult_declared
from dpscd_experiments.bank import load_bank
from dpscd_experiments.sources import find_file

SEEDS = range(5)
BOUNDS = {
    "VehPower": [4, 15], "VehAge": [0, 100], "DrivAge": [18, 100], "BonusMalus": [50, 350],
    "Density": [1, 27_000],
}  # fmt: skip


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def explained(y: Any, expected: Any, mean: Any) -> float:
    """Return the part of the deviance of a mean that expected counts explain."""
    return float(1.0 - mean_poisson_deviance(y, expected) / mean_poisson_deviance(y, mean))


def schema_of(target: str, most: int, numbers: dict[str, Any], texts: pd.DataFrame) -> Any:
    """Return a schema with the values of the categories as the file has them."""
    columns: dict[str, Any] = {
        name: {"kind": "number", "bounds": bounds} for name, bounds in numbers.items()
    }
    for name in texts:
        columns[name] = {"kind": "category", "values": sorted(texts[name].dropna().unique())}
    return {"target": {"column": target, "bounds": [0, most]}, "columns": columns}


def compare(name: str, fit: Any, test: Any, epsilons: tuple[float, ...]) -> None:
    """Print a line per epsilon; `fit` returns a model, expected test counts, and the mean's."""
    for epsilon in epsilons:
        found = []
        for seed in SEEDS:
            expected, mean, plain = fit(epsilon, seed)
            total = expected.sum() / test.sum()
            own = [explained(test, x, mean) for x in (expected, expected / total, plain)]
            found.append([total, *own])
        rows = np.array(found)
        total, own, levelled, plain = np.median(rows, axis=0)
        say(
            f"{name}, epsilon {epsilon:g}: total {total:.3f} ({rows[:, 0].min():.3f} to "
            f"{rows[:, 0].max():.3f}), D2 {own:.4f} (sd {rows[:, 1].std():.4f}), "
            f"its level set right {levelled:.4f}, not private {plain:.4f}"
        )


def plain_fit(X: Any, y: Any, X_test: Any, weight: Any = None) -> Any:
    """Return what scikit-learn's regression expects without privacy."""
    model = PoissonRegressor(alpha=1e-4, max_iter=1000)
    return model.fit(X, y, sample_weight=weight).predict(X_test)


def made(mean: float, n: int, high: int) -> None:
    """Compare on generated counts of 8 features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(2 * n, 8)) / np.sqrt(8.0)
    lines = X @ rng.normal(0.0, 1.5, size=8)
    y = np.minimum(rng.poisson(mean * np.exp(lines - lines.var() / 2.0)), high).astype(float)
    plain = plain_fit(X[:n], y[:n], X[n:])

    def fit(epsilon: float, seed: int) -> Any:
        model = DPPoissonRegressor(epsilon, y_bounds=(0, high), random_state=seed)
        return model.fit(X[:n], y[:n]).predict(X[n:]), np.full(n, y[:n].mean()), plain

    compare(f"made up, mean {mean:g}, {n:,} records", fit, y[n:], (0.1, 0.5, 1.0, 5.0))


def claims() -> None:
    """Compare on motor claims with exposure, features of a schema."""
    table = pd.read_csv(find_file("fremtpl2", ("freMTPL2freq.csv.gz",)))
    table["ClaimNb"], table["Exposure"] = (
        table.ClaimNb.clip(upper=4),
        table.Exposure.clip(0.003, 1),
    )
    train, test = train_test_split(table, test_size=0.25, random_state=0)
    texts = table[["Area", "VehBrand", "VehGas", "Region"]]
    schema = schema_of("ClaimNb", 4, BOUNDS, texts)
    encoded: dict[float, Any] = {}

    def fit(epsilon: float, seed: int) -> Any:
        if epsilon not in encoded:
            encoder = TableEncoder(schema, epsilon=epsilon, n=len(train))
            parts = (
                encoder.fit_transform(train[[*schema["columns"]]]),
                encoder.transform(test[[*schema["columns"]]]),
            )
            rates = train.ClaimNb / train.Exposure
            plain = plain_fit(*(parts[0], rates, parts[1]), weight=train.Exposure)
            encoded.clear()
            encoded[epsilon] = *parts, plain * test.Exposure
        X, X_test, plain = encoded[epsilon]
        model = DPPoissonRegressor(
            epsilon, delta=1e-6, y_bounds=(0, 4), exposure_bounds=(0.003, 1), random_state=seed
        )
        model.fit(X, train.ClaimNb.to_numpy(float), exposure=train.Exposure.to_numpy())
        mean = test.Exposure * train.ClaimNb.sum() / train.Exposure.sum()
        return model.predict(X_test, exposure=test.Exposure.to_numpy()), mean, plain

    compare("claims", fit, test.ClaimNb.to_numpy(float), (0.1, 0.5, 1.0, 2.0, 5.0, 10.0))


def visits() -> None:
    """Compare on visits to doctors: up to five years of a person, who is protected whole."""
    table = pd.read_csv(find_file("randhie", ("RandHIE.csv.gz",)))
    table["plan"] = table["plan"].astype(str)
    split = GroupShuffleSplit(1, test_size=0.25, random_state=0)
    train, test = (table.iloc[own] for own in next(split.split(table, groups=table.zper)))
    numbers = {"xage": [0, 70], "linc": [0, 11], "female": [0, 1]}
    texts = pd.DataFrame({"plan": table["plan"], "health": health(table)})
    schema = schema_of("mdvis", 80, numbers, texts)
    people = train.zper.nunique()

    def fit(epsilon: float, seed: int) -> Any:
        encoder = TableEncoder(schema, epsilon=epsilon, n=people)
        own, other = (x[[*numbers, "plan"]].assign(health=health(x)) for x in (train, test))
        X, X_test = encoder.fit_transform(own), encoder.transform(other)
        y = train.mdvis.to_numpy(float)
        model = DPPoissonRegressor(epsilon, y_bounds=(0, 80), random_state=seed)
        model.fit(X, y, groups=train.zper.to_numpy())
        mean = np.full(len(test), y.mean())
        return model.predict(X_test), mean, plain_fit(X, y, X_test)

    compare("visits", fit, test.mdvis.to_numpy(float), (0.3, 1.0, 5.0))


def health(table: pd.DataFrame) -> pd.Series:
    """Return what persons say of their health, in one column."""
    said = {"hlthg": "good", "hlthf": "fair", "hlthp": "poor"}
    found = pd.Series("excellent", index=table.index)
    for column, name in said.items():
        found = found.mask(table[column].astype(float) > 0, name)
    return found


def people(follow: bool) -> Any:
    """Return rows of 40,000 persons whose number follows what is predicted, or does not."""
    rng = np.random.default_rng(7)
    own = rng.normal(size=40_000)
    rows = 1 + np.minimum(rng.poisson(np.exp(0.8 * own + 0.7) if follow else 3.0, 40_000), 40)
    person = np.repeat(np.arange(40_000), rows)
    X = rng.uniform(-1.0, 1.0, size=(len(person), 8)) / np.sqrt(8.0)
    often = 1.2 * own[person] - 0.4 if follow else 0.8 * own[person] - 1.2
    decision = X @ rng.normal(0.0, 1.5, size=8) + often
    return X, (rng.random(len(person)) < 1.0 / (1.0 + np.exp(-decision))).astype(int), person


def persons() -> None:
    """Compare mean probabilities with means of labels, over rows and over persons."""
    adult, bank = adult_declared(), load_bank()
    tables = {
        "rows follow labels": people(follow=True),
        "rows do not": people(follow=False),
        "Adult": (adult.X, adult.y.astype(int), np.arange(len(adult.y))),
        "bank": (bank.X, (bank.y > 0).astype(int), np.arange(len(bank.y))),
    }
    for name, (X, y, person) in tables.items():
        sizes = np.bincount(person)
        for weight in ("sum", "share"):
            for epsilon in (0.3, 1.0, 5.0, 100.0, math.inf):
                found = []
                for seed in SEEDS:
                    model = DPLogisticRegression(
                        epsilon, delta=1e-5, classes=[0, 1], person_weight=weight,
                        random_state=seed,
                    ).fit(X, y, groups=person)  # fmt: skip
                    chance = model.predict_proba(X)[:, 1]
                    means = [(np.bincount(person, x) / sizes).mean() for x in (chance, y)]
                    found.append((chance.mean() / y.mean(), means[0] / means[1]))
                    if math.isinf(epsilon):
                        break
                rows, each = np.median(found, axis=0)
                what = f"{name}, {weight}, epsilon {epsilon:g}"
                say(f"{what}: rows {rows:.3f}, persons {each:.3f}")


def main() -> None:
    """Run the comparison that is named."""
    warnings.simplefilter("ignore")
    which = sys.argv[1] if len(sys.argv) == 2 else ""
    if which == "made":
        for mean, n, high in ((3.5, 5_000, 60), (0.18, 20_000, 10), (26.0, 20_000, 400)):
            made(mean, n, high)
    elif which == "claims":
        claims()
    elif which == "visits":
        visits()
    elif which == "persons":
        persons()
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
