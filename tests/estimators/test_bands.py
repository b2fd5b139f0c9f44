"""What bands are is said everywhere in the same words, and what is called clear is.

Which of the two it is follows from docs/proofs/noise_band.md.
"""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from commands import call
from dpscd import DPHuberRegressor, DPLogisticRegression, DPRidge, Schema, TableModel
from dpscd.documents.described import Described
from dpscd.documents.write import page
from dpscd.estimators.shapes import (
    LEAST_SHARE,
    LEAST_SIZE,
    band_words,
    clear_words,
    column_shapes,
)
from dpscd.model.spread import Spread

ROOT = Path(__file__).parents[2]
ESTIMATED = (
    "The band is an estimate of two standard deviations over repeated fits of the same "
    "records, from released numbers alone. It takes columns to be unrelated: where they go "
    "together it is too narrow, sometimes by ten times or more."
)
NO_MOMENTS = "There is no band: no moments of the features were released."
PROVED = (
    "The bound is a proved upper limit for two standard deviations of the noise, unless the "
    "rows of a lot are nearly parallel."
)
AGE = {"kind": "number", "bounds": [0, 1], "shape": "smooth", "bins": 2}
NUMBER = {"target": {"column": "y", "bounds": [0, 1]}, "columns": {"age": AGE}}
CLASSES = {"target": {"column": "c", "classes": ["no", "yes"]}, "columns": {"age": AGE}}
RISING = {**NUMBER, "columns": {"age": {**AGE, "monotone": "up"}}}
USUAL = {"epochs": 5, "random_state": 0}
BARE = {**USUAL, "standardise": False}
CASES = {
    "ridge": (NUMBER, DPRidge(1.0, **BARE), f"{NO_MOMENTS} {PROVED}"),
    "rescaled": (NUMBER, DPRidge(1.0, **USUAL), ESTIMATED),
    "rising": (RISING, DPRidge(1.0, **BARE), NO_MOMENTS),
    "huber": (NUMBER, DPHuberRegressor(1.0, **USUAL), ESTIMATED),
    "logistic": (CLASSES, DPLogisticRegression(1.0, **USUAL), ESTIMATED),
}


def table():
    rng = np.random.default_rng(0)
    age = rng.uniform(size=1000)
    answer = np.where(rng.uniform(size=1000) < age, "yes", "no")
    return pd.DataFrame({"age": age, "y": age, "c": answer})


def said(*words):
    return " ".join(call(*words).stdout.split())


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_every_place_says_what_bands_and_bounds_are(case, tmp_path, monkeypatch):
    schema, estimator, words = CASES[case]
    model = TableModel(schema, estimator).fit(table())
    rescaled = any(x.what == "rescaling" for x in model.privacy_.releases)
    assert rescaled == (case == "rescaled")
    assert band_words(model) == words
    path = tmp_path / "model.json"
    model.save(path)
    written = []
    monkeypatch.setattr(Figure, "supxlabel", lambda _, text, **_more: written.append(text))
    assert words in said("inspect", path)
    assert words in said("inspect", path, "--json")
    assert words in said("inspect", path, "--column", "age", "--plot", tmp_path / "x.png")
    assert [" ".join(text.split()) for text in written] == [words]
    text = page(Described(model))
    assert words in text
    assert f"<strong>clear</strong>: {clear_words('effect')}" in text
    # Coefficients without a schema.
    if case != "rising":
        assert words in page(Described(model.estimator_))
        monkeypatch.setattr("dpscd.cli.inspect.load_model", lambda _: model.estimator_)
        assert words in said("inspect", "m.json")


def test_without_noise_there_is_nothing_to_say(tmp_path):
    model = TableModel(NUMBER, DPRidge(np.inf)).fit(table())
    assert band_words(model) is None
    model.save(tmp_path / "model.json")
    for more in ((), ("--column", "age")):
        text = said("inspect", tmp_path / "model.json", *more)
        assert "The band is" not in text
        assert "clear" not in text


def test_pages_and_docstrings_say_the_same():
    both = ("over repeated fits", "roved upper")
    guides = [ROOT / "docs" / "guides" / name for name in ("report.md", "data.md")]
    for text in (*(path.read_text() for path in guides), TableModel.shapes.__doc__):
        assert all(words in text for words in both)
    for kind in (DPRidge, DPLogisticRegression):
        assert all(words in kind.__doc__ for words in both)
    for number in (LEAST_SIZE, LEAST_SHARE):
        words = f"{100 * number:g} % of the"
        assert words in guides[0].read_text()
        assert words in " ".join(TableModel.shapes.__doc__.split())
        assert words in clear_words("effect")


TAKEN = {"nobody": 1e-4, "few": 0.004, "many": 0.3, "unsure": 0.3, "small": 0.3}
DRUG = {"kind": "category", "values": ["no", "yes"], "complete": True}
DRUGS = Schema.from_dict({**CLASSES, "columns": dict.fromkeys(TAKEN, DRUG)})


def drugs():
    """Return effects of drugs that nobody, few and many take, known nearly exactly."""
    names = list(TAKEN)
    weight = {"nobody": 43.0, "few": 2.0, "many": 1.0, "unsure": 1.0, "small": 0.04}
    noise = {name: (0.9 if name == "unsure" else 1e-6) for name in names}
    sd = np.array([[x for name in names for x in (noise[name],) * 2]])
    spread = Spread(sd, np.zeros(1), sd)
    estimator = SimpleNamespace(
        coef_=np.array([[x for name in names for x in (0.0, weight[name])]]),
        coef_bound_=np.array([[math.nan] * 2 * len(names)]),
        fit_intercept=True,
        classes_=np.array(["no", "yes"]),
        unseen_features=lambda: np.zeros(2 * len(names), dtype=bool),
        fit_=SimpleNamespace(plan=SimpleNamespace(listed=lambda _: None), spread=spread),
    )
    unit = 1.0 / np.sqrt(len(names))
    means = unit * np.array([x for part in TAKEN.values() for x in (1.0 - part, part)])
    return column_shapes(DRUGS, {}, estimator, means)


def test_what_is_small_or_of_few_is_not_called_clear():
    shapes = drugs()
    assert shapes["seen"].all()
    found = {(row["column"], row["value"]): row for _, row in shapes.iterrows()}
    clear = {key for key, row in found.items() if row["clear"]}
    assert clear == {("many", "no"), ("many", "yes")}
    # All of these lie far outside their bands.
    for key in (("nobody", "no"), ("nobody", "yes"), ("few", "yes"), ("small", "yes")):
        assert abs(found[key]["effect"]) > 1000 * found[key]["band"]
    assert shapes["column"][0] == "many"  # the clearest comes first


def test_inspect_does_not_count_what_is_not_clear(monkeypatch):
    shapes = drugs()
    model = TableModel(CLASSES, DPLogisticRegression(1.0, **BARE)).fit(table())
    monkeypatch.setattr(model, "shapes", lambda: shapes)
    monkeypatch.setattr(model, "schema_", DRUGS)
    monkeypatch.setattr("dpscd.cli.inspect.load_model", lambda _: model)
    text = said("inspect", "m.json", "--top", 3)
    assert "2 of 10 effects on the score of c = yes are clear" in text
    assert clear_words("effect") in text
    places = [text.index(x) for x in ("many = yes", "many = no")]
    assert max(places) < text.index("nobody")
