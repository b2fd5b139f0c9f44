"""The table of parameters: checks, messages, docstrings and options are made from it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation

AUTO = "auto"

# --- kinds of values --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kind:
    """Values that a parameter takes. Without `words` they are checked where they are used."""

    type: type  # of an option
    python: str  # the type in a docstring
    words: str = ""  # what is allowed
    holds: Callable[[Any], bool] = lambda _: True  # whether a value is allowed
    values: tuple[str | bool, ...] = ()  # if they are but a few


def number(low: float = 0.0, high: float = 1e100, *, reached: bool = False) -> Kind:
    """Return the kind of numbers above `low`, or from it on if `reached`, up to `high`."""

    def holds(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        x = float(value)
        return (low <= x if reached else low < x) and x <= high

    plain = " (the float inf trains without privacy)"
    words = f"a number {'of at least' if reached else 'greater than'} {low:g}"
    words += plain if math.isinf(high) else f", up to {high:g}"
    return Kind(float, "float", words, holds)


def integer(low: int = 1, high: float = math.inf, *others: int) -> Kind:
    """Return the kind of whole numbers from `low` on, up to `high`, and `others`."""

    def holds(value: Any) -> bool:
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return low <= int(value) <= high or value in others

    span = f"of at least {low}" if math.isinf(high) else f"from {low} to {high:,}"
    return Kind(int, "int", " or ".join([f"an integer {span}", *map(str, others)]), holds)


def choice(*values: str | bool) -> Kind:
    """Return the kind of a few values: texts, True and False."""

    def holds(value: Any) -> bool:
        import numpy as np

        return isinstance(value, str | bool | np.bool_) and value in values

    texts = [repr(value) for value in values if isinstance(value, str)]
    whole = len(texts) == len(values)
    python = f"{{{', '.join(texts)}}}" if whole else " or ".join(["bool", *texts])
    *first, last = map(repr, values)
    return Kind(type(values[0]), python, f"{', '.join(first)} or {last}", holds, values)


SWITCH = choice(True, False)


def check(name: str, value: Any, kind: Kind, words: str = "") -> Any:
    """Return a plain value, or raise ParameterError with `words` for what is allowed."""
    if kind.holds(value):
        if kind.values:
            return kind.values[kind.values.index(value)]
        return kind.type(value) if kind.words else value
    words = words or kind.words
    if name.isidentifier():
        raise ParameterError(f"{{{name}}} must be {{}}.", words, **{name: value})
    raise ParameterError(f"{name}={value!r} must be {words}.")


# --- the table --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """One parameter: 'auto' or None is allowed where it is the default."""

    name: str
    kind: Kind
    default: Any
    words: str  # one sentence, of the docstring and of the option
    more: str = ""  # of the docstring
    _: KW_ONLY
    option: str = ""  # unless it is the name with dashes
    usual: str = ""  # the default in words
    planned: bool = False  # listed among what is planned

    def checked(self, value: Any) -> Any:
        """Return a plain value, None for a default to be planned, or raise ParameterError."""
        if value is self.default is None or (self.default == AUTO and is_auto(value)):
            return None
        words = f"{self.kind.words}, or 'auto'" if self.default == AUTO else self.kind.words
        return check(self.name, value, self.kind, words)

    @property
    def typed(self) -> str:
        """The option's name."""
        return self.option or f"--{self.name.replace('_', '-')}"

    @property
    def documented(self) -> str:
        """The type and the default, as a docstring has them."""
        also = " or 'auto'" if self.default == AUTO else ""
        if self.name == "y_bounds":
            return self.kind.python
        usual = "optional" if self.default is None else f"default={self.default!r}"
        return f"{self.kind.python}{also}, {usual}"


_POSITIVE = number(1e-100)

_ROWS = (
    Parameter(
        "epsilon",
        number(high=math.inf),
        1.0,
        "How much one record may influence the model; inf trains without privacy.",
        "With `groups`, how much one person may.",
    ),
    Parameter(
        "delta",
        number(high=1.0),
        AUTO,
        "Small extra probability in the bound; keep it far below 1/n.",
        "'auto' is min(1e-5, 1/(10 n)).",
        usual="min(1e-5, 1/(10 n))",
    ),
    Parameter(
        "lam",
        _POSITIVE,
        AUTO,
        "Strength of the penalty on the coefficients.",
        "'auto' follows the noise, and penalises the coefficients of standardised features "
        "where `standardise` says so.",
        planned=True,
    ),
    Parameter(
        "epochs",
        _POSITIVE,
        AUTO,
        "How often each record is used, on average.",
        "Costs time, hardly any privacy.",
        planned=True,
    ),
    Parameter("lot_size", integer(), AUTO, "Records of a step, on average.", planned=True),
    Parameter(
        "travel",
        _POSITIVE,
        AUTO,
        "How far a record may move the model in all; shorter needs less noise.",
        "In units of the label scale: 1 for classes. For regression it is the mean distance "
        "of labels from their mean, when that is released (see `standardise`); otherwise half "
        "the range of `y_bounds` (without intercept, its largest absolute value).",
        planned=True,
    ),
    Parameter(
        "relation",
        choice(*(one.value for one in Relation)),
        Relation.ZERO_OUT.value,
        "Which data sets count as neighbours.",
    ),
    Parameter(
        "row_bound",
        _POSITIVE,
        1.0,
        "Longer rows are scaled down to this length in training, silently.",
    ),
    Parameter(
        "n",
        integer(),
        None,
        "Declared number of records, or of persons; for add-remove.",
        "It is used instead of the true number everywhere. Required by "
        "relation='add-remove', under which the true number is secret.",
    ),
    Parameter(
        "fit_intercept",
        SWITCH,
        True,
        "Whether the model has an intercept.",
        "It is the coefficient of a constant column, penalised like the others.",
        option="--intercept",
        usual="intercept",
        planned=True,
    ),
    Parameter(
        "intercept_scaling",
        _POSITIVE,
        AUTO,
        "Value of the constant column.",
        "'auto' is 0.3 row_bound, or 0.25 of the length of a typical standardised row.",
        planned=True,
    ),
    Parameter(
        "standardise",
        SWITCH,
        AUTO,
        "Whether noisy means and spreads are released first, to train on standardised "
        "features.",
        "Small parts of the budget (each stated on the card) go to these, for regression to "
        "the location and scale of the labels, and after training to how far probabilities "
        "are off on average, or to whether predictions should cut long rows and be stretched. "
        "False does none of this. The fitted model is in the user's units all the same. "
        "'auto' does so when `lam` and `intercept_scaling` are 'auto' and the moments can be "
        "seen through their noise. Sparse features are scaled but not centred.",
        planned=True,
    ),
    Parameter(
        "classes",
        Kind(str, "sequence of labels"),
        None,
        "Classes of the labels, known without looking at the data.",
        "A record with another label contributes nothing. None takes the labels that occur as "
        "public, with a warning.",
    ),
    Parameter(
        "class_weight",
        Kind(str, "dict"),
        None,
        "Public weight of the records of each class, 1 where absent.",
        "In a private fit with ``lam='auto'`` they are divided by the largest, so that only "
        "their ratios matter: what one record contributes is bounded whatever its weight.",
    ),
    Parameter(
        "y_bounds",
        Kind(tuple, "tuple of two floats"),
        None,
        "Lowest and highest number of the labels, for a regression.",
        "Public, and required; labels outside are clipped. Those of counts are 0 or above. "
        "With an intercept labels are centred on the middle of the range, around which the "
        "intercept is penalised.",
        option="--bounds",
    ),
    Parameter(
        "clip_predictions",
        SWITCH,
        True,
        "Whether a regression's predictions stay within the bounds of its target.",
        "Rows are then also cut to `longest_row_`; False gives the bare line. Expected counts "
        "over an exposure stay within what the bounds allow at the nearest one of "
        "`exposure_bounds`. Public, and free to change after the fit.",
        usual="clip-predictions",
        planned=True,
    ),
    Parameter(
        "threshold",
        _POSITIVE,
        AUTO,
        "Of Huber regression: larger errors count by their size alone.",
        "In the unit of the labels; 'auto' is a tenth of the range of `y_bounds`. It is "
        "public: do not read it off the data.",
        planned=True,
    ),
    Parameter(
        "exposure_bounds",
        Kind(tuple, "tuple of two floats"),
        None,
        "Public range of the exposures of counts, positive.",
        "Exposures outside are moved to it. Required with ``fit(..., exposure=)``.",
    ),
    Parameter(
        "inference",
        choice(True, False, "robust"),
        False,
        "Whether coefficients are to have confidence intervals.",
        "The fit is then planned for these (:meth:`conf_int`, :meth:`summary`) instead of for "
        "predictions, and spends a part of the budget on how exactly the records determine "
        "the coefficients. 'robust' does not assume that the model is true (sandwich), as is "
        "always so with `groups`. For two classes, or ridge regression; dense rows; `lam`, "
        "`travel`, `epochs` and `lot_size` must be 'auto' (docs/guides/intervals.md).",
    ),
    Parameter(
        "engine",
        choice("numba", "jax"),
        "numba",
        "What computes the training; jax is for dense rows on a GPU.",
        "'jax' needs the extra ``dpscd[jax]`` and pays from some hundred thousand rows, or "
        "many classes (docs/guides/large_data.md). Not with `groups` nor on Dask. The "
        "mechanism and the guarantee are the same, the random numbers others.",
    ),
    Parameter(
        "max_rows",
        integer(1, 2**14),
        100,
        "Rows of a person in one step, at most.",
        "A person with more lets them take turns. Public; it bounds the time and memory that "
        "one person can take.",
    ),
    Parameter(
        "person_weight",
        choice("sum", "share"),
        AUTO,
        "Whether each row of a person counts, up to the clip, or all share one weight.",
        "With `groups`. Probabilities of two classes, and expected counts, are then right on "
        "average over rows, or over persons (docs/guides/persons.md). 'auto' is 'share' with "
        "`inference`, which needs it, else 'sum'.",
        usual="sum; share with --inference",
    ),
    Parameter(
        "ledger",
        Kind(str, "str"),
        None,
        "File of the privacy budget that is charged (``dpscd budget init``).",
        "Each fit is charged before it uses the data, and refused with BudgetExceeded when "
        "the budget does not suffice.",
    ),
    Parameter(
        "dataset", Kind(str, "str"), None, "Name of the data set in the ledger, needed with it."
    ),
    Parameter(
        "n_jobs",
        integer(1, 10_000, -1),
        None,
        "Threads to use; -1 for one per core.",
        "They share large lots, or one draws the randomness while another works. The result "
        "is the same.",
        option="--jobs",
        usual="1",
    ),
    Parameter(
        "random_state",
        Kind(int, "int, SecretSeed, RandomState, Generator or None"),
        None,
        "Makes it repeatable; privacy then rests on the secrecy of this number.",
        "None draws from the operating system. With a ledger only None and a "
        ":class:`~dpscd.SecretSeed` are accepted, and the charge of the latter is marked.",
        option="--seed",
    ),
    Parameter(
        "verbose",
        Kind(str, "int"),
        0,
        "1 shows a bar of the plan's steps on stderr; neither time nor data.",
        "0 shows it on terminals only, where the steps are expected to take two seconds or "
        "more. That code is compiled for the first time is said then, and on any terminal.",
    ),
)

TABLE: Mapping[str, Parameter] = {row.name: row for row in _ROWS}


def is_auto(value: Any) -> bool:
    """Return whether a parameter is to be planned."""
    return isinstance(value, str) and value == AUTO


def given(name: str, value: Any) -> Any:
    """Return a parameter as a plain value, None if it is to be planned."""
    return TABLE[name].checked(value)
