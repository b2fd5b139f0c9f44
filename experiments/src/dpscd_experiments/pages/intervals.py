"""Run the bench of intervals and write its rows, figures and page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.intervals import (
    OURS,
    PLAIN,
    TABLES,
    Named,
    designs_in,
    fit_cells,
    table_cells,
)
from dpscd_experiments.experiments.specs import load_spec, settings_of
from dpscd_experiments.interval_designs import FAMILIES
from dpscd_experiments.interval_tables import QUESTIONS
from dpscd_experiments.pages.intervals_figure import draw_coverage, draw_table
from dpscd_experiments.pages.intervals_page import page
from dpscd_experiments.pages.intervals_rows import fits_of, lines_of, terms_of
from dpscd_experiments.pages.reproduction import Failure, write_csv
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.runner import run
from dpscd_experiments.store import Row, Store

__all__ = ["bench_intervals"]


def bench_intervals(
    out: Path,
    *,
    quick: bool = False,
    designs: Sequence[str] = (),
    families: Sequence[str] = (),
    seeds: int | None = None,
    again: Sequence[str] = (),
    processes: int = 1,
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Run what is left of the bench, and write files from all that is stored."""
    methods = (*FAMILIES, OURS, PLAIN)
    for name in again:
        if name not in methods:
            raise ParameterError(f"again={name!r} must be one of {', '.join(methods)}.")
    whole = load_spec("intervals") if spec is None else spec
    chosen = settings_of(whole, quick)
    tables = [name for name in designs if name in QUESTIONS]
    made = [name for name in designs if name not in QUESTIONS]
    everything = designs_in(whole, quick)
    waiting = []
    if made or not tables:
        own = designs_in(whole, quick, only=made, families=families, seeds=seeds)
        waiting += fit_cells(own)
    if tables or not (designs or families):
        # Raises when a table is missing, before anything ran.
        waiting += table_cells(tables or chosen["tables"], chosen["table_epsilons"])
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / "intervals.jsonl")
    for name in again:
        store.forget(name)
    run(waiting, store, processes=processes, progress=progress, title="intervals")
    return _write(out, store.read(), everything, quick)


def _write(out: Path, rows: list[Row], designs: Sequence[Named], quick: bool) -> list[Path]:
    # The store may hold another version of the bench too: quick or full.
    wanted = {cell.key for cell in fit_cells(designs)}
    kept = [row for row in rows if row["experiment"] == TABLES or row["cell"] in wanted]
    done = [row for row in kept if row["status"] == "ok"]
    fits, terms = fits_of(done), terms_of(done)
    if not fits and not terms:
        reasons = {row["message"] for row in kept}
        raise Failure(f"intervals: no results; {'; '.join(sorted(reasons))}")
    files = [out / "intervals.md"]
    if fits:
        files.append(out / "intervals.csv")
        write_csv(files[-1], fits)
        lines = lines_of(fits, designs)
        files += save_figure(draw_coverage(lines, quick), out, "intervals-coverage")
    if terms:
        files.append(out / "intervals-tables.csv")
        write_csv(files[-1], terms)
        for name in dict.fromkeys(row["dataset"] for row in terms):
            figure = draw_table([row for row in terms if row["dataset"] == name], quick)
            files += save_figure(figure, out, f"intervals-{name}")
    pictures = [file.name for file in files if file.suffix == ".png"]
    text = page(fits, terms, designs, kept, quick, pictures)
    files[0].write_text(text, encoding="utf-8")
    return files
