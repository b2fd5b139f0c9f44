"""Lower bounds on epsilon from the scores of an attack, with their confidence."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betainccinv, log_ndtr, ndtr, ndtri

from dpscd.errors import ParameterError

Floats = npt.NDArray[np.float64]

# Share of the trials on which thresholds are chosen; the bounds use the others.
_PILOT = 0.1
_FEWEST = 20


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds on the privacy parameters; each holds at the stated confidence."""

    # Epsilon at delta of the Gaussian mechanism with this `mu`. Valid if the trade-off curve of
    # the mechanism is that of a Gaussian, as many small steps make it; the threshold lies where
    # the curve is best measured.
    epsilon_gaussian: float
    mu: float  # lower bound on the parameter of Gaussian differential privacy
    epsilon_clopper_pearson: float  # lower bound at delta, for any mechanism
    fpr: float  # observed error rates at the threshold of the Gaussian bound
    fnr: float


class Measured:
    """A result of an attack: lower bounds on epsilon, and what was claimed."""

    epsilon_claimed: float
    epsilon_lower: float
    epsilon_lower_clopper_pearson: float

    @property
    def measured(self) -> float:
        """The largest of the bounds."""
        return max(self.epsilon_lower, self.epsilon_lower_clopper_pearson)

    @property
    def exceeded(self) -> bool:
        """Whether a bound is above the claim: at this confidence, the claim is false."""
        return self.measured > self.epsilon_claimed

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**vars(self), "exceeded": self.exceeded}


def lower_bounds(
    absent: Floats, present: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBounds:
    """Return lower bounds on epsilon at `delta` from the scores of two neighbouring worlds.

    Scores are without and with the record; higher should mean present.

    Guarantee: with fpr and fnr the true error rates of the test ``score > threshold``, both are
    below their Clopper-Pearson limits with probability `confidence` (half the risk each), and
    an (epsilon, delta)-private mechanism has ``epsilon >= log((1 - delta - fnr) / fpr)`` and
    the same with fpr and fnr exchanged. For the Gaussian bound,
    ``mu = Phi^-1(1 - fpr) - Phi^-1(fnr)``.
    Requires: scores independent of each other. Thresholds are chosen on the first tenth of the
    trials and applied to the others, so the choice costs no confidence.
    """
    if min(len(absent), len(present)) < _FEWEST:
        raise ParameterError(f"an audit needs at least {_FEWEST} trials in each world.")
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    risk = (1.0 - confidence) / 2.0
    pilot, rest = zip(_split(absent), _split(present), strict=True)
    middle = float(np.median(np.concatenate(pilot)))
    fpr, fnr = _limits(*rest, middle, risk)
    mu = gaussian_mu(fpr, fnr)
    threshold = _threshold(*pilot, middle, len(rest[0]), delta, risk)
    epsilon = _epsilon(*_limits(*rest, threshold, risk), delta)
    return LowerBounds(
        epsilon_gaussian=gaussian_epsilon(mu, delta),
        mu=mu,
        epsilon_clopper_pearson=epsilon,
        fpr=float(np.mean(rest[0] > middle)),
        fnr=float(np.mean(rest[1] <= middle)),
    )


def epsilon_of_errors(
    wrong: int, missed: int, trials: tuple[int, int], *, delta: float, confidence: float = 0.95
) -> float:
    """Return a lower bound on epsilon from the counted errors of one test.

    `wrong` of the trials without the record were taken for one with it, `missed` the reverse;
    none of the `trials`, without and with it, was used to choose the test.
    """
    risk = (1.0 - confidence) / 2.0
    absent, present = trials
    return _epsilon(_upper(wrong, absent, risk), _upper(missed, present, risk), delta)


def gaussian_mu(fpr: float, fnr: float) -> float:
    """Return the mu of the Gaussian trade-off curve through error rates, at least 0."""
    return max(-float(ndtri(fpr) + ndtri(fnr)), 0.0)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon at `delta` of a mu-Gaussian-private mechanism."""

    def excess(epsilon: float) -> float:
        # exp(epsilon) Phi(...) with one exponential: neither factor need be finite.
        second = math.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2.0))
        return float(ndtr(-epsilon / mu + mu / 2.0) - second - delta)

    if mu <= 0.0 or excess(0.0) <= 0.0:
        return 0.0
    # Beyond this the first term alone is below delta.
    high = mu * (mu / 2.0 - float(ndtri(delta)))
    return float(brentq(excess, 0.0, high, xtol=1e-12))


def claimed_mu(epsilon: float, delta: float) -> float:
    """Return the mu of the Gaussian mechanism that is exactly (epsilon, delta)-private."""
    low, high = 1e-9, 1.0
    while gaussian_epsilon(high, delta) < epsilon:
        low, high = high, 2.0 * high
    return float(brentq(lambda mu: gaussian_epsilon(mu, delta) - epsilon, low, high))


def trade_off(fpr: npt.ArrayLike, mu: float) -> Floats:
    """Return the highest true positive rate that mu-Gaussian privacy allows."""
    tpr: Floats = ndtr(ndtri(fpr) + mu)
    return tpr


def roc(absent: Floats, present: Floats, points: int = 200) -> list[tuple[float, float]]:
    """Return (false, true) positive rates at thresholds spread evenly over the scores."""
    thresholds = np.quantile(np.concatenate([absent, present]), np.linspace(1.0, 0.0, points))
    fpr, tpr = (
        1.0 - np.searchsorted(np.sort(x), thresholds, side="right") / len(x)
        for x in (absent, present)
    )
    return [(0.0, 0.0), *zip(fpr.tolist(), tpr.tolist(), strict=True), (1.0, 1.0)]


def _split(scores: Floats) -> tuple[Floats, Floats]:
    cut = max(_FEWEST // 2, round(_PILOT * len(scores)))
    return scores[:cut], scores[cut:]


def _threshold(
    absent: Floats, present: Floats, middle: float, trials: int, delta: float, risk: float
) -> float:
    """Return a threshold that suits the bound on epsilon, from the trials of the pilot."""
    # Ratios of error rates are largest in the tails, where there is little to count. The
    # distance is that for the Gaussian curve which the pilot suggests: trying thresholds would
    # need far more trials. Then the better tail is taken.
    shares = np.geomspace(1e-5, 0.5, 60)
    # Half an error more than were counted: no rate is 0 or 1.
    fpr = (np.sum(absent > middle) + 0.5) / (len(absent) + 1.0)
    fnr = (np.sum(present <= middle) + 0.5) / (len(present) + 1.0)
    missed = 1.0 - trade_off(shares, gaussian_mu(fpr, fnr))
    expected = [
        _epsilon(_upper(a * trials, trials, risk), _upper(b * trials, trials, risk), delta)
        for a, b in zip(shares, missed, strict=True)
    ]
    share = float(shares[np.argmax(expected)])
    tails = np.quantile(absent, 1.0 - share), np.quantile(present, share)
    return float(max(tails, key=lambda t: _epsilon(*_limits(absent, present, t, risk), delta)))


def _limits(
    absent: Floats, present: Floats, threshold: float, risk: float
) -> tuple[float, float]:
    """Return upper confidence limits of the error rates of ``score > threshold``."""
    wrong, missed = int(np.sum(absent > threshold)), int(np.sum(present <= threshold))
    return _upper(wrong, len(absent), risk), _upper(missed, len(present), risk)


def _upper(count: float, trials: int, risk: float) -> float:
    """Return the Clopper-Pearson upper limit of a probability."""
    return float(betainccinv(count + 1.0, trials - count, risk)) if count < trials else 1.0


def _epsilon(fpr: float, fnr: float, delta: float) -> float:
    """Return the smallest epsilon, at least 0, that allows these error rates."""
    one, other = (1.0 - delta - fnr) / fpr, (1.0 - delta - fpr) / fnr
    return math.log(max(one, other, 1.0))
