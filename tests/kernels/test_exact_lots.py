import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from dpscd.kernels.draws import fill_exact_lots, new_walk
from drawn import ALARM, FULL, lot_by_definition, random_words


def with_one_word(word, bits, rows, share, walk):
    """Go on with a single word; return whether the lot is done, its new member, the walk."""
    walk, ids, starts = np.array(walk), np.full(1, -1), np.zeros(2, np.int64)
    words = np.array([[word << (64 - bits)]], dtype=np.uint64)
    done = fill_exact_lots(words, bits, rows, share, 0, walk, ids, starts)
    return bool(done), tuple(ids[: starts[1]].tolist()), tuple(walk.tolist())


def exact_law(bits, rows, share):
    """Return the chance of every lot: all sequences of words, one word at a time."""

    @cache
    def law(walk):
        found = {}
        for word in range(2**bits):
            done, member, after = with_one_word(word, bits, rows, share, walk)
            rest = {(): Fraction(1)} if done else law(after)
            for lot, chance in rest.items():
                whole = member + lot
                found[whole] = found.get(whole, Fraction(0)) + chance / 2**bits
        return found

    return law(tuple(new_walk().tolist()))


@pytest.mark.parametrize(
    ("bits", "rows", "share"),
    [(1, 4, 1), (1, 3, 2), (1, 2, 5), (2, 3, 1), (2, 3, 3), (2, 3, 4), (2, 2, 7), (3, 2, 5)],
)
def test_every_bit_is_independent_with_exactly_the_stated_chance(bits, rows, share):
    # No tolerance: the words of every walk are enumerated, each state left after one word.
    law = exact_law(bits, rows, share)
    silent = (1 - Fraction(1, 2**bits)) ** share
    assert sum(law.values()) == 1
    assert len(law) == 2**rows
    for lot, chance in law.items():
        assert list(lot) == sorted(set(lot))
        assert chance == (1 - silent) ** len(lot) * silent ** (rows - len(lot))


RATES = [1e-9, 0.004, 0.3, 0.7, 1.0 - 2.0**-53]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("cut", [1, 2, 3, 10, 4000])
def test_a_walk_is_the_definition_wherever_words_run_out(rate, cut):
    rows, share = int(20 / rate), int(-math.log1p(-rate) * 2.0**57)
    for words in random_words(31, 20, 4000):
        expected = lot_by_definition(words, 57, rows, share)
        walk, ids, at = new_walk(), np.empty(4000, np.int64), 0
        for first in range(0, 4000, cut):
            starts = np.array([at, 0])
            piece = words[None, first : first + cut]
            done = fill_exact_lots(piece, 57, rows, share, 0, walk, ids, starts)
            at = starts[1]
            if done:
                break
        assert done
        assert ids[:at].tolist() == expected
        assert walk[[0, 1, 2, 5]].tolist() == [-1, 0, 0, 0]  # as if it were new


def test_steps_follow_each_other_until_one_has_too_few_words():
    words = random_words(32, 6, 400)
    words[3] = 0  # no run of these ever has two words: every skip is 0, one for two words
    rows, share = 250, int(-math.log1p(-0.1) * 2.0**57)
    walk, ids, starts = new_walk(), np.empty(2000, np.int64), np.zeros(7, np.int64)
    assert fill_exact_lots(words, 57, rows, share, 0, walk, ids, starts) == 3
    for step in range(3):
        lot = ids[starts[step] : starts[step + 1]]
        assert lot.tolist() == lot_by_definition(words[step], 57, rows, share)
    assert ids[starts[3] : starts[4]].tolist() == list(range(200))
    more = random_words(33, 1, 400)
    rest = np.array([starts[4], 0])
    assert fill_exact_lots(more, 57, rows, share, 0, walk, ids, rest) == 1
    whole = np.concatenate([words[3], more[0]])
    assert ids[starts[3] : rest[1]].tolist() == lot_by_definition(whole, 57, rows, share)


def test_skips_follow_their_law_and_take_as_many_words_as_are_set_aside_for_them():
    rate, count = 0.05, 60_000
    share = int(-math.log1p(-rate) * 2.0**57)
    words = random_words(34, 6 * count)
    walk, ids, starts = new_walk(), np.empty(3 * count, np.int64), np.zeros(2, np.int64)
    fill_exact_lots(words[None], 57, 2**62, share, 0, walk, ids, starts)
    assert len(words) / starts[1] == pytest.approx(math.e / (1.0 - math.exp(-1.0)), rel=0.02)
    skips = np.diff(np.append(-1, ids[: starts[1]])) - 1
    observed = np.bincount(np.minimum(skips, 120), minlength=121)

    def agrees(q):
        chances = q * (1.0 - q) ** np.arange(121)
        chances[-1] = (1.0 - q) ** 120
        return stats.chisquare(observed, len(skips) * chances).pvalue >= ALARM

    assert agrees(rate)
    assert not agrees(1.03 * rate)


def test_no_number_leaves_its_range():
    # The largest share with the largest words, and the most records with the smallest share.
    words = np.full((1, 64), FULL, dtype=np.uint64)
    words[0, 1::3] = FULL - 2**40  # two descend, the third does not: always rejected
    walk, ids, starts = new_walk(), np.empty(64, np.int64), np.zeros(2, np.int64)
    share = int(-math.log1p(-(1.0 - 2.0**-53)) * 2.0**57)
    assert fill_exact_lots(words, 57, 2**62, share, 0, walk, ids, starts) == 0
    assert (walk >= 0).sum() == 5
    walk = new_walk()
    small = int(1e-9 * 2.0**57)
    assert fill_exact_lots(words, 57, 2**62, small, 0, walk, ids, starts) == 0
    assert walk[1] == 21 * 2**57 // small
