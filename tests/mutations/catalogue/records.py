"""Mistakes at the entrance: cells, tables, files, what is said and when it is read."""

from mutation import core, other
from operations import argument, drop, never, swap, without

CELLS = [
    core("knots at quantiles of the records", "preprocessing.column_features:hats",
         "test_tables",
         swap("scaled_knots(...)",
              "np.quantile(scaled, np.linspace(0, 1, len(OLD))) + 1e-9 * np.arange(len(OLD))")),
    other("a pair scaled by the largest of the records",
          "preprocessing.pair_features:pair_slots", "test_tables",
          swap("x * y", "OLD / max(1e-9, OLD.max(initial=0.0))")),
    core("cells compared before they are texts", "preprocessing.columns:codes",
         "test_a_column_says_of_each_cell_what_the_cell_says",
         swap("places, texts = _distinct([text_of(cell) for cell in objects])", """
places, values = pd.factorize(np.array(list(objects), dtype=object))
texts = (text_of(value) for value in values)""")),
    other("whole numbers compared after rounding", "preprocessing.columns:codes",
          "test_whole_numbers_that_floats_cannot_tell_apart_are_the_one_exception",
          never("_precision(cells) <= meaning.largest_whole")),
    other("what a cell's own methods say", "preprocessing.cells:text_of",
          "test_no_cell_refuses_anything", swap("Exception", "ArithmeticError")),
    other("labels of a list made an array", "preprocessing.columns:as_column", "test_labels",
          swap("column = np.empty(...)", "return pd.Series(np.asarray(cells)); OLD")),
    other("duplicate entries of sparse rows added up in any order",
          "preprocessing.containers:_csr",
          "test_a_long_row_with_entries_twice_is_added_up_in_its_order",
          swap("_summed(rows)", "(rows.sum_duplicates(), rows)[1]")),
    core("bounds read from the data: rows", "estimators.base:DPLinearModel._fitting",
         "test_rows_longer_than_the_bound_are_scaled_down_in_silence",
         argument("Facts", "row_bound",
                  "float(np.sqrt((records.read().X**2).sum(axis=1).max()))")),
    core("bounds read from the data: labels", "records.labels:NumberLabels.weighed",
         "test_labels_beyond_the_bounds_are_clipped_in_silence",
         swap("np.clip(...)", "np.where(known, values, 0.0)")),
    other("bounds of exposures read from the data", "records.labels:CountLabels.exposed",
          "test_an_exposure_is_its_own_records_alone",
          swap("np.clip(...)", "exposures_of(exposure, count)"),
          swap("self.usual", "exposures_of(exposure, count).max()")),
]  # fmt: skip

CHARGE = [
    core("records read before the charge", "estimators.fitting:Fitting.run",
         "test_records_that_are_refused_have_been_paid_for",
         swap("reservation = self._reserve(plan)", "redact_errors(read); OLD")),
    core("budget spent after release", "estimators.fitting:Fitting.run",
         "test_no_value_is_judged_before_the_budget", swap("self._reserve(plan)", "None"),
         without("reservation is not None"),
         argument("Ledger(self.ledger).commit", 0, "self._reserve(plan)")),
    other("a stray quote that swallows the lines after it",
          "preprocessing.delimited:CsvFile._frames",
          "test_files_that_are_refused_have_been_paid_for",
          never("not self._layout.multiline and records != lines.count")),
    other("a schema to fill in that has looked at a record", "cli.schema:init",
          "test_schema_init_reads_no_record",
          swap("read_values_from_data_not_private", "True")),
]  # fmt: skip

WORDS = [
    core("a message that prints a cell", "estimators.validation:quietly",
         "test_labels_that_are_not_classes", swap("unusable(_UNREADABLE)", "unusable(text)")),
    core("the message of a file that shows its rows", "preprocessing.delimited:CsvFile._cells",
         "test_bad_files_say_so_and_show_no_cell",
         argument("DataError", 0, 'problem + self._source.read_text(errors="replace")')),
    core("the shape of an array in the message of a fit",
         "records.redaction:_MemoryErrors.__exit__",
         "test_a_real_lack_of_memory_is_said_in_fixed_words",
         drop("redacted.__context__ = None")),
    other("arrays of a failed fit kept with its error",
          "records.redaction:_MemoryErrors.__exit__", "test_nothing_of_a_source_is_said",
          drop("del error, trace")),
    other("times that nobody asked for", "cli.fit:fit",
          "test_fit_in_json_with_everything_given",
          swap("timings", "True")),
]  # fmt: skip
