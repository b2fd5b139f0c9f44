"""What a model of last month's people is worth for this month's.

Generated records of two months, n each, of a linear or logistic truth which moves between
them by `drift` of its length. Compared on records of the second month: a model of the second
month alone; the mean of the predictions (of log-odds) of both months' models; a model that
starts from the first one (regression: trained on what it leaves; classes: with its log-odds as
one more column); and one model of all records of both. Means over seeds and standard errors;
every fit has the same epsilon, and each person is in one fit only, but for the last column,
whose fit is of all.

    python benchmarks/next_month.py [seeds]
"""

import sys
import warnings

import numpy as np

from dpscd import DPLogisticRegression, DPRidge
from dpscd.errors import PrivacyWarning

SIZES = ((5_000, 20), (20_000, 50))
EPSILONS = (0.1, 0.3, 1.0)
DRIFTS = (0.0, 0.3)
BOUND, WIDEST = 2.0, 6.0  # of rows and of labels
STRONGEST = 4.0  # log-odds beyond which the first model's are cut


def records(rng, n, truth, *, classes):
    """Return rows and labels of one month."""
    X = rng.normal(size=(n, len(truth))) / np.sqrt(len(truth))
    margin = X @ truth
    if classes:
        return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-margin))).astype(int)
    return X, margin + rng.normal(0.0, 0.5, n)


def odds(model, X):
    """Return log-odds of the second class."""
    chances = model.predict_proba(X)
    return np.log(chances[:, 1] / chances[:, 0])


def regression(epsilon, first, second, test):
    """Return mean squared errors."""

    def fitted(X, y):
        return DPRidge(epsilon, row_bound=BOUND, y_bounds=(-WIDEST, WIDEST)).fit(X, y)

    old, new = fitted(*first), fitted(*second)
    X, y = second
    rest = DPRidge(
        epsilon, row_bound=BOUND, y_bounds=(-2 * WIDEST, 2 * WIDEST), clip_predictions=False
    ).fit(X, y - old.predict(X))
    whole = fitted(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))
    rows, labels = test
    guesses = {
        "alone": new.predict(rows),
        "mean": (old.predict(rows) + new.predict(rows)) / 2,
        "start": old.predict(rows) + rest.predict(rows),
        "all": whole.predict(rows),
    }
    return {name: np.mean((guess - labels) ** 2) for name, guess in guesses.items()}


def classification(epsilon, first, second, test):
    """Return log losses."""

    def fitted(X, y, bound=BOUND):
        return DPLogisticRegression(epsilon, row_bound=bound, classes=[0, 1]).fit(X, y)

    old, new = fitted(*first), fitted(*second)

    def more(X):
        extra = np.clip(odds(old, X), -STRONGEST, STRONGEST) * (BOUND / STRONGEST)
        return np.column_stack([X, extra])

    start = fitted(more(second[0]), second[1], np.sqrt(2.0) * BOUND)
    whole = fitted(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))
    rows, labels = test
    guesses = {
        "alone": odds(new, rows),
        "mean": (odds(old, rows) + odds(new, rows)) / 2,
        "start": odds(start, more(rows)),
        "all": odds(whole, rows),
    }
    signs = 2 * labels - 1
    return {name: np.mean(np.logaddexp(0.0, -signs * u)) for name, u in guesses.items()}


def main(seeds):
    """Print a table."""
    warnings.simplefilter("ignore", PrivacyWarning)
    print("| labels | n a month | features | drift | epsilon | alone | mean | start | all |")  # noqa: T201
    print("|---|---|---|---|---|---|---|---|---|")  # noqa: T201
    for judge in (regression, classification):
        classes = judge is classification
        for (n, d), drift, epsilon in (
            (size, drift, epsilon) for size in SIZES for drift in DRIFTS for epsilon in EPSILONS
        ):
            found = []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                old, turn = rng.normal(size=(2, d)) * 1.5
                new = np.sqrt(1.0 - drift**2) * old + drift * turn
                first = records(rng, n, old, classes=classes)
                second = records(rng, n, new, classes=classes)
                found.append(
                    judge(epsilon, first, second, records(rng, 20_000, new, classes=classes))
                )
            cells = [
                f"{np.mean(values):.4f} ± {np.std(values, ddof=1) / np.sqrt(seeds):.4f}"
                for values in ([one[name] for one in found] for name in found[0])
            ]
            kind = "classes" if classes else "numbers"
            row = [kind, f"{n:,}", f"{d}", f"{drift:g}", f"{epsilon:g}", *cells]
            print(f"| {' | '.join(row)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
