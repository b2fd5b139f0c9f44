"""Mistakes of the second engine, and where persons are the unit of privacy."""

from mutation import core, other
from operations import never, swap, without, without_keyword

_DEVICE = "device/test_device_"
_CLIP = "test_no_person_moves_a_lot_by_more_than_the_clip"
_SUMS = "test_a_person_moves_a_sum_by_at_most_one"

DEVICE = [
    core("device: sums in single precision", "device.limbs:_product",
         "test_sums_are_whole_numbers",
         swap("lax.dot_general(...)", "lax.dot_general(a.astype(jnp.float32),"
              " b.astype(jnp.float32), dimensions).astype(jnp.int32)")),
    other("device: margins by a product of floats", "device.limbs:margins",
          "test_margins_are_whole_numbers", swap("outputs = shared_high.shape[0]", """
OLD
return ((256.0 * high + low).astype(work)
        @ (shared_high + shared_low / 256.0).astype(work).T)""")),
    other("device: a generator that is not made for secrets", "device.chacha:random_words",
          "test_purpose_and_step_are_the_nonce_and_the_counter_counts_blocks",
          swap("return chacha_blocks(...)", """
mixed = (jnp.arange(16 * count, dtype=jnp.uint32) + key[0]) * jnp.uint32(2654435761)
mixed = (mixed ^ (mixed >> 15) ^ nonce[0]) * jnp.uint32(2246822519) + nonce[1]
return (mixed ^ (mixed >> 13)).reshape(16, count)""")),
    core("device: words of lots used again as normals", "device.normals:draw_normals",
         "test_normals_are_those_of_the_processor_from_the_same_words", swap("NORMALS", "1")),
    core("device: the same words at every step", "device.chacha:random_words",
         "test_no_purpose_and_step_have_words_of_another", swap("step", "step & 0")),
    core("device: a rate rounded up", "device.lots:threshold_of",
         "test_a_rate_is_rounded_down_to_words",
         swap("int(rate * 2.0**32)", "-int(-rate * 2.0**32 // 1)")),
    core("device: a clip of floats that nobody checks", "device.contribution:clipped",
         "test_the_clip_does_not_rest_on_floats[1e-30-float32]",
         swap("squares * members.squares <= allowed", "squares < jnp.inf")),
    other("device: outputs clipped one by one", "device.contribution:clipped",
          "test_contributions_of_hostile_members_are_within_the_clip",
          swap("jnp.sum", "jnp.max"),
          swap("sum_of_parts(shares * shares)", "jnp.max(shares * shares, axis=1)")),
    core("device: a largest step of the lot in everybody's", "device.contribution:clipped",
         "test_a_step_does_not_depend_on_place_lot_or_others",
         swap("jnp.max(jnp.abs(steps), axis=1)", "0.0 * OLD + jnp.max(jnp.nan_to_num(OLD))")),
    other("device: lots cut at the size of a block", "device.training:_lot_sum",
          "test_a_lot_of_many_blocks_is_not_cut_and_its_sum_is_exact",
          swap("(size + job.block - 1) // job.block", "jnp.minimum(size, 1)")),
    other("device: a block as large as the lot", "solvers.on_device:device_scd",
          "test_what_is_compiled_follows_from_public_numbers",
          swap("plan.lot_size", "plan.rate * len(records.labels)")),
    core("device: no noise after an empty lot", "device.training:release",
         f"{_DEVICE}training::test_empty_lots_still_add_noise",
         swap("numbers.spread", "jnp.any(total != 0) * OLD")),
    other("device: duals that stay on the device", "device.training:train",
          "test_nothing_is_left_on_the_device", swap("(state, rows, key)", "key")),
    other("device: flags that loosen arithmetic", "device.backend:_refuse_flags",
          f"{_DEVICE}estimators::test_flags_that_change_arithmetic_are_refused",
          swap('value.lower() not in ("false", "0")', 'value.lower() in ("false", "0")')),
]  # fmt: skip

PERSONS = [
    core("persons: every row clipped by itself", "kernels.persons:first_factors",
         f"{_CLIP}[Squared-packed]",
         swap("not reach <= limit and ends[p] - begin > 1", "False")),
    other("persons: every row clipped by itself, sparse rows",
          "kernels.persons:add_lot_of_persons", f"{_CLIP}[Squared-csr]",
          swap("reach <= limit", "largest <= limit")),
    other("persons: duals that do not follow the common clip",
          "kernels.packed_persons:_add_joint",
          "test_duals_move_by_what_was_contributed[packed]",
          swap("buffer.steps[k, b] *= factor", "buffer.steps[k, b] *= 1.0")),
    core("persons: n counts rows", "estimators.sources:Arrays.opened",
         "test_persons_are_counted_not_rows[ridge]", swap("count_of(codes)", "rows.count")),
    core("persons: bits of rows", "solvers.dp_scd:dp_scd", "test_persons_are_drawn_not_rows",
         swap("persons.count", "len(records.labels)"), swap("persons.drawn()", "None")),
    core("persons: moments of rows", "releases.moments:MomentsQuery.total_of",
         f"{_SUMS}[moments-dense]", swap("persons is None", "True")),
    other("persons: labels of rows", "releases.query:whole_sums", f"{_SUMS}[label mean-dense]",
          never("persons is not None")),
    other("persons: histograms of rows", "releases.bounds:HistogramQuery.total",
          f"{_SUMS}[bounds-dense]", swap("records.persons is None", "True")),
    other("persons: rows count fully in means", "kernels.moments:fill_person_means",
          f"{_SUMS}[calibration-dense]", swap("total / count if count else 0.0", "total")),
    other("persons: a steepness that is not shortened",
          "releases.calibration:CalibrationQuery.total", f"{_SUMS}[steepness-dense]",
          without("np.maximum(1.0, length)")),
    core("persons: every row cut to whole numbers by itself",
         "kernels.moments:add_person_moments", "test_many_small_terms_of_a_person_are_cut_once",
         swap("add(rows, i, scale / usable, sums[0])",
              "add_truncated(rows, i, scale / usable, total[0])")),
    other("persons: given weights against others' rows", "persons:training_weights",
          "test_given_weights_compare_the_rows_of_one_person",
          swap("fill_person_means(...)", "means[:] = given.mean()")),
    core("persons: a budget of records pays for them", "estimators.fitting:Fitting._reserve",
         "test_a_budget_has_one_unit", without_keyword("unit")),
    other("persons: rows of nobody are the last person's", "preprocessing.identifiers:order_of",
          "test_rows_of_nobody_contribute_nothing",
          swap("known = codes[codes >= 0]",
               "known = codes = np.where(codes < 0, codes.max(), codes)")),
]  # fmt: skip
