"""Mistakes of the second engine, and where persons are the unit of privacy."""

from mutation import mistake
from operations import swap, without_keyword

_DEVICE = "device/test_device_"
_CLIP = "test_no_person_moves_a_lot_by_more_than_the_clip"
_SUMS = "test_a_person_moves_a_sum_by_at_most_one"

DEVICE = [
    mistake("device: sums in single precision", "device.rows:_product",
            "test_sums_are_whole_numbers",
            swap("lax.dot_general(...)", "lax.dot_general(a.astype(jnp.float32),"
                 " b.astype(jnp.float32), dimensions).astype(jnp.int32)")),
    mistake("device: the same words at every step", "device.random:random_words",
            "test_no_purpose_and_step_have_words_of_another", swap("step", "step & 0")),
    mistake("device: a rate rounded up", "device.random:threshold_of",
            "test_a_rate_is_rounded_down_to_words",
            swap("int(rate * 2.0**32)", "-int(-rate * 2.0**32 // 1)")),
    mistake("device: a clip of floats that nobody checks", "device.contribution:clipped",
            "test_the_clip_does_not_rest_on_floats[1e-30-float32]",
            swap("squares * members.squares <= allowed", "squares < jnp.inf")),
    mistake("device: a largest step of the lot in everybody's", "device.contribution:clipped",
            "test_a_step_does_not_depend_on_place_lot_or_others",
            swap("jnp.max(jnp.abs(steps), axis=1)",
                 "0.0 * OLD + jnp.max(jnp.nan_to_num(OLD))")),
    mistake("device: no noise after an empty lot", "device.training:release",
            f"{_DEVICE}training::test_empty_lots_still_add_noise",
            swap("numbers.spread", "jnp.any(total != 0) * OLD")),
    mistake("device: flags that loosen arithmetic", "device.backend:_refuse_flags",
            f"{_DEVICE}estimators::test_flags_that_change_arithmetic_are_refused",
            swap('value.lower() not in ("false", "0")', 'value.lower() in ("false", "0")')),
]  # fmt: skip

PERSONS = [
    mistake("persons: every row clipped by itself", "kernels.persons:first_factors",
            f"{_CLIP}[Squared-packed]",
            swap("not reach <= limit and ends[p] - begin > 1", "False")),
    mistake("persons: n counts rows", "records.opening:_rows",
            "test_persons_are_counted_not_rows[ridge]",
            swap("units_in(codes, rows.count)", "rows.count")),
    mistake("persons: bits of rows", "solvers.dp_scd:dp_scd", "test_persons_are_drawn_not_rows",
            swap("persons.count", "len(records.labels)"), swap("persons.drawn()", "None")),
    mistake("persons: moments of rows", "releases.moments:MomentsQuery.total_of",
            f"{_SUMS}[moments-dense]", swap("persons is None", "True")),
    mistake("persons: every row cut to whole numbers by itself",
            "kernels.passes:add_person_moments",
            "test_many_small_terms_of_a_person_are_cut_once",
            swap("add(rows, i, scale / usable, sums[0])",
                 "add_truncated(rows, i, scale / usable, total[0])")),
    mistake("persons: given weights against others' rows", "persons:training_weights",
            "test_given_weights_compare_the_rows_of_one_person",
            swap("fill_person_means(...)", "means[:] = given.mean()")),
    mistake("persons: a budget of records pays for them", "estimators.fitting:Charge.reserve",
            "test_a_budget_has_one_unit", without_keyword("unit")),
    mistake("persons: rows of nobody are the last person's",
            "records.identifiers:order_of",
            "test_rows_of_nobody_contribute_nothing",
            swap("known = codes[codes >= 0]",
                 "known = codes = np.where(codes < 0, codes.max(), codes)")),
]  # fmt: skip
