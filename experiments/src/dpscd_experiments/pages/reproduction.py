"""Run a target of the reproduction and write its rows, figure and text."""

import csv
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from dpscd.errors import DpscdError, ParameterError
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import DATASETS, load_dataset
from dpscd_experiments.experiments.specs import TARGETS, load_spec
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.runner import run
from dpscd_experiments.store import Row, Store

__all__ = ["Failure", "Target", "find_target", "read_csv", "reproduce", "write_csv"]

# Four targets differ in their file alone.
_MODULES = dict.fromkeys(("fig1a", "fig1b", "fig1c", "fig1a-flights"), "fig1")


class Failure(DpscdError):  # noqa: N818 - read as what happened
    """Cells of a target failed, so that its figure cannot be drawn."""


@dataclass(frozen=True)
class Target:
    """A target: what it runs, what its rows say, and how they look."""

    cells: Callable[[Mapping[str, Any], bool], list[Cell]]
    text: Callable[[list[Row], bool], str]
    draw: Callable[[list[Row], bool], Any]


def find_target(name: str) -> Target:
    """Return a target by its name; only its own modules are imported."""
    if name not in TARGETS:
        raise ParameterError(f"target={name!r} must be one of {', '.join(TARGETS)}.")
    module = _MODULES.get(name, name)
    experiment = import_module(f"dpscd_experiments.experiments.{module}")
    figure = import_module(f"dpscd_experiments.pages.{module}_figure")
    return Target(experiment.cells, experiment.text, figure.draw)


def reproduce(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    processes: int = 1,
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Run a target, or what is left of it, and write its files."""
    target = find_target(name)
    cells = target.cells(load_spec(name) if spec is None else spec, quick)
    for dataset in {cell.dataset for cell in cells} & set(DATASETS):
        load_dataset(dataset)  # raises when it is missing, before anything has run
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / f"{name}.jsonl")
    start = time.perf_counter()
    run(cells, store, processes=processes, progress=progress, title=name)
    seconds = time.perf_counter() - start
    # The store may hold another version of the target too: quick or full.
    wanted = {cell.key for cell in cells}
    rows = [row for row in store.read() if row["cell"] in wanted]
    failed = {row["cell"]: row["message"] for row in rows if row["status"] != "ok"}
    if failed:
        raise Failure(
            f"{name}: {len(failed)} of {len(wanted)} cells failed, the first with: "
            f"{next(iter(failed.values()))}. Run the command again to retry them."
        )
    files = [out / f"{name}.{ending}" for ending in ("csv", "md")]
    write_csv(files[0], rows)
    files[1].write_text(_page(name, target.text(rows, quick), rows, seconds), encoding="utf-8")
    return files + save_figure(target.draw(rows, quick), out, name)


def write_csv(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a table, provenance left out: it is in the store and in the text."""
    names = dict.fromkeys(
        name for row in rows for name in row if not name.startswith(("prov.", "rows"))
    )
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(names), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(file: Path) -> list[Row]:
    """Return the rows of a table that :func:`write_csv` wrote; empty fields are None."""
    with file.open(newline="", encoding="utf-8") as stream:
        return [
            {name: _value(name, text) for name, text in row.items()}
            for row in csv.DictReader(stream)
        ]


def _value(name: str, text: str) -> Any:
    if name in ("cell", "experiment", "dataset", "method", "status", "message", "metric"):
        return text
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _page(name: str, text: str, rows: Sequence[Row], seconds: float) -> str:
    by_cell = {row["cell"]: row["seconds"] for row in rows}
    first = rows[0]
    origin = ", ".join(
        f"{part} {first[f'prov.{part}']}"
        for part in ("dpscd", "commit", "numpy", "python", "cpu")
        if first.get(f"prov.{part}")
    )
    return (
        f"# {name}\n\n{text.strip()}\n\n![{name}]({name}.png)\n\n{len(by_cell)} cells, "
        f"{math.fsum(by_cell.values()):.0f} s of computing in all, {seconds:.0f} s in this "
        f"call. {origin}.\n"
    )
