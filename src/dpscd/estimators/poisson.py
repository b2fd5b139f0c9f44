"""Differentially private Poisson regression of counts."""

import math
from typing import Any, Self

import numpy as np

from dpscd.errors import ParameterError
from dpscd.estimators.base import Floats
from dpscd.estimators.documentation import documented
from dpscd.estimators.regression import DPLinearRegressor
from dpscd.estimators.searches import refusals_noted
from dpscd.estimators.sources import Given
from dpscd.losses import Poisson
from dpscd.problem import Model
from dpscd.records.labels import CountLabels, exposures_of
from dpscd.records.redaction import redact_memory_errors

__all__ = ["DPPoissonRegressor"]

_HIGHEST = 700.0  # exponentials of larger numbers leave the range of doubles


@documented
class DPPoissonRegressor(DPLinearRegressor):
    """Poisson regression of counts with differential privacy.

    Minimises ``mean (e m - y log(e m)) + lam/2 |w|^2`` with the rate ``m = exp(x.w + b)`` and
    the exposure e. There is no learning rate, clip norm or batch size to choose: what is
    'auto' is planned from public numbers.

    Parameters
    ----------
    {first}
    y_bounds : tuple of two floats
        Public range of the counts, from 0 on or above; counts outside are clipped to it.
        Required. With an intercept the rate of its middle is the one around which the
        intercept is penalised, unless a mean is released (`standardise`).
    clip_predictions : bool, default=True
        Whether an expected count stays within `y_bounds`, as the counts it was trained on did.
        They are counts over exposures within `exposure_bounds`, or over 1: for any other
        exposure the rate stays within what the bounds allow at the nearest one.
    exposure_bounds : tuple of two floats, optional
        Public range of the exposures, positive; exposures outside are moved to it. Required
        with ``fit(..., exposure=)``.
    {last}

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients of the logarithm of the rate.
    intercept_ : float
        Intercept of the logarithm of the rate.
    {fitted}

    Notes
    -----
    When the mean and the spread of the counts are released, the loss is divided by this spread
    before `lam` is applied.

    {notes}

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

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float | str = "auto",
        lam: float | str = "auto",
        epochs: float | str = "auto",
        lot_size: int | str = "auto",
        travel: float | str = "auto",
        relation: str = "zero-out",
        row_bound: float = 1.0,
        n: int | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float | str = "auto",
        standardise: bool | str = "auto",
        y_bounds: tuple[float, float] | None = None,
        clip_predictions: bool = True,
        exposure_bounds: tuple[float, float] | None = None,
        max_rows: int = 100,
        person_weight: str = "sum",
        ledger: str | None = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            epsilon,
            delta=delta,
            lam=lam,
            epochs=epochs,
            lot_size=lot_size,
            travel=travel,
            relation=relation,
            row_bound=row_bound,
            n=n,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            standardise=standardise,
            y_bounds=y_bounds,
            clip_predictions=clip_predictions,
            max_rows=max_rows,
            person_weight=person_weight,
            ledger=ledger,
            dataset=dataset,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.exposure_bounds = exposure_bounds

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Train the model; only noisy sums of the records influence it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, one per row. Rows longer than `row_bound` are scaled down to it.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : float or array-like of shape (n_samples,), optional
            How much each record's loss counts; with `groups` as for the other estimators.
        groups : array-like of shape (n_samples,), optional
            Whose row each is; then a person with all its rows is what is protected.
        exposure : float or array-like of shape (n_samples,), optional
            What each count was taken over: hours, persons, kilometres. 1 if not given.

        Returns
        -------
        self
            The fitted estimator.
        """
        with redact_memory_errors, refusals_noted(self):
            self._check_parameters()
            if (exposure is None) != (self.exposure_bounds is None):
                raise ParameterError(
                    f"exposure_bounds={self.exposure_bounds!r} goes with exposure: a range "
                    "read from the data would not be private."
                )
            self._fit_source(*self._source_of(X, y, Given(sample_weight, exposure, groups)))
        return self

    def predict(self, X: Any, exposure: Any = 1.0) -> Floats:
        """Return expected counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.
        exposure : float or array-like of shape (n_samples,), default=1.0
            What the counts are taken over.

        Returns
        -------
        array of shape (n_samples,)
            ``exposure exp(X coef_ + intercept_)``, within `y_bounds`: see `clip_predictions`.
        """
        rates: Floats = np.exp(np.minimum(self._linear(X)[:, 0], _HIGHEST))
        exposures = exposures_of(exposure, len(rates))
        if not self.clip_predictions:
            return rates * exposures
        usual = np.clip(exposures, *self._exposures())
        return np.clip(rates * usual, *self._bounds()) * (exposures / usual)

    def _loss_of(self, meaning: CountLabels) -> Poisson:
        middle = (meaning.low + meaning.high) / 2.0
        return Poisson(middle if self.fit_intercept else meaning.usual)

    def _exposures(self) -> tuple[float, float]:
        if self.exposure_bounds is None:
            return 1.0, 1.0
        try:
            low, high = (float(bound) for bound in self.exposure_bounds)
            if 0.0 < low <= high < math.inf:
                return low, high
        except (TypeError, ValueError):
            pass
        raise ParameterError(
            f"exposure_bounds={self.exposure_bounds!r} must be two positive finite numbers "
            "(lowest, highest): the public range of the exposures."
        )

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        self._exposures()
        if self._bounds()[0] < 0.0:
            raise ParameterError(
                f"y_bounds={self.y_bounds!r} must not be below 0: counts are not."
            )

    def _labels(self, classes: None) -> CountLabels:
        del classes
        return CountLabels(*self._bounds(), *self._exposures())

    def _public(self, meaning: CountLabels, classes: None) -> dict[str, Any]:
        own = {"exposure_bounds": [meaning.least, meaning.most]}
        return {**super()._public(meaning, classes), **own}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _set_model(self, model: Model, classes: None) -> None:
        super()._set_model(model, classes)
        shift = math.log(self._labels(None).usual)
        self.intercept_ = self.intercept_ - shift if self.fit_intercept else 0.0
