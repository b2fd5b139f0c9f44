"""Reading any of the estimators back from its file, and signing such files."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from dpscd.errors import ModelFileError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.parameters import is_auto
from dpscd.estimators.registry import MODELS
from dpscd.estimators.table import TableModel
from dpscd.model.file import LOCAL, PLANNED, fit_from_bytes, read_content
from dpscd.model.fit import Fit
from dpscd.model.plain import refused
from dpscd.planning.rule import as_asked
from dpscd.records.encoding import schema_facts
from dpscd.releases.moments import Moments
from dpscd.releases.score import Estimate


def load(
    path: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None
) -> DPLinearModel | TableModel:
    """Read a model that ``save`` wrote.

    Parameters
    ----------
    path : path
        The file. It is data only: reading it runs no code of it.
    key : path, optional
        A public key (Ed25519, PEM). The file must then be signed with the private key that
        belongs to it (:func:`dpscd.sign_model`), which is checked before anything in it is
        read. The signature is beside the file, with ``.sig`` after its name.

    Returns
    -------
    estimator or TableModel
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is malformed, if its releases amount to more than it claims, if its
        coefficients are not those that its answers give, or if it is not signed with the key.
        Without a key a file that was changed consistently is not found: other answers with the
        coefficients that follow from them.
    """
    return _model(Path(path).name, read_fit(path, key))


def read_fit(path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> Fit:
    """Return the verified fit in the file of a model or a score.

    With a public key the file must be signed, which is checked first.
    """
    content = read_content(path)
    if key is not None:
        from dpscd.privacy.signing import check_signature

        check_signature(path, content, key)
    return _fit_in(Path(path).name, content)


def sign_model(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> Path:
    """Sign the file of a model, or a score, so that every later change is found.

    Parameters
    ----------
    path : path
        The file; it is read and checked first.
    key : path
        The private key (Ed25519, PEM, not encrypted).

    Returns
    -------
    Path
        The signature: 64 bytes beside the model, with ``.sig`` after its name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpscd import DPRidge, load, sign_model
    >>> from dpscd.privacy.signing import new_key
    >>> folder = Path(tempfile.mkdtemp())
    >>> model = DPRidge(y_bounds=(0, 1)).fit([[0.1], [0.2]] * 50, [0, 1] * 50)
    >>> model.save(folder / "model.json")
    >>> public = new_key(folder / "signing.pem")  # or: openssl genpkey -algorithm ed25519
    >>> sign_model(folder / "model.json", folder / "signing.pem").name
    'model.json.sig'
    >>> load(folder / "model.json", key=public).privacy_ == model.privacy_
    True
    """
    from dpscd.privacy.signing import write_signature

    content = read_content(path)
    _fit_in(Path(path).name, content)
    return write_signature(path, content, key)


def _fit_in(name: str, content: bytes) -> Fit:
    """Return the verified fit in a file of this name; that of a model gives a model."""
    fit = fit_from_bytes(name, content)
    if isinstance(fit.numbers, Estimate):
        if (fit.estimator, fit.parameters, fit.features) != ("PrivateScore", {}, None):
            raise ModelFileError(f"{name} is not a usable model file: it names another model.")
    else:
        _model(name, fit)
    return fit


def _model(name: str, fit: Fit) -> DPLinearModel | TableModel:
    with refused(ModelFileError, "its parameters are malformed.", name):
        return _fitted(fit)
    raise AssertionError  # pragma: no cover - `refused` returns nothing else


def _fitted(fit: Fit) -> DPLinearModel | TableModel:
    facts, target = fit.plan.facts, fit.plan.target
    if isinstance(fit.numbers, Estimate):
        raise ModelFileError("it holds a private score: `dpscd verify` reads it.")
    kind = next((kind for kind in MODELS if kind.type == fit.estimator), None)
    if kind is None or facts.loss not in kind.losses:
        raise ModelFileError(f"it is not one of {', '.join(kind.type for kind in MODELS)}.")
    own = dict(fit.parameters)
    if set(own) != set(kind.estimator().get_params(deep=False)) - {*LOCAL, *PLANNED}:
        raise ModelFileError("its parameters are not those of its type.")
    if own["delta"] != "auto":
        own["delta"] = target.delta
    model: DPLinearModel = kind.estimator(
        epsilon=target.epsilon, relation=target.relation.value, **own
    )
    if facts.schema is None:
        _check_stated(model, fit)
        return model._restored(fit)
    table = TableModel(facts.schema, model)
    _check_stated(table._unfitted(facts.schema), fit)
    return table._restored(fit)


def _check_stated(model: Any, fit: Fit) -> None:
    """Refuse parameters that do not give the facts of the plan."""
    model._check_parameters()
    target, facts, classes = fit.plan.target, fit.plan.facts, None
    if facts.classifies:
        classes = np.array(facts.labels.classes, dtype=facts.labels.dtype)
        if model.classes is not None and list(model._declared_classes()) != list(classes):
            raise ModelFileError("its classes are not those of its plan.")
    schema = facts.schema
    person = None if schema is None else schema.person
    stated = model.stated(
        classes,
        standardised=fit.plan.listed(Moments.what) is not None,
        n=facts.n if model.n is None else int(model.n),
        d=facts.d,
        weighted=facts.weighted,
        dense=facts.dense,
        persons=model.persons_in(person) if facts.persons or person else None,
        device=facts.device if model.engine == "jax" else "",
        dataset=facts.dataset,
        searched=facts.searched,
        **({} if schema is None else schema_facts(schema)),
    )
    chosen = not facts.inference and all(  # by what was the rule then
        is_auto(x) for x in (model.standardise, model.lam, model.intercept_scaling)
    )
    if (
        stated != facts
        or not (chosen or model._standardises(facts.n, facts.d, target) == facts.standardised)
        or (target.private and not as_asked(fit.plan.training, **model._fixed))
    ):
        raise ModelFileError("its parameters are not those of its plan.")
