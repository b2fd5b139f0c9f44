"""The untuned rule: from public facts to a plan.

Why each constant is what it is, and on which data it was measured:
docs/understanding/planning.md.
"""

import math

from dpscd import losses
from dpscd.errors import ParameterError
from dpscd.planning.facts import Facts
from dpscd.planning.inference import inference_rule, information_noise
from dpscd.planning.plan import Plan
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.cost import BOUND_CELLS
from dpscd.privacy.relation import PrivacyTarget
from dpscd.releases.base import Release
from dpscd.releases.bounds import Bounds
from dpscd.releases.information import Information
from dpscd.releases.moments import LabelMean, LabelSpread, Moments, ResidualSpread
from dpscd.releases.probability import Calibration, Level, Steepness
from dpscd.releases.rescaling import LongRows, Rescaling
from dpscd.releases.training import Pilot, Training
from dpscd.standard import LONGEST

# Epochs: 100, and up to four times as many where records are few and epochs cheap.
_EPOCHS = 100.0
_FEW = 30_000.0
_MOST_EPOCHS = 400.0
_STEPS = 25_000
_SMALLEST_LOT, _LARGEST_LOT = 16, 2048
# On workers a step costs a message to each and back, in seconds, and a record of a lot these,
# for its features and besides. Lots grow until they take as long as the round trip, up to a
# part of n.
_MESSAGE_TIME = 1.5e-3
_FEATURE_TIME, _RECORD_TIME = 0.4e-9, 4e-8
_MOST_OF_ALL = 20

# Travel. Of a classifier's dual, which lives in [0, 1]; and of a regression's, in units of
# the labels' mean distance from their centre if that is released, else of their bound.
_TRAVEL = 0.5
_ENOUGH = 6000.0  # epsilon n from which the full travel pays
_REGRESSION_TRAVEL = 3.5
# A regression's is shorter, down to the first, where the usual one would let noise move
# predictions by more than _MOST_NOISE (by the power 2/3 of how many times more), and longer,
# up to the second, where it would by less than _LITTLE_NOISE, in units of the labels' spread.
_LEAST_TRAVEL, _MOST_TRAVEL = 0.8, 14.0
_MOST_COUNT_TRAVEL = 10.0
_MOST_NOISE, _LITTLE_NOISE = 0.07, 0.05

# A joint loss of many classes: epochs, in so many steps unless lots become too large; travel;
# how far noise may move a margin before data hold against it, as a standard deviation; which
# part of what much noise asks for beyond that; and by which part rows of a lot are taken to be
# alike at first. Lots are larger: drawing noise takes as long as the products of 170 members.
_JOINT_EPOCHS, _JOINT_STEPS = 60.0, 1500
_SMALLEST_JOINT_LOT, _LARGEST_JOINT_LOT = 256, 4096
_JOINT_TRAVEL, _JOINT_NOISE, _JOINT_MUCH, _JOINT_ALIKE = 0.4, 1.6, 0.3, 0.01

# Steps of standardised regressions are damped as if rows of a lot were alike by this part.
_DAMPED = 0.25

# lam follows the noise; how large a model is expected sets the factor.
_MODEL_SIZE = {"classification": 20.0, "regression": 5.0, "counts": 5.0}
_LABEL_MODEL_SIZE = 1.3
# Of a regression: the square that predictions are expected to explain, of labels of spread 1;
# how many times the slowness of duals lam n should be; and d times a lam that hardly shrinks
# a model.
_EXPLAINED = 0.15
_ARRIVE, _HARDLY = 40.0, 0.02
_HARDLY_COUNTS = 0.04  # which scatter more than their mean distance says
_MUCH_NOISE = 0.02  # length of the noise of one Gaussian release, a record
_PILOT_SHARE, _PILOT_EPOCHS = 0.05, 0.3  # of the budget, of the epochs
_LEAST_PILOT_NOISE = 1.0  # with less, few large steps cost far more than many small ones
# Largest variance that a pilot's noise may add to predictions, labels having spread 1.
_PILOT_VARIANCE = 0.1

_CONSTANT = 0.3  # of the row bound
_STANDARD_CONSTANT = 0.25  # of a typical standardised row
_AVERAGING = 0.4

# Moments: what they may cost at most and at least, as a part of 1 / noise^2 in all; and
# how exact they should be, in length of the mean's error and relative to the square of a
# feature. Beyond _USELESS nothing is learnt from them.
_MOST_MOMENTS, _LEAST_MOMENTS = 0.1, 0.005
_GOOD_MEAN, _GOOD_SQUARE, _USELESS = 0.05, 0.2, 0.5
# Bounds: what they may cost, and which part of the records beyond a bound should be so many
# times its noise when half the cells are added up.
_MOST_BOUNDS, _LEAST_BOUNDS = 0.1, 0.005
_GOOD_TAIL, _SEEN = 0.005, 4.0
# The same for each of the two label moments.
_MOST_LABEL, _LEAST_LABEL = 0.04, 0.002
_GOOD_LABEL = 0.005
# What is released after training, means of numbers up to 1: what the probabilities of a
# classifier miss, what cutting long rows of a regression gains, and the line from predictions
# to labels. How exact they should be, beyond which error they are useless, and their cost.
_GOOD_PROBABILITY, _USELESS_PROBABILITY = 0.0005, 0.02
_GOOD_GAIN, _USELESS_GAIN = 0.0001, 0.004
_GOOD_LINE, _USELESS_LINE = 0.0002, 0.1
_LEAST_AFTER, _MOST_CALIBRATION, _MOST_CHECK = 0.002, 0.01, 0.04
# Where rows of persons count, sums are longer, and so they are of counts, which are measured
# in units of where they are cut.
_MOST_ROWS = 0.04
_GOOD_LEVEL, _USELESS_LEVEL, _MOST_LEVEL = 0.0001, 0.05, 0.1
# The same of the two sums that say how extreme the probabilities of a model of persons are.
_USELESS_STEEPNESS, _MOST_STEEPNESS = 0.03, 0.02


def default_delta(n: int) -> float:
    """Return the delta of a data set of n records: 1e-5, less beyond 10,000 records."""
    return min(1e-5, 1.0 / (10.0 * n))


def default_constant(row_bound: float, *, standardised: bool = False) -> float:
    """Return the value of the constant column that goes with rows."""
    return _STANDARD_CONSTANT if standardised else _CONSTANT * row_bound


def worth_standardising(n: int, d: int, target: PrivacyTarget) -> bool:
    """Return whether the features' moments can be seen through the noise they would get."""
    noise = _moments_noise(n, d, target)
    return math.sqrt(2.0 * d) * noise / n <= _USELESS


def plan_fit(
    facts: Facts,
    target: PrivacyTarget,
    *,
    lam: float | None = None,
    epochs: float | None = None,
    lot_size: int | None = None,
    travel: float | None = None,
    workers: int = 0,
) -> Plan:
    """Return the calibrated plan of a fit; what is None follows the rule.

    `lam` is in the user's units or in those of standardised rows; `travel` is how far a dual
    may move in all, in units of the label scale; `workers` are those of the cluster with the
    records, 0 if they are here.
    """
    n, averaging = facts.n, _AVERAGING
    usual, usual_lot = _usual(facts)
    if facts.inference:
        rule = inference_rule(facts.task, n, facts.d, _gaussian(target))
        lam, epochs, lot_size, travel, averaging = rule
    if lot_size is None:
        # On workers it is what they compute in the time of a round trip.
        record = _RECORD_TIME + _FEATURE_TIME * facts.d * facts.outputs
        worth = int(_MESSAGE_TIME * workers * workers / record)
        lot_size = max(usual_lot, min(n // _MOST_OF_ALL, worth))
    if not 1 <= lot_size <= n:
        raise ParameterError(
            "{lot_size} must be at least 1 and at most the number of records, {}.",
            n,
            lot_size=lot_size,
        )
    if epochs is None:
        epochs = usual
    if not epochs > 0.0:
        raise ParameterError("{epochs} must be greater than 0.", epochs=epochs)
    label_noise = _label_noise(n, target) if _releases_labels(facts) else 0.0
    scaled = label_noise > 0.0 and facts.standardised
    if travel is None:
        travel = _travel(facts, target, labels_released=scaled)
    # The residual of a count is not a count.
    pilots = label_noise > 0.0 and facts.task == "regression"
    added = travel * _predicted_noise(facts, target)
    pilots = pilots and added**2 / _PILOT_SHARE < _PILOT_VARIANCE
    rate = lot_size / n
    separability = _separability(facts, lot_size, usual_lot)
    if lam is None and label_noise > 0.0 and facts.task == "regression":
        lam = _regression_lam(facts, target, travel, separability / epochs)
    elif lam is None:
        lam = _lam(facts, target, travel, scaled, separability / epochs)
    steps = math.ceil(epochs / rate)
    training = Training(
        facts,
        target,
        lam=float(lam),
        steps=steps,
        rate=rate,
        clip=travel * _typical(facts) / (rate * steps),
        separability=separability,
        averaging=averaging,
        most_separability=float(lot_size),
    )
    first: list[Release] = []
    if facts.bounded:
        first.append(Bounds(facts, _bounds_noise(n, facts.bounded, target)))
    if facts.standardised:
        first.append(Moments(facts, _moments_noise(n, facts.d, target)))
    if label_noise and facts.intercept:
        first.append(LabelMean(facts, label_noise))
    if label_noise and facts.standardised:
        first.append(LabelSpread(facts, label_noise))
    if pilots:
        first += [_pilot(training), ResidualSpread(facts, label_noise)]
    after = _after(facts, target, labels_released=label_noise > 0.0)
    return Plan(target, facts, (*first, training, *after)).calibrated()


def as_asked(
    training: Training,
    *,
    lam: float | None,
    epochs: float | None,
    lot_size: int | None,
    travel: float | None,
) -> bool:
    """Return whether :func:`plan_fit` plans this training for what is not None of these."""
    facts, rate, steps = training.facts, training.rate, training.steps
    return (
        (lam is None or training.lam == lam)
        and (lot_size is None or rate == lot_size / facts.n)
        and (epochs is None or steps == math.ceil(epochs / rate))
        and (travel is None or training.clip == travel * _typical(facts) / (rate * steps))
    )


def _usual(facts: Facts) -> tuple[float, int]:
    """Return the epochs, and the size of a lot, that suit so many records."""
    epochs, steps, smallest, largest = _EPOCHS, _STEPS, _SMALLEST_LOT, _LARGEST_LOT
    if facts.joint:
        epochs, steps = _JOINT_EPOCHS, _JOINT_STEPS
        smallest, largest = _SMALLEST_JOINT_LOT, _LARGEST_JOINT_LOT
    usual = epochs * min(_MOST_EPOCHS / _EPOCHS, max(1.0, math.sqrt(_FEW / facts.n)))
    size = int(usual * facts.n / steps)
    return usual, min(facts.n, max(smallest, min(largest, size)))


def _after(
    facts: Facts, target: PrivacyTarget, *, labels_released: bool
) -> tuple[Release, ...]:
    """Return what is released after training, if it can be seen and more may be released."""
    n = facts.n
    if facts.task == "counts" and facts.means and facts.constant:
        noise = _within_share(_GOOD_LEVEL * n, target, _LEAST_AFTER, _MOST_LEVEL)
        return (Level(facts, noise),) if noise / n <= _USELESS_LEVEL else ()
    if not facts.standardised:
        return ()
    if facts.inference:
        return (Information(facts, information_noise(facts, _gaussian(target))),)
    found: tuple[Release, ...] = ()
    if facts.probabilities and facts.outputs == 1:
        noise = _within_share(_GOOD_PROBABILITY * n, target, _LEAST_AFTER, _MOST_STEEPNESS)
        if noise / n <= _USELESS_STEEPNESS and facts.rows:
            found += (Steepness(facts, noise),)
        most = _MOST_ROWS if facts.rows > 1 else _MOST_CALIBRATION
        noise = _within_share(_GOOD_PROBABILITY * n, target, _LEAST_AFTER, most)
        if noise / n <= _USELESS_PROBABILITY and facts.constant:
            found += (Calibration(facts, noise),)
        return found
    # Rows of a schema are made to fit the row bound.
    if facts.task == "regression" and facts.schema is None and not facts.weighted:
        noise = _within_share(_GOOD_GAIN * n, target, _LEAST_AFTER, _MOST_CHECK)
        found += (LongRows(facts, noise),) if noise / n <= _USELESS_GAIN else ()
    if facts.task == "regression" and facts.means and labels_released:
        noise = _within_share(_GOOD_LINE * n, target, _LEAST_AFTER, _MOST_CHECK)
        found += (Rescaling(facts, noise),) if noise / n <= _USELESS_LINE else ()
    return found


def _separability(facts: Facts, lot_size: int, usual_lot: int) -> float:
    """Return how steps are damped at first: as in the usual lots, or as they must be."""
    # Rows with a mean square of `alike` at most along every direction are stable from half of
    # ``1 + (lot_size - 1) alike`` on. By public facts it is at least one over the rank, and
    # what all rows have in common, the constant.
    if facts.inference:
        return float(lot_size)  # which a file can say again, and fits every record
    if facts.task == "regression" and facts.standardised:
        usual_lot = max(1, round(_DAMPED * usual_lot))
    if facts.joint:
        return 1.0 + (lot_size - 1.0) * max(_JOINT_ALIKE, 1.0 / (facts.d + 1.0))
    longest = 1.0 if facts.standardised else facts.row_bound
    common = facts.constant**2 / (longest**2 + facts.constant**2)
    alike = max(1.0 / (facts.d + int(facts.constant != 0.0)), common)
    return min(float(lot_size), max(float(usual_lot), 1.0 + (lot_size - 1.0) * alike))


def _pilot(main: Training) -> Pilot:
    """Return the pilot: shorter, with more noise, and more regularised for it."""
    steps = max(1, round(_PILOT_EPOCHS * main.steps))
    # As for many small steps, which together look like one Gaussian release.
    strength = math.sqrt(_PILOT_SHARE) / _gaussian(main.target)
    noise = 1.0 / math.sqrt(math.log1p(strength**2 / (main.rate**2 * steps)))
    return Pilot(
        main.facts,
        main.target,
        lam=main.lam / math.sqrt(_PILOT_SHARE),
        steps=steps,
        rate=main.rate,
        clip=main.clip * main.steps / steps,
        separability=main.separability,
        averaging=main.averaging,
        noise_multiplier=max(noise, _LEAST_PILOT_NOISE),
        most_separability=main.most_separability,
    )


def _typical(facts: Facts) -> float:
    """Return the length of a typical record; the longest possible one has length 1."""
    if not facts.standardised:
        return 1.0
    return math.hypot(1.0, facts.constant) / math.hypot(LONGEST, facts.constant)


def _travel(facts: Facts, target: PrivacyTarget, *, labels_released: bool) -> float:
    if not labels_released:
        full = _JOINT_TRAVEL if facts.joint else _TRAVEL
        return full * min(1.0, math.sqrt(target.epsilon * facts.n / _ENOUGH))
    noise = _predicted_noise(facts, target)
    if noise * _REGRESSION_TRAVEL <= _LITTLE_NOISE:
        # By the root of what noise would allow, so that more epsilon still means less of it.
        most = _MOST_COUNT_TRAVEL if facts.task == "counts" else _MOST_TRAVEL
        return min(most, math.sqrt(_REGRESSION_TRAVEL * _LITTLE_NOISE / noise))
    if facts.task == "counts":
        return _REGRESSION_TRAVEL
    usual = _REGRESSION_TRAVEL * noise
    shorter = _REGRESSION_TRAVEL * math.pow(_MOST_NOISE / usual, 2.0 / 3.0)
    return max(_LEAST_TRAVEL, min(_REGRESSION_TRAVEL, shorter))


def _predicted_noise(facts: Facts, target: PrivacyTarget) -> float:
    """Return by how much noise moves predictions, as a standard deviation, at a travel of 1."""
    # Rows having mean square length 1 with no direction preferred, and without regularisation:
    # each of d directions has the noise of a Gaussian release over its curvature, 1/d.
    return _gaussian(target) * facts.d / facts.n


def _regression_lam(
    facts: Facts, target: PrivacyTarget, travel: float, slowness: float
) -> float:
    """Return the regularisation of labels that have spread 1."""
    # The one that is best against the noise in predictions if they can explain `_EXPLAINED` of
    # the labels' square. But duals arrive only if it is large enough for how slow they are.
    noise = travel * _predicted_noise(facts, target)
    best = noise**2 / (_EXPLAINED * facts.d)
    return max(best, min(_ARRIVE * slowness / facts.n, _HARDLY / facts.d))


def _lam(
    facts: Facts, target: PrivacyTarget, travel: float, labels_released: bool, slowness: float
) -> float:
    """Return the regularisation that follows the noise, and lets duals of counts arrive."""
    noise = _gaussian(target)
    width = facts.d + (1 if facts.constant else 0)
    if labels_released:
        inner = math.sqrt(width) * noise / (_LABEL_MODEL_SIZE * facts.n)
        inner = max(inner, min(_ARRIVE * slowness / facts.n, _HARDLY_COUNTS / facts.d))
    else:
        model_size = _MODEL_SIZE[facts.task]
        # Noise that is much even for a whole model of small size asks for more than its share.
        much = noise * math.sqrt(width) / (_MUCH_NOISE * facts.n)
        follows = (0.5 * noise + 1.0) * (1.0 + much)
        inner = travel * math.sqrt(width) * follows / (model_size * facts.n)
        if facts.joint:
            inner = travel * noise * (1.0 + _JOINT_MUCH * much) / (_JOINT_NOISE * facts.n)
    if not labels_released:
        inner *= losses.unit(facts.problem(1.0).loss)
    if facts.standardised:
        return inner
    return inner * (facts.row_bound**2 + facts.constant**2)


def _gaussian(target: PrivacyTarget) -> float:
    return gaussian_multiplier(target.epsilon, target.delta, target.relation)


def _moments_noise(n: int, d: int, target: PrivacyTarget) -> float:
    """Return the noise multiplier of the moments: exact enough, within their share."""
    wanted = min(_GOOD_MEAN / math.sqrt(d), _GOOD_SQUARE / d) * n / math.sqrt(2.0)
    return _within_share(wanted, target, _LEAST_MOMENTS, _MOST_MOMENTS)


def _bounds_noise(n: int, columns: int, target: PrivacyTarget) -> float:
    """Return the noise multiplier of each of the two histograms: a tail can be seen."""
    cells = _SEEN * math.sqrt(columns * BOUND_CELLS / 2.0)
    wanted = _GOOD_TAIL * n / cells / math.sqrt(2.0)
    return math.sqrt(2.0) * _within_share(wanted, target, _LEAST_BOUNDS, _MOST_BOUNDS)


def _label_noise(n: int, target: PrivacyTarget) -> float:
    """Return the noise multiplier of a label moment, 0 if it would not be seen."""
    noise = _within_share(_GOOD_LABEL * n, target, _LEAST_LABEL, _MOST_LABEL)
    return noise if 2.0 * noise / n <= _USELESS else 0.0


def _within_share(wanted: float, target: PrivacyTarget, least: float, most: float) -> float:
    """Return `wanted`, but such that its part of the budget is between `least` and `most`."""
    noise = _gaussian(target)
    return min(noise / math.sqrt(least), max(noise / math.sqrt(most), wanted))


def _releases_labels(facts: Facts) -> bool:
    """Return whether labels are centred, and scaled if features are standardised."""
    # Counts are without that too: a penalty would pull them to the middle of their range.
    if facts.task == "counts" and facts.constant:
        return True
    return facts.task != "classification" and facts.standardised
