"""The packaged table is whole, and its preparation from public facts keeps what it promises."""

import numpy as np
import pytest

from dpscd import Schema
from dpscd.data import FILES, adult_declared, packaged, packaged_adult


@pytest.mark.full
@pytest.mark.parametrize("target", ["income", "hours-per-week"])
def test_declared_preparation_stays_in_the_unit_ball(target):
    data = adult_declared(target)
    assert len(data.X) == packaged_adult().training == 32561
    assert np.linalg.norm(data.X, axis=1).max() <= 1.0
    assert np.linalg.norm(data.X_test, axis=1).max() <= 1.0


def test_both_files_are_one_table():
    table = packaged_adult()
    assert {len(column) for column in table.columns.values()} == {48842}
    assert set(table.columns["income"]) == {"<=50K", ">50K"}


@pytest.mark.full
def test_the_packaged_schema_is_one_of_the_packaged_files():
    schema = Schema.parse(packaged("adult.toml").decode())
    assert {column.name for column in schema.features} < set(packaged_adult().columns)
    assert all(packaged(name).startswith((b"39, State-gov", b"|1x3")) for name in FILES)
