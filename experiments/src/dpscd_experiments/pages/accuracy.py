"""Run the accuracy bench and write its rows, figures and page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.datasets import DATASETS, load_dataset
from dpscd_experiments.experiments.accuracy import (
    Result,
    results_of,
    run_methods,
    settings_in,
    stored_rows,
)
from dpscd_experiments.experiments.specs import load_spec, settings_of
from dpscd_experiments.opponents.registry import METHODS
from dpscd_experiments.pages.accuracy_figure import draw, draw_calibration
from dpscd_experiments.pages.accuracy_page import page
from dpscd_experiments.pages.reproduction import Failure, write_csv
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.store import Store

__all__ = ["bench_accuracy"]

_CALIBRATED_AT = 1.0  # the epsilon whose calibration curves are drawn


def bench_accuracy(
    out: Path,
    *,
    quick: bool = False,
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    again: Sequence[str] = (),
    processes: int = 1,
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Run what is left of the bench, and write files from all that is stored."""
    for name in (*methods, *again):
        if name not in METHODS:
            raise ParameterError(f"method={name!r} must be one of {', '.join(METHODS)}.")
    whole = load_spec("accuracy") if spec is None else spec
    chosen = settings_of(whole, quick)
    settings = settings_in(whole, quick, problems)
    for dataset in {setting.dataset for setting in settings} & set(DATASETS):
        load_dataset(dataset)  # raises when it is missing, before anything has run
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / "accuracy.jsonl")
    for name in again:
        store.forget(name)
    run_methods(
        settings,
        methods or METHODS,
        chosen,
        store,
        processes=processes,
        progress=progress,
    )
    results = results_of(settings_in(whole, quick), chosen, stored_rows(store))
    return _write(out, results, quick)


def _write(out: Path, results: Sequence[Result], quick: bool) -> list[Path]:
    rows = [row for one in results for row in one.rows]
    if not rows:
        reasons = {reason for one in results for reason in one.trouble}
        raise Failure(f"accuracy: no results; {'; '.join(sorted(reasons))}")
    write_csv(out / "accuracy.csv", list({id(row): row for row in rows}.values()))
    by: dict[str, list[Result]] = {}
    for one in results:
        by.setdefault(one.setting.problem, []).append(one)
    files = [out / "accuracy.csv", out / "accuracy.md"]
    figures: dict[str, list[str]] = {}
    for problem, own in by.items():
        if any(one.rows for one in own):
            made = save_figure(draw(own, quick), out, f"accuracy-{problem}")
            at = [one for one in own if one.setting.epsilon == _CALIBRATED_AT]
            if any(one.curve("calibration") for one in at):
                made += save_figure(draw_calibration(at, quick), out, f"calibration-{problem}")
            figures[problem] = [file.name for file in made if file.suffix == ".png"]
            files += made
    files[1].write_text(page(results, quick, figures), encoding="utf-8")
    return files
