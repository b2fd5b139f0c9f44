"""What is public about a fit before a record is read: typed, complete, each in one place."""

from dataclasses import dataclass, field, replace
from typing import Any

from dpscd import losses
from dpscd.errors import ParameterError
from dpscd.losses import Loss
from dpscd.persons import PersonFacts
from dpscd.privacy.relation import RECORD, Unit, assumptions
from dpscd.problem import Problem
from dpscd.standard import Levels

#: What `inference` is for intervals that do not assume that the model is true.
ROBUST = "robust"

_ASSUMPTIONS = assumptions("model", "records")


@dataclass(frozen=True)
class Facts:
    """Public facts about records, labels and the model that is asked for."""

    n: int  # records, or persons
    d: int  # features
    loss: str  # name of a class in dpscd.losses
    labels: Any  # their encoding, as declared (:mod:`dpscd.records.labels`)
    row_bound: float = 1.0  # longest allowed row
    # Value of the constant column, 0 without intercept: in the user's units, or in those of
    # standardised rows.
    constant: float = 0.0
    threshold: float | None = None  # of the Huber loss; None follows the labels' range
    standardised: bool = False  # moments of features are released first
    weighted: bool = False  # records have weights of their own
    dense: bool = True  # whether rows are dense
    inference: str = ""  # coefficients are to have intervals: "", "model" or ROBUST
    persons: PersonFacts | None = None  # if persons are the unit of privacy
    declared: bool = True  # classes were declared, not read off the labels
    engine: str = "numba"
    device: str = ""  # that the second engine trained on
    dataset: str | None = None  # its name in the ledger
    searched: bool = False  # the best of a search's runs: the guarantee is that of the search
    schema: Any = None  # of a table
    # What follows from the schema: levels of categories, names of the columns whose bounds are
    # released, in its order, and of the target.
    levels: Levels | None = field(default=None, compare=False, repr=False)
    private: tuple[str, ...] = field(default=(), compare=False)
    target: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.n < 1 or self.d < 1:
            raise ParameterError("n and the number of features must be at least 1.")
        losses.called(self.loss)  # or it is not known
        if self.inference not in ("", "model", ROBUST):
            raise ParameterError(f"inference={self.inference!r} is not known.")

    @property
    def intercept(self) -> bool:
        """Whether there is a constant column."""
        return self.constant != 0.0

    @property
    def width(self) -> int:
        """Entries of one output's shared vector."""
        return self.d + int(self.intercept)

    @property
    def classes(self) -> tuple[Any, ...]:
        """Classes, by the names that users know; none of a regression."""
        if self.schema is not None and self.schema.target.classes:
            return tuple(self.schema.target.classes)
        return tuple(getattr(self.labels, "classes", ()))

    @property
    def outputs(self) -> int:
        """Models that are trained together: classes, or 1."""
        count = len(getattr(self.labels, "classes", ()))
        return count if count > 2 else 1

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return hasattr(self.labels, "classes")

    @property
    def task(self) -> str:
        """Classification, regression or counts."""
        return losses.task_of(self.loss_class)

    @property
    def loss_class(self) -> type[Loss]:
        """The loss that is minimised."""
        return losses.called(self.loss)

    @property
    def joint(self) -> bool:
        """Whether the outputs have one loss together."""
        return losses.is_joint(self.loss_class)

    @property
    def probabilities(self) -> bool:
        """Whether probabilities of two classes follow from decisions and may be calibrated."""
        return self.loss == "Logistic" and not self.weighted

    @property
    def means(self) -> bool:
        """Whether predictions are meant as means of numeric labels and may be corrected."""
        return losses.predicts_means(self.loss_class) and not self.weighted

    @property
    def rows(self) -> int:
        """Rows of a person that may count, each like one of another; 0 where records are."""
        return 0 if self.persons is None else self.persons.rows

    @property
    def bounded(self) -> int:
        """Columns whose bounds are released first."""
        return len(self.private)

    @property
    def robust(self) -> bool:
        """Whether intervals assume less than that the model is true."""
        return self.inference == ROBUST

    @property
    def unit(self) -> Unit:
        """What is protected: a record, or a person with all its rows."""
        if self.persons is None:
            return RECORD
        return Unit(self.persons.column, groups=self.persons.column is None)

    @property
    def thing(self) -> str:
        """What the guarantee is about, in words."""
        return "the model"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee assumes."""
        return _ASSUMPTIONS

    @property
    def read_from_data(self) -> tuple[str, ...]:
        """Columns of whose description the schema says that it was read off the records."""
        return () if self.schema is None else self.schema.read_from_data

    def shown(self) -> dict[str, Any]:
        """Return what was taken as public, to be read by people."""
        labels = self.labels
        found: dict[str, Any] = {
            "n": self.n,
            "d": self.d,
            "row_bound": self.row_bound,
            "intercept": self.constant,
            "standardised": self.standardised,
        }
        if self.classifies:
            found["classes"] = list(self.classes)
            found["classes_from"] = "declared" if self.declared else "the labels in y"
            if labels.weights is not None:
                found["class_weight"] = dict(zip(self.classes, labels.weights, strict=True))
        elif self.target not in self.private:
            found["y_bounds"] = [labels.low, labels.high]
        if self.task == "counts":
            found["exposure_bounds"] = [labels.least, labels.most]
        loss: Any = losses.made(self.loss_class, labels, self.intercept, self.threshold)
        if hasattr(loss, "threshold") and (self.threshold or "y_bounds" in found):
            found["threshold"] = loss.threshold
        if self.persons is not None:
            found["max_rows"] = self.persons.most
            found["person_weight"] = self.persons.weight
        if self.schema is not None:
            found["target"] = self.target
            found["released_bounds"] = list(self.private)
            found["read_from_data"] = list(self.read_from_data)
        if self.device:
            found["engine"], found["device"] = self.engine, self.device
        if self.dataset is not None:
            found["dataset"] = self.dataset
        return found

    def labels_with(self, bounds: tuple[tuple[float, float], ...]) -> Any:
        """Return the encoding of labels, with released bounds of columns if there are any."""
        found = dict(zip(self.private, bounds, strict=True)) if bounds else {}
        own = found.get(self.target or "")
        return self.labels if own is None else replace(self.labels, low=own[0], high=own[1])

    def problem(self, lam: float, bounds: tuple[tuple[float, float], ...] = ()) -> Problem:
        """Return the problem before labels and rows are scaled by what is released."""
        labels = self.labels_with(bounds)
        centre, scale = labels.scaling(centred=self.intercept)
        loss = losses.made(self.loss_class, labels, self.intercept, self.threshold)
        return Problem(
            loss=losses.rescaled(loss, scale),
            lam=lam,
            n=self.n,
            d=self.d,
            outputs=self.outputs,
            row_bound=self.row_bound,
            constant=self.constant,
            label_centre=centre,
            label_scale=scale,
            levels=self.levels
            and self.levels._replace(value=self.levels.value / self.row_bound),
        )


def is_robust(asked: object, width: int, *, logistic: bool, persons: bool) -> bool:
    """Return whether the variance of slopes is released as a whole."""
    # On request; for persons, whose rows are dependent; and for one number, its own trace.
    return bool(asked) and (asked == ROBUST or persons or (width == 1 and not logistic))
