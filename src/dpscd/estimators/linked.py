"""What a logistic regression with a link of its own becomes for scikit-learn."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from dpscd.link import Link

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class LinkedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of two classes whose probabilities follow from decisions by a link.

    What :func:`dpscd.to_sklearn` returns for a private logistic regression: decisions and
    classes are those of scikit-learn's, probabilities those of the private model.

    Parameters
    ----------
    classifier : estimator
        With a decision function: scikit-learn's LogisticRegression.
    scale : float, default=1.0
        Decisions are multiplied by this first.
    caps : tuple of two floats, default=(1.0, 1.0)
        Largest slope of the loss of a record of each class. The second class has
        probability ``b / (a + b)`` with ``b = min(s(scale u), caps[0])``,
        ``a = min(s(-scale u), caps[1])``, the decision u and the sigmoid s.

    Attributes
    ----------
    classifier_ : estimator
        Fitted.
    classes_ : array of shape (2,)
        The classes.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dpscd import LinkedClassifier
    >>> model = LinkedClassifier(LogisticRegression(), caps=(0.5, 0.5))
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).predict([[3.0]])
    array([1])
    """

    classifier: Any
    scale: float = 1.0
    caps: tuple[float, float] = (1.0, 1.0)

    def fit(self, X: Any, y: Any, **more: Any) -> Self:
        """Fit the classifier, without privacy; the link stays.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        **more
            Passed on to the classifier.

        Returns
        -------
        self
        """
        self.classifier_ = clone(self.classifier).fit(X, y, **more)
        return self

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of the probabilities."""
        check_is_fitted(self, "classifier_")
        classes: npt.NDArray[Any] = self.classifier_.classes_
        return classes

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit."""
        check_is_fitted(self, "classifier_")
        return int(self.classifier_.n_features_in_)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the features, when X had names."""
        check_is_fitted(self, "classifier_")
        names: npt.NDArray[Any] = self.classifier_.feature_names_in_
        return names

    def decision_function(self, X: Any) -> Floats:
        """Return the classifier's decisions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "classifier_")
        decisions: Floats = self.classifier_.decision_function(X)
        return decisions

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each record.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "classifier_")
        labels: npt.NDArray[Any] = self.classifier_.predict(X)
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records.

        Returns
        -------
        array of shape (n_samples, 2)
        """
        link = Link(self.scale, (self.caps[0], self.caps[1]))
        chances: Floats = np.exp(link.log_chances(self.decision_function(X)))
        return chances
