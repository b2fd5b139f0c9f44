"""Plans and small stores for tests, by the noise of what is released besides training."""

from functools import lru_cache

import numpy as np

from dpscd.planning.facts import Facts
from dpscd.planning.plan import Plan
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.records.labels import ClassLabels, CountLabels, NumberLabels
from dpscd.releases.base import Stores
from dpscd.releases.bounds import Bounds
from dpscd.releases.moments import LabelMean, LabelSpread, Moments, ResidualSpread
from dpscd.releases.training import Pilot, Training
from dpscd.solvers.local import LocalRecords


def make_facts(*, n, d, outputs=1, intercept=True, constant=0.25, loss="", **more):
    """Return facts of a ridge regression, or of as many classes as there are outputs."""
    loss = loss or ("Squared" if outputs == 1 else "Logistic")
    labels = NumberLabels(-1.0, 1.0)
    if loss in ("Logistic", "Hinge", "Softmax"):
        labels = ClassLabels(tuple(range(max(2, outputs))))
    constant = constant if intercept else 0.0
    return Facts(
        **{"n": n, "d": d, "loss": loss, "constant": constant, "labels": labels, **more}
    )


#: Losses and labels of the three tasks that planning knows.
_TASKS = {
    "classification": ("Hinge", ClassLabels((0, 1))),
    "regression": ("Squared", NumberLabels(-1.0, 1.0)),
    "counts": ("Poisson", CountLabels(0.0, 1.0)),
}


def task_facts(task="classification", outputs=1, **more):
    """Return facts of a task; with weights, which is usual here, little follows training."""
    loss, labels = _TASKS[task]
    labels = ClassLabels(tuple(range(outputs))) if outputs > 1 else labels
    return Facts(**{"loss": loss, "labels": labels, "weighted": True, **more})


#: Of a training, unless said otherwise.
_TRAINING = {
    "lam": 0.1, "steps": 100, "rate": 0.1, "clip": 0.01, "separability": 100.0,
    "averaging": 0.5,
}  # fmt: skip


def make_plan(
    *,
    epsilon=1.0,
    delta=1e-5,
    relation=Relation.ZERO_OUT,
    n,
    d,
    outputs=1,
    intercept=True,
    facts=(),
    bounds_noise=0.0,
    bounded=0,
    moments_noise=0.0,
    label_noise=0.0,
    pilot=None,
    first=(),
    after=(),
    **training,
):
    """Return a plan; `first` and `after` are pairs of a kind of release and its noise."""
    training = {**_TRAINING, **training}
    columns = tuple(f"column {i}" for i in range(bounded))
    more = {"private": columns, "standardised": moments_noise > 0.0, **dict(facts)}
    own = make_facts(n=n, d=d, outputs=outputs, intercept=intercept, **more)
    main = Training(own, PrivacyTarget(epsilon, delta, relation), **training)
    releases = [kind(own, noise) for kind, noise in first]
    if own.private:
        releases.append(Bounds(own, bounds_noise))
    if moments_noise:
        releases.append(Moments(own, moments_noise))
    if label_noise and intercept:
        releases.append(LabelMean(own, label_noise))
    if label_noise:
        releases.append(LabelSpread(own, label_noise))
    if pilot is not None:
        releases += [Pilot(**{**vars(main), **pilot}), ResidualSpread(own, label_noise)]
    releases += [main, *(kind(own, noise) for kind, noise in after)]
    return Plan(main.target, own, tuple(releases))


def make_training(**values):
    """Return the main training of a plan."""
    return make_plan(**values).training


@lru_cache
def small_plan(epsilon, delta, relation=Relation.ZERO_OUT):
    """Return a calibrated plan of 50 steps, for tests of what happens to its release."""
    return make_plan(
        epsilon=epsilon, delta=delta, relation=relation, n=1000, d=3, intercept=False, steps=50,
        clip=0.1,
    ).calibrated()  # fmt: skip


def noise_of(plan, what):
    """Return the noise multiplier of the first release of this name, 0 if there is none."""
    found = plan.listed(what)
    return found.noise_multiplier if found else 0.0


def held(X, labels=None, weights=None, threads=1):
    """Return records in memory, all of weight 1 unless said otherwise."""
    count = X.shape[0]
    labels = np.zeros(count) if labels is None else labels
    weights = np.ones(count) if weights is None else weights
    return LocalRecords(X, labels, weights, threads)


def stores(store, source):
    """Return a store with one source of randomness for everything."""
    return Stores(store, lambda _: source)


def after(release, state, store, source):
    """Return the state after a release, at all its times."""
    for time in release.at:
        answer = release.answered(release.query(state), stores(store, source), time)
        state = release.learn(state, answer)
    return state


class Looks:
    """An observer that keeps what it is shown."""

    def __init__(self, pause=None):
        self.pause, self.begun, self.path = pause, [], []

    def begins(self, *given):
        self.begun.append(given)

    def moved(self, *given):
        self.path.append(given)
