"""Differentially private ridge regression, and what regressions share."""

import math
from typing import Any, cast

import numpy as np
from sklearn.base import RegressorMixin

from dpscd.errors import ParameterError
from dpscd.estimators.base import BLOCK, DPLinearModel, Floats
from dpscd.estimators.documentation import documented
from dpscd.estimators.inference_checks import check_inference_parameters
from dpscd.estimators.intervals import WithIntervals
from dpscd.preprocessing.stored_rows import StoredRows
from dpscd.problem import Model
from dpscd.records.labels import NumberLabels
from dpscd.releases.base import State

__all__ = ["DPLinearRegressor", "DPRidge"]


class DPLinearRegressor(RegressorMixin, DPLinearModel):
    """What the regressions share: bounds of the labels, and predictions."""

    longest_row_: float

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
        max_rows: int = 100,
        person_weight: str = "sum",
        ledger: str | None = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        engine: str = "numba",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.lam = lam
        self.epochs = epochs
        self.lot_size = lot_size
        self.travel = travel
        self.relation = relation
        self.row_bound = row_bound
        self.n = n
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.standardise = standardise
        self.y_bounds = y_bounds
        self.clip_predictions = clip_predictions
        self.max_rows = max_rows
        self.person_weight = person_weight
        self.ledger = ledger
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> Floats:
        """Return predicted labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.

        Returns
        -------
        array of shape (n_samples,)
            ``X coef_ + intercept_``. Rows longer than `longest_row_` are cut to it first, and
            what comes out is moved into `y_bounds`, unless `clip_predictions` is False.
        """
        line = self._linear(X)[:, 0]
        return np.clip(line, *self._bounds()) if self.clip_predictions else line

    def _products(self, X: Any) -> Floats:
        scores = super()._products(X)
        if self.clip_predictions and getattr(self, "longest_row_", math.inf) < math.inf:
            scores *= self._parts(X)[:, None]
        return scores

    def _parts(self, X: Any) -> Floats:
        """Return the part of each row that is left when it is cut, stored ones by blocks."""
        cut_rows = self._runs[-1].cut_rows
        if not isinstance(X, StoredRows):
            return cut_rows(X)[1]
        size = max(1, BLOCK // X.shape[1])
        blocks = (X[first : first + size] for first in range(0, X.shape[0], size))
        return np.concatenate([cut_rows(np.asarray(x, dtype=np.float64))[1] for x in blocks])

    def _set_released(self, state: State) -> None:
        self.longest_row_ = cast("Model", state.model).longest_row

    def _bounds(self) -> tuple[float, float]:
        try:
            low, high = (float(bound) for bound in self.y_bounds)  # type: ignore[union-attr]
            if math.isfinite(low) and math.isfinite(high) and low < high:
                return low, high
        except (TypeError, ValueError):
            pass
        raise ParameterError(
            f"y_bounds={self.y_bounds!r} must be two finite numbers (lowest, highest): the "
            "public range of the labels, known without looking at the data. It is required, "
            "because a range read from the data would not be private."
        )

    def _check_own_parameters(self) -> None:
        self._bounds()
        if not isinstance(self.clip_predictions, bool | np.bool_):
            raise ParameterError(
                f"clip_predictions={self.clip_predictions!r} must be True or False."
            )

    def _classes_of(self, y: Any) -> None:
        del y

    def _labels(self, classes: None) -> NumberLabels:
        del classes
        return NumberLabels(*self._bounds())

    def _public(self, meaning: Any, classes: None) -> dict[str, Any]:
        del classes
        return {"y_bounds": [meaning.low, meaning.high]}

    def _set_model(self, model: Model, classes: None) -> None:
        del classes
        self.coef_ = model.coef[0]
        self.intercept_ = float(model.intercept[0])
        self.coef_noise_ = np.atleast_2d(model.coef_noise)[0]
        self.intercept_noise_ = float(np.atleast_1d(model.intercept_noise)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@documented
class DPRidge(WithIntervals, DPLinearRegressor):
    """Ridge regression with differential privacy.

    Minimises ``mean (x.w + b - y)^2 / 2 + lam/2 |w|^2``. There is no learning rate, clip
    norm or batch size to choose: what is 'auto' is planned from public numbers.

    Parameters
    ----------
    {first}
    y_bounds : tuple of two floats
        Public range of the labels; labels outside are clipped to it. Required. With an
        intercept labels are centred on its middle, around which the intercept is
        penalised.
    {clip}
    {inference}
    {engine}
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
    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X @ [3.0, -2.0, 1.0] + 10.0
    >>> model = DPRidge(epsilon=1.0, y_bounds=(7.0, 13.0), random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    1.0
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
        inference: bool | str = False,
        max_rows: int = 100,
        person_weight: str = "sum",
        ledger: str | None = None,
        dataset: str | None = None,
        n_jobs: int | None = None,
        engine: str = "numba",
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
            engine=engine,
            random_state=random_state,
            verbose=verbose,
        )
        self.inference = inference

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        check_inference_parameters(self)

    def _set_released(self, state: State) -> None:
        super()._set_released(state)
        self._set_inference(state)
