"""Reading any of the estimators back from its file, and signing such files."""

import os
from pathlib import Path
from typing import Any

from dpscd.errors import ModelFileError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.files import read_content, read_model
from dpscd.estimators.registry import MODELS
from dpscd.estimators.table import TableModel, restored_table
from dpscd.preprocessing.encoding import feature_names

__all__ = ["load", "sign_model"]


def load(
    path: str | os.PathLike[str],
    *,
    key: str | os.PathLike[str] | None = None,
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
        If the file is malformed, if its parts contradict each other, or if it is not signed
        with the key.

    Notes
    -----
    Without a key this finds what was changed in one place and left in another; it cannot find
    a file that was changed consistently, such as other coefficients.
    """
    content = read_content(path)
    if key is not None:
        from dpscd.privacy.signing import check_signature

        check_signature(path, content, key)
    model: DPLinearModel | TableModel = read_model(
        Path(path).name, content, _types(), _table_of
    )
    return model


def sign_model(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> Path:
    """Sign a model's file with a private key, so that every later change is found.

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
    read_model(Path(path).name, content, _types(), _table_of)
    return write_signature(path, content, key)


def _types() -> dict[str, type]:
    """Return the estimators that a file may contain, by name."""
    return {kind.type: kind.estimator for kind in MODELS}


def _table_of(model: Any, table: dict[str, Any]) -> TableModel:
    """Return the model of tables in a file, whose features must be those of its schema."""
    if set(table) != {"schema", "bounds"}:
        raise ModelFileError("its table is malformed.")
    whole = restored_table(model, table)
    if list(model.feature_names_in_) != feature_names(whole.schema_, whole.bounds_):
        raise ModelFileError("its features are not those of its schema.")
    return whole
