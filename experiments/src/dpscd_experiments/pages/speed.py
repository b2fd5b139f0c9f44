"""Run the speed bench and write its rows, figures and page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd_experiments.experiments.specs import load_spec, settings_of
from dpscd_experiments.pages.reproduction import Failure, write_csv
from dpscd_experiments.pages.speed_figure import draw_epochs, draw_growth
from dpscd_experiments.pages.speed_page import page
from dpscd_experiments.pages.style import save_figure
from dpscd_experiments.progress import progress_bar
from dpscd_experiments.speed.contest import Row, take_turns
from dpscd_experiments.speed.contests import GROUPS, count_turns
from dpscd_experiments.speed.machine import load, machine

__all__ = ["bench_speed"]


def bench_speed(
    out: Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    spec: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Measure everything in one run, and write its files."""
    for name in only:
        if name not in GROUPS:
            raise ParameterError(f"only={name!r} must be one of {', '.join(GROUPS)}.")
    sizes = settings_of(load_spec("speed") if spec is None else spec, quick)
    groups = [name for name in GROUPS if name in only or not only]
    facts = machine()
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "speed.csv", out / "speed.md"]
    rows: list[Row] = []
    total = sum(count_turns(name, sizes[name]) for name in groups)
    with progress_bar("speed", total, progress) as advance:
        for name in groups:
            for contest in GROUPS[name](sizes[name]):
                for turn in take_turns(contest):
                    rows += turn
                    advance(Counter(row["status"] for row in rows))
                if rows:
                    write_csv(files[0], rows)  # an interrupted run leaves what it has
    facts["load average at the end"] = load()
    if not any(row["status"] == "ok" for row in rows):
        raise Failure(f"speed: no results; {rows[0]['message'] if rows else 'nothing ran'}")
    figures = []
    if any(row["contest"] == "dense" for row in rows):
        figures += save_figure(draw_epochs(rows, quick), out, "speed-epochs")
    if any(row["contest"].startswith("growth") for row in rows):
        figures += save_figure(draw_growth(rows, quick), out, "speed-growth")
    names = [file.name for file in figures if file.suffix == ".png"]
    files[1].write_text(page(rows, facts, quick, names), encoding="utf-8")
    return files + figures
