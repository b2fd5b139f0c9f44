"""Mistakes at the entrance: cells, tables, files, what is said and when it is read."""

from mutation import mistake
from operations import argument, swap

CELLS = [
    mistake("knots at quantiles of the records", "preprocessing.column_features:hats",
            "test_tables",
            swap("scaled_knots(...)",
                 "np.quantile(scaled, np.linspace(0, 1, len(OLD)))"
                 " + 1e-9 * np.arange(len(OLD))")),
    mistake("cells compared before they are texts", "records.cells:different",
            "test_a_column_says_of_each_cell_what_the_cell_says",
            swap("cell if type(cell) is str else text(cell)", "cell")),
    mistake("bounds read from the data: rows", "estimators.base:DPLinearModel._fitting",
            "test_rows_longer_than_the_bound_are_scaled_down_in_silence",
            swap("self.stated(...)", "replace(OLD, row_bound=float(np.sqrt("
                 "(records.read(self._labels(classes), 1).X**2).sum(axis=1).max())))")),
    mistake("bounds read from the data: labels", "records.labels:NumberLabels.weighed",
            "test_labels_beyond_the_bounds_are_clipped_in_silence",
            swap("np.clip(...)", "np.where(known, values, 0.0)")),
]  # fmt: skip

CHARGE = [
    mistake("records read before the charge", "estimators.fitting:Fitting.run",
            "test_records_that_are_refused_have_been_paid_for",
            swap("charge.reserve(...)", "(redact_errors(read), OLD)[1]")),
    mistake("budget spent after release", "estimators.fitting:Fitting.run",
            "test_no_value_is_judged_before_the_budget", swap("charge.reserve(...)", '""'),
            swap("charge.commit()", """
charge.reserve(plan.costs, self.target, self.name, self.facts.unit)
OLD""")),
]  # fmt: skip

WORDS = [
    mistake("a message that prints a cell", "estimators.validation:quietly",
            "test_labels_that_are_not_classes",
            swap("unusable(_UNREADABLE)", "unusable(text)")),
    mistake("the message of a file that shows its rows",
            "records.files:CsvFile._cells",
            "test_bad_files_say_so_and_show_no_cell",
            argument("DataError", 0, 'problem + self._source.read_text(errors="replace")')),
]  # fmt: skip
