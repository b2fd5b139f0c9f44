"""Privacy filters: rules that stop spending before a budget is exceeded.

A budget is a few capacities, a fit costs a part of each, and it is admitted if no sum of costs
exceeds its capacity: also where fits are chosen after seeing earlier ones.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from dpscd.errors import CardError, ParameterError
from dpscd.privacy.accounting import renyi_of
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.relation import PrivacyTarget, Relation

if TYPE_CHECKING:
    from dpscd.privacy.cost import Cost
    from dpscd.privacy.search import Search

Charge = dict[str, float]

#: Budgets and fits beyond this are refused: they give no protection.
LARGEST_EPSILON = 100.0

# A millionth of a millionth of it must still be a number that floats hold well.
_SMALLEST_DELTA = 1e-30

# Share of a Rényi budget set aside for floats instead of real numbers. A fit takes some
# 1e-6 of epsilon, so this lasts for thousands of fits.
_PRECISION_SHARE = 0.01

# What one release may take of the delta set aside, for draws at which the bound of finite
# precision does not hold; it costs only a logarithm.
_MISS = 1e-6

# Larger orders take long to compute; they would serve only budgets below about 0.003.
_LARGEST_ORDER = 4096

# More than any capacity, and still a number of JSON.
_TOO_MUCH = 1e300


@dataclass(frozen=True)
class BasicFilter:
    """The sum of epsilons and the sum of deltas stay within the budget.

    Guarantee: all admitted fits together are (epsilon, delta)-private under fully adaptive
    choice.
    Requires: every fit is (e, d)-private, finite precision included, for the e and d that it is
    charged; `fit_cost` recomputes that.
    Proof: docs/proofs/ledger.md, "The basic filter".
    """

    name: ClassVar[str] = "basic"

    epsilon: float
    delta: float

    @property
    def capacity(self) -> Charge:
        """Total that may be spent, per kind of cost."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def cost(
        self, releases: Sequence["Cost"], epsilon: float, delta: float, relation: Relation
    ) -> Charge:
        """Return the cost of a fit: the epsilon and delta that its card claims."""
        del releases, relation  # the claim says it all
        return {"epsilon": epsilon, "delta": delta}

    def spent(self, costs: Mapping[str, Fraction]) -> tuple[Fraction, Fraction | None]:
        """Return the epsilon and delta that sums of costs amount to."""
        return costs["epsilon"], costs["delta"]

    def note(self) -> str:
        """Return a remark for readers of the totals."""
        return "epsilons and deltas of all fits are added; each fit brings its own delta."


@dataclass(frozen=True)
class RenyiFilter:
    """The sum of Rényi divergences at one order stays within what the budget allows.

    Guarantee: all admitted fits together are (epsilon, delta)-private under fully adaptive
    choice.
    Requires: zero-out or add-remove; the order is fixed before the first fit.
    Proof: docs/proofs/ledger.md, "The Rényi filter".
    """

    name: ClassVar[str] = "renyi"

    epsilon: float
    delta: float
    order: int  # order of the divergences, fixed with the budget
    rdp: float  # capacity for the divergence
    precision_epsilon: float  # parts of epsilon and delta set aside for finite precision
    precision_delta: float

    @classmethod
    def of(cls, epsilon: float, delta: float) -> "RenyiFilter":
        """Return the filter whose order admits the most Gaussian fits."""
        loss, mass = _PRECISION_SHARE * epsilon, _PRECISION_SHARE * delta
        inner_epsilon = epsilon - loss
        inner_delta = (delta - mass) * math.exp(-loss / 2.0)

        def room(order: int) -> float:
            gain = math.log(order * inner_delta) / (order - 1) - math.log1p(-1.0 / order)
            return inner_epsilon + gain - 1e-11 * (1.0 + epsilon)  # rounding, and then some

        # The divergence of Gaussian fits grows as the order does.
        order = max(range(2, _LARGEST_ORDER + 1), key=lambda a: room(a) / a)
        if not room(order) > 0.0:
            raise ParameterError(
                "{epsilon} at {delta} is too small for {filter}: no order up to {} leaves room "
                "for a fit. Use 'basic'.",
                _LARGEST_ORDER,
                epsilon=epsilon,
                delta=delta,
                filter=cls.name,
            )
        return cls(epsilon, delta, order, room(order), loss, mass)

    @property
    def capacity(self) -> Charge:
        """Total that may be spent, per kind of cost."""
        return {
            "rdp": self.rdp,
            "precision_epsilon": self.precision_epsilon,
            "precision_delta": self.precision_delta,
        }

    def cost(
        self, releases: Sequence["Cost"], epsilon: float, delta: float, relation: Relation
    ) -> Charge:
        """Return the cost of a fit: its divergence, and its price of finite precision."""
        del epsilon, delta  # the events are charged, not what one accountant made of them
        (rdp,) = renyi_of([x.event for x in releases], [self.order], relation)
        weight = 1.0 + math.exp(self.epsilon)
        miss = _MISS * self.precision_delta / weight
        r = sum(x.log_ratio(math.log(miss)) for x in releases)
        mass = sum(miss + x.tail(relation) + x.lazy_tail for x in releases)
        exact_cost = {
            "rdp": rdp,
            "precision_epsilon": 2.0 * r,
            "precision_delta": weight * mass,
        }
        # The factor outweighs the rounding of these few operations.
        return {key: min(x * (1.0 + 1e-12), _TOO_MUCH) for key, x in exact_cost.items()}

    def spent(self, costs: Mapping[str, Fraction]) -> tuple[Fraction, Fraction | None]:
        """Return the epsilon that sums of costs amount to, at the delta of the budget."""
        if not costs["rdp"]:
            return Fraction(0), None
        return exact(self.epsilon) - exact(self.rdp) + costs["rdp"], None

    def note(self) -> str:
        """Return a remark for readers of the totals."""
        return (
            f"Rényi divergences of all fits are added at order {self.order} and converted "
            f"once, at delta={self.delta:g}, which takes {self.epsilon - self.rdp:.3g} of "
            "epsilon. The total of one or two fits can therefore exceed their own (PLD) "
            "epsilons; that of many is far below the sum."
        )


Filter = BasicFilter | RenyiFilter

_FILTERS: dict[str, type[Filter]] = {kind.name: kind for kind in (BasicFilter, RenyiFilter)}


def check_target(epsilon: float, delta: float) -> None:
    """Raise ParameterError unless these are an epsilon and a delta that can be charged."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(f"{{{name}}} must be a number.", **{name: value})
    PrivacyTarget(epsilon, delta)
    if delta < _SMALLEST_DELTA:
        raise ParameterError("{delta} must be at least {:g}.", _SMALLEST_DELTA, delta=delta)


def new_filter(name: str, epsilon: float, delta: float, relation: Relation) -> Filter:
    """Return the filter called `name` for a new budget, or raise ParameterError."""
    if epsilon > LARGEST_EPSILON:
        raise ParameterError(
            "{epsilon} must be at most {:g}: a larger budget protects nobody.",
            LARGEST_EPSILON,
            epsilon=epsilon,
        )
    if name == "basic":
        return BasicFilter(epsilon, delta)
    if name != "renyi":
        raise ParameterError("{filter} must be 'basic' or 'renyi'.", filter=name)
    if "RDP" not in relation.accountants:
        raise ParameterError(
            "{filter} is not valid for {relation}: the Rényi divergence of sampled Gaussian "
            "noise is not known there. Use 'basic', or the relation 'zero-out'.",
            filter=name,
            relation=relation.value,
        )
    return RenyiFilter.of(epsilon, delta)


def fit_cost(
    filter: Filter,  # noqa: A002 - the word of the field
    releases: Sequence["Cost"],
    epsilon: float,
    delta: float,
    relation: Relation,
    search: "Search | None" = None,
) -> Charge:
    """Return what a fit costs, after recomputing that its claim is true.

    Guarantee: `releases`, or the whole search, are (epsilon, delta)-private, both read as
    :func:`exact` does; so what is charged is never less than what is spent.
    """
    if search is not None and not isinstance(filter, BasicFilter):
        raise ParameterError(
            "{filter} cannot hold a search, whose Rényi divergence is not known; give its data "
            "set a budget with the filter 'basic'.",
            filter=filter.name,
        )
    found = _amounts_to(tuple(releases), epsilon, delta, relation, search)
    if not (found <= epsilon and Fraction(found) <= exact(epsilon)):
        raise CardError(
            f"epsilon={epsilon!r} is claimed, but the releases amount to {found!r} at "
            f"delta={delta!r}; reserve what the plan was calibrated for."
        )
    return filter.cost(releases, epsilon, delta, relation)


@lru_cache(maxsize=256)
def _amounts_to(
    releases: tuple["Cost", ...],
    epsilon: float,
    delta: float,
    relation: Relation,
    search: "Search | None",
) -> float:
    """Return the epsilon of `releases`; cached, because a grid search repeats its fits."""
    # Loads the compiler: `dpscd budget show` must not wait for that.
    from dpscd.privacy.cost import claim
    from dpscd.privacy.search import search_claim

    # The written delta may be below the binary one, by less than the step to the next.
    shy = math.nextafter(delta, 0.0)
    if search is not None:
        return search_claim(search, shy, relation).epsilon
    parts = tuple((x.event.rate, x.event.steps) for x in releases)
    interval = interval_for(epsilon, delta, relation, parts)
    return claim(releases, epsilon, shy, relation, interval).epsilon


def filter_from_dict(name: str, values: dict[str, Any]) -> Filter:
    """Return the filter with these ``asdict`` values, or raise ValueError or TypeError."""
    restored = _FILTERS[name](**values)
    for field, value in asdict(restored).items():
        whole = isinstance(value, int) and value >= 2
        if not (whole if field == "order" else isinstance(value, float) and 0.0 < value < 1e9):
            raise ValueError(f"{field} is out of range")
    return restored


def exact(number: float) -> Fraction:
    """Return the decimal that is written for `number`, not the nearest binary."""
    # Ten fits of 0.1 must fill a budget of 1; the filters see that no less is charged than
    # spent.
    return Fraction(repr(float(number)))


def above(number: Fraction) -> float:
    """Return a float that is written as `number` or the next above it."""
    nearest = float(number)
    return nearest if exact(nearest) >= number else math.nextafter(nearest, math.inf)


def below(number: Fraction) -> float:
    """Return a float that is written as `number` or the next below it."""
    return 0.0 - above(-number)  # never a negative zero
