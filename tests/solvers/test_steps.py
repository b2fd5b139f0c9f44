"""The solver runs exactly the steps that were planned, whatever the data."""

import numpy as np
import pytest

from dpscd.kernels.dual import Records
from dpscd.losses import Squared
from dpscd.planning import Facts, plan_fit
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import PrivacyTarget
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import dp_scd


class CountingSource(SeededSource):
    """A source that remembers how many steps were drawn for each purpose."""

    def __init__(self):
        super().__init__(b"")
        self.steps = {}

    def words(self, purpose, first, steps, width):
        self.steps[purpose.name] = self.steps.get(purpose.name, 0) + steps
        return super().words(purpose, first, steps, width)


@pytest.mark.parametrize("data", ["zero", "signal"])
@pytest.mark.parametrize(
    "threads", [1, *(pytest.param(k, marks=pytest.mark.compiled) for k in (2, 3))]
)
def test_every_planned_step_is_run(data, threads):
    n, d = 60, 5
    facts = Facts(n=n, d=d, outputs=1, task="regression", row_bound=1.0, constant=0.0)
    plan = plan_fit(facts, PrivacyTarget(1.0, 1e-5), epochs=400)
    problem = Problem(loss=Squared(), lam=plan.lam, n=n, d=d)
    X = np.random.default_rng(0).uniform(-0.4, 0.4, size=(n, d)) * (data == "signal")
    source, done = CountingSource(), []
    dp_scd(
        problem,
        plan,
        problem.rows(X),
        Records(X[:, 0].copy(), np.ones(n)),
        source,
        threads=threads,
        progress=done.append,
    )
    assert sum(done) == plan.steps
    assert len(done) > 1
    assert source.steps["NOISE"] == source.steps["LOTS"] == plan.steps
