"""Mistakes in releases other than training: sums, moments, bounds, scores, standard errors."""

from mutation import core, other
from operations import argument, constant, drop, returns, swap, without

_AFTER = "test_no_record_moves_a_sum_by_more_than_one"
_KERNEL_SUMS = "test_no_neighbour_moves_the_moments_by_more_than_one"
_BOTH = "test_both_histograms_get_the_stated_noise_from_streams_of_their_own"
_WEAK = "replace(self, noise_multiplier={} * self.noise_multiplier).noisy"
_VECTORS = "test_no_record_adds_more_than_one_and_each_its_own"

SUMS = [
    core("moments without noise", "privacy.sums:noisy_sum",
         "test_the_noise_of_moments_is_the_stated_one", swap("normals[0]", "0.0 * OLD")),
    core("half the noise in the moments", "releases.moments:Moments.run",
         "test_mistakes_behind_the_door_are_noticed", swap("self.noisy", _WEAK.format(0.5))),
    core("sums not in whole cells", "releases.query:whole_sums", _AFTER,
         swap("np.trunc(each * (MARGIN / unit))", "each * (MARGIN / unit)")),
    other("sums of records that say nothing", "releases.query:whole_sums",
          "releases/test_released_moments", without("used")),
    core("a total that is no sum leaves the records", "releases.query:sum_over",
         "test_only_sums_leave_the_records", swap("only_sums(found)", "found")),
    other("more records added up than sums can hold", "solvers.local:LocalRecords.total",
          "releases/test_released_moments::"
          "test_more_records_than_sums_can_hold_are_refused_before_any_draw",
          drop("check_capacity(...)")),
    other("squares not cut to whole cells", "kernels.rows:_add_squares_truncated_dense",
          "test_sums_of_many_records_are_exact_in_any_order",
          swap("np.trunc(scale * part * part)", "scale * part * part")),
    core("moments of features and squares not bounded together", "kernels.moments:_scale",
         _KERNEL_SUMS, without("math.sqrt(0.5)")),
    other("moments without margin for rounding", "kernels.moments:_scale",
          "test_the_bound_is_attained_and_rows_a_little_too_long_stay_below_it",
          without("MARGIN")),
    other("moments of records that cannot be used", "kernels.moments:_counts", _KERNEL_SUMS,
          without("rows.norm[i] <= 1.0 + 2.0**-30")),
    other("moments of rows not scaled to the ball", "problem:Problem.plain_rows",
          "test_plain_rows_lie_in_the_unit_ball_and_have_no_constant",
          swap("self.row_bound", "1.0")),
    core("labels beyond their bounds in the label mean", "releases.labels:LabelQuery.each",
         "test_no_neighbour_moves_a_label_moment_by_more_than_one",
         returns("self.problem.labels(records.labels)")),
    core("the spread of labels around their true mean", "releases.labels:DistanceQuery.each",
         "test_the_spread_is_around_the_released_mean_and_not_the_true_one",
         swap("self.centre", "super().each(records).mean()")),
    other("octaves that count beyond one", "releases.labels:OctaveQuery.each",
          "test_no_record_moves_the_sum_by_more_than_one",
          swap("np.maximum(found, 0.0)", "found")),
    other("a sum shown to an audit before its noise", "privacy.sums:noisy_sum",
          "test_only_released_values_are_told", argument("tell_sum", 2, "cell * total")),
    other("duals shown to an audit", "solvers.dp_scd:dp_scd",
          "test_nothing_of_a_record_can_be_reached", argument("audit.moved", 1, "dual.copy()")),
]  # fmt: skip

BOUNDS = [
    core("private bounds: every column counted in full", "releases.bounds:HistogramQuery.total",
         "test_a_record_moves_a_histogram_by_at_most_one", without("math.sqrt(len(columns))")),
    core("private bounds: one of two histograms paid for", "releases.bounds:Bounds.times",
         _BOTH, constant("1")),
    other("private bounds: the same noise in both histograms", "releases.base:SumRelease.noisy",
          _BOTH, argument("noisy_sum", 5, "0")),
    other("a tenth of the noise in histograms of bounds", "releases.bounds:Bounds._counts",
          "test_histograms_keep_their_own_claim", swap("self.noisy", _WEAK.format(0.1))),
]  # fmt: skip

AFTERWARDS = [
    other("a calibration in which weights count in full",
          "releases.calibration:CalibrationQuery.total", _AFTER,
          swap("np.minimum(records.weights, 1.0)", "records.weights")),
    core("a calibration whose pair is not bounded together", "releases.calibration", _AFTER,
         swap("3.25", "8.0"), without("np.maximum(1.0, length)")),
    core("further rows of a person that are not bounded together with the first",
         "releases.query", "test_a_person_moves_a_sum_by_at_most_one", swap("0.6", "1.0")),
    other("a level whose pair is not bounded together", "releases.level", _AFTER,
          swap("1.0 / math.hypot(1.0, _MEAN)", "1.0"), swap("np.maximum(...)", "1.0")),
    other("a rescaling whose sums are not bounded together",
          "releases.rescaling:RescalingQuery.total", _AFTER,
          swap("np.maximum(1.0, length)", "1.0")),
    other("gains of cut rows that are not bounded", "releases.long_rows:LongRowsQuery._squares",
          _AFTER, swap("np.minimum(...)", "np.abs(guess - labels) / self.far")),
    core("an information whose two matrices are not bounded together",
         "releases.information:InformationQuery._total",
         "test_curvature_and_slopes_are_bounded_together",
         swap("1.0 / np.maximum(...)", "np.ones(len(long))")),
    other("an information measured by the longest row of all",
          "releases.information:_Units.__init__",
          "test_no_record_moves_the_sums_by_more_than_one",
          swap("query.measure.row / self.norm", "OLD.min(initial=1e300)")),
    other("standard errors without the noise of training", "inference:Inference.about",
          "test_what_the_penalty_took_is_added_and_both_errors_are_told_apart",
          swap("inverse @ noise @ inverse - _excess(...)", "0.0 * inverse")),
]  # fmt: skip

SCORES = [
    core("a score of vectors longer than 1", "privacy.score:whole_score",
         "test_a_record_moves_the_sum_by_at_most_one",
         drop("inside = inside / np.maximum(1.0, length)")),
    core("a score whose secret count comes on top of its vector",
         "scores.measure:Measure.vectors", f"{_VECTORS}[accuracy-2-add-remove]",
         without("COUNT_WEIGHT")),
    other("moments of an R2 that together are longer than 1", "scores.r2",
          f"{_VECTORS}[r2-2-zero-out]", swap("0.72, 0.1, 0.1, 0.02", "0.72, 0.1, 0.1, 0.2")),
    other("a score whose declared number of records is the true one",
          "estimators.private_score:_scored", "test_a_secret_number_of_records_is_not_told",
          swap('check_integer("n", n)', "records.count")),
    core("a score that is computed before it is charged",
         "estimators.private_score:private_score", "test_the_charge_comes_before_any_value",
         swap("_reserve(...)", "(records.read(False), OLD)[1]")),
]  # fmt: skip
