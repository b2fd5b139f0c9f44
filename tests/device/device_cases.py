"""Times of trainings on generated records, with the transfer and the compiler left out."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from device_records import Teacher, generated, judged

from dpscd.device.backend import compiled, device_name, exactly
from dpscd.device.chacha import key_of
from dpscd.device.contribution import contributions
from dpscd.device.limbs import margins, rounded_shared, sums
from dpscd.device.lots import draw_lot
from dpscd.device.normals import draw_normals
from dpscd.device.rows import gather
from dpscd.device.steps import work_type
from dpscd.device.training import Job, block_for, new_state, run_steps, train
from dpscd.losses import Logistic, Softmax
from dpscd.plan import Plan
from dpscd.planning import Facts, default_constant, default_delta, plan_fit
from dpscd.privacy.random import Purpose, SecureSource
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.problem import Problem
from dpscd.solvers.brake import BrakeRule
from dpscd.solvers.on_device import device_numbers

__all__ = ["CASES", "Case", "parts_of", "times_of"]

Row = dict[str, Any]

_EPOCHS = 20
_CHUNK = 32
_TURNS = 5


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
    def plan(self) -> Plan:
        """The plan of the library's rule, for 20 epochs of these lots."""
        facts = Facts(
            n=self.n, d=self.d, outputs=self.outputs, task="classification", row_bound=1.0,
            constant=default_constant(1.0), joint=self.outputs > 1,
        )  # fmt: skip
        target = PrivacyTarget(self.epsilon, default_delta(self.n), Relation.ZERO_OUT)
        return plan_fit(facts, target, epochs=_EPOCHS, lot_size=self.lot)

    def problem(self, plan: Plan) -> Problem:
        """Return the problem of a plan."""
        loss = Softmax() if self.outputs > 1 else Logistic()
        constant = default_constant(1.0)
        return Problem(loss, plan.lam, self.n, self.d, self.outputs, 1.0, constant)


#: The trainings of docs/results/device.md, with the seconds that they may take.
CASES = (
    Case("1,000 classes", 1_280_000, 1_024, 1_000, 65_536, goal=4.0),
    Case("2 classes", 10_000_000, 1_000, 1, 500_000, goal=3.0),
    Case("10 classes", 10_000_000, 1_000, 10, 500_000, goal=4.0),
)


def _job(problem: Problem, plan: Plan) -> Job:
    loss = type(problem.loss).__name__.lower()
    return Job(loss, plan.outputs, problem.width, block_for(plan.lot_size, plan.outputs))


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    for array in jax.tree.leaves(found):
        array.block_until_ready()
    return time.perf_counter() - start, found


def times_of(case: Case) -> Row:
    """Return the seconds of a training, those of the compiler and what it learnt."""
    plan = case.plan
    problem = case.problem(plan)
    job, numbers = _job(problem, plan), device_numbers(problem, plan, plan.n)
    rule = BrakeRule.of(plan)
    teacher = Teacher(case.d, case.outputs)
    with exactly():
        tail = problem.constant / problem.scale
        made, rows = _timed(lambda: generated(teacher, case.n, tail))
        state = [new_state(job, rows.room, rule.start)]  # used up by the next line
        key = jnp.zeros(8, jnp.uint32)
        compile_seconds, _ = _timed(
            lambda: run_steps(job, rows, numbers, rule, key, state.pop(), 0, 0).shared
        )
        secret = SecureSource().words(Purpose.DEVICE_KEY, 0, 1, 4).tobytes()
        stops = [*range(_CHUNK, plan.steps, _CHUNK), plan.steps]
        marks = [time.perf_counter()]

        def seen(*_: Any) -> None:
            marks.append(time.perf_counter())

        total = train(job, rows, numbers, rule, secret, stops, seen)
        accuracy = judged(teacher, total)
    taken = marks[-1] - marks[0]
    chunks = np.diff(marks)[:-1] if len(marks) > 2 else np.diff(marks)
    return {
        "case": case.name, "device": device_name(), "jax": jax.__version__, "n": case.n,
        "d": case.d, "outputs": case.outputs, "lot": case.lot, "block": job.block,
        "steps": plan.steps, "epsilon": case.epsilon,
        "noise_multiplier": round(plan.noise_multiplier, 4), "make_seconds": round(made, 2),
        "compile_seconds": round(compile_seconds, 2), "train_seconds": round(taken, 3),
        "step_ms": round(1e3 * float(np.median(chunks)) / min(_CHUNK, plan.steps), 3),
        "accuracy": round(accuracy, 4), "goal_seconds": case.goal,
    }  # fmt: skip


def parts_of(case: Case) -> list[Row]:
    """Return the milliseconds of the parts of one step, each compiled by itself."""
    plan = case.plan
    problem = case.problem(plan)
    job, numbers = _job(problem, plan), device_numbers(problem, plan, plan.n)
    teacher = Teacher(case.d, case.outputs)
    found: list[Row] = []
    with exactly():
        work = work_type(job.loss)
        rows = generated(teacher, case.n, problem.constant / problem.scale)
        key = jnp.asarray(key_of(bytes(range(32))))
        dual = jnp.zeros((rows.room, job.outputs), work)
        padded = 4 * rows.high.shape[1]
        shared = jnp.asarray(np.random.default_rng(0).normal(size=(job.outputs, job.width)))

        def measured(name: str, call: Callable[..., Any], *given: Any) -> Any:
            call = compiled(call)
            first, result = _timed(lambda: call(*given))
            each = [_timed(lambda: call(*given))[0] for _ in range(_TURNS)]
            found.append(
                {
                    "case": case.name, "part": name, "block": job.block,
                    "ms": round(1e3 * float(np.median(each)), 3), "first_s": round(first, 2),
                }
            )  # fmt: skip
            return result

        ids, size = measured(
            "draw lot",
            lambda key, step: draw_lot(
                key, step, numbers.threshold, numbers.count, rows.room, job.block
            ),
            key, 1,
        )  # fmt: skip
        measured("draw normals", lambda key, step: draw_normals(key, step, plan.size), key, 1)
        mine = ids[: job.block]
        members = measured("gather rows", gather, rows, mine)
        duals = measured("gather duals", lambda dual, ids: dual[ids], dual, mine)
        limbs = measured("round shared", lambda v: rounded_shared(v, padded), shared)
        measured(
            "margins",
            lambda m, s: margins(m.high, m.low, s[0], s[1], work), members, limbs,
        )  # fmt: skip
        cut = measured(
            "contributions, margins included",
            lambda m, s, a: contributions(job.loss, numbers, 10.0, m, s, a),
            members, limbs, duals,
        )  # fmt: skip
        measured("sums", sums, members.high, members.low, cut.cut)
        del size
    return found
