"""Mistakes in what is claimed: accountants, rounding, the search theorem, plans, randomness."""

from mutation import mistake
from operations import argument, constant, never, returns, swap, without

_FINITE = "test_many_numbers_pay_for_lazy_noise"

ACCOUNTANTS = [
    mistake("sigma rounded down", "privacy.calibration:_round_up",
            "test_rounding_up_never_goes_down_nor_far", swap("math.ceil", "math.floor")),
    mistake("a multiplier that only the search has seen", "privacy.calibration:calibrate",
            "test_what_the_search_finds_is_put_to_the_accountant_that_decides",
            swap("(error := _excess(...)) > 0.0", "OLD and False")),
    mistake("losses beyond the grid forgotten", "privacy.distribution:one_step",
            "test_cutting_the_range_never_helps", swap("float(deltas[-1])", "0.0")),
    mistake("losses rounded down", "privacy.distribution:one_step",
            "test_the_whole_is_what_the_accountant_of_the_library_says",
            swap("math.floor(lowest / interval)", "OLD - 1"), argument("Losses", 1, "low - 1")),
    mistake("one direction of a sampled step only", "privacy.relation:Relation.ADD_REMOVE",
            "test_the_whole_is_what_the_accountant_of_the_library_says",
            swap('("remove", "add")', '("add",)')),
    mistake("RDP used for replace-one", "privacy.relation:Relation.REPLACE_ONE",
            "test_replace_one_never_uses_rdp", swap('("PLD",)', '("PLD", "RDP")')),
    mistake("the tail of a replaced record as that of a silent one",
            "privacy.relation:Relation.REPLACE_ONE",
            "test_a_replaced_record_leaves_what_is_drawn_more_often", swap("2", "1")),
    mistake("rounding of the composition not paid for", "privacy.accounting:_paid",
            "test_a_delta_below_the_rounding_of_the_accountant_is_left_to_rdp",
            without("sum(event.steps for event in events) * 2.0**-50")),
    mistake("our arrays alone decide", "privacy.accounting:epsilon_of",
            "test_a_mistake_of_our_arrays_cannot_lower_what_is_claimed",
            swap("max(pld, found)", "pld")),
    mistake("the library asked about the last release alone", "privacy.accounting:_by_library",
            "test_what_the_library_is_asked_is_what_is_released", swap("events", "OLD[-1:]")),
    mistake("Rényi divergences used without their rounding", "privacy.accounting:_renyi",
            "test_rounding_does_not_make_a_small_loss_none",
            swap("max(...) * (1.0 + 2.0**-40) + event.steps * rounding / (order - 1)",
                 "float(value)")),
    mistake("lazy noise: its finite precision not charged",
            "privacy.cost:Cost.may_be_lazy",
            _FINITE, returns("False")),
    mistake("the number of a person's records said to be protected at epsilon",
            "privacy.relation:about_record_count",
            "test_taking_part_is_what_is_protected_at_epsilon",
            without("2.0"), swap("_up(more)", "_up(delta)")),
]  # fmt: skip

SEARCHES = [
    mistake("search: nothing paid for choosing", "privacy.search:total_epsilon",
            "test_the_theorem_holds_for_outcomes_with_atoms_in_any_order", returns("far")),
    mistake("search: one run's delta for all runs", "privacy.search:search_claim",
            "test_a_search_is_claimed_if_every_list_satisfies_both_points",
            without("search.stop")),
    mistake("search: the noise of a score from the words of its fit",
            "estimators.model_search:_one_run", "test_no_seed_is_used_twice_in_a_search",
            swap('source_for(seed, "score")', "source_for(seed)")),
    mistake("search: scored on the records that were trained on",
            "estimators.model_search:_one_run",
            "test_no_record_is_in_both_parts_and_none_is_lost",
            swap("records.scored(candidate, apart)", "records.scored(candidate, ~apart)")),
]  # fmt: skip

PLANS = [
    mistake("moments that nobody pays for", "planning.plan:Plan.costs",
            "test_what_is_drawn_is_what_the_plan_lists",
            returns('tuple(one.cost for one in self.releases if one.what != "moments")')),
    mistake("what is released after training nobody pays for", "planning.plan:Plan._claim",
            "test_what_comes_after_training_is_listed_after_it_and_paid_for",
            swap("self.costs", "OLD[: self.releases.index(self.main) + 1]")),
    mistake("the ledger charged for the training only", "estimators.fitting:Fitting.run",
            "test_a_ledger_is_charged_for_all_releases",
            swap("plan.costs", "(plan.main.cost,)")),
    mistake("n = len(X) under add-remove", "estimators.base:DPLinearModel._fitting",
            "test_declared_n_replaces_the_true_one_everywhere",
            swap("records.count if self.n is None else int(self.n)", "records.count")),
]  # fmt: skip

RANDOMNESS = [
    mistake("the same seed for all fits and processes", "privacy.random:SecureSource.__init__",
            "test_noise_differs_between_classes_and_fits", swap("os.urandom", "bytes")),
    mistake("a stream used on in a forked process", "privacy.random:SecureSource.words",
            "test_a_forked_child_cannot_draw", never("os.getpid() != self._process")),
    mistake("the reservation left out of the key of a fit", "estimators.fitting:Charge.reserve",
            "test_fits_with_one_seed_do_not_share_their_noise",
            swap("self._ledger.stream_salt(self.reservation)", '""')),
    mistake("the pilot's noise used for the training", "releases.training:Pilot.stream",
            "test_the_pilot_has_a_source_of_its_own_and_nothing_is_drawn_twice",
            constant('""')),
]  # fmt: skip
