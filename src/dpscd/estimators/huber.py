"""Differentially private regression with the Huber loss."""

from typing import Any

from dpscd.estimators.documentation import documented
from dpscd.estimators.regression import DPLinearRegressor
from dpscd.estimators.validation import check_number
from dpscd.losses import Huber
from dpscd.records.labels import NumberLabels

__all__ = ["DPHuberRegressor"]

_SHARE = 0.1  # of the labels' range: threshold="auto"


@documented
class DPHuberRegressor(DPLinearRegressor):
    """Regression with the Huber loss and differential privacy.

    Minimises ``mean H(x.w + b - y) + lam/2 |w|^2`` with ``H(r) = r^2 / 2`` up to a threshold t
    and ``t (|r| - t/2)`` beyond: a label that is far away pulls no harder than one at the
    threshold. There is no learning rate, clip norm or batch size to choose: what is 'auto' is
    planned from public numbers.

    Parameters
    ----------
    {first}
    y_bounds : tuple of two floats
        Public range of the labels; labels outside are clipped to it. Required. With an
        intercept labels are centred on its middle, around which the intercept is
        penalised.
    {clip}
    threshold : float or 'auto', default='auto'
        The residual from which on the loss is linear, in the unit of the labels; 'auto' is
        a tenth of the range of `y_bounds`. It is public: do not read it off the data.
    {last}

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients, in the user's units.
    intercept_ : float
        Intercept.
    {longest}
    {fitted}

    Notes
    -----
    scikit-learn's HuberRegressor estimates the unit of its threshold from the data; this is
    its solution for ``threshold = epsilon * scale_`` and ``lam = alpha * scale_ / n``.

    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPHuberRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X @ [3.0, -2.0, 1.0] + 10.0
    >>> y[:1000] = 30.0  # labels that are wrong
    >>> bounds = (0.0, 30.0)
    >>> model = DPHuberRegressor(y_bounds=bounds, threshold=1.0, random_state=0).fit(X, y)
    >>> model.score(X[1000:], y[1000:]) > 0.9
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
        threshold: float | str = "auto",
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
        self.threshold = threshold

    def _loss_of(self, meaning: NumberLabels) -> Huber:
        if self.threshold == "auto":
            return Huber(_SHARE * (meaning.high - meaning.low))
        return Huber(float(self.threshold))

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        if self.threshold != "auto":
            check_number("threshold", self.threshold, low=1e-100)

    def _public(self, meaning: NumberLabels, classes: None) -> dict[str, Any]:
        threshold = self._loss_of(meaning).threshold
        return {**super()._public(meaning, classes), "threshold": threshold}
