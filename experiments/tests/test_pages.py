"""Pages say what rows say, invented ones and those of the documentation."""

import importlib.util
import math
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest

from dpscd_experiments.comparison import Result
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.experiments import accuracy, features, intervals, persons, tables
from dpscd_experiments.experiments.intervals_figures import draw_coverage, draw_table
from dpscd_experiments.experiments.intervals_page import (
    TABLES,
    fits_of,
    lines_of,
    numbers,
    page,
    share_of,
    terms_of,
    verdict,
)
from dpscd_experiments.experiments.persons_figures import draw_flights, draw_laws
from dpscd_experiments.opponents.registry import (
    FEATURE_METHODS,
    METHODS,
    PERSON_METHODS,
    TABLE_METHODS,
)
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.opponents.softmax import SCORE, TUNING, _scores, ranked
from dpscd_experiments.report import best_rival, mean_worth, paired_regret, regret
from dpscd_experiments.store import read_csv
from dpscd_experiments.style import quartiles

ROOT = Path(__file__).parents[2]
RESULTS, ROWS = ROOT / "docs" / "results", ROOT / "experiments" / "rows"
DESIGNS = intervals.designs_in(load_spec("intervals"))
PROVENANCE = {
    f"prov.{name}": f"{name}-1"
    for name in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
}
# Metrics of invented results, by experiment and loss: the n-th is larger by n.
METRICS = {
    ("accuracy", "logistic"): "accuracy log_loss brier auc calibration_error",
    ("accuracy", "squared"): "mse r2",
    ("tables", "logistic"): "accuracy auc log_loss calibration_error mean_chance cpu_seconds",
    ("tables", "squared"): "r2 mse cpu_seconds",
    ("features", "softmax"): "accuracy log_loss cpu_seconds",
    ("persons", "logistic"): "log_loss cpu_seconds",
    ("persons", "squared"): "mse cpu_seconds",
}


def result(method, values, *, bench="accuracy", loss="logistic", dataset="made", epsilon=1.0,
           trouble=(), tried=0, person=None, at=None, **config):  # fmt: skip
    setting = Setting(
        problem=f"{dataset}-{loss}", dataset=dataset, loss=loss, grid="small", epsilon=epsilon,
        delta=1e-5, seeds=3, tuning_seeds=(1000, 1001), finalists=2, experiment=bench,
    )  # fmt: skip
    names = {name: more for more, name in enumerate(METRICS[bench, loss].split())}
    if person is not None:
        names[f"person_{next(iter(names))}"] = person
    common = {f"param.{name}": one for name, one in config.items()} | PROVENANCE
    common["epsilon"] = epsilon if at is None else at
    rows = [
        {"seed": seed, "metric": name, "at": None, "value": value + more, **common}
        for seed, value in enumerate(values)
        for name, more in names.items()
    ]
    rows += [
        {"seed": seed, "metric": "calibration", "at": at, "value": at + 0.1 * seed, **common}
        for seed, _ in enumerate(values)
        for at in (0.15, 0.55)
    ]
    return Result(setting, method, tuple(rows), tried, tuple(trouble))


def accuracy_page(*results, quick=False):
    return accuracy.page(results, quick, ["accuracy-made-logistic"])


def tables_page(*results, quick=False):
    return tables.page(results, quick, ["tables-made-logistic"], {"made": "by halves"})


def test_numbers_of_a_page_are_those_of_the_rows():
    ours = result("ours", (0.8121, 0.8231, 0.8343))
    other = result("dp-sgd", (0.7, 0.71, 0.76), tried=38, clip=0.3, lot_size=50)
    text = accuracy_page(ours, other)
    for words in (
        "| ours, untuned | 0.8231 (0.8176, 0.8287) |",
        "| DP-SGD, tuned | 0.7100 (0.7050, 0.7350) |",
        "| ours, untuned | 1.8231 (1.8176, 1.8287) |",  # log-loss in these rows
        "clip 0.3, lot_size 50 | 38 |",
        "![made-logistic](accuracy-made-logistic.png)",
        "commit commit-1",
    ):
        assert words in text
    assert "Quick run" not in text
    assert "Quick run" in accuracy_page(ours, other, quick=True)
    ours = result("ours", (0.8, 0.81, 0.82), bench="tables")
    text = tables_page(ours, result("plain", (0.8,), bench="tables"))
    for words in (
        "* made: by halves.",
        "| ours, untuned | 5.8 (5.8, 5.8) |",  # seconds
        "![made-logistic](tables-made-logistic.png)",
        f"| made-logistic | 1 | ours, untuned | {4.81 / 4.8:.3f} | {2.81 / 2.8:.3f} |",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("shift", "mark"), [(-0.03, "▼"), (-0.02, ""), (0.0, ""), (0.02, ""), (0.03, "▲")]
)
def test_a_regret_is_marked_beyond_two_standard_errors(shift, mark):
    # The error of the difference of these is 0.01155: two of them are 0.0231.
    mine = tuple(0.8 + shift + step for step in (-0.02, 0.0, 0.02))
    ours, other = result("ours", mine), result("dp-sgd", (0.8, 0.8, 0.8))
    found = regret(ours, other)
    assert found.difference == pytest.approx(shift)
    assert found.error == pytest.approx(stdev(mine) / math.sqrt(3))
    text = accuracy_page(ours, other)
    row = next(line for line in text.splitlines() if line.startswith("| made-logistic | 1 |"))
    assert f"{found.difference:+.4f} ± {found.error:.4f}".replace("-0.0000", "+0.0000") in row
    assert ("▼" in row, "▲" in row) == (mark == "▼", mark == "▲")


def test_errors_and_losses_are_better_when_small_and_broken_runs_the_worst():
    ours = result("ours", (10.0, 11.0, 12.0), loss="squared")
    better = result("dp-sgd", (5.0, 5.0, 5.0), loss="squared")
    worse = result("adassp", (20.0, 20.0, 20.0), loss="squared")
    assert regret(ours, better).below
    assert regret(ours, worse).above
    assert best_rival([ours, worse, better], METHODS) is better
    text = accuracy_page(ours, better, worse)
    assert "-6.00 ± 0.58 ▼ (DP-SGD, tuned)" in text
    assert "better in 0 of 1 cells" in text
    assert "below by more than two in 1." in text
    broken = result("dp-sgd", (0.9, math.nan, 0.9))
    for metric in ("accuracy", "log_loss"):
        assert mean_worth(broken, metric) == -math.inf
        assert regret(result("ours", (0.1, 0.1)), broken, metric).above
    assert regret(result("ours", (0.5, math.nan)), result("dp-sgd", (0.1, 0.1))).below


def test_only_private_methods_at_the_same_budget_are_rivals():
    outside = {
        "accuracy": {"ours", "plain", "one-shot", "one-shot-tuned", "snapml"},
        "tables": {"ours", "plain", "ebm", "boosting"},
    }
    for bench, known in (("accuracy", METHODS), ("tables", TABLE_METHODS)):
        names = {name for name, method in known.items() if not method.rival}
        assert names == outside[bench]
        assert best_rival([result(x, (1.0,), bench=bench) for x in names], known) is None


def test_tables_are_compared_by_auc_and_log_loss_or_by_r2():
    mine, theirs = (0.80, 0.82, 0.84), (0.70, 0.75, 0.80)
    ours, ebm = (
        result(name, values, bench="tables")
        for name, values in (("ours", mine), ("dp-ebm", theirs))
    )
    error = math.sqrt(stdev(mine) ** 2 / 3 + stdev(theirs) ** 2 / 3)
    apart = fmean(mine) - fmean(theirs)
    text = tables_page(ours, ebm)
    assert f"| made-logistic (3) | 1 | AUC | +{apart:.4f} ± {error:.4f} ▲ |" in text
    assert f"| made-logistic (3) | 1 | log-loss | -{apart:.4f} ± {error:.4f} ▼ |" in text
    assert "Against DP-EBM: above by more than two standard errors in 1 of 2 cells" in text
    others = [ebm, result("mst", (0.9, 0.9), bench="tables")]
    assert best_rival(others, TABLE_METHODS, "auc").method == "mst"
    assert best_rival(others, TABLE_METHODS, "log_loss").method == "dp-ebm"
    text = tables_page(
        result("ours", (0.8, 0.8), loss="squared", bench="tables"),
        result("boosted-adassp", (0.7, 0.71), loss="squared", bench="tables"),
    )
    assert "| made-squared (2) | 1 | R2 | - | +0.0950" in text
    chances = text.split("## Probabilities")[1].split("## made-squared")[0]
    assert chances.count("\n|") == 2  # a head and nothing below


def test_what_was_skipped_and_what_is_not_private_is_said_once():
    skipped = [result("opacus", (), epsilon=e, trouble=["no torch here"]) for e in (0.5, 1.0)]
    text = accuracy_page(result("ours", (0.5, 0.6, 0.7)), *skipped)
    assert text.count("no torch here") == 1
    assert "| Opacus |" not in text
    assert "not released as private" not in text  # notes of methods that were not run
    kind = {"bench": "tables"}
    plain = [
        result("plain", (0.9,), epsilon=e, at=math.inf, tried=4, lam=1e-6, **kind)
        for e in (0.5, 1.0)
    ]
    ours = [result("ours", (0.8, 0.82), epsilon=e, **kind) for e in (0.5, 1.0)]
    line = "| made-logistic | our features, not private | any | lam 1e-06 | 4 |"
    assert tables_page(*ours, *plain).count(line) == 1
    axes = accuracy.draw([*ours, *plain], False, TABLE_METHODS, "auc").axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert lines["our features, not private"] == [1.9, 1.9]
    assert lines["ours, untuned"] == pytest.approx([1.81, 1.81])
    assert axes.get_title().endswith("quartiles of 2 seeds")


def test_figures_show_medians_and_flag_what_is_out_of_reach():
    assert quartiles([3.0]) == (3.0, 3.0, 3.0)
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert quartiles([1.0, 2.0, 3.0, 4.0, math.nan]) == (2.0, 3.0, 4.0)
    assert quartiles([1.0, math.nan, math.nan])[1] == math.inf
    results = [
        result(method, tuple(base + step for step in (-0.01, 0.0, 0.01)), epsilon=epsilon)
        for epsilon in (0.1, 1.0)
        for method, base in (("ours", 0.83), ("dp-sgd", 0.82), ("published", 0.81))
    ]
    results += [result("diffprivlib", (0.3, 0.3, 0.3))]
    figure = accuracy.draw(results, True, METHODS, "accuracy")
    axes = figure.axes[0]
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert list(lines["ours, untuned"]) == pytest.approx([0.83, 0.83])
    assert [text.get_text() for text in axes.texts] == ["0.30 \u2193"]
    assert any("quick" in text.get_text() for text in figure.texts)
    figure = accuracy.draw_calibration([result("ours", (0.8, 0.8, 0.8))], False)
    assert list(figure.axes[0].get_lines()[1].get_ydata()) == pytest.approx([0.25, 0.65])


def person(method, values, **more):
    return result(method, values, bench="persons", **{"dataset": "ten", "person": 0.0} | more)


def test_persons_are_compared_seed_by_seed_with_the_best_cap_of_the_metric():
    # Data that are harder for everybody are no evidence against anybody.
    mine, theirs = (0.30, 0.50, 0.40), (0.32, 0.53, 0.41)
    found = paired_regret(person("sum", mine), person("cap-1", theirs), "log_loss")
    apart = [b - a for a, b in zip(mine, theirs, strict=True)]
    assert found.difference == pytest.approx(fmean(apart))
    assert found.error == pytest.approx(stdev(apart) / math.sqrt(3))
    fewer = paired_regret(person("sum", mine[:2]), person("cap-1", theirs), "log_loss")
    assert fewer.difference == pytest.approx(fmean(apart[:2]))
    results = [
        person("sum", (0.5, 0.5, 0.51)),
        person("share", (0.6, 0.6, 0.61)),
        person("cap-1", (0.7, 0.71, 0.7), person=-0.3),
        person("cap-3-own", (0.55, 0.55, 0.56), person=0.2),
    ]
    (rows,) = persons.verdicts(results, "sum")
    (means,) = persons.verdicts(results, "sum", person=True)
    assert (rows.rival.method, means.rival.method) == ("cap-3-own", "cap-1")
    assert rows.found.above
    assert means.found.below
    text = persons.page(results, False, ["persons-laws"], {"ten": "by halves"})
    for words in (
        "| ours, every row counts | generated | rows | 1 | 1 | 0 | 0 |",
        "| ours, every row counts | generated | persons | 1 | 0 | 1 | 1 |",
        "0.5533 ± 0.0033 (3, own) | +0.0500 ± 0.0000 ▲ |",
        "![persons-laws](persons-laws.png)",
        "* ten: by halves.",
    ):
        assert words in text
    assert len(draw_laws(results, False).axes) == 4
    common = {"dataset": "nycflights13", "loss": "squared"}
    flights = [
        person("sum", (300.0, 301.0, 302.0), epsilon=0.5, **common),
        person("cap-30", (310.0, 311.0, 309.0), epsilon=0.5, **common),
        person("row", (290.0, 290.0, 290.0), epsilon=1.0, **common),
    ]
    text = persons.numbers(flights, [])
    assert "| ours, every row counts | 301.00 ± 0.58 | - |" in text
    assert "| privacy of a row | - | 290.00 ± 0.00 |" in text
    assert "+9.00 ± 1.00 ▲" in text
    axes = draw_flights(flights, True).axes[0]
    assert axes.get_xlabel().startswith("epsilon of a plane")


def tried(value, step, averaging):
    common = {"dataset": "pixels", "epsilon": 1.0, "param.epochs": 20, "param.lot_size": 4096}
    return {**common, "metric": f"{SCORE}{averaging:g}", "at": step, "value": value}


TRIED = [tried(0.8, 4, 0.0), tried(0.9, 8, 0.0), tried(math.nan, 8, 0.4), tried(0.85, 4, 0.4)]


def test_features_are_compared_with_the_best_of_tuning():
    best = ranked([*TRIED, {**TRIED[0], "metric": "tried"}])
    assert [(one["step"], one["averaging"]) for one in best] == [(8, 0), (4, 0.4), (4, 0)]
    pixels = {"bench": "features", "loss": "softmax", "dataset": "pixels"}
    spec, ours = load_spec("features"), result("ours", (0.84, 0.85, 0.86), **pixels)
    method = FEATURE_METHODS["dp-sgd-1"]
    tuning = method.cells(ours.setting, spec, {})
    broken = {cell.key: [TRIED[2]] for cell in tuning}
    # Without a setting that works there are no results.
    assert [cell.key for cell in method.cells(ours.setting, spec, broken)] == list(broken)
    found = {**broken, tuning[0].key: TRIED}
    assert len(method.cells(ours.setting, spec, found)) == 2 + 3
    results = [
        ours,
        result("dp-sgd-1", (0.80, 0.81, 0.82), tried=24, step=4.0, **pixels),
        result("dp-sgd-3", (0.82, 0.82, 0.82), **pixels),
        result("ours", (0.90, 0.90, 0.90), **pixels, epsilon=3.0),
    ]
    text = features.page(results, [*TRIED, {**TRIED[0], "metric": "cpu_seconds"}], False)
    row = "| pixels (784) | 1 | 0.8500 ± 0.0058 | 0.8200 ± 0.0000 (3) | +0.0300 ± 0.0058 ▲ |"
    for words in (
        row,
        "| pixels (784) | 3 | 0.9000 ± 0.0000 | - | - |",
        "| pixels | 1 | 20 | 4096 | 0 | 0.8000 | **0.9000** |",
        "| pixels | 1 | 20 | 4096 | 0.4 | 0.8500 | broken |",
        "| DP-SGD, best in tuning | 1 | step 4 | 24 |",
        "| linear, Tramèr and Boneh 2021 | 3 | 0.897 |",
    ):
        assert words in text
    assert math.isnan(_scores(None, np.full((2, 10), np.nan))["accuracy"])


COUNTS = {
    "intervals": 10.0, "refused": 0.0, "covered": 9.0, "plain_covered": 10.0, "width": 1.2,
    "z2": 1.1, "cut": 0.01, "intercept_covered": 1.0, "intercept_plain": 1.0,
}  # fmt: skip


def fit(seed, *, design="base", family="ridge", status="ok", **changes):
    cells = intervals.fit_cells([x for x in DESIGNS if x.name == design])
    cell = next(cell for cell in cells if (cell.method, cell.seed) == (family, seed))
    common = {"cell": cell.key, **cell.columns(), **PROVENANCE, "status": status, "at": None}
    return [
        {**common, "message": "" if status == "ok" else "why", "metric": name, "value": value}
        for name, value in {**COUNTS, **changes}.items()
    ]


def term(place, method="ours", epsilon=1.0, low=0.1):
    common = {
        "cell": f"{method} {epsilon}", "experiment": TABLES, "dataset": "adult",
        "method": method, "epsilon": epsilon, "at": float(place), "status": "ok",
        "message": "", **PROVENANCE,
    }  # fmt: skip
    values = {"estimate": 0.2 if low == low else low, "low": low, "high": low + 0.3}
    return [{**common, "metric": name, "value": value} for name, value in values.items()]


def test_coverage_is_clustered_by_fit_and_refused_intervals_are_told():
    # All or nothing: ten intervals of a fit are as good as one.
    whole = share_of([(10.0, 10.0)] * 9 + [(0.0, 10.0)])
    assert whole.value == pytest.approx(0.9)
    assert whole.error == pytest.approx(math.sqrt(0.9 * 0.1 / 9))
    assert share_of([(0.0, 0.0)]) is None
    rows = fit(0) + fit(1, covered=5.0, intervals=5.0, refused=5.0, width=2.0)
    rows += fit(2, covered=0.0, intervals=0.0, refused=10.0, width=math.nan,
                intercept_covered=math.nan)  # fmt: skip
    text = numbers(fits_of(rows), [], DESIGNS, [])
    assert "| base | 3 | 93.3 ± 3.8 | 100.0 ± 0.0 | 1.60 | 50.0 | 66.7 |" in text
    assert "| 100.0 ± 0.0 (33.3 refused) |" in text
    many = {"family": "logistic", "design": "d-20", "covered": 0.0, "intervals": 0.0}
    rows = [row for seed in range(3) for row in fit(seed, covered=8.0)]
    for seed in range(3):
        rows += fit(seed, family="logistic", design="d-5", covered=10.0)
    rows += fit(0, **many, refused=20.0, width=math.nan)
    text = verdict(lines_of(fits_of(rows), DESIGNS))
    assert "93.5 to 96.5 % in 0 of 2 lines" in text
    assert "Below it by more than two standard errors: ridge, base (80.0 ± 0.0)." in text
    assert "Above it by more than two standard errors: logistic, 5 features (100.0" in text
    assert "All intervals refused: logistic, 20 features." in text


def test_intervals_of_real_tables_are_shown_next_to_those_without_privacy():
    rows = fit(0) + fit(0, design="no-intercept", intercept_covered=math.nan)
    real = [*term(0, "plain", math.inf), *term(0), *term(1, "plain", math.inf),
            *term(1, low=math.nan)]  # fmt: skip
    everything, figures = rows + real + fit(1, status="failed"), ["intervals-adult"]
    text = page(fits_of(rows), terms_of(real), DESIGNS, everything, False, figures)
    for words in (
        "![intervals-adult](intervals-adult.png)",
        "| 10 years of age | 0.2 (0.1, 0.4) | 0.2 (0.1, 0.4) |",
        "| a level of education | 0.2 (0.1, 0.4) | refused |",
        "* ridge, base: why",
        "| no intercept | 1 | 90.0 ± 0.0 | 100.0 ± 0.0 | 1.20 | 0.0 | 0.0 | - |",
    ):
        assert words in text
    figure = draw_coverage(lines_of(fits_of(rows), DESIGNS), True)
    assert [axes.get_title() for axes in figure.axes] == ["ridge"]
    (axes,) = draw_table(terms_of(real), False).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["10 years of age", "a level of education\nrefused at epsilon 1"]


@cache
def script(name):
    """Return a script of the documentation."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def results_of(name):
    """Return the results in the rows of the documentation, and all rows."""
    settings_in, known = {
        "tables": (tables.settings_in, TABLE_METHODS),
        "persons": (persons.settings_in, PERSON_METHODS),
        "features": (features.settings_in, FEATURE_METHODS),
    }[name]
    rows = read_csv(ROWS / f"{name}.csv")
    for row in rows:
        for empty in [key for key, value in row.items() if value is None and key != "at"]:
            del row[empty]
    found = []
    for setting in settings_in(load_spec(name), ()):
        for method in known:
            own = [
                row
                for row in rows
                if row["method"] == method
                # Table rows of methods without epsilon are of every problem of their data.
                and (row["param.problem"] == setting.problem or name == "tables")
                and row["dataset"] == setting.dataset
                and row["epsilon"] in (setting.epsilon, math.inf)
            ]
            if own:
                many = 24 if method.startswith(TUNING) and name == "features" else 0
                found.append(Result(setting, method, tuple(own), many, ()))
    return found, rows


def numbers_in(name):
    if name == "intervals":
        fits, terms = (read_csv(ROWS / f"{x}.csv") for x in (name, "intervals-tables"))
        drawn = ["coverage", *dict.fromkeys(row["dataset"] for row in terms)]
        return numbers(fits, terms, DESIGNS, [f"intervals-{x}" for x in drawn])
    results, rows = results_of(name)
    if name == "features":
        return features.numbers(results, [row for row in rows if row["method"] == TUNING])
    if name == "persons":
        return persons.numbers(results, ["persons-flights", "persons-laws"])
    return tables.numbers(results, [f"tables-{one.setting.problem}" for one in results])


@pytest.mark.full
@pytest.mark.parametrize("name", ["features", "intervals", "persons", "tables"])
def test_a_page_of_the_documentation_is_made_of_its_rows(name):
    module = script("make_results")
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    whole = module.page(name, f"# Title\n{numbers_in(name)}")
    assert text.startswith(module.HEADS[name])
    assert whole.removeprefix(module.HEADS[name]) in text
    assert f"../figures/{name}/{name}" in whole


@pytest.mark.full
def test_pages_are_written_from_what_the_command_wrote(tmp_path, monkeypatch):
    module, docs = script("make_results"), tmp_path / "docs"
    for folder in (docs / "figures", docs / "results", tmp_path / "rows"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(module, "DOCS", docs)
    monkeypatch.setattr(module, "ROWS", tmp_path / "rows")
    (tmp_path / "tables.md").write_text("# Tables\n\n![a](tables-a.png)\n")
    for name in ("tables-a.png", "tables.csv"):
        (tmp_path / name).write_text(name)
    module.main(tmp_path)
    written = (docs / "results" / "tables.md").read_text()
    assert written == module.HEADS["tables"] + "\n![a](../figures/tables/tables-a.png)\n"
    assert (docs / "figures" / "tables" / "tables-a.png").exists()
    assert (tmp_path / "rows" / "tables.csv").exists()


def test_the_finalists_of_the_documentation_are_the_best_of_tuning():
    results, rows = results_of("features")
    assert results
    for one in results:
        assert len(one.values("accuracy")) == one.setting.seeds
        if one.method.startswith(TUNING):
            own = (one.setting.dataset, one.setting.epsilon)
            best = ranked([x for x in rows if x["method"] == TUNING
                           and (x["dataset"], x["epsilon"]) == own])  # fmt: skip
            assert len(best) == 24
            expected = best[int(one.method[-1]) - 1]
            assert {name: one.config[name] for name in expected} == expected


@pytest.mark.full
def test_no_cap_of_the_documentation_has_more_than_epsilon():
    rows = [x for x in read_csv(ROWS / "persons.csv") if x["metric"] == "group_epsilon"]
    assert len({row["method"] for row in rows}) == 8
    for row in rows:
        assert 0.98 * row["epsilon"] <= row["value"] <= 1.0005 * row["epsilon"]


def test_the_page_of_the_verbs_is_what_they_say():
    module = script("make_cli")
    text = module.BENCH_PAGE.read_text()
    assert text == module.bench_page(), "run: python docs/make_cli.py"
    for verb in ("bench", "reproduce"):
        assert f"## dpscd {verb}\n" in text
