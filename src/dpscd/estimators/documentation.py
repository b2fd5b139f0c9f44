"""Constructors of the estimators, and the parameters that these share, described once."""

from dataclasses import dataclass, field, fields
from textwrap import fill, indent
from typing import TypeVar, dataclass_transform

from dpscd.estimators.parameters import TABLE, Parameter

T = TypeVar("T", bound=type)

_TEXTS = {
    "classified": """\
coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the user's units.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        The classes, sorted.""",
    "line": """\
coef_ : array of shape (n_features,)
        Coefficients, in the user's units.
    intercept_ : float
        Intercept.
    longest_row_ : float
        Predictions cut rows to this length: `row_bound` where a release ("long rows") showed
        that this is better, as it is for training, else infinity.""",
    "fitted": """\
coef_sd_, intercept_sd_ : arrays, shaped like the coefficients and intercepts
        Estimated standard deviation of each number over repeated fits of the same records,
        from released numbers alone. It takes columns to be unrelated, and is NaN where no
        moments were released, or records have weights of their own (docs/proofs/spread.md).
    coef_bound_, intercept_bound_ : arrays, shaped like the coefficients and intercepts
        Proved upper bound of the standard deviation that the noise of training adds to each
        number, unless the rows of a lot are nearly parallel; NaN but for DPRidge whose card
        lists no rescaling (docs/proofs/noise_band.md).
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : array of shape (n_features,)
        Their names, when X had names.
    privacy_ : PrivacyCard
        What the model guarantees, re-checkable with ``privacy_.verify()``.""",
    "notes": """\
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
        parameters = "\n".join(_entry(row) for row in TABLE.values() if row.name in own)
        estimator.__doc__ = estimator.__doc__.format(parameters=parameters.strip(), **_TEXTS)
    return estimator


def _entry(row: Parameter) -> str:
    """Return the entry of a parameter in numpydoc's form, as it stands in a class."""
    words = indent(fill(f"{row.words} {row.more}", 88), " " * 8)
    return f"    {row.name} : {row.documented}\n{words}"
