"""Differentially private linear support vector machine."""

from dpscd.estimators.classification import DPLinearClassifier
from dpscd.estimators.documentation import documented

__all__ = ["DPLinearSVC"]


@documented
class DPLinearSVC(DPLinearClassifier):
    """Linear support vector machine with differential privacy.

    Minimises ``mean max(0, 1 - y (x.w + b)) + lam/2 |w|^2``, one model against the rest for
    each class when there are more than two. There is no learning rate, clip norm or batch
    size to choose: what is 'auto' is planned from public numbers.

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
    {fitted}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import DPLinearSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = np.where(X[:, 0] > X[:, 1], "left", "right")
    >>> model = DPLinearSVC(epsilon=1.0, classes=["left", "right"], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """
