"""Generated records whose coefficients are known: what intervals are to contain."""

import math
import zlib
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from dpscd.errors import ParameterError

Floats = npt.NDArray[np.float64]
Family = Literal["ridge", "logistic"]

FAMILIES: tuple[Family, ...] = ("ridge", "logistic")

_ERRORS = ("normal", "skewed", "heavy", "uneven")
_ROW_BOUND = 1.7  # in root mean square lengths of a row
_Y_BOUND = 10.0  # in standard deviations of what the truth leaves of labels
_LEFT = 3.0  # that standard deviation, in the labels' units; nobody tells the method
_CENTRE = 0.3  # mean of the margins; of a regression, in standard deviations as above
_NOTHING = 0.3  # chance of a coefficient to be exactly 0
_ALIKE = 0.5  # part of features' and errors' variance that the rows of a person share
_NODES = 60  # of a quadrature


@dataclass(frozen=True)
class Design:
    """How records are made, and how the fit is asked for."""

    # Records (persons, if these have several rows) and columns of numbers. The columns are
    # normal, with deviations from 0.5 to 2 and means from -1 to 1.
    n: int
    d: int
    correlation: float  # between any two of them
    epsilon: float  # privacy
    relation: str  # which data sets are neighbours
    # What is declared as the number of records, over n; used under add-remove only.
    declared: float
    intercept: bool  # whether there is one. Otherwise the means of the columns are 0
    # Levels of a category beside the numbers, of which the first has no column; 0: none.
    levels: int
    # What the truth leaves of a regression's labels: normal, exponential less its mean, t
    # with 5 degrees of freedom, or normal with a deviation that rises with the first column.
    errors: str
    # By how much the truth bends along the first column, in the units of what is left of
    # labels or of margins; the target is then the best linear model of the population.
    curved: float
    rare: float  # share of the positive class; 0: margins have mean 0.3
    rows: int  # rows of a person, 2 up to these at random; 1: every row is a record of its own
    robust: bool  # whether errors are to hold without the model

    def __post_init__(self) -> None:
        if self.errors not in _ERRORS:
            raise ParameterError(f"errors={self.errors!r} must be one of {', '.join(_ERRORS)}.")

    @property
    def declared_n(self) -> int:
        """The number of records or persons that is taken as known."""
        return round(self.n * self.declared)


class Sample(NamedTuple):
    """Records with what is public of them, and the truth."""

    X: Floats  # records and labels: numbers, or 0 and 1
    y: Floats
    persons: npt.NDArray[np.int64] | None  # whose row each is, where persons have several
    coef: Floats  # what intervals are to contain, in the units of X and y
    intercept: float
    row_bound: float  # declared longest row; some rows are longer
    # Declared range of a regression's labels.
    y_bounds: tuple[float, float] = (-_Y_BOUND * _LEFT, _Y_BOUND * _LEFT)


def draw_sample(design: Design, family: Family, seed: int) -> Sample:
    """Draw coefficients and records."""
    name = f"{family} {sorted(asdict(design).items())}"
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    columns = _Columns.of(design)
    unit = _LEFT if family == "ridge" else 1.0
    coef = _coefficients(rng, columns, unit)
    persons = None
    if design.rows > 1:
        persons = np.repeat(np.arange(design.n), rng.integers(2, design.rows + 1, design.n))
    X, first = _features(rng, design, columns, persons)
    centre = _centre(design, family)
    intercept = centre * unit - float(columns.mean @ coef)
    score = X @ coef + intercept + design.curved * unit * (first**2 - 1.0)
    target = (coef, intercept)
    if family == "ridge":
        y = score + _LEFT * _errors(rng, design, first, persons)
    else:
        y = (rng.random(len(X)) < expit(score)).astype(np.float64)
        if design.curved:
            target = _best_line(columns, coef, centre, design.curved)
    return Sample(X, y, persons, *target, row_bound=columns.row_bound)


class _Columns(NamedTuple):
    """What the columns are like in the population."""

    mean: Floats
    scale: Floats
    covariance: Floats
    chances: Floats

    @staticmethod
    def of(design: Design) -> "_Columns":
        d = design.d
        # In no order: neither scales nor means say which column is which.
        order = np.random.default_rng(d).permutation(d)
        scale = np.geomspace(0.5, 2.0, d)[order]
        mean = np.linspace(-1.0, 1.0, d) if design.intercept else np.zeros(d)
        related = np.full((d, d), design.correlation)
        np.fill_diagonal(related, 1.0)
        chances = np.arange(design.levels, 0, -1.0)
        chances = (chances / max(chances.sum(), 1.0))[1:]
        both = d + len(chances)
        covariance = np.zeros((both, both))
        covariance[:d, :d] = related * np.outer(scale, scale)
        covariance[d:, d:] = np.diag(chances) - np.outer(chances, chances)
        return _Columns(np.concatenate([mean, chances]), scale, covariance, chances)

    @property
    def row_bound(self) -> float:
        return _ROW_BOUND * math.sqrt(np.trace(self.covariance) + self.mean @ self.mean)


def _coefficients(rng: np.random.Generator, columns: _Columns, deviation: float) -> Floats:
    """Return coefficients, some 0, whose sum over columns has this standard deviation."""
    size = rng.standard_normal(len(columns.mean))
    kept = rng.random(len(size)) >= _NOTHING
    kept[np.argmax(np.abs(size))] = True
    coef: Floats = np.where(kept, size / np.sqrt(np.diag(columns.covariance)), 0.0)
    coef *= deviation / math.sqrt(coef @ columns.covariance @ coef)
    return coef


def _features(
    rng: np.random.Generator, design: Design, columns: _Columns, persons: Any
) -> tuple[Floats, Floats]:
    """Return rows, and the first column as a standard normal number."""
    d, r = design.d, design.correlation
    common = _normal(rng, design, persons, 1)
    numbers = _normal(rng, design, persons, d)
    numbers *= math.sqrt(1.0 - r)
    numbers += math.sqrt(r) * common
    first = numbers[:, 0].copy()
    numbers *= columns.scale
    numbers += columns.mean[:d]
    if not len(columns.chances):
        return numbers, first
    chances = np.concatenate([[1.0 - columns.chances.sum()], columns.chances])
    level = rng.choice(design.levels, len(numbers), p=chances)
    return np.hstack([numbers, level[:, None] == np.arange(1, design.levels)]), first


def _normal(rng: np.random.Generator, design: Design, persons: Any, width: int) -> Floats:
    """Return normal numbers, of which the rows of a person share a part."""
    if persons is None:
        return rng.standard_normal((design.n, width))
    shared = rng.standard_normal((design.n, width))[persons]
    own = rng.standard_normal((len(persons), width))
    found: Floats = math.sqrt(_ALIKE) * shared + math.sqrt(1.0 - _ALIKE) * own
    return found


def _errors(rng: np.random.Generator, design: Design, first: Floats, persons: Any) -> Floats:
    """Return what the truth leaves of labels: mean 0 and variance 1."""
    if design.errors == "skewed":
        return rng.exponential(size=len(first)) - 1.0
    if design.errors == "heavy":
        return rng.standard_t(5, len(first)) / math.sqrt(5.0 / 3.0)
    found = _normal(rng, design, persons, 1)[:, 0]
    if design.errors == "uneven":
        found *= np.exp(0.5 * first - 0.25)
    return found


def _quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights for means over a standard normal number."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()


def _centre(design: Design, family: Family) -> float:
    """Return the mean of the margins, in standard deviations for a regression."""
    if not design.intercept:
        return 0.0
    if family == "ridge" or not design.rare:
        return _CENTRE
    nodes, weights = _quadrature()
    found = brentq(lambda c: float(weights @ expit(c + nodes)) - design.rare, -12.0, 12.0)
    return float(found)


def _best_line(
    columns: _Columns, coef: Floats, centre: float, curved: float
) -> tuple[Floats, float]:
    """Return the logistic regression that fits the population of a bent truth best.

    The truth depends on two normal numbers, the first column z and the part w of the linear
    score that is not related to it; given these, all columns are linear in them on average. So
    the best coefficients lie in their span, and are found by a quadrature over the two.
    """
    pull = columns.covariance[0] @ coef / columns.scale[0]
    rest = math.sqrt(float(coef @ columns.covariance @ coef) - pull**2)
    nodes, weights = _quadrature()
    z, w = (x.ravel() for x in np.meshgrid(nodes, nodes))
    mass = np.outer(weights, weights).ravel()
    truth = expit(centre + pull * z + rest * w + curved * (z**2 - 1.0))
    basis = np.stack([np.ones_like(z), w, z], axis=1)
    found = np.array([centre, rest, pull])
    for _ in range(50):
        chance = expit(basis @ found)
        slope = basis.T @ (mass * (truth - chance))
        curvature = (basis * (mass * chance * (1.0 - chance))[:, None]).T @ basis
        found = found + np.linalg.solve(curvature, slope)
    best = coef * (found[1] / rest)
    best[0] += (found[2] - found[1] * pull / rest) / columns.scale[0]
    return best, float(found[0] - columns.mean @ best)
