"""The models that there are, one row each: read by loading, command line, report and audit.

Rows hold names, not classes: nothing heavy is imported before a model is asked for.
"""

from importlib import import_module
from typing import Any, NamedTuple


class ModelKind(NamedTuple):
    """One kind of model."""

    name: str  # on the command line
    type: str  # name of its class, as in model files
    home: str  # module of the class
    task: str  # classification, regression or counts
    loss: str  # name of its loss in dpscd.losses
    words: str  # what it is, for people
    weight: str  # what a coefficient of the model says; {target} is what is predicted
    sklearn: str  # the class of scikit-learn that predicts as it does
    has_intervals: bool = False  # whether it can be trained with `inference`

    @property
    def estimator(self) -> Any:
        """The class."""
        return getattr(import_module(self.home), self.type)

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted, not numbers."""
        return self.task == "classification"

    @property
    def losses(self) -> tuple[str, ...]:
        """Losses that it may have been trained with."""
        return (self.loss, "Softmax") if self.loss == "Logistic" else (self.loss,)

    @property
    def predicts_means(self) -> bool:
        """Whether its predictions are meant as means of numeric labels."""
        from dpscd import losses

        return losses.predicts_means(losses.called(self.loss))


_CHANGE = "Each coefficient says by how much {target} goes up or down."

#: In the order in which the command line lists them; the first of a task is its usual one.
MODELS = (
    ModelKind(
        name="ridge",
        type="DPRidge",
        home="dpscd.estimators.regression",
        task="regression",
        loss="Squared",
        words="ridge regression",
        weight=_CHANGE,
        sklearn="Ridge",
        has_intervals=True,
    ),
    ModelKind(
        name="huber",
        type="DPHuberRegressor",
        home="dpscd.estimators.regression",
        task="regression",
        loss="Huber",
        words="Huber regression",
        weight=_CHANGE,
        sklearn="HuberRegressor",
    ),
    ModelKind(
        name="poisson",
        type="DPPoissonRegressor",
        home="dpscd.estimators.regression",
        task="counts",
        loss="Poisson",
        words="Poisson regression",
        weight="Each coefficient is a change of the logarithm of {target}: 0.7 doubles it, "
        "\u22120.7 halves it.",
        sklearn="PoissonRegressor",
    ),
    ModelKind(
        name="logistic",
        type="DPLogisticRegression",
        home="dpscd.estimators.classification",
        task="classification",
        loss="Logistic",
        words="logistic regression",
        weight="Each coefficient is a change of the log-odds: 0.7 doubles the odds, \u22120.7 "
        "halves them.",
        sklearn="LogisticRegression",
        has_intervals=True,
    ),
    ModelKind(
        name="svm",
        type="DPLinearSVC",
        home="dpscd.estimators.classification",
        task="classification",
        loss="Hinge",
        words="linear support vector machine",
        weight="Each coefficient is a change of the decision score; above zero the class is "
        "chosen.",
        sklearn="LinearSVC",
    ),
)

_BY_TYPE = {(kind.home, kind.type): kind for kind in MODELS}


def kind_of(model: Any) -> ModelKind:
    """Return the row of an estimator or of its class; subclasses are of their parents' kind."""
    family = model if isinstance(model, type) else type(model)
    for each in family.__mro__:
        found = _BY_TYPE.get((each.__module__, each.__name__))
        if found is not None:
            return found
    raise LookupError(f"{family.__name__} is not a registered model.")


def usual_kind(*, classifies: bool) -> ModelKind:
    """Return the kind of model that is trained when none is named."""
    return next(kind for kind in MODELS if kind.classifies == classifies)


def kind_called(name: str) -> ModelKind:
    """Return the row of a model by its name on the command line."""
    return next(kind for kind in MODELS if kind.name == name)
