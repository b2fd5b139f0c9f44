"""Mistakes in what is kept: pickles, files, cards, signatures and the ledger."""

from mutation import mistake
from operations import never, swap

FILES = [
    mistake("the dual in the pickle", "estimators.base:DPLinearModel.fit_records",
            "test_a_pickle_has_one_size_and_no_dual",
            swap("self.fit_ = fitting.run(...)",
                 "self.kept_ = records.read(labels, threads).labels; OLD")),
    mistake("a file: what the releases reach not compared", "model.card:PrivacyCard.verify",
            "test_a_card_that_claims_too_little_is_refused",
            never("not found <= self.epsilon")),
]  # fmt: skip

LEDGER = [
    mistake("sums of a ledger read before its lock is taken", "privacy.ledger",
            "privacy/test_ledger::TestProcesses::"
            "test_nobody_writes_between_the_sums_and_what_is_added_to_them",
            swap('"BEGIN IMMEDIATE" if write else "BEGIN"', '"BEGIN"')),
]  # fmt: skip
