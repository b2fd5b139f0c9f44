"""The charge of a fit, a score or a search to the budget of its data set, if it has one."""

import os
from collections.abc import Sequence
from typing import Any

from dpscd.errors import BudgetExceeded
from dpscd.privacy.cost import Cost
from dpscd.privacy.ledger import Ledger
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.search import Search
from dpscd.privacy.unit import Unit


class Charge:
    """One charge: reserved before a value of the data is used, committed at the end."""

    def __init__(
        self, ledger: str | os.PathLike[str] | None, dataset: str | None, random_state: Any
    ) -> None:
        self._ledger = None if ledger is None else Ledger(ledger)
        self._dataset, self._seeded = str(dataset), random_state is not None
        self.reservation: int | None = None

    def reserve(
        self,
        costs: Sequence[Cost],
        target: PrivacyTarget,
        label: str,
        unit: Unit,
        search: Search | None = None,
    ) -> str:
        """Charge what is going to be released; return what keeps its noise apart.

        That is a text that no other fit with the same seed has; empty without a seed or a
        ledger.

        Guarantee: when it returns, the charge is on disk, and spent whatever happens.
        """
        if self._ledger is None:
            return ""
        if not target.private:
            raise BudgetExceeded(
                "epsilon=inf exceeds every budget; to train without privacy, leave out ledger."
            )
        self.reservation = self._ledger.reserve(
            self._dataset,
            costs,
            target.epsilon,
            target.delta,
            target.relation.value,
            label,
            seeded=self._seeded,
            unit=unit.text,
            search=search,
        )
        return self._ledger.seal(self.reservation) if self._seeded else ""

    def commit(self) -> None:
        """Record that what was reserved has ended."""
        if self._ledger is not None and self.reservation is not None:
            self._ledger.commit(self.reservation)
