"""Classifiers: what they share, and differentially private logistic regression."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from dpscd import losses
from dpscd.errors import ParameterError, PrivacyWarning
from dpscd.estimators.base import DPLinearModel, Floats
from dpscd.estimators.documentation import documented
from dpscd.estimators.inference_checks import check_inference_parameters
from dpscd.estimators.intervals import WithIntervals
from dpscd.estimators.parameters import given
from dpscd.estimators.validation import check_number, label_set, sorted_classes, warn_user
from dpscd.link import Link
from dpscd.losses import Loss
from dpscd.preprocessing.cells import text_of
from dpscd.problem import Model
from dpscd.records.labels import ClassLabels
from dpscd.releases.base import State
from dpscd.releases.calibration import link_of

__all__ = ["DPLinearClassifier", "DPLogisticRegression"]


class DPLinearClassifier(ClassifierMixin, DPLinearModel):
    """What both classifiers share: classes, their weights, and decisions."""

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
        classes: Sequence[Any] | None = None,
        class_weight: Mapping[Any, float] | None = None,
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
        self.classes = classes
        self.class_weight = class_weight
        self.max_rows = max_rows
        self.person_weight = person_weight
        self.ledger = ledger
        self.dataset = dataset
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any) -> Floats:
        """Return how far each record lies on the side of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            One number per record for two classes (positive means the second), else one
            per class.
        """
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each record.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.

        Returns
        -------
        array of shape (n_samples,)
            Labels from `classes_`.
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[chosen]
        return labels

    def _check_own_parameters(self) -> None:
        if self.classes is not None:
            self._declared_classes()
        weights = self.class_weight
        if isinstance(weights, str):
            raise ParameterError(
                f"class_weight={weights!r} is not available: it would count the records of "
                "each class, which is a release of its own. Give a dict of public weights."
            )
        if weights is not None:
            if not isinstance(weights, Mapping):
                raise ParameterError(
                    f"class_weight={weights!r} must be None or a dict from class to weight."
                )
            for label, weight in weights.items():
                check_number(f"class_weight[{label!r}]", weight, strict=False)

    def _declared_classes(self) -> npt.NDArray[Any]:
        labels = self.classes
        if isinstance(labels, np.ndarray):
            labels = labels.tolist() if labels.ndim == 1 else None
        classes = sorted_classes(labels)
        if classes is None or len(classes) < 2:
            raise ParameterError(
                f"classes={self.classes!r} must be at least two different labels of one type."
            )
        return classes

    def _classes_of(self, y: Any) -> npt.NDArray[Any]:
        if self.classes is not None:
            classes = self._declared_classes()
        else:
            classes = label_set(y)
            if len(classes) < 2:
                raise ParameterError(
                    "classes=None takes the classes from y, which has only one class; give "
                    "classes= with at least two."
                )
            if float(self.epsilon) < np.inf:
                warn_user(
                    "classes=None takes the set of labels in y as public; give classes= to "
                    "say which labels there are without looking at the data.",
                    PrivacyWarning,
                )
        return classes

    def _labels(self, classes: npt.NDArray[Any]) -> ClassLabels:
        labels = classes.tolist()
        weights = None
        if self.class_weight is not None:
            own = {str(text_of(label)): w for label, w in self.class_weight.items()}
            texts = [str(text_of(label)) for label in labels]
            foreign = sorted(set(own) - set(texts))
            if foreign:
                raise ParameterError(
                    f"class_weight has a weight for {foreign[0]}, which is not one of the "
                    "classes."
                )
            per_class = np.array([float(own.get(text, 1.0)) for text in texts])
            if float(self.epsilon) < np.inf and given(self.lam) is None:
                # A record's whole contribution is bounded: weights above 1 would be cut.
                per_class /= max(per_class.max(), 1e-300)
            weights = tuple(per_class.tolist())
        return ClassLabels(tuple(labels), weights)

    def _public(self, meaning: ClassLabels, classes: npt.NDArray[Any]) -> dict[str, Any]:
        del meaning
        plain = [
            label if isinstance(label, str | int | float | bool) else str(label)
            for label in classes.tolist()
        ]
        origin = "declared" if self.classes is not None else "the labels in y"
        weights = {str(label): float(w) for label, w in (self.class_weight or {}).items()}
        return {"classes": plain, "classes_from": origin, "class_weight": weights}

    def _set_model(self, model: Model, classes: npt.NDArray[Any]) -> None:
        self.classes_ = classes
        self.coef_ = model.coef
        self.intercept_ = model.intercept
        self.coef_noise_ = model.coef_noise
        self.intercept_noise_ = model.intercept_noise


@documented
class DPLogisticRegression(WithIntervals, DPLinearClassifier):
    """Logistic regression with differential privacy.

    Minimises ``mean log(1 + exp(-y (x.w + b))) + lam/2 |w|^2`` for two classes, and for more
    the multinomial ``mean log(sum_k exp(m_k)) - m_y + lam/2 |W|^2`` with margins
    ``m_k = x.w_k + b_k``. There is no learning rate, clip norm or batch size to choose: what
    is 'auto' is planned from public numbers.

    Parameters
    ----------
    {first}
    classes : sequence of labels, optional
        The classes, known without looking at the data. A record with another label
        contributes nothing. None takes the labels that occur as public, with a warning.
    class_weight : dict, optional
        Public weight of the records of each class, 1 where absent. In a private fit with
        ``lam='auto'`` they are divided by the largest, so that only their ratios matter: what
        one record contributes is bounded whatever its weight.
    {inference}
    {engine}
    {last}

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the user's units.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    link_ : Link
        How probabilities follow from decisions: `scale` and `caps`, computed from released
        numbers (docs/understanding/probabilities.md). Where a release after training showed
        what chances miss on average, the intercept makes up for it. The sigmoid without
        privacy, and not used for more than two classes.
    {fitted}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = DPLogisticRegression(epsilon=1.0, classes=[False, True], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    link_: Link

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
        classes: Sequence[Any] | None = None,
        class_weight: Mapping[Any, float] | None = None,
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
            classes=classes,
            class_weight=class_weight,
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

    def _loss_of(self, meaning: ClassLabels) -> Loss:
        return losses.Logistic() if len(meaning.classes) == 2 else losses.Softmax()

    def _set_released(self, state: State) -> None:
        self._set_inference(state)
        self.link_ = Link()
        if len(self.classes_) == 2:
            self.link_ = state.link or link_of(state)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.

        Returns
        -------
        array of shape (n_samples, n_classes)
            As `link_` says for two classes; for more, the softmax of the decisions.
        """
        scores = self._linear(X)
        if scores.shape[1] == 1:
            return self.link_.log_chances(scores[:, 0])
        total: Floats = np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return scores - total

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Records, in the units of the fit.

        Returns
        -------
        array of shape (n_samples, n_classes)
            As `link_` says for two classes; for more, the softmax of the decisions.
        """
        probabilities: Floats = np.exp(self.predict_log_proba(X))
        return probabilities
