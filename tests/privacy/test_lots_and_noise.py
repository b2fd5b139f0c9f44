"""Poisson lots and noise on a grid: their laws, and what finite precision costs."""

import math
import pickle
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpscd.errors import ParameterError, StreamError
from dpscd.kernels.draws import LARGEST_NORMAL, NORMAL_ERROR, wait_of
from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy import draws
from dpscd.privacy.draws import LatticeGaussian, PoissonLots, power_of_two_below
from dpscd.privacy.random import LotsSource, Purpose, SecureSource, SeededSource
from drawn import ALARM, RecordingSource, binomial, independent_bits, lot_by_definition


class ScarceLots(PoissonLots):
    """Lots whose words run out at almost every step."""

    def skips(self, rows):  # noqa: ARG002 (as in the base)
        return 2


def bits(lots, steps, rows, *, chunk=500, seed=b"lots"):
    source = SeededSource(seed)
    found = np.zeros((steps, rows), dtype=np.int64)
    for first in range(0, steps, chunk):
        drawn = lots.draw(source, first, min(chunk, steps - first), rows)
        assert len(drawn.ids) == drawn.starts[-1]
        for t in range(len(drawn.starts) - 1):
            members = drawn.ids[drawn.starts[t] : drawn.starts[t + 1]]
            assert (np.diff(members) > 0).all()
            found[first + t, members] = 1
    return found


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
@pytest.mark.parametrize("kind", [PoissonLots, ScarceLots])
@pytest.mark.parametrize("rate", [0.1, 0.6])
def test_bits_are_independent_with_the_stated_rate(kind, rate, exact):
    found = bits(kind(rate, exact), 20_000, 10)
    assert independent_bits(found, rate)
    # It would notice a rate that is off by a tenth, and one lot that is used twice.
    assert not independent_bits(found, 1.1 * rate)
    found[1::2] = found[::2]
    assert not independent_bits(found, rate)


def test_the_test_of_independence_rejects_lots_of_a_fixed_size():
    generator = np.random.default_rng(17)
    found = generator.random((40_000, 12)).argsort(axis=1) < 4
    assert not independent_bits(found.astype(int), 4 / 12)


def test_scarce_words_are_topped_up_step_by_step():
    source = RecordingSource(b"scarce")
    ScarceLots(0.9).draw(source, 3, 20, 10)
    more = [call for call in source.calls if call[0] is Purpose.LOTS_OVERFLOW]
    assert source.calls[0] == (Purpose.LOTS, 3, 20, 2)
    assert [first for _, first, _, _ in more] == list(range(3, 23))
    assert {(steps, width) for _, _, steps, width in more} == {(1, 84)}


@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
def test_enough_words_are_set_aside_as_a_rule(exact):
    source = RecordingSource(b"enough")
    PoissonLots(0.02, exact).draw(source, 0, 2000, 1000)
    assert [purpose for purpose, *_ in source.calls] == [Purpose.LOTS]


@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
@pytest.mark.parametrize("kind", [PoissonLots, ScarceLots])
def test_chunks_do_not_matter(kind, exact):
    lots = kind(0.3, exact)
    np.testing.assert_array_equal(bits(lots, 60, 25, chunk=60), bits(lots, 60, 25, chunk=7))


@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
@pytest.mark.parametrize("kind", [PoissonLots, ScarceLots])
def test_rate_one_takes_everybody(kind, exact):
    assert bits(kind(1.0, exact), 5, 9).all()


@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
def test_no_records_give_empty_lots(exact):
    drawn = PoissonLots(0.5, exact).draw(SeededSource(b"none"), 0, 4, 0)
    assert drawn.ids.size == 0
    assert drawn.starts.tolist() == [0] * 5


def test_lots_are_drawn_a_little_below_the_rate():
    # decay = -log(1 - rate) is met from below whatever the rounding of log1p and division.
    source = RecordingSource(b"shy")
    drawn = PoissonLots(0.25).draw(source, 0, 1, 1000)
    words = SeededSource(b"shy").words(*source.calls[0])
    last, expected = -1, []
    decay = -math.log1p(-0.25 * (1.0 - 2.0**-30))
    for word in words[0]:
        last += 1 + int(wait_of(word) / decay)
        if last >= 1000:
            break
        expected.append(last)
    assert decay < -math.log(0.75)
    assert drawn.ids.tolist() == expected


RATES = [1e-9, 1e-6, 1 / 250, 0.5, 0.9, 1.0 - 2.0**-53]


@pytest.mark.parametrize("rate", RATES)
def test_exact_lots_are_drawn_at_most_at_the_rate_and_hardly_below_it(rate):
    share = PoissonLots(rate, exact=True).share
    with mpmath.workdps(60):
        silent = 1 - mpmath.mpf(2) ** -57
        drawn = 1 - silent**share
        assert drawn <= mpmath.mpf(rate)
        assert drawn >= mpmath.mpf(rate) * (1 - mpmath.mpf(1e-8))
        if rate < 0.5:  # the largest whole number that does
            assert 1 - silent ** (share + share // 2**47 + 1) > mpmath.mpf(rate)
    # What the kernel adds up stays below 2^63.
    assert share + 2**57 < 2**63


def test_a_rate_below_the_finest_cannot_be_drawn_exactly():
    with pytest.raises(ParameterError, match="too small"):
        PoissonLots(2.0**-58, exact=True).draw(SeededSource(b"tiny"), 0, 1, 10)


@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_exact_lots_go_on_where_their_words_ran_out(rate):
    # By the definition, in whole numbers without end: a skip that is dropped or begun anew
    # when words run out, within a run or between two of them, would be another one.
    source, lots, rows = RecordingSource(b"overflow"), ScarceLots(rate, exact=True), 20_000
    drawn = lots.draw(source, 3, 6, rows)
    calls = dict.fromkeys(range(3, 9), 0)
    for purpose, place, steps, width in source.calls[1:]:
        assert (purpose, steps, width) == (Purpose.LOTS_OVERFLOW, 1, 2**12)
        calls[place // 2**32] += 1
    assert min(calls.values()) >= (1 if rate < 0.1 else 2)
    again = SeededSource(b"overflow")
    begun = again.words(*source.calls[0])
    for t in range(6):
        first = (3 + t) * 2**32
        pieces = [
            again.words(Purpose.LOTS_OVERFLOW, first + i, 1, 2**12) for i in range(calls[3 + t])
        ]
        words = np.concatenate([begun[t], *(piece[0] for piece in pieces)])
        expected = lot_by_definition(words, 57, rows, lots.share)
        assert drawn.ids[drawn.starts[t] : drawn.starts[t + 1]].tolist() == expected


def lots_source(seed=b"key"):
    return LotsSource.of(SeededSource(seed))


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
@pytest.mark.parametrize("rate", [0.1, 0.6])
def test_bits_by_number_are_independent_with_the_stated_rate(rate, exact, monkeypatch):
    monkeypatch.setattr(draws, "_BLOCK", 4)
    steps, rows = 10_000, 10
    source = lots_source()
    found = np.zeros((steps, rows), dtype=np.int64)
    for t in range(steps):
        found[t, PoissonLots(rate, exact).members(source, t, 0, rows)] = 1
    assert independent_bits(found, rate)
    assert not independent_bits(found, 1.1 * rate)


@pytest.mark.parametrize("kind", [PoissonLots, ScarceLots])
@pytest.mark.parametrize("exact", [False, True], ids=["rounded", "exact"])
@pytest.mark.parametrize("rate", [0.003, 0.3, 1.0])
def test_bits_by_number_do_not_depend_on_how_records_are_divided(rate, exact, kind):
    lots, source, stop = kind(rate, exact), lots_source(), 40_000
    whole = lots.members(source, 5, 0, stop)
    assert binomial(np.array([len(whole)]), stop, rate) or rate == 1.0
    cuts = [0, 1, 7, 16_384, 16_390, 33_000, stop]
    parts = [lots.members(lots_source(), 5, low, high) for low, high in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert len(lots.members(source, 5, 100, 100)) == 0
    other = lots.members(source, 6, 0, stop)
    assert rate == 1.0 or not np.array_equal(other, whole)


def test_a_source_of_lots_can_be_sent_and_knows_nothing_of_the_noise():
    fit = SeededSource(b"key")
    source = LotsSource.of(fit)
    sent = pickle.loads(pickle.dumps(source))
    words = source.words(Purpose.LOTS, 3, 2, 5)
    np.testing.assert_array_equal(sent.words(Purpose.LOTS, 3, 2, 5), words)
    assert sent.seeded
    assert "key" not in repr(sent)
    assert not np.isin(words, SeededSource(b"key").words(Purpose.LOTS, 3, 2, 5)).any()
    for purpose in set(Purpose) - {Purpose.LOTS, Purpose.LOTS_OVERFLOW}:
        with pytest.raises(StreamError, match="has no"):
            sent.words(purpose, 0, 1, 1)
    with pytest.raises(StreamError):
        LotsSource.of(fit)  # one key a training
    assert not LotsSource.of(SecureSource()).seeded


# --- noise --------------------------------------------------------------------------------

sizes = st.floats(1e-90, 1e90)


@given(x=st.floats(1e-300, 1e300))
def test_power_of_two_below(x):
    power = power_of_two_below(x)
    assert math.frexp(power)[0] == 0.5
    assert power <= x < 2.0 * power


@given(clip=sizes, multiplier=st.floats(0.01, 1e9))
def test_the_grid_is_a_power_of_two_and_the_spread_its_share(clip, multiplier):
    noise = LatticeGaussian(clip, multiplier)
    assert math.frexp(noise.grid)[0] == 0.5
    assert 1024.0 <= noise.spread < 2048.0
    assert noise.spread * noise.grid == noise.std == clip * multiplier


def released(noise, steps, size):
    """Return the moves of a shared vector when lots are empty."""
    numbers = StepConstants(1.0, 1.0, noise.clip, noise.clip, noise.grid, noise.spread)
    moves = np.zeros((steps, size))
    normals = noise.draw(SeededSource(b"noise"), 0, steps, size)
    for normal, move in zip(normals, moves, strict=True):
        release(np.zeros(size), normal, numbers, move)
    return moves


def is_normal(sample, std):
    """Whether variance and law fit, at ALARM together."""
    count = len(sample)
    law = stats.chi2(count)
    squares = ((sample / std) ** 2).sum()
    tail = min(law.cdf(squares), law.sf(squares))
    distance = stats.ks_1samp(sample, stats.norm(scale=std).cdf, method="asymp").statistic
    bound = math.sqrt(math.log(4.0 / ALARM) / (2.0 * count))
    return tail >= ALARM / 4.0 and distance <= bound


def test_the_noise_that_is_added_is_the_noise_that_is_stated():
    noise = LatticeGaussian(0.013, 2.7)
    sample = released(noise, 100, 501).ravel()
    assert (sample / noise.grid == np.round(sample / noise.grid)).all()
    assert is_normal(sample, noise.std)
    assert not is_normal(sample, 0.5 * noise.std)
    assert not is_normal(sample, math.sqrt(2.0) * noise.std)
    assert not is_normal(sample, noise.std / math.sqrt(2.0))
    assert not is_normal(sample, 1.02 * noise.std)


def test_coordinates_and_steps_are_independent():
    noise = LatticeGaussian(1.0, 1.0)
    sample = noise.draw(SeededSource(b"cross"), 0, 20_000, 6)
    pairs = np.column_stack([sample[:-1], sample[1:]])
    products = np.corrcoef(pairs.T)[np.triu_indices(12, 1)] * math.sqrt(len(pairs))
    # 66 correlations, each about standard normal.
    assert np.abs(products).max() < stats.norm.isf(ALARM / (2 * 66))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_chunks_of_noise_do_not_matter(size):
    noise = LatticeGaussian(1.0, 1.0)
    whole = noise.draw(SeededSource(b"chunks"), 0, 9, size)
    source = SeededSource(b"chunks")
    parts = [noise.draw(source, 0, 4, size), noise.draw(source, 4, 5, size)]
    assert whole.shape == (9, size)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_log_ratio_covers_the_ratio_of_cell_masses():
    # One cell moved by the error of a normal: the logarithm of its mass changes by less
    # than the eta inside log_ratio, up to the largest normal that is drawn.
    noise = LatticeGaussian(1.0, 1.0)
    eta = noise.log_ratio(1, 0.0)  # the second term vanishes: 2 eta^2 is left
    eta = math.sqrt(eta / 2.0)
    with mpmath.workdps(80):
        cell = mpmath.mpf(1) / 2048
        error = mpmath.mpf(NORMAL_ERROR)
        for z in (0.0, 0.5, 1.0, 4.0, 13.0):
            exact = mpmath.ncdf(-z) - mpmath.ncdf(-z - cell)
            moved = mpmath.ncdf(-z + error) - mpmath.ncdf(-z - cell - error)
            assert abs(mpmath.log(moved / exact)) <= eta


@pytest.mark.parametrize("reach", [1.0, 2.0])
@pytest.mark.parametrize("size", [1, 10, 1000])
@pytest.mark.parametrize("multiplier", [0.3, 1.0, 5.0])
def test_tail_bounds_the_chance_to_leave_what_is_drawn(multiplier, size, reach):
    # However a record splits its move over the coordinates: all on one, or evenly.
    noise = LatticeGaussian(1.0, multiplier)
    with mpmath.workdps(60):
        for spread_over in {1, size}:
            shift = reach / (multiplier * mpmath.sqrt(spread_over))
            out = mpmath.ncdf(-LARGEST_NORMAL + shift) + mpmath.ncdf(-LARGEST_NORMAL - shift)
            rest = (size - spread_over) * 2 * mpmath.ncdf(-LARGEST_NORMAL)
            assert spread_over * out + rest <= noise.tail(1, size, reach)


def test_tail_is_that_of_pairs_moved_by_the_reach():
    for reach in (1.0, 2.0):
        expected = 4 * 7 * 25 * math.exp(-0.5 * (13.37 - reach / 0.5) ** 2)
        found = LatticeGaussian(3.0, 0.5).tail(7, 50, reach)
        assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_lazy_noise_has_more_variance_than_is_accounted():
    """By that of a Gaussian on the grid whose sums do not depend on their centre."""
    for noise in (LatticeGaussian(0.01, 1.3), LatticeGaussian(7.0, 40.0)):
        assert noise.lattice_variance == noise.spread**2 + 16.0


def test_lazy_noise_pays_for_its_law():
    """By the eta of docs/proofs/shared_vector.md, "The price"."""
    noise, pairs, log_miss = LatticeGaussian(1.0, 2.0), 10**6, -28.0
    eta = 2.2 * (NORMAL_ERROR + 2.0**-46) * 2.0**11 + 2.0**-34
    expected = 2.0 * pairs * eta**2 + 2.0 * eta * math.sqrt(-2.0 * pairs * log_miss)
    found = noise.log_ratio(pairs, log_miss, lazy=True)
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_tail_pays_for_pairs_longer_than_any_that_is_drawn():
    # A pair of exact normals whose uniform is below 2^-129 has no counterpart; that costs
    # 2^-130 a pair even if both of its numbers are small.
    noise = LatticeGaussian(1.0, 1000.0)
    assert noise.tail(1, 1000) >= 500 * 2.0**-130


@pytest.mark.parametrize("multiplier", [math.nan, math.inf, 0.0])
def test_noise_that_is_no_number_has_no_grid(multiplier):
    with pytest.raises(ParameterError, match="positive, finite"):
        LatticeGaussian(1.0, multiplier).grid  # noqa: B018


def test_imprecision_is_negligible_and_grows_with_the_work():
    assert PoissonLots(0.01, exact=True).imprecision(10**6, 10**7) == 0.0
    lots = PoissonLots(0.01)
    assert 0.0 < lots.imprecision(10**6, 10**7) < 1e-25
    assert lots.imprecision(10, 100) < lots.imprecision(20, 100) < lots.imprecision(20, 900)
    assert lots.imprecision(10**6, 10**7) == 10**6 * (10**5 + 1) * 2.0**-128
