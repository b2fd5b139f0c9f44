"""The section of a page on estimates and their intervals."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from model_files import (
    many_classes,
    of_persons,
    page_of,
    ridge,
    ridge_intervals,
    table_intervals,
)  # fmt: skip
from test_model_report import Checker, few_epsilons, words_of  # noqa: F401

from dpscd import DPRidge
from dpscd.documents import effects as module
from dpscd.documents import tradeoff
from dpscd.documents.described import Described
from dpscd.documents.effects import Estimate, estimates, rescaled
from dpscd.rendering import number

TITLE = "Effects and how sure they are"


@pytest.fixture(scope="module")
def shown():
    model = table_intervals()
    return model, page_of(model)


@pytest.fixture(scope="module")
def arrays():
    return ridge_intervals()


def section(page):
    """Return the words of the section in a page."""
    found = re.search(r'<section id="effects".*?</section>', page, re.DOTALL)
    return Checker(found.group(0)).words


@pytest.mark.full
def test_the_section_stands_before_the_model_and_its_noise(shown):
    titles = re.findall(r"<h2[^>]*>([^<]*)</h2>", shown[1])
    assert titles.index(TITLE) == titles.index("The model and its noise") - 1
    assert '<a href="#effects">Effects</a>' in shown[1]


def test_every_number_of_the_summary_is_there(shown):
    model, page = shown
    words = section(page)
    for row in model.summary().frame.to_dict(orient="records"):
        if row["refused"] is not None:
            assert f"{row['term']}: {row['refused']}." in words
            continue
        low, high = number(row["low"]), number(row["high"])
        parts = f"{row['term']}{number(row['estimate'], 4)}{low} to {high}"
        assert parts + number(row["std_error"]) in words
        assert f"{100.0 * row['privacy']:.0f} %{number(row['odds_ratio'], 4)}" in words
    assert "Without an interval" in words


def test_levels_are_named_with_what_they_are_compared_with(shown):
    words = section(shown[1])
    assert "town, against north" in words
    assert "with the level named beside its column" in words
    assert "one unit of it" in words
    assert "Odds ratios with intervals at 95 %, towards “yes”" in words
    assert "Standard errors assume that the model is true." in words


@pytest.mark.full
def test_a_regression_has_no_odds(arrays):
    words = section(page_of(arrays))
    assert "dds" not in words
    for part in (
        "the interval leaves out 0",
        "Effects with intervals at 95 %, towards a higher prediction",
        "Robust standard errors (sandwich).",
        "feature 0",
        "(intercept)",
        "of the feature as it was given",
    ):
        assert part in words


def test_assumptions_are_those_of_the_model(arrays):
    summary = arrays.summary()
    assert "(sandwich), clustered by person" in section(page_of(of_persons(arrays)))
    assert summary.notes[-1] in section(page_of(arrays))


def test_models_for_prediction_have_a_note_and_no_section():
    words = words_of(ridge(epsilon=1.0))
    assert TITLE not in words
    assert (
        "These coefficients are for prediction, which shrinks or inflates them. For estimates "
        "with intervals train with --inference."
    ) in words
    words = words_of(many_classes())
    assert "These coefficients are for prediction" in words
    assert "--inference" not in words


@pytest.mark.full
def test_other_epsilons_are_planned_for_intervals_too(shown, arrays):
    for model in (shown[0], arrays):
        subject = Described(model)
        listed = [(x.what, x.size) for x in model.privacy_.releases]
        plan = tradeoff._plan(subject, model.privacy_.epsilon)
        assert [(x.what, x.size) for x in plan.releases] == listed
        found = [x.epsilon for x in tradeoff.points(subject)]
        assert 0.001 not in found  # noise would hide everything
        assert model.privacy_.epsilon in found
    words = Checker(shown[1]).words
    assert "noise would hide all confidence intervals are left out" in words


# --- what is drawn ---------------------------------------------------------------------------


def estimate(value, half, widest=0.0, term="x"):
    numbers = value, value - half, value + half, half / 1.96, 0.5, 0.1
    return Estimate(term, "", term, widest, None, *numbers)


def test_numbers_are_drawn_for_a_step_that_suits_the_axis():
    found = rescaled(estimate(0.03, 0.01, widest=73.0), 2.5)
    assert found.label == "x, per 10"
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.2, 0.4))
    assert rescaled(estimate(0.03, 0.01, widest=500.0), 5.0).label == "x, per 100"
    assert rescaled(estimate(30.0, 1.0, widest=2.0), 2.5).label == "x, per 0.01"
    level = estimate(0.03, 0.01)
    assert rescaled(level, 2.5) == level


def test_zero_is_inside_or_outside():
    assert estimate(1.0, 0.5).leaves_out_zero
    assert estimate(-1.0, 0.5).leaves_out_zero
    assert not estimate(-1.0, 1.5).leaves_out_zero


def test_a_long_chart_shows_the_clearest(arrays, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 1)
    page = page_of(arrays).split('id="effects"')[1].split("</section>")[0]
    assert "the 1 clearest" in page
    assert page.count('<td class="plot">') == 1
    assert "feature 1" in page  # in the table


def test_where_nothing_has_an_interval_the_page_says_so(arrays, monkeypatch):
    summary = arrays.summary()
    names = [x for x in summary.frame if x not in ("term", "refused")]
    summary.frame[names] = math.nan
    summary.frame["refused"] = pd.Series(["it is hidden"] * len(summary.frame), dtype=object)
    monkeypatch.setattr(arrays, "summary", lambda: summary)
    words = section(page_of(arrays))
    assert "No effect has an interval" in words
    assert "feature 0: it is hidden." in words
    assert "Chart" not in words


def test_features_with_names_keep_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, size=(3000, 2)), columns=["height", "x0"])
    y = np.clip(X["height"] + rng.normal(size=3000) / 4, -1, 1)
    model = DPRidge(8.0, y_bounds=(-1, 1), inference=True).fit(X, y)
    found = estimates(Described(model), model.summary())
    assert [x.label for x in found] == ["height", "x0", "(intercept)"]
    assert [x.widest for x in found] == [2.0, 2.0, 0.0]
