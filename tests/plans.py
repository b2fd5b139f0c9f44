"""Plans and small stores for tests, by the noise of what is released before training."""

import dataclasses
from functools import lru_cache

import numpy as np

from dpscd.plan import Plan
from dpscd.privacy.relation import Relation
from dpscd.records.labels import NumberLabels
from dpscd.releases.base import Parties
from dpscd.releases.bounds import Bounds
from dpscd.releases.labels import LabelMean, LabelSpread, ResidualSpread
from dpscd.releases.moments import Moments
from dpscd.releases.shared_vector import Pilot
from dpscd.solvers.local import LocalRecords

#: What few tests are about.
USUAL = {
    "epsilon": 1.0, "delta": 1e-5, "relation": Relation.ZERO_OUT, "outputs": 1,
    "intercept": True,
}  # fmt: skip


def make_plan(
    *,
    bounds_noise=0.0,
    bounded=0,
    moments_noise=0.0,
    label_noise=0.0,
    pilot=None,
    first=(),
    **values,
):
    plan = Plan(**{**USUAL, **values})
    first = list(first)
    if bounded:
        first.append(Bounds(plan.n, bounds_noise, bounded))
    if moments_noise:
        first.append(Moments(plan.n, moments_noise, plan.d))
    if label_noise and plan.intercept:
        first.append(LabelMean(plan.n, label_noise))
    if label_noise:
        first.append(LabelSpread(plan.n, label_noise))
    if pilot is not None:
        first += [Pilot(pilot), ResidualSpread(plan.n, label_noise)]
    return dataclasses.replace(plan, first=tuple(first))


@lru_cache
def small_plan(epsilon, delta, relation=Relation.ZERO_OUT):
    """Return a calibrated plan of 50 steps, for tests of what happens to its release."""
    return make_plan(
        epsilon=epsilon, delta=delta, relation=relation, n=1000, d=3, intercept=False, lam=0.1,
        steps=50, rate=0.1, clip=0.1, separability=100.0, averaging=0.5,
    ).calibrated()  # fmt: skip


def planned(plan, what):
    """Return the first release of this name, as it is planned; None if there is none."""
    return next((one for one in plan.first if one.what == what), None)


def noise_of(plan, what):
    """Return its noise multiplier, 0 if it is not planned."""
    found = planned(plan, what)
    return found.noise_multiplier if found else 0.0


def held(X, labels=None, weights=None, threads=1):
    """Return records in memory, all of weight 1 unless said otherwise."""
    count = X.shape[0]
    labels = np.zeros(count) if labels is None else labels
    weights = np.ones(count) if weights is None else weights
    return LocalRecords(X, labels, weights, NumberLabels(-1.0, 1.0), threads)


def parties(store, source):
    return Parties(store, lambda _: source, source, None)
