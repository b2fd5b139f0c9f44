"""One shape of experiments: a file says what runs and what is shown; this runs and writes it.

A file of :mod:`dpscd_experiments.experiments` ends in ``EXPERIMENT = Experiment(...)``. What it
has run is kept in one store, ``NAME.jsonl``, from which an interrupted run goes on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from tomllib import loads
from typing import Any

from dpscd.errors import DpscdError, ParameterError
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import DATASETS, load_dataset
from dpscd_experiments.runner import run
from dpscd_experiments.store import Row, Store, write_csv
from dpscd_experiments.style import save_figure

Spec = Mapping[str, Any]


class Failure(DpscdError):  # noqa: N818 - read as what happened
    """Nothing that could be shown came of an experiment."""


@dataclass(frozen=True)
class Asked:
    """The part of an experiment that is to run; empty: all of it."""

    quick: bool = False
    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    epsilons: Sequence[float] = ()
    seeds: int | None = None  # at most so many
    again: Sequence[str] = ()  # methods whose stored rows are forgotten first
    processes: int = 1
    progress: bool | None = None  # whether to show a bar; default: on a terminal

    def forget(self, store: Store) -> None:
        """Forget what is to run again: once all data are known to be there."""
        for method in self.again:
            store.forget(method)

    def run(self, cells: Sequence[Cell], store: Store, title: str) -> None:
        """Run the cells that are not stored yet."""
        run(cells, store, processes=self.processes, progress=self.progress, title=title)


@dataclass(frozen=True)
class Shown:
    """What is written of an experiment."""

    page: str  # Markdown; figures are named by their PNG files
    rows: Mapping[str, Sequence[Row]]  # by the name of their CSV file
    figures: Mapping[str, Any] = field(default_factory=dict)  # by the name of their file


@dataclass(frozen=True)
class Experiment:
    """What runs, and what is shown of it."""

    run: Callable[[Spec, Asked, Store], None]  # what is asked for and not stored yet
    show: Callable[[Spec, bool, Store], Shown]  # all that is stored of a (quick) run
    # What may be asked for, by the options' names: data, method, again, epsilon.
    choices: Callable[[Spec], Mapping[str, Sequence[Any]]]


def load_spec(name: str) -> dict[str, Any]:
    """Return what the file of an experiment says, its table ``quick`` included."""
    file = files("dpscd_experiments") / "specs" / f"{name}.toml"
    return loads(file.read_text(encoding="utf-8"))


def settings_of(spec: Spec, quick: bool) -> dict[str, Any]:
    """Return the settings of a full run, or what ``quick`` changes of them."""
    settings = {name: value for name, value in spec.items() if name != "quick"}
    return {**settings, **spec.get("quick", {})} if quick else settings


def find(name: str) -> Experiment:
    """Return an experiment by its name; only its own modules are imported."""
    module = "fig1" if name.startswith("fig1") else name  # these differ in their settings alone
    found: Experiment = import_module(f"dpscd_experiments.experiments.{module}").EXPERIMENT
    return found


def perform(name: str, out: Path, asked: Asked, spec: Spec | None = None) -> list[Path]:
    """Run what is asked for and not stored yet, and write files of all that is stored."""
    experiment, spec = find(name), load_spec(name) if spec is None else spec
    given = {
        "data": asked.datasets,
        "method": asked.methods,
        "epsilon": asked.epsilons,
        "again": asked.again,
    }
    choices = experiment.choices(settings_of(spec, asked.quick))
    for option, values in given.items():
        allowed = choices.get(option, ())
        for value in values:
            if value not in allowed:
                words = f"one of {', '.join(map(str, allowed))}" if allowed else "left out"
                raise ParameterError(f"{option}={value!r} must be {words}.")
    store = Store(out / f"{name}.jsonl")
    experiment.run(spec, asked, store)
    shown = experiment.show(spec, asked.quick, store)
    out.mkdir(parents=True, exist_ok=True)
    written = [out / f"{name}.md"]
    written[0].write_text(shown.page, encoding="utf-8")
    for stem, rows in shown.rows.items():
        written.append(out / f"{stem}.csv")
        write_csv(written[-1], rows)
    for stem, figure in shown.figures.items():
        written += save_figure(figure, out, stem)
    return written


def target(
    cells: Callable[[Spec, bool], list[Cell]],
    text: Callable[[list[Row], bool], str],
    draw: Callable[[list[Row], bool], Any],
) -> Experiment:
    """Return the experiment of a figure or table of the paper, all of whose cells must end."""

    def go(spec: Spec, asked: Asked, store: Store) -> None:
        wanted = cells(spec, asked.quick)
        for dataset in {cell.dataset for cell in wanted} & set(DATASETS):
            load_dataset(dataset)  # raises when it is missing, before anything has run
        asked.run(wanted, store, wanted[0].experiment)

    def show(spec: Spec, quick: bool, store: Store) -> Shown:
        # The store may hold another version of the target too: quick or full.
        wanted = {cell.key: cell for cell in cells(spec, quick)}
        rows = [row for row in store.read() if row["cell"] in wanted]
        name = rows[0]["experiment"]
        failed = {row["cell"]: row["message"] for row in rows if row["status"] != "ok"}
        if failed:
            raise Failure(
                f"{name}: {len(failed)} of {len(wanted)} cells failed, the first with: "
                f"{next(iter(failed.values()))}. Run the command again to retry them."
            )
        page = f"# {name}\n\n{text(rows, quick).strip()}\n\n![{name}]({name}.png)\n\n"
        return Shown(page + _origin(rows), {name: rows}, {name: draw(rows, quick)})

    return Experiment(go, show, lambda _: {})


def _origin(rows: Sequence[Row]) -> str:
    by_cell = {row["cell"]: row["seconds"] for row in rows}
    words = ", ".join(
        f"{part} {rows[0][f'prov.{part}']}"
        for part in ("dpscd", "commit", "numpy", "python", "cpu")
        if rows[0].get(f"prov.{part}")
    )
    seconds = math.fsum(by_cell.values())
    return f"{len(by_cell)} cells, {seconds:.0f} s of computing in all. {words}.\n"
