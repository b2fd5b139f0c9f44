"""Bars that go on beyond the axis have an arrow there."""

import pytest

from dpscd.report.axis import CUT, at, beyond, is_cut
from dpscd.report.html import data_table


@pytest.mark.parametrize(
    ("low", "high", "places"),
    [
        (-1.0, 1.0, []),
        (-2.0, 0.5, ['x="1%"']),
        (0.5, 3.0, ['x="99%"']),
        (-9.0, 9.0, ['x="1%"', 'x="99%"']),
    ],
)
def test_an_arrow_stands_at_the_end_that_a_bar_passes(low, high, places):
    found = str(beyond(low, high, 1.0))
    assert found.count('class="cut"') == len(places)
    assert all(place in found for place in places)
    assert is_cut(low, high, 1.0) == bool(places)
    assert all(at(x, 1.0) in ("1.00%", "99.00%") for x in (low, high) if abs(x) > 1.0)
    assert "arrow" in CUT


def test_short_tables_stay_on_one_page():
    def kind(rows):
        return str(data_table("t", ["a", "b"], [["x", "1"]] * rows)).split('"')[1]

    assert (kind(12), kind(13), kind(41)) == ("scroll short", "scroll", "scroll long")
