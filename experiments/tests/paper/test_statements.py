import math

import pytest
from cases import Case, N

from dpscd.errors import ParameterError
from dpscd_experiments.paper import METHODS, STATEMENTS, Flaw, Settings
from dpscd_experiments.paper.theory import bounds_table, tuning_cost


def test_the_table_has_the_papers_four_rows():
    rows = bounds_table(10**4, 90, 100, 0.5)
    assert [row.perturbation for row in rows] == ["output", "objective", "update", "update"]
    values = [row.value for row in rows]
    assert values[0] == values[1] == pytest.approx(90 / (10**8 * 0.25))
    assert values[2] / values[0] == pytest.approx(math.log(10**4))
    assert values[3] / values[0] == pytest.approx(10**6 * math.log(100.0) / (90 * 10**8))


def test_the_bound_of_dp_scd_does_not_know_the_dimension_and_wins_for_small_lots():
    narrow, wide = (bounds_table(10**4, d, 100, 1.0)[3].value for d in (10, 1000))
    assert narrow == wide
    # With L proportional to N the ratio to the first row is a multiple of N / M.
    ratios = []
    for n, d in [(10**4, 10), (10**5, 10), (10**5, 100)]:
        table = bounds_table(n, d, n // 10, 1.0)
        ratios.append(table[3].value / table[0].value * d / n)
    assert ratios == pytest.approx([ratios[0]] * 3)


def test_tuning_costs_are_those_of_the_text():
    assert METHODS["dp-scd"].tuning_cost == METHODS["seq-dp-scd"].tuning_cost == 156
    assert METHODS["dp-sgd"].tuning_cost == 2028
    assert METHODS["sgd"].tuning_cost == 156
    assert METHODS["scd"].tuning_cost == 1
    with pytest.raises(ParameterError, match="momentum"):
        tuning_cost("momentum")


# --- statements ---------------------------------------------------------------------------


def test_every_method_carries_a_statement_and_none_a_guarantee():
    assert set(METHODS) == set(STATEMENTS)
    for name, method in METHODS.items():
        assert method.statement.method == method.name == name
        assert not method.statement.private
        assert bool(method.statement.published) == method.noisy == bool(method.statement.flaws)
    flaws = STATEMENTS["dp-scd"].flaws
    assert {Flaw.VISIBLE_LOTS, Flaw.LEMMA_1, Flaw.SHUFFLED_LOTS, Flaw.PREPARATION,
            Flaw.LARGE_DELTA} <= set(flaws)  # fmt: skip
    words = STATEMENTS["dp-scd"].to_dict()
    assert words["flaws"][0] == {"name": "VISIBLE_LOTS", "text": Flaw.VISIBLE_LOTS.value}


def test_rates_and_steps_are_those_of_the_paper():
    case = Case("squared")
    settings = Settings(10, 3, clip=0.1)
    assert METHODS["dp-scd"].rate_and_steps(case.problem, settings) == (3 / N, 10 * N // 3)
    assert METHODS["primal-dp-scd"].rate_and_steps(case.problem, settings) == (1.0, 20)
    assert METHODS["scd"].calibrated(case.problem, settings, 1.0, 1e-3).sigma == 0.0
    assert math.isinf(METHODS["dp-scd"].claimed_epsilon(case.problem, settings, 1e-3))
    with pytest.raises(ParameterError, match="accountant="):
        METHODS["dp-scd"].calibrated(case.problem, settings, 1.0, 1e-3, "loose")
