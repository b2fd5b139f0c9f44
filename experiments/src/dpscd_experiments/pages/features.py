"""Run the bench of features and write its rows, figure and page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.accuracy import Result, results_of, run_methods, stored_rows
from dpscd_experiments.experiments.features import feature_settings
from dpscd_experiments.experiments.specs import load_spec, settings_of
from dpscd_experiments.features import load_features
from dpscd_experiments.opponents.feature_registry import FEATURE_METHODS
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.opponents.softmax import TUNING
from dpscd_experiments.pages.features_figure import draw
from dpscd_experiments.pages.features_page import page
from dpscd_experiments.pages.reproduction import Failure, write_csv
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.store import Row, Store

__all__ = ["bench_features"]


def bench_features(
    out: Path,
    *,
    quick: bool = False,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    seeds: int | None = None,
    again: Sequence[str] = (),
    processes: int = 1,
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Run what is left of the bench, and write files from all that is stored."""
    for name in methods:
        if name not in FEATURE_METHODS:
            raise ParameterError(
                f"method={name!r} must be one of {', '.join(FEATURE_METHODS)}."
            )
    for name in again:
        if name not in (*FEATURE_METHODS, TUNING):
            known = ", ".join((*FEATURE_METHODS, TUNING))
            raise ParameterError(f"again={name!r} must be one of {known}.")
    whole = load_spec("features") if spec is None else spec
    chosen = settings_of(whole, quick)
    settings = [
        replace(one, seeds=one.seeds if seeds is None else min(seeds, one.seeds))
        for one in feature_settings(whole, quick, datasets, epsilons)
    ]
    # Raises when they are missing, before anything ran.
    for name in dict.fromkeys(setting.dataset for setting in settings):
        load_features(name, chosen.get("records"))
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / "features.jsonl")
    for name in again:
        store.forget(name)
    run_methods(
        settings,
        methods or FEATURE_METHODS,
        chosen,
        store,
        known=FEATURE_METHODS,
        processes=processes,
        progress=progress,
    )
    stored = stored_rows(store)
    everything = feature_settings(whole, quick)
    results = results_of(everything, chosen, stored, FEATURE_METHODS)
    return _write(out, results, _tuning(everything, chosen, stored), quick)


def _tuning(settings: Sequence[Setting], spec: Mapping[str, Any], stored: Stored) -> list[Row]:
    """Return the rows of all settings that were tried on validation rows."""
    cells = {
        cell.key
        for setting in settings
        for method in FEATURE_METHODS.values()
        for cell in method.cells(setting, spec, stored)
        if cell.method == TUNING
    }
    return [row for key, rows in stored.items() if key in cells for row in rows]


def _write(
    out: Path, results: Sequence[Result], tuning: Sequence[Row], quick: bool
) -> list[Path]:
    rows = [row for one in results for row in one.rows]
    if not rows:
        reasons = {reason for one in results for reason in one.trouble}
        raise Failure(f"features: no results; {'; '.join(sorted(reasons))}")
    write_csv(out / "features.csv", [*rows, *tuning])
    files = [out / "features.csv", out / "features.md"]
    files += save_figure(draw([one for one in results if one.rows], quick), out, "features")
    pictures = [file.name for file in files if file.suffix == ".png"]
    files[1].write_text(page(results, tuning, quick, pictures), encoding="utf-8")
    return files
