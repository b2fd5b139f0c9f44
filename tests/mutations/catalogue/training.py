"""Mistakes in noise, lots, clipping and steps: kernels, losses and solvers."""

from mutation import core, other
from operations import argument, decorated, drop, never, returns, swap, without, without_keyword

_SENSITIVITY = (
    "properties/test_sensitivity::test_no_neighbour_moves_a_lot_by_more_than_the_clip"
)
# For mistakes that only packed rows meet: other layouts would be compiled for nothing.
_PACKED = f"{_SENSITIVITY}[Squared-packed-float64]"
_LONG_LOT = "test_the_sum_of_a_long_lot_is_exact"
_ALONE = "test_steps_of_a_record_do_not_depend_on_the_rest_of_its_lot"
_NOISE = "test_without_signal_the_model_is_exactly_the_stated_noise"
_EMPTY = "kernels/test_dual::test_empty_lots_still_add_noise"
_BITS = "test_bits_are_independent_with_the_stated_rate"
_LAZY_NOISE = "test_without_signal_the_result_is_exactly_the_stated_noise"
_BY_THE_LOT = (
    "StepConstants(constants.strength, np.float64({}.shape[0]), constants.clip,"
    " constants.cell, constants.grid, constants.spread)"
)

NOISE = [
    core("half the noise", "kernels.packed:release_cells", _NOISE,
         swap("constants.spread", "0.5 * OLD")),
    core("noise only on touched coordinates", "kernels.packed:release_cells", _NOISE,
         swap("constants.spread", "(total[j] != 0) * OLD")),
    core("no noise after an empty lot", "kernels.packed:_advance",
         "kernels/test_packed::test_empty_lots_still_add_noise",
         swap("release_step(...)", "if begin < end: OLD")),
    core("the same noise for all classes", "kernels.packed:release_step",
         "test_noise_differs_between_classes_and_fits",
         swap("normals[t, k * width : (k + 1) * width]", "normals[t, :width]")),
    other("half the noise, sparse rows", "kernels.dual:release", _EMPTY,
          swap("constants.spread", "0.5 * OLD")),
    other("no noise after an empty lot, sparse rows", "kernels.dual:advance", _EMPTY,
          swap("range(outputs)", "range(outputs if starts[t] < starts[t + 1] else 0)")),
    other("the same noise for all classes, sparse rows", "kernels.dual:advance",
          "test_advance_is_the_mechanism",
          swap("normals[t, k * width : (k + 1) * width]", "normals[t, :width]")),
    other("one class of three without noise, sparse rows", "kernels.dual:advance",
          "test_mistakes_behind_the_door_are_noticed",
          swap("normals[t, k * width : (k + 1) * width]", "OLD * (k < 2)")),
    other("threads: no noise after an empty lot", "kernels.packed_threads:_advance_part",
          "solvers/test_threads::test_empty_lots_still_add_noise",
          swap("release_step(...)", "if starts[t] < starts[t + 1]: OLD")),
    core("a step that every thread releases", "kernels.sharing:mine_to_release",
         "test_every_member_is_claimed_once_and_every_step_released_once",
         swap("swap(...)", "True")),
    other("a step released without those that are late", "kernels.sharing:mine_to_release",
          "test_a_step_is_released_when_those_that_are_late_have_delivered",
          never("look(gate, _DONE) < starts[t + 1] - starts[0]")),
]  # fmt: skip

LAZY_NOISE = [
    core("lazy noise: what is due is forgotten", "kernels.lazy_state:settle", _LAZY_NOISE,
         without("np.float64(k)")),
    other("lazy noise: no last flush", "solvers.lazy:LazyVector.average", _LAZY_NOISE,
          drop("self.settle(self._plan.steps)")),
    other("lazy noise: a look before the flush", "solvers.lazy:LazyVector.shared",
          "test_a_look_shows_a_vector_that_has_all_its_noise", drop("self.settle(now)")),
    other("lazy noise: an average without its own variance", "kernels.lazy_state:average_due",
          "test_eager_and_lazy_have_the_same_law",
          swap("np.float64(state[j, _TIMES]) / 12.0", "0.0")),
    core("lazy noise: normals used twice", "solvers.lazy:LazyVector.run",
         "test_neither_chunks_nor_pieces_change_the_result",
         drop("self._normals = self._normals[used:]")),
    core("lazy noise: a sum that shows how often it left its range",
         "kernels.lazy_state:average_due",
         "test_a_sum_that_leaves_its_range_is_known_modulo_its_range",
         drop("total = add_product(total, 1, total) >> 1")),
    other("lazy noise: a plan that is not accounted for it", "solvers.lazy:LazyVector.__init__",
          "test_a_plan_that_is_not_lazy_is_refused", never("not plan.lazy")),
    other("a lazy fit damped by what was drawn so far", "solvers.lazy:LazyVector.run",
          "test_the_damping_of_a_lazy_fit_is_fixed",
          swap("self._numbers",
               "OLD._replace(separability=3.0 + 9.0 * np.mean(self._state != 0))")),
]  # fmt: skip

CONTRIBUTIONS = [
    core("clip skipped", "kernels.block:shorten_alone", _PACKED,
         swap("limit / length if length > limit else 1.0", "1.0")),
    other("clip skipped, sparse rows", "kernels.dual:shorten", _SENSITIVITY,
          swap("length <= limit", "length < np.inf")),
    core("classes of a joint loss clipped one by one", "kernels.block:_fill_joint",
         _PACKED.replace("Squared", "Softmax"),
         swap("steps[k, b] * steps[k, b]", "max(0.0, OLD - buffer.squares[b])")),
    core("clip after normalising wrongly", "kernels.norms:measure_rows", _SENSITIVITY,
         swap("row_bound / scale * unit / relative", "row_bound / scale * unit"),
         swap("max(norm, _SHORTEST)", "1.0")),
    core("intercept column outside the norm bound", "kernels.norms:measure_rows", _SENSITIVITY,
         swap("math.sqrt(length * length + rows.tail * rows.tail)", "length")),
    core("the norm of a row before it was rounded", "kernels.pack:fill_pack",
         "test_norm_bounds_the_exact_length_of_the_packed_row",
         swap("state[SCALE] * math.sqrt(np.float64(squares))", "rows.norm[i]")),
    core("lot size divided by its realised value", "kernels.members:add_members", _PACKED,
         argument("solve_block", 1, _BY_THE_LOT.format("members"))),
    other("lot size divided by its realised value, sparse rows", "kernels.dual:add_lot",
          _SENSITIVITY, argument("step_of", 3, _BY_THE_LOT.format("ids"))),
    core("fastmath in the clip", "kernels._jit:_compile", _SENSITIVITY,
         argument("njit", "fastmath", "True")),
    core("norm summed in any order", "kernels.norms:_square_product",
         "test_what_bounds_a_contribution_is_computed_in_the_order_that_is_written",
         decorated("register_jitable(fastmath={'reassoc', 'contract'})")),
    core("sums of 32 bits", "kernels.packed:advance_packed", _LONG_LOT,
         swap("np.int64", "np.int32")),
    other("float32 accumulation", "kernels.dual:advance", _LONG_LOT,
          swap("np.empty((outputs, width))", "OLD.astype(np.float32)")),
    other("a record of many classes that a long block leaves out of the clip",
          "kernels.block:_fill_joint", _ALONE,
          swap("range(count)", "range(count - (count > 64))", nth=2)),
    core("margins by a plain matrix product", "kernels.members:_predict_eights", _ALONE,
         decorated("register_jitable(_nrt=True)"),
         swap("models, gains, buffer = room.models, room.gains, room.buffer", """
OLD
rows = np.empty((ids.shape[0], pack.padded), np.float32)
for b in range(ids.shape[0]):
    rows[b] = pack.cells[ids[b], : pack.padded]
margins = np.dot(rows, models.T)"""), swap("products[place]", "margins[b, k + place]")),
    core("rows turned by a matrix product", "standard:Standard.dense",
         "test_a_row_is_the_same_to_the_last_bit_wherever_it_stands",
         swap("np.multiply(...).sum(...)", "rows @ self.direction")),
    core("labels cut by the longest row of all", "problem:DeferredRows.parts",
         "test_how_a_label_is_cut_with_its_row_is_a_function_of_the_record",
         swap("first * _parts(...)", "OLD.min()")),
    other("a step of counts by the library's exponential", "losses.poisson:_householder",
          "test_no_step_calls_the_mathematical_library", swap("plain_exp(t)", "math.exp(t)")),
]  # fmt: skip

STEPS = [
    core("steps of a lot computed one after the other", "kernels.members:add_members",
         "test_blocks_and_their_order_do_not_matter", swap("add_outputs(...)", """
OLD
for k in range(total.shape[0]):
    for j in range(pack.width):
        cells = constants.cell * total[k, j]
        room.models[k, j] += cells / constants.strength / room.gains[k]""")),
    other("steps of a lot computed one after the other, sparse rows", "kernels.dual:add_lot",
          "kernels/test_dual::test_steps_of_a_lot_see_only_the_vector_before_it",
          swap("add_truncated(...)", "OLD; shared[k] += constants.cell * total[k]")),
    core("steps damped by the realised lot", "solvers.dp_scd:dp_scd",
         "test_the_damping_follows_the_path_whatever_the_chunks",
         swap("brake.before(...)", "max(1.0, len(lots.ids) / len(normals))")),
    core("steps damped by what shards contributed, not yet noisy", "solvers.shard:Shard.step",
         "test_what_a_record_adds_under_a_path_that_swings_does_not_depend_on_the_others",
         argument("brake.before", 1, "self._so_far * 1.0")),
    core("early stop on the gap", "solvers.dp_scd:dp_scd", "test_every_planned_step_is_run",
         swap("begin = 0", "OLD\nif problem.gap(rows, records, dual, shared)[1] < 1.0: break")),
]  # fmt: skip

LOTS = [
    core("shuffled lots accounted as Poisson", "privacy.sampling:PoissonLots.draw", _BITS,
         swap("skips = self.skips(rows)", """
size = max(1, round(self.rate * rows))
order = np.random.default_rng(first)
cut = -(-steps * size // rows)
ids = np.concatenate([order.permutation(rows) for _ in range(cut)])
return Lots(ids[: steps * size], size * np.arange(steps + 1))
OLD""")),
    core("an example twice in a lot", "privacy.sampling:PoissonLots.draw", _BITS,
         swap("Lots(...)", "Lots(np.repeat(ids[: starts[steps]], 2), 2 * starts)")),
    core("a truncated lot buffer", "privacy.sampling:PoissonLots.draw", _BITS,
         swap("fill_lots(...)", "rest[1] = rest[0]")),
    core("rounded skips where records move", "plan:Plan.lots",
         "test_lots_of_records_that_move_are_drawn_without_rounding",
         returns("PoissonLots(self.rate)")),
    core("exact lots that keep runs of even length", "kernels.exact_lots:fill_exact_lots",
         "test_every_bit_is_independent_with_exactly_the_stated_chance",
         swap("length % 2 == 1", "length % 2 == 0")),
    other("the skip in progress dropped when words run out",
          "privacy.sampling:PoissonLots._draw_exactly",
          "test_exact_lots_go_on_where_their_words_ran_out",
          swap("place, done = (first + step) * _PIECES, 0", "walk = new_walk(); OLD")),
    core("exact lots above the stated rate", "privacy.sampling:PoissonLots.share",
         "test_exact_lots_are_drawn_at_most_at_the_rate_and_hardly_below_it",
         swap("int(...)", "OLD + 1")),
    core("a record at the edge of a block summed twice", "solvers.local:LocalRecords._parts",
         "test_every_record_is_summed_once_however_rows_are_read",
         swap("first + _BLOCK", "OLD + 1")),
]  # fmt: skip

SHARDS = [
    other("noise added by every worker", "solvers.sharded:Sharded.train",
          "test_without_signal_the_model_is_the_noise_of_one_source",
          swap("normals[i]", "len(self._counts) ** 0.5 * OLD")),
    other("a lost worker's duals begin at zero", "solvers.sharded:ShardPool._rebuilt",
          "test_whatever_is_lost_the_model_is_the_same", swap("not self._path", "True")),
    other("the past of a new worker not compared", "solvers.sharded:ShardPool._rebuilt",
          "test_a_change_that_the_last_lot_does_not_show_ends_the_fit_too",
          never("not np.array_equal(...)")),
    other("a step repeated by a worker that did it already", "solvers.shard:Shard.step",
          "test_steps_out_of_turn_are_refused", without("number != self._done")),
    other("bits drawn by the place in a partition", "solvers.shard:Shard.step",
          "test_divided_records_give_the_model_of_one_machine",
          swap("plan.lots.members(...) - start", "plan.lots.members(lots, number, 0, units)")),
    core("the key of the noise sent to workers", "privacy.random:LotsSource.of",
         "test_a_source_of_lots_can_be_sent_and_knows_nothing_of_the_noise",
         swap("words.tobytes()", "source._key")),
    other("a plan that follows the number of partitions",
          "distributed.workers:Workers.__init__",
          "test_the_plan_does_not_know_how_records_are_divided",
          swap("transport.workers", "len(transport)")),
    other("workers that compile for different processors", "distributed.builds:check_alike",
          "test_a_worker_that_may_round_otherwise_is_refused", never("here != there")),
    core("whatever a worker has is sent", "distributed.shard_actor:ShardActor.ask",
         "test_a_row_does_not_leave_its_worker",
         returns("getattr(self._shard, method)(*args)")),
    other("a cluster of this machine without TLS", "distributed.cluster:_on_this_machine",
          "test_nobody_without_the_certificate_gets_an_answer", without_keyword("protocol"),
          without_keyword("security")),
]  # fmt: skip
