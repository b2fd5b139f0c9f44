"""Constructors of the estimators, and the parameters that these share, described once."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T", bound=type)

_TEXTS = {
    "first": """\
epsilon : float, default=1.0
        How much a record, or with `groups` a person, may influence the model;
        ``float('inf')`` is not private.
    delta : float or 'auto', default='auto'
        Small extra probability in the bound, to be far below 1/n; 'auto' is
        min(1e-5, 1/(10 n)).
    lam : float or 'auto', default='auto'
        Strength of the regularisation; 'auto' follows the noise, and penalises the
        coefficients of standardised features where `standardise` says so.
    epochs : float or 'auto', default='auto'
        How often each record is used, on average. Costs time, hardly any privacy.
    lot_size : int or 'auto', default='auto'
        Expected number of records in a step.
    travel : float or 'auto', default='auto'
        How far a record's dual can move in all, in units of the label scale: 1 for
        classes. For regression it is the mean distance of labels from their mean, when that
        is released (see `standardise`); otherwise half the range of `y_bounds` (without
        intercept, its largest absolute value).
    relation : {'zero-out', 'replace-one', 'add-remove'}, default='zero-out'
        Which data sets count as neighbours.
    row_bound : float, default=1.0
        Longer rows of X are scaled down to this length in training, silently.
    n : int, optional
        Declared number of records, or with `groups` of persons, used instead of the true one
        everywhere. Required by relation='add-remove', under which the true number is secret.
    fit_intercept : bool, default=True
        Whether to add a constant column; it is penalised like the others.
    intercept_scaling : float or 'auto', default='auto'
        Value of the constant column; 'auto' is 0.3 row_bound, or 0.25 of the length of
        a typical standardised row.
    standardise : bool or 'auto', default='auto'
        Whether to spend small parts of the budget (each stated on the card) on
        noisy means and mean squares of the features, and for regression on where the
        labels lie, and to train on features standardised with them; and after training on
        what chances miss on average, or on whether predictions should cut long rows and be
        stretched. False does none of this. The fitted model is in the user's units all
        the same. 'auto' does so when `lam` and `intercept_scaling` are 'auto' and the moments
        can be seen through their noise. Sparse features are scaled but not centred.""",
    "classes": """\
classes : sequence of labels, optional
        The classes, known without looking at the data. A record with another label
        contributes nothing. None takes the labels that occur as public, with a warning.
    class_weight : dict, optional
        Public weight of the records of each class, 1 where absent. In a private fit with
        ``lam='auto'`` they are divided by the largest, so that only their ratios matter: what
        one record contributes is bounded whatever its weight.""",
    "bounds": """\
y_bounds : tuple of two floats
        Public range of the labels; labels outside are clipped to it. Required. With an
        intercept labels are centred on its middle, around which the intercept is penalised.
    clip_predictions : bool, default=True
        Whether predictions are moved into `y_bounds`, as the labels of training were, and rows
        cut to `longest_row_`; False gives the bare line. Public, and free to change after the
        fit.""",
    "inference": """\
inference : bool or 'robust', default=False
        Whether coefficients are to have confidence intervals (:meth:`conf_int`,
        :meth:`summary`): the fit is then planned for that instead of for predictions, and
        spends a part of the budget on how exactly the records determine the coefficients.
        'robust' does not assume that the model is true (sandwich), as is always so with
        `groups`, which need ``person_weight='share'``. For two classes, or ridge regression;
        dense rows; `lam`, `travel`, `epochs` and `lot_size` must be 'auto'
        (docs/guides/intervals.md).""",
    "engine": """\
engine : {'numba', 'jax'}, default='numba'
        What computes the training. 'jax' needs the extra ``dpscd[jax]`` and is for a GPU: it
        pays from some hundred thousand rows, or many classes (docs/guides/large_data.md).
        Dense rows of records; not with `groups` nor on Dask. The mechanism and the guarantee
        are the same, the random numbers others.""",
    "last": """\
max_rows : int, default=100
        With `groups`: rows of a person that step together, at most. A person with more lets
        them take turns. Public; it bounds the time and memory that one person can take.
    person_weight : {'sum', 'share'}, default='sum'
        With `groups`: whether every row of a person counts one, up to the clip of a person,
        or all of them one together. Probabilities of two classes, and expected counts, are
        then right on average over rows, or over persons (docs/guides/persons.md).
    ledger : str, optional
        File of the privacy budget (``dpscd budget init``). Each fit is charged to it before
        it uses the data, and refused with BudgetExceeded when the budget does not suffice.
    dataset : str, optional
        Name of the data set in the ledger; required with `ledger`.
    n_jobs : int, optional
        Threads to use, -1 for one per core: they share large lots, or one draws the randomness
        while another works. The result is the same.
    random_state : int, SecretSeed, RandomState, Generator or None, default=None
        None draws from the operating system. Anything else makes the fit repeatable, and
        privacy then rests on its secrecy. With a ledger only None and a
        :class:`~dpscd.SecretSeed` are accepted, and the charge of the latter is marked.
    verbose : int, default=0
        1 shows how many steps of the plan are done, on stderr; neither time nor data. That code
        is compiled for the first time is said then, and always on a terminal.""",
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
coef_noise_, intercept_noise_ : arrays, shaped like the coefficients and intercepts
        What the noise of training adds to each number, as a standard deviation; computed
        without the records. For DPRidge whose card lists no rescaling a proved upper bound,
        unless the rows of a lot are nearly parallel; else a rough estimate, usually too wide,
        often by several times, and sometimes too narrow (docs/proofs/noise_band.md).
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
    if estimator.__doc__:  # absent under python -OO
        estimator.__doc__ = estimator.__doc__.format(**_TEXTS)
    dataclass(eq=False, repr=False, kw_only=True)(estimator)  # in place
    return estimator
