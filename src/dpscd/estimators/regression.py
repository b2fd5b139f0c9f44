"""Differentially private ridge, Huber and Poisson regression."""

import math
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from dpscd.errors import ParameterError
from dpscd.estimators.base import BLOCK, DPLinearModel, Floats
from dpscd.estimators.intervals import WithIntervals
from dpscd.estimators.registry import kind_called, parametrised
from dpscd.estimators.validation import refusals_noted
from dpscd.records.labels import CountLabels, NumberLabels, exposures_of
from dpscd.records.opening import Given
from dpscd.records.rows import Unread
from dpscd.records.stored_rows import StoredRows

_HIGHEST = 700.0  # exponentials of larger numbers leave the range of doubles


def _pair(given: Any) -> tuple[float, float]:
    """Return two finite numbers, or NaN for whatever else is given."""
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        return math.nan, math.nan
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (math.nan, math.nan)


@parametrised
class DPLinearRegressor(RegressorMixin, DPLinearModel):
    """What the regressions share: bounds of the labels, and predictions."""

    y_bounds: tuple[float, float] | None = None
    clip_predictions: bool = True

    def _shaped(self, each: Floats) -> Any:
        return each[0] if each.ndim > 1 else float(each[0])

    @property
    def longest_row_(self) -> float:
        """Predictions cut rows to this length."""
        return self.fit_.numbers.longest_row

    @property
    def _range(self) -> tuple[float, float]:
        """Bounds of the labels of the fit, declared or released."""
        labels = self.fit_.labels
        return labels.low, labels.high

    def predict(self, X: Any) -> Floats:
        """Return predicted labels, ``X coef_ + intercept_``.

        Rows longer than `longest_row_` are cut to it first, and what comes out is moved into
        `y_bounds`, unless `clip_predictions` is False.
        """
        line = self._linear(X)[:, 0]
        return np.clip(line, *self._range) if self.clip_predictions else line

    def _products(self, X: Any) -> Floats:
        scores = super()._products(X)
        if self.clip_predictions and self.longest_row_ < math.inf:
            scores *= self._parts(X)[:, None]
        return scores

    def _parts(self, X: Any) -> Floats:
        """Return the part of each row that is left when it is cut, stored ones by blocks."""
        facts = self.fit_.plan.facts
        cut_rows = facts.problem(1.0).cut_rows
        if not isinstance(X, StoredRows):
            return cut_rows(X)[1]
        size = max(1, BLOCK // X.shape[1])
        blocks = (X[first : first + size] for first in range(0, X.shape[0], size))
        return np.concatenate([cut_rows(np.asarray(x, dtype=np.float64))[1] for x in blocks])

    def _bounds(self) -> tuple[float, float]:
        low, high = _pair(self.y_bounds)
        if low < high:
            return low, high
        raise ParameterError(
            "{y_bounds} must be two finite numbers (lowest, highest): the public range of the "
            "labels, known without looking at the data. It is required, because a range read "
            "from the data would not be private.",
            y_bounds=self.y_bounds,
        )

    def _check_own_parameters(self) -> None:
        self._bounds()

    def _classes_of(self, y: Any) -> None:
        del y

    def _labels(self, classes: None) -> NumberLabels:
        del classes
        return NumberLabels(*self._bounds())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@parametrised
class DPRidge(WithIntervals, DPLinearRegressor):
    """Ridge regression with differential privacy.

    Minimises ``mean (x.w + b - y)^2 / 2 + lam/2 |w|^2``.

    {parameters}

    {line}

    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPRidge
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X @ [3.0, -2.0, 1.0] + 10.0
    >>> model = DPRidge(epsilon=1.0, y_bounds=(7.0, 13.0), random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    1.0
    """

    kind = kind_called("ridge")
    inference: bool | str = False
    engine: str = "numba"


@parametrised
class DPHuberRegressor(DPLinearRegressor):
    """Regression with the Huber loss and differential privacy.

    Minimises ``mean H(x.w + b - y) + lam/2 |w|^2`` with ``H(r) = r^2 / 2`` up to a threshold t
    and ``t (|r| - t/2)`` beyond: a label that is far away pulls no harder than one at the
    threshold.

    {parameters}

    {line}

    {notes}

    scikit-learn's HuberRegressor estimates the unit of its threshold from the data; this is
    its solution for ``threshold = epsilon * scale_`` and ``lam = alpha * scale_ / n``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPHuberRegressor
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X @ [3.0, -2.0, 1.0] + 10.0
    >>> y[:1000] = 30.0  # labels that are wrong
    >>> bounds = (0.0, 30.0)
    >>> model = DPHuberRegressor(y_bounds=bounds, threshold=1.0, random_state=0).fit(X, y)
    >>> model.score(X[1000:], y[1000:]) > 0.9
    True
    """

    kind = kind_called("huber")
    threshold: float | str = "auto"


@parametrised
class DPPoissonRegressor(DPLinearRegressor):
    """Poisson regression of counts with differential privacy.

    Minimises ``mean (e m - y log(e m)) + lam/2 |w|^2`` with the rate ``m = exp(x.w + b)`` and
    the exposure e.

    {parameters}

    {line}

    {notes}

    When the mean and the spread of the counts are released, the loss is divided by this spread
    before `lam` is applied.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = rng.poisson(np.exp(X @ [2.0, -1.0, 0.5] + 1.0))
    >>> model = DPPoissonRegressor(epsilon=1.0, y_bounds=(0, 30), random_state=0).fit(X, y)
    >>> bool(abs(model.predict(X).mean() - y.mean()) < 0.3)
    True
    """

    kind = kind_called("poisson")
    exposure_bounds: tuple[float, float] | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Train the model; only noisy sums of the records influence it.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for :class:`DPRidge`; the labels are counts.
        exposure : float or array-like of shape (n_samples,), optional
            What each count was taken over: hours, persons, kilometres. 1 if not given.

        Returns
        -------
        self
        """
        with refusals_noted(self):
            return self._fit(X, y, Given(sample_weight, exposure, groups))

    def _opened(self, X: Any, y: Any, others: Given) -> AbstractContextManager[Unread]:
        if (others.exposure is None) != (self.exposure_bounds is None):
            raise ParameterError(
                f"exposure_bounds={self.exposure_bounds!r} goes with exposure: a range "
                "read from the data would not be private."
            )
        return super()._opened(X, y, others)

    def predict(self, X: Any, exposure: Any = 1.0) -> Floats:
        """Return expected counts over an exposure, ``exposure exp(X coef_ + intercept_)``.

        They stay within `y_bounds`: see `clip_predictions`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.
        exposure : float or array-like of shape (n_samples,), default=1.0
            What the counts are taken over.
        """
        rates: Floats = np.exp(np.minimum(self._linear(X)[:, 0], _HIGHEST))
        exposures = exposures_of(exposure, len(rates))
        if not self.clip_predictions:
            return rates * exposures
        labels = self.fit_.labels
        usual = np.clip(exposures, labels.least, labels.most)
        return np.clip(rates * usual, *self._range) * (exposures / usual)

    def _exposures(self) -> tuple[float, float]:
        if self.exposure_bounds is None:
            return 1.0, 1.0
        low, high = _pair(self.exposure_bounds)
        if 0.0 < low <= high:
            return low, high
        raise ParameterError(
            f"exposure_bounds={self.exposure_bounds!r} must be two positive finite numbers "
            "(lowest, highest): the public range of the exposures."
        )

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        self._exposures()
        if self._bounds()[0] < 0.0:
            raise ParameterError(
                "{y_bounds} must not be below 0: counts are not.", y_bounds=self.y_bounds
            )

    def _labels(self, classes: None) -> CountLabels:
        del classes
        return CountLabels(*self._bounds(), *self._exposures())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
