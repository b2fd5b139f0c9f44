"""Run the bench of persons and write its rows, figures and page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.accuracy import Result, results_of, run_methods, stored_rows
from dpscd_experiments.experiments.persons import person_settings
from dpscd_experiments.experiments.specs import load_spec, settings_of
from dpscd_experiments.opponents.person_registry import PERSON_METHODS
from dpscd_experiments.pages.persons_figure import draw_flights, draw_laws
from dpscd_experiments.pages.persons_page import page
from dpscd_experiments.pages.reproduction import Failure, write_csv
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.persons import FLIGHTS, load_persons
from dpscd_experiments.store import Store

__all__ = ["bench_persons"]


def bench_persons(
    out: Path,
    *,
    quick: bool = False,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | None = None,
    again: Sequence[str] = (),
    processes: int = 1,
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Run what is left of the bench, and write files from all that is stored."""
    for name in (*methods, *again):
        if name not in PERSON_METHODS:
            allowed = ", ".join(PERSON_METHODS)
            raise ParameterError(f"method={name!r} must be one of {allowed}.")
    whole = load_spec("persons") if spec is None else spec
    chosen = settings_of(whole, quick)
    settings = [
        replace(one, seeds=one.seeds if seeds is None else min(seeds, one.seeds))
        for one in person_settings(whole, quick, datasets)
    ]
    if any(setting.dataset == FLIGHTS for setting in settings):
        load_persons(FLIGHTS, "regression")  # raises when it is missing, before anything ran
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / "persons.jsonl")
    for name in again:
        store.forget(name)
    run_methods(
        settings,
        methods or PERSON_METHODS,
        chosen,
        store,
        known=PERSON_METHODS,
        processes=processes,
        progress=progress,
    )
    stored = stored_rows(store)
    everything = person_settings(whole, quick)
    return _write(out, results_of(everything, chosen, stored, PERSON_METHODS), quick)


def _write(out: Path, results: Sequence[Result], quick: bool) -> list[Path]:
    rows = [row for one in results for row in one.rows]
    if not rows:
        reasons = {reason for one in results for reason in one.trouble}
        raise Failure(f"persons: no results; {'; '.join(sorted(reasons))}")
    write_csv(out / "persons.csv", rows)
    files = [out / "persons.csv", out / "persons.md"]
    names = dict.fromkeys(one.setting.dataset for one in results if one.rows)
    real = [one for one in results if one.setting.dataset == FLIGHTS and one.rows]
    made = [one for one in results if one.setting.dataset != FLIGHTS and one.rows]
    if real:
        files += save_figure(draw_flights(real, quick), out, "persons-flights")
    if made:
        files += save_figure(draw_laws(made, quick), out, "persons-laws")
    pictures = [file.name for file in files if file.suffix == ".png"]
    splits = {name: load_persons(name, "regression").split for name in names}
    text = page(results, quick, pictures, splits)
    files[1].write_text(text, encoding="utf-8")
    return files
