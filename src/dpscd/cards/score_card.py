"""The card of a score with noise: what it claims for the held-out records."""

from dataclasses import dataclass, field
from typing import ClassVar

from dpscd._version import __version__
from dpscd.cards.card import PrivacyCard
from dpscd.cards.statements import check_values
from dpscd.errors import CardError, ParameterError
from dpscd.privacy.accountants import library_version
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.release import Release
from dpscd.privacy.score import SCORE, score_claim
from dpscd.privacy.unit import Unit
from dpscd.scores.measure import Measure
from dpscd.scores.registry import measure_of_facts

__all__ = ["ScoreCard"]

_ASSUMPTIONS = (
    "the data are finite and well typed: that an error occurs depends on the data",
    "everything listed as public was known without looking at the held-out records",
    "the model was made without the held-out records, or has a guarantee of its own for them",
    "only the score leaves: neither the time taken nor the memory of the process is seen",
)


@dataclass(frozen=True)
class ScoreCard(PrivacyCard):
    """What a private score guarantees to the held-out records, re-checkable offline.

    All attributes are those of a :class:`PrivacyCard`; there is one release, and what was
    taken as public is n, the metric, and its classes or bounds.

    Examples
    --------
    >>> from dpscd import DPRidge, private_score
    >>> X, y = [[0.1], [0.2]] * 50, [0, 1] * 50
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1)).fit(X, y)
    >>> card = private_score(model, X, y, epsilon=0.5, metric="mse").card
    >>> card.verify() <= card.epsilon
    True
    """

    assumptions: tuple[str, ...] = field(default=_ASSUMPTIONS)

    _assumed: ClassVar[tuple[str, ...]] = _ASSUMPTIONS
    _what: ClassVar[str] = "the score"

    @classmethod
    def of(
        cls,
        target: PrivacyTarget,
        release: Release,
        unit: Unit,
        public: dict[str, object],
        *,
        seeded: bool,
    ) -> "ScoreCard":
        """Return the card of a score that was released.

        Parameters
        ----------
        target : PrivacyTarget
            What it reaches.
        release : Release
            From :func:`~dpscd.privacy.score.plan_score`.
        unit : Unit
            What is protected.
        public : dict
            What was taken as public.
        seeded : bool
            Whether the noise came from a seed.
        """
        found = score_claim(release, target)
        return cls(
            epsilon=target.epsilon,
            delta=target.delta,
            relation=target.relation,
            releases=(release,),
            accountant=found.accountant,
            interval=found.interval,
            precision_epsilon=found.precision_epsilon,
            precision_delta=found.precision_delta,
            seeded=seeded,
            public={**public, "reaches": found.epsilon},
            versions={"dpscd": __version__, "dp-accounting": library_version()},
            unit=unit.text,
        )

    @property
    def training(self) -> Release:
        """The one release; nothing is trained."""
        return self.releases[0]

    def _check_facts(self) -> None:
        if not self.private or self.search is not None:
            raise CardError("the card of a score needs a finite epsilon, and no search.")
        check_values(self.public)
        if "reaches" not in self.public:
            raise CardError("the card must state reaches.")

    def _check_releases(self) -> None:
        """Refuse a release that is not the one of the metric."""
        release = self.releases[0]
        if len(self.releases) != 1 or release.what != SCORE:
            raise CardError("the card of a score must list one release, the score.")
        if (release.clip, release.event.rate, release.event.steps) != (1.0, 1.0, 1):
            raise CardError("the card states a score that is never released so.")
        if release.n != self.public.get("n"):
            raise CardError("the card states another n than its release.")
        measure = self._measure()
        stated = {name: self.public.get(name) for name in measure.facts()}
        if release.size != measure.size or stated != measure.facts():
            raise CardError("the card's release is not that of its metric.")

    def _measure(self) -> Measure:
        """Return the measure that the public facts are about."""
        try:
            target = PrivacyTarget(self.epsilon, self.delta, self.relation)
            return measure_of_facts(self.public, target)
        except (ParameterError, KeyError, TypeError, ValueError):
            pass
        raise CardError("the card's public facts are of no score.")

    def _released(self) -> list[str]:
        """Return what was released, in words."""
        release = self.releases[0]
        return [
            f"Mechanism: one sum of {release.size} numbers per {self.protected.noun}, of "
            f"length 1, noise multiplier {self.noise_multiplier:.6g}."
        ]
