"""The page about the second engine on a device, from stored rows."""

import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any

import jax

from dpscd.device.backend import device_name, exactly
from dpscd_experiments.provenance import machine
from dpscd_experiments.style import markdown_table

Row = dict[str, Any]


def this_machine() -> dict[str, str]:
    """Return what to state beside the rows: device, versions and host."""
    with exactly():
        return {"device": device_name(), "JAX": jax.__version__, **machine()}


def _table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return markdown_table(headings, [[str(cell) for cell in row] for row in rows])


def _times(rows: Sequence[Row]) -> str:
    headings = (
        "training", "records", "features", "lot", "steps", "seconds", "asked for", "one step",
        "compiler", "accuracy",
    )  # fmt: skip
    cells = [
        (
            x["case"], f"{x['n']:,}", f"{x['d']:,}", f"{x['lot']:,}", x["steps"],
            f"**{x['train_seconds']:.2f}**", f"{x['goal_seconds']:g}", f"{x['step_ms']:.2f} ms",
            f"{x['compile_seconds']:.1f} s", f"{x['accuracy']:.3f}",
        )
        for x in rows
    ]  # fmt: skip
    return f"""## Trainings

20 epochs at epsilon 1, planned by the library's rule; seconds are those of all steps, with
lots, noise and exact sums. Records are made on the device, normal rows of length one whose
classes are linear in them but for a tenth; accuracy is on others of the same law. What the
compiler takes is paid once for each shape.

{_table(headings, cells)}
"""


def _parts(rows: Sequence[Row]) -> str:
    cells = [(x["case"], x["part"], x["ms"], f"{x['block']:,}") for x in rows]
    headings = ("training", "part", "milliseconds", "members of a block")
    return f"""## The parts of a step

Each compiled and timed by itself, of one block of members; a lot has one block or several.

{_table(headings, cells)}
"""


def _fashion(rows: Sequence[Row]) -> str:
    cells = []
    for engine in dict.fromkeys(x["engine"] for x in rows):
        own = [x for x in rows if x["engine"] == engine]
        scores = [x["accuracy"] for x in own]
        error = stdev(scores) / math.sqrt(len(own)) if len(own) > 1 else 0.0
        later = own[1:] or own
        trained = [x["train_seconds"] for x in later if x["train_seconds"] is not None]
        cells.append(
            (
                engine, own[0]["device"], f"{fmean(scores):.4f}", f"{error:.4f}",
                f"{fmean(trained):.2f}" if trained else "",
                f"{fmean(x['fit_seconds'] for x in later):.1f}", len(own),
            )
        )  # fmt: skip
    headings = (
        "engine", "on", "accuracy", "standard error", "seconds of training", "of the whole fit",
        "seeds",
    )  # fmt: skip
    return f"""## Fashion-MNIST

Scattering features (3,969 numbers, made by `dpscd_experiments.device.scattering`), everything
'auto' but epsilon = {rows[0]["epsilon"]:g}: {rows[0]["steps"]} lots of {rows[0]["lot_size"]:g}.
Seconds leave out the first fit, which compiles; the whole fit reads the rows, releases moments
and brings rows to the device.

{_table(headings, cells)}
"""


def _checks(rows: Sequence[Row]) -> str:
    cells = [(x["name"], "yes" if x["passed"] else "**no**", x["found"]) for x in rows]
    return f"""## What was checked there

{_table(("what", "holds", "found"), cells)}
"""


def device_page(found: dict[str, Any]) -> str:
    """Return the page of stored rows."""
    makers = {"times": _times, "fashion": _fashion, "parts": _parts, "checks": _checks}
    made = [make(found[what]) for what, make in makers.items() if found.get(what)]
    listed = _table(("machine", ""), found["machine"].items())
    page = (files("dpscd_experiments.device") / "page.md").read_text(encoding="utf-8")
    return page.replace("{body}", "\n".join([*made, "## The machine\n", listed, ""]))
