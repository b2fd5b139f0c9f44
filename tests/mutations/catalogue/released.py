"""Mistakes in releases other than training: sums, moments, bounds, scores, standard errors."""

from mutation import mistake
from operations import drop, returns, swap, without

_AFTER = "test_no_record_moves_a_sum_by_more_than_one"
_KERNEL_SUMS = "test_no_neighbour_moves_the_moments_by_more_than_one"
_BOTH = "test_both_histograms_get_the_stated_noise_from_streams_of_their_own"
_VECTORS = "test_no_record_adds_more_than_one_and_each_its_own"

SUMS = [
    mistake("moments without noise", "privacy.draws:noisy_sum",
            "test_the_noise_of_moments_is_the_stated_one", swap("normals[0]", "0.0 * OLD")),
    mistake("half the noise in the moments", "releases.base:SumRelease.answered",
            "test_mistakes_behind_the_door_are_noticed",
            swap("self.noise_multiplier", '(0.5 if self.what == "moments" else 1.0) * OLD')),
    mistake("sums not in whole cells", "releases.base:whole_sums", _AFTER,
            swap("np.trunc(each * (MARGIN / step))", "each * (MARGIN / step)")),
    mistake("a total that is no sum leaves the records", "releases.base:sum_over",
            "test_only_sums_leave_the_records", swap("only_sums(found)", "found")),
    mistake("moments of features and squares not bounded together", "kernels.passes:_scale",
            _KERNEL_SUMS, without("math.sqrt(0.5)")),
    mistake("labels beyond their bounds in the label mean", "releases.moments:LabelQuery.each",
            "test_no_neighbour_moves_a_label_moment_by_more_than_one",
            returns("self.problem.labels(records.labels)")),
    mistake("the spread of labels around their true mean",
            "releases.moments:DistanceQuery.each",
            "test_the_spread_is_around_the_released_mean_and_not_the_true_one",
            swap("self.centre", "super().each(records).mean()")),
]  # fmt: skip

BOUNDS = [
    mistake("private bounds: every column counted in full",
            "releases.bounds:HistogramQuery.total",
            "test_a_record_moves_a_histogram_by_at_most_one",
            without("math.sqrt(len(columns))")),
    mistake("private bounds: one of two histograms paid for", "releases.base:SumRelease.cost",
            _BOTH, swap("len(self.at)", "1")),
]  # fmt: skip

AFTERWARDS = [
    mistake("a calibration whose pair is not bounded together", "releases.probability", _AFTER,
            swap("3.25", "8.0"), without("np.maximum(1.0, length)")),
    mistake("further rows of a person that are not bounded together with the first",
            "releases.base",
            "test_a_person_with_many_rows_that_are_all_wrong_moves_a_sum_by_nearly_one",
            swap("0.8", "1.0")),
    mistake("an information whose two matrices are not bounded together",
            "releases.information:InformationQuery._total",
            "test_curvature_and_slopes_are_bounded_together",
            swap("1.0 / np.maximum(...)", "np.ones(len(long))")),
    mistake("standard errors without the noise of training", "inference:Inference.about",
            "test_what_the_penalty_took_is_added_and_both_errors_are_told_apart",
            swap("inverse @ noise @ inverse - _excess(...)", "0.0 * inverse")),
]  # fmt: skip

SCORES = [
    mistake("a score of vectors longer than 1", "releases.score:whole_score",
            "test_a_record_moves_the_sum_by_at_most_one",
            drop("inside = inside / np.maximum(1.0, length)")),
    mistake("a score whose secret count comes on top of its vector",
            "scores.measure:Measure.vectors", f"{_VECTORS}[accuracy-2-add-remove]",
            without("COUNT_WEIGHT")),
    mistake("a score that is computed before it is charged",
            "estimators.private_score:private_score", "test_the_charge_comes_before_any_value",
            swap("charge.reserve(...)", "(records.read(False), OLD)[1]")),
]  # fmt: skip
