"""What a release costs, and the (epsilon, delta) of a list of releases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpscd.errors import CardError
from dpscd.privacy.accounting import SampledGaussian, epsilon_of
from dpscd.privacy.draws import LatticeGaussian, PoissonLots, lazy_tail
from dpscd.privacy.relation import Relation

#: Cells of each of the two histograms from which bounds of columns are estimated.
BOUND_CELLS = 128

# Share of delta that pays for the rare draws at which the bound of finite precision
# does not hold; it costs only a logarithm.
_MISS = 1e-6

# A release of at least so many numbers a step may be drawn lazily, if the rows are sparse;
# fewer are drawn faster all at once.
_LAZY_SIZE = 4096

#: Above this epsilon nothing is drawn lazily: the probability of a very long normal counts
#: e^epsilon times there.
LAZY_EPSILON = 32.0


@dataclass(frozen=True)
class Cost:
    """What one release costs: its accounted event, and all that sets finite precision."""

    what: str  # a page of docs/proofs names and proves it
    event: SampledGaussian
    clip: float  # longest contribution of one record to one step
    size: int  # numbers released at each step
    n: int  # public number of records

    def __post_init__(self) -> None:
        if not isinstance(self.what, str):
            raise CardError("what must be the name of a release.")
        if type(self.clip) is not float or not (self.clip > 0.0 and math.isfinite(self.clip)):
            raise CardError(f"clip={self.clip!r} must be positive and finite.")
        for name in ("size", "n"):
            count = getattr(self, name)
            if type(count) is not int or not 0 < count <= 2**62:
                raise CardError(f"{name}={count!r} must be a positive integer.")

    @property
    def noise(self) -> LatticeGaussian:
        """The noise of every step."""
        return LatticeGaussian(self.clip, self.event.noise_multiplier)

    @property
    def may_be_lazy(self) -> bool:
        """Whether the noise may be drawn lazily; then both ways are paid for."""
        return self.size >= _LAZY_SIZE

    @property
    def pairs(self) -> int:
        """Number of pairs of normals drawn over all steps, including one for an average."""
        steps = self.event.steps + (1 if self.may_be_lazy else 0)
        return steps * ((self.size + 1) // 2)

    def log_ratio(self, log_miss: float) -> float:
        """Return r: all draws look exact up to e^(+-r), but for a probability."""
        return self.noise.log_ratio(self.pairs, log_miss, lazy=self.may_be_lazy)

    def tail(self, relation: Relation) -> float:
        """Return the probability that draws and lots leave what they should be."""
        noise = self.noise.tail(self.event.steps, self.size, relation.reach)
        return noise + self.lots(relation).imprecision(self.event.steps, self.n)

    @property
    def lazy_tail(self) -> float:
        """The same of lazy noise; it counts e^epsilon times."""
        return lazy_tail(self.pairs) if self.may_be_lazy else 0.0

    def lots(self, relation: Relation) -> PoissonLots:
        """Return the sampler of every step."""
        return PoissonLots.of(self.event.rate, relation)


@dataclass(frozen=True)
class Claim:
    """The epsilon of a list of releases, finite precision included."""

    epsilon: float  # upper bound at the given delta
    accountant: str
    interval: float  # discretisation of the PLD accountant
    precision_epsilon: float  # parts of epsilon and delta that pay for finite precision
    precision_delta: float


def inner_target(
    releases: Sequence[Cost], epsilon: float, delta: float, relation: Relation
) -> tuple[float, float]:
    """Return the (epsilon, delta) left for the mechanism on real numbers.

    If that is (e, d)-private, the one on floats is (e + 2 r, e^r (d + e^e miss) + miss +
    tail)-private, with r, miss and tail as in :class:`LatticeGaussian`; the tail of lazy noise
    belongs to miss. Where finite precision alone exceeds the claim, one is not positive.
    """
    log_miss = math.log(delta * _MISS) - epsilon
    r = sum(x.log_ratio(log_miss) for x in releases)
    tail = sum(x.tail(relation) for x in releases)
    misses = len(releases) * delta * _MISS
    if epsilon <= LAZY_EPSILON:
        misses += math.exp(epsilon) * sum(x.lazy_tail for x in releases)
    return epsilon - 2.0 * r, (delta - misses - tail) * math.exp(-r) - misses


def claim(
    releases: Sequence[Cost], epsilon: float, delta: float, relation: Relation, interval: float
) -> Claim:
    """Return the epsilon of `releases` at `delta`, valid if it is at most the given epsilon."""
    # That only sets how much of delta pays for finite precision.
    left, inner = inner_target(releases, epsilon, delta, relation)
    if not inner > 0.0:
        return Claim(math.inf, "none", interval, epsilon - left, delta)
    found = epsilon_of([x.event for x in releases], inner, relation, interval)
    return Claim(
        epsilon=found.epsilon + (epsilon - left),
        accountant=found.accountant,
        interval=interval,
        precision_epsilon=epsilon - left,
        precision_delta=delta - inner,
    )
