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
from pathlib import Path
from typing import Any

from dpscd.atomic import atomic_write
from dpscd_experiments.device.front_door import fashion_rows
from dpscd_experiments.device.page import device_page, this_machine

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "device"))

from device_cases import CASES, parts_of, times_of  # noqa: E402 - from the folder above
from device_checks import checked  # noqa: E402

ROWS = ROOT / "experiments" / "rows" / "device.json"


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
