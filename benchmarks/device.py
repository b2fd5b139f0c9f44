"""The second engine on a device: what must hold, and how long it takes.

    python benchmarks/device.py --check             # distinguishers, laws, test vectors
    python benchmarks/device.py --times             # the trainings of docs/results/device.md
    python benchmarks/device.py --times "2 classes" # one of them
    python benchmarks/device.py --parts             # the parts of one step
    python benchmarks/device.py --fashion FOLDER    # both engines on Fashion-MNIST
    python benchmarks/device.py --page docs/results/device.md

Every row is printed when it is there and kept in the file that --out names, of which --page
makes the page. Records of --times are made on the device; the way to it is timed by --fashion.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpscd.atomic import atomic_write
from dpscd.device.backend import compiled, device_name, exactly
from dpscd.device.contribution import contributions, work_type
from dpscd.device.random import draw_lot, draw_normals, key_of
from dpscd.device.rows import gather, margins, rounded_shared, sums
from dpscd.device.training import new_state, run_steps, train
from dpscd.privacy.random import Purpose, SecureSource
from dpscd.solvers.dp_scd import DampingRule
from dpscd.solvers.on_device import device_numbers
from dpscd_experiments.device.front_door import fashion_rows
from dpscd_experiments.device.page import device_page, this_machine

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "device"))

from device_checks import checked  # noqa: E402 - from the folder above
from device_neighbours import Case, job_of  # noqa: E402
from device_records import Teacher, generated, judged  # noqa: E402

ROWS = ROOT / "experiments" / "rows" / "device.json"
_CHUNK, _TURNS = 32, 5

#: The trainings of docs/results/device.md, with the seconds that they may take.
CASES = (
    Case("1,000 classes", 1_280_000, 1_024, 1_000, 65_536, goal=4.0),
    Case("2 classes", 10_000_000, 1_000, 1, 500_000, goal=3.0),
    Case("10 classes", 10_000_000, 1_000, 10, 500_000, goal=4.0),
)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    for array in jax.tree.leaves(found):
        array.block_until_ready()
    return time.perf_counter() - start, found


def times_of(case: Case) -> dict[str, Any]:
    """Return the seconds of a training, those of the compiler and what it learnt."""
    plan = case.plan
    problem = case.problem(plan)
    job, numbers = job_of(problem, plan), device_numbers(problem, plan, plan.n)
    rule = DampingRule.of(plan)
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


def parts_of(case: Case) -> list[dict[str, Any]]:
    """Return the milliseconds of the parts of one step, each compiled by itself."""
    plan = case.plan
    problem = case.problem(plan)
    job, numbers = job_of(problem, plan), device_numbers(problem, plan, plan.n)
    teacher = Teacher(case.d, case.outputs)
    found: list[dict[str, Any]] = []
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


def kept(out: Path, what: str, rows: list[dict[str, Any]]) -> None:
    """Put rows of one kind into the file, in the place of earlier ones."""
    found = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
    found |= {"machine": this_machine(), what: rows}
    with atomic_write(out) as file:
        file.write(json.dumps(found, indent=1) + "\n")


def said(row: dict[str, Any], since: float) -> dict[str, Any]:
    """Print a row and return it."""
    sys.stdout.write(f"[{time.perf_counter() - since:6.1f} s] {json.dumps(row)}\n")
    sys.stdout.flush()
    return row


def main() -> int:
    """Do what the command line asks for; 1 if a check failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--times", nargs="*", metavar="CASE")
    parser.add_argument("--parts", nargs="*", metavar="CASE")
    parser.add_argument("--fashion", metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=-1, help="threads of the first engine")
    parser.add_argument("--engines", nargs="*", default=["jax", "numba"])
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of records")
    parser.add_argument("--out", type=Path, default=ROWS)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    start, failed = time.perf_counter(), 0
    if given.check:
        checks = [said(check._asdict(), start) for check in checked()]
        kept(given.out, "checks", checks)
        failed = sum(not check["passed"] for check in checks)
    for what, names, run in (
        ("times", given.times, lambda case: [times_of(case)]),
        ("parts", given.parts, parts_of),
    ):
        rows: list[dict[str, Any]] = []
        for case in CASES if names is not None else ():
            if not names or case.name in names:
                rows += [said(row, start) for row in run(case.scaled(given.scale))]
                kept(given.out, what, rows)
    if given.fashion:
        rows = []
        for engine in given.engines:
            found = fashion_rows(given.fashion, engine, range(given.seeds), threads=given.jobs)
            for row in found:
                rows.append(said(row, start))
                kept(given.out, "fashion", rows)
    if given.page:
        with atomic_write(given.page) as file:
            file.write(device_page(json.loads(given.out.read_text(encoding="utf-8"))))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
