"""Registry of models, read by loading, command line, report and audit; how classes are made.

Rows hold names, not classes: nothing heavy is imported before a model is asked for.
"""

from dataclasses import dataclass, field, fields
from importlib import import_module
from textwrap import fill, indent
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from dpscd.estimators.parameters import TABLE, Parameter

T = TypeVar("T", bound=type)


class ModelKind(NamedTuple):
    """One kind of model."""

    name: str  # on the command line
    type: str  # name of its class in dpscd, as in model files
    task: str  # classification, regression or counts
    loss: str  # name of its loss in dpscd.losses
    words: str  # what it is, for people
    weight: str  # what a coefficient of the model says; {target} is what is predicted
    has_intervals: bool = False  # whether it can be trained with `inference`

    @property
    def estimator(self) -> Any:
        """The class."""
        return getattr(import_module("dpscd"), self.type)

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted, not numbers."""
        return self.task == "classification"

    @property
    def losses(self) -> tuple[str, ...]:
        """Losses that it may have been trained with."""
        return (self.loss, "Softmax") if self.loss == "Logistic" else (self.loss,)


_CHANGE = "Each coefficient says by how much {target} goes up or down."

#: In the order in which the command line lists them; the first of a task is its usual one.
MODELS = (
    ModelKind(
        name="ridge",
        type="DPRidge",
        task="regression",
        loss="Squared",
        words="ridge regression",
        weight=_CHANGE,
        has_intervals=True,
    ),
    ModelKind(
        name="huber",
        type="DPHuberRegressor",
        task="regression",
        loss="Huber",
        words="Huber regression",
        weight=_CHANGE,
    ),
    ModelKind(
        name="poisson",
        type="DPPoissonRegressor",
        task="counts",
        loss="Poisson",
        words="Poisson regression",
        weight="Each coefficient is a change of the logarithm of {target}: 0.7 doubles it, "
        "\u22120.7 halves it.",
    ),
    ModelKind(
        name="logistic",
        type="DPLogisticRegression",
        task="classification",
        loss="Logistic",
        words="logistic regression",
        weight="Each coefficient is a change of the log-odds: 0.7 doubles the odds, \u22120.7 "
        "halves them.",
        has_intervals=True,
    ),
    ModelKind(
        name="svm",
        type="DPLinearSVC",
        task="classification",
        loss="Hinge",
        words="linear support vector machine",
        weight="Each coefficient is a change of the decision score; above zero the class is "
        "chosen.",
    ),
)


def usual_kind(*, classifies: bool) -> ModelKind:
    """Return the kind of model that is trained when none is named."""
    return next(kind for kind in MODELS if kind.classifies == classifies)


def kind_called(name: str) -> ModelKind:
    """Return the row of a model by its name on the command line."""
    return next(kind for kind in MODELS if kind.name == name)


_FITTED = """
    coef_sd_, intercept_sd_ : arrays, shaped like the coefficients and intercepts
        Estimated standard deviation of each number over repeated fits, from what was
        released. It takes columns to be unrelated, and is NaN where no moments were released,
        or records have weights of their own (docs/proofs/spread.md).
    coef_bound_, intercept_bound_ : arrays, shaped like the coefficients and intercepts
        Proved upper bound of the standard deviation that the noise of training adds to each
        number, where rows of a lot are not nearly parallel; NaN but for DPRidge whose card
        lists no rescaling (docs/proofs/noise_band.md).
    n_features_in_, feature_names_in_ : int and array of shape (n_features,)
        Number of features, and their names where X had names.
    privacy_ : PrivacyCard
        What the model guarantees, re-checkable with ``privacy_.verify()``."""
#: Sections that docstrings of estimators share: their marks are filled.
_TEXTS = {
    "classified": """Attributes
    ----------
    coef_, intercept_ : arrays of shape (k, n_features) and (k,), k being 1 or n_classes
        Coefficients and intercepts, in the user's units.
    classes_ : array of shape (n_classes,)
        The classes, sorted."""
    + _FITTED,
    "line": """Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,) and float
        Coefficients and intercept, in the user's units.
    longest_row_ : float
        Predictions cut rows to this length: `row_bound` where a release ("long rows") showed
        that this is better, as it is for training, else infinity."""
    + _FITTED,
    "notes": """Notes
    -----
    There is no learning rate, clip norm or batch size to choose: what is 'auto' is planned
    from public numbers. There is no ``partial_fit`` and no ``warm_start``: going on with a fit
    is a second release of the same records and would have to be paid for as such. Predictions
    use rows as they are, without the scaling to `row_bound`, unless a regression's
    `longest_row_` says otherwise (docs/guides/regression.md has numbers).""",
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parametrised(estimator: T) -> T:
    """Make annotated names with defaults the parameters of a class; fill marks in its text."""
    dataclass(eq=False, repr=False, kw_only=True)(estimator)  # in place
    if estimator.__doc__:  # absent under python -OO
        own = {one.name for one in fields(estimator) if one.init}
        entries = "\n".join(_entry(row) for row in TABLE.values() if row.name in own)
        parameters = f"Parameters\n    ----------\n{entries}"
        estimator.__doc__ = estimator.__doc__.format(parameters=parameters, **_TEXTS)
    return estimator


def _entry(row: Parameter) -> str:
    """Return the entry of a parameter in numpydoc's form, as it stands in a class."""
    words = indent(fill(f"{row.words} {row.more}", 88), " " * 8)
    return f"    {row.name} : {row.documented}\n{words}"
