"""Run the bench of tables and write its rows, figures and page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.accuracy import (
    Result,
    results_of,
    run_methods,
    settings_in,
    stored_rows,
)
from dpscd_experiments.experiments.specs import load_spec, settings_of
from dpscd_experiments.opponents.table_registry import TABLE_METHODS
from dpscd_experiments.pages.accuracy_figure import draw
from dpscd_experiments.pages.parts import by_problem
from dpscd_experiments.pages.reproduction import Failure, write_csv
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.pages.tables_page import MAIN, page
from dpscd_experiments.store import Store
from dpscd_experiments.tables import load_table

__all__ = ["bench_tables"]


def bench_tables(
    out: Path,
    *,
    quick: bool = False,
    tables: Sequence[str] = (),
    methods: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    seeds: int | None = None,
    again: Sequence[str] = (),
    processes: int = 1,
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Run what is left of the bench, and write files from all that is stored."""
    for name in (*methods, *again):
        if name not in TABLE_METHODS:
            allowed = ", ".join(TABLE_METHODS)
            raise ParameterError(f"method={name!r} must be one of {allowed}.")
    whole = load_spec("tables") if spec is None else spec
    chosen = settings_of(whole, quick)
    for epsilon in epsilons:
        if epsilon not in chosen["epsilons"]:
            allowed = ", ".join(f"{one:g}" for one in chosen["epsilons"])
            raise ParameterError(f"epsilon={epsilon!r} must be one of {allowed}.")
    settings = [
        replace(one, seeds=one.seeds if seeds is None else min(seeds, one.seeds))
        for one in settings_in(whole, quick, tables)
        if not epsilons or one.epsilon in epsilons
    ]
    for dataset in {setting.dataset for setting in settings}:
        load_table(dataset)  # raises when it is missing, before anything has run
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / "tables.jsonl")
    for name in again:
        store.forget(name)
    run_methods(
        settings,
        methods or TABLE_METHODS,
        chosen,
        store,
        known=TABLE_METHODS,
        processes=processes,
        progress=progress,
    )
    stored = stored_rows(store)
    results = results_of(settings_in(whole, quick), chosen, stored, TABLE_METHODS)
    return _write(out, results, quick)


def _write(out: Path, results: Sequence[Result], quick: bool) -> list[Path]:
    rows = [row for one in results for row in one.rows]
    if not rows:
        reasons = {reason for one in results for reason in one.trouble}
        raise Failure(f"tables: no results; {'; '.join(sorted(reasons))}")
    write_csv(out / "tables.csv", list({id(row): row for row in rows}.values()))
    files = [out / "tables.csv", out / "tables.md"]
    figures: dict[str, list[str]] = {}
    splits: dict[str, str] = {}
    for problem, own in by_problem(results).items():
        if any(one.rows for one in own):
            setting = own[0].setting
            splits[problem] = load_table(setting.dataset).split
            figure = draw(own, quick, TABLE_METHODS, MAIN[setting.loss][0])
            made = save_figure(figure, out, f"tables-{problem}")
            figures[problem] = [file.name for file in made if file.suffix == ".png"]
            files += made
    files[1].write_text(page(results, quick, figures, splits), encoding="utf-8")
    return files
