"""Neighbouring records in the very program that trains: what one record moves of the others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from device_records import Teacher, generated

from dpscd.device.backend import exactly
from dpscd.device.random import draw_lot, key_of
from dpscd.device.training import Job, State, block_for, new_state, run_steps
from dpscd.planning.facts import Facts
from dpscd.planning.rule import default_constant, default_delta, plan_fit
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.problem import Problem
from dpscd.records.labels import ClassLabels
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import DampingRule
from dpscd.solvers.on_device import device_numbers

__all__ = ["Case", "job_of", "neighbour_found", "neighbours"]


@dataclass(frozen=True)
class Case:
    """A training to be timed: how many records, features and classes, and lots of what size."""

    name: str
    n: int
    d: int
    outputs: int
    lot: int
    epsilon: float = 1.0
    goal: float = 0.0

    def scaled(self, scale: float) -> "Case":
        """Return the same with fewer records, to try it."""
        n = max(2000, int(self.n * scale))
        return replace(self, n=n, lot=max(64, int(self.lot * n / self.n)))

    @property
    def plan(self) -> Training:
        """The training of the library's rule, for 20 epochs of these lots."""
        labels = ClassLabels(tuple(range(max(2, self.outputs))))
        loss = "Softmax" if self.outputs > 1 else "Logistic"
        facts = Facts(self.n, self.d, loss, labels, constant=default_constant(1.0))
        target = PrivacyTarget(self.epsilon, default_delta(self.n), Relation.ZERO_OUT)
        return plan_fit(facts, target, epochs=20, lot_size=self.lot).training

    def problem(self, plan: Training) -> Problem:
        """Return the problem of a plan."""
        return plan.facts.problem(plan.lam)


def job_of(problem: Problem, plan: Training) -> Job:
    """Return what is compiled for a training."""
    loss = type(problem.loss).__name__.lower()
    return Job(loss, plan.outputs, problem.width, block_for(plan.lot_size, plan.outputs))


# Records, columns, outputs and lots: one block of a lot, several, and an output or many.
_CASES = (
    Case("one output", 40_000, 63, 1, 9_000),
    Case("one output, two blocks", 400_000, 63, 1, 200_000),
    Case("10 outputs", 40_000, 63, 10, 9_000),
    Case("300 outputs", 20_000, 63, 300, 5_000),
)
_BEFORE = 3  # steps before records differ, so that duals are not all zero


def neighbours() -> Iterator[tuple[str, bool, str]]:
    """Yield what is found for each case, as a check has it."""
    for case in _CASES:
        yield neighbour_found(case)


def neighbour_found(case: Case) -> tuple[str, bool, str]:
    """Empty one member of a lot, and compare what the others do in the same step.

    From the same state, with the same lots and noise, the duals of all other records must be
    equal bit by bit, and the shared vectors no further apart than the clip and one unit of the
    grid for each number.
    """
    plan = case.plan
    problem = case.problem(plan)
    job, numbers = job_of(problem, plan), device_numbers(problem, plan, plan.n)
    rule = DampingRule.of(plan)
    with exactly():
        rows = generated(
            Teacher(case.d, case.outputs), case.n, problem.constant / problem.scale
        )
        key = jnp.asarray(key_of(bytes(range(32))))
        start = new_state(job, rows.room, rule.start)
        start = run_steps(job, rows, numbers, rule, key, start, 0, _BEFORE)

        def after(facts: jax.Array) -> State:
            own = jax.tree.map(jnp.copy, start)
            given = rows._replace(facts=facts)
            moved = run_steps(job, given, numbers, rule, key, own, _BEFORE, _BEFORE + 1)
            return cast("State", moved)

        ids, size = draw_lot(key, _BEFORE, numbers.threshold, plan.n, rows.room, job.block)
        whole = after(rows.facts)
        dual, shared = np.asarray(whole.dual), np.asarray(whole.shared)
        same, moved, furthest = True, 0, 0.0
        for place in (0, int(size) // 2, int(size) - 1):
            member = int(ids[place])
            other = after(rows.facts.at[member].set(0.0))
            theirs = np.asarray(other.dual)
            others = np.arange(rows.room) != member
            same &= bool((dual[others].view(np.uint8) == theirs[others].view(np.uint8)).all())
            moved += int((dual[member] != theirs[member]).any())
            apart = np.maximum(np.abs(shared - np.asarray(other.shared)) - numbers.grid, 0.0)
            furthest = max(furthest, float(np.linalg.norm(apart)))
    good = bool(same and moved == 3 and furthest <= numbers.clip)
    return (
        f"neighbours in the program that trains, {case.name}",
        good,
        f"all other duals equal bit by bit; the shared vector moved by "
        f"{furthest / numbers.clip:.3f} of the clip",
    )
