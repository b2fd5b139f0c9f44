import numpy as np
import pytest

from dpscd.losses import dual_step
from dpscd_experiments.cells import Skip
from dpscd_experiments.experiments.speed import Measure
from dpscd_experiments.experiments.speed_figures import times_of
from dpscd_experiments.losses.published_logistic import PublishedLogistic
from dpscd_experiments.speed.contests import Contest, take_turns
from dpscd_experiments.speed.ours import _newton

pytestmark = pytest.mark.full


def test_contenders_take_turns_and_one_that_cannot_run_says_why_once():
    order = []

    def ready(name):
        return lambda: lambda: order.append(name) or float(len(order))

    def absent():
        raise Skip("not here")

    def broken():
        return lambda: 1 / 0

    contenders = {"a": ready("a"), "x": absent, "y": broken, "b": ready("b")}
    contest = Contest("c", {"n": 3}, contenders, turns=2, at=5)
    rows = [row for turn in take_turns(contest) for row in turn]
    assert order == ["a", "b"] * 3  # the first turn does not count
    assert times_of(rows, "c", "b") == {1: 4.0, 2: 6.0}
    assert {(row["contest"], row["at"], row["n"]) for row in rows} == {("c", 5, 3)}
    told = {x["contender"]: (x["status"], x["message"]) for x in rows if x["status"] != "ok"}
    assert told["x"] == ("skipped", "not here")
    assert told["y"][0] == "failed"
    assert "ZeroDivisionError" in told["y"][1]
    assert len(rows) == 2 + 4


def made(contest, **seconds):
    return [
        {"contest": contest, "contender": name, "turn": turn, "status": "ok", "seconds": value}
        for name, values in seconds.items()
        for turn, value in enumerate(values, 1)
    ]


def test_measures_compare_turn_by_turn():
    rows = made("c", a=[2.0, 9.0, 4.0], b=[1.0, 3.0])
    assert Measure("", "c", "a", "b").values(rows) == [2.0, 3.0]
    assert Measure("", "c", "a", "b", how="difference").values(rows) == [1.0, 6.0]
    assert Measure("", "c", "a", how="seconds").values(rows) == [2.0, 9.0, 4.0]
    assert Measure("", "c", "a", "absent").values(rows) == []
    assert [Measure("", "c", "a", bar=2.0).met(value) for value in (1.9, 2.0)] == [False, True]
    assert not Measure("", "c", "a", bar=2.0, least=False).met(2.1)


def test_the_plain_loop_takes_the_steps_of_the_paper():
    generator = np.random.default_rng(1)
    for a, u, k in generator.uniform([0.0, -2.0, 0.1], [1.0, 2.0, 5.0], (50, 3)):
        for label in (-1.0, 1.0):
            theirs = dual_step(PublishedLogistic(), u, label * a, label, k)
            inside = min(max(a, 1e-4), 1.0 - 1e-4)
            found = _newton(label, label * inside, u, k)
            assert found == pytest.approx(theirs, abs=1e-12)
