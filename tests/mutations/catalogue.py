"""Mistakes that were made elsewhere, each with the test that notices it here.

A mutation replaces pieces of the source; `test` is the test that must fail then. The table
in docs/understanding/mutations.md is written from this list.
"""

from typing import NamedTuple


class Mutation(NamedTuple):
    name: str
    file: str
    replace: tuple[tuple[str, str], ...]
    test: str


_SENSITIVITY = (
    "tests/properties/test_sensitivity.py::test_no_neighbour_moves_a_lot_by_more_than_the_clip"
)
# For mistakes that only packed rows meet: other layouts would be compiled for nothing.
_PACKED_SENSITIVITY = f"{_SENSITIVITY}[Squared-packed-float64]"
_NOISE = "tests/estimators/test_privacy.py::test_without_signal_the_model_is_exactly_the_stated_noise"
_EMPTY = "tests/kernels/test_dual.py::test_empty_lots_still_add_noise"
_BITS = "tests/privacy/test_sampling.py::test_bits_are_independent_with_the_stated_rate"
_DRAWN = "tests/releases/test_private_training.py::test_what_is_drawn_is_what_the_plan_lists"
_AFTER = "tests/releases/test_after_training.py::test_no_record_moves_a_sum_by_more_than_one"
_LAZY_NOISE = (
    "tests/solvers/test_lazy_scd.py::test_without_signal_the_result_is_exactly_the_stated_noise"
)
_LAZY_DRAW = "tests/kernels/test_lazy.py::test_a_coordinate_gets_what_is_due_in_one_draw"
_FORGED = (
    "tests/estimators/test_tampering.py::test_a_file_that_was_changed_in_one_place_is_refused"
)
_LOST = "tests/solvers/test_sharded.py::test_whatever_is_lost_the_model_is_the_same"
_BEHIND_THE_DOOR = "tests/audit/test_front_door.py::test_mistakes_behind_the_door_are_noticed"

_SCORE_VECTORS = (
    "tests/scores/test_vectors.py::test_no_record_adds_more_than_one_and_each_its_own"
)
_PERSON = "tests/properties/test_person_sensitivity.py::"
_PERSON_CLIP = f"{_PERSON}test_no_person_moves_a_lot_by_more_than_the_clip"
_PERSON_SUMS = (
    "tests/releases/test_person_releases.py::test_a_person_moves_a_sum_by_at_most_one"
)

_SEARCH = "tests/estimators/test_model_search.py::"

_DEVICE = "tests/device/test_device_"
_DEVICE_WORDS = (
    f"{_DEVICE}words.py::test_purpose_and_step_are_the_nonce_and_the_counter_counts_blocks"
)

MUTATIONS = [
    Mutation(
        "search: nothing paid for choosing",
        "privacy/search.py",
        (("    return far + 2.0 * math.log(ratio) * (1.0 + _ROUNDING) + _ROUNDING", "    return far"),),
        "tests/privacy/test_search.py::test_the_theorem_holds_for_outcomes_with_atoms_in_any_order",
    ),
    Mutation(
        "search: one run's delta for all runs",
        "privacy/search.py",
        (("    good = far_delta <= search.stop * delta", "    good = far_delta <= delta"),),
        "tests/privacy/test_search.py::test_a_search_is_claimed_if_every_list_satisfies_both_points",
    ),
    Mutation(
        "search: the noise of a score from the words of its fit",
        "estimators/model_search.py",
        (('source_for(seed, "score")', "source_for(seed)"),),
        f"{_SEARCH}test_no_seed_is_used_twice_in_a_search",
    ),
    Mutation(
        "search: scored on the records that were trained on",
        "estimators/model_search.py",
        (("    test: Parts = parts.scored(candidate, apart)", "    test: Parts = parts.scored(candidate, ~apart)"),),
        f"{_SEARCH}test_no_record_is_in_both_parts_and_none_is_lost",
    ),
    Mutation(
        "search: a split of exact size where the number of records is secret",
        "estimators/search_parts.py",
        (("    if relation.needs_n:\n", "    if False:\n"),),
        f"{_SEARCH}test_the_split_is_exact_or_of_coins_and_uses_no_cell",
    ),
    Mutation(
        "device: sums in single precision",
        "device/limbs.py",
        (("    return lax.dot_general(a, b, dimensions, preferred_element_type=jnp.int32)",
          "    return lax.dot_general(a.astype(jnp.float32), b.astype(jnp.float32), dimensions).astype(jnp.int32)"),),
        f"{_DEVICE}sums.py::test_sums_are_whole_numbers",
    ),
    Mutation(
        "device: margins by a product of floats",
        "device/limbs.py",
        (("    outputs = shared_high.shape[0]\n    if outputs <= _FEW:",
          "    outputs = shared_high.shape[0]\n"
          "    if outputs:\n"
          "        rows = (256.0 * high + low).astype(work)\n"
          "        return rows @ (shared_high + shared_low / 256.0).astype(work).T\n"
          "    if outputs <= _FEW:"),),
        f"{_DEVICE}sums.py::test_margins_are_whole_numbers",
    ),
    Mutation(
        "device: a generator that is not made for secrets",
        "device/chacha.py",
        (("    return chacha_blocks(key, jnp.arange(count, dtype=jnp.uint32), nonce)",
          "    mixed = (jnp.arange(16 * count, dtype=jnp.uint32) + key[0]) * jnp.uint32(2654435761)\n"
          "    mixed = (mixed ^ (mixed >> 15) ^ nonce[0]) * jnp.uint32(2246822519) + nonce[1]\n"
          "    return (mixed ^ (mixed >> 13)).reshape(16, count)"),),
        _DEVICE_WORDS,
    ),
    Mutation(
        "device: words of lots used again as normals",
        "device/normals.py",
        (("from dpscd.device.chacha import NORMALS, random_words", "from dpscd.device.chacha import LOTS, random_words"),
         ("random_words(key, NORMALS, step, blocks)", "random_words(key, LOTS, step, blocks)")),
        f"{_DEVICE}words.py::test_normals_are_those_of_the_processor_from_the_same_words",
    ),
    Mutation(
        "device: the same words at every step",
        "device/chacha.py",
        (("jnp.uint32(purpose), jnp.uint32(step), jnp.uint32(0)", "jnp.uint32(purpose), jnp.uint32(step & 0), jnp.uint32(0)"),),
        f"{_DEVICE}words.py::test_no_purpose_and_step_have_words_of_another",
    ),
    Mutation(
        "device: steps rounded to the nearest cell",
        "device/contribution.py",
        (("cells = jnp.trunc(steps * fine[:, None])", "cells = jnp.round(steps * fine[:, None])"),),
        f"{_DEVICE}steps.py::test_steps_are_cut_toward_zero_and_duals_move_by_what_is_left",
    ),
    Mutation(
        "device: a clip of floats that nobody checks",
        "device/contribution.py",
        (("    speaks &= squares * members.squares <= allowed\n", "    speaks &= squares * members.squares < jnp.inf * allowed\n"),),
        f"{_DEVICE}steps.py::test_the_clip_does_not_rest_on_floats[1e-30-float32]",
    ),
    Mutation(
        "device: no clip but the check",
        "device/contribution.py",
        (("factor = jnp.where(length > limit, limit / length, 1.0)", "factor = jnp.where(length > limit, 1.0, 1.0)"),),
        f"{_DEVICE}steps.py::test_a_saturated_record_attains_the_clip",
    ),
    Mutation(
        "device: outputs clipped one by one",
        "device/contribution.py",
        (("squares = jnp.sum(cut.astype(jnp.int64) ** 2, axis=1).astype(jnp.float64)",
          "squares = jnp.max(cut.astype(jnp.int64) ** 2, axis=1).astype(jnp.float64)"),
         ("sum_of_parts(shares * shares)", "jnp.max(shares * shares, axis=1)")),
        f"{_DEVICE}steps.py::test_contributions_of_hostile_members_are_within_the_clip",
    ),
    Mutation(
        "device: a largest step of the lot in everybody's",
        "device/contribution.py",
        (("top = jnp.max(jnp.abs(steps), axis=1)", "top = jnp.max(jnp.abs(jnp.nan_to_num(steps))) + jnp.zeros(len(steps), work)"),),
        f"{_DEVICE}steps.py::test_a_step_does_not_depend_on_place_lot_or_others",
    ),
    Mutation(
        "device: a block as large as the lot",
        "solvers/on_device.py",
        (("block = block_for(plan.lot_size, plan.outputs)\n        job", "block = block_for(plan.rate * len(records.labels), plan.outputs)\n        job"),),
        f"{_DEVICE}training.py::test_what_is_compiled_follows_from_public_numbers",
    ),
    Mutation(
        "device: lots cut at the size of a block",
        "device/training.py",
        (("blocks = (size + job.block - 1) // job.block", "blocks = jnp.minimum(size, 1)"),),
        f"{_DEVICE}steps.py::test_a_lot_of_many_blocks_is_not_cut_and_its_sum_is_exact",
    ),
    Mutation(
        "device: a rate rounded up",
        "device/lots.py",
        (("chances = int(rate * 2.0**32)", "chances = -int(-rate * 2.0**32 // 1)"),),
        f"{_DEVICE}words.py::test_a_rate_is_rounded_down_to_words",
    ),
    Mutation(
        "device: no noise after an empty lot",
        "device/training.py",
        (("numbers.spread * normals + 0.5", "jnp.any(total != 0) * numbers.spread * normals + 0.5"),),
        f"{_DEVICE}training.py::test_empty_lots_still_add_noise",
    ),
    Mutation(
        "device: duals that stay on the device",
        "device/training.py",
        (("for array in jax.tree.leaves((state, rows, key)):", "for array in jax.tree.leaves(key):"),),
        f"{_DEVICE}training.py::test_nothing_is_left_on_the_device",
    ),
    Mutation(
        "device: flags that loosen arithmetic",
        "device/backend.py",
        (("        if loose and value.lower() not in (\"false\", \"0\"):", "        if loose and value.lower() in (\"false\", \"0\"):"),),
        f"{_DEVICE}estimators.py::test_flags_that_change_arithmetic_are_refused",
    ),
    Mutation(
        "device: refusals after the charge",
        "estimators/fitting.py",
        (("        if self.engine == \"jax\":\n            self._check_engine(plan)\n", ""),),
        f"{_DEVICE}estimators.py::test_refusals_come_before_the_charge",
    ),
    Mutation(
        "persons: every row clipped by itself",
        "kernels/persons.py",
        (("joint[p] = not reach <= limit and ends[p] - begin > 1", "joint[p] = False"),),
        f"{_PERSON_CLIP}[Squared-packed]",
    ),
    Mutation(
        "persons: every row clipped by itself, sparse rows",
        "kernels/persons.py",
        (("        if reach <= limit:", "        if largest <= limit:"),),
        f"{_PERSON_CLIP}[Squared-csr]",
    ),
    Mutation(
        "persons: duals that do not follow the common clip",
        "kernels/packed_persons.py",
        (("buffer.steps[k, b] *= factor", "buffer.steps[k, b] *= 1.0"),),
        f"{_PERSON}test_duals_move_by_what_was_contributed[packed]",
    ),
    Mutation(
        "persons: the row's weight in the curvature",
        "kernels/persons.py",
        (("buffer.mass[b] = mass", "buffer.mass[b] = buffer.weight[b]"),),
        f"{_PERSON}test_rows_that_step_together_do_not_overshoot[packed]",
    ),
    Mutation(
        "persons: the row's weight in the curvature, sparse rows",
        "kernels/persons.py",
        (("dual, i, mass, steps[r]", "dual, i, records.weights[i], steps[r]"),),
        f"{_PERSON}test_rows_that_step_together_do_not_overshoot[csr]",
    ),
    Mutation(
        "persons: rows beyond the most never step",
        "kernels/persons.py",
        (("persons.turns[g] = (turn + taken) % size", "persons.turns[g] = 0"),),
        f"{_PERSON}test_all_rows_have_their_turn",
    ),
    Mutation(
        "persons: n counts rows",
        "estimators/sources.py",
        (("rows.count if codes is None else count_of(codes)", "rows.count"),),
        "tests/estimators/test_person_fits.py::test_persons_are_counted_not_rows[ridge]",
    ),
    Mutation(
        "persons: bits of rows",
        "solvers/dp_scd.py",
        (
            ("count = len(records.labels) if persons is None else persons.count", "count = len(records.labels)"),
            ("drawn = None if persons is None else persons.drawn()", "drawn = None"),
        ),
        f"{_PERSON}test_persons_are_drawn_not_rows",
    ),
    Mutation(
        "persons: moments of rows",
        "releases/moments.py",
        (("        if persons is None:\n", "        if True:\n"),),
        f"{_PERSON_SUMS}[moments-dense]",
    ),
    Mutation(
        "persons: labels of rows",
        "releases/query.py",
        (("    if records.persons is not None:\n", "    if False:\n"),),
        f"{_PERSON_SUMS}[label mean-dense]",
    ),
    Mutation(
        "persons: histograms of rows",
        "releases/bounds.py",
        (("        if records.persons is None:\n", "        if True:\n"),),
        f"{_PERSON_SUMS}[bounds-dense]",
    ),
    Mutation(
        "persons: rows count fully in means",
        "kernels/moments.py",
        (("out[k, g] = total / count if count else 0.0", "out[k, g] = total"),),
        f"{_PERSON_SUMS}[calibration-dense]",
    ),
    Mutation(
        "persons: every row cut to whole numbers by itself",
        "kernels/moments.py",
        (("add(rows, i, scale / usable, sums[0])", "add_truncated(rows, i, scale / usable, total[0])"),),
        "tests/releases/test_person_releases.py::test_many_small_terms_of_a_person_are_cut_once",
    ),
    Mutation(
        "persons: given weights against others' rows",
        "persons.py",
        (("fill_person_means(given[None], usable, starts, means)", "means[:] = given.mean()"),),
        "tests/releases/test_person_releases.py::test_given_weights_compare_the_rows_of_one_person",
    ),
    Mutation(
        "persons: a budget of records pays for them",
        "estimators/fitting.py",
        (("            unit=self.unit.text,\n        )\n\n    @property", "        )\n\n    @property"),),
        "tests/estimators/test_person_fits.py::test_a_budget_has_one_unit",
    ),
    Mutation(
        "persons: identifiers without regard to case",
        "preprocessing/identifier_cells.py",
        (("        return str.strip(cell)\n", "        return str.strip(cell).lower()\n"),),
        "tests/preprocessing/test_identifiers.py",
    ),
    Mutation(
        "persons: rows of nobody are the last person's",
        "preprocessing/identifiers.py",
        (
            ("known = codes[codes >= 0]", "codes = np.where(codes < 0, codes.max(), codes)\n    known = codes"),
        ),
        "tests/estimators/test_person_fits.py::test_rows_of_nobody_contribute_nothing",
    ),
    Mutation(
        "persons: capacity counted in rows",
        "solvers/local.py",
        (("len(self.weights) if self.persons is None else self.persons.count", "len(self.weights)"),),
        "tests/estimators/test_person_fits.py::test_capacity_is_of_persons",
    ),
    Mutation(
        "persons: a steepness that is not shortened",
        "releases/calibration.py",
        ((" / np.maximum(1.0, length)", ""),),
        f"{_PERSON_SUMS}[steepness-dense]",
    ),
    Mutation(
        "rows with pairs as long as if there were none",
        "preprocessing/encoding.py",
        (("math.sqrt(len(schema.parts))", "math.sqrt(len(schema.features))"),),
        "tests/preprocessing/test_pair_features.py::test_features_are_products_of_both_sides",
    ),
    Mutation(
        "a pair scaled by the largest of the records",
        "preprocessing/pair_features.py",
        (("(x * y).astype(np.float32)", "(x * y / max(1e-9, (x * y).max(initial=0.0))).astype(np.float32)"),),
        "tests/properties/test_door_tables.py::test_tables",
    ),
    Mutation(
        "a missing cell of a pair in the place of a value",
        "preprocessing/pair_features.py",
        (("np.where(absent, side_width(side) - 1, place)", "place"),),
        "tests/preprocessing/test_pair_features.py::test_features_are_products_of_both_sides",
    ),
    Mutation(
        "a file whose monotone column is not",
        "estimators/table.py",
        (("    good = good and is_monotone(schema, bounds, model)\n", ""),),
        "tests/estimators/test_monotone.py::test_a_file_whose_shape_is_not_as_declared_is_refused",
    ),
    Mutation(
        "an unlisted cell of a complete list in the next column",
        "preprocessing/column_features.py",
        (("codes = np.where(codes == OTHER, MISSING, codes)", "codes = np.array(codes)"),),
        "tests/preprocessing/test_encoding.py::test_a_complete_list_has_no_feature_for_others",
    ),
    Mutation(
        "shapes by the true number of records",
        "estimators/sources.py",
        (
            ("count = found if self._n is None else int(self._n)", "count = found"),
        ),
        "tests/preprocessing/test_resolution.py::test_a_fit_uses_the_public_number_of_records",
    ),
    Mutation(
        "half the noise",
        "kernels/packed.py",
        (("constants.spread * normals[j]", "0.5 * constants.spread * normals[j]"),),
        _NOISE,
    ),
    Mutation(
        "noise only on touched coordinates",
        "kernels/packed.py",
        (("constants.spread * normals[j]", "(total[j] != 0) * constants.spread * normals[j]"),),
        _NOISE,
    ),
    Mutation(
        "half the noise, sparse rows",
        "kernels/dual.py",
        (("constants.spread * normals[j]", "0.5 * constants.spread * normals[j]"),),
        _EMPTY,
    ),
    Mutation(
        "noise only on touched coordinates, sparse rows",
        "kernels/dual.py",
        (("constants.spread * normals[j]", "(total[j] != 0.0) * constants.spread * normals[j]"),),
        _EMPTY,
    ),
    Mutation(
        "no noise after an empty lot",
        "kernels/packed.py",
        (("        release_step(constants, t, normals, average_from, shared, average, total)",
          "        if begin < end:\n            release_step(constants, t, normals, average_from, shared, average, total)"),),
        "tests/kernels/test_packed.py::test_empty_lots_still_add_noise",
    ),
    Mutation(
        "threads: no noise after an empty lot",
        "kernels/packed_threads.py",
        (("                release_step(", "                if starts[t] < starts[t + 1]:\n                    release_step("),),
        "tests/solvers/test_threads.py::test_empty_lots_still_add_noise",
    ),
    Mutation(
        "threads: an empty lot that releases the sum before it again",
        "kernels/packed_threads.py",
        (("        if not joined:", "        if joined and t < 0:"),),
        "tests/solvers/test_threads.py::test_empty_lots_still_add_noise",
    ),
    Mutation(
        "a step that every thread releases",
        "kernels/sharing.py",
        (("    return swap(gate, _RELEASED, t, t + 1)", "    return True"),),
        "tests/kernels/test_sharing.py::test_every_member_is_claimed_once_and_every_step_released_once",
    ),
    Mutation(
        "a step released without those that are late",
        "kernels/sharing.py",
        (("    if look(gate, _DONE) < starts[t + 1] - starts[0]:", "    if starts[t + 1] < starts[0]:"),),
        "tests/solvers/test_threads.py::test_a_step_is_released_when_those_that_are_late_have_delivered",
    ),
    Mutation(
        "no noise after an empty lot, sparse rows",
        "kernels/dual.py",
        (("        for k in range(outputs):\n            noise =",
          "        for k in range(outputs if starts[t] < starts[t + 1] else 0):\n            noise ="),),
        _EMPTY,
    ),
    Mutation(
        "lazy noise: what is due is forgotten",
        "kernels/lazy_state.py",
        (("np.float64(k) * law.variance", "law.variance"),),
        _LAZY_NOISE,
    ),
    Mutation(
        "lazy noise: one step short",
        "kernels/lazy_state.py",
        (("np.float64(k) * law.variance", "np.float64(k - 1) * law.variance"),),
        _LAZY_DRAW,
    ),
    Mutation(
        "lazy noise: no last flush",
        "solvers/lazy.py",
        (("        self.settle(self._plan.steps)\n", ""),),
        _LAZY_NOISE,
    ),
    Mutation(
        "lazy noise: a look before the flush",
        "solvers/lazy.py",
        (("        self.settle(now)\n", ""),),
        "tests/solvers/test_lazy_scd.py::test_a_look_shows_a_vector_that_has_all_its_noise",
    ),
    Mutation(
        "lazy noise: no flush where averaging begins",
        "solvers/lazy.py",
        (("            vector.settle(first)\n", "            pass\n"),),
        _LAZY_NOISE,
    ),
    Mutation(
        "lazy noise: an average without its own variance",
        "kernels/lazy_state.py",
        (("np.float64(state[j, _TIMES]) / 12.0", "0.0"),),
        "tests/kernels/test_lazy.py::test_eager_and_lazy_have_the_same_law",
    ),
    Mutation(
        "lazy noise: the average of a stretch that is all at its end",
        "kernels/lazy_state.py",
        (("add_product(twice, k + 1, noise)", "add_product(twice, 2 * k, noise)"),),
        "tests/kernels/test_lazy.py::test_eager_and_lazy_have_the_same_law",
    ),
    Mutation(
        "lazy noise: normals used twice",
        "solvers/lazy.py",
        (("            self._normals = self._normals[used:]\n            if begin",
          "            if begin"),),
        "tests/solvers/test_lazy_scd.py::test_neither_chunks_nor_pieces_change_the_result",
    ),
    Mutation(
        "lazy noise: its finite precision not charged",
        "privacy/release.py",
        (("return self.size >= _LAZY_SIZE", "return False"),),
        "tests/privacy/test_release.py::test_many_numbers_pay_for_lazy_noise",
    ),
    Mutation(
        "lazy noise: the variance of rounding added to the variance that is stated",
        "kernels/lazy_state.py",
        (("variance - 1.0 / 12.0", "variance"),),
        "tests/kernels/test_lazy.py::test_rounding_is_part_of_the_stated_variance",
    ),
    Mutation(
        "lazy noise: no more variance than is accounted",
        "privacy/noise.py",
        (("_LAZY_EXCESS = 16.0", "_LAZY_EXCESS = 0.0"),),
        "tests/privacy/test_noise.py::test_lazy_noise_has_more_variance_than_is_accounted",
    ),
    Mutation(
        "lazy noise: rounded normals taken for Gaussians on the grid",
        "privacy/noise.py",
        (("_LAZY_ERROR = 2.0**-34", "_LAZY_ERROR = 0.0"),),
        "tests/privacy/test_noise.py::test_lazy_noise_pays_for_its_law",
    ),
    Mutation(
        "lazy noise: its tail paid for once",
        "privacy/release.py",
        (("math.exp(epsilon) * sum(x.lazy_tail", "sum(x.lazy_tail"),),
        "tests/privacy/test_release.py::test_many_numbers_pay_for_lazy_noise",
    ),
    Mutation(
        "lazy noise: its tail left off a ledger",
        "privacy/filters.py",
        (("x.tail(relation) + x.lazy_tail", "x.tail(relation)"),),
        "tests/privacy/test_filters.py::test_renyi_charges_the_tail_of_lazy_noise",
    ),
    Mutation(
        "lazy noise: a sum that shows how often it left its range",
        "kernels/lazy_state.py",
        (("            total = add_product(total, 1, total) >> 1\n", ""),),
        "tests/kernels/test_lazy.py::test_a_sum_that_leaves_its_range_is_known_modulo_its_range",
    ),
    Mutation(
        "lazy noise: a plan that is not accounted for it",
        "solvers/lazy.py",
        (("if not plan.lazy:", "if False:"),),
        "tests/solvers/test_lazy_scd.py::test_a_plan_that_is_not_lazy_is_refused",
    ),
    Mutation(
        "lazy noise: a pilot of another epsilon",
        "releases/shared_vector.py",
        (("if (own.epsilon, own.delta, own.relation) != (plan.epsilon, plan.delta, plan.relation):", "if False:"),),
        "tests/test_plan.py::test_a_pilot_has_the_target_of_its_plan",
    ),
    Mutation(
        "the tail of a replaced record as that of a silent one",
        "privacy/relation.py",
        (('"reach": 2', '"reach": 1'),),
        "tests/privacy/test_release.py::test_a_replaced_record_leaves_what_is_drawn_more_often",
    ),
    Mutation(
        "clip skipped",
        "kernels/block.py",
        (("limit / length if length > limit else 1.0", "1.0"),),
        _PACKED_SENSITIVITY,
    ),
    Mutation(
        "classes of a joint loss clipped one by one",
        "kernels/block.py",
        (("            buffer.squares[b] += steps[k, b] * steps[k, b]", "            buffer.squares[b] = max(buffer.squares[b], steps[k, b] * steps[k, b])"),),
        _PACKED_SENSITIVITY.replace("Squared", "Softmax"),
    ),
    Mutation(
        "a record of many classes that a long block leaves out of the clip",
        "kernels/block.py",
        (("    for k in range(steps.shape[0]):\n        for b in range(count):\n            buffer.squares[b] +=", "    for k in range(steps.shape[0]):\n        for b in range(count - (count > 64)):\n            buffer.squares[b] +="),),
        "tests/properties/test_record_alone.py::test_steps_of_a_record_do_not_depend_on_the_rest_of_its_lot",
    ),
    Mutation(
        "margins by a plain matrix product",
        "kernels/members.py",
        (
            (
                "    for k in range(0, eights, 8):\n        for b in range(ids.shape[0]):\n",
                "    rows = np.empty((ids.shape[0], pack.padded), np.float32)\n    for b in range(ids.shape[0]):\n        rows[b] = pack.cells[ids[b], : pack.padded]\n    margins = np.dot(rows, models.T)\n    for k in range(0, eights, 8):\n        for b in range(ids.shape[0]):\n",
            ),
            ("np.float64(products[place]) * gain", "np.float64(margins[b, k + place]) * gain"),
            ("@register_jitable\ndef _predict_eights", "@register_jitable(_nrt=True)\ndef _predict_eights"),
        ),
        "tests/properties/test_record_alone.py::test_steps_of_a_record_do_not_depend_on_the_rest_of_its_lot",
    ),
    Mutation(
        "a step of counts by the library's exponential",
        "losses/poisson.py",
        (("e = plain_exp(t)", "e = math.exp(t)"),),
        "tests/losses/test_losses.py::test_no_step_calls_the_mathematical_library",
    ),
    Mutation(
        "steps of a joint loss that leave the simplex",
        "losses/softmax.py",
        (("return weight * square / (", "return 2.0 * weight * square / ("),),
        "tests/losses/test_softmax.py::test_a_step_stays_in_the_simplex_and_ascends_by_its_part_of_the_gap",
    ),
    Mutation(
        "clip skipped, sparse rows",
        "kernels/dual.py",
        (("    if length <= limit:", "    if length < np.inf:"),),
        _SENSITIVITY,
    ),
    Mutation(
        "clip after normalising wrongly",
        "kernels/norms.py",
        (
            ("factor = row_bound / scale * unit / relative", "factor = row_bound / scale * unit"),
            ("else max(norm, _SHORTEST)", "else 1.0"),
        ),
        _SENSITIVITY,
    ),
    Mutation(
        "intercept column outside the norm bound",
        "kernels/norms.py",
        (("math.sqrt(length * length + rows.tail * rows.tail)", "length"),),
        _SENSITIVITY,
    ),
    Mutation(
        "norm summed in any order",
        "kernels/norms.py",
        (
            (
                "@register_jitable\ndef _square_product",
                "@register_jitable(fastmath={'reassoc', 'contract'})\ndef _square_product",
            ),
        ),
        "tests/kernels/test_hot_loop.py::test_what_bounds_a_contribution_is_computed_in_the_order_that_is_written",
    ),
    Mutation(
        "predictions summed in any order",
        "kernels/rows.py",
        (("@overload(ordered_dot)", '@overload(ordered_dot, jit_options={"fastmath": REORDERED})'),),
        "tests/kernels/test_hot_loop.py::test_what_bounds_a_contribution_is_computed_in_the_order_that_is_written",
    ),
    Mutation(
        "rows turned by a matrix product",
        "standard.py",
        (
            (
                'np.multiply(rows, self.direction, order="C").sum(axis=1)',
                "rows @ self.direction",
            ),
        ),
        "tests/test_standard.py::test_a_row_is_the_same_to_the_last_bit_wherever_it_stands",
    ),
    Mutation(
        "shuffled lots accounted as Poisson",
        "privacy/sampling.py",
        (
            (
                "        skips = self.skips(rows)\n        words",
                "        size = max(1, round(self.rate * rows))\n"
                "        order = np.random.default_rng(first)\n"
                "        cut = -(-steps * size // rows)\n"
                "        ids = np.concatenate([order.permutation(rows) for _ in range(cut)])\n"
                "        return Lots(ids[: steps * size], size * np.arange(steps + 1))\n"
                "        skips = self.skips(rows)\n        words",
            ),
        ),
        _BITS,
    ),
    Mutation(
        "an example twice in a lot",
        "privacy/sampling.py",
        (
            (
                "        return Lots(ids[: starts[steps]], starts)",
                "        return Lots(np.repeat(ids[: starts[steps]], 2), 2 * starts)",
            ),
        ),
        _BITS,
    ),
    Mutation(
        "rounded skips where records move",
        "plan.py",
        (("PoissonLots.of(self.rate, self.relation)", "PoissonLots(self.rate)"),),
        "tests/test_plan.py::test_lots_of_records_that_move_are_drawn_without_rounding",
    ),
    Mutation(
        "exact lots that keep runs of even length",
        "kernels/exact_lots.py",
        (("if length % 2 == 1:", "if length % 2 == 0:"),),
        "tests/kernels/test_exact_lots.py::test_every_bit_is_independent_with_exactly_the_stated_chance",
    ),
    Mutation(
        "exact lots that may stay where they are",
        "kernels/exact_lots.py",
        (("if word < lowest:", "if word <= lowest:"),),
        "tests/kernels/test_exact_lots.py::test_every_bit_is_independent_with_exactly_the_stated_chance",
    ),
    Mutation(
        "the skip in progress dropped when words run out",
        "privacy/sampling.py",
        (("            place, done = (first + step) * _PIECES, 0\n", "            walk = new_walk()\n            place, done = (first + step) * _PIECES, 0\n"),),
        "tests/privacy/test_sampling.py::test_exact_lots_go_on_where_their_words_ran_out",
    ),
    Mutation(
        "exact lots above the stated rate",
        "privacy/sampling.py",
        (("* (1.0 - 2.0**-48))", "* (1.0 - 2.0**-48)) + 1"),),
        "tests/privacy/test_sampling.py::test_exact_lots_are_drawn_at_most_at_the_rate_and_hardly_below_it",
    ),
    Mutation(
        "the norm of a row before it was rounded",
        "kernels/pack.py",
        (("state[NORM] = state[SCALE] * math.sqrt(np.float64(squares))", "state[NORM] = rows.norm[i]"),),
        "tests/kernels/test_pack.py::test_norm_bounds_the_exact_length_of_the_packed_row",
    ),
    Mutation(
        "lot size divided by its realised value",
        "kernels/members.py",
        (
            (
                "        solve_block(loss, constants, members.shape[0], buffer)",
                "        size = np.float64(members.shape[0])\n"
                "        real = StepConstants(constants.strength, size, constants.clip, constants.cell,\n"
                "                       constants.grid, constants.spread)\n"
                "        solve_block(loss, real, members.shape[0], buffer)",
            ),
        ),
        _PACKED_SENSITIVITY,
    ),
    Mutation(
        "lot size divided by its realised value, sparse rows",
        "kernels/dual.py",
        (
            (
                "        if step_of(loss, rows, records, constants, shared,",
                "        size = np.float64(ids.shape[0])\n"
                "        real = StepConstants(constants.strength, size, constants.clip, constants.cell,\n"
                "                       constants.grid, constants.spread)\n"
                "        if step_of(loss, rows, records, real, shared,",
            ),
        ),
        _SENSITIVITY,
    ),
    Mutation(
        "steps damped by the realised lot",
        "solvers/dp_scd.py",
        (
            (
                "damping = brake.before(first, shared)",
                "damping = max(1.0, len(lots.ids) / len(normals))",
            ),
        ),
        "tests/solvers/test_dp_scd.py::test_the_damping_follows_the_path_whatever_the_chunks",
    ),
    Mutation(
        "steps damped by the realised lot, on a shard",
        "solvers/shard.py",
        (("separability=brake.before(number, shared)", "separability=max(1.0, float(len(ids)))"),),
        "tests/solvers/test_brake.py::test_what_a_record_adds_under_a_path_that_swings_does_not_depend_on_the_others",
    ),
    Mutation(
        "steps damped by what shards contributed, not yet noisy",
        "solvers/shard.py",
        (("brake.before(number, shared)", "brake.before(number, self._so_far * 1.0)"),),
        "tests/solvers/test_brake.py::test_what_a_record_adds_under_a_path_that_swings_does_not_depend_on_the_others",
    ),
    Mutation(
        "lazy steps damped by what was drawn so far",
        "solvers/lazy.py",
        (
            (
                "            begin, used = advance_lazy(",
                "            moved = float((self._state != 0).mean())\n"
                "            self._numbers = self._numbers._replace(separability=3.0 + 9.0 * moved)\n"
                "            begin, used = advance_lazy(",
            ),
        ),
        "tests/solvers/test_lazy_scd.py::test_the_damping_of_a_lazy_fit_is_fixed",
    ),
    Mutation(
        "steps of a lot computed one after the other",
        "kernels/members.py",
        (
            (
                "        add_outputs(pack, members, buffer.cells, 0, total, many)",
                "        add_outputs(pack, members, buffer.cells, 0, total, many)\n"
                "        for k in range(total.shape[0]):\n"
                "            for j in range(pack.width):\n"
                "                room.models[k, j] += constants.cell * total[k, j] / constants.strength / room.gains[k]",
            ),
        ),
        "tests/kernels/test_packed.py::test_blocks_and_their_order_do_not_matter",
    ),
    Mutation(
        "steps of a lot computed one after the other, sparse rows",
        "kernels/dual.py",
        (
            (
                "                add_truncated(rows, i, steps[k] / constants.cell, total[k])",
                "                add_truncated(rows, i, steps[k] / constants.cell, total[k])\n"
                "                add(rows, i, steps[k], shared[k])",
            ),
            ("import Rows, add_truncated, ordered_dot", "import Rows, add, add_truncated, ordered_dot"),
        ),
        "tests/kernels/test_dual.py::test_steps_of_a_lot_see_only_the_vector_before_it",
    ),
    Mutation(
        "the same noise for all classes",
        "kernels/packed.py",
        (("normals[t, k * width : (k + 1) * width]", "normals[t, :width]"),),
        "tests/estimators/test_privacy.py::test_noise_differs_between_classes_and_fits",
    ),
    Mutation(
        "the same noise for all classes, sparse rows",
        "kernels/dual.py",
        (("normals[t, k * width : (k + 1) * width]", "normals[t, :width]"),),
        "tests/kernels/test_dual.py::test_advance_is_the_mechanism",
    ),
    Mutation(
        "a bar that is drawn by the clock",
        "progress.py",
        (('auto_refresh=False', 'auto_refresh=True'),),
        "tests/test_progress.py::test_a_recorded_bar_is_the_same_however_long_it_took",
    ),
    Mutation(
        "times that nobody asked for",
        "cli/fit.py",
        ((" - start if timings else None", " - start"),),
        "tests/cli/test_table_commands.py::test_fit_in_json_with_everything_given",
    ),
    Mutation(
        "the name of a ledger left out of the keys of its fits",
        "privacy/ledger_file.py",
        (('"name": secrets.token_hex(16)', '"name": "ledger"'),),
        "tests/estimators/test_budget.py::test_a_ledger_made_anew_gives_other_noise",
    ),
    Mutation(
        "the reservation left out of the key of a fit",
        "estimators/fitting.py",
        (('        seal = self._seal(reservation)\n', '        seal = ""\n'),),
        "tests/estimators/test_budget.py::test_fits_with_one_seed_do_not_share_their_noise",
    ),
    Mutation(
        "a seeded fit that is not marked in the ledger",
        "estimators/fitting.py",
        (('seeded=self.random_state is not None,', 'seeded=False,'),),
        "tests/estimators/test_budget.py::test_a_fit_with_a_secret_seed_is_marked",
    ),
    Mutation(
        "the mark of a seeded fit left out of the entry",
        "privacy/ledger.py",
        (('"seeded": bool(seeded),', '"seeded": False,'),),
        "tests/privacy/test_ledger.py::test_a_seeded_fit_is_marked_and_old_entries_are_not",
    ),
    Mutation(
        "a fit charged to a budget of another unit",
        "privacy/budget.py",
        (("        if unit == self.unit:\n", "        if True:\n"),
         ("if reservation.unit != self.unit.text:", "if False:")),
        "tests/privacy/test_ledger.py::test_a_fit_with_another_unit_is_refused_in_words",
    ),
    Mutation(
        "a card whose unit and facts about persons disagree",
        "cards/statements.py",
        (("    _check_persons(public, unit)\n", ""),),
        "tests/cards/test_card.py::test_a_unit_that_the_public_facts_contradict_is_refused",
    ),
    Mutation(
        "the number of a person's records said to be protected at epsilon",
        "privacy/unit.py",
        (('epsilon {2.0 * epsilon:g} and delta {_up(more)}', 'epsilon {epsilon:g} and delta {_up(delta)}'),),
        "tests/privacy/test_unit.py::test_taking_part_is_what_is_protected_at_epsilon",
    ),
    Mutation(
        "any seed charged to a ledger",
        "estimators/parameters.py",
        (('if ledger is not None and not isinstance(random_state, SecretSeed | None):', 'if False:'),),
        "tests/estimators/test_budget.py::test_a_seed_that_is_not_called_secret_is_refused",
    ),
    Mutation(
        "a schema to fill in that has looked at a record",
        "cli/schema.py",
        (('        if read_values_from_data_not_private:\n', '        if True:\n'),),
        "tests/cli/test_table_commands.py::test_schema_init_reads_no_record",
    ),
    Mutation(
        "a guessed kind that is not marked",
        "preprocessing/template.py",
        (('        return [*lines, _READ]', '        return lines if "ignore" in lines[0] else [*lines, _READ]'),),
        "tests/preprocessing/test_template.py::test_values_read_from_data_are_marked",
    ),
    Mutation(
        "the shape of an array in the message of a fit",
        "records/redaction.py",
        (('            redacted.__context__ = None', '            pass'),),
        "tests/estimators/test_memory.py::test_a_real_lack_of_memory_is_said_in_fixed_words",
    ),
    Mutation(
        "arrays of a failed fit kept with its error",
        "records/redaction.py",
        (('        del error, trace  # this frame is one of the new error\'s\n', ''),),
        "tests/estimators/test_memory.py::test_nothing_of_a_source_is_said",
    ),
    Mutation(
        "a cluster of this machine without TLS",
        "distributed/cluster.py",
        (('            protocol="tls://",\n            security=Security.temporary(),\n', ''),),
        "tests/distributed/test_local_cluster.py::test_nobody_without_the_certificate_gets_an_answer",
    ),
    Mutation(
        "a dashboard of a cluster of this machine",
        "distributed/cluster.py",
        (('        cluster.loop.add_callback(cluster.scheduler.http_server.stop)\n', ''),),
        "tests/distributed/test_local_cluster.py::test_everything_that_listens_is_encrypted_and_of_this_machine",
    ),
    Mutation(
        "a record at the edge of a block summed twice",
        "solvers/local.py",
        (("block = slice(first, first + _BLOCK)", "block = slice(first, first + _BLOCK + 1)"),),
        "tests/releases/test_query.py::test_every_record_is_summed_once_however_rows_are_read",
    ),
    Mutation(
        "a score that is computed before it is charged",
        "estimators/private_score.py",
        (("    reservation = _reserve(budget", "    records.read(False)\n    reservation = _reserve(budget"),),
        "tests/estimators/test_private_score.py::test_the_charge_comes_before_any_value",
    ),
    Mutation(
        "the same seed for all fits and processes",
        "privacy/random.py",
        (("self._start(os.urandom(_KEY))", "self._start(bytes(_KEY))"),),
        "tests/estimators/test_privacy.py::test_noise_differs_between_classes_and_fits",
    ),
    Mutation(
        "a stream used on in a forked process",
        "privacy/random.py",
        (("if os.getpid() != self._process:", "if False:"),),
        "tests/privacy/test_random.py::test_a_forked_child_cannot_draw",
    ),
    Mutation(
        "sigma rounded down",
        "privacy/calibration.py",
        (("math.ceil(multiplier * shift)", "math.floor(multiplier * shift)"),),
        "tests/privacy/test_calibration.py::test_rounding_up_never_goes_down_nor_far",
    ),
    Mutation(
        "a remembered multiplier trusted",
        "privacy/calibration.py",
        (("-_WINDOW <= _excess(decide(events_at(remembered)), target) <= 0.0", "-_WINDOW <= _excess(decide(events_at(remembered)), target)"),),
        "tests/privacy/test_multipliers.py::test_a_poisoned_multiplier_is_found_out",
    ),
    Mutation(
        "losses beyond the grid forgotten",
        "privacy/distribution.py",
        (("masses, float(deltas[-1])", "masses, 0.0"),),
        "tests/privacy/test_distribution.py::test_cutting_the_range_never_helps",
    ),
    Mutation(
        "losses beyond the window forgotten",
        "privacy/distribution.py",
        (("infinite = tail - math.expm1", "infinite = -math.expm1"),),
        "tests/privacy/test_distribution.py::test_cutting_the_range_never_helps",
    ),
    Mutation(
        "a window for masses that cancel",
        "privacy/distribution.py",
        (("masses = np.abs(masses)", "pass"),),
        "tests/privacy/test_distribution.py::test_the_window_of_a_composition_holds_its_mass",
    ),
    Mutation(
        "losses rounded down",
        "privacy/distribution.py",
        (("low = math.floor(lowest / interval)", "low = math.floor(lowest / interval) - 1"),
         ("Losses(interval, low, masses", "Losses(interval, low - 1, masses")),
        "tests/privacy/test_distribution.py::test_the_whole_is_what_the_accountant_of_the_library_says",
    ),
    Mutation(
        "one direction of a sampled step only",
        "privacy/relation.py",
        (('"nothing",\n            "reach": 1,\n            "directions": ("remove", "add"),', '"nothing",\n            "reach": 1,\n            "directions": ("add",),'),),
        "tests/privacy/test_distribution.py::test_the_whole_is_what_the_accountant_of_the_library_says",
    ),
    Mutation(
        "rounding of the composition not paid for",
        "privacy/accounting.py",
        (("return delta - sum(event.steps for event in events) * 2.0**-50", "return delta"),),
        "tests/privacy/test_accounting.py::test_a_delta_below_the_rounding_of_the_accountant_is_left_to_rdp",
    ),
    Mutation(
        "RDP used for replace-one",
        "privacy/relation.py",
        (('("PLD",),', '("PLD", "RDP"),'),),
        "tests/privacy/test_accounting.py::test_replace_one_never_uses_rdp",
    ),
    Mutation(
        "a truncated lot buffer",
        "privacy/sampling.py",
        (("            fill_lots(more, rows, decay, 0, last, waited, ids, rest)\n", "            rest[1] = rest[0]\n"),),
        _BITS,
    ),
    Mutation(
        "sums of 32 bits",
        "kernels/packed.py",
        (("    total = on_lines((outputs, pack.padded), np.int64)",
          "    total = on_lines((outputs, pack.padded), np.int32)"),),
        "tests/properties/test_sensitivity.py::test_the_sum_of_a_long_lot_is_exact",
    ),
    Mutation(
        "float32 accumulation",
        "kernels/dual.py",
        (("total = np.empty((outputs, width))", "total = np.empty((outputs, width), np.float32)"),),
        "tests/properties/test_sensitivity.py::test_the_sum_of_a_long_lot_is_exact",
    ),
    Mutation(
        "fastmath in the clip",
        "kernels/_jit.py",
        (("nogil=True,", "nogil=True, fastmath=True,"),),
        _SENSITIVITY,
    ),
    Mutation(
        "n = len(X) under add-remove",
        "estimators/base.py",
        (("n = records.count if self.n is None else int(self.n)", "n = records.count"),),
        "tests/estimators/test_privacy.py::test_declared_n_replaces_the_true_one_everywhere",
    ),
    Mutation(
        "C = 0",
        "plan.py",
        (("size > 0.0)", "size >= 0.0)"), ("1e-100 < self.clip < 1e100", "0.0 <= self.clip < 1e100")),
        "tests/test_plan.py",
    ),
    Mutation(
        "the dual in the pickle",
        "estimators/base.py",
        (("        self._runs, self._curvature = model.runs, model.curvature\n", "        self._runs, self._curvature = model.runs, model.curvature\n        self.kept_ = records.read().labels\n"),),
        "tests/estimators/test_contract.py::test_a_pickle_has_one_size_and_no_dual",
    ),
    Mutation(
        "the lots in the pickle",
        "estimators/base.py",
        (("        self._runs, self._curvature = model.runs, model.curvature\n", "        self._runs, self._curvature = model.runs, model.curvature\n        plan = plan_fit(fitting.facts, fitting.target, **fitting.fixed)\n        self.lots_ = plan.lots.draw(source_for(self.random_state, ''), 0, 9, plan.n)\n"), ("import FORMAL, PrivacyTarget, Relation\n", "import FORMAL, PrivacyTarget, Relation\nfrom dpscd.planning import plan_fit\nfrom dpscd.privacy.random import source_for\n")),
        "tests/estimators/test_contract.py::test_a_pickle_has_one_size_and_no_dual",
    ),
    Mutation(
        "bounds read from the data: rows",
        "estimators/base.py",
        (("row_bound=float(self.row_bound),", "row_bound=float(np.sqrt((records.read().X**2).sum(axis=1).max())),"),),
        "tests/estimators/test_privacy.py::test_rows_longer_than_the_bound_are_scaled_down_in_silence",
    ),
    Mutation(
        "bounds read from the data: labels",
        "records/labels.py",
        (("np.clip(np.where(known, values, 0.0), self.low, self.high)", "np.where(known, values, 0.0)"),),
        "tests/estimators/test_privacy.py::test_labels_beyond_the_bounds_are_clipped_in_silence",
    ),
    Mutation(
        "early stop on the gap",
        "solvers/dp_scd.py",
        (
            (
                "            begin = 0\n",
                "            begin = 0\n"
                "            if problem.gap(rows, records, dual, shared)[1] < 1.0:\n"
                "                break\n",
            ),
        ),
        "tests/solvers/test_steps.py::test_every_planned_step_is_run",
    ),
    Mutation(
        "budget spent after release",
        "estimators/fitting.py",
        (
            ("reservation = self._reserve(plan)", "reservation = None"),
            (
                "if self.ledger is not None and reservation is not None:\n"
                "            Ledger(self.ledger).commit(reservation)",
                "if self.ledger is not None:\n"
                "            Ledger(self.ledger).commit(self._reserve(plan))",
            ),
        ),
        "tests/estimators/test_budget.py::test_no_value_is_judged_before_the_budget",
    ),
    Mutation(
        "exposures of predictions made an array",
        "estimators/poisson.py",
        (("exposures_of(exposure, len(rates))", "np.asarray(exposure).astype(np.float64)"),),
        "tests/properties/test_door_exposure.py::test_predictions_too",
    ),
    Mutation(
        "bounds of exposures read from the data",
        "records/labels.py",
        (("np.clip(exposures_of(exposure, count), self.least, self.most) / self.usual", "exposures_of(exposure, count) / exposures_of(exposure, count).max()"),),
        "tests/properties/test_door_exposure.py::test_an_exposure_is_its_own_records_alone",
    ),
    Mutation(
        "a message that prints a cell",
        "estimators/validation.py",
        (("    raise unusable(_UNREADABLE)", "    raise unusable(text)"),),
        "tests/estimators/test_bad_input.py::test_labels_that_are_not_classes",
    ),
    Mutation(
        "moments without noise",
        "privacy/sums.py",
        (("release(total, normals[0], constants, out)", "release(total, 0.0 * normals[0], constants, out)"),),
        "tests/releases/test_released_moments.py::test_the_noise_of_moments_is_the_stated_one",
    ),
    Mutation(
        "moments that nobody pays for",
        "plan.py",
        (("tuple(one.release() for one in self.first)", 'tuple(one.release() for one in self.first if one.what != "moments")'),),
        _DRAWN,
    ),
    Mutation(
        "a pilot that nobody pays for",
        "plan.py",
        (("tuple(one.release() for one in self.first)", 'tuple(one.release() for one in self.first if not hasattr(one, "plan"))'),),
        _DRAWN,
    ),
    Mutation(
        "what is released after training nobody pays for",
        "plan.py",
        (("return (*self.first, *self.after)", "return self.first"),),
        "tests/releases/test_after_training.py::test_what_comes_after_training_is_listed_after_it_and_paid_for",
    ),
    Mutation(
        "what is released after training left off the list",
        "plan.py",
        (("(*self.first_releases(), self.release(), *after)", "(*self.first_releases(), self.release())"),),
        "tests/releases/test_after_training.py::test_what_comes_after_training_is_listed_after_it_and_paid_for",
    ),
    Mutation(
        "a calibration in which weights count in full",
        "releases/calibration.py",
        (("np.minimum(records.weights, 1.0)", "records.weights"),),
        _AFTER,
    ),
    Mutation(
        "a calibration whose pair is not bounded together",
        "releases/calibration.py",
        (("STEEP = 3.25", "STEEP = 8.0"), (" / np.maximum(1.0, length)", "")),
        _AFTER,
    ),
    Mutation(
        "a level whose pair is not bounded together",
        "releases/level.py",
        (("_SHORT = 1.0 / math.hypot(1.0, _MEAN)", "_SHORT = 1.0"), ("            each /= np.maximum(1.0, np.sqrt(np.square(each).sum(axis=0)))\n", "")),
        _AFTER,
    ),
    Mutation(
        "a level in which counts are not cut",
        "releases/level.py",
        (("np.clip(counts - means, -1.0, 1.0)", "counts - means"), ("            each /= np.maximum(1.0, np.sqrt(np.square(each).sum(axis=0)))\n", "")),
        _AFTER,
    ),
    Mutation(
        "persons: rows that count without end",
        "persons.py",
        (("np.minimum(many, rows) / rows", "many / rows"),),
        f"{_PERSON_SUMS}[calibration of rows-dense]",
    ),
    Mutation(
        "sums of records that say nothing",
        "releases/query.py",
        (("np.where(usable & used, each, 0.0)", "np.where(usable, each, 0.0)"),),
        "tests/releases/test_released_moments.py",
    ),
    Mutation(
        "sums not in whole cells",
        "releases/query.py",
        (("whole = np.trunc(each * (MARGIN / unit))", "whole = each * (MARGIN / unit)"),),
        _AFTER,
    ),
    Mutation(
        "gains of cut rows that are not bounded",
        "releases/long_rows.py",
        (("np.minimum(np.abs(guess - labels) / self.far, 1.0)", "np.abs(guess - labels) / self.far"),),
        _AFTER,
    ),
    Mutation(
        "gains of cut rows relative to the longest record",
        "releases/long_rows.py",
        (("whole, cut = self.declared.lines(records.X, self.model)\n", "whole, cut = self.declared.lines(records.X / max(1.0, np.nanmax(np.abs(records.X), initial=0.0)), self.model)\n"),),
        _AFTER,
    ),
    Mutation(
        "a rescaling whose sums are not bounded together",
        "releases/rescaling.py",
        (("each /= np.maximum(1.0, length)", "each /= 1.0"),),
        _AFTER,
    ),
    Mutation(
        "a rescaling around the mean of the predictions",
        "releases/rescaling.py",
        (("(guess - self.centre) / self.wide", "(guess - np.nanmean(guess)) / self.wide"),),
        _AFTER,
    ),
    Mutation(
        "a slope that its noise does not follow",
        "releases/rescaling.py",
        (("coef_noise=slope * np.asarray(model.coef_noise)", "coef_noise=np.asarray(model.coef_noise)"),),
        "tests/releases/test_rescaling.py::test_predictions_are_stretched_and_shifted_to_fit",
    ),
    Mutation(
        "an information whose two matrices are not bounded together",
        "releases/information.py",
        (("factor = 1.0 / np.maximum(1.0, np.sqrt(long * long + trace * trace))", "factor = np.ones(len(long))"),),
        "tests/releases/test_information.py::test_curvature_and_slopes_are_bounded_together",
    ),
    Mutation(
        "an information measured by the longest row of all",
        "releases/information.py",
        (("np.minimum(1.0, query.measure.row / self.norm)", "np.minimum(1.0, query.measure.row / self.norm.max(initial=1e-300))"),),
        "tests/releases/test_information.py::test_no_record_moves_the_sums_by_more_than_one",
    ),
    Mutation(
        "standard errors without the noise of training",
        "inference.py",
        (("privacy = inverse @ noise @ inverse - _excess(inverse, noise, error)", "privacy = 0.0 * inverse"),),
        "tests/test_inference.py::test_what_the_penalty_took_is_added_and_both_errors_are_told_apart",
    ),
    Mutation(
        "octaves that count beyond one",
        "releases/labels.py",
        (("return np.maximum(found, 0.0)", "return found"),),
        "tests/releases/test_label_octaves.py::test_no_record_moves_the_sum_by_more_than_one",
    ),
    Mutation(
        "labels cut by the longest row of all",
        "problem.py",
        (("found[block] = first * _parts(self.read(block).factor, self.problem.scale)", "found[block] = (first * _parts(self.read(block).factor, self.problem.scale)).min()"),),
        "tests/properties/test_record_alone.py::test_how_a_label_is_cut_with_its_row_is_a_function_of_the_record",
    ),
    Mutation(
        "noise of a shift left out of the intercept's",
        "releases/calibration.py",
        (("np.hypot(model.intercept_noise, noise)", "model.intercept_noise"),),
        "tests/releases/test_after_training.py::test_the_shift_brings_the_mean_chance_to_the_share",
    ),
    Mutation(
        "moments left off the card",
        "estimators/fitting.py",
        (("releases=plan.releases() if plan else (),", "releases=(plan.release(),) if plan else (),"),),
        "tests/estimators/test_standardise.py::test_all_releases_together_keep_the_promise",
    ),
    Mutation(
        "the ledger charged for the training only",
        "estimators/fitting.py",
        (("            plan.releases(),\n", "            (plan.release(),),\n"),),
        "tests/estimators/test_standardise.py::test_a_ledger_is_charged_for_all_releases",
    ),
    Mutation(
        "the noise of the training used for moments",
        "releases/moments.py",
        (("Purpose.MOMENTS", "Purpose.NOISE"),),
        "tests/releases/test_released_moments.py::test_the_training_has_noise_of_its_own",
    ),
    Mutation(
        "the pilot's noise used for the training",
        "releases/shared_vector.py",
        (('parties.source_of("pilot")', "parties.source"),),
        "tests/releases/test_private_training.py::test_the_pilot_has_a_source_of_its_own_and_nothing_is_drawn_twice",
    ),
    Mutation(
        "squares not cut to whole cells",
        "kernels/rows.py",
        (("vector[j] += np.trunc(scale * part * part)", "vector[j] += scale * part * part"),),
        "tests/kernels/test_moments_kernel.py::test_sums_of_many_records_are_exact_in_any_order",
    ),
    Mutation(
        "moments without margin for rounding",
        "kernels/moments.py",
        (("return MARGIN * math.sqrt(0.5) / cell", "return math.sqrt(0.5) / cell"),),
        "tests/kernels/test_moments_kernel.py::test_the_bound_is_attained_and_rows_a_little_too_long_stay_below_it",
    ),
    Mutation(
        "moments of features and squares not bounded together",
        "kernels/moments.py",
        (("return MARGIN * math.sqrt(0.5) / cell", "return MARGIN / cell"),),
        "tests/kernels/test_moments_kernel.py::test_no_neighbour_moves_the_moments_by_more_than_one",
    ),
    Mutation(
        "moments of records that cannot be used",
        "kernels/moments.py",
        (("rows.norm[i] <= 1.0 + 2.0**-30 and ", ""),),
        "tests/kernels/test_moments_kernel.py::test_no_neighbour_moves_the_moments_by_more_than_one",
    ),
    Mutation(
        "moments of rows not scaled to the ball",
        "problem.py",
        (("        return _measured(X, self.d, self.row_bound, 0.0)", "        return _measured(X, self.d, 1.0, 0.0)"),),
        "tests/test_problem.py::test_plain_rows_lie_in_the_unit_ball_and_have_no_constant",
    ),
    Mutation(
        "labels beyond their bounds in the label mean",
        "releases/labels.py",
        (("return np.clip(self.problem.labels(records.labels), -1.0, 1.0)", "return self.problem.labels(records.labels)"),),
        "tests/releases/test_released_moments.py::test_no_neighbour_moves_a_label_moment_by_more_than_one",
    ),
    Mutation(
        "the spread of labels around their true mean",
        "releases/labels.py",
        (("super().each(records) - self.centre", "super().each(records) - super().each(records).mean()"),),
        "tests/releases/test_released_moments.py::test_the_spread_is_around_the_released_mean_and_not_the_true_one",
    ),
    Mutation(
        "moments divided by the true number of records",
        "releases/moments.py",
        (("noisy * (np.sqrt(2.0) / self.n)", "noisy * (np.sqrt(2.0) / 100)"),),
        "tests/releases/test_released_moments.py::test_the_declared_n_divides_and_not_the_number_of_records",
    ),
    Mutation(
        "noise added by every worker",
        "solvers/sharded.py",
        (("normals[i], constants, shared)", "len(self._counts) ** 0.5 * normals[i], constants, shared)"),),
        "tests/solvers/test_sharded.py::test_without_signal_the_model_is_the_noise_of_one_source",
    ),
    Mutation(
        "a lost worker left out",
        "solvers/sharded.py",
        (("                self._transport.refill(number)\n",
          "                replies[number] = np.zeros_like(self._so_far[number])\n                break\n"),),
        _LOST,
    ),
    Mutation(
        "a lost worker's duals begin at zero",
        "solvers/sharded.py",
        (("        if not self._path:\n            return True", "        return True"),),
        _LOST,
    ),
    Mutation(
        "a new worker with other records than were counted",
        "solvers/shard.py",
        (("if self.count() != count:", "count = self.count()\n        if False:"),),
        "tests/solvers/test_sharded.py::test_a_new_shard_with_another_number_of_records_ends_the_fit",
    ),
    Mutation(
        "the past of a new worker not compared",
        "solvers/sharded.py",
        (("if not np.array_equal(found, self._so_far[number]):", "if False:"),),
        "tests/solvers/test_sharded.py::test_a_change_that_the_last_lot_does_not_show_ends_the_fit_too",
    ),
    Mutation(
        "a step repeated by a worker that did it already",
        "solvers/shard.py",
        (("if self._training is None or number != self._done:", "if self._training is None:"),),
        "tests/solvers/test_sharded.py::test_steps_out_of_turn_are_refused",
    ),
    Mutation(
        "bits drawn by the place in a partition",
        "solvers/shard.py",
        (("lots, number, start, start + units) - start", "lots, number, 0, units)"),),
        "tests/solvers/test_sharded.py::test_divided_records_give_the_model_of_one_machine",
    ),
    Mutation(
        "the key of the noise sent to workers",
        "privacy/random.py",
        (("return cls(words.tobytes(), seeded=source.seeded)", "return cls(source._key, seeded=source.seeded)"),),
        "tests/privacy/test_sampling.py::test_a_source_of_lots_can_be_sent_and_knows_nothing_of_the_noise",
    ),
    Mutation(
        "a plan that follows the number of partitions",
        "distributed/workers.py",
        (("self.workers = transport.workers", "self.workers = len(transport)"),),
        "tests/distributed/test_transport.py::test_the_plan_does_not_know_how_records_are_divided",
    ),
    Mutation(
        "workers that compile for different processors",
        "distributed/builds.py",
        (("if here != there:", "if False:"),),
        "tests/distributed/test_workers.py::test_a_worker_that_may_round_otherwise_is_refused",
    ),
    Mutation(
        "whatever a worker has is sent",
        "distributed/shard_actor.py",
        (("return only_sums(getattr(self._shard, method)(*args))", "return getattr(self._shard, method)(*args)"),),
        "tests/distributed/test_workers.py::test_a_row_does_not_leave_its_worker",
    ),
    Mutation(
        "a multiplier that only the search has seen",
        "privacy/calibration.py",
        (("while (error := _excess(decide(events_at(found)), target)) > 0.0:", "while (error := _excess(decide(events_at(found)), target)) > 9.0:"),),
        "tests/privacy/test_calibration.py::test_what_the_search_finds_is_put_to_the_accountant_that_decides",
    ),
    Mutation(
        "our arrays alone decide",
        "privacy/accounting.py",
        (("pld = max(pld, found)", "pld = max(pld, 0.0)"),),
        "tests/privacy/test_accounting.py::test_a_mistake_of_our_arrays_cannot_lower_what_is_claimed",
    ),
    Mutation(
        "the library alone decides",
        "privacy/accounting.py",
        (("pld = max(pld, found)", "pld = found"),),
        "tests/privacy/test_accounting.py::test_a_mistake_of_the_library_cannot_lower_what_is_claimed",
    ),
    Mutation(
        "the library asked about the last release alone",
        "privacy/accountants.py",
        (("    for event in events:\n        once = library", "    for event in events[-1:]:\n        once = library"),),
        "tests/privacy/test_accounting.py::test_what_the_library_is_asked_is_what_is_released",
    ),
    Mutation(
        "Rényi divergences used without their rounding",
        "privacy/accountants.py",
        (("bound = max(float(value), 0.0) * (1.0 + 2.0**-40) + event.steps * rounding / (order - 1)", "bound = float(value)"),),
        "tests/privacy/test_accounting.py::test_rounding_does_not_make_a_small_loss_none",
    ),
    Mutation(
        "an interrupt in the middle of compiling",
        "kernels/_jit.py",
        (("compiled.compile = _uninterrupted(function, compiled.compile)", "pass"),),
        "tests/kernels/test_jit.py::test_a_function_is_compiled_whole_or_not_at_all",
    ),
    Mutation(
        "a kernel compiled twice, here and beside",
        "kernels/_jit.py",
        (("        wait_for(function.__module__, function.__name__)\n", ""),),
        "tests/kernels/test_ahead.py::test_the_first_fit_finds_the_kernel_in_the_cache",
    ),
    Mutation(
        "a total that is no sum leaves the records",
        "releases/query.py",
        (("total += only_sums(found)", "total += found"),),
        "tests/releases/test_query.py::test_only_sums_leave_the_records",
    ),
    Mutation(
        "more records added up than sums can hold",
        "solvers/local.py",
        (("        check_capacity(query.n, self.count)\n", ""),),
        "tests/releases/test_released_moments.py::test_more_records_than_sums_can_hold_are_refused_before_any_draw",
    ),
    Mutation(
        "private bounds: every column counted in full",
        "releases/bounds.py",
        (("MARGIN / math.sqrt(len(columns)) / self.unit", "MARGIN / self.unit"),),
        "tests/releases/test_private_bounds.py::test_a_record_moves_a_histogram_by_at_most_one",
    ),
    Mutation(
        "private bounds: one of two histograms paid for",
        "releases/bounds.py",
        (("times: ClassVar[int] = 2", "times: ClassVar[int] = 1"),),
        "tests/releases/test_private_bounds.py::test_both_histograms_get_the_stated_noise_from_streams_of_their_own",
    ),
    Mutation(
        "private bounds: the same noise in both histograms",
        "releases/base.py",
        (("total, source, self.purpose, time)", "total, source, self.purpose, 0)"),),
        "tests/releases/test_private_bounds.py::test_both_histograms_get_the_stated_noise_from_streams_of_their_own",
    ),
    Mutation(
        "private bounds left off the card",
        "releases/bounds.py",
        (("if bounds and listed is None:", "if False:"),),
        "tests/estimators/test_table_model.py::test_private_bounds_are_a_release_on_the_card",
    ),
    Mutation(
        "a score of vectors longer than 1",
        "privacy/score.py",
        (("inside = inside / np.maximum(1.0, length)", "pass"),),
        "tests/privacy/test_score.py::test_a_record_moves_the_sum_by_at_most_one",
    ),
    Mutation(
        "a score whose secret count comes on top of its vector",
        "scores/measure.py",
        (("np.concatenate([COUNT_WEIGHT * each, ones])", "np.concatenate([each, ones])"),),
        f"{_SCORE_VECTORS}[accuracy-2-add-remove]",
    ),
    Mutation(
        "a score's sum of squares that is scaled too far",
        "scores/means.py",
        (("SPREAD = 3.0", "SPREAD = 5.0"),),
        f"{_SCORE_VECTORS}[brier-2-zero-out]",
    ),
    Mutation(
        "moments of an R2 that together are longer than 1",
        "scores/r2.py",
        (("0.72, 0.1, 0.1, 0.02", "0.72, 0.1, 0.1, 0.2"),),
        f"{_SCORE_VECTORS}[r2-2-zero-out]",
    ),
    Mutation(
        "a score whose declared number of records is the true one",
        "estimators/private_score.py",
        (('count = check_integer("n", n)', "count = records.count"),),
        "tests/estimators/test_private_score.py::test_a_secret_number_of_records_is_not_told",
    ),
    Mutation(
        "a card of a score whose release may have any size",
        "cards/score_card.py",
        (("release.size != measure.size or ", ""),),
        "tests/cards/test_score_card.py::test_releases_that_are_not_the_score_are_refused",
    ),
    Mutation(
        "the message of a file that shows its rows",
        "preprocessing/delimited.py",
        (('        if problem:\n            raise DataError(problem)', "        if problem:\n            raise DataError(problem + self._source.read_text(errors='replace'))"),),
        "tests/preprocessing/test_reading.py::test_bad_files_say_so_and_show_no_cell",
    ),
    Mutation(
        "a file: releases dropped with the flag that announces them",
        "cards/card.py",
        (("        self._check_claim(found)\n", ""),),
        f"{_FORGED}[a pilot that was not used]",
    ),
    Mutation(
        "a file: what the releases reach not compared",
        "cards/card.py",
        (("if not agrees(reaches, found.epsilon, within=_SAME_EPSILON):", "if False:"),),
        f"{_FORGED}[multiplier and noise]",
    ),
    Mutation(
        "a file: the noise of coefficients believed",
        "estimators/files.py",
        (("    check_noise(runs, card, model.coef_noise_, noise, after)\n", ""),),
        f"{_FORGED}[noise times ten]",
    ),
    Mutation(
        "a file: moments left off, the map made of them left in",
        "estimators/consistency.py",
        (('if (values is not None) != public["standardised"]:', "if False:"),),
        f"{_FORGED}[moments, repriced]",
    ),
    Mutation(
        "a file: another relation than that of the parameters",
        "estimators/consistency.py",
        (('        ("relation", card.relation.value),\n', ""),),
        f"{_FORGED}[relation, repriced]",
    ),
    Mutation(
        "a file: any delta for delta='auto'",
        "estimators/consistency.py",
        (('if parameters["delta"] == "auto" and target.delta != auto:', "if False:"),),
        f"{_FORGED}[delta, repriced]",
    ),
    Mutation(
        "a file: sizes of releases believed",
        "cards/statements.py",
        (("        kind.check_listed(listed.get(kind), public)\n", "        pass\n"),),
        f"{_FORGED}[sizes]",
    ),
    Mutation(
        "a file: another format read as this one",
        "estimators/files.py",
        (("    if type(number) is int and number != _FORMAT:", "    if False:"),),
        f"{_FORGED}[another format]",
    ),
    Mutation(
        "a file: the last of two values of one key",
        "privacy/strict_json.py",
        (("if len(found) != len(pairs):", "if False:"),),
        "tests/privacy/test_strict_json.py::test_what_readers_could_take_differently_is_refused",
    ),
    Mutation(
        "a signature of whatever the file says",
        "estimators/loading.py",
        (("        check_signature(path, content, key)\n", ""),),
        "tests/cli/test_sign_command.py::test_what_does_not_match_is_one_line_and_exit_code_1",
    ),
    Mutation(
        "a signature that does not match is not looked at",
        "privacy/signing.py",
        (("        good = False\n", "        good = True\n"),),
        "tests/privacy/test_signing.py::test_another_key_is_refused",
    ),
    Mutation(
        "a private key that everybody can read",
        "privacy/signing.py",
        (("0o600", "0o644"),),
        "tests/privacy/test_signing.py::test_a_private_key_is_for_its_owner_only",
    ),
    Mutation(
        "half the noise in the moments",
        "releases/moments.py",
        (("noisy = self.noisy(", "noisy = replace(self, noise_multiplier=0.5 * self.noise_multiplier).noisy("),),
        _BEHIND_THE_DOOR,
    ),
    Mutation(
        "a pilot with a tenth of its noise",
        "releases/shared_vector.py",
        (("train(problem, self.plan, source,", "train(problem, replace(self.plan, noise_multiplier=0.1 * self.plan.noise_multiplier), source,"),),
        _BEHIND_THE_DOOR,
    ),
    Mutation(
        "one class of three without noise, sparse rows",
        "kernels/dual.py",
        (("noise = normals[t, k * width : (k + 1) * width]", "noise = normals[t, k * width : (k + 1) * width] * (k < 2)"),),
        _BEHIND_THE_DOOR,
    ),
    Mutation(
        "a tenth of the noise in histograms of bounds",
        "releases/bounds.py",
        (("self.noisy(HistogramQuery", "replace(self, noise_multiplier=0.1 * self.noise_multiplier).noisy(HistogramQuery"),),
        "tests/audit/test_front_door.py::test_histograms_keep_their_own_claim",
    ),
    Mutation(
        "a sum shown to an audit before its noise",
        "privacy/sums.py",
        (("tell_sum(purpose, time, out)", "tell_sum(purpose, time, cell * total)"),),
        "tests/audit/test_recording.py::test_only_released_values_are_told",
    ),
    Mutation(
        "duals shown to an audit",
        "solvers/dp_scd.py",
        (("audit.moved(first, shared.copy())", "audit.moved(first, dual.copy())"),),
        "tests/audit/test_recording.py::test_nothing_of_a_record_can_be_reached",
    ),
    Mutation(
        "a lazy vector shown to an audit before it is settled",
        "solvers/lazy.py",
        (("        self.settle(now)\n        out = np.empty", "        out = np.empty"),),
        "tests/audit/test_recording.py::test_lazy_noise_is_seen_settled_once_an_epoch",
    ),
    Mutation(
        "a sentinel that counts where numbers are texts only",
        "preprocessing/columns.py",
        (("            plain[plain == absent] = np.nan", "            pass"),),
        "tests/properties/test_door_tables.py::test_columns_that_change_their_type",
    ),
    Mutation(
        "knots at quantiles of the records",
        "preprocessing/column_features.py",
        (("between(scaled, scaled_knots(column, *declared_bounds(column, bounds)))", "between(scaled, np.quantile(scaled, np.linspace(0.0, 1.0, intervals_of(column) + 1)) + 1e-9 * np.arange(intervals_of(column) + 1))"),),
        "tests/properties/test_door_tables.py::test_tables",
    ),
    Mutation(
        "labels of a list made an array",
        "preprocessing/columns.py",
        (("    column = np.empty(len(cells), dtype=object)\n", "    return pd.Series(np.asarray(cells))\n    column = np.empty(len(cells), dtype=object)\n"),),
        "tests/properties/test_door_arrays.py::test_labels",
    ),
    Mutation(
        "whole numbers compared after rounding",
        "preprocessing/columns.py",
        (("if _precision(cells) <= meaning.largest_whole:", "if False:"),),
        "tests/properties/test_door_tables.py::test_whole_numbers_that_floats_cannot_tell_apart_are_the_one_exception",
    ),
    Mutation(
        "whole numbers of a column as floats",
        "preprocessing/columns.py",
        (("    cells = _dense(cells)\n    if isinstance(cells.dtype, pd.CategoricalDtype):\n        return _by_category(cells, codes(",
          "    cells = _dense(cells)\n    cells = cells.astype(float) if _is_numeric(cells) else cells\n    if isinstance(cells.dtype, pd.CategoricalDtype):\n        return _by_category(cells, codes("),),
        "tests/properties/test_door_tables.py::test_whole_numbers_that_floats_cannot_tell_apart_are_the_one_exception",
    ),
    Mutation(
        "a stray quote that swallows the lines after it",
        "preprocessing/delimited.py",
        (("if not self._layout.multiline and records != lines.count:", "if False:"),),
        "tests/properties/test_door_charge.py::test_files_that_are_refused_have_been_paid_for",
    ),
    Mutation(
        "duplicate entries of sparse rows added up in any order",
        "preprocessing/containers.py",
        (("    return rows if _ascends(rows) else _summed(rows)", "    rows.sum_duplicates()\n    return rows"),),
        "tests/properties/test_door_arrays.py::test_a_long_row_with_entries_twice_is_added_up_in_its_order",
    ),
    Mutation(
        "sparse rows of another type when one has an entry twice",
        "preprocessing/containers.py",
        (("        values = values.astype(rows.dtype, copy=False)\n", ""),),
        "tests/properties/test_door_arrays.py::test_sparse_rows",
    ),
    Mutation(
        "records read before the charge",
        "estimators/fitting.py",
        (("        reservation = self._reserve(plan)\n", "        redact_errors(read)\n        reservation = self._reserve(plan)\n"),),
        "tests/properties/test_door_charge.py::test_records_that_are_refused_have_been_paid_for",
    ),
    Mutation(
        "cells compared before they are texts",
        "preprocessing/columns.py",
        (("places, texts = _distinct([text_of(cell) for cell in objects])", "places, values = pd.factorize(np.array(list(objects), dtype=object))\n        texts = (text_of(value) for value in values)"),),
        "tests/properties/test_door_tables.py::test_a_column_says_of_each_cell_what_the_cell_says",
    ),
    Mutation(
        "predictions by a matrix product",
        "estimators/base.py",
        (("        scores = np.empty((X.shape[0], len(coef)))\n", "        return np.asarray(X @ coef.T)\n        scores = np.empty((X.shape[0], len(coef)))\n"),),
        "tests/properties/test_door_charge.py::test_a_prediction_is_the_same_alone_and_among_others",
    ),
    Mutation(
        "what a cell's own methods say",
        "preprocessing/cells.py",
        (("    except Exception:  # of an object's own methods, which may say whatever they like\n        return _FOREIGN", "    except ArithmeticError:\n        return _FOREIGN"),),
        "tests/properties/test_door_tables.py::test_no_cell_refuses_anything",
    ),
]  # fmt: skip
