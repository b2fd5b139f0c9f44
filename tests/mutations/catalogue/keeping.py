"""Mistakes in what is kept: pickles, files, cards, signatures and the ledger."""

from mutation import core, other
from operations import drop, never, swap

_FORGED = "test_a_file_that_was_changed_in_one_place_is_refused[{}]"

FILES = [
    core("the dual in the pickle", "estimators.base:DPLinearModel._fit_source",
         "test_a_pickle_has_one_size_and_no_dual",
         swap("self._slope = model.slope", "self.kept_ = records.read().labels; OLD")),
    core("a file: what the releases reach not compared", "cards.card:PrivacyCard._check_claim",
         _FORGED.format("multiplier and noise"), never("not agrees(...)")),
    other("a file: the noise of coefficients believed", "estimators.files:_check_agreement",
          _FORGED.format("noise times ten"), drop("check_noise(...)")),
    other("a file: the last of two values of one key", "privacy.strict_json:_once",
          "test_what_readers_could_take_differently_is_refused",
          never("len(found) != len(pairs)")),
    other("a signature of whatever the file says", "estimators.loading:load",
          "test_what_does_not_match_is_one_line_and_exit_code_1", drop("check_signature(...)")),
    other("a signature that does not match is not looked at", "privacy.signing:check_signature",
          "test_another_key_is_refused", swap("False", "True")),
    other("a private key that everybody can read", "privacy.signing:new_key",
          "test_a_private_key_is_for_its_owner_only", swap("0o600", "0o644")),
]  # fmt: skip

LEDGER = [
    core("sums of a ledger read before its lock is taken", "privacy.ledger_file",
         "privacy/test_ledger::TestProcesses::"
         "test_two_that_race_for_the_last_epsilon_cannot_both_win",
         swap('"BEGIN IMMEDIATE" if write else "BEGIN"', '"BEGIN"')),
    other("a fit charged to a budget of another unit", "privacy.budget:Account",
          "test_a_fit_with_another_unit_is_refused_in_words", swap("unit == self.unit", "True"),
          never("reservation.unit != self.unit.text")),
    other("a seeded fit that is not marked in the ledger",
          "estimators.fitting:Fitting._reserve", "test_a_fit_with_a_secret_seed_is_marked",
          swap("self.random_state is not None", "False")),
    other("any seed charged to a ledger", "estimators.parameters:check_budget",
          "test_a_seed_that_is_not_called_secret_is_refused",
          never("ledger is not None and not isinstance(random_state, SecretSeed | None)")),
]  # fmt: skip
