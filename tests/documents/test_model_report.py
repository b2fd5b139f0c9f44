"""The page about a model: complete, correct, and harmless whatever names it shows."""

import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from model_files import (
    EVIL,
    careless,
    charged,
    evil_intervals,
    many_classes,
    not_private,
    of_persons,
    page_of,
    paired,
    ridge,
    table_model,
)  # fmt: skip

from commands import call, refusal
from dpscd import DPLogisticRegression, Ledger, SecretSeed, load
from dpscd.documents import tradeoff
from dpscd.documents.charts import Axis, Chart, bar, stepped
from dpscd.documents.described import Described, _effects
from dpscd.documents.effects import _map
from dpscd.documents.tradeoff import points
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.privacy.relation import Unit
from dpscd.rendering import number
from refits import with_numbers


class Checker(HTMLParser):
    """Collects elements, text and anything that does not nest."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag != "meta":  # the one that is not closed
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return re.sub(r"\s+", " ", "".join(self.text))


def words_of(model, **more):
    return Checker(page_of(model, **more)).words


@pytest.fixture(scope="module", autouse=True)
def few_epsilons():
    """Plan for two epsilons only, where the page is not about them: each takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tradeoff, "_EPSILONS", (0.001, 2.0))
        yield


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return a model with a schema, charged to a ledger, and its page."""
    path = tmp_path_factory.mktemp("report") / "budget.db"
    model, ledger = charged(path)
    return model, ledger, page_of(model, ledger, "model.json")


@pytest.fixture
def checked(shown):
    return Checker(shown[2])


@pytest.fixture
def words(checked):
    return checked.words


def test_the_page_says_what_was_public_and_what_was_estimated(shown, words):
    model, *_ = shown
    low, high = (number(x, 6) for x in model.bounds_["hours"])
    bins = next(x.bins for x in model.schema_.columns if x.name == "hours")
    hours = f"estimated privatelybetween {low} and {high}"
    for part in (
        f"hoursnumber, smooth, {bins} intervals{hours}",
        "agenumber, 6 intervalsdeclaredbetween 0 and 120",
        "towncategorydeclarednorth, south",
        "idnot used",
        "retiredwhat is predicteddeclaredno, yes",
        "Number of records600",
    ):
        assert part in words


def test_the_page_shows_every_effect_with_its_band(shown, words):
    model, *_ = shown
    subject = Described(model)
    weights = subject.weights(0)
    shapes = model.shapes().query("seen")
    np.testing.assert_array_equal([x.value for x in weights], shapes["effect"])
    np.testing.assert_array_equal([x.band for x in weights], shapes["band"])
    assert [x.group for x in weights] == shapes["column"].tolist()
    assert "Effects towards “yes”" in words
    for weight in weights:
        assert f"{number(weight.value, 4)}{number(weight.band, 3)}{weight.word}" in words
    assert {x.group for x in weights} == {"age", "hours", "town", "member"}
    towns = shapes.query("column == 'town'")["value"].tolist()
    assert [x.label for x in weights if x.group == "town"] == towns
    assert "The band is an estimate of two standard deviations" in words


def test_the_budget_is_shown_and_its_own_fit_marked(words):
    assert "Spent: epsilon 1.5 of 2. Left: 0.5." in words
    assert words.count("(this plan)") == 1
    assert "DPLogisticRegression (this plan)finished1" in words
    assert "1 in 1,000" in words


def test_fits_with_a_seed_are_marked_in_the_budget(words, tmp_path):
    assert "noise from a seed" not in words
    model, ledger = charged(tmp_path / "budget.db")
    estimator = DPLogisticRegression(
        0.5, delta=1e-5, epochs=2, ledger=ledger.path, dataset="people",
        random_state=SecretSeed(2**100),
    )  # fmt: skip
    table_model(estimator=estimator)
    words = words_of(model, ledger=ledger)
    assert words.count("finished, noise from a seed") == 1
    assert "Some fits drew their noise from a seed (1)" in words


def test_a_model_that_was_not_charged_says_so(tmp_path):
    ledger = Ledger.init(tmp_path / "budget.db", "others", epsilon=1.0, delta=1e-5)
    words = words_of(not_private(), ledger=ledger)
    assert "was not charged to a ledger" in words
    assert "Nothing was charged yet." in words


def test_the_page_fetches_nothing_and_runs_nothing(shown, checked):
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(checked.tags)
    for _tag, name, value in checked.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "style", "srcset")
        assert name != "href" or value.startswith("#")
    policy = next(x for _, name, x in checked.attributes if name == "content")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not re.findall(r"https?://|url\(|@import", shown[2])


def test_the_page_is_well_formed_for_those_who_listen(checked):
    levels = [int(tag[1]) for tag in checked.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    ids = [value for _, name, value in checked.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value[1:] for _, name, value in checked.attributes if name == "href"}
    assert links <= set(ids)
    assert ("html", "lang", "en") in checked.attributes
    assert {"header", "nav", "main", "footer"} <= set(checked.tags)


def test_hostile_names_stay_text(tmp_path):
    evil_intervals().save(tmp_path / "model.json")
    ledger = Ledger.init(tmp_path / "b.db", "<b>people</b>", epsilon=1.0, delta=1e-5)
    checked = Checker(page_of(load(tmp_path / "model.json"), ledger, EVIL))
    assert not {"script", "img", "b"} & set(checked.tags)
    assert not any(name.startswith("on") for _, name, _ in checked.attributes)
    assert EVIL in checked.words
    effects = checked.words.partition("Effects and how sure they are")[2]
    assert EVIL in effects.partition("The model and its noise")[0]


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [(-1, 1, (False, False)), (-2, 0.5, (True, False)), (0.5, 3, (False, True))],
)
def test_a_bar_ends_with_the_axis_and_says_so(low, high, cut):
    found = bar(("", "x"), 0.25, (low, high), ("", "", ""), 1.0, clear=True)
    assert found["cut"] == cut
    assert found["place"] == 62.25
    assert all(1.0 <= found[end] <= 99.0 for end in ("low", "high"))


def test_a_chart_lies_within_its_axes():
    chart = Chart(
        "t", "x", Axis(0.0, 999.0, scale="log1p"), Axis(-2.0, 2.0), [(0, -9), (999, 1)]
    )
    assert chart.at(0.0, -9.0) == (chart.left, chart.floor)
    assert chart.at(999.0, 9.0) == (chart.right, chart.top)
    assert [text for _, text in chart.marks] == ["0", "1", "10", "100"]
    assert [text for _, text in chart.grid] == ["\u22122", "\u22121", "0", "1", "2"]
    assert stepped([(1.0, 5.0), (3.0, 6.0)]) == [(0.0, 5.0), (2.0, 5.0), (2.0, 6.0), (4.0, 6.0)]
    assert Axis(50.0, 100.0).ticks == [60.0, 80.0, 100.0] or len(Axis(50.0, 100.0).ticks) < 7
    assert list(Axis(0.01, 100.0, scale="log").ticks) == [0.01, 0.1, 1.0, 10.0, 100.0]


def test_every_number_has_a_curve_with_its_band(shown):
    model, _, page = shown
    assert page.count('<polygon class="band"') == 2
    for name in ("age", "hours"):
        assert f"<figcaption>{name}</figcaption>" in page
        (text,) = re.findall(f'aria-label="Effect of {name} towards “yes”: ([^"]*)"', page)
        own = model.shapes().query("seen and column == @name")
        assert f"from {number(own['effect'].min(), 2)} at " in text
        assert f"clear at {own['clear'].sum()} of {len(own)} values" in text


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_without_privacy_is_marked_as_such():
    of_people = words_of(of_persons(not_private()))
    assert "Trained on 600 persons" in of_people
    said = ("This model is not private", "no noise was added", "there are no bands")
    silent = ("best possible attack", "The guarantee holds", "The guarantee rests", "±")
    for words in (words_of(not_private()), of_people):
        for part in (*said, "no protection"):
            assert part in words
        for part in (*silent, "Number of records."):
            assert part not in words


def test_private_bounds_without_privacy_were_read_from_the_records():
    model = table_model(estimator=DPLogisticRegression(math.inf, lam=0.01))
    part = "hoursnumber, smooth, 32 intervals⚠ read from the records"
    assert part in words_of(model)


@pytest.mark.full
def test_a_regression_with_one_feature():
    bare = words_of(ridge(epsilon=1.0, standardise=False))
    assert "The bound is a proved upper limit for two standard deviations" in bare
    words = words_of(ridge(epsilon=1.0))
    assert "Budget of these people" not in words
    for part in (
        "The band is an estimate of two",
        "feature 0",
        "Trained on 600 records with 1 feature, to predict a number",
        "What is predicted liesbetween \u22121 and 1",
    ):
        assert part in words


def test_several_classes_have_a_chart_each():
    page = page_of(many_classes())
    words = Checker(page).words
    for name in ("high", "low", "middle"):
        assert f"Towards “{name}”" in words
        assert f"Coefficients towards “{name}”" in words
    assert page.count('<details class="part" open>') == 1
    assert "Differences count" not in words


@pytest.mark.full
def test_weights_of_a_multinomial_model_are_compared_between_classes():
    words = words_of(many_classes(DPLogisticRegression))
    assert "what is the same in all changes nothing" in words
    assert "log-odds" not in words.split("Differences count")[1][:400]


def test_a_weight_is_compared_with_its_band():
    model = ridge(epsilon=1.0, standardise=False)
    for share, word in ((2.1, "clear"), (-2.1, "clear"), (1.9, "not clear")):
        model = with_numbers(model, coef=share * model.fit_.numbers.coef_noise)
        (weight,) = Described(model).weights(0)
        assert weight.word == word
    model = with_numbers(model, coef=9.0 * model.fit_.numbers.coef_noise)
    assert "Its one coefficient: clear." in words_of(model)


def test_another_epsilon_means_other_noise(monkeypatch):
    epsilons = (0.1, 0.2, 0.5, 2.0, 5.0)
    monkeypatch.setattr(tradeoff, "_EPSILONS", epsilons)
    model = ridge(epsilon=1.0, standardise=False)
    found = points(Described(model))
    assert [x.epsilon for x in found] == sorted([*epsilons, 1.0])
    noise = [x.noise for x in found]
    assert noise == sorted(noise, reverse=True)
    own = found[3]
    assert own.noise == pytest.approx(2.0 * model.coef_bound_[0] / abs(model.coef_[0]))
    card = model.privacy_
    hidden = card.noise_multiplier * math.sqrt(card.steps) / (card.rate * card.steps)
    assert own.hidden == pytest.approx(hidden)


def test_the_command_writes_the_page(tmp_path, shown):
    shown[0].save(tmp_path / "model.json")
    out = tmp_path / "report.html"
    words = (tmp_path / "model.json", "--out", out, "--ledger", shown[1].path, "--json")
    found = call("report", *words)
    assert json.loads(found.stdout) == {"report": str(out), "warnings": []}
    assert "Budget of these people" in Checker(out.read_text()).words
    assert re.search(r"model\.json, SHA-256 [0-9a-f]{64}\.", out.read_text())


def test_the_command_repeats_warnings(tmp_path):
    careless().save(tmp_path / "model.json")
    found = call("report", tmp_path / "model.json", "--out", tmp_path / "r.html")
    assert "warning: The noise came from a seed" in found.stderr


@pytest.mark.parametrize("case", ["absent", "damaged", "ledger", "folder"])
def test_the_command_fails_in_one_line_and_leaves_the_old_page(tmp_path, case, shown):
    model, out, ledger = tmp_path / "model.json", tmp_path / "r.html", tmp_path / "no.db"
    out.write_text("old")
    if case != "absent":
        shown[0].save(model)
    if case == "damaged":
        model.write_text(model.read_text()[:-20])
    options = ["--ledger", ledger] if case == "ledger" else []
    refusal(
        "report", model, "--out", tmp_path / "none" / "x" if case == "folder" else out, *options
    )
    assert out.read_text() == "old"
    assert not (tmp_path / "none").exists()


@pytest.mark.full
def test_pairs_are_maps_with_signs_where_they_are_clear():
    model = paired()
    page = page_of(model)
    words = Checker(page).words
    assert page.count('<table class="map">') == 6
    assert "1 more pairs are in the table of all" in words
    assert "town x daypair, 378 featuresdeclared" in words
    assert re.search("weightnumber, smooth, [0-9] intervals, made to falldeclared", words)
    shapes = model.shapes()
    for name, own in shapes[shapes["other"].notna()].groupby("column"):
        if f'aria-label="{name}">' not in page:
            continue
        part = page.split(f'aria-label="{name}">')[1].split("</table>")[0]
        cells = part.count("<td")
        values, others = own["value"].nunique(), own["other"].nunique()
        few, many = sorted((values, others))
        assert cells <= 12 * 24
        if few <= 12 and many <= 24:
            assert cells == few * many
            beyond = own["clear"]
            assert (own["effect"].abs() > own["band"])[beyond].all()
            above = own["effect"] > 0
            assert part.count(">+<span") == (beyond & above).sum()
            assert part.count(">\u2212<span") == (beyond & ~above).sum()
            assert "at some of the values" not in part
        else:
            assert "at some of the values" in part
    assert "town number 3 x 365" in words


def test_pairs_of_normalised_rows_are_coefficients():
    page = page_of(paired(rows="normalise"))
    assert '<table class="map">' not in page
    assert "member=true x age" in Checker(page).words


def test_a_map_has_the_order_of_the_schema_and_leaves_values_that_are_not_known_empty():
    a = Column("a", "category", values=("u", "w"))
    b = Column("b", "number", bounds=(0.0, 10.0))
    part = Cross(a, b, None)
    seen = [("w", 10.0, 0.0), ("w", 2.0, 0.5), ("u", 9.0, 1.0)]
    own = pd.DataFrame(seen, columns=["value", "other", "effect"])
    own = own.assign(band=0.5, bound=np.nan, clear=False)
    found = _map(SimpleNamespace(column=lambda _: part), _effects(own, part))
    assert found["names"] == ("b", "a")  # as there are more values of b
    assert found["across"] == ["u", "w"]
    cells = {x: [y and y["shade"] for y in row] for x, row in found["rows"]}
    assert list(cells) == ["2", "9", "10"]
    assert cells == {"2": [None, "up2"], "9": ["up5", None], "10": [None, "down0"]}


def test_other_epsilons_are_planned_with_all_that_the_model_released():
    model = ridge(epsilon=1.0)
    listed = [x.what for x in model.privacy_.releases]
    assert "rescaling" in listed
    assert [x.what for x in tradeoff._plan(Described(model), 1.0).releases] == listed


# --- persons -------------------------------------------------------------------------------


def test_the_first_screen_names_the_person_as_the_unit():
    first = words_of(of_persons(ridge(epsilon=1.0))).partition("What is protected")[0]
    assert "Trained on 600 persons with 1 feature" in first
    assert "Protecteda personall records with the same value of 'patient'" in first
    assert "Best guess about a person" in first
    assert "record" not in first.replace("all records with the same value", "")


def test_the_page_of_persons_speaks_of_persons():
    model = of_persons(ridge(epsilon=1.0, delta=1e-5), None, "sum")
    words = words_of(model)
    for part in (
        "hardly depends on any single person",
        "knows all other persons and their records, can hardly tell whether a person took "
        "part, with all their records, or was replaced by an empty one",
        "Number of records. Epsilon protects whether a person took part; how many records "
        "somebody who took part has is protected less, at epsilon 2 and delta 3.72e-05.",
        "Number of persons600",
        "Records of a person per step, at most100",
        "Weight in training1 for each record",
        "the unit is a person: all records with the same value of the groups given to fit",
    ):
        assert part in words
    for part in ("A person with several records", "600 records", "Records hidden"):
        assert part not in words


def test_the_budget_of_persons_names_its_unit(tmp_path):
    unit = Unit(person="<b>patient")
    ledger = Ledger.init(tmp_path / "b.db", "visits", 2.0, 1e-3, person=unit.person)
    page = page_of(of_persons(ridge(epsilon=1.0), unit.person), ledger)
    checked = Checker(page)
    assert f"is refused. The unit is {unit.text}. " in checked.words
    assert "b" not in checked.tags


def test_a_proved_bound_stands_beside_the_band_where_there_is_one():
    words = words_of(ridge(epsilon=1.0, standardise=False))
    assert "± proved bound" in words
    assert "± proved bound" not in words_of(many_classes())
