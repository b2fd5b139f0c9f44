"""Differentially private logistic regression and linear support vector machine."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from dpscd.errors import ParameterError, PrivacyWarning
from dpscd.estimators.base import DPLinearModel, Floats
from dpscd.estimators.intervals import WithIntervals
from dpscd.estimators.parameters import check, is_auto, number
from dpscd.estimators.registry import kind_called, parametrised
from dpscd.estimators.validation import label_set, sorted_classes, warn_user
from dpscd.link import Link
from dpscd.records.cells import text_of
from dpscd.records.labels import ClassLabels


@parametrised
class DPLinearClassifier(ClassifierMixin, DPLinearModel):
    """What both classifiers share: classes, their weights, and decisions."""

    classes: Sequence[Any] | None = None
    class_weight: Mapping[Any, float] | None = None
    engine: str = "numba"

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of scores."""
        facts = self.fit_.plan.facts
        dtype = None if facts.schema is not None else facts.labels.dtype
        classes: npt.NDArray[Any] = np.array(facts.classes, dtype=dtype)
        return classes

    def decision_function(self, X: Any) -> Floats:
        """Return how far each record lies on the side of each class.

        One number per record for two classes (positive means the second), else one per class.
        """
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each record, one of `classes_`."""
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
                "{class_weight} is not available: it would count the records of each class, "
                "which is a release of its own. Give a dict of public weights.",
                class_weight=weights,
            )
        if weights is not None:
            if not isinstance(weights, Mapping):
                raise ParameterError(
                    "{class_weight} must be None or a dict from class to weight.",
                    class_weight=weights,
                )
            for label, weight in weights.items():
                check(f"class_weight[{label!r}]", weight, number(reached=True))

    def _declared_classes(self) -> npt.NDArray[Any]:
        labels = self.classes
        if isinstance(labels, np.ndarray):
            labels = labels.tolist() if labels.ndim == 1 else None
        classes = sorted_classes(labels)
        if classes is None or len(classes) < 2:
            raise ParameterError(
                "{classes} must be at least two different labels of one type.",
                classes=self.classes,
            )
        return classes

    def _classes_of(self, y: Any) -> npt.NDArray[Any]:
        if self.classes is not None:
            classes = self._declared_classes()
        else:
            classes = label_set(y)
            if len(classes) < 2:
                raise ParameterError(
                    "{classes} takes the classes from y, which has only one class; name at "
                    "least two.",
                    classes=None,
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
            if float(self.epsilon) < np.inf and is_auto(self.lam):
                # A record's whole contribution is bounded: weights above 1 would be cut.
                per_class /= max(per_class.max(), 1e-300)
            weights = tuple(per_class.tolist())
        return ClassLabels(tuple(labels), weights, classes.dtype.str)


@parametrised
class DPLogisticRegression(WithIntervals, DPLinearClassifier):
    """Logistic regression with differential privacy.

    Minimises ``mean log(1 + exp(-y (x.w + b))) + lam/2 |w|^2`` for two classes, and for more
    the multinomial ``mean log(sum_k exp(m_k)) - m_y + lam/2 |W|^2`` with margins
    ``m_k = x.w_k + b_k``.

    {parameters}

    {classified}
    link_ : Link
        How probabilities follow from decisions: `scale` and `caps`, computed from released
        numbers (docs/understanding/probabilities.md). Where a release after training showed
        what chances miss on average, the intercept makes up for it. The sigmoid without
        privacy, and not used for more than two classes.

    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = DPLogisticRegression(epsilon=1.0, classes=[False, True], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    kind = kind_called("logistic")
    inference: bool | str = False

    def _loss(self, classes: npt.NDArray[Any]) -> str:
        return "Logistic" if len(classes) == 2 else "Softmax"

    @property
    def link_(self) -> Link:
        """How probabilities follow from decisions."""
        return self.fit_.numbers.link or Link()

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of each class.

        As `link_` says for two classes; for more, the softmax of the decisions.
        """
        scores = self._linear(X)
        if scores.shape[1] == 1:
            return self.link_.log_probabilities(scores[:, 0])
        total: Floats = np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return scores - total

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, as :meth:`predict_log_proba` its logarithm."""
        probabilities: Floats = np.exp(self.predict_log_proba(X))
        return probabilities


@parametrised
class DPLinearSVC(DPLinearClassifier):
    """Linear support vector machine with differential privacy.

    Minimises ``mean max(0, 1 - y (x.w + b)) + lam/2 |w|^2``, one model against the rest for
    each class when there are more than two.

    {parameters}

    {classified}

    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPLinearSVC
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = np.where(X[:, 0] > X[:, 1], "left", "right")
    >>> model = DPLinearSVC(epsilon=1.0, classes=["left", "right"], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    kind = kind_called("svm")
