"""The page of intervals says what the rows say, invented ones and those of the docs."""

import math
from pathlib import Path

import pytest

from dpscd_experiments.experiments.intervals import TABLES, designs_in, fit_cells
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.pages.intervals_figure import draw_coverage, draw_table
from dpscd_experiments.pages.intervals_page import numbers, page, verdict
from dpscd_experiments.pages.intervals_rows import fits_of, lines_of, share_of, terms_of
from dpscd_experiments.pages.reproduction import read_csv, write_csv

DOCS = Path(__file__).parents[3] / "docs" / "results"
ROWS = Path(__file__).parents[2] / "rows"
DESIGNS = designs_in(load_spec("intervals"), False)
PROVENANCE = {
    f"prov.{name}": f"{name}-1"
    for name in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
}
COUNTS = {
    "intervals": 10.0, "refused": 0.0, "covered": 9.0, "plain_covered": 10.0, "width": 1.2,
    "z2": 1.1, "cut": 0.01, "intercept_covered": 1.0, "intercept_plain": 1.0,
}  # fmt: skip


def stored(seed, *, design="base", family="ridge", status="ok", **changes):
    cell = next(
        cell
        for cell in fit_cells([x for x in DESIGNS if x.name == design])
        if (cell.method, cell.seed) == (family, seed)
    )
    common = {"cell": cell.key, **cell.columns(), **PROVENANCE, "status": status, "at": None}
    return [
        {**common, "message": "" if status == "ok" else "why", "metric": name, "value": value}
        for name, value in {**COUNTS, **changes}.items()
    ]


def term(place, method="ours", epsilon=1.0, low=0.1, dataset="adult"):
    common = {
        "cell": f"{dataset} {method} {epsilon}", "experiment": TABLES, "dataset": dataset,
        "method": method, "epsilon": epsilon, "at": float(place), "status": "ok",
        "message": "", **PROVENANCE,
    }  # fmt: skip
    values = {"estimate": 0.2 if low == low else low, "low": low, "high": low + 0.3}
    return [{**common, "metric": name, "value": value} for name, value in values.items()]


def test_errors_are_clustered_by_fit():
    # All or nothing: ten intervals of a fit are as good as one.
    whole = share_of([(10.0, 10.0)] * 9 + [(0.0, 10.0)])
    single = share_of([(1.0, 1.0)] * 9 + [(0.0, 1.0)])
    assert whole.value == pytest.approx(0.9)
    assert whole.error == pytest.approx(single.error)
    assert whole.error == pytest.approx(math.sqrt(0.9 * 0.1 / 9))
    assert share_of([(0.0, 0.0)]) is None
    # Fits that refuse most of their intervals weigh less.
    assert share_of([(9.0, 10.0), (0.0, 1.0)]).value == pytest.approx(9.0 / 11.0)


def test_a_line_has_all_that_its_fits_say():
    rows = stored(0) + stored(1, covered=5.0, intervals=5.0, refused=5.0, width=2.0)
    rows += stored(2, covered=0.0, intervals=0.0, refused=10.0, width=math.nan,
                   intercept_covered=math.nan)  # fmt: skip
    (line,) = lines_of(fits_of(rows), DESIGNS)
    assert (line.family, line.words, line.fits) == ("ridge", "base", 3)
    assert line.coverage.value == pytest.approx(14.0 / 15.0)
    assert line.plain.value == 1.0
    assert line.width == pytest.approx(1.6)
    assert line.refused == pytest.approx(0.5)
    assert line.any_refused == pytest.approx(2.0 / 3.0)
    assert line.intercept.value == 1.0
    assert line.intercept_refused == pytest.approx(1.0 / 3.0)
    text = numbers(fits_of(rows), [], DESIGNS, [])
    assert "| base | 3 | 93.3 ± 3.8 | 100.0 ± 0.0 | 1.60 | 50.0 | 66.7 |" in text
    assert "| 100.0 ± 0.0 (33.3 refused) |" in text


def test_what_is_too_low_too_high_or_refused_is_said():
    rows = [row for seed in range(3) for row in stored(seed, covered=8.0)]
    rows += [
        row
        for seed in range(3)
        for row in stored(seed, family="logistic", design="d-5", covered=10.0)
    ]
    rows += stored(
        0, family="logistic", design="d-20", covered=0.0, intervals=0.0, refused=20.0,
        width=math.nan,
    )  # fmt: skip
    text = verdict(lines_of(fits_of(rows), DESIGNS))
    assert "93.5 to 96.5 % in 0 of 2 lines" in text
    assert "Below it by more than two standard errors: ridge, base (80.0 ± 0.0)." in text
    assert "Above it by more than two standard errors: logistic, 5 features (100.0" in text
    assert "All intervals refused: logistic, 20 features." in text
    assert "Some refused (share of intervals): none." in text


def test_the_page_has_figures_tables_and_trouble():
    rows = stored(0) + stored(0, design="no-intercept", intercept_covered=math.nan)
    real = [
        *term(0, "plain", math.inf), *term(0), *term(1, "plain", math.inf),
        *term(1, low=math.nan),
    ]  # fmt: skip
    everything = rows + real + stored(1, status="failed")
    figures = ["intervals-coverage.png", "intervals-adult.png"]
    text = page(fits_of(rows), terms_of(real), DESIGNS, everything, False, figures)
    assert "![intervals-coverage](intervals-coverage.png)" in text
    assert "![intervals-adult](intervals-adult.png)" in text
    assert "| by | not private | epsilon 1 |" in text
    assert "| 10 years of age | 0.2 (0.1, 0.4) | 0.2 (0.1, 0.4) |" in text
    assert "| a level of education | 0.2 (0.1, 0.4) | refused |" in text
    assert "* ridge, base: why" in text
    assert "| no intercept | 1 | 90.0 ± 0.0 | 100.0 ± 0.0 | 1.20 | 0.0 | 0.0 | - |" in text
    assert "commit commit-1" in text
    assert "cpu" not in text
    assert "Quick run" not in text
    assert "Quick run" in page(fits_of(rows), [], DESIGNS, rows, True, [])


def test_figures_show_every_line():
    rows = stored(0) + stored(0, family="logistic", covered=5.0, refused=1.0)
    figure = draw_coverage(lines_of(fits_of(rows), DESIGNS), True)
    assert [axes.get_title() for axes in figure.axes] == ["ridge", "logistic"]
    label = figure.axes[1].get_yticklabels()[0].get_text()
    assert label == "base\n9 % refused"
    real = terms_of(
        [*term(0, "plain", math.inf), *term(0), *term(0, epsilon=3.0, low=math.nan)]
    )
    (axes,) = draw_table(real, False).axes
    assert axes.get_yticklabels()[0].get_text() == "10 years of age\nrefused at epsilon 3"
    names = axes.get_legend_handles_labels()[1]
    assert names == ["not private", "epsilon 3", "epsilon 1"]


def test_rows_are_what_they_were_after_a_file(tmp_path):
    fits = fits_of(stored(0) + stored(1, width=math.nan, covered=0.0))
    write_csv(tmp_path / "fits.csv", fits)
    again = read_csv(tmp_path / "fits.csv")
    assert repr(again) == repr(fits)
    text = numbers(fits, [], DESIGNS, [])
    assert numbers(again, [], DESIGNS, []) == text


def test_the_page_of_the_docs_is_made_of_its_rows():
    fits, terms = (read_csv(ROWS / f"{name}.csv") for name in ("intervals", "intervals-tables"))
    names = ("coverage", *dict.fromkeys(row["dataset"] for row in terms))
    files = [f"../figures/intervals/intervals-{name}.png" for name in names]
    text = (DOCS / "intervals.md").read_text(encoding="utf-8")
    assert numbers(fits, terms, DESIGNS, files) in text
    for file in files:
        assert (DOCS / file).exists()
