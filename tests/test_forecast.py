"""What is expected of a plan follows its noise and its work."""

from dpscd.forecast import MEASURED, expect
from dpscd.planning import Facts, default_constant, plan_fit
from dpscd.privacy.relation import PrivacyTarget


def planned(n, d, epsilon, task="classification", outputs=1):
    facts = Facts(
        n=n,
        d=d,
        outputs=outputs,
        task=task,
        row_bound=1.0,
        constant=default_constant(1.0, standardised=True),
        standardised=True,
    )
    return plan_fit(facts, PrivacyTarget(epsilon, 1e-5))


def test_more_privacy_costs_more():
    strict, mild = (expect(planned(30_000, 100, epsilon)) for epsilon in (0.1, 2.0))
    assert strict.relative_noise > 10 * mild.relative_noise
    assert strict.lost is not None
    assert mild.lost is not None
    assert strict.lost[1] > mild.lost[1]
    assert strict.coef_noise > mild.coef_noise


def test_hardly_any_noise_costs_as_little_as_the_least_measured():
    easy = expect(planned(10**6, 10, 2.0))
    assert easy.relative_noise < min(noise for _, noise, _ in MEASURED) / 4
    assert easy.lost is not None
    assert max(easy.lost) < 0.01


def test_more_noise_than_was_measured_is_not_guessed_at():
    hard = expect(planned(1000, 1000, 0.01))
    assert hard.lost is None
    assert hard.alike == ()


def test_time_grows_with_the_work():
    small, large = (expect(planned(n, 50, 1.0)).seconds for n in (10**5, 10**7))
    assert 20 < large / small < 200
    one, five = (expect(planned(10**6, 50, 1.0, outputs=k)).seconds for k in (1, 5))
    assert 4 < five / one < 6
    # A pilot is a second, shorter training.
    with_pilot = planned(10**6, 50, 1.0, task="regression")
    assert with_pilot.pilot is not None
    assert expect(with_pilot).seconds > 1.2 * one
