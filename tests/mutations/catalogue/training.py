"""Mistakes in noise, lots, clipping and steps: kernels, losses and solvers."""

from mutation import mistake
from operations import argument, decorated, drop, returns, swap, without

_SENSITIVITY = (
    "properties/test_sensitivity::test_no_neighbour_moves_a_lot_by_more_than_the_clip"
)
# For mistakes that only packed rows meet: other layouts would be compiled for nothing.
_PACKED = f"{_SENSITIVITY}[Squared-packed-float64]"
_LONG_LOT = "test_the_sum_of_a_long_lot_is_exact"
_ALONE = "test_steps_of_a_record_do_not_depend_on_the_rest_of_its_lot"
_NOISE = "test_without_signal_the_model_is_exactly_the_stated_noise"
_BITS = "test_bits_are_independent_with_the_stated_rate"
_LAZY_NOISE = "test_without_signal_the_result_is_exactly_the_stated_noise"
_BY_THE_LOT = (
    "StepConstants(constants.strength, np.float64({}.shape[0]), constants.clip,"
    " constants.cell, constants.grid, constants.spread)"
)

NOISE = [
    mistake("half the noise", "kernels.packed:release_cells", _NOISE,
            swap("constants.spread", "0.5 * OLD")),
    mistake("noise only on touched coordinates", "kernels.packed:release_cells", _NOISE,
            swap("constants.spread", "(total[j] != 0) * OLD")),
    mistake("no noise after an empty lot", "kernels.packed:_advance",
            "kernels/test_packed::test_empty_lots_still_add_noise",
            swap("release_step(...)", "if begin < end: OLD")),
    mistake("the same noise for all classes", "kernels.packed:release_step",
            "test_noise_differs_between_classes_and_fits",
            swap("normals[t, k * width : (k + 1) * width]", "normals[t, :width]")),
    mistake("a step that every thread releases", "kernels.packed_threads:mine_to_release",
            "test_every_member_is_claimed_once_and_every_step_released_once",
            swap("swap(...)", "True")),
]  # fmt: skip

LAZY_NOISE = [
    mistake("lazy noise: what is due is forgotten", "kernels.lazy:settle", _LAZY_NOISE,
            without("np.float64(k)")),
    mistake("lazy noise: normals used twice", "solvers.lazy:LazyVector.run",
            "test_neither_chunks_nor_pieces_change_the_result",
            drop("self._normals = self._normals[used:]")),
    mistake("lazy noise: a sum that shows how often it left its range",
            "kernels.lazy:average_due",
            "test_a_sum_that_leaves_its_range_is_known_modulo_its_range",
            drop("total = add_product(total, 1, total) >> 1")),
]  # fmt: skip

CONTRIBUTIONS = [
    mistake("clip skipped", "kernels.dual:shorten_alone", _PACKED,
            swap("limit / length if length > limit else 1.0", "1.0")),
    mistake("classes of a joint loss clipped one by one", "kernels.dual:_fill_joint",
            _PACKED.replace("Squared", "Softmax"),
            swap("steps[k, b] * steps[k, b]", "max(0.0, OLD - buffer.squares[b])")),
    mistake("clip after normalising wrongly", "kernels.passes:measure_rows", _SENSITIVITY,
            swap("row_bound / scale * unit / relative", "row_bound / scale * unit"),
            swap("max(norm, _SHORTEST)", "1.0")),
    mistake("intercept column outside the norm bound", "kernels.passes:measure_rows",
            _SENSITIVITY,
            swap("math.sqrt(length * length + rows.tail * rows.tail)", "length")),
    mistake("the norm of a row before it was rounded", "kernels.pack:fill_pack",
            "test_norm_bounds_the_exact_length_of_the_packed_row",
            swap("state[SCALE] * math.sqrt(np.float64(squares))", "rows.norm[i]")),
    mistake("lot size divided by its realised value", "kernels.pack:add_members", _PACKED,
            argument("solve_block", 1, _BY_THE_LOT.format("members"))),
    mistake("fastmath in the clip", "kernels._jit:_Late._dispatcher", _SENSITIVITY,
            argument("numba.njit", "fastmath", "True")),
    mistake("norm summed in any order", "kernels.passes:_square_product",
            "test_what_bounds_a_contribution_is_computed_in_the_order_that_is_written",
            decorated("register_jitable(fastmath={'reassoc', 'contract'})")),
    mistake("sums of 32 bits", "kernels.packed:advance_packed", _LONG_LOT,
            swap("np.int64", "np.int32")),
    mistake("margins by a plain matrix product", "kernels.pack:_predict_eights", _ALONE,
            decorated("register_jitable(_nrt=True)"),
            swap("models, gains, buffer = work.models, work.gains, work.buffer", """
OLD
rows = np.empty((ids.shape[0], pack.padded), np.float32)
for b in range(ids.shape[0]):
    rows[b] = pack.cells[ids[b], : pack.padded]
margins = np.dot(rows, models.T)"""), swap("products[place]", "margins[b, k + place]")),
    mistake("rows turned by a matrix product", "standard:Standard.dense",
            "test_a_row_is_the_same_to_the_last_bit_wherever_it_stands",
            swap("np.multiply(...).sum(...)", "rows @ self.direction")),
    mistake("labels cut by the longest row of all", "problem:DeferredRows.parts",
            "test_how_a_label_is_cut_with_its_row_is_a_function_of_the_record",
            swap("first * _parts(...)", "OLD.min()")),
]  # fmt: skip

STEPS = [
    mistake("steps of a lot computed one after the other", "kernels.pack:add_members",
            "test_blocks_and_their_order_do_not_matter", swap("add_outputs(...)", """
OLD
for k in range(total.shape[0]):
    for j in range(pack.width):
        cells = constants.cell * total[k, j]
        work.models[k, j] += cells / constants.strength / work.gains[k]""")),
    mistake("steps damped by the realised lot", "solvers.dp_scd:dp_scd",
            "test_the_damping_follows_the_path_whatever_the_chunks",
            swap("damping.before(...)", "max(1.0, len(lots.ids) / len(normals))")),
    mistake("steps damped by what shards contributed, not yet noisy",
            "solvers.shard:Shard.step",
            "test_what_a_record_adds_under_a_path_that_swings_does_not_depend_on_the_others",
            argument("damping.before", 1, "self._so_far * 1.0")),
    mistake("early stop on the gap", "solvers.dp_scd:dp_scd", "test_every_planned_step_is_run",
            swap("begin = 0",
                 "OLD\nif problem.gap(rows, records, dual, shared)[1] < 1.0: break")),
]  # fmt: skip

LOTS = [
    mistake("shuffled lots accounted as Poisson", "privacy.draws:PoissonLots.draw", _BITS,
            swap("skips = self.skips(rows)", """
size = max(1, round(self.rate * rows))
order = np.random.default_rng(first)
cut = -(-steps * size // rows)
ids = np.concatenate([order.permutation(rows) for _ in range(cut)])
return Lots(ids[: steps * size], size * np.arange(steps + 1))
OLD""")),
    mistake("a truncated lot buffer", "privacy.draws:PoissonLots.draw", _BITS,
            swap("fill_lots(...)", "rest[1] = rest[0]")),
    mistake("rounded skips where records move", "releases.training:Training.lots",
            "test_lots_of_records_that_move_are_drawn_without_rounding",
            returns("PoissonLots(self.rate)")),
    mistake("exact lots that keep runs of even length", "kernels.draws:fill_exact_lots",
            "test_every_bit_is_independent_with_exactly_the_stated_chance",
            swap("length % 2 == 1", "length % 2 == 0")),
    mistake("exact lots above the stated rate", "privacy.draws:PoissonLots.share",
            "test_exact_lots_are_drawn_at_most_at_the_rate_and_hardly_below_it",
            swap("int(...)", "OLD + 1")),
    mistake("a record at the edge of a block summed twice", "solvers.local:LocalRecords._parts",
            "test_every_record_is_summed_once_however_rows_are_read",
            swap("first + _BLOCK", "OLD + 1")),
]  # fmt: skip

SHARDS = [
    mistake("the key of the noise sent to workers", "privacy.random:LotsSource.of",
            "test_a_source_of_lots_can_be_sent_and_knows_nothing_of_the_noise",
            swap("words.tobytes()", "source._key")),
    mistake("whatever a worker has is sent", "distributed.workers:ShardActor.ask",
            "test_a_row_does_not_leave_its_worker",
            returns("getattr(self._shard, method)(*args)")),
]  # fmt: skip
