import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpscd.kernels.draws import (
    LARGEST_NORMAL,
    NORMAL_ERROR,
    PAIR_WORDS,
    _exponent,
    exponential,
    fill_lots,
    fill_normals,
    shuffle,
    wait_of,
)
from drawn import ALARM, FULL, HALF, exact_exponential, exact_normals, random_words


def word(value):
    return np.uint64(value)


def agrees(sample, law):
    """Kolmogorov-Smirnov with Massart's bound: false alarms with chance ALARM at most."""
    distance = stats.ks_1samp(sample, law, method="asymp").statistic
    return distance <= math.sqrt(math.log(2.0 / ALARM) / (2.0 * len(sample)))


# --- exponentials -----------------------------------------------------------------


@pytest.mark.parametrize("zeros", range(65))
def test_the_exponent_counts_leading_zeros(zeros):
    # Every word with this many zeros lies between these two: the law is geometric.
    smallest = 1 << (63 - zeros) if zeros < 64 else 0
    largest = (1 << (64 - zeros)) - 1
    assert _exponent(word(smallest)) == -zeros
    assert _exponent(word(largest)) == -zeros


@pytest.mark.parametrize("high", [FULL, 1 << 63, 1 << 62, 1 << 11, 2047, 1024, 1, 0])
@pytest.mark.parametrize("more", [FULL, 1 << 63, 1 << 20, 2047, 1, 0])
@pytest.mark.parametrize("low", [FULL, FULL - 1, 0, 1, 1 << 63, (1 << 63) + 1])
def test_chosen_words_give_the_exact_exponential(high, more, low):
    with mpmath.workdps(60):
        exact = exact_exponential(high, more, low)
        found = exponential(word(high), word(more), word(low))
        assert found > 0.0
        assert abs(found - exact) <= 4 * mpmath.mpf(2) ** -53 * exact


# --- normals ------------------------------------------------------------------------


def normals(words, size):
    out = np.full((len(words), size), np.nan)
    fill_normals(words, out)
    return out


@pytest.mark.compiled
def test_normals_follow_their_law_and_the_test_would_notice_another():
    sample = normals(random_words(12, 1000, 2 * PAIR_WORDS * 50), 200)
    flat = sample.ravel()
    assert agrees(flat, stats.norm.cdf)
    assert agrees(sample[:, ::2].ravel(), stats.norm.cdf)
    assert agrees(sample[:, 1::2].ravel(), stats.norm.cdf)
    assert not agrees(math.sqrt(2.0) * flat, stats.norm.cdf)
    assert not agrees(0.95 * flat, stats.norm.cdf)
    assert not agrees(flat + 0.02, stats.norm.cdf)


@pytest.mark.compiled
def test_the_two_normals_of_a_pair_are_independent():
    sample = normals(random_words(13, 200_000, PAIR_WORDS), 2)
    angle = np.arctan2(sample[:, 1], sample[:, 0])
    assert agrees(angle, stats.uniform(-math.pi, 2.0 * math.pi).cdf)
    assert agrees((sample**2).sum(axis=1) / 2.0, stats.expon.cdf)
    # ... and the quadrant does not depend on the length.
    long = (sample**2).sum(axis=1) > 2.0 * math.log(2.0)
    assert agrees(angle[long], stats.uniform(-math.pi, 2.0 * math.pi).cdf)


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_an_odd_size_drops_only_the_last_normal(size):
    words = random_words(14, 3, PAIR_WORDS * 3)
    np.testing.assert_array_equal(normals(words, size), normals(words, 6)[:, :size])


@pytest.mark.parametrize("zeros", [0, 10, 52, 53, 63, 64, 65, 100, 117, 118, 127])
def test_the_far_tail_is_reached_exactly(zeros):
    high = (1 << (63 - zeros)) if zeros < 64 else 0
    more = FULL if zeros < 64 else 1 << (127 - zeros)
    turn = 0  # angle almost zero: the first normal is the length of the pair
    words = np.array([[high, more, 1, turn]], dtype=np.uint64)
    with mpmath.workdps(60):
        length = mpmath.sqrt(2 * (zeros + 2) * mpmath.log(2))
        assert abs(normals(words, 1)[0, 0] - length) < NORMAL_ERROR


def test_no_normal_is_larger_than_the_largest():
    words = np.array([[0, 0, 1, 0], [0, 0, FULL, 4], [0, 1, 1, 0]], dtype=np.uint64)
    assert np.abs(normals(words, 2)).max() <= LARGEST_NORMAL


def extreme_pairs():
    # Not both zero: then the leading zeros end, with the chance that LARGEST_NORMAL is
    # about.
    highs = [FULL, 1 << 63, 1 << 11, 2047, 1, 0]
    mores = [FULL, 1 << 40, 1]
    lows = [0, 1, FULL, FULL - 1, 1 << 63]
    turns = [0, 7, FULL, FULL - 7, 1 << 63, 4095]
    return list(itertools.product(highs, mores, lows, turns))


def test_drawn_normals_are_within_the_stated_error_of_exact_ones():
    # The words fix the leading bits of an exact pair; whatever the bits behind them are,
    # from all zeros to all ones, the exact pair is near the drawn one.
    rows = [[int(w) for w in row] for row in random_words(15, 1000, PAIR_WORDS)]
    rows += [[0, row[1], row[2], row[3]] for row in rows[:100]]
    rows += [list(row) for row in extreme_pairs()]
    drawn = normals(np.array(rows, dtype=np.uint64), 2)
    worst = 0
    with mpmath.workdps(40):
        for row, pair in zip(rows, drawn, strict=True):
            for ends in ((0, 0), (1, 1), (0, 1), (1, 0)):
                exact = exact_normals(*row, *ends)
                worst = max(worst, abs(exact[0] - pair[0]), abs(exact[1] - pair[1]))
    assert worst <= NORMAL_ERROR


# --- lots -----------------------------------------------------------------------------

LIMIT = 13.0 * math.log(2.0)


def exact_wait(word, within=HALF):
    zeros = 13 - (word >> 51).bit_length()
    mantissa = HALF + ((word & (2**51 - 1)) + within) * mpmath.mpf(2) ** -52
    return zeros * mpmath.log(2) - mpmath.log(mantissa)


def chosen_waits():
    uppers = [1, 2, 3, 4095, 4096, 8191]
    lowers = [0, 1, 2**50, 2**51 - 1, 932_000_000_000_000]
    return [(upper << 51) | lower for upper in uppers for lower in lowers]


def test_a_wait_is_the_exponential_that_its_word_stands_for():
    words = chosen_waits() + [int(w) | (1 << 51) for w in random_words(27, 500)]
    with mpmath.workdps(40):
        for value in words:
            found = wait_of(word(value))
            assert 0.0 < found <= LIMIT
            for within in (0, HALF, 1):
                assert abs(found - exact_wait(value, within)) <= mpmath.mpf(2) ** -48


@pytest.mark.parametrize("lower", [0, 1, 2**51 - 1])
def test_a_wait_beyond_the_limit_is_told_apart(lower):
    assert wait_of(word(lower)) == -LIMIT


def lots(words, rows, decay):
    steps = len(words)
    ids = np.full(words.size, -1, dtype=np.int64)
    starts = np.zeros(steps + 1, dtype=np.int64)
    end = fill_lots(words, rows, decay, 0, -1, 0.0, ids, starts)
    return end, [ids[starts[t] : starts[t + 1]] for t in range(steps)]


def test_lots_walk_from_member_to_member():
    rows, decay = 1000, 0.01
    words = random_words(29, 20, 300)
    words[:, ::7] >>= np.uint64(13)  # every seventh wait is longer than the limit
    _, members = lots(words, rows, decay)
    for row, lot in zip(words, members, strict=True):
        expected, last, waited = [], -1, 0.0
        for value in row:
            wait = wait_of(value)
            if wait < 0.0:
                waited += LIMIT / decay
                continue
            last += 1 + int(waited + wait / decay)
            waited = 0.0
            if last >= rows:
                break
            expected.append(last)
        assert lot.tolist() == expected


@pytest.mark.parametrize("rate", [1e-15, 1e-300, 5e-324])
def test_a_tiny_rate_takes_none(rate):
    # A lot of the largest rate is not empty with chance 1e-15 * 1e6 * 100 = 1e-7.
    words = random_words(20, 100, 2)
    with np.errstate(over="ignore"):  # a wait over such a decay is infinite
        end, members = lots(words, 10**6, -math.log1p(-rate))
    assert end == (100, -1, 0.0)
    assert sum(map(len, members)) == 0


@pytest.mark.parametrize("cut", [1, 2, 5, 11, 70])
@pytest.mark.parametrize("long", [False, True], ids=["at a member", "within a wait"])
def test_going_on_with_more_words_drops_nothing(cut, long):
    rows, decay = 30_000, 0.01
    words = random_words(22, 1, 500)
    if long:
        words[0, cut - 1] >>= np.uint64(13)
    _, (whole,) = lots(words, rows, decay)
    assert len(whole) >= cut + 12
    ids = np.empty(rows, dtype=np.int64)
    starts = np.zeros(2, dtype=np.int64)
    step, last, waited = fill_lots(words[:, :cut], rows, decay, 0, -1, 0.0, ids, starts)
    drawn = cut - long
    assert (step, starts[1]) == (0, drawn)
    assert last == (whole[drawn - 1] if drawn else -1)
    assert waited == (LIMIT / decay if long else 0.0)
    rest = np.array([starts[1], 0])
    end = fill_lots(words[:, cut:], rows, decay, 0, last, waited, ids, rest)
    assert end[0] in (0, 1)  # 500 words need not reach the last record
    np.testing.assert_array_equal(ids[: rest[1]], whole)


def test_words_that_end_with_the_last_record_are_asked_for_once_more():
    words = random_words(23, 1, 4)
    ids, starts = np.empty(4, dtype=np.int64), np.zeros(2, dtype=np.int64)
    assert fill_lots(words, 4, math.inf, 0, -1, 0.0, ids, starts) == (0, 3, 0.0)
    rest = np.array([starts[1], 0])
    assert fill_lots(words, 4, math.inf, 0, 3, 0.0, ids, rest) == (1, -1, 0.0)
    assert rest[1] == 4


# --- orders ---------------------------------------------------------------------------


def uniform_orders(orders):
    codes = orders @ np.array([64, 16, 4, 1])
    counts = np.unique(codes, return_counts=True)[1]
    return len(counts) == 24 and stats.chisquare(counts).pvalue >= ALARM


@pytest.mark.compiled
def test_shuffle_is_a_uniform_permutation():
    count = 48_000
    words = random_words(24, count, 4)
    orders = np.tile(np.arange(4), (count, 1))
    for row, order in zip(words, orders, strict=True):
        shuffle(row, order)
    assert (np.sort(orders, axis=1) == np.arange(4)).all()
    assert uniform_orders(orders)


@pytest.mark.parametrize("words", [[], [FULL // 3], [FULL] * 1000], ids=len)
def test_one_none_and_the_largest_words_change_no_order(words):
    order = np.arange(len(words))
    shuffle(np.array(words, dtype=np.uint64), order)
    assert order.tolist() == list(range(len(words)))
