"""An audit of private searches: how much the best run tells of a record at least.

Two neighbouring data sets of 40 records, searched many times each through the front door: with
a canary, and with an empty record in its place. The canary is always trained on, or always
scored on: given the split the guarantee holds for either. What is looked at is what a search
leaves: the coefficient of a column that only the canary has, and the score. Printed are lower
bounds on epsilon, at 95 % confidence, next to the claim.

    python benchmarks/search_audit.py [searches]
"""

import sys
import warnings

import numpy as np

from dpscd import DPLinearSVC, DPLogisticRegression, DPModelSearch
from dpscd.audit.bounds import lower_bounds
from dpscd.estimators import model_search

EPSILON, DELTA, RECORDS, APART = 4.0, 1e-5, 40, 8
SEARCHES = 1000


def searcher():
    """Return a search over two quick candidates."""
    quick = {
        "classes": [0, 1], "epochs": 2, "lot_size": 20, "lam": 1e-2, "standardise": False,
        "fit_intercept": False,
    }  # fmt: skip
    kinds = DPLogisticRegression(**quick), DPLinearSVC(**quick)
    return DPModelSearch(list(kinds), EPSILON, delta=DELTA, mean_runs=3)


def records(*, canary, trained):
    """Return records; number 0 is the canary, or empty.

    Where it is scored, some labels are wrong on purpose: a score at its end would be cut.
    """
    rng = np.random.default_rng(0)
    X = np.zeros((RECORDS, 2))
    X[:, 0] = rng.uniform(0.2, 0.3, RECORDS)
    labels = np.ones(RECORDS, dtype=object)
    labels[-APART // 2 :] = 0
    X[0] = ([0.0, 1.0] if trained else [0.3, 0.0]) if canary else [0.0, 0.0]
    if not canary:
        labels[0] = None  # an empty record counts nowhere
    return X, labels


def looks(*, trained):
    """Return how canaries look from outside: by world, one number per search."""

    def split(_source, count, _holdout, _relation):
        apart = np.zeros(count, dtype=bool)
        apart[-APART:] = True
        if not trained:
            apart[[0, -1]] = True, False
        return apart

    plans = []
    real_plan, real_split = model_search.plan_search, model_search.split_units

    def plan(*given):
        if not plans:
            plans.append(real_plan(*given))
        return plans[0]

    model_search.plan_search, model_search.split_units = plan, split
    try:
        search = searcher()

        def look(canary):
            X, y = records(canary=canary, trained=trained)
            while True:
                search.fit(X, y)
                if trained:
                    yield float(search.best_estimator_.coef_[0, 1])
                else:
                    yield search.best_score_

        yield look(False), look(True), search
    finally:
        model_search.plan_search, model_search.split_units = real_plan, real_split


def bounds(searches, *, trained):
    """Return lower bounds on epsilon, and what the card claims."""
    for absent, present, search in looks(trained=trained):
        worlds = [
            np.array([next(world) for _ in range(searches)]) for world in (absent, present)
        ]
        claim = search.privacy_.verify()
    return lower_bounds(*worlds, delta=DELTA), claim


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    many = int(sys.argv[1]) if len(sys.argv) > 1 else SEARCHES
    for trained in (True, False):
        found, claim = bounds(many, trained=trained)
        sys.stdout.write(
            f"canary {'trained' if trained else 'scored'} on: epsilon at least "
            f"{found.epsilon_clopper_pearson:.2f} (Gaussian {found.epsilon_gaussian:.2f}), "
            f"claimed {claim:.2f}; {many} searches per world\n"
        )
