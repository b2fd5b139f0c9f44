"""Results are one line in a console and a table in a notebook, whatever names contain."""

import numpy as np
import pandas as pd
import pytest

from dpscd import (
    DPLogisticRegression,
    DPModelSearch,
    DPRidge,
    Schema,
    TableModel,
    look,
    private_score,
)
from dpscd.estimators.search_plan import Parts

EVIL = "<b>{{ 7*7 }}</b>"
N = 2000


def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({EVIL: rng.random(N), "ward": rng.choice(["east", EVIL], N)})
    return frame.assign(ill=np.where(frame[EVIL] > 0.5, "yes", EVIL))


SCHEMA = {
    "target": {"column": "ill", "classes": [EVIL, "yes"]},
    "columns": {
        EVIL: {"kind": "number", "bounds": [0, 1]},
        "ward": {"kind": "category", "values": ["east", EVIL], "complete": True},
    },
}

PERSONS = {**SCHEMA, "table": {"person": "who", "pairs": [[EVIL, "ward"]]}}


@pytest.fixture(scope="module")
def results():
    estimator = DPLogisticRegression(5.0, inference=True, random_state=0)
    model = TableModel(SCHEMA, estimator).fit(table())
    free = DPRidge(np.inf, y_bounds=(0, 1), lam=0.1).fit([[0.1], [0.2]], [0, 1])
    scores = {x: private_score(model, table(), epsilon=5.0, metric=x) for x in SCORES}
    price = DPModelSearch([DPRidge(y_bounds=(0, 1))] * 2).price(N)
    runs = [DPRidge(y_bounds=(0, 1), epochs=2, lam=lam) for lam in (0.1, 1.0)]
    X = np.linspace(-0.5, 0.5, 20_000)[:, None]
    searched = DPModelSearch(runs, random_state=0).fit(X, X[:, 0] + 0.5)
    return {
        "schema": model.schema_,
        "schema of persons": Schema.from_dict(PERSONS),
        "parts": Parts(1, 2, 3),
        "card of a search": searched.privacy_,
        "card": model.privacy_,
        "card without privacy": free.privacy_,
        "fit": model.fit_,
        "summary": model.summary(),
        "look": look(table(), SCHEMA),
        "price": price,
        **scores,
    }


SCORES = ["accuracy", "recall", "confusion"]
SHOWN = {
    "schema": "Schema(2 columns for 'ill')",
    "schema of persons": "Schema(2 columns for 'ill', persons by 'who')",
    "parts": "Parts()",
    "card of a search": "PrivacyCard(epsilon=1, ",
    "card": "PrivacyCard(epsilon=5, delta=1e-05, relation=zero-out, unit=record, 3 releases)",
    "card without privacy": "PrivacyCard(not private)",
    "fit": "Fit(DPLogisticRegression, 3 releases)",
    "summary": "Intervals(3 terms at 95 %)",
    "look": "Look(2,000 records, 0 hints, NOT PRIVATE)",
    "accuracy": "PrivateScore(accuracy=",
    "recall": "PrivateScore(recall, epsilon=5)",
    "confusion": "PrivateScore(confusion, epsilon=5)",
    "price": "SearchPrice(epsilon_of_run=",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_result_is_one_line_and_a_table(results, name):
    result = results[name]
    assert repr(result).startswith(SHOWN[name])
    assert len(repr(result).splitlines()) == 1
    if hasattr(result, "_repr_html_"):
        page = result._repr_html_()
        assert "<table>" in page
        assert EVIL not in page
        named = "card" not in name and name not in ("accuracy", "fit", "price")
        assert ("&lt;b&gt;{{ 7*7 }}" in page) == named


def test_numbers_of_a_score_are_in_its_table(results):
    found = results["accuracy"]
    page = found._repr_html_()
    assert all(f">{x:.4g}<" in page for x in (found.value, found.low, found.high))
    assert results["confusion"]._repr_html_().count("<tr>") == 3
    assert found.card.statement in page


def test_a_search_shows_what_it_chose():
    X = table()[[EVIL]].to_numpy()
    search = DPModelSearch([DPRidge(y_bounds=(0, 1))] * 2, 5.0, random_state=0)
    assert "sk-" in search._repr_mimebundle_()["text/html"]
    found = search.fit(X, X[:, 0])._repr_mimebundle_()
    assert "DPModelSearch" in found["text/plain"]
    assert "DPRidge" in found["text/html"]
    assert search.privacy_.statement in found["text/html"]
