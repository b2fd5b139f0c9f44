"""A ledger is never forgotten: stored files of its first format are read and spent from.

Each holds a budget of epsilon 3 and two reservations of epsilon 1, one of them committed. Its
entries do not say whether a fit was seeded.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from dpscd import BudgetExceeded, DPRidge, Ledger
from dpscd.privacy.relation import RECORD

FOLDER = Path(__file__).parent / "data"


@pytest.fixture(params=["basic", "renyi"])
def stored(request, tmp_path):
    path = tmp_path / "budget.db"
    shutil.copy(FOLDER / f"ledger_{request.param}.db", path)
    return Ledger(path)


def test_a_stored_ledger_says_what_was_spent(stored):
    state = stored.show("people")
    assert (state.reserved, state.committed, state.seeded) == (2, 1, 0)
    assert 0.0 < state.spent_epsilon < 3.0
    assert [x.label for x in stored.history("people")] == ["DPRidge", "DPRidge"]
    assert {state.unit, *(x.unit for x in stored.history("people"))} == {RECORD.text}
    assert stored.verify().entries == 5


def test_a_stored_ledger_is_spent_from_and_not_overspent(stored):
    before = stored.show("people")
    head = stored.verify().head
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    options = {"y_bounds": (-1, 1), "epochs": 1, "dataset": "people", "delta": 1e-5}
    options["ledger"] = stored.path
    DPRidge(0.5, **options).fit(X, X[:, 0])
    after = stored.show("people")
    assert after.spent_epsilon > before.spent_epsilon
    assert (after.reserved, after.committed) == (3, 2)
    with pytest.raises(BudgetExceeded):
        DPRidge(3.0, **options).fit(X, X[:, 0])
    assert stored.show("people") == after
    assert stored.verify(head=head).entries == 7
